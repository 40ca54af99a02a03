package ratchet

import (
	"context"
	"errors"
	"fmt"
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

// escape proposes a further specimen of a failure that came back although its case is enforced on the base: what the case asks for let it through. Where
// service.version names a commit, that tells whether what ran holds the commit at which the case was green; a version that showed the failure before does
// not count. Of any other, a sighting soon after the merge is none, for what was mended may not run everywhere yet.
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
		return a.changeGroup(ctx, fp, func(g *Group) bool { g.Fixed, g.Stale = fixed, g.stale(fixed); return true })
	}
	target, ok := TargetFor(a.opts.Targets, g.service())
	if _, denied := g.Denied(); denied || !ok || g.Escapes >= maxEscapes || a.why(target.Repo) != "" {
		return nil
	}
	back := *g
	key := "escape " + fp
	if len(a.back(g)) == 0 || recently(now, a.looks.last(key), escapeEvery) {
		return nil
	}
	id, _, _ := strings.Cut(b.Members[b.member(fp)].CaseID, ".")
	asked, err := a.asks.ask(ctx, b.Repo, func(ctx context.Context) error {
		green, err := a.enforced(ctx, &b, id)
		back.Specimens = nil
		if err != nil || green == "" {
			return err
		}
		back.Specimens = a.escaped(ctx, b.Repo, green, g)
		return ctx.Err() // what was not answered in time decides nothing
	})
	if !asked {
		a.touch(fp, false)
		return nil
	}
	a.looks.note(key, now)
	if err != nil || len(back.Specimens) == 0 {
		return err
	}
	return a.again(ctx, now, fp, &back, target, id, base)
}

// enforced gives the commit of the green runs that enforced a case on the batch's base, "" if it is not there or not enforced.
func (a *Absorber) enforced(ctx context.Context, b *Batch, id string) (string, error) {
	text, found, err := a.pr.File(ctx, b.Repo, b.Base, fmt.Sprintf("%s/%s/%s/%s", b.Set, b.Label, id, regcase.CaseFile))
	if err != nil || !found {
		return "", err
	}
	c, err := regcase.Decode([]byte(text))
	if err != nil {
		a.lg.Warn("the case of a failure that came back cannot be read", "case", id, "err", err)
		return "", nil
	}
	if c.State.Name != regcase.Enforced || c.Green == nil {
		return "", nil
	}
	return c.Green.Commit, nil
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
