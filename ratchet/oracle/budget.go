package oracle

import (
	"fmt"
	"strconv"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
)

// limit is one number of a budget.
type limit struct {
	field, unit string
	metric      baseline.Metric
	max         float64
	fact        trajectory.Fact // what tells the number
}

// budget holds the run to the case's numbers. A number may be exceeded by the tolerance.
func (b *bench) budget() {
	c := b.c.Expect.Budget
	if c == nil {
		return
	}
	var limits []limit
	if c.TotalTokens != nil {
		limits = append(limits, limit{"total_tokens", "tokens", baseline.TotalTokens, float64(*c.TotalTokens), trajectory.FactUsage})
	}
	if c.ToolCalls != nil {
		limits = append(limits, limit{"tool_calls", "tool calls", baseline.ToolCalls, float64(*c.ToolCalls), trajectory.FactToolCalls})
	}
	if c.CostUSD != nil {
		limits = append(limits, limit{"cost_usd", "USD", baseline.Cost, *c.CostUSD, trajectory.FactCost})
	}
	if c.DurationS != nil {
		limits = append(limits, limit{"duration_s", "seconds", baseline.Duration, *c.DurationS, trajectory.FactClock})
	}
	for _, l := range limits {
		b.within(l, l.max*(1+c.Tolerance))
	}
}

func (b *bench) within(l limit, most float64) {
	got, known := b.measure(l)
	switch {
	case got > most: // also of what is known in part: more is not less
		b.fails(fmt.Sprintf("the run took %s %s, and %s are allowed", number(got), l.unit, number(most)),
			match.Mismatch{Step: -1, Field: "budget/" + l.field, Expected: "at most " + number(most), Got: number(got)})
	case !known:
		b.unsure(fmt.Sprintf("how many %s the run took is not known: %s is missing: %s", l.unit, spaced(l.fact), remedy(b.r.whole, l.fact)))
	}
}

// measure takes a number of the run. Of a session the time is that of its traces, without what the user took in between.
func (b *bench) measure(l limit) (float64, bool) {
	if l.metric != baseline.Duration {
		n, ok := baseline.Measure(b.r.whole).Values[l.metric]
		if _, lacks := b.r.whole.Lacks(l.fact); lacks && l.metric == baseline.ToolCalls {
			ok = false
		}
		return n, ok
	}
	sum, known := 0.0, true
	for _, t := range b.r.parts {
		n, ok := baseline.Measure(t).Values[l.metric]
		sum, known = sum+n, known && ok
	}
	return sum, known
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
