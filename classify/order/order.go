// Package order tells which tool calls of a trajectory had been made, and had gone well, before which others, and what of that order a run shows:
// its habits, from which baselines learn what always held.
//
// Calls of one model turn happen together: none of them is before another, whatever order they were run in, since the model asked for all of them
// before it knew the answer to any. The package is pure.
package order

import (
	"slices"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Call is a tool call in its place: one of the trajectory, or one that the conversation had before the trace began.
type Call struct {
	*trajectory.ToolCall        // never nil
	Tool                 string // the name without what frameworks put around it
	Index                int    // in Trajectory.ToolCalls, -1 for a call of the history
	Step                 int    // in Trajectory.Steps, -1 when no step tells; of the history that of the model call which told it

	at, turn int
}

// Calls lists all tool calls in order, those of the history too.
func Calls(t *trajectory.Trajectory) []Call {
	place := map[trajectory.StepKind]map[int]int{trajectory.StepModel: {}, trajectory.StepTool: {}}
	for i, s := range t.Steps {
		if at := place[s.Kind]; at != nil {
			if _, twice := at[s.Index]; !twice {
				at[s.Index] = i
			}
		}
	}
	stepAt := func(kind trajectory.StepKind, i int) int {
		if s, ok := place[kind][i]; ok {
			return s
		}
		return -1
	}
	out := history(t, stepAt)
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		step := stepAt(trajectory.StepTool, i)
		out = append(out, Call{ToolCall: c, Tool: catalog.Normalise(c.Name), Index: i, Step: step, at: 2*step + 1, turn: c.Model})
	}
	slices.SortStableFunc(out, func(a, b Call) int { return a.at - b.at })
	return out
}

// history lists the calls that only the first input of an agent tells of: earlier traces of the conversation made them.
func history(t *trajectory.Trajectory, stepAt func(trajectory.StepKind, int) int) []Call {
	own := map[string]bool{}
	for i := range t.ToolCalls {
		own[t.ToolCalls[i].ID] = true
	}
	delete(own, "")
	heard := map[string]bool{}
	var out []Call
	for m := range t.ModelCalls {
		mc := &t.ModelCalls[m]
		if heard[mc.Agent] {
			continue
		}
		heard[mc.Agent] = true
		step := stepAt(trajectory.StepModel, m)
		for c := range toldBy(mc) {
			if !own[c.ID] || c.ID == "" {
				out = append(out, Call{ToolCall: c, Tool: catalog.Normalise(c.Name), Index: -1, Step: step, at: 2 * step, turn: -1})
			}
		}
	}
	return out
}

// toldBy yields the tool calls that the new messages of a model call hold, with their answers.
func toldBy(m *trajectory.ModelCall) func(yield func(*trajectory.ToolCall) bool) {
	answers := map[string]trajectory.Part{}
	for _, msg := range m.New {
		for _, p := range msg.Parts {
			if p.Kind == trajectory.PartToolResult && p.ID != "" {
				answers[p.ID] = p
			}
		}
	}
	return func(yield func(*trajectory.ToolCall) bool) {
		for _, msg := range m.New {
			for _, p := range msg.Parts {
				if p.Kind != trajectory.PartToolCall {
					continue
				}
				c := &trajectory.ToolCall{SpanID: m.SpanID, ID: p.ID, Name: p.Name, Agent: m.Agent, Model: -1, Recalled: true, Arguments: p.Value, Outcome: trajectory.OutcomeUnknown}
				if a, ok := answers[p.ID]; ok && !a.Unrecorded {
					c.Result, c.HasResult, c.Outcome = a.Value, true, trajectory.OutcomeOK
					if a.Failed {
						c.Outcome = trajectory.OutcomeError
					}
				}
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Before says that the call was made in an earlier turn than the other.
func (c Call) Before(o Call) bool {
	return c.at < o.at && (c.turn < 0 || c.turn != o.turn)
}

// Together says that one model turn asked for both calls.
func (c Call) Together(o Call) bool { return c.turn >= 0 && c.turn == o.turn && c.Index != o.Index }

// Made says that the call was really made in this trace: it is none of the history, and nobody kept it from being run.
func (c Call) Made() bool {
	return c.Index >= 0 && !c.Recalled && c.Outcome != trajectory.OutcomeDenied && c.Outcome != trajectory.OutcomeMissing
}

// Went says whether the call went well: yes, no, or that the data does not tell.
func (c Call) Went() Answer {
	switch effect.OutcomeOf(c.ToolCall, true).Fate {
	case effect.Done:
		return Yes
	case effect.Unseen:
		return Untold
	}
	return No
}

// Answer is yes, no, or that the data does not tell.
type Answer int

// The answers.
const (
	No Answer = iota
	Untold
	Yes
)
