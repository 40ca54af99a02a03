package main

import (
	"math/rand/v2"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// timeDamages are those of when things happen. They want a real clock.
func timeDamages() []damage {
	return []damage{
		{"tool never ends, and a reply", classify.SilentTimeout, false, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			i, ok := stalled(t, rnd, 10*time.Minute)
			if ok {
				unanswer(t, i, trajectory.OutcomeUnknown)
				t.ToolCalls[i].End = time.Time{}
				t.Complete.Unfinished++
			}
			return ok
		}},
		{"slow tool that ends well", classify.SilentTimeout, true, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			_, ok := stalled(t, rnd, 3*time.Minute)
			return ok
		}},
		{"tool that waits a little", classify.SilentTimeout, true, func(t *trajectory.Trajectory, rnd *rand.Rand) bool {
			_, ok := stalled(t, rnd, 20*time.Second)
			return ok
		}},
	}
}

// stalled makes an executed tool call take longer, and all that came after it come later.
func stalled(t *trajectory.Trajectory, rnd *rand.Rand, by time.Duration) (int, bool) {
	i, ok := pick(t.ToolCalls, rnd, func(c *trajectory.ToolCall) bool { return answered(c) && c.Executed && !c.End.IsZero() })
	if !ok || t.Complete.SyntheticTime {
		return 0, false
	}
	from := t.ToolCalls[i].End
	shift := func(times ...*time.Time) {
		for _, x := range times {
			if !x.IsZero() && !x.Before(from) {
				*x = x.Add(by)
			}
		}
	}
	for n := range t.ToolCalls {
		shift(&t.ToolCalls[n].Start, &t.ToolCalls[n].End)
	}
	for n := range t.ModelCalls {
		shift(&t.ModelCalls[n].Start, &t.ModelCalls[n].End)
	}
	for n := range t.Steps {
		shift(&t.Steps[n].Start, &t.Steps[n].End)
	}
	for n := range t.Handoffs {
		shift(&t.Handoffs[n].Start)
	}
	shift(&t.End)
	return i, true
}
