package lineage

import (
	"cmp"
	"slices"
	"time"
)

// Row sets the sightings of a failure with one value against all runs with it.
type Row struct {
	Kind      Kind      `json:"kind"`
	Value     string    `json:"value"` // "" for values that there was no room for
	Sightings int       `json:"sightings"`
	Traces    int       `json:"traces"` // of the agent, failing or not, that pawl has in mind; 0 when it has none
	Failing   int       `json:"failing"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
}

// Table lists versions, models and prompts, those that were sighted and those that the agent's other runs had, the latest first. h may be nil.
func (b *Began) Table(spread Spread, h *History) []Row {
	out := []Row{}
	for _, s := range spread {
		out = append(out, Row{Kind: s.Kind, Value: s.Value, Sightings: s.Count})
	}
	var a *AgentHistory
	if b != nil && h != nil {
		a = h.find(&AgentContext{Agent: b.Agent, Route: b.Route})
	}
	order := []Kind{KindVersion, KindModel, KindPrompt}
	for _, k := range order {
		f := a.facet(k, "")
		if f == nil || f.restless() {
			continue
		}
		for _, s := range f.Seen {
			i := slices.IndexFunc(out, func(r Row) bool { return r.Kind == k && r.Value == s.Value })
			if i < 0 {
				i, out = len(out), append(out, Row{Kind: k, Value: s.Value})
			}
			r := &out[i]
			r.Traces, r.Failing, r.First, r.Last = s.Traces, s.Failing, s.First, s.Last
		}
	}
	slices.SortStableFunc(out, func(x, y Row) int {
		return cmp.Or(cmp.Compare(slices.Index(order, x.Kind), slices.Index(order, y.Kind)), y.Last.Compare(x.Last), cmp.Compare(y.Sightings, x.Sightings))
	})
	return out
}
