package ratchet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
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

// drive takes one batch a step further: collecting -> frozen -> preview or pull request -> closed or merged.
func (a *Absorber) drive(ctx context.Context, now time.Time, b *Batch) error {
	if b.Collecting() {
		if now.Sub(b.Opened) < a.opts.Hold && len(b.Members) < a.opts.CasesPerPR {
			return nil
		}
		if err := a.freeze(ctx, b); err != nil {
			return err
		}
	}
	switch {
	case a.opts.Mode == ghpr.ModePreview:
		return a.preview(ctx, now, b)
	case a.opts.Mode == ghpr.ModeOpen && a.wants(now, b):
		if err := a.reconcile(ctx, now, b); err != nil {
			return err
		}
	}
	if b.Intent.Receipt.State == ghpr.StateClosed && !b.Told {
		return a.refuse(ctx, now, b)
	}
	return nil
}

// wants says whether the pull request needs a round now: it is not finished, or it is open and was not looked at for a while.
func (a *Absorber) wants(now time.Time, b *Batch) bool {
	in := b.Intent
	if in.Parked != nil || now.Before(in.NotBefore) {
		return false
	}
	if !in.Done() {
		return true
	}
	return in.Receipt.State == ghpr.StateOpen && now.Sub(in.Receipt.ObservedAt) >= a.opts.Observe
}

func (a *Absorber) freeze(ctx context.Context, b *Batch) error {
	change, err := b.Change(a.content(ctx))
	if err != nil {
		return err
	}
	if err := a.lastLook(change); err != nil {
		return err
	}
	in, err := ghpr.Freeze(change)
	if err != nil {
		return err
	}
	if b.Body, err = a.q.Objects.Put(ctx, []byte(in.Body)); err != nil {
		return err
	}
	small := slim(in)
	b.Intent = &small
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Intent != nil && stored.Intent.ID != in.ID || len(stored.Members) != len(b.Members) {
			return errRace
		}
		if stored.Intent != nil {
			b.Intent, b.Body = stored.Intent, stored.Body
			return nil
		}
		stored.Intent, stored.Body = &small, b.Body
		return nil
	})
}

// slim is an intent as a batch stores it: a bucket's value is small, so what is long lies in the object store.
func slim(in ghpr.Intent) ghpr.Intent {
	s := in.Slim()
	s.Body = ""
	return s
}

// lastLook scans what is about to be frozen, words and files alike, for what must never leave. It knows nothing of how it was redacted.
func (a *Absorber) lastLook(c ghpr.Change) error {
	look := a.maker.Redactor.Session()
	texts := []string{c.Title, c.CommitMessage, c.Key}
	for _, b := range c.Body {
		texts = append(texts, b.Text)
	}
	for _, f := range c.Files {
		texts = append(texts, f.Path, f.Content)
	}
	for _, t := range texts {
		if err := look.Verify([]byte(t)); err != nil {
			return err
		}
	}
	return nil
}

// content reads a member's files from the object store.
func (a *Absorber) content(ctx context.Context) Content {
	return func(m Member) (string, string, error) {
		yaml, err := a.q.Objects.Get(ctx, m.YAML)
		if err != nil {
			return "", "", err
		}
		trace, err := a.q.Objects.Get(ctx, m.Trace)
		return string(yaml), string(trace), err
	}
}

// whole gives the intent with the contents of its files.
func (a *Absorber) whole(ctx context.Context, b *Batch) (ghpr.Intent, error) {
	change, err := b.Change(a.content(ctx))
	if err != nil {
		return ghpr.Intent{}, err
	}
	text := map[string]string{}
	for _, f := range change.Files {
		text[ghpr.BlobID(f.Content)] = f.Content
	}
	in := *b.Intent
	body, err := a.q.Objects.Get(ctx, b.Body)
	if err != nil {
		return in, fmt.Errorf("body: %w", err)
	}
	in.Body = string(body)
	in.Files = append([]ghpr.FrozenFile{}, in.Files...)
	for i, f := range in.Files {
		content, ok := text[f.Blob]
		if !ok {
			return in, fmt.Errorf("content of %s: %w", f.Path, queue.ErrNotFound)
		}
		in.Files[i].Content = content
	}
	return in, nil
}

func (a *Absorber) preview(ctx context.Context, now time.Time, b *Batch) error {
	if b.Preview != "" {
		return nil
	}
	in, err := a.whole(ctx, b)
	if err != nil {
		return err
	}
	plan, err := a.pr.Preview(ctx, now, in)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	object, err := a.q.Objects.Put(ctx, doc)
	if err != nil {
		return err
	}
	a.lg.Info("pull request ready to be looked at", "title", in.Title, "cases", len(b.Members), "mode", "preview")
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error { stored.Preview = object; return nil })
}

func (a *Absorber) reconcile(ctx context.Context, now time.Time, b *Batch) error {
	in, err := a.whole(ctx, b)
	if err != nil {
		return err
	}
	before := *b.Intent
	after, err := a.pr.Reconcile(ctx, now, in, a.saver(b))
	if err != nil {
		return err
	}
	a.report(&before, &after)
	return nil
}

// saver stores the batch's intent by compare-and-set on the intent itself: another absorber's step in between makes the save fail, and with it
// everything that this one was about to send. Storing what is stored already is a success, for the answer to the first try may have been lost.
func (a *Absorber) saver(b *Batch) ghpr.Save {
	return func(ctx context.Context, in ghpr.Intent) error {
		small := slim(in)
		err := a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
			if !reflect.DeepEqual(stored.Intent, b.Intent) && !reflect.DeepEqual(stored.Intent, &small) {
				return errRace
			}
			stored.Intent = &small
			return nil
		})
		if err == nil {
			b.Intent = &small
		}
		return err
	}
}

func (a *Absorber) report(before, after *ghpr.Intent) {
	switch {
	case after.Parked != nil && before.Parked == nil:
		a.lg.Warn("pull request waits for a person", "title", after.Title, "reason", after.Parked.Reason)
	case after.Receipt.State != before.Receipt.State:
		a.lg.Info("pull request", "state", after.Receipt.State, "url", after.Receipt.URL, "title", after.Title)
	case after.Waiting != "" && after.Waiting != before.Waiting:
		a.lg.Info("pull request waits", "for", after.Waiting, "title", after.Title)
	}
}

// refuse remembers a person's no on every group of the batch, then notes on the batch that it did.
func (a *Absorber) refuse(ctx context.Context, now time.Time, b *Batch) error {
	in := b.Intent
	d := Decision{Who: orDefault(in.Receipt.ClosedBy, "somebody on GitHub"), When: now.UTC(), Choice: "deny",
		Reason: fmt.Sprintf("pull request %d was closed without a merge", in.Receipt.Number), Digest: in.ID}
	for _, m := range b.Members {
		if err := a.changeGroup(ctx, m.Fingerprint, func(g *Group) bool { return g.decideOnce(d) }); err != nil {
			return err
		}
	}
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error { stored.Told = true; return nil })
}
