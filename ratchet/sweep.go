package ratchet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
)

// Sweep makes cases of the groups that are due, freezes the batches whose hold is over and takes each pull request one round further. What fails
// for one group or batch does not stop the others.
func (a *Absorber) Sweep(ctx context.Context, now time.Time) error {
	if !a.opts.Propose {
		return nil
	}
	var errs []error
	for _, fp := range a.takeDirty() {
		if err := a.absorb(ctx, now, fp); err != nil {
			a.touch(fp)
			errs = append(errs, fmt.Errorf("absorb group %.12s: %w", fp, err))
		}
	}
	batches, err := a.Batches(ctx)
	errs = append(errs, err)
	for i := range batches {
		if err := a.drive(ctx, now, &batches[i]); err != nil {
			errs = append(errs, fmt.Errorf("batch %s: %w", batches[i].Key(), err))
		}
	}
	return errors.Join(errs...)
}

// rederive looks at every group again and mends the pointers that a kill between writing a batch and its group left out.
func (a *Absorber) rederive(ctx context.Context) error {
	batches, err := a.Batches(ctx)
	if err != nil {
		return err
	}
	for i := range batches {
		for _, m := range batches[i].Members {
			if err := a.point(ctx, m.Fingerprint, batches[i].Key()); err != nil {
				return err
			}
		}
	}
	for e, err := range a.q.Groups.All(ctx) {
		if err != nil {
			return fmt.Errorf("groups: %w", err)
		}
		a.touch(e.Key)
	}
	return nil
}

// Batches reads all batches.
func (a *Absorber) Batches(ctx context.Context) ([]Batch, error) {
	var out []Batch
	for e, err := range a.q.Batches.All(ctx) {
		if err != nil {
			return out, fmt.Errorf("batches: %w", err)
		}
		var b Batch
		if err := json.Unmarshal(e.Value, &b); err != nil {
			return out, fmt.Errorf("batch %s: %w", e.Key, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// Groups reads all groups.
func (a *Absorber) Groups(ctx context.Context) ([]Group, error) {
	var out []Group
	for e, err := range a.q.Groups.All(ctx) {
		if err != nil {
			return out, fmt.Errorf("groups: %w", err)
		}
		var g Group
		if err := json.Unmarshal(e.Value, &g); err != nil {
			return out, fmt.Errorf("group %.12s: %w", e.Key, err)
		}
		out = append(out, g)
	}
	return out, nil
}

// Plan shows what a frozen batch writes, without looking at the remote.
func (a *Absorber) Plan(ctx context.Context, b *Batch) (ghpr.Plan, error) {
	in, err := a.whole(ctx, b)
	if err != nil {
		return ghpr.Plan{}, err
	}
	return ghpr.PlanOf(in), nil
}

// absorb makes the group's case, if it is due, and lets it join a batch.
func (a *Absorber) absorb(ctx context.Context, now time.Time, fp string) error {
	g, err := a.Group(ctx, fp)
	if err != nil {
		return err
	}
	if g.Batch != "" || g.Refused != "" || len(g.Specimens) == 0 {
		return nil
	}
	if due, _ := a.opts.Policy.Due(&g); !due {
		return nil
	}
	target, ok := TargetFor(a.opts.Targets, g.Fingerprint.Service)
	if !ok {
		return nil
	}
	made, err := a.make(ctx, &g)
	if reason, refused := AsRefused(err); refused {
		return a.changeGroup(ctx, fp, func(g *Group) bool { g.Refused = reason; return true })
	}
	if err != nil {
		return err
	}
	m, err := a.store(ctx, made)
	if err != nil {
		return err
	}
	key, err := a.join(ctx, now, target, &g, m)
	if err != nil {
		return err
	}
	return a.point(ctx, fp, key)
}

// Group reads one group.
func (a *Absorber) Group(ctx context.Context, fp string) (g Group, err error) {
	e, err := a.q.Groups.Get(ctx, fp)
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(e.Value, &g)
}

// make tries the specimens in turn: the newest rules may no longer see the failure in one of them.
func (a *Absorber) make(ctx context.Context, g *Group) (made Made, err error) {
	base, err := Snapshot(ctx, a.q)
	if err != nil {
		return made, err
	}
	s := Sightings{Count: g.Count, First: g.FirstSeen, Last: g.LastSeen}
	for _, sp := range g.Specimens {
		s.Traces = append(s.Traces, sp.TraceID)
	}
	for _, sp := range g.Specimens {
		made, err = a.makeOf(ctx, g, sp, s, base)
		if err == nil {
			return made, nil
		}
		if _, refused := AsRefused(err); !refused {
			return made, err
		}
	}
	return made, err
}

// makeOf classifies the specimen's trace again and makes the case of the group's finding there.
func (a *Absorber) makeOf(ctx context.Context, g *Group, sp Specimen, s Sightings, base *baseline.Snapshot) (Made, error) {
	doc, err := a.q.Objects.Get(ctx, sp.Object)
	if err != nil {
		return Made{}, err
	}
	td, ld, err := record.Decode(doc)
	if err != nil {
		return Made{}, err
	}
	for _, t := range trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld}) {
		for _, f := range a.maker.Engine.Classify(trajectory.Build(t), base).Findings {
			if f.Fingerprint.Equal(g.Fingerprint) {
				return a.maker.Make(t, f, s, base)
			}
		}
	}
	return Made{}, &Refused{"the rules of this version no longer see the failure in trace " + sp.TraceID}
}

// store puts the case's files into the object store, before anything points to them.
func (a *Absorber) store(ctx context.Context, made Made) (Member, error) {
	yaml, err := a.q.Objects.Put(ctx, made.YAML)
	if err != nil {
		return Member{}, err
	}
	trace, err := a.q.Objects.Put(ctx, made.Trace)
	if err != nil {
		return Member{}, err
	}
	return NewMember(made, yaml, trace), nil
}

// join puts the case into the series' collecting batch, or opens the next one.
func (a *Absorber) join(ctx context.Context, now time.Time, t Target, g *Group, m Member) (string, error) {
	batches, err := a.Batches(ctx)
	if err != nil {
		return "", err
	}
	b := Batch{Repo: t.Repo, Base: t.Base, Set: t.Set, Label: g.Fingerprint.Label, Service: g.Fingerprint.Service, Number: 1, Opened: now.UTC()}
	for _, old := range batches {
		if !old.same(t, b.Label, b.Service) {
			continue
		}
		for _, have := range old.Members { // a kill may have come between the batch and the group's pointer
			if have.Fingerprint == m.Fingerprint {
				return old.Key(), nil
			}
		}
		b.Number = max(b.Number, old.Number+1)
		if old.Collecting() && len(old.Members) < a.opts.CasesPerPR {
			b = old
			break
		}
	}
	key := b.Key()
	err = a.changeBatch(ctx, key, func(stored *Batch) error {
		if stored.Number == 0 {
			*stored = b
		}
		if !stored.Collecting() {
			return errRace
		}
		stored.Join(m)
		return nil
	})
	return key, err
}

// errRace says that another absorber was here first; the next sweep sees what it did.
var errRace = errors.New("another absorber has frozen the batch: looking again in the next sweep")

func (a *Absorber) changeBatch(ctx context.Context, key string, change func(*Batch) error) error {
	return a.q.Batches.Update(ctx, key, func(old []byte) ([]byte, error) {
		var b Batch
		if old != nil {
			if err := json.Unmarshal(old, &b); err != nil {
				return nil, err
			}
		}
		if err := change(&b); err != nil {
			return nil, err
		}
		return json.Marshal(b)
	})
}

func (a *Absorber) point(ctx context.Context, fp, key string) error {
	return a.changeGroup(ctx, fp, func(g *Group) bool {
		if g.Batch == key {
			return false
		}
		g.Batch = key
		return true
	})
}
