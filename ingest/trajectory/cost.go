package trajectory

import (
	"cmp"
	"math"
	"slices"
)

// Cost sums what the run cost in USD. It is known only if that of every model call that answered, and of every agent's total, is: a part of
// the sum would look like a cheap run.
func (t *Trajectory) Cost() (usd float64, known bool) {
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		switch {
		case m.Usage.CostUSD != nil:
			usd, known = usd+*m.Usage.CostUSD, true
		case m.Costs():
			return 0, false
		}
	}
	for _, a := range t.AgentTotals {
		if a.Usage.CostUSD == nil {
			return 0, false
		}
		usd, known = usd+*a.Usage.CostUSD, true
	}
	return math.Round(usd*1e12) / 1e12, known // a sum of decimal fractions, as one
}

// Costs says whether the call's cost is a part of the run's. One that failed and tells no tokens cost nothing that anybody can know, and one
// whose tokens are in an agent's total is paid there.
func (m *ModelCall) Costs() bool { return m.Usage.counted() || m.Error == nil && !m.InTotal }

// TellCost counts anew how far the cost is told, after a price list has filled in what spans do not report: its share, and its gap, which
// is there as long as the run's cost is not known. The remedy is what would supply the rest; "" leaves the one that is there.
func (t *Trajectory) TellCost(remedy string) {
	share := Share{Fact: FactCost, Remedy: cmp.Or(remedy, t.Remedy(FactCost), remedies[FactCost])}
	for i := range t.ModelCalls {
		if m := &t.ModelCalls[i]; m.Error == nil {
			share.Of++
			if m.Usage.CostUSD != nil || !m.Costs() {
				share.Seen++
			}
		}
	}
	_, known := t.Cost()
	gap := Gap{FactCost, share.Remedy}
	t.Gaps = slices.DeleteFunc(t.Gaps, func(g Gap) bool { return g.Fact == FactCost })
	if !known && share.Of > 0 {
		at, _ := slices.BinarySearchFunc(t.Gaps, gap, func(a, b Gap) int { return cmp.Compare(a.Fact.order(), b.Fact.order()) })
		t.Gaps = slices.Insert(t.Gaps, at, gap)
	}
	if share.Seen == share.Of {
		share.Remedy = ""
	}
	if at := slices.IndexFunc(t.Facts, func(s Share) bool { return s.Fact == FactCost }); at >= 0 {
		t.Facts[at] = share
	}
}

// order is a fact's place in lists; what no span could tell comes last.
func (f Fact) order() uint { return uint(slices.Index(allFacts, f)) }
