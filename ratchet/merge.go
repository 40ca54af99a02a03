package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Merge says that the findings of one fingerprint, the alias, are those of another. Key in the aliases bucket: the alias's digest. It is created once and never
// changed or deleted, save where a label moves a group, or is undone. What others are merged into has an entry that names itself, made first, so that it cannot become an alias: one hop always leads home.
//
// The claim settles it; the groups follow, again after a crash until they have: the alias's group gets the record and takes nothing from then on, then what it
// holds is folded into the other, which lists the alias in the same change.
type Merge struct {
	Into   string    `json:"into"` // digest
	Who    string    `json:"who"`
	When   time.Time `json:"when"`
	Reason string    `json:"reason"`

	Moved bool           `json:"moved,omitzero"` // by a label, or by an undo: it may be moved again
	Label classify.Label `json:"label,omitzero"` // of a move: the label there
	Along bool           `json:"along,omitzero"` // of a move: it is an alias of what was moved
	Undo  string         `json:"undo,omitzero"`  // of a move back: id of the decision that it undoes
}

// Unmergeable says why two groups cannot be merged, in words for the person who asked.
type Unmergeable struct{ Reason string }

func (e *Unmergeable) Error() string { return e.Reason }

// maxAliases bounds the aliases of a group.
const maxAliases = 64

// Merge makes the group of an id an alias of another, or of what that is an alias of, and returns the group that has both now. To ask again is no error.
// It returns *Unmergeable where the groups stay apart, and queue.ErrNotFound where there is no such group.
func (a *Absorber) Merge(ctx context.Context, id, into string, m Merge) (Group, error) {
	m.Who, m.Reason, m.When = clip(m.Who, 200), clip(m.Reason, maxReason), m.When.UTC()
	a.merging.Lock()
	defer a.merging.Unlock()
	gs, err := a.Groups(ctx)
	if err != nil {
		return Group{}, err
	}
	alias, target, err := pair(gs, id, into)
	if err != nil {
		return Group{}, err
	}
	from := alias.Fingerprint.Digest()
	m.Into = target.Fingerprint.Digest()
	if old, err := a.merged(ctx, from); err != nil {
		return Group{}, err
	} else if old == nil {
		if reason := apart(alias, target); reason != "" {
			return Group{}, &Unmergeable{reason}
		}
		if err := a.claim(ctx, from, m); err != nil {
			return Group{}, err
		}
	} else if m = *old; m.Into != target.Fingerprint.Digest() {
		return Group{}, &Unmergeable{elsewhere(alias, m, from)}
	}
	if err := a.settle(ctx, from, m); err != nil {
		return Group{}, err
	}
	return a.Group(ctx, m.Into)
}

// pair finds both groups; an alias stands for what it was merged into.
func pair(gs []Group, id, into string) (alias, target *Group, err error) {
	find := func(match func(*Group) bool) *Group {
		if i := slices.IndexFunc(gs, func(g Group) bool { return match(&g) }); i >= 0 {
			return &gs[i]
		}
		return nil
	}
	alias, target = find(func(g *Group) bool { return g.ID() == id }), find(func(g *Group) bool { return g.ID() == into })
	if target != nil && target.Merged != nil {
		home := target.Merged.Into
		target = find(func(g *Group) bool { return g.Fingerprint.Digest() == home })
	}
	if alias == nil || target == nil {
		return nil, nil, fmt.Errorf("merge %s into %s: %w", id, into, queue.ErrNotFound)
	}
	if alias.ID() == target.ID() {
		return nil, nil, &Unmergeable{id + " and " + into + " are one already"}
	}
	return alias, target, nil
}

// apart says why two groups must not be merged, or "".
func apart(alias, target *Group) string {
	x, y := alias.Fingerprint, target.Fingerprint
	switch {
	case x.Label != y.Label || x.Service != y.Service:
		return fmt.Sprintf("%s is %s in %q and %s is %s in %q: only failures of one label and service can be one", alias.ID(), x.Label, x.Service, target.ID(), y.Label, y.Service)
	case alias.Batch != "" && target.Batch != "":
		return "both have cases that were proposed: " + alias.ID() + " and " + target.ID() + " stay two; close the pull request of one, or retire its case"
	case alias.Batch != "":
		return alias.ID() + " has a case that was proposed: merge " + target.ID() + " into it instead"
	case len(x.Aliases) > 0:
		return alias.ID() + " has aliases of its own, and recorded merges never move: merge " + target.ID() + " into it instead"
	case len(y.Aliases) >= maxAliases:
		return fmt.Sprintf("%s has %d aliases, which is as many as one may have", target.ID(), len(y.Aliases))
	}
	return ""
}

func elsewhere(alias *Group, m Merge, from string) string {
	if m.Into == from {
		return alias.ID() + " is what others are merged into, and recorded merges never move: merge the other way round"
	}
	return fmt.Sprintf("%s was merged into %.12s by %s already, and recorded merges never move", alias.ID(), m.Into, cmp.Or(m.Who, "somebody"))
}

// merged reads what an alias was claimed for, nil when it was not.
func (a *Absorber) merged(ctx context.Context, from string) (*Merge, error) {
	e, err := a.q.Aliases.Get(ctx, from)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := new(Merge)
	if err := json.Unmarshal(e.Value, m); err != nil {
		return nil, fmt.Errorf("alias %.12s: %w", from, err)
	}
	return m, nil
}

// claim records the merge, the target's own entry first.
func (a *Absorber) claim(ctx context.Context, from string, m Merge) error {
	for _, c := range []struct {
		key string
		Merge
	}{{m.Into, Merge{Into: m.Into, When: m.When}}, {from, m}} {
		doc, err := json.Marshal(c.Merge)
		if err != nil {
			return err
		}
		err = a.q.Aliases.Create(ctx, c.key, doc)
		if err != nil && !errors.Is(err, queue.ErrExists) {
			return err
		}
		if have, err := a.merged(ctx, c.key); err != nil {
			return err
		} else if have == nil || have.Into != m.Into {
			return &Unmergeable{fmt.Sprintf("another merge of %.12s came first: look at both again", c.key)}
		}
	}
	return nil
}

// settle has the groups follow a claim; to do so again changes nothing.
func (a *Absorber) settle(ctx context.Context, from string, m Merge) error {
	if m.Moved {
		return a.settleMove(ctx, from, m)
	}
	err := a.changeGroup(ctx, from, func(g *Group) bool {
		if g.Merged != nil || g.Fingerprint.Label == "" {
			return false
		}
		g.Merged = &m
		return true
	})
	if err != nil {
		return err
	}
	alias, err := a.Group(ctx, from)
	if err != nil {
		return err
	}
	if err := a.tellMerge(ctx, from, &alias); err != nil {
		return err
	}
	if err := a.changeGroup(ctx, m.Into, func(g *Group) bool { return g.fold(&alias) }); err != nil {
		return err
	}
	a.know(from, m.Into)
	a.touch(from, false)
	a.touch(m.Into, false)
	return nil
}

// tellMerge writes the merge to the audit log, with what was decided on the alias.
func (a *Absorber) tellMerge(ctx context.Context, from string, alias *Group) error {
	doc, err := json.Marshal(audited{Kind: "merge", Alias: from, ID: alias.ID(), Merge: alias.Merged, Decisions: append([]Decision{}, alias.Decisions...)})
	if err != nil {
		return err
	}
	_, err = a.q.Audit.Append(ctx, "merge "+from, doc)
	return err
}

// aliases are the merges whose groups have followed: the digest of an alias, to that of its group. It is not to be changed.
func (a *Absorber) aliases(ctx context.Context) (map[string]string, error) {
	a.mu.Lock()
	known := a.known
	a.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if err := a.lasting(a.learnMerges(ctx)); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known, nil
}

// learnMerges reads the claims and has the groups follow those that are new here: another pawl made them, or a kill came in between.
func (a *Absorber) learnMerges(ctx context.Context) error {
	a.merging.Lock()
	defer a.merging.Unlock()
	a.know("", "")
	a.mu.Lock()
	known := a.known
	a.mu.Unlock()
	var errs []error
	for e, err := range a.q.Aliases.All(ctx) {
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("aliases: %w", err))...)
		}
		var m Merge
		if err := json.Unmarshal(e.Value, &m); err != nil {
			errs = append(errs, fmt.Errorf("alias %.12s: %w", e.Key, err))
			continue
		}
		if m.Into == e.Key {
			if known[e.Key] != "" {
				a.know(e.Key, "")
			}
			continue
		}
		if known[e.Key] != m.Into {
			if err := a.settle(ctx, e.Key, m); err != nil {
				errs = append(errs, fmt.Errorf("merge %.12s into %.12s: %w", e.Key, m.Into, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (a *Absorber) know(from, into string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := map[string]string{}
	maps.Copy(known, a.known)
	switch {
	case into != "":
		known[from] = into
	default:
		delete(known, from)
	}
	a.known = known
}

// foldGroup applies what was found under a fingerprint and returns the group that took it. Where the group was merged since the aliases were read, the other
// takes it, which knows by the traces what it has: its sequence may be further already.
func (a *Absorber) foldGroup(ctx context.Context, fp string, steps []func(*Group) bool, last uint64) (string, error) {
	for hop := range maxHops {
		into := ""
		err := a.changeGroup(ctx, fp, func(g *Group) bool {
			if into = ""; g.Merged != nil {
				into = g.Merged.Into
				return false
			}
			applied := g.Applied
			if hop > 0 {
				g.Applied = 0
			}
			changed := applyAll(g, steps, last)
			g.Applied = max(g.Applied, applied)
			return changed
		})
		if err != nil || into == "" {
			return fp, err
		}
		if err := a.learnMerges(ctx); err != nil {
			return into, err
		}
		fp = into
	}
	return fp, fmt.Errorf("group %.12s: %w", fp, queue.ErrConflict)
}

// fold takes over what an alias's group holds, once. A trace that both have counts once, as far as both remember it.
func (g *Group) fold(alias *Group) bool {
	digest := alias.Fingerprint.Digest()
	if g.Fingerprint.Label == "" || slices.Contains(g.Fingerprint.Aliases, digest) {
		return false
	}
	g.Fingerprint.Aliases = slices.Sorted(slices.Values(append(slices.Clone(g.Fingerprint.Aliases), digest)))
	g.foldAll(alias)
	g.Decide(Decision{Who: alias.Merged.Who, When: alias.Merged.When, Choice: ChoiceMerge, Reason: alias.ID() + ": " + alias.Merged.Reason, Digest: digest})
	return true
}

// foldAll takes over an alias's sightings.
func (g *Group) foldAll(alias *Group) {
	if alias.Count > 0 && (g.Count == 0 || alias.FirstSeen.Before(g.FirstSeen)) {
		g.Began = alias.Began
	}
	g.Applied = min(g.Applied, alias.Applied) // what is read again after a kill may be new to either; traces are known by Seen
	g.Spread.Join(alias.Spread, alias.Fingerprint.Agent == g.Fingerprint.Agent)
	twice := g.rememberAll(alias)
	g.Count += alias.Count - twice
	for _, d := range alias.Days {
		g.Days = addDay(g.Days, d)
	}
	for range twice {
		g.unsighted("")
	}
	if alias.Count > 0 {
		g.Severity, g.Confidence = worse(g.Severity, alias.Severity), max(g.Confidence, alias.Confidence)
		if g.FirstSeen.IsZero() {
			g.FirstSeen = alias.FirstSeen
		}
		g.FirstSeen, g.LastSeen = earlier(g.FirstSeen, alias.FirstSeen), later(g.LastSeen, alias.LastSeen)
	}
	g.Sessions, g.Follow = union(g.Sessions, alias.Sessions, maxSessions), union(g.Follow, alias.Follow, maxFollow)
	for _, s := range alias.Specimens {
		if len(g.Specimens) < maxSpecimens && !slices.ContainsFunc(g.Specimens, func(have Specimen) bool { return have.subject() == s.subject() }) {
			g.Specimens = append(g.Specimens, s)
		}
	}
}

// rememberAll takes over the traces that the alias's group remembers and returns how many of them are in both counts.
func (g *Group) rememberAll(alias *Group) (twice int) {
	var more []string
	for i, k := range alias.Seen {
		j := slices.IndexFunc(g.Seen, func(have string) bool { return have[:min(len(have), 12)] == k[:min(len(k), 12)] })
		switch {
		case j < 0:
			more = append(more, k)
		case g.counts(j, true) && alias.counts(i, true):
			twice++
		case alias.counts(i, true):
			g.Seen[j] = k
		}
	}
	g.Seen = last(append(more, g.Seen...), maxSeen)
	return twice
}

func union(have, more []string, most int) []string {
	for _, s := range more {
		if len(have) < most && !slices.Contains(have, s) {
			have = append(have, s)
		}
	}
	return have
}

// sameGroup says whether a digest leads to the same group as one of the findings does.
func sameGroup(home func(string) string, fs []Found, digest string) bool {
	return slices.ContainsFunc(roots(fs), func(f Found) bool { return home(f.Fingerprint.Digest()) == home(digest) })
}
