package lineage

import (
	"cmp"
	"slices"
	"time"
)

// Began is what the traces before a failure's first sighting were produced by, against what the first sighting was. It is fixed then: later traces do not
// change it.
type Began struct {
	When   time.Time  `json:"when"` // of the first sighting
	Agent  string     `json:"agent"`
	Route  string     `json:"route,omitempty"`
	Traces int        `json:"traces"` // of the agent, before it
	First  time.Time  `json:"first"`  // when the first of them was seen; zero when there was none
	Facets []Standing `json:"facets"`
	Late   bool       `json:"late,omitempty"` // it was told of when it, and others after it, had been counted: what stood before it is not known
}

// Standing is how well a value of the first sighting was known before.
type Standing struct {
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name,omitempty"`   // of a tool
	Value  string    `json:"value"`            // "" for a tool that is not offered any more
	Before string    `json:"before,omitempty"` // what stood last in its place; "" when nothing did
	Traces int       `json:"traces"`           // before, that had the value
	Others int       `json:"others"`           // before, that had another, or, of a tool, none
	First  time.Time `json:"first,omitzero"`   // when the value was first seen
	// Restless says that the value differs nearly from trace to trace.
	Restless bool `json:"restless,omitempty"`
}

// What is enough to say something. A value that more traces had before than settled was there already; one with fewer is new if enough had another.
const (
	enough  = 20
	settled = 50
)

// maxBegan bounds the tools that a beginning names.
const maxBegan = 12

// Before tells how the first sighting of a failure stands against the history before it. agent is the failing agent as fingerprints name it. Where its own
// context is as it was and another agent's of the same run is not, that one is told of. It is nil when the run tells of no agent's model call.
func (h *History) Before(c Context, agent string, at time.Time) *Began {
	failing := c.Of(agent)
	if failing == nil {
		return nil
	}
	b := h.before(c.Version, failing, at)
	for i := range c.Agents {
		if b.changed() {
			break
		}
		if other := h.before(c.Version, &c.Agents[i], at); other.changed() {
			b = other
		}
	}
	return &b
}

func (h *History) before(version string, c *AgentContext, at time.Time) Began {
	a := h.find(c)
	b := Began{When: at, Agent: c.Agent, Route: c.Route, Facets: []Standing{}}
	if a != nil {
		b.Traces, b.First = a.Traces, a.First
	}
	if version != "" {
		b.stand(a, KindVersion, version)
	}
	b.stand(a, KindModel, c.Models...)
	b.stand(a, KindPrompt, c.Prompts...)
	if c.Tools != nil {
		b.tools(a, c.Tools)
	}
	return b
}

func (b *Began) stand(a *AgentHistory, kind Kind, values ...string) {
	f := a.facet(kind, "")
	for _, v := range values {
		s := Standing{Kind: kind, Value: v, Restless: f.restless()}
		if f != nil {
			had := f.value(v)
			s.Traces, s.Others, s.First, s.Before = had.Traces, f.Known-had.Traces, had.First, f.before(v).Value
		}
		b.Facets = append(b.Facets, s)
	}
}

// tools notes the tools that are new, defined otherwise, or gone, and of all others together for how many traces they have been what they are.
func (b *Began) tools(a *AgentHistory, tools []ToolMark) {
	set := a.facet(KindToolset, "")
	rest := Standing{Kind: KindToolset, Value: "told"}
	if set != nil {
		rest.Traces, rest.First = set.Known, set.Seen[0].First
	}
	var changes []Standing
	for _, m := range tools {
		s := a.standing(m, set)
		switch {
		case s.changed():
			changes = append(changes, s)
		case s.Others >= enough:
			rest.Traces = min(rest.Traces, s.Traces)
		}
	}
	changes = append(changes, a.gone(tools, set)...)
	b.Facets = append(b.Facets, rest)
	b.Facets = append(b.Facets, changes[:min(len(changes), maxBegan)]...)
}

// standing of one offered tool: against its other definitions, or, when it had none, against the traces without it.
func (a *AgentHistory) standing(m ToolMark, set *Facet) Standing {
	s := Standing{Kind: KindTool, Name: m.Name, Value: m.value()}
	f := a.facet(KindTool, m.Name)
	if f == nil {
		if set != nil && a.toolCount() < maxTools { // else it may only have given way
			s.Others = set.Known
		}
		return s
	}
	had := f.value(s.Value)
	s.Traces, s.First, s.Others, s.Before = had.Traces, had.First, f.Known-had.Traces, f.before(s.Value).Value
	if s.Before == "" {
		since := a.Traces - had.From + 1
		s.Others = set.Known - had.Traces
		if 2*had.Traces < since { // offered now and then
			s.Others = 0
		}
	}
	return s
}

func (a *AgentHistory) toolCount() (n int) {
	for i := range a.Facets {
		n += bit(a.Facets[i].Kind == KindTool)
	}
	return n
}

// gone are the tools that nearly every trace offered until lately, and that are not offered any more.
func (a *AgentHistory) gone(tools []ToolMark, set *Facet) (out []Standing) {
	if a == nil {
		return nil
	}
	for i := range a.Facets {
		f := &a.Facets[i]
		if f.Kind != KindTool || slices.ContainsFunc(tools, func(m ToolMark) bool { return m.Name == f.Name }) {
			continue
		}
		last := f.last()
		if since := last - f.first() + 1; f.Known >= enough && 10*f.Known >= 9*since && a.Traces-last < settled {
			out = append(out, Standing{Kind: KindTool, Name: f.Name, Before: f.latest(), Others: f.Known, Traces: a.Traces - last})
		}
	}
	return out
}

func (f *Facet) latest() string {
	at := slices.MaxFunc(f.Seen, func(x, y Seen) int { return cmp.Compare(x.To, y.To) })
	return at.Value
}

func (f *Facet) first() int {
	from := f.Seen[0].From
	for _, s := range f.Seen {
		from = min(from, s.From)
	}
	return from
}

// changed says that the value is new, and that enough traces before had another.
func (s Standing) changed() bool {
	return !s.Restless && s.Kind != KindToolset && s.Others >= enough && s.Traces < settled
}

// same says that the value was there before, in enough traces.
func (s Standing) same() bool {
	return !s.Restless && (s.Traces >= settled || s.Traces >= enough && s.Others < enough)
}

func (b *Began) changed() bool { return slices.ContainsFunc(b.Facets, Standing.changed) }
