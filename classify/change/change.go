// Package change changes trajectories: it is how repairs of a failure and twins of it are made.
//
// A repair is the smallest thing that would have had to be otherwise; after it the rule must be silent. A twin is the same failure in other
// clothes; the rule must find it again. What edits a trajectory in place has a verb for a name and wants a clone of the caller's own; what makes a
// repair or a twin returns a classify.Repair or classify.Twin, whose Apply works on a clone.
//
// Edits keep a trajectory in order: indexes point where they did, steps and calls agree, and the messages of model calls tell of a call what
// the call itself does.
package change

import (
	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// CallOf returns the tool call that a finding stands on: that of its step, else that of its first evidence that is one's.
func CallOf(t *trajectory.Trajectory, f classify.Finding) (int, bool) {
	if f.Step >= 0 && f.Step < len(t.Steps) && t.Steps[f.Step].Kind == trajectory.StepTool {
		return t.Steps[f.Step].Index, true
	}
	for _, e := range f.Evidence {
		for i := range t.ToolCalls {
			if c := &t.ToolCalls[i]; e.SpanID != "" && (e.SpanID == c.SpanID || e.SpanID == c.ResultSpanID) {
				return i, true
			}
		}
	}
	for _, e := range f.Evidence {
		for i := range t.ToolCalls {
			if e.SpanID != "" && e.SpanID == t.ToolCalls[i].RequestSpanID {
				return i, true
			}
		}
	}
	return 0, false
}

// ModelOf returns the model call that a finding stands on: that of its step, or that which asked for its step's tool, else that of its first
// evidence that is one's.
func ModelOf(t *trajectory.Trajectory, f classify.Finding) (int, bool) {
	if f.Step >= 0 && f.Step < len(t.Steps) {
		switch s := t.Steps[f.Step]; s.Kind {
		case trajectory.StepModel:
			return s.Index, true
		case trajectory.StepTool:
			if m := t.ToolCalls[s.Index].Model; m >= 0 {
				return m, true
			}
		}
	}
	for _, e := range f.Evidence {
		for i := range t.ModelCalls {
			if e.SpanID != "" && e.SpanID == t.ModelCalls[i].SpanID {
				return i, true
			}
		}
	}
	return 0, false
}

// Until applies a repair until find no longer returns a finding of that fingerprint, at most as often as the trajectory has steps. It returns
// the repaired trajectory, how many times the repair was applied, and whether the finding is gone.
func Until(t *trajectory.Trajectory, r classify.Repair, f classify.Finding, find func(*trajectory.Trajectory) []classify.Finding) (*trajectory.Trajectory, int, bool) {
	for n := range len(t.Steps) + 1 {
		next, ok := r.Apply(t, f)
		if !ok {
			return t, n, false
		}
		t = next
		again, found := same(find(t), f)
		if !found {
			return t, n + 1, true
		}
		f = again
	}
	return t, len(t.Steps) + 1, false
}

// Again says whether find finds the same failure in a twin of t. made is false where there is no such twin of it.
func Again(t *trajectory.Trajectory, w classify.Twin, f classify.Finding, find func(*trajectory.Trajectory) []classify.Finding) (again, made bool) {
	twin, ok := w.Apply(t, f)
	if !ok {
		return false, false
	}
	_, found := same(find(twin), f)
	return found, true
}

func same(fs []classify.Finding, f classify.Finding) (classify.Finding, bool) {
	for _, g := range fs {
		if g.Rule == f.Rule && g.Fingerprint.Equal(f.Fingerprint) {
			return g, true
		}
	}
	return classify.Finding{}, false
}
