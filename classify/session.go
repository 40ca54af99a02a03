package classify

import (
	"cmp"
	"slices"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// ClassifySession runs the rules that want sessions over one, as trajectory.Join gives it. It returns only findings that no single trace
// shows: those whose evidence lies in two traces or more, each piece naming its trace. The snapshot may be nil. The findings' Step is an
// index into the session's steps.
func (e *Engine) ClassifySession(t *trajectory.Trajectory, s *baseline.Snapshot) []Finding {
	return e.spanning(t, s, func(r *armed) bool { return r.Session })
}

// ClassifySketches is ClassifySession for the join of what ReadSketch gives: without the rules that want words.
func (e *Engine) ClassifySketches(t *trajectory.Trajectory, s *baseline.Snapshot) []Finding {
	return e.spanning(t, s, func(r *armed) bool { return r.Session && !r.Words })
}

// ClassifyWords is the rest of ClassifySession: the rules that want words.
func (e *Engine) ClassifyWords(t *trajectory.Trajectory, s *baseline.Snapshot) []Finding {
	return e.spanning(t, s, func(r *armed) bool { return r.Session && r.Words })
}

// WantsWords says whether a rule over sessions asks of them what was said.
func (e *Engine) WantsWords() bool {
	return slices.ContainsFunc(e.rules, func(r armed) bool { return r.Session && r.Words })
}

func (e *Engine) spanning(t *trajectory.Trajectory, s *baseline.Snapshot, chosen func(*armed) bool) []Finding {
	out := []Finding{}
	if len(t.Traces) < 2 {
		return out
	}
	in := e.input(t, s)
	for i := range e.rules {
		if !chosen(&e.rules[i]) {
			continue
		}
		for _, f := range e.run(&e.rules[i], in).Findings {
			e.limit(&f)
			if f.bind(t) {
				out = append(out, f)
			}
		}
	}
	slices.SortStableFunc(out, compareFindings)
	return out
}

// bind names the trace of every piece of evidence and says whether they are of two traces or more.
func (f *Finding) bind(t *trajectory.Trajectory) bool {
	traces := map[string]bool{}
	f.Evidence = slices.Clone(f.Evidence)
	for i := range f.Evidence {
		ev := &f.Evidence[i]
		ev.TraceID = cmp.Or(ev.TraceID, t.TraceOf(ev.SpanID))
		traces[ev.TraceID] = true
	}
	delete(traces, "")
	return len(traces) > 1
}

// TraceID is the trace that a session's finding stands on: that of its last evidence. It is "" for a finding on a single trace.
func (f Finding) TraceID() string {
	if len(f.Evidence) == 0 {
		return ""
	}
	return f.Evidence[len(f.Evidence)-1].TraceID
}

// WithSession adds to the report of a trace what its session shows and stands on it: those of the findings, as ClassifySession gives them, that are
// on this trace. What the trace shows by itself is not said twice: of two findings of one fingerprint the graver stays, of equals the trace's own.
func (e *Engine) WithSession(t *trajectory.Trajectory, r Report, session []Finding) Report {
	found := slices.Clone(r.Findings)
	for _, f := range session {
		if f.TraceID() != t.TraceID {
			continue
		}
		f.Step = stepIn(t, f)
		i := slices.IndexFunc(found, func(o Finding) bool { return o.Fingerprint.Equal(f.Fingerprint) })
		switch {
		case i < 0:
			found = append(found, f)
		case cmp.Or(cmp.Compare(f.Severity.rank(), found[i].Severity.rank()), cmp.Compare(f.Confidence, found[i].Confidence)) > 0:
			found[i] = f
		}
	}
	slices.SortStableFunc(found, compareFindings)
	r.Findings = found
	r.settle(t)
	r.Verdict = e.verdict(t, r)
	return r
}

// stepIn is the first step of the trace that the finding points to, -1 when it points to none.
func stepIn(t *trajectory.Trajectory, f Finding) int {
	for _, ev := range f.Evidence {
		if ev.TraceID != t.TraceID {
			continue
		}
		if i := slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.SpanID == ev.SpanID }); i >= 0 {
			return i
		}
	}
	return -1
}
