package triage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// Proposal is what became of POST /v1/groups/{id}/propose.
type Proposal struct {
	Kind       string         `json:"kind"` // always "proposal"
	Group      string         `json:"group"`
	Label      classify.Label `json:"label"`
	State      string         `json:"state"` // running | done | stopped
	Doing      string         `json:"doing"` // in words, while it runs
	Done       int            `json:"done"`  // traces that were tried
	Of         int            `json:"of"`    // kept traces of the service that are looked at
	More       bool           `json:"more"`  // more are kept than are looked at
	Labelled   int            `json:"labelled"`
	Healthy    int            `json:"healthy"`
	Why        string         `json:"why"` // why there is no candidate, "" where there is one
	Candidates []Candidate    `json:"candidates"`
}

// Candidate is a proposed rule with what it would have caught.
type Candidate struct {
	Name       string            `json:"name"`
	Label      classify.Label    `json:"label"`
	Severity   classify.Severity `json:"severity"`
	When       string            `json:"when"`
	Evidence   string            `json:"evidence"`
	Why        string            `json:"why"`
	Says       string            `json:"says"` // in words
	YAML       string            `json:"yaml"` // its file
	Hits       int               `json:"hits"` // of the labelled runs that it was made of
	Missed     []string          `json:"missed"`
	Collisions []string          `json:"collisions"` // healthy runs among those that it was made of
	Testdata   []propose.File    `json:"testdata"`
	Trial      propose.Trial     `json:"trial"`
}

// offered is the answer of POST /v1/groups/{id}/propose/{n}/offer.
type offered struct {
	Kind string `json:"kind"` // always "offer"
	ratchet.Offered
}

// Bounds of one proposal.
const (
	maxTried    = 5000            // kept traces that candidates are tried on
	proposeTime = 2 * time.Minute // for all of it
	maxProposed = 32              // proposals that are remembered
	maxRunning  = 2               // at once
)

// proposals are the latest, in memory: they are made again at no great cost.
type proposals struct {
	mu  sync.Mutex
	all []*proposing // the latest last
}

// proposing is one of them, with what ends it.
type proposing struct {
	mu    sync.Mutex
	is    Proposal
	found []propose.Candidate
	stop  context.CancelFunc
}

func (p *proposing) look() Proposal {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.is
	out.Candidates = append([]Candidate{}, p.is.Candidates...)
	return out
}

func (p *proposing) note(change func(*Proposal)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.is)
}

// of is the proposal for a group, nil where there is none.
func (s *proposals) of(id string) *proposing {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range slices.Backward(s.all) {
		if p.is.Group == id {
			return p
		}
	}
	return nil
}

// forget drops those that are done: what they hold of traces may have been erased.
func (s *proposals) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(p *proposing) bool { return p.look().State != "running" })
}

// begin remembers a new proposal; why says why it may not begin.
func (s *proposals) begin(p *proposing) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for _, other := range s.all {
		if other.look().State != "running" {
			continue
		}
		if running++; other.is.Group == p.is.Group {
			return "rules are being proposed for it: GET tells how far that is, DELETE ends it"
		}
	}
	if running >= maxRunning {
		return "rules are being proposed for other groups: try again when that is done"
	}
	s.all = append(slices.DeleteFunc(s.all, func(o *proposing) bool { return o.is.Group == p.is.Group }), p)
	s.all = s.all[max(0, len(s.all)-maxProposed):]
	return ""
}

// proposal answers GET /v1/groups/{id}/propose.
func (h *handler) proposal(w http.ResponseWriter, r *http.Request) {
	p, err := h.proposedFor(r)
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	h.answer(w, p.look(), nil)
}

// proposedFor is the proposal of the group that a request names.
func (h *handler) proposedFor(r *http.Request) (*proposing, error) {
	g, err := h.labelled(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if p := h.proposals.of(g.ID()); p != nil {
		return p, nil
	}
	return nil, ErrNotFound
}

// stopProposal answers DELETE /v1/groups/{id}/propose.
func (h *handler) stopProposal(w http.ResponseWriter, r *http.Request) {
	p, err := h.proposedFor(r)
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	p.stop()
	h.answer(w, p.look(), nil)
}

// labelled is the group of an id, or what it was merged or moved into.
func (h *handler) labelled(ctx context.Context, id string) (*ratchet.Group, error) {
	gs, err := h.src.Groups(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(gs, func(g ratchet.Group) bool { return g.ID() == id })
	for hops := 0; i >= 0 && gs[i].Merged != nil && hops < 4; hops++ {
		into := gs[i].Merged.Into
		i = slices.IndexFunc(gs, func(g ratchet.Group) bool { return g.Digest() == into })
	}
	if i < 0 {
		return nil, ErrNotFound
	}
	return &gs[i], nil
}

// propose answers POST /v1/groups/{id}/propose.
func (h *handler) propose(w http.ResponseWriter, r *http.Request) {
	p, err := h.proposeOn(r.Context(), r.PathValue("id"))
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.fail(w, http.StatusConflict, no.Reason)
		return
	}
	h.answer(w, p, err)
}

// proposeOn proposes rules for a group and tries them. It returns when that is done, or was ended; *ratchet.Refused says why it cannot be begun.
func (h *handler) proposeOn(ctx context.Context, id string) (Proposal, error) {
	g, err := h.labelled(ctx, id)
	switch {
	case err != nil:
		return Proposal{}, err
	case h.src.Kept == nil || h.src.Group == nil:
		return Proposal{}, &ratchet.Refused{Reason: keptElsewhere}
	case g.Fingerprint.Label == classify.NoLabel:
		return Proposal{}, &ratchet.Refused{Reason: "give it a label first: a rule is proposed for what a person labelled"}
	}
	work, cancel := context.WithTimeout(ctx, proposeTime)
	defer cancel()
	if h.src.Stopping != nil {
		defer context.AfterFunc(h.src.Stopping, cancel)()
	}
	p := &proposing{stop: cancel, is: Proposal{Kind: "proposal", Group: g.ID(), Label: g.Fingerprint.Label, State: "running", Doing: "listing the kept traces", Candidates: []Candidate{}}}
	if why := h.proposals.begin(p); why != "" {
		return Proposal{}, &ratchet.Refused{Reason: why}
	}
	err = h.search(work, g, p)
	p.note(func(is *Proposal) {
		is.Doing, is.State = "", "done"
		if err != nil {
			is.State, is.Why = "stopped", cmp.Or(is.Why, "it was ended before it was done")
		}
	})
	if work.Err() != nil {
		err = nil // that is told
	}
	return p.look(), err
}

// search gathers runs, proposes rules and tries them.
func (h *handler) search(ctx context.Context, g *ratchet.Group, p *proposing) error {
	kept, more, err := h.keptOf(ctx, g.Service)
	if err != nil {
		return err
	}
	p.note(func(is *Proposal) { is.Of, is.More, is.Doing = len(kept), more, "reading runs" })
	labelled, err := h.labelledTraces(ctx, g, kept)
	if err != nil {
		return err
	}
	o := propose.Options{Name: string(g.Fingerprint.Label), Taken: h.ruleNames()}
	if h.src.Redact != nil {
		o.Redact = h.src.Redact()
	}
	var pos, neg []*trajectory.Trajectory
	for _, k := range kept {
		mine := slices.Contains(labelled, k.ID)
		list, most := &neg, propose.MaxHealthy
		switch {
		case mine:
			list, most = &pos, propose.MaxLabelled
		case k.Verdict != nil && *k.Verdict == classify.Failing:
			list, most = &o.Others, propose.MaxOthers
		case k.Verdict == nil || *k.Verdict != classify.Passing:
			continue
		}
		if len(*list) >= most {
			continue
		}
		t, err := h.built(ctx, k.ID)
		if err != nil {
			return err
		}
		if t != nil {
			*list = append(*list, t)
		}
	}
	p.note(func(is *Proposal) {
		is.Labelled, is.Healthy, is.Doing = len(pos), len(neg), "looking for what tells them apart"
	})
	found, err := propose.Propose(pos, neg, o)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		p.note(func(is *Proposal) { is.Why = whyNoRule(len(pos), len(neg)) })
		return ctx.Err()
	}
	return h.try(ctx, p, found, labelled, kept)
}

func whyNoRule(labelled, healthy int) string {
	if labelled == 0 {
		return "none of its traces is kept any more: assemble.retention in pawl.yaml says how long they are"
	}
	return fmt.Sprintf("nothing that a rule can say tells the %d labelled runs from the %d healthy ones", labelled, healthy)
}

// try tries the candidates on all kept traces.
func (h *handler) try(ctx context.Context, p *proposing, found []propose.Candidate, labelled []string, kept []KeptTrace) error {
	trials, err := propose.NewTrials(found, labelled)
	if err != nil {
		return err
	}
	p.note(func(is *Proposal) { is.Doing = "trying them on the kept traces" })
	for i, k := range kept {
		t, err := h.built(ctx, k.ID)
		if err != nil {
			break // what was tried until then is told
		}
		if t != nil && k.Verdict != nil {
			trials.Take(t, *k.Verdict)
		}
		p.note(func(is *Proposal) { is.Done = i + 1 })
	}
	p.note(func(is *Proposal) {
		for i, c := range found {
			is.Candidates = append(is.Candidates, Candidate{Name: c.Rule.Name, Label: c.Rule.Label, Severity: c.Rule.Severity, When: c.Rule.When, Evidence: c.Rule.Evidence, Why: c.Rule.Why, Says: c.Says,
				YAML: propose.YAML(c.Rule), Hits: c.Hits, Missed: c.Missed, Collisions: c.Collisions, Testdata: c.Testdata, Trial: trials.Of[i]})
		}
	})
	p.mu.Lock()
	p.found = found
	p.mu.Unlock()
	return ctx.Err()
}

// keptOf lists the complete kept traces of a service, the latest first.
func (h *handler) keptOf(ctx context.Context, service string) (out []KeptTrace, more bool, err error) {
	seen, cursor := map[string]bool{}, ""
	for {
		page, err := h.src.Kept(ctx, KeptFilter{Service: service}, cursor, largestPage)
		if err != nil {
			return nil, false, err
		}
		for _, k := range page.Traces {
			if !seen[k.ID] && !k.Open {
				seen[k.ID] = true
				out = append(out, k)
			}
		}
		if cursor = page.Next; cursor == "" || len(out) >= maxTried {
			return out[:min(len(out), maxTried)], cursor != "" || len(out) > maxTried, ctx.Err()
		}
	}
}

// labelledTraces are the ids of the kept traces that people gave the group's label, in this group or in another of the service.
func (h *handler) labelledTraces(ctx context.Context, g *ratchet.Group, kept []KeptTrace) (out []string, err error) {
	gs, err := h.src.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var alike []ratchet.Group
	for i := range gs {
		o := &gs[i]
		if o.Digest() != g.Digest() && (o.Merged != nil || o.Source != classify.SourceHuman || o.Fingerprint.Label != g.Fingerprint.Label || o.Service != g.Service) {
			continue
		}
		whole, err := h.src.Group(ctx, o.Digest()) // lists lack which traces it holds
		if err != nil {
			return nil, err
		}
		alike = append(alike, whole)
	}
	for _, k := range kept {
		if slices.ContainsFunc(alike, func(g ratchet.Group) bool { return g.Holds(k.ID) }) {
			out = append(out, k.ID)
		}
	}
	return out, nil
}

// built reads a kept trace; nil where it went meanwhile, or cannot be read.
func (h *handler) built(ctx context.Context, id string) (*trajectory.Trajectory, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := h.src.Trace(ctx, id)
	if err != nil {
		if !errors.Is(err, ErrNotFound) {
			h.lg.Debug("a kept trace cannot be read", "trace", id, "err", err)
		}
		return nil, ctx.Err()
	}
	return trajectory.Build(t), nil
}

// ruleNames are the names that rules have.
func (h *handler) ruleNames() (out []string) {
	if h.src.Rules == nil {
		return nil
	}
	for _, r := range h.src.Rules() {
		name := r.ID
		for i := range name {
			if name[i] == '@' {
				name = name[:i]
				break
			}
		}
		out = append(out, name)
	}
	return out
}

// offer answers POST /v1/groups/{id}/propose/{n}/offer.
func (h *handler) offer(w http.ResponseWriter, r *http.Request) {
	o, err := h.offerOf(r.Context(), r.PathValue("id"), r.PathValue("n"))
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.fail(w, http.StatusConflict, no.Reason)
		return
	}
	h.answer(w, offered{"offer", o}, err)
}

// offerOf offers the n-th rule that was proposed for a group, in the caller's name.
func (h *handler) offerOf(ctx context.Context, id, n string) (ratchet.Offered, error) {
	g, err := h.labelled(ctx, id)
	if err != nil {
		return ratchet.Offered{}, err
	}
	p := h.proposals.of(g.ID())
	if p == nil || h.src.Offer == nil {
		return ratchet.Offered{}, &ratchet.Refused{Reason: "no rule is proposed for it now: have one proposed first"}
	}
	p.mu.Lock()
	found, shown := slices.Clone(p.found), slices.Clone(p.is.Candidates)
	p.mu.Unlock()
	i, err := strconv.Atoi(n)
	if err != nil || i < 0 || i >= len(found) || i >= len(shown) {
		return ratchet.Offered{}, &ratchet.Refused{Reason: fmt.Sprintf("%d rules are proposed for it, counted from 0", len(found))}
	}
	return h.src.Offer(ctx, g.ID(), callerOf(ctx).Name, found[i], trialWords(shown[i].Trial))
}

// trialWords tells a trial in a sentence.
func trialWords(t propose.Trial) string {
	return fmt.Sprintf("In %d kept traces it finds %d of the %d that were labelled, %d that pass without it, and %d others that went wrong.",
		t.Traces, t.Found.Count, t.Found.Count+t.Missed.Count, t.Collisions.Count, t.Others.Count)
}
