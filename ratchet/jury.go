package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	jury "github.com/pawl-dev/pawl/classify/judge"
	"github.com/pawl-dev/pawl/classify/judge/llm"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// Jury is who is asked of what no rule explains, beside the absorber's other work.
type Jury struct {
	Judge     jury.Judge
	ID        string          // of the judge: of its model and rubric
	Model     string          // for people
	Rubric    string          // its digest, for people
	Budget    jury.Cost       // of a day (UTC); 0: no bound
	Parallel  int             // questions at a time; 0 is 2
	Signature int             // traces of one group of what no rule explains that are asked about in a week; 0 is 5
	Measured  Agreement       // how it agreed with people where it was tried on their labels; zero: nobody did
	Count     func(of string) // is told of every outcome and every fault; may be nil
}

func (j *Jury) parallel() int     { return cmp.Or(j.Parallel, 2) }
func (j *Jury) perSignature() int { return cmp.Or(j.Signature, 5) }

func (j *Jury) count(of string) {
	if j.Count != nil {
		j.Count(of)
	}
}

// bench is what this process knows of the questions that wait, and of how the jury agrees with people. Its zero value is ready.
type bench struct {
	mu      sync.Mutex
	waiting map[string]time.Time // by trace: not before
	asking  map[string]bool
	agreed  map[string]Agreement // by the judge's id
}

func (b *bench) await(traceID string, notBefore time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting, b.asking = map[string]time.Time{}, map[string]bool{}
	}
	b.waiting[traceID] = notBefore
}

func (b *bench) forget(traceID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, traceID)
}

// take gives up to n questions whose time has come, and marks them as being asked until leave.
func (b *bench) take(now time.Time, n int) (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, at := range b.waiting {
		if !at.After(now) && !b.asking[id] {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return cmp.Or(b.waiting[x].Compare(b.waiting[y]), strings.Compare(x, y)) })
	out = out[:min(n, len(out))]
	for _, id := range out {
		b.asking[id] = true
	}
	return out
}

func (b *bench) leave(traceID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.asking, traceID)
}

const (
	askEvery   = time.Second
	againAfter = 30 * time.Second // a fault, and twice that after the next
	againMost  = time.Hour
	maxTries   = 12
	countEvery = time.Minute
)

// deliberate asks what waits until ctx ends. A model that fails holds up nothing else.
func (a *Absorber) deliberate(ctx context.Context) {
	for a.resume(ctx) != nil && pauseFor(ctx, askEvery) == nil {
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	seats := make(chan struct{}, a.opts.Jury.parallel())
	var counted time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if now.Sub(counted) >= countEvery {
				counted = now
				a.logged("agreement of the judge", errors.Join(a.resume(ctx), a.agree(ctx), a.expireJudgements(ctx, now)))
			}
			for _, id := range a.bench.take(now, cap(seats)-len(seats)) {
				seats <- struct{}{}
				wg.Go(func() {
					defer func() { a.bench.leave(id); <-seats }()
					a.logged("judge trace "+id, a.deliberateOn(ctx, id, now))
				})
			}
		}
	}
}

func (a *Absorber) logged(what string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		a.lg.Warn(what, "err", err)
	}
}

// Deliberate asks once what is due, one question after the other.
func (a *Absorber) Deliberate(ctx context.Context, now time.Time) error {
	if err := a.resume(ctx); err != nil {
		return err
	}
	var errs []error
	for _, id := range a.bench.take(now, 1<<20) {
		errs = append(errs, a.deliberateOn(ctx, id, now))
		a.bench.leave(id)
	}
	return errors.Join(errs...)
}

// resume takes up what waits in the store, and publishes again what was said and may not have been heard.
func (a *Absorber) resume(ctx context.Context) error {
	js, err := a.Judgements(ctx)
	if err != nil {
		return err
	}
	for i := range js {
		switch j := &js[i]; j.State {
		case JudgementWaiting:
			a.bench.await(j.TraceID, j.NotBefore)
		case JudgementSaid:
			if err := a.tellJudged(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliberateOn asks about one trace. What came of it is stored before anything is said.
func (a *Absorber) deliberateOn(ctx context.Context, traceID string, now time.Time) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.lg.Error("a trace broke the judge: report this with the trace", "trace", traceID, "panic", p, "stack", string(debug.Stack()))
			a.bench.await(traceID, now.Add(againMost))
			err = fmt.Errorf("trace %s broke the judge: %v", traceID, p)
		}
	}()
	j, err := a.judgement(ctx, traceID)
	if err != nil {
		return err
	}
	if j == nil || j.State != JudgementWaiting {
		a.bench.forget(traceID)
		return nil
	}
	if decided, err := a.decided(ctx, j.Of); err != nil || decided {
		return errors.Join(err, a.undecided(ctx, j, decided, "people have decided on what went wrong in this way"))
	}
	t, ok, err := a.askedTrace(ctx, j)
	if err != nil || !ok {
		return errors.Join(err, a.undecided(ctx, j, err == nil, "its trace is not kept any more, or not in this process"))
	}
	run, session, err := a.maker.Redacted(t)
	if err != nil {
		return a.undecided(ctx, j, true, "it cannot be redacted: "+err.Error())
	}
	op, err := a.opts.Jury.Judge.Judge(ctx, a.question(ctx, j, run, session, now))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return a.putOff(ctx, j, now, err)
	}
	return a.conclude(ctx, j, &t, op)
}

// undecided concludes, if it is so, without an opinion.
func (a *Absorber) undecided(ctx context.Context, j *Judgement, so bool, why string) error {
	if !so {
		return nil
	}
	return a.conclude(ctx, j, nil, jury.Opinion{Outcome: jury.NotDecided, Judge: a.opts.Jury.ID, Votes: append([]jury.Vote{}, j.Opinion.Votes...), Why: why})
}

// decided says whether people labelled or dismissed a group of what no rule explains: then nobody needs a model's opinion of it.
func (a *Absorber) decided(ctx context.Context, fp string) (bool, error) {
	g, err := a.Group(ctx, fp)
	if errors.Is(err, queue.ErrNotFound) {
		return false, nil
	}
	_, denied := g.Denied()
	return g.Merged != nil || denied, err
}

// askedTrace is the trace of a question: from where the worker kept its bytes, else from the kept traces.
func (a *Absorber) askedTrace(ctx context.Context, j *Judgement) (t trajectory.Trace, ok bool, err error) {
	if j.Object != "" {
		doc, err := a.q.Objects.Get(ctx, j.Object)
		if err == nil {
			if traces, err := recordedIn(doc); err == nil {
				return traces[0], true, nil
			}
		} else if !errors.Is(err, queue.ErrNotFound) {
			return t, false, err
		}
	}
	if a.opts.Traces == nil {
		return t, false, nil
	}
	return a.opts.Traces(ctx, j.TraceID)
}

// question is what the judge is asked about a redacted run.
func (a *Absorber) question(ctx context.Context, j *Judgement, run *trajectory.Trajectory, session *redact.Session, now time.Time) jury.Question {
	var claims []classify.Claim
	if e, err := a.q.Flagged.Get(ctx, j.TraceID); err == nil {
		if f, err := readFlagged(e.Value); err == nil {
			claims = f.claims()
		}
	}
	q := jury.Question{
		Run: run, Signs: session.Text(classify.NoLabelFinding(run, claims...).Why), Verify: session.Verify, Pay: a.purse(now), Cached: a.votes,
		Keep: func(ctx context.Context, votes []jury.Vote) error {
			_, err := a.changeJudgement(ctx, j.TraceID, j.Revision, func(j *Judgement) { j.Opinion.Votes, j.Opinion.Judge = votes, a.opts.Jury.ID })
			return err
		},
	}
	if j.Opinion.Judge == a.opts.Jury.ID { // those of another model or rubric do not count beside these
		q.Have = j.Opinion.Votes
	}
	return q
}

// votes are those that the same question was given before.
func (a *Absorber) votes(ctx context.Context, digest string) (out []jury.Vote) {
	e, err := a.q.Judgements.Get(ctx, votesPrefix+digest)
	if err != nil || json.Unmarshal(e.Value, &out) != nil {
		return nil
	}
	return out
}

// putOff notes why a question came to nothing, and when it is asked again. One that never gets an answer is not decided.
func (a *Absorber) putOff(ctx context.Context, j *Judgement, now time.Time, cause error) error {
	wait := min(againAfter<<min(j.Tries, 10), againMost)
	spent, isSpent := errors.AsType[*jury.Spent](cause)
	away, isAway := errors.AsType[*llm.Unavailable](cause)
	what := cause.Error()
	switch {
	case isSpent:
		a.opts.Jury.count("budget_spent")
		what, wait = "not decided: "+spent.Error(), now.UTC().Truncate(24*time.Hour).Add(24*time.Hour).Sub(now)
	case isAway:
		a.opts.Jury.count("unavailable")
		wait = max(wait, away.RetryAfter)
	default:
		a.opts.Jury.count("refused")
	}
	if j.Tries >= maxTries && !isSpent {
		return a.undecided(ctx, j, true, fmt.Sprintf("%d tries came to nothing: %s", j.Tries+1, what))
	}
	at := now.Add(wait)
	changed, err := a.changeJudgement(ctx, j.TraceID, j.Revision, func(j *Judgement) {
		j.Waits, j.NotBefore = clip(what, maxText), at.UTC()
		if !isSpent {
			j.Tries++
		}
	})
	if changed {
		a.bench.await(j.TraceID, at)
		a.lg.Info("a question to the judge waits", "trace", j.TraceID, "until", at.UTC(), "why", what)
	}
	return err
}

// conclude stores the opinion on a trace and, if it has a label, tells the groups. t is the trace, nil where there is no label.
func (a *Absorber) conclude(ctx context.Context, j *Judgement, t *trajectory.Trace, op jury.Opinion) error {
	var says *Verdict
	if op.Finding != nil {
		v, err := a.judgedVerdict(ctx, j, *t, op)
		if err != nil {
			return err
		}
		says = &v
	}
	now := *j
	changed, err := a.changeJudgement(ctx, j.TraceID, j.Revision, func(stored *Judgement) {
		stored.State, stored.Opinion, stored.Waits, stored.Says = JudgementDone, op, "", says
		if says != nil {
			stored.State = JudgementSaid
		}
		now = *stored
	})
	if err != nil {
		return err
	}
	a.bench.forget(j.TraceID)
	if !changed {
		return nil
	}
	a.opts.Jury.count(string(op.Outcome))
	if doc, err := json.Marshal(op.Votes); err == nil && op.Digest != "" && op.Outcome != jury.NotDecided {
		a.logged("keep votes", a.q.Judgements.Update(ctx, votesPrefix+op.Digest, func([]byte) ([]byte, error) { return doc, nil }))
	}
	if says == nil {
		return nil
	}
	return a.tellJudged(ctx, &now)
}

// judgedVerdict is the verdict that puts the trace into the group of its label.
func (a *Absorber) judgedVerdict(ctx context.Context, j *Judgement, t trajectory.Trace, op jury.Opinion) (Verdict, error) {
	found := NewFound(*op.Finding)
	object := j.Object
	if object == "" {
		doc, err := record.Encode(t, func(string) bool { return true }, func(_, text string) string { return text })
		if err != nil {
			return Verdict{}, err
		}
		if object, err = a.q.Objects.Put(ctx, doc); err != nil {
			return Verdict{}, err
		}
	}
	return Verdict{TraceID: j.TraceID, Revision: judgedRevision(j.Revision, op), SessionID: j.SessionID, Service: j.Service, Verdict: classify.Failing,
		Findings: []Found{found}, Replaces: &Previous{Revision: j.Revision, Fingerprints: []string{j.Of}, Same: true}, Object: object, Seen: j.Seen,
		Context: lineage.ContextOf(trajectory.Build(t)), Judged: true}, nil
}

// tellJudged publishes what was said. Published twice it counts once.
func (a *Absorber) tellJudged(ctx context.Context, j *Judgement) error {
	doc, err := json.Marshal(j.Says)
	if err != nil {
		return fmt.Errorf("judgement of trace %s: %w", j.TraceID, err)
	}
	_, err = a.q.Findings.Append(ctx, j.Says.TraceID+" "+j.Says.Revision, doc)
	return err
}

// judgedRevision tells a model's word on a revision from the worker's.
func judgedRevision(of string, op jury.Opinion) string {
	return flag.Digest(of, op.Judge, string(op.Label))
}

// Redacted is the run of a trace as it may leave, and the session that redacted it, which knows what it took out.
func (m *Maker) Redacted(t trajectory.Trace) (*trajectory.Trajectory, *redact.Session, error) {
	session := m.Redactor.Session()
	doc, err := record.Encode(t, func(string) bool { return true }, redactor(session, []trajectory.Trace{t}))
	if err != nil {
		return nil, nil, err
	}
	traces, err := recordedIn(doc)
	if err != nil {
		return nil, nil, err
	}
	return m.runOf(traces), session, nil
}
