package price

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Fill computes the cost of every model call, and of every agent's total, whose span reports none, and settles the gap of the fact cost: it
// goes when all is known, else it says which models have no price and how to give them one. Filling twice changes nothing. A nil Table
// leaves the trajectory as it is.
func (t *Table) Fill(tr *trajectory.Trajectory) {
	if t == nil {
		return
	}
	var l lacks
	for i := range tr.ModelCalls {
		m := &tr.ModelCalls[i]
		if m.Usage.CostUSD != nil || !m.Costs() {
			continue
		}
		c := Call{Provider: m.Provider, Models: []string{m.ModelResponded, m.ModelRequested}, At: clock(tr, m.Start), Sum: m.Sum, Usage: m.Usage}
		t.fill(c, &m.Usage, &l)
	}
	for i := range tr.AgentTotals {
		a := &tr.AgentTotals[i]
		if a.Usage.CostUSD == nil {
			c := Call{Models: []string{a.Model}, At: clock(tr, tr.Start), Sum: true, Usage: a.Usage}
			t.fill(c, &a.Usage, &l)
		}
	}
	tr.TellCost(l.remedy(tr))
}

// clock is when a call was made; made-up times tell nothing, and the prices of the list's own date hold.
func clock(tr *trajectory.Trajectory, start time.Time) time.Time {
	if tr.Complete.SyntheticTime {
		return time.Time{}
	}
	return start
}

// fill sets the cost in a usage, or notes why there is none.
func (t *Table) fill(c Call, u *trajectory.Usage, l *lacks) {
	usd, from, why := t.Of(c)
	if from == "" {
		l.note(c, why)
		return
	}
	u.CostUSD, u.CostFrom = &usd, from
}

// lacks is what stands in the way of knowing all costs.
type lacks struct {
	models      []string // without a price, each with the reason where there is one
	usage, name bool     // some call tells no tokens, or no model
}

const maxUnpriced = 5

// note takes a call that has no cost.
func (l *lacks) note(c Call, why string) {
	i := slices.IndexFunc(c.Models, func(m string) bool { return m != "" })
	switch {
	case c.Usage.Input == nil || c.Usage.Output == nil:
		l.usage = true
		return
	case i < 0:
		l.name = true
		return
	}
	name := fmt.Sprintf("%.80q", c.Models[i])
	if c.Provider != "" {
		name += fmt.Sprintf(" of %.40s", c.Provider)
	}
	if why != "" {
		name += " (" + why + ")"
	}
	if !slices.Contains(l.models, name) {
		l.models = append(l.models, name)
	}
}

// remedy says what would make the costs known: the key that prices the models, or else the counts or names that spans leave out. It is ""
// when nothing is lacking.
func (l *lacks) remedy(tr *trajectory.Trajectory) string {
	switch {
	case len(l.models) > 0:
		named := l.models
		if len(named) > maxUnpriced {
			named = append(slices.Clone(named[:maxUnpriced]), fmt.Sprintf("%d more", len(l.models)-maxUnpriced))
		}
		return "pawl knows no price of " + strings.Join(named, ", ") +
			": give it in pawl.yaml, in USD per million tokens: prices: [{model: NAME, input: N, output: N}]"
	case l.usage:
		return "a cost follows from the tokens: " + cmp.Or(tr.Remedy(trajectory.FactUsage), "record token usage on each model call")
	case l.name:
		return "a cost follows from the model: " + cmp.Or(tr.Remedy(trajectory.FactModelName), "record the model's name on each model call")
	}
	return ""
}
