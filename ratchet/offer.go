package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// RuleFiles are a rule that a batch brings: its file and its testdata, which the repository's pawl.yaml loads from Dir.
type RuleFiles struct {
	Name  string      `json:"name"`
	Dir   string      `json:"dir"`
	By    string      `json:"by"` // who offered it
	Says  string      `json:"says"`
	Trial string      `json:"trial"` // what it would have caught, in a sentence
	Files []ghpr.File `json:"files"` // below Dir
}

// maxRule bounds the files of a rule, in bytes: they lie in their batch, beside the cases and the intent.
const maxRule = 20 << 10

// Offered says of a group which rule was offered for it.
type Offered struct {
	Rule  string    `json:"rule"`
	Batch string    `json:"batch"` // key
	Who   string    `json:"who"`
	When  time.Time `json:"when"`
	Cases []string  `json:"cases"` // ids of those that the batch brings
	Left  []string  `json:"left"`  // why no case could be made of further traces
}

// Offer is a rule for what a person labelled.
type Offer struct {
	Files  RuleFiles
	Rule   classify.Rule
	Engine *classify.Engine // with the rule among all others
}

// ChoiceOffer stands in the audit stream.
const ChoiceOffer = "offer"

// maxOfferCases bounds the cases that a rule brings with it.
const maxOfferCases = 3

// Holds says whether the group counts a trace, among the latest that it remembers.
func (g *Group) Holds(traceID string) bool {
	i := g.seen(traceID)
	return i >= 0 && g.counts(i, true)
}

// change adds the rule to what the pull request writes.
func (r *RuleFiles) change(c *ghpr.Change) {
	c.Also, c.Files = append(c.Also, r.Dir), append(c.Files, r.Files...)
}

// told is what the pull request says of the rule.
func (r *RuleFiles) told() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("**A rule comes with it:** `%s`, in `%s`, from what %s labelled. It finds a run that %s. %s\n\nWhere `rules_dir` of `pawl.yaml` names another directory, move it there.",
		r.Name, r.Dir+"/"+r.Name+".yaml", ghpr.Inline(r.By, 80), ghpr.Inline(r.Says, 400), ghpr.Inline(r.Trial, 300))
}

// OfferRule makes the batch of a rule for the group of an id: its files, and cases of the group's specimens that the rule finds. From there on it goes the way of
// every batch. *Refused says why it cannot be.
func (a *Absorber) OfferRule(ctx context.Context, id, who string, now time.Time, o Offer) (Offered, error) {
	who = strings.TrimSpace(who)
	if why := cmp.Or(nameless(who), o.wrong()); why != "" {
		return Offered{}, &Refused{why}
	}
	g, err := a.home(ctx, id)
	if err != nil {
		return Offered{}, err
	}
	t, ok := TargetFor(a.opts.Targets, g.service())
	switch {
	case !ok:
		return Offered{}, &Refused{fmt.Sprintf("no line of targets in pawl.yaml matches service %q, so no repository takes the rule", g.service())}
	case !a.opts.Propose:
		return Offered{}, &Refused{"absorb.mode or ghpr.mode in pawl.yaml is off: nothing is proposed"}
	}
	o.Files.By = who
	members, left, err := a.casesBy(ctx, &g, o)
	if err != nil {
		return Offered{}, err
	}
	if len(members) == 0 {
		return Offered{}, &Refused{"no case can be made by the rule, and one without a case proves nothing: " + cmp.Or(strings.Join(left, "; "), "none of the group's recordings shows what it finds")}
	}
	key, err := a.openOffer(ctx, now, t, &g, members, o)
	if err != nil {
		return Offered{}, err
	}
	out := Offered{Rule: o.Rule.Name, Batch: key, Who: clip(who, 200), When: now.UTC(), Cases: []string{}, Left: left}
	for _, m := range members {
		out.Cases = append(out.Cases, m.CaseID)
	}
	d := Decision{Who: out.Who, When: out.When, Choice: ChoiceOffer, Reason: clip("the rule "+o.Rule.Name+", in "+key, maxReason)}
	if err := a.changeGroup(ctx, g.Fingerprint.Digest(), func(g *Group) bool { g.Offer = &out; return true }); err != nil {
		return out, err
	}
	if err := a.Tell(ctx, "decision", &g, d); err != nil {
		a.lg.Warn("an offer is not told to the audit stream", "group", id, "err", err)
	}
	a.Rouse()
	return out, nil
}

// Rouse has a sweep come at once.
func (a *Absorber) Rouse() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (o *Offer) wrong() string {
	size := 0
	for _, f := range o.Files.Files {
		if size += len(f.Content); !strings.HasPrefix(f.Path, o.Files.Dir+"/") {
			return fmt.Sprintf("%s does not lie in %s", f.Path, o.Files.Dir)
		}
	}
	switch {
	case len(o.Files.Files) == 0 || o.Engine == nil || o.Rule.Name == "":
		return "there is no rule to offer"
	case size > maxRule:
		return fmt.Sprintf("the rule and its testdata take %d bytes of at most %d: shorten the testdata", size, maxRule)
	}
	return ""
}

// casesBy makes cases by the rule, of the group's specimens, one for each failure that it tells apart.
func (a *Absorber) casesBy(ctx context.Context, g *Group, o Offer) (out []Member, left []string, err error) {
	maker := *a.maker
	maker.Engine = o.Engine
	left = []string{}
	snapshot, err := Snapshot(ctx, a.q)
	if err != nil {
		return nil, left, err
	}
	for _, sp := range g.Candidates() {
		made, err := a.caseBy(ctx, &maker, g, sp, o.Rule.ID(), snapshot)
		if reason, refused := AsRefused(err); refused {
			left = append(left, clip(reason, maxReason))
			continue
		}
		if err != nil {
			return nil, left, err
		}
		if slices.ContainsFunc(out, func(m Member) bool { return m.Fingerprint == made.Case.Fingerprint.Digest() }) || len(out) == maxOfferCases {
			continue
		}
		made.Session = sp.Session
		m, err := a.store(ctx, made)
		if err != nil {
			return nil, left, err
		}
		out = append(out, m)
	}
	return out, left, nil
}

// caseBy makes the case of what a rule finds in one specimen.
func (a *Absorber) caseBy(ctx context.Context, maker *Maker, g *Group, sp Specimen, rule string, snapshot *baseline.Snapshot) (Made, error) {
	if sp.Object == "" {
		return Made{}, &Refused{cmp.Or(sp.Unrecorded, "trace "+sp.TraceID+" was not recorded")}
	}
	doc, err := a.q.Objects.Get(ctx, sp.Object)
	if errors.Is(err, queue.ErrNotFound) {
		return Made{}, &Refused{"the recording of trace " + sp.TraceID + " is gone"}
	}
	if err != nil {
		return Made{}, err
	}
	traces, err := recordedIn(doc)
	if err != nil {
		return Made{}, &Refused{"the recording of trace " + sp.TraceID + " cannot be read: " + err.Error()}
	}
	run := maker.runOf(traces)
	for _, f := range maker.findings(run, snapshot) {
		if f.Rule != rule {
			continue
		}
		s := Sightings{Count: 1, First: sp.Seen, Last: sp.Seen, Traces: []string{sp.TraceID}, Controls: a.controls(ctx, baseline.KeyOf(run))}
		return maker.Make(traces, f, s, snapshot)
	}
	return Made{}, &Refused{"the rule finds nothing in trace " + sp.TraceID}
}

// openOffer writes the batch, then the groups of its cases, which point to it.
func (a *Absorber) openOffer(ctx context.Context, now time.Time, t Target, g *Group, members []Member, o Offer) (string, error) {
	batches, err := a.Batches(ctx)
	if err != nil {
		return "", err
	}
	label := o.Rule.Label
	b := Batch{Repo: t.Repo, Base: t.Base, Set: t.Set, Label: label, Service: g.Fingerprint.Service, Number: 1, Opened: now.UTC(), Members: members, Shut: true, Rule: &o.Files}
	for i := range batches {
		old := &batches[i]
		if state, _, _ := old.Status(); old.Rule != nil && old.Rule.Name == o.Files.Name && old.Repo == t.Repo && state != "closed" && state != "withdrawn" {
			return "", &Refused{fmt.Sprintf("the rule %s was offered by %s already: batch %s", old.Rule.Name, old.Rule.By, old.Key())}
		}
		if old.Onboard == nil && old.series(t, label, b.Service) {
			b.Number = max(b.Number, old.Number+1)
		}
	}
	if b.large() {
		return "", &Refused{"the cases and the rule are too large for one pull request"}
	}
	key := b.Key()
	if err := a.changeBatch(ctx, key, func(stored *Batch) error {
		if stored.Number != 0 {
			return errRace
		}
		*stored = b
		return nil
	}); err != nil {
		return "", err
	}
	for _, m := range members {
		if err := a.pointNew(ctx, m, g, o.Rule, key); err != nil {
			return "", err
		}
	}
	return key, nil
}

// pointNew has the group of a case point to its batch; nobody may have seen that failure yet, so the group may be new.
func (a *Absorber) pointNew(ctx context.Context, m Member, of *Group, r classify.Rule, key string) error {
	text, err := a.q.Objects.Get(ctx, m.YAML)
	if err != nil {
		return err
	}
	c, err := regcase.Decode(text)
	if err != nil {
		return err
	}
	return a.changeGroup(ctx, m.Fingerprint, func(g *Group) bool {
		if g.Fingerprint.Label == "" {
			g.Fingerprint, g.Rule, g.Service, g.Form, g.Title, g.Why = c.Fingerprint, r.ID(), of.Service, r.Form, clip(m.Title, maxText), m.Why
		}
		g.Batch, g.Refused = key, ""
		return true
	})
}
