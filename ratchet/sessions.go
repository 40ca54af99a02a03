package ratchet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
)

// Traces finds a kept trace by its id; false says that it is not there.
type Traces func(ctx context.Context, traceID string) (trajectory.Trace, bool, error)

// gather folds verdicts into the sessions of their traces, one change each. Most traces are of a session and go on with no other one of it: they bring no
// sketch and cost nothing.
func (a *Absorber) gather(ctx context.Context, vs []sequenced) error {
	if len(vs) == 0 {
		return nil
	}
	steps, leaves := map[string][]func(*Session) bool{}, map[string]bool{}
	for _, v := range vs {
		key := v.session()
		if p := v.Replaces; p != nil && p.Session != "" && (p.Session != key || v.Sketch == nil && !v.onSession()) {
			steps[p.Session] = append(steps[p.Session], func(s *Session) bool { return s.Drop(v.TraceID, v.seq) })
		}
		switch {
		case v.onSession():
			steps[key] = append(steps[key], func(s *Session) bool { return s.Hear(v.Verdict, v.seq) })
		case key != "" && v.Sketch != nil:
			steps[key] = append(steps[key], func(s *Session) bool { return s.Take(v.Verdict, v.seq) })
			leaves[key] = leaves[key] || v.Left != nil
		case key != "" && (leaves[key] || a.leaves(key)):
			steps[key] = append(steps[key], func(s *Session) bool { return s.Follow(v.Verdict) })
		}
	}
	last := vs[len(vs)-1].seq
	for _, key := range slices.Sorted(maps.Keys(steps)) {
		err := a.changeSession(ctx, key, func(s *Session) bool {
			changed := false
			for _, step := range steps[key] {
				changed = step(s) || changed
			}
			s.Applied = max(s.Applied, last)
			return changed
		})
		if err := a.lasting(err); err != nil {
			return err
		}
	}
	return nil
}

// changeSession applies a change by compare-and-set; a change that says false writes nothing. The session is judged again when it is quiet, if there is
// anything new in it.
func (a *Absorber) changeSession(ctx context.Context, key string, change func(*Session) bool) error {
	a.talk.Lock()
	defer a.talk.Unlock()
	var s Session
	before := 0
	err := a.q.Sessions.Update(ctx, key, func(old []byte) ([]byte, error) {
		s = Session{}
		if old != nil {
			if err := json.Unmarshal(old, &s); err != nil {
				return nil, err
			}
		}
		if before = s.Left; !change(&s) {
			return nil, nil
		}
		return s.encode()
	})
	if err != nil {
		return fmt.Errorf("session %.12s: %w", key, err)
	}
	if s.Left > 0 && before == 0 {
		a.lg.Info("a session has more traces than are judged together: the oldest give way", "service", s.Service, "session", s.ID, "kept", len(s.Parts))
	}
	a.await(key, &s)
	return nil
}

// leaves says whether a user seems to have left the session: then whatever comes after counts.
func (a *Absorber) leaves(key string) bool {
	a.talk.Lock()
	defer a.talk.Unlock()
	return a.left[key]
}

// await has the session judged once it is quiet, if there is anything to judge.
func (a *Absorber) await(key string, s *Session) {
	if s.left() != nil {
		a.left[key] = true
	} else {
		delete(a.left, key)
	}
	if s.open() {
		a.open[key] = s.Last
	} else {
		delete(a.open, key)
	}
}

// reopen awaits every session that was not judged yet.
func (a *Absorber) reopen(ctx context.Context) error {
	a.talk.Lock()
	defer a.talk.Unlock()
	for e, err := range a.q.Sessions.All(ctx) {
		if err != nil {
			return fmt.Errorf("sessions: %w", err)
		}
		var s Session
		if err := json.Unmarshal(e.Value, &s); err != nil {
			return fmt.Errorf("session %.12s: %w", e.Key, err)
		}
		a.await(e.Key, &s)
	}
	return nil
}

// quiet lists the sessions whose time has come.
func (a *Absorber) quiet(now time.Time) (keys []string) {
	a.talk.Lock()
	defer a.talk.Unlock()
	for key, last := range a.open {
		if now.Sub(last) >= a.opts.SessionQuiet {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// judgeSessions judges what has become quiet. That something of a session is still on its way does no harm: it opens the session again.
func (a *Absorber) judgeSessions(ctx context.Context, now time.Time, base baselines) error {
	var errs []error
	for _, key := range a.quiet(now) {
		if err := a.judgeSession(ctx, now, key, base); err != nil {
			errs = append(errs, fmt.Errorf("judge session %.12s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// judgeSession says on FINDINGS what the session shows. The session itself learns of it from there, as the groups do: a kill in between leaves it to be
// judged again, with the same words.
func (a *Absorber) judgeSession(ctx context.Context, now time.Time, key string, base baselines) error {
	s, err := a.session(ctx, key)
	if err != nil || !s.open() || now.Sub(s.Last) < a.opts.SessionQuiet {
		return err
	}
	v, err := a.sessionVerdict(ctx, key, &s, base)
	if err != nil {
		return err
	}
	if len(v.Findings)+len(v.Replaces.fingerprints())+len(v.Settled) == 0 {
		return a.changeSession(ctx, key, func(stored *Session) bool { stored.Judged = v.Revision; return true })
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = a.q.Findings.Append(ctx, "session "+key+" "+v.Revision, doc)
	return err
}

// session reads a session; one that is gone is empty.
func (a *Absorber) session(ctx context.Context, key string) (s Session, err error) {
	a.talk.Lock()
	defer a.talk.Unlock()
	e, err := a.q.Sessions.Get(ctx, key)
	if err == nil {
		err = json.Unmarshal(e.Value, &s)
	}
	if err == nil || errors.Is(err, queue.ErrNotFound) {
		a.await(key, &s)
		return s, nil
	}
	return s, err
}

// sessionVerdict is what the session shows beyond what its traces show by themselves.
func (a *Absorber) sessionVerdict(ctx context.Context, key string, s *Session, base baselines) (Verdict, error) {
	v := Verdict{Session: key, Revision: s.Revision(), SessionID: s.ID, Service: s.Service, Verdict: classify.Passing, Findings: []Found{}, Seen: s.Last}
	snapshot, err := base()
	if err != nil {
		return v, err
	}
	whole, fs, ok := a.spanning(s, snapshot)
	if !ok {
		return v, nil
	}
	spoken, all, err := a.spoken(ctx, s, snapshot)
	if err != nil {
		return v, err
	}
	for _, f := range append(fs, spoken...) {
		if !s.shown(f) {
			v.Findings, v.TraceID = append(v.Findings, NewFound(f)), f.TraceID()
		}
	}
	if p := s.left(); p != nil && len(v.Findings) == 0 {
		v.Findings, v.TraceID, v.Verdict, v.Unexplained = append(v.Findings, *p.Left), p.TraceID, classify.Unclassified, p.Left.Why
	} else if len(v.Findings) > 0 {
		v.Verdict = classify.Failing
		v.Object, v.Unrecorded, err = a.recordSession(ctx, v.Findings, whole.traces)
	}
	v.Replaces, v.Settled = s.replaces(v.Findings, all), append(whole.settled, s.explained(v.Findings)...)
	return v, err
}

// spanned is a session once it is joined.
type spanned struct {
	traces  []string // in order of start
	settled []Settled
}

// spanning joins the session's traces and finds what spans them; not ok when pawl cannot judge it.
func (a *Absorber) spanning(s *Session, base *baseline.Snapshot) (whole spanned, fs []classify.Finding, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			a.lg.Error("a session broke pawl: report this", "service", s.Service, "session", s.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	parts, err := s.parts()
	if err != nil {
		a.lg.Error("a session cannot be judged: report this", "service", s.Service, "session", s.ID, "err", err)
		return whole, nil, false
	}
	t := trajectory.Join(parts)
	whole.traces = t.Traces
	for _, p := range parts {
		whole.settled = append(whole.settled, a.settled(s, t, p, base)...)
	}
	return whole, a.maker.Engine.ClassifySketches(t, base), true
}

// spoken is what the rules that want words find in the session. They see its traces themselves, since sketches hold none: a session of which one is not to
// be had is not judged by them, and all is false.
func (a *Absorber) spoken(ctx context.Context, s *Session, base *baseline.Snapshot) (fs []classify.Finding, all bool, err error) {
	if !a.maker.Engine.WantsWords() || len(s.Parts) < 2 {
		return nil, true, nil
	}
	var ids []string
	for _, p := range s.Parts {
		ids = append(ids, p.TraceID)
	}
	traces, lacks, err := a.tracesOf(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	if lacks != "" {
		a.lg.Warn("the team's own rules cannot judge a session", "service", s.Service, "session", s.ID, "why", lacks)
		return nil, false, nil
	}
	defer func() {
		if p := recover(); p != nil {
			fs, all = nil, false
			a.lg.Error("a session broke pawl: report this", "service", s.Service, "session", s.ID, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	var parts []*trajectory.Trajectory
	for _, t := range traces {
		part := trajectory.Build(t)
		a.maker.Engine.Price(part)
		parts = append(parts, part)
	}
	return a.maker.Engine.ClassifyWords(trajectory.Join(parts), base), true, nil
}

// tracesOf reads traces that are kept; lacks says why one is not to be had, and what a person can do.
func (a *Absorber) tracesOf(ctx context.Context, ids []string) (traces []trajectory.Trace, lacks string, err error) {
	if a.opts.Traces == nil {
		return nil, "the traces of the session are kept by another process, the one that plays the role work: " + byHand(ids), nil
	}
	for _, id := range ids {
		t, ok, err := a.opts.Traces(ctx, id)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			return nil, "trace " + id + " of the session is not kept here any more: " + byHand(ids), nil
		}
		traces = append(traces, t)
	}
	return traces, "", nil
}

// settled is what one of the session's traces shows by itself and no longer does once the rest of the session is known.
func (a *Absorber) settled(s *Session, whole, part *trajectory.Trajectory, base *baseline.Snapshot) (out []Settled) {
	now := whole.Settle(part)
	i, have := s.part(part.TraceID)
	if now == part || !have {
		return nil
	}
	alone, known := a.digests(part, base), a.digests(now, base)
	for _, w := range s.Parts[i].Shows {
		if slices.Contains(alone, w.Fingerprint) && !slices.Contains(known, w.Fingerprint) {
			out = append(out, Settled{part.TraceID, s.Parts[i].Revision, w.Fingerprint, s.Parts[i].Context})
		}
	}
	return out
}

// digests are those of the fingerprints that a trajectory shows.
func (a *Absorber) digests(t *trajectory.Trajectory, base *baseline.Snapshot) (out []string) {
	for _, f := range a.maker.Engine.Classify(t, base).Findings {
		out = append(out, f.Fingerprint.Digest())
	}
	return out
}

// unsettled says whether a specimen has to wait for its session: what comes next there may explain it.
func (a *Absorber) unsettled(ctx context.Context, now time.Time, g *Group, sp Specimen) (bool, error) {
	if !g.unsettled(sp) || now.Sub(sp.Seen) > queue.KeepSessions {
		return false, nil
	}
	s, err := a.session(ctx, sp.Of)
	return err == nil && (s.open() || now.Sub(s.Last) < a.opts.SessionQuiet), err
}

// recordSession stores the traces up to the last one that a finding stands on, for groups that still want a specimen. Where it cannot, it says why, and
// what a person can do.
func (a *Absorber) recordSession(ctx context.Context, fs []Found, traces []string) (object, unrecorded string, err error) {
	last := -1
	for _, f := range fs {
		if f.Form != classify.FormNone {
			last = max(last, slices.Index(traces, f.TraceID()))
		}
	}
	if last < 0 {
		return "", "", nil
	}
	wanted, err := wantAny(ctx, a.q, fs)
	if err != nil || !wanted {
		return "", "", err
	}
	traces = traces[:last+1]
	parts, unrecorded, err := a.tracesOf(ctx, traces)
	if err != nil || unrecorded != "" {
		return "", unrecorded, err
	}
	doc, err := record.EncodeSession(parts, func(string, string) bool { return true }, func(_, text string) string { return text })
	if err != nil {
		return "", err.Error(), nil
	}
	object, err = a.q.Objects.Put(ctx, doc)
	return object, "", err
}

// byHand says what a person can do where pawl does not have the traces.
func byHand(traces []string) string {
	return "export these traces to a file and run pawl absorb on it: " + strings.Join(traces, " ")
}
