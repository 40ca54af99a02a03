package ratchet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

const (
	maxEscapes  = 3         // further specimens of one failure
	escapeEvery = time.Hour // how often the case on the base is read for one failure
)

// escape proposes a further specimen of a failure that came back although its case is enforced on the base: what the case asks for let it through. A
// sighting soon after the merge is none, for what was mended may not run everywhere yet.
func (a *Absorber) escape(ctx context.Context, now time.Time, fp string, g *Group, base baselines) error {
	if a.opts.Mode != ghpr.ModeOpen {
		return nil
	}
	b, err := a.batch(ctx, g.Batch)
	if errors.Is(err, queue.ErrNotFound) || err == nil && (b.Intent == nil || b.Intent.Receipt.State != ghpr.StateMerged || b.member(fp) < 0) {
		return nil
	}
	if err != nil {
		return err
	}
	fixed := b.Intent.Receipt.ObservedAt
	if !g.Fixed.Equal(fixed) {
		return a.changeGroup(ctx, fp, func(g *Group) bool { g.Fixed = fixed; return true })
	}
	target, ok := TargetFor(a.opts.Targets, g.service())
	if _, denied := g.Denied(); denied || !ok || g.Escapes >= maxEscapes || a.why(target.Repo) != "" {
		return nil
	}
	back := *g
	back.Specimens = slices.DeleteFunc(slices.Clone(g.Specimens), func(s Specimen) bool { return !s.Seen.After(fixed.Add(a.opts.CoolDown)) })
	key := "escape " + fp
	if len(back.Specimens) == 0 || recently(now, a.looked[key], escapeEvery) {
		return nil
	}
	a.looked[key] = now
	id, _, _ := strings.Cut(b.Members[b.member(fp)].CaseID, ".")
	if green, err := a.enforced(ctx, &b, id); err != nil || !green {
		return err
	}
	return a.again(ctx, now, fp, &back, target, id, base)
}

// enforced says whether a case is on the batch's base, enforced, with the green runs that enforced it.
func (a *Absorber) enforced(ctx context.Context, b *Batch, id string) (bool, error) {
	text, found, err := a.pr.File(ctx, b.Repo, b.Base, fmt.Sprintf("%s/%s/%s/%s", b.Set, b.Label, id, regcase.CaseFile))
	if err != nil || !found {
		return false, err
	}
	c, err := regcase.Decode([]byte(text))
	if err != nil {
		a.lg.Warn("the case of a failure that came back cannot be read", "case", id, "err", err)
		return false, nil
	}
	return c.State.Name == regcase.Enforced && c.Green != nil, nil
}

// again makes the further specimen and lets it join a batch.
func (a *Absorber) again(ctx context.Context, now time.Time, fp string, g *Group, t Target, id string, base baselines) error {
	made, refused, err := a.make(ctx, now, g, true, base)
	if err != nil {
		return err
	}
	if made == nil {
		a.lg.Info("a failure came back, and no further specimen can be made", "case", id, "why", refused.first)
		return nil
	}
	made.Case.ID = fmt.Sprintf("%s.%d", id, g.Escapes+2)
	if made.YAML, err = regcase.Encode(made.Case); err != nil {
		return err
	}
	m, err := a.store(ctx, *made)
	if err != nil {
		return err
	}
	m.Escaped = true
	key, err := a.join(ctx, now, t, g, m)
	if err != nil {
		return err
	}
	a.lg.Warn("a failure escaped its case", "case", id, "specimen", m.CaseID)
	return a.changeGroup(ctx, fp, func(g *Group) bool {
		if g.Batch == key {
			return false
		}
		g.Batch = key
		g.Escapes++
		return true
	})
}
