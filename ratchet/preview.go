package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Preview is the case of a group as a pull request would bring it, or why there can be none.
type Preview struct {
	Kind    string     `json:"kind"` // always "case"
	Group   string     `json:"group"`
	Case    string     `json:"case"`    // its id, "" where there is none
	Digest  string     `json:"digest"`  // of the case: decisions and edits are bound to it
	Refused string     `json:"refused"` // why no case can be made, "" where one can
	Setting string     `json:"setting"` // what would have one made, or proposed; "" for nothing that pawl knows
	Waits   string     `json:"waits"`   // why it is not proposed now, "" where it is, or will be
	Batch   string     `json:"batch"`   // key of the batch that it is in, "" for none
	Sent    bool       `json:"sent"`    // its pull request may be out: it can no longer be edited here
	Title   string     `json:"title"`   // of the case
	Why     string     `json:"why"`
	Files   []CaseFile `json:"files"`  // as they would be in the repository
	Expect  string     `json:"expect"` // what it asserts, as YAML: to be edited
	Edit    *Edit      `json:"edit"`   // by whom it was edited; null for nobody
	Proof   *Proven    `json:"proof"`  // null where there is no case
	Pull    *Pull      `json:"pull_request"`
	Redacts []Redact   `json:"redacted"`
}

// CaseFile is one file of a case.
type CaseFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Proven is what was shown of a case before it may enter.
type Proven struct {
	Form    string   `json:"form"`    // never | budget | fault
	Red     string   `json:"red"`     // where the failure was seen: on the recording, or live too
	Twins   []string `json:"twins"`   // changed recordings that stay red
	Damages []string `json:"damages"` // of the control, that turn red
	Repairs []string `json:"repairs"` // of the recording, that turn green; null where it is not known any more
	Control *string  `json:"control"` // the healthy run that is green; null for none
	Weak    bool     `json:"weak"`    // a run that refuses everything passes it
	Rule    string   `json:"rule"`
	Known   string   `json:"known"` // how often the rule is right
}

// Pull is the pull request as it would be, or is.
type Pull struct {
	Repo   string `json:"repo"`
	Base   string `json:"base"`
	Branch string `json:"branch"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Cases  int    `json:"cases"` // that are in it
	State  string `json:"state"` // as Batch.Status, "" where there is none yet
	URL    string `json:"url"`
}

// Redact is a value that a stand-in replaced, or of which all that is known is how many of its kind there were.
type Redact struct {
	Kind    string  `json:"kind"`
	StandIn string  `json:"stand_in"` // "" where they are only counted
	Bytes   int     `json:"bytes"`    // length of what it stands for, 0 where that is not known
	Times   int     `json:"times"`    // in the files
	Places  []Place `json:"places"`
}

// Place is where a stand-in is seen.
type Place struct {
	Path  string `json:"path"`
	Lines []int  `json:"lines"` // from 1; the first few
}

// Draft is what a preview is made of.
type Draft struct {
	Group    *Group
	Made     *Made   // nil: none can be made, or it was not made anew
	Refused  string  // why there is none
	Setting  string  // that would mend that
	Waits    string  // why it is not proposed now
	Target   *Target // where its pull request would go; nil: targets name none
	Known    string  // how often the rule is right
	Member   *Member // of a case that is proposed
	Batch    *Batch  // that holds it
	Sent     bool
	YAML     string       // of the member
	Trace    string       // of the member
	Intent   *ghpr.Intent // of the batch, with its body; nil where it is not frozen
	Advisory []string
}

// PreviewOf makes the preview. It is pure: the page, the API and the command line show what it gives.
func PreviewOf(d Draft) (Preview, error) {
	p := Preview{Kind: "case", Group: d.Group.ID(), Waits: d.Waits, Setting: d.Setting, Edit: d.Group.Edit, Files: []CaseFile{}, Redacts: []Redact{}}
	c, err := d.files(&p)
	if err != nil || c == nil {
		p.Refused = cmp.Or(d.Refused, "no case was made of it yet")
		return p, err
	}
	if p.Digest, err = c.Digest(); err != nil {
		return p, err
	}
	text, err := regcase.EncodeExpect(c.Expect)
	if err != nil {
		return p, err
	}
	p.Case, p.Title, p.Expect, p.Sent = c.ID, c.Title, string(text), d.Sent
	p.Proof = d.proven(c)
	p.Redacts = d.redacted(c, p.Files)
	if d.Batch != nil {
		p.Batch = d.Batch.Key()
	}
	if p.Pull, err = d.pull(); err != nil {
		p.Setting = cmp.Or(p.Setting, err.Error())
		err = nil
	}
	return p, err
}

// files puts the two files into the preview and returns the case, nil where there is none.
func (d *Draft) files(p *Preview) (*regcase.Case, error) {
	yaml, trace, set := d.YAML, d.Trace, "regressions"
	switch {
	case d.Member != nil:
		p.Why = d.Member.Why
	case d.Made != nil:
		yaml, trace, p.Why = string(d.Made.YAML), string(d.Made.Trace), d.Made.Why
	default:
		return nil, nil
	}
	c, err := regcase.Decode([]byte(yaml))
	if err != nil {
		return nil, fmt.Errorf("preview of %s: %w", p.Group, err)
	}
	if d.Target != nil {
		set = d.Target.Set
	}
	if d.Batch != nil {
		set = d.Batch.Set
	}
	dir := set + "/" + c.Dir()
	p.Files = []CaseFile{{dir + "/" + regcase.CaseFile, yaml}, {dir + "/" + regcase.JSONFile, trace}}
	return &c, nil
}

func (d *Draft) proven(c *regcase.Case) *Proven {
	out := &Proven{Form: c.Form, Red: shown(c.Live), Twins: []string{}, Damages: []string{}, Control: c.Provenance.Control, Weak: c.Weak, Rule: c.Provenance.Rule, Known: d.Known}
	for _, k := range c.Provenance.Kills {
		if name, ok := strings.CutPrefix(k, "twin/"); ok {
			out.Twins = append(out.Twins, name)
		} else {
			out.Damages = append(out.Damages, strings.TrimPrefix(k, "damage/"))
		}
	}
	if d.Made != nil {
		out.Repairs = append([]string{}, d.Made.Healed...)
	}
	return out
}

// pull is the pull request: that of the batch, or one that would hold this case alone. The error says what keeps it from being one.
func (d *Draft) pull() (*Pull, error) {
	if d.Intent != nil {
		out := &Pull{Repo: d.Intent.Repo, Base: d.Intent.Base, Branch: d.Intent.Branch, Title: d.Intent.Title, Body: d.Intent.Body, Cases: len(d.Batch.Members)}
		out.State, out.URL, _ = d.Batch.Status()
		return out, nil
	}
	if d.Target == nil {
		return nil, fmt.Errorf("a line of targets in pawl.yaml whose service matches %q says which repository takes it", d.Group.service())
	}
	m := d.Member
	if m == nil {
		m = new(NewMember(*d.Made, "", ""))
		m.Known = d.Known
	}
	b := &Batch{Repo: d.Target.Repo, Base: d.Target.Base, Set: d.Target.Set, Label: d.Group.Fingerprint.Label, Service: d.Group.Fingerprint.Service, Number: 1, Members: []Member{*m}}
	yaml, trace := d.YAML, d.Trace
	if d.Member == nil {
		yaml, trace = string(d.Made.YAML), string(d.Made.Trace)
	}
	change, err := b.Change(func(Member) (string, string, error) { return yaml, trace, nil })
	if err != nil {
		return nil, err
	}
	in, err := ghpr.Freeze(change)
	if err != nil {
		change.Title = b.plainTitle()
		if in, err = ghpr.Freeze(change); err != nil {
			return nil, err
		}
	}
	out := &Pull{Repo: in.Repo, Base: in.Base, Branch: in.Branch, Title: in.Title, Body: in.Body, Cases: 1}
	if d.Batch != nil {
		out.State, out.URL, _ = d.Batch.Status()
	}
	return out, nil
}

// maxLines bounds the places that are told of one stand-in in one file.
const maxLines = 10

// redacted tells what was replaced, by kind and stand-in, and where it is seen; what was replaced and then trimmed away is not told.
func (d *Draft) redacted(c *regcase.Case, files []CaseFile) []Redact {
	out := []Redact{}
	if d.Made == nil {
		for _, kind := range slices.Sorted(maps.Keys(c.Provenance.Redactions)) {
			out = append(out, Redact{Kind: kind, Times: c.Provenance.Redactions[kind], Places: []Place{}})
		}
		return out
	}
	told := map[string]bool{}
	for _, r := range d.Made.Replaced {
		if told[r.Pseudonym] {
			continue
		}
		told[r.Pseudonym] = true
		if one := seenIn(r, files); one.Times > 0 {
			out = append(out, one)
		}
	}
	return out
}

// seenIn finds a stand-in in the files.
func seenIn(r redact.Replacement, files []CaseFile) Redact {
	out := Redact{Kind: string(r.Kind), StandIn: r.Pseudonym, Bytes: r.Bytes, Places: []Place{}}
	for _, f := range files {
		at := Place{Path: f.Path, Lines: []int{}}
		n := 0
		for line := range strings.Lines(f.Content) {
			n++
			if k := occurrences(line, r.Pseudonym); k > 0 {
				out.Times += k
				if len(at.Lines) < maxLines {
					at.Lines = append(at.Lines, n)
				}
			}
		}
		if len(at.Lines) > 0 {
			out.Places = append(out.Places, at)
		}
	}
	return out
}

// occurrences counts a stand-in where it is not the beginning of another: email-1 is none of email-12.
func occurrences(line, standIn string) (n int) {
	if standIn == "" {
		return 0
	}
	for {
		i := strings.Index(line, standIn)
		if i < 0 {
			return n
		}
		line = line[i+len(standIn):]
		if last := standIn[len(standIn)-1]; line == "" || last < '0' || last > '9' || line[0] < '0' || line[0] > '9' {
			n++
		}
	}
}

// Preview shows the case of the group of an id as its pull request would bring it, or why there can be none; queue.ErrNotFound where there is no such group.
// Nothing is stored.
func (a *Absorber) Preview(ctx context.Context, id string, now time.Time) (Preview, error) {
	g, err := a.home(ctx, id)
	if err != nil {
		return Preview{}, err
	}
	d := Draft{Group: &g}
	if t, ok := TargetFor(a.opts.Targets, g.service()); ok {
		d.Target = &t
	}
	if err := a.proposedDraft(ctx, &g, &d); err != nil {
		return Preview{}, err
	}
	if err := a.freshDraft(ctx, now, &g, &d); err != nil {
		return Preview{}, err
	}
	return PreviewOf(d)
}

// proposedDraft adds what is proposed of a group.
func (a *Absorber) proposedDraft(ctx context.Context, g *Group, d *Draft) error {
	if g.Batch == "" {
		return nil
	}
	b, err := a.batch(ctx, g.Batch)
	if errors.Is(err, queue.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	i := b.member(g.Fingerprint.Digest())
	if i < 0 {
		return nil
	}
	m := b.Members[i]
	yaml, trace, err := a.content(ctx)(m)
	if errors.Is(err, queue.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	d.Batch, d.Member, d.YAML, d.Trace, d.Known, d.Sent = &b, &m, yaml, trace, m.Known, !b.unsent()
	if b.Intent != nil {
		in, err := a.embodied(ctx, &b)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		if err == nil {
			d.Intent = &in
		}
	}
	return nil
}

// freshDraft makes the case anew. Where one is proposed it is kept if it is the very same, for what it tells of redaction and repairs.
func (a *Absorber) freshDraft(ctx context.Context, now time.Time, g *Group, d *Draft) error {
	made, no, err := a.draft(ctx, now, g)
	if err != nil {
		return err
	}
	if d.Member != nil {
		if made != nil && made.Digest == d.Member.CaseDigest {
			d.Made = made
		}
		return nil
	}
	p := a.opts.Policy
	if due, why := p.Due(g); !due {
		d.Waits = why
	}
	d.Made, d.Refused, d.Setting = made, no.first, no.setting
	if made != nil {
		d.Known = p.known(made.Case.Provenance.Rule)
		return nil
	}
	if d.Refused == "" {
		d.Refused, d.Setting = a.whyNone(g)
	}
	return nil
}

// whyNone says why no case was even tried, and what would have one made.
func (a *Absorber) whyNone(g *Group) (why, setting string) {
	switch {
	case g.Fingerprint.Label == classify.NoLabel:
		return "no rule explains it: it waits for a person", "give it a label, then have a rule proposed: `pawl triage propose " + g.ID() + "`"
	case g.Form == classify.FormNone || g.Form == "":
		if g.Offer != nil {
			return "a case asserts what a rule finds: the rule " + g.Offer.Rule + " was offered by " + g.Offer.Who, "merge the pull request of batch " + g.Offer.Batch + ", whose cases are of this failure"
		}
		if g.Source == classify.SourceHuman || g.Source == classify.SourceJudge {
			return "a case asserts what a rule finds, and no rule finds this yet", "`pawl triage propose " + g.ID() + "` proposes one, or write it under custom: in pawl.yaml"
		}
		return fmt.Sprintf("a case cannot assert %s: it is reported only", g.Fingerprint.Label), ""
	case len(g.Specimens) == 0:
		return "the recording of no sighting is kept", "absorb.keep_recordings in pawl.yaml says how long they are; the next sighting brings one"
	}
	return "its session is not quiet yet, and another trace may explain it", ""
}

// draft makes the case of a group and stores nothing.
func (a *Absorber) draft(ctx context.Context, now time.Time, g *Group) (*Made, refusals, error) {
	if g.Form == classify.FormNone || g.Form == "" || g.Fingerprint.Label == classify.NoLabel {
		return nil, refusals{}, nil
	}
	base := sync.OnceValues(func() (*baseline.Snapshot, error) { return Snapshot(ctx, a.q) })
	return a.make(ctx, now, g, true, base)
}
