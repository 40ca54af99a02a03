package ratchet

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// review looks again at a group whose case is in a batch: while nothing has left, a case is taken back that has lost its ground. One that was sent stays:
// what becomes of it is said in the pull request.
func (a *Absorber) review(ctx context.Context, fp string, g *Group) error {
	b, err := a.batch(ctx, g.Batch)
	if errors.Is(err, queue.ErrNotFound) {
		return nil // its batch is lost, and with it what was sent: a person has to look
	}
	if err != nil {
		return err
	}
	i := b.member(fp)
	if i < 0 { // a kill came after the case was taken out
		return a.unpoint(ctx, fp, g.Batch)
	}
	why := a.groundless(&b, b.Members[i], g)
	if why == "" {
		return nil
	}
	if !b.unsent() && b.Members[i].Update != waits {
		return a.takeBack(ctx, &b, b.Members[i], why)
	}
	a.lg.Info("a case is taken back", "case", b.Members[i].CaseID, "why", why)
	return a.withdraw(ctx, g.Batch, b.Members[i])
}

// groundless says why a case should not be proposed after all, or "".
func (a *Absorber) groundless(b *Batch, m Member, g *Group) string {
	if m.TraceID != "" && g.Retracted(m.subject()) {
		return "late spans show that its recording holds no such failure"
	}
	if g.Merged != nil {
		return fmt.Sprintf("its failure was merged into another, %.12s", g.Merged.Into)
	}
	if d, denied := g.Denied(); denied {
		return pastTense(d.Choice) + " by " + d.Who
	}
	if t, ok := TargetFor(a.opts.Targets, g.service()); !ok || t.Repo != b.Repo || t.Base != b.Base || t.Set != b.Set {
		return "targets sends its service elsewhere now"
	}
	return ""
}

// withdraw takes a case out of a batch of which nothing has left, and the group's pointer with it. The group is looked at again.
func (a *Absorber) withdraw(ctx context.Context, key string, m Member) error {
	err := a.changeBatch(ctx, key, func(stored *Batch) error {
		i := stored.member(m.Fingerprint)
		if i < 0 || stored.Members[i].CaseDigest != m.CaseDigest {
			return nil
		}
		if stored.Members[i].Update == waits {
			stored.Members = append(stored.Members[:i:i], stored.Members[i+1:]...)
			return nil
		}
		if !stored.unsent() {
			return errRace
		}
		stored.Members = append(stored.Members[:i:i], stored.Members[i+1:]...)
		stored.Shut = stored.Shut || stored.Intent != nil
		stored.Intent, stored.Body, stored.Preview, stored.Fault = nil, "", "", ""
		return nil
	})
	if err != nil {
		return err
	}
	return a.unpoint(ctx, m.Fingerprint, key)
}

func (a *Absorber) unpoint(ctx context.Context, fp, key string) error {
	err := a.changeGroup(ctx, fp, func(g *Group) bool {
		if g.Batch != key {
			return false
		}
		g.Batch = ""
		return true
	})
	a.touch(fp, false)
	return err
}

// reject takes a case out whose files must not leave, or are gone, and tells its group.
func (a *Absorber) reject(ctx context.Context, key string, m Member, reason string) error {
	a.lg.Warn("a case is not proposed", "case", m.CaseID, "reason", reason)
	if err := a.withdraw(ctx, key, m); err != nil {
		return err
	}
	return a.changeGroup(ctx, m.Fingerprint, func(g *Group) bool {
		return g.refuse(map[string]string{m.subject(): clip(reason, maxText)}, clip(reason, maxText))
	})
}

// batch reads one batch.
func (a *Absorber) batch(ctx context.Context, key string) (b Batch, err error) {
	e, err := a.q.Batches.Get(ctx, key)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(e.Value, &b); err != nil {
		return b, fmt.Errorf("batch %s: %w", key, err)
	}
	return b, nil
}
