package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Options of an Absorber.
type Options struct {
	Policy     Policy
	Targets    []Target
	Hold       time.Duration // a new batch waits this long for more cases, so that one incident is one pull request
	CasesPerPR int           // at most; long sentences may make it fewer
	Propose    bool          // make cases and batches; otherwise findings are only grouped
	Mode       ghpr.Mode     // what becomes of a frozen batch
	Sweep      time.Duration // how often to look at groups and batches; default 5 s
	Observe    time.Duration // how often to look at open pull requests; default 5 min
	CoolDown   time.Duration // after a merge, how long the next pull request of the same label and service waits
	WarmUp     time.Duration // from the first start on for a repository: how long nothing but the onboarding is proposed to it
	NewGroups  int           // new failures within an hour at which nothing new is proposed any more; 0: never
	SignOff    string        // "name <mail>" of the commits' author, "" for no sign-off
	Onboard    Onboard       // what a repository begins with; nil: no onboarding

	SessionQuiet time.Duration // a session that heard nothing for so long is judged as a whole; default 30 min
	Traces       Traces        // where the traces of sessions are; nil: not in this process

	Jury *Jury // who is asked of what no rule explains; nil: nobody

	KeepRecordings time.Duration // how long the unredacted recordings of specimens are kept; 0: for ever
}

// Absorber reads FINDINGS into groups, makes cases of those that are due and drives their pull requests. One at a time should run; two at once do
// no harm, since every change is by compare-and-set and every remote write is read back.
type Absorber struct {
	lg    *slog.Logger
	q     *queue.Queue
	maker *Maker
	pr    *ghpr.Reconciler
	opts  Options

	mu    sync.Mutex
	dirty map[string]bool   // groups to look at in the next sweep, by fingerprint digest; true: anew, whatever was refused before
	known map[string]string // merges, by the alias's digest; replaced, never changed; nil until they were read

	untold map[string]bool // under mu: groups with decisions that the audit stream may not have, by fingerprint digest

	view *View // of all groups; nil: they are read from the store

	merging sync.Mutex // held while groups are merged, so that one merge sees the other

	talk sync.Mutex           // held while a session is read or changed, so that open does not fall behind
	left map[string]bool      // sessions that their users seem to have left, by key: whatever comes after counts
	open map[string]time.Time // sessions that are to be judged once they are quiet, by key: when each was last heard of

	own     map[string]Precision // of the sweep alone: what the team decided, counted at ownAt
	ownAt   time.Time
	unknown map[string]string // of the sweep alone: groups that wait until it is known how often a rule is right, by fingerprint digest; which rule

	asleep map[string]time.Time // of the sweep alone: groups that were put off, by fingerprint digest: until when

	holding  sync.Mutex        // over spared
	spared   map[string]string // why nothing new is proposed to a repository, "" where something is
	sparedAt time.Time         // of the sweep alone: when that was found out
	gated    map[string]string // of the sweep alone: groups that wait for it, by fingerprint digest: their repository

	asks  asks            // of the sweep alone: what GitHub is asked while it waits
	bench bench           // what is asked of the jury, and what is known of it
	looks looks           // of batches and groups
	lanes lanes           // of repositories under way
	woken []Woken         // under mu: repositories to look at in the next sweep
	wake  chan struct{}   // a sweep is to come at once
	told  map[string]bool // of the fold alone: what could not be folded, so that it is said once
}

// NewAbsorber makes an absorber; Run starts it.
func NewAbsorber(lg *slog.Logger, q *queue.Queue, maker *Maker, pr *ghpr.Reconciler, o Options) *Absorber {
	o.Sweep, o.Observe = orDefault(o.Sweep, 5*time.Second), orDefault(o.Observe, 5*time.Minute)
	o.CasesPerPR, o.SessionQuiet = orDefault(o.CasesPerPR, 10), orDefault(o.SessionQuiet, 30*time.Minute)
	return &Absorber{lg: lg.With("component", "absorb"), q: q, maker: maker, pr: pr, opts: o, dirty: map[string]bool{}, open: map[string]time.Time{}, left: map[string]bool{}, wake: make(chan struct{}, 1), gated: map[string]string{}, unknown: map[string]string{}, asleep: map[string]time.Time{}, untold: map[string]bool{}, told: map[string]bool{}}
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// fold applies verdicts, one change per group and per baseline. Applying them again after a crash changes nothing.
func (a *Absorber) fold(ctx context.Context, vs []sequenced) error {
	if len(vs) == 0 {
		return nil
	}
	steps := map[string][]func(*Group) bool{}
	past, err := a.lineagesOf(ctx, vs)
	if err != nil {
		return err
	}
	known, err := a.aliases(ctx)
	if err != nil {
		return err
	}
	home := func(digest string) string { return cmp.Or(known[digest], digest) }
	last := vs[len(vs)-1].seq
	vs, judged, err := a.hear(ctx, vs, home)
	if err != nil {
		return err
	}
	for _, v := range vs {
		for _, fp := range v.gone(home) {
			steps[fp] = append(steps[fp], func(g *Group) bool { return g.Retract(v.subject(), v.Revision, &v.Context, v.seq) })
		}
		for _, d := range v.Settled {
			fp := home(d.Fingerprint)
			steps[fp] = append(steps[fp], func(g *Group) bool { return g.Retract(d.TraceID, d.Revision, d.Context, v.seq) })
		}
		for _, f := range roots(v.Findings) {
			o := Occurrence{Finding: f, Follow: following(v.Findings, f), Service: v.Service, TraceID: v.TraceID, Revision: v.Revision, SessionID: v.SessionID, Object: v.Object, Seen: v.Seen, Sequence: v.seq}
			o.Again, o.Of = v.Replaces.had(f, home), v.session()
			if v.onSession() {
				o.TraceID, o.Session, o.Unrecorded = f.TraceID(), v.Session, v.Unrecorded
			} else {
				o.Context, o.Began = &v.Context, past.history(v).Before(v.Context, f.Fingerprint.Agent, v.Seen)
				if o.Began != nil {
					o.Began.Late = v.Replaces != nil && v.Replaces.Same
				}
			}
			fp := home(f.Fingerprint.Digest())
			steps[fp] = append(steps[fp], func(g *Group) bool { return g.Take(o) })
		}
		past.follow(v)
	}
	for _, fp := range slices.Sorted(maps.Keys(steps)) {
		into, err := a.foldGroup(ctx, fp, steps[fp], last)
		if err := a.lasting(err); err != nil {
			return err
		}
		a.touch(into, false)
	}
	if err := a.learn(ctx, vs); err != nil {
		return err
	}
	if err := a.gather(ctx, vs); err != nil {
		return err
	}
	if err := a.countServices(ctx, vs); err != nil {
		return err
	}
	return a.keepHeard(ctx, judged)
}

// lasting passes on an error that is worth another try. One that would come again for ever, such as a value that has grown too large, is said once and
// costs what it is about, not everything else.
func (a *Absorber) lasting(err error) error {
	if err == nil || passing(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, queue.ErrClosed) {
		return err
	}
	if !a.told[err.Error()] {
		a.told[err.Error()] = true
		a.lg.Error("verdicts are not counted here: report this", "err", err)
	}
	return nil
}

func applyAll(g *Group, steps []func(*Group) bool, last uint64) bool {
	changed := false
	for _, step := range steps {
		changed = step(g) || changed
	}
	g.Applied = max(g.Applied, last)
	return changed
}

// changeGroup applies a change by compare-and-set; a change that says false writes nothing.
func (a *Absorber) changeGroup(ctx context.Context, fp string, change func(*Group) bool) error {
	untold := 0
	err := a.q.Groups.Update(ctx, fp, func(old []byte) ([]byte, error) {
		var g Group
		if old != nil {
			if err := json.Unmarshal(old, &g); err != nil {
				return nil, err
			}
		}
		if !change(&g) {
			return nil, nil
		}
		untold = len(g.Untold)
		return json.Marshal(g)
	})
	if err != nil {
		return fmt.Errorf("group %.12s: %w", fp, err)
	}
	if untold > 0 {
		a.tellLater(fp)
	}
	return nil
}

// touch has the group looked at in the next sweep; anew asks for specimens to be tried again that were refused before.
func (a *Absorber) touch(fp string, anew bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dirty[fp] = a.dirty[fp] || anew
}

func (a *Absorber) takeDirty() map[string]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := maps.Clone(a.dirty)
	clear(a.dirty)
	return out
}

// Run folds and sweeps until ctx ends.
func (a *Absorber) Run(ctx context.Context) error {
	if err := a.rederive(ctx); err != nil {
		return err
	}
	if err := a.learnMerges(ctx); err != nil && ctx.Err() == nil { // what a kill left between two groups stands in no list until it has followed
		a.lg.Error("merges", "err", err) // the sweep tries again
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer a.lanes.wg.Wait()
	wg.Go(func() { cancel(a.Fold(ctx)) })
	if a.opts.Jury != nil {
		wg.Go(func() { a.deliberate(ctx) })
	}
	tick := time.NewTicker(a.opts.Sweep)
	defer tick.Stop()
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		case now = <-tick.C:
		case <-a.wake:
			now = time.Now()
		}
		if err := errors.Join(a.sweep(ctx, now), a.lanes.ended()); err != nil && ctx.Err() == nil {
			a.lg.Error("sweep", "err", err) // the next one tries again; nothing was lost
		}
	}
}
