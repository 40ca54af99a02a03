package baseline

import (
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Key names what runs are compared with each other: the same service, agent and route.
type Key struct {
	Service, Agent, Route string
}

// Metric is one number of a run.
type Metric string

// The metrics. Tokens count model calls only (leaves), and agents' totals where their calls tell nothing; a cached token was read from the
// provider's cache.
const (
	TotalTokens Metric = "total_tokens" // input and output, cached ones included
	FreshTokens Metric = "fresh_tokens" // input without cache reads, and output: what a run newly costs
	FreshInput  Metric = "fresh_input"  // input without cache reads
	Output      Metric = "output_tokens"
	Cost        Metric = "cost_usd"
	Duration    Metric = "duration_s"
	ToolCalls   Metric = "tool_calls"
)

// Metrics are all metrics, in the order of the file format.
func Metrics() []Metric {
	return []Metric{TotalTokens, FreshTokens, FreshInput, Output, Cost, Duration, ToolCalls}
}

// Run is what one trajectory adds to a baseline. A metric that the data does not tell is absent from Values.
type Run struct {
	Key    Key
	Values map[Metric]float64
	Habits []order.Habit `json:",omitempty"` // what the order of its calls shows; by kind and subject
}

// Measure takes the numbers of a trajectory. Tokens are known only if every model call that answered tells them; cost likewise; the duration
// only if the trace has its root, an end and a real clock.
func Measure(t *trajectory.Trajectory) Run {
	r := Run{Key: KeyOf(t), Values: map[Metric]float64{ToolCalls: float64(len(t.ToolCalls))}, Habits: order.Habits(t)}
	if u, ok := tokens(t); ok {
		r.Values[TotalTokens] = u.input + u.output
		r.Values[FreshInput] = u.input - u.cached
		r.Values[FreshTokens] = u.input - u.cached + u.output
		r.Values[Output] = u.output
	}
	if c, ok := t.Cost(); ok {
		r.Values[Cost] = c
	}
	if t.Complete.HasRoot && !t.Complete.SyntheticTime && t.End.After(t.Start) {
		r.Values[Duration] = t.End.Sub(t.Start).Seconds()
	}
	return r
}

// KeyOf returns the key of a trajectory: its agent is the first one to appear.
func KeyOf(t *trajectory.Trajectory) Key {
	k := Key{Service: t.Service, Route: t.Route}
	if len(t.Agents) > 0 {
		k.Agent = t.Agents[0]
	}
	return k
}

type sums struct{ input, output, cached float64 }

func (s *sums) add(u trajectory.Usage) {
	s.input += float64(*u.Input)
	s.output += float64(*u.Output)
	if c := u.CacheRead; c != nil {
		s.cached += float64(min(*c, *u.Input))
	}
}

func tokens(t *trajectory.Trajectory) (sums, bool) {
	var s sums
	seen := false
	for _, m := range t.ModelCalls {
		switch {
		case counted(m.Usage):
			s.add(m.Usage)
			seen = true
		case m.Error == nil && !m.InTotal:
			return s, false
		} // else it failed and reports nothing, which cost nothing that anybody can know, or it is in a total
	}
	for _, a := range t.AgentTotals {
		if !counted(a.Usage) {
			return s, false
		}
		s.add(a.Usage)
		seen = true
	}
	return s, seen
}

func counted(u trajectory.Usage) bool { return u.Input != nil && u.Output != nil }
