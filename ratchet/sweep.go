package ratchet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
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

// Sweep judges the sessions that have become quiet, makes cases of the groups that are due, freezes the batches whose hold is over and takes each pull request one round further. What fails
// for one group or batch does not stop the others. It waits until every repository was driven, which Run does not.
func (a *Absorber) Sweep(ctx context.Context, now time.Time) error {
	err := a.sweep(ctx, now)
	a.lanes.wg.Wait()
	return errors.Join(err, a.lanes.ended())
}

func (a *Absorber) sweep(ctx context.Context, now time.Time) error {
	base := sync.OnceValues(func() (*baseline.Snapshot, error) { return Snapshot(ctx, a.q) })
	a.asks = asks{}
	errs := []error{a.learnMerges(ctx), a.judgeSessions(ctx, now, base), a.expire(ctx, now), a.tellAll(ctx)}
	if !a.opts.Propose {
		return errors.Join(errs...)
	}
	policy, err := a.policy(ctx, now)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	looked, err := a.holdRepos(ctx, now, policy)
	if err != nil { // who does not know what a repository is to be spared proposes nothing
		return errors.Join(append(errs, err)...)
	}
	if looked != nil {
		errs = append(errs, a.onboard(ctx, now, looked, policy, base))
	}
	for fp, until := range a.asleep {
		if !now.Before(until) {
			delete(a.asleep, fp)
			a.touch(fp, false)
		}
	}
	dirty := a.takeDirty()
	for _, fp := range slices.Sorted(maps.Keys(dirty)) {
		if err := a.absorb(ctx, now, fp, dirty[fp], base, policy); err != nil {
			a.touch(fp, dirty[fp])
			errs = append(errs, fmt.Errorf("absorb group %.12s: %w", fp, err))
		}
	}
	batches, err := a.Batches(ctx)
	errs = append(errs, err)
	a.looks.cooling(cooling(batches, a.opts.CoolDown))
	a.rouse(batches)
	slices.SortStableFunc(batches, func(x, y Batch) int { return cmp.Compare(y.weight(), x.weight()) })
	a.driveAll(ctx, now, batches)
	return errors.Join(errs...)
}

// rederive has every group looked at anew and mends the pointers that a kill between writing a batch and its group left out.
func (a *Absorber) rederive(ctx context.Context) error {
	batches, err := a.Batches(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(batches, func(x, y Batch) int { return cmp.Or(x.Opened.Compare(y.Opened), cmp.Compare(x.Number, y.Number)) })
	holder := map[string]string{} // the latest one: an earlier one may be closed
	for i := range batches {
		for _, m := range batches[i].Members {
			holder[m.Fingerprint] = batches[i].Key()
		}
	}
	for _, fp := range slices.Sorted(maps.Keys(holder)) {
		if err := a.point(ctx, fp, holder[fp]); err != nil {
			return err
		}
	}
	for e, err := range a.q.Groups.All(ctx) {
		if err != nil {
			return fmt.Errorf("groups: %w", err)
		}
		a.touch(e.Key, true)
		if bytes.Contains(e.Value, []byte(`"untold"`)) {
			a.tellLater(e.Key)
		}
	}
	return a.reopen(ctx)
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

// absorb makes the group's case, if it is due, and lets it join a batch. anew tries specimens again of which no case could be made before.
func (a *Absorber) absorb(ctx context.Context, now time.Time, fp string, anew bool, base baselines, policy Policy) error {
	g, err := a.Group(ctx, fp)
	if errors.Is(err, queue.ErrNotFound) {
		return nil // nothing could be folded into it
	}
	if err != nil {
		return err
	}
	if g.Batch != "" {
		return errors.Join(a.review(ctx, fp, &g), a.escape(ctx, now, fp, &g, base))
	}
	if g.Merged != nil || len(g.Specimens) == 0 {
		return nil
	}
	if due, _ := policy.Due(&g); !due {
		if until := g.SnoozedUntil(now); !until.IsZero() {
			a.asleep[fp] = until
		}
		a.waitFor(fp, &g, policy)
		return nil
	}
	target, ok := TargetFor(a.opts.Targets, g.service())
	if !ok {
		return nil
	}
	if a.why(target.Repo) != "" && !g.Approved() {
		a.gated[fp] = target.Repo
		return nil
	}
	return a.propose(ctx, now, fp, &g, target, anew, base, nil)
}

// propose makes the group's case and lets it join a batch, or the one that is given.
func (a *Absorber) propose(ctx context.Context, now time.Time, fp string, g *Group, target Target, anew bool, base baselines, into *Batch) error {
	made, refused, err := a.make(ctx, now, g, anew, base)
	if err != nil {
		return err
	}
	if made == nil {
		return a.changeGroup(ctx, fp, func(g *Group) bool { return len(refused.why) > 0 && g.refuse(refused.why, refused.first) })
	}
	m, err := a.store(ctx, *made)
	if err != nil {
		return err
	}
	if d, ok := g.latest(ChoiceDeny, ChoiceDismiss, ChoiceApprove); ok && d.Choice == ChoiceApprove && d.Digest != "" && d.Digest != m.CaseDigest {
		why := fmt.Sprintf("the case is another now than %s approved: look at it again", d.Who)
		return a.changeGroup(ctx, fp, func(g *Group) bool { return g.refuse(nil, why) })
	}
	if m.Began, err = a.beganLine(ctx, g); err != nil {
		return err
	}
	key := ""
	if into != nil {
		key, err = a.joinOnboarding(ctx, now, into, m)
	} else {
		key, err = a.join(ctx, now, target, g, m)
	}
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

// baselines gives the snapshot that a sweep judges by.
type baselines func() (*baseline.Snapshot, error)

// refusals are why no case could be made: by the specimens' subjects, and of the specimen that was tried first.
type refusals struct {
	why     map[string]string
	first   string
	setting string // that would mend it, "" where none is known
}

// make tries the specimens in turn, those that were refused before only when anew. It returns no case when none could be made.
func (a *Absorber) make(ctx context.Context, now time.Time, g *Group, anew bool, base baselines) (*Made, refusals, error) {
	s := Sightings{Count: g.Count, First: g.FirstSeen, Last: g.LastSeen}
	for _, sp := range g.Candidates() {
		s.Traces = append(s.Traces, sp.TraceID)
	}
	no := refusals{why: map[string]string{}}
	for _, sp := range g.Candidates() {
		if sp.Refused != "" && !anew || g.Edit != nil && sp.subject() != g.Edit.Subject {
			continue
		}
		if waits, err := a.unsettled(ctx, now, g, sp); err != nil {
			return nil, no, err
		} else if waits {
			a.touch(g.Fingerprint.Digest(), anew)
			continue
		}
		made, err := a.makeOf(ctx, g, sp, s, base)
		if err == nil {
			made.Session = sp.Session
			return &made, no, nil
		}
		reason, ok := AsRefused(err)
		if !ok {
			return nil, no, err
		}
		no.why[sp.subject()], no.first = clip(reason, maxText), cmp.Or(no.first, clip(reason, maxText))
		if l, lacks := errors.AsType[*Lacking](err); lacks {
			no.setting = cmp.Or(no.setting, l.Setting)
		}
	}
	if g.Edit != nil && len(no.why) == 0 && !slices.ContainsFunc(g.Specimens, func(sp Specimen) bool { return sp.subject() == g.Edit.Subject }) {
		no.first = fmt.Sprintf("the trace that %s edited the case of is gone from the group: look at it again, and edit it anew or drop the edit", g.Edit.Who)
		no.why[g.Edit.Subject] = no.first
	}
	return nil, no, nil
}

// makeOf classifies the specimen's trace again and makes the case of the group's finding there. What will fail again at every try is a refusal.
func (a *Absorber) makeOf(ctx context.Context, g *Group, sp Specimen, s Sightings, base baselines) (made Made, err error) {
	if sp.Object == "" {
		return Made{}, &Refused{sp.Unrecorded}
	}
	snapshot, err := base()
	if err != nil {
		return Made{}, err
	}
	doc, err := a.q.Objects.Get(ctx, sp.Object)
	if errors.Is(err, queue.ErrNotFound) {
		return Made{}, &Refused{"the recording of trace " + sp.TraceID + " is gone"}
	}
	if err != nil {
		return Made{}, err
	}
	defer func() {
		if p := recover(); p != nil {
			a.lg.Error("a trace broke pawl: report this with the trace", "trace", sp.TraceID, "panic", p, "stack", string(debug.Stack()))
			err = &Refused{"pawl broke on trace " + sp.TraceID + ": this is a bug, report it with the trace"}
		}
	}()
	td, ld, err := record.Decode(doc)
	if err != nil {
		return Made{}, &Refused{"the recording of trace " + sp.TraceID + " cannot be read: " + err.Error()}
	}
	traces := trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})
	var parts []*trajectory.Trajectory
	for _, t := range traces {
		parts = append(parts, trajectory.Build(t))
	}
	run := trajectory.Join(parts)
	found := a.maker.findings(run, snapshot)
	for _, f := range found {
		if f.Fingerprint.Equal(g.Fingerprint) || f.Fingerprint.Digest() == g.Origin {
			f.Fingerprint = g.Fingerprint
			s.Controls = a.controls(ctx, baseline.KeyOf(run))
			if s.Expect, err = g.Edit.expect(); err != nil {
				return Made{}, &Refused{err.Error()}
			}
			return a.maker.Make(traces, f, s, snapshot)
		}
	}
	for _, f := range found {
		if g.Fingerprint.Knows(f.Fingerprint.Digest()) {
			return Made{}, &Refused{"trace " + sp.TraceID + " shows " + f.Fingerprint.ID() + ", which was merged into this failure: a case is made of a trace that shows this one"}
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
	p := a.opts.Policy
	p.Own = a.own
	m := NewMember(made, yaml, trace)
	m.Known = p.known(m.Rule)
	return m, nil
}

// join puts the case into the series' collecting batch, or opens the next one. A batch that is shut stays shut: that is what keeps a case from joining two
// batches, whatever another absorber does meanwhile.
func (a *Absorber) join(ctx context.Context, now time.Time, t Target, g *Group, m Member) (string, error) {
	batches, err := a.Batches(ctx)
	if err != nil {
		return "", err
	}
	b := Batch{Repo: t.Repo, Base: t.Base, Set: t.Set, Label: g.Fingerprint.Label, Service: g.Fingerprint.Service, Number: 1}
	for i := range batches {
		old := &batches[i]
		if old.has(m) { // a kill may have come between the batch and the group's pointer
			return old.Key(), nil
		}
		if old.Onboard == nil && old.series(t, b.Label, b.Service) {
			b.Number = max(b.Number, old.Number+1)
		}
	}
	for _, old := range batches {
		if old.series(t, b.Label, b.Service) && old.Set == t.Set && (old.Collecting() || a.roomIn(&old)) {
			b.Number = min(b.Number, old.Number)
		}
	}
	key := b.Key()
	err = a.changeBatch(ctx, key, func(stored *Batch) error {
		if stored.Number == 0 {
			*stored = b
		}
		if a.roomIn(stored) && stored.Set == t.Set {
			if len(stored.late()) == 0 {
				stored.LateSince = now.UTC()
			}
			m := m
			m.Update = waits
			stored.Join(m)
			return nil
		}
		if !stored.Collecting() || stored.Set != t.Set {
			return errRace
		}
		if len(stored.Members) == 0 {
			stored.Opened = now.UTC()
		}
		stored.Join(m)
		stored.Shut = len(stored.Members) >= a.opts.CasesPerPR || stored.large()
		return nil
	})
	return key, err
}

// errRace says that another absorber was here first; the next sweep sees what it did.
var errRace = errors.New("another absorber was here first: looking again in the next sweep")

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
		g.Batch, g.Refused = key, ""
		return true
	})
}
