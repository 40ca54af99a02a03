package main

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// routeDamages are those of which agent works on what.
func routeDamages() []damage {
	return []damage{
		{"handed to and fro, and nothing done", classify.WrongRouting, false, func(t *trajectory.Trajectory, _ *rand.Rand) bool { return toAndFro(t, 2, false) }},
		{"handed over, worked on, handed back", classify.WrongRouting, true, func(t *trajectory.Trajectory, _ *rand.Rand) bool { return toAndFro(t, 1, true) }},
	}
}

// toAndFro has the agent that answers at the end hand the user to a specialist and back before it does, so many times.
func toAndFro(t *trajectory.Trajectory, times int, work bool) bool {
	if _, ok := lastModel(t); !ok || len(t.Handoffs) > 0 {
		return false
	}
	m := len(t.ModelCalls) - 1
	step := slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == trajectory.StepModel && s.Index == m })
	if step < 0 {
		return false
	}
	agent := cmp.Or(t.ModelCalls[m].Agent, "front_desk")
	const other = "returns_specialist"
	for range times {
		step = handOver(t, step, agent, other)
		if work {
			insert(t, step, change.Call{Tool: "find_policy", Arguments: `{"about":"returns"}`, Result: `{"days":30}`, Agent: other})
			step += 2
		}
		step = handOver(t, step, other, agent)
	}
	return true
}

// handOver puts a call that hands over, and the hand-off, before a step, and returns the step behind them.
func handOver(t *trajectory.Trajectory, step int, from, to string) int {
	i := insert(t, step, change.Call{Tool: "transfer_to_" + to, Result: `{"assistant":"` + to + `"}`, Agent: from})
	c := &t.ToolCalls[i]
	t.Handoffs = append(t.Handoffs, trajectory.Handoff{SpanID: c.SpanID, TraceID: c.TraceID, From: from, To: to, Start: c.Start})
	t.Steps = slices.Insert(t.Steps, step+2, trajectory.Step{Kind: trajectory.StepHandoff, SpanID: c.SpanID, TraceID: c.TraceID, Agent: from,
		Index: len(t.Handoffs) - 1, Start: c.Start, End: c.Start})
	if !slices.Contains(t.Agents, to) {
		t.Agents = append(t.Agents, to)
	}
	return step + 3
}
