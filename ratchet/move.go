package ratchet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// A label moves a group: its fingerprint with another label is that of another group, which takes over all that it held, and all that is found under the old
// fingerprint from then on. Other than a merge it can be undone, so its entries in the aliases bucket change, by compare-and-set. A split moves some traces.

// label gives a group that no rule explains a label, and returns the digest of the group that has it.
func (a *Absorber) label(ctx context.Context, g *Group, d Decision) (string, error) {
	fp := g.Fingerprint.Digest()
	switch {
	case g.Fingerprint.Label == d.Label && g.Source == classify.SourceHuman:
		return fp, nil
	case g.Fingerprint.Label == d.Label && g.Source == classify.SourceJudge:
		return fp, a.confirm(ctx, g, d)
	case g.Fingerprint.Label != classify.NoLabel && g.Source != classify.SourceHuman && g.Source != classify.SourceJudge:
		return fp, &Refused{fmt.Sprintf("a rule explains it as %s: dismiss it as a false alarm if that is wrong, and the rule hears of it", g.Fingerprint.Label)}
	case g.Batch != "":
		return fp, &Refused{"its case was proposed under the label that it has: deny that first"}
	}
	f := g.Fingerprint
	f.Label, f.Aliases = d.Label, nil
	return f.Digest(), a.move(ctx, g, f.Digest(), Merge{Who: d.Who, When: d.When, Reason: d.Reason, Label: d.Label})
}

// confirm records that a person gives the label that the judge gave.
func (a *Absorber) confirm(ctx context.Context, g *Group, d Decision) error {
	return a.changeGroup(ctx, g.Fingerprint.Digest(), func(g *Group) bool {
		if have, ok := g.latest(ChoiceLabel); ok && have.Label == d.Label {
			return false
		}
		d.Was = g.Fingerprint.Label
		g.Decide(d)
		return true
	})
}

// move has everything of a group go to the group of another digest. m.Into is set here.
func (a *Absorber) move(ctx context.Context, g *Group, to string, m Merge) error {
	a.merging.Lock()
	defer a.merging.Unlock()
	from := g.Fingerprint.Digest()
	if from == to {
		return nil
	}
	m.Into, m.Moved, m.Who, m.When = to, true, clip(m.Who, 200), m.When.UTC()
	if home, err := a.merged(ctx, to); err != nil {
		return err
	} else if home != nil && !home.Moved && home.Into != to {
		return &Refused{fmt.Sprintf("what has that label with the same signs was merged into %.12s: merge this group there", home.Into)}
	}
	if err := a.claimMove(ctx, to, Merge{Into: to, When: m.When, Moved: true}, func(*Merge) bool { return true }); err != nil {
		return err
	}
	free := func(have *Merge) bool { return have.Into == from || have.Into == to }
	if err := a.claimMove(ctx, from, m, free); err != nil {
		return err
	}
	along := m
	along.Along = true
	for _, key := range g.Fingerprint.Aliases {
		if key == to {
			continue
		}
		if err := a.claimMove(ctx, key, along, free); err != nil {
			return err
		}
	}
	return a.settle(ctx, from, m)
}

// claimMove has an entry of the aliases bucket lead elsewhere, if what it is allows that; one that is absent is made.
func (a *Absorber) claimMove(ctx context.Context, key string, m Merge, free func(*Merge) bool) error {
	err := a.q.Aliases.Update(ctx, key, func(old []byte) ([]byte, error) {
		if old != nil {
			var have Merge
			if err := json.Unmarshal(old, &have); err != nil {
				return nil, err
			}
			if !free(&have) {
				return nil, &Refused{"somebody moved it elsewhere just now: look again"}
			}
			if have.Into == m.Into && have.Moved == m.Moved {
				return nil, nil
			}
		}
		return json.Marshal(m)
	})
	if no, ok := errors.AsType[*Refused](err); ok {
		return no
	}
	if err != nil {
		return fmt.Errorf("alias %.12s: %w", key, err)
	}
	return nil
}

// settleMove has the groups follow a move; to do so again changes nothing.
func (a *Absorber) settleMove(ctx context.Context, from string, m Merge) error {
	if m.Along {
		return a.takeAlong(ctx, from, m)
	}
	src, err := a.Group(ctx, from)
	if errors.Is(err, queue.ErrNotFound) { // an alias that never had a group of its own
		a.know(from, m.Into)
		return nil
	}
	if err != nil {
		return err
	}
	if src.Merged == nil || src.Merged.Into != m.Into {
		if err := a.changeGroup(ctx, from, func(g *Group) bool { g.Merged = &m; return true }); err != nil {
			return err
		}
		if src, err = a.Group(ctx, from); err != nil {
			return err
		}
	}
	if err := a.changeGroup(ctx, m.Into, func(g *Group) bool { return g.adopt(&src, m) }); err != nil {
		return err
	}
	if err := a.changeGroup(ctx, from, func(g *Group) bool { return g.empty() }); err != nil {
		return err
	}
	for _, alias := range src.Fingerprint.Aliases {
		if err := a.takeAlong(ctx, alias, m); err != nil {
			return err
		}
	}
	a.know(from, m.Into)
	a.know(m.Into, "")
	a.touch(from, false)
	a.touch(m.Into, false)
	return nil
}

// takeAlong has what was merged into a group that moved point to where it went.
func (a *Absorber) takeAlong(ctx context.Context, alias string, m Merge) error {
	if alias == m.Into {
		return nil
	}
	err := a.changeGroup(ctx, alias, func(g *Group) bool {
		if g.Merged == nil || g.Merged.Into == m.Into {
			return false
		}
		to := *g.Merged
		to.Into = m.Into
		g.Merged = &to
		return true
	})
	a.know(alias, m.Into)
	return err
}

// adopt takes over all that a group holds which moves here, once.
func (g *Group) adopt(src *Group, m Merge) bool {
	from := src.Fingerprint.Digest()
	changed := g.Merged != nil && m.Into == g.Fingerprint.Digest()
	g.Merged = nil
	if slices.Contains(g.Fingerprint.Aliases, from) {
		return changed
	}
	if g.Fingerprint.Label == "" {
		g.Fingerprint = src.Fingerprint
		g.Fingerprint.Label, g.Fingerprint.Aliases = m.Label, nil
	}
	if g.Title == "" {
		g.Rule, g.Service, g.Form, g.Title, g.Why, g.Applied = src.Rule, src.Service, src.Form, src.Title, src.Why, src.Applied
	}
	g.foldAll(src)
	own := g.Fingerprint.Digest()
	g.Fingerprint.Aliases = slices.DeleteFunc(append(union(g.Fingerprint.Aliases, src.Fingerprint.Aliases, maxAliases), from), func(d string) bool { return d == own })
	slices.Sort(g.Fingerprint.Aliases)
	g.Decisions, g.Untold = last(append(g.Decisions, src.Decisions...), maxDecisions), last(append(g.Untold, src.Untold...), maxDecisions)
	switch {
	case m.Undo != "":
		if m.Label != "" {
			g.Source = sourceAfter(g, m)
		}
		g.Left = slices.DeleteFunc(g.Left, func(t string) bool {
			return slices.ContainsFunc(src.Seen, func(k string) bool { return k[:min(len(k), 12)] == t })
		})
		g.takeBack(Decision{Who: m.Who, When: m.When, Choice: ChoiceUndo, Reason: m.Reason, Of: m.Undo})
	default:
		g.Source = classify.SourceHuman
		g.Decide(Decision{Who: m.Who, When: m.When, Choice: ChoiceLabel, Reason: m.Reason, Label: m.Label, Was: src.Fingerprint.Label, From: from})
	}
	return true
}

// sourceAfter is who gave the label that a group is back at.
func sourceAfter(g *Group, m Merge) classify.Source {
	switch {
	case m.Label == classify.NoLabel:
		return ""
	case slices.ContainsFunc(g.Decisions, func(d Decision) bool { return d.Choice == ChoiceLabel && !d.Undone && d.ID != m.Undo }):
		return classify.SourceHuman
	}
	return classify.SourceJudge
}

// empty lets go of what went elsewhere; it stays as an alias.
func (g *Group) empty() bool {
	if g.Merged == nil || g.Count == 0 && len(g.Specimens) == 0 && len(g.Decisions) == 0 && len(g.Seen) == 0 && len(g.Fingerprint.Aliases) == 0 {
		return false
	}
	*g = Group{Fingerprint: g.Fingerprint, Rule: g.Rule, Service: g.Service, Form: g.Form, Title: g.Title, Why: g.Why, Applied: g.Applied, Merged: g.Merged, Origin: g.Origin, Left: g.Left,
		FirstSeen: g.FirstSeen, LastSeen: g.LastSeen}
	g.Fingerprint.Aliases = nil
	return true
}

// Splitting moves chosen traces alone: later revisions of them are taken by neither group, and other traces that show the same go on to the old one.

// split takes traces out of a group and returns the digest of the group that has them.
func (a *Absorber) split(ctx context.Context, g *Group, d Decision) (string, error) {
	slices.Sort(d.Traces)
	d.Traces = slices.Compact(d.Traces)
	f := apartOf(g.Fingerprint, d.Traces)
	to, from := f.Digest(), g.Fingerprint.Digest()
	if have, err := a.Group(ctx, to); err == nil && have.Merged == nil {
		return to, a.leave(ctx, from, d.Traces, to) // asked again
	} else if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return to, err
	}
	if why, err := a.unsplittable(ctx, g, d.Traces); err != nil || why != "" {
		return to, cmpErr(err, why)
	}
	d.From = from
	err := a.changeGroup(ctx, to, func(n *Group) bool {
		if n.Count > 0 {
			return false
		}
		was := n.Decisions
		*n = g.part(f, d.Traces)
		n.Decisions = was
		n.Decide(d)
		return true
	})
	if err != nil {
		return to, err
	}
	if err := a.claimMove(ctx, to, Merge{Into: to, When: d.When, Moved: true}, func(*Merge) bool { return true }); err != nil {
		return to, err
	}
	a.know(to, "")
	return to, a.leave(ctx, from, d.Traces, to)
}

func cmpErr(err error, why string) error {
	if err != nil {
		return err
	}
	return &Refused{why}
}

// apartOf is a fingerprint with a part that tells those traces apart.
func apartOf(f classify.Fingerprint, traces []string) classify.Fingerprint {
	sum := sha256.New()
	for _, t := range traces {
		fmt.Fprintln(sum, t)
	}
	name := make([]byte, 0, 10)
	for _, b := range sum.Sum(nil)[:10] {
		name = append(name, 'a'+b&15)
	}
	parts := append(slices.DeleteFunc(slices.Clone(f.Parts), func(p classify.Part) bool { return p.Key == "split" }), classify.Word("split", string(name)))
	out := classify.NewFingerprint(f.Label, f.Service, f.Agent, parts...)
	out.Version = f.Version
	return out
}

// unsplittable says why traces cannot leave a group, "" if they can.
func (a *Absorber) unsplittable(ctx context.Context, g *Group, traces []string) (string, error) {
	for _, t := range traces {
		if i := g.seen(t); i < 0 || !g.counts(i, true) {
			return fmt.Sprintf("the group does not remember trace %s: it knows the latest %d", t, maxSeen), nil
		}
	}
	switch {
	case len(traces) >= g.Count:
		return "all of its traces would leave: then nothing is told apart", nil
	case len(g.Left)+len(traces) > maxLeft:
		return fmt.Sprintf("at most %d traces leave one group", maxLeft), nil
	case g.Batch == "":
		return "", nil
	}
	b, err := a.batch(ctx, g.Batch)
	if errors.Is(err, queue.ErrNotFound) {
		return "", nil
	}
	if i := b.member(g.Fingerprint.Digest()); err == nil && i >= 0 && slices.Contains(traces, b.Members[i].TraceID) {
		return fmt.Sprintf("trace %s is the recording of the proposed case: it stays", b.Members[i].TraceID), nil
	}
	return "", err
}

// maxLeft bounds the traces that were split off a group.
const maxLeft = 64

// part is a new group of some of a group's traces.
func (g *Group) part(f classify.Fingerprint, traces []string) Group {
	n := Group{Fingerprint: f, Rule: g.Rule, Service: g.Service, Form: g.Form, Severity: g.Severity, Confidence: g.Confidence, Title: g.Title, Why: g.Why,
		Source: g.Source, Origin: orDefault(g.Origin, g.Fingerprint.Digest()), Applied: g.Applied, FirstSeen: g.FirstSeen, LastSeen: g.LastSeen, Began: g.Began}
	for _, s := range g.Specimens {
		if slices.Contains(traces, s.subject()) {
			n.Specimens = append(n.Specimens, s)
			n.Why = s.Why
		}
	}
	for i, s := range n.Specimens {
		if i == 0 {
			n.FirstSeen, n.LastSeen = s.Seen, s.Seen
		}
		n.FirstSeen, n.LastSeen = earlier(n.FirstSeen, s.Seen), later(n.LastSeen, s.Seen)
	}
	for _, t := range traces {
		n.Seen = append(n.Seen, g.Seen[g.seen(t)])
		n.Count++
		at := n.LastSeen
		if i := slices.IndexFunc(n.Specimens, func(s Specimen) bool { return s.subject() == t }); i >= 0 {
			at = n.Specimens[i].Seen
		}
		n.sighted(at, 1)
		n.addSession("", t)
	}
	return n
}

// leave takes traces out of a group that another has now.
func (a *Absorber) leave(ctx context.Context, from string, traces []string, to string) error {
	a.touch(from, false)
	a.touch(to, true)
	return a.changeGroup(ctx, from, func(g *Group) (changed bool) {
		for _, t := range traces {
			i := g.seen(t)
			if slices.Contains(g.Left, tail(t)) || i < 0 {
				continue
			}
			if g.counts(i, true) {
				g.Count--
				g.unsighted(t)
				g.Seen[i] += retracted
			}
			g.Fingerprint.Aliases = slices.DeleteFunc(slices.Clone(g.Fingerprint.Aliases), func(d string) bool { return d == to })
			g.Left, changed = append(g.Left, tail(t)), true
			g.Specimens = slices.DeleteFunc(g.Specimens, func(s Specimen) bool { return s.subject() == t })
		}
		return changed
	})
}
