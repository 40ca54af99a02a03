package lineage

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// History is what the runs of one service were produced by, by agent: for each version, prompt, model and definition of a tool when it first and last was
// seen, in how many traces and in how many failing ones. It is bounded: what was not seen for longest gives way.
type History struct {
	Agents []AgentHistory `json:"agents"` // by name
}

// AgentHistory is the history of one agent. Traces are numbered from 1 as they are taken.
type AgentHistory struct {
	Agent  string    `json:"agent"`
	Route  string    `json:"route,omitempty"`
	Traces int       `json:"traces"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Facets []Facet   `json:"facets"` // by kind, then name
}

// Kind is what a facet of a context is.
type Kind string

// The kinds of facet. KindToolset is whether the trace tells the tools at all.
const (
	KindVersion Kind = "version"
	KindModel   Kind = "model"
	KindPrompt  Kind = "prompt"
	KindTool    Kind = "tool"
	KindToolset Kind = "toolset"
)

// Facet is one side of an agent's contexts with the values that it had: versions, models, prompts, or the definitions of one tool.
type Facet struct {
	Kind  Kind   `json:"kind"`
	Name  string `json:"name,omitempty"` // of a tool
	Known int    `json:"known"`          // traces that tell it
	Lost  int    `json:"lost,omitempty"` // values that gave way
	Seen  []Seen `json:"seen"`
}

// Seen is one value of a facet.
type Seen struct {
	Value   string    `json:"value"`
	Traces  int       `json:"traces"`
	Failing int       `json:"failing,omitempty"`
	From    int       `json:"from"` // number of the first trace that had it
	To      int       `json:"to"`   // and of the last
	Runs    int       `json:"runs"` // how often it came (back) after a trace without it
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// The bounds of a history.
const (
	maxAgents  = 8
	maxValues  = 8 // of a facet
	maxDefs    = 3 // of a tool
	maxTools   = 40
	maxHistory = 160 // values in all: some 20 KB as JSON
)

// Take adds a run.
func (h *History) Take(c Context, failing bool, at time.Time) {
	for i := range c.Agents {
		a := h.agent(&c.Agents[i])
		if a.Traces == 0 {
			a.First = at
		}
		a.Traces++
		a.Last = at
		a.take(c.Version, &c.Agents[i], failing, at)
	}
	h.bound()
}

// find is the history of an agent, nil when it was never seen.
func (h *History) find(c *AgentContext) *AgentHistory {
	i, has := h.search(c)
	if !has {
		return nil
	}
	return &h.Agents[i]
}

func (h *History) search(c *AgentContext) (int, bool) {
	return slices.BinarySearchFunc(h.Agents, c, func(a AgentHistory, c *AgentContext) int {
		return cmp.Or(cmp.Compare(a.Agent, c.Agent), cmp.Compare(a.Route, c.Route))
	})
}

func (h *History) agent(c *AgentContext) *AgentHistory {
	i, has := h.search(c)
	if !has {
		h.Agents = slices.Insert(h.Agents, i, AgentHistory{Agent: c.Agent, Route: c.Route})
	}
	return &h.Agents[i]
}

// bound lets agents go until the history is small enough, those first that were not seen for longest; the last one stays.
func (h *History) bound() {
	size := 0
	for i := range h.Agents {
		size += h.Agents[i].size()
	}
	for len(h.Agents) > maxAgents || size > maxHistory && len(h.Agents) > 1 {
		oldest := 0
		for i := range h.Agents {
			if h.Agents[i].Last.Before(h.Agents[oldest].Last) {
				oldest = i
			}
		}
		size -= h.Agents[oldest].size()
		h.Agents = slices.Delete(h.Agents, oldest, oldest+1)
	}
}

func (a *AgentHistory) size() (n int) {
	for i := range a.Facets {
		n += len(a.Facets[i].Seen)
	}
	return n
}

func (a *AgentHistory) take(version string, c *AgentContext, failing bool, at time.Time) {
	one := Seen{Failing: bit(failing), From: a.Traces, To: a.Traces, Traces: 1, Runs: 1, First: at, Last: at}
	if version != "" {
		a.see(KindVersion, "", one, version)
	}
	a.see(KindModel, "", one, c.Models...)
	a.see(KindPrompt, "", one, c.Prompts...)
	if c.Tools == nil {
		return
	}
	a.see(KindToolset, "", one, "told")
	for _, m := range c.Tools {
		a.see(KindTool, m.Name, one, m.value())
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// facet is one side of the history, nil when no trace told it.
func (a *AgentHistory) facet(kind Kind, name string) *Facet {
	if a == nil {
		return nil
	}
	if i, has := a.searchFacet(kind, name); has {
		return &a.Facets[i]
	}
	return nil
}

func (a *AgentHistory) searchFacet(kind Kind, name string) (int, bool) {
	return slices.BinarySearchFunc(a.Facets, name, func(f Facet, name string) int {
		return cmp.Or(cmp.Compare(f.Kind, kind), cmp.Compare(f.Name, name))
	})
}

// see notes that a trace had values of a facet.
func (a *AgentHistory) see(kind Kind, name string, one Seen, values ...string) {
	if len(values) == 0 {
		return
	}
	i, has := a.searchFacet(kind, name)
	if !has {
		if kind == KindTool && !a.roomForTool() {
			return
		}
		i, _ = a.searchFacet(kind, name)
		a.Facets = slices.Insert(a.Facets, i, Facet{Kind: kind, Name: name})
	}
	f := &a.Facets[i]
	f.Known++
	for _, v := range values {
		one.Value = v
		f.see(one)
	}
}

// roomForTool lets the tool go that was not offered for longest, when there are many and it was not offered lately.
func (a *AgentHistory) roomForTool() bool {
	tools, oldest := 0, -1
	for i := range a.Facets {
		if a.Facets[i].Kind != KindTool {
			continue
		}
		if tools++; oldest < 0 || a.Facets[i].last() < a.Facets[oldest].last() {
			oldest = i
		}
	}
	if tools < maxTools {
		return true
	}
	if a.Facets[oldest].last() > a.Traces-settled {
		return false
	}
	a.Facets = slices.Delete(a.Facets, oldest, oldest+1)
	return true
}

func (f *Facet) last() (to int) {
	for _, s := range f.Seen {
		to = max(to, s.To)
	}
	return to
}

func (f *Facet) see(one Seen) {
	i := slices.IndexFunc(f.Seen, func(s Seen) bool { return s.Value == one.Value })
	if i >= 0 {
		s := &f.Seen[i]
		if s.To < one.To-1 {
			s.Runs++
		}
		s.Traces++
		s.Failing += one.Failing
		s.To, s.Last = one.To, one.Last
		return
	}
	most := maxValues
	if f.Kind == KindTool {
		most = maxDefs
	}
	if len(f.Seen) >= most {
		oldest := 0
		for i := range f.Seen {
			if f.Seen[i].To < f.Seen[oldest].To {
				oldest = i
			}
		}
		f.Seen = slices.Delete(f.Seen, oldest, oldest+1)
		f.Lost++
	}
	f.Seen = append(f.Seen, one)
}

// value of the facet; a zero Seen when it has none such. What tells no more than a tool's name is any of its definitions.
func (f *Facet) value(v string) (out Seen) {
	if f == nil {
		return out
	}
	for _, s := range f.Seen {
		switch {
		case !f.like(s.Value, v):
		case out.Traces == 0:
			out = s
		default:
			out.Traces += s.Traces
			out.Failing += s.Failing
			out.From, out.To = min(out.From, s.From), max(out.To, s.To)
			if s.First.Before(out.First) {
				out.First = s.First
			}
		}
	}
	return out
}

// like says whether two values may be one: they are, or one of two definitions of a tool lacks what the other has.
func (f *Facet) like(a, b string) bool {
	if f.Kind != KindTool || a == b {
		return a == b
	}
	x, y := markOf(a), markOf(b)
	return (x.Schema == "" || y.Schema == "" || x.Schema == y.Schema) && (x.Words == "" || y.Words == "" || x.Words == y.Words)
}

// before is the value that stood last beside v; a zero Seen when there is none.
func (f *Facet) before(v string) (out Seen) {
	if f == nil {
		return out
	}
	for _, s := range f.Seen {
		if !f.like(s.Value, v) && s.To > out.To {
			out = s
		}
	}
	return out
}

// restless says that the values differ nearly from trace to trace, so that a new one says nothing.
func (f *Facet) restless() bool {
	return f != nil && f.Lost >= maxValues && f.Known < 4*(f.Lost+len(f.Seen))
}

// atWork says whether the value came lately, as often as it comes, and came back at least twice.
func (s Seen) atWork(now int) bool {
	const back = 3
	return s.Runs >= back && now-s.To <= max(settled, 3*(s.To-s.From+1)/s.Runs)
}

// value is what a mark is kept as.
func (m ToolMark) value() string {
	return fmt.Sprintf("%s/%s/%d/%d", orDash(m.Schema), orDash(m.Words), m.Fields, m.Required)
}

func orDash(s string) string { return cmp.Or(s, "-") }
