package classify

import (
	"slices"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// shortened keeps the first and the last of a trajectory's steps, keep of them in all, with the calls that they show. Where steps are missing the user
// speaks. With few steps nothing is left but what is said of the trace as a whole.
func shortened(t *trajectory.Trajectory, keep int) *trajectory.Trajectory {
	if keep >= len(t.Steps) {
		return t
	}
	out := *t
	out.Steps, out.ModelCalls, out.ToolCalls, out.Handoffs = nil, nil, nil, nil
	out.Complete.Truncated = true
	if keep < 2 {
		out.UserMessages, out.AgentTotals = nil, nil
		return &out
	}
	head, tail := t.Steps[:keep/2], t.Steps[len(t.Steps)-(keep-keep/2):]
	lost := trajectory.Step{Kind: trajectory.StepUser, Index: -1, Text: digest("steps that are not kept of trace "+t.TraceID) + saidMark + " .again", Start: tail[0].Start, End: tail[0].Start}
	out.Steps = slices.Concat(head, []trajectory.Step{lost}, tail)

	models := pick(out.Steps, trajectory.StepModel, t.ModelCalls, &out.ModelCalls)
	tools := pick(out.Steps, trajectory.StepTool, t.ToolCalls, &out.ToolCalls)
	pick(out.Steps, trajectory.StepHandoff, t.Handoffs, &out.Handoffs)
	for i := range out.ToolCalls {
		out.ToolCalls[i].Model = at(models, out.ToolCalls[i].Model)
	}
	for i := range out.ModelCalls {
		var calls []int
		for _, c := range out.ModelCalls[i].ToolCalls {
			if c = at(tools, c); c >= 0 {
				calls = append(calls, c)
			}
		}
		out.ModelCalls[i].ToolCalls = calls
	}
	return &out
}

// pick copies what the steps of a kind show, and points them to the copies. It returns where everything is now.
func pick[T any](steps []trajectory.Step, kind trajectory.StepKind, all []T, into *[]T) map[int]int {
	kept := map[int]bool{}
	for _, s := range steps {
		if s.Kind == kind {
			kept[s.Index] = true
		}
	}
	now := map[int]int{}
	for i, v := range all {
		if kept[i] {
			now[i] = len(*into)
			*into = append(*into, v)
		}
	}
	for i, s := range steps {
		if s.Kind == kind {
			steps[i].Index = now[s.Index]
		}
	}
	return now
}

func at(now map[int]int, i int) int {
	if n, ok := now[i]; ok {
		return n
	}
	return -1
}
