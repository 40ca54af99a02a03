package trajectory

import (
	"cmp"
	"slices"
	"time"
)

// Join makes one trajectory of the traces of one conversation. The order of the parts does not matter, a trace that is given twice counts
// once, the join of one part is that part, and no part is changed.
//
// Later traces repeat what earlier ones hold: what a part's inputs tell again is dropped (user messages, New messages, Recalled tool calls),
// and a call that one part asks for and another executes or answers is one call. What was merely said again stays: an input that shows no
// history repeats nothing, and the last word of the user in an input is new, unless it is put to two models at once or again after an error.
//
// Turns tells which traces go on with each other: those of one number work for one turn of the conversation, as their inputs prove; a trace
// of which nothing is known has a turn of its own, and so have those that run beside each other.
//
// Texts and values are asked for equality alone, and whether they are empty; of a message the text as a whole. Parts that hold digests in
// their place are joined just so.
func Join(parts []*Trajectory) *Trajectory {
	parts = inOrder(parts)
	if len(parts) == 1 {
		return parts[0]
	}
	j := newJoiner(parts)
	if len(parts) == 0 {
		return j.out
	}
	j.modelCalls()
	j.toolCalls()
	j.facts()
	j.steps()
	j.gaps()
	return j.out
}

// TraceOf is the trace that holds a span: of a single trace that trace; of a session "" when none of the steps is there. Where two traces
// have a span of that id it is the later one: what knows its trace says so itself.
func (t *Trajectory) TraceOf(spanID string) string {
	if t.Traces == nil {
		return t.TraceID
	}
	found := ""
	note := func(span, trace string) {
		if span == spanID && trace != "" {
			found = trace
		}
	}
	for i := range t.Steps {
		note(t.Steps[i].SpanID, t.Steps[i].TraceID)
	}
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		note(c.SpanID, c.TraceID)
	}
	for i := range t.ModelCalls {
		note(t.ModelCalls[i].SpanID, t.ModelCalls[i].TraceID)
	}
	return found
}

// TurnOf is the number of the turn that a trace of a session works for, -1 when it is none of them.
func (t *Trajectory) TurnOf(traceID string) int {
	if i := slices.Index(t.Traces, traceID); i >= 0 && i < len(t.Turns) {
		return t.Turns[i]
	}
	return -1
}

// inOrder sorts parts by start, then id, each trace once: the fuller one where two differ.
func inOrder(parts []*Trajectory) []*Trajectory {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Trajectory) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.TraceID, b.TraceID), cmp.Compare(b.Spans, a.Spans))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(parts, func(t *Trajectory) bool {
		twice := seen[t.TraceID]
		seen[t.TraceID] = true
		return twice
	})
}

// joiner holds a session while it is put together. Its methods run once each, in the order of Join.
type joiner struct {
	parts  []*Trajectory
	out    *Trajectory
	models [][]int // of every part: where its model calls are now
	tools  [][]int // of every part: where its tool calls are now
}

func newJoiner(parts []*Trajectory) *joiner {
	j := &joiner{parts: parts, out: &Trajectory{}, models: make([][]int, len(parts)), tools: make([][]int, len(parts))}
	for _, p := range parts {
		j.out.Traces = append(j.out.Traces, p.TraceID)
		j.out.Turns = append(j.out.Turns, len(j.out.Turns))
	}
	return j
}

// spot says where one thing of a part is.
type spot struct {
	part, index int
	at          time.Time
}

// ordered lists n things of every part in order of time.
func (j *joiner) ordered(n func(*Trajectory) int, at func(*Trajectory, int) time.Time) []spot {
	var out []spot
	for k, p := range j.parts {
		for i := range n(p) {
			out = append(out, spot{k, i, at(p, i)})
		}
	}
	slices.SortStableFunc(out, func(a, b spot) int { return a.at.Compare(b.at) })
	return out
}

func (j *joiner) modelCalls() {
	for _, at := range j.ordered(func(p *Trajectory) int { return len(p.ModelCalls) }, func(p *Trajectory, i int) time.Time { return p.ModelCalls[i].Start }) {
		p := j.parts[at.part]
		if j.models[at.part] == nil {
			j.models[at.part] = make([]int, len(p.ModelCalls))
		}
		j.models[at.part][at.index] = len(j.out.ModelCalls)
		m := p.ModelCalls[at.index]
		m.TraceID, m.ToolCalls = cmp.Or(m.TraceID, p.TraceID), nil
		j.out.ModelCalls = append(j.out.ModelCalls, m)
	}
}

func (j *joiner) toolCalls() {
	for _, at := range j.ordered(func(p *Trajectory) int { return len(p.ToolCalls) }, func(p *Trajectory, i int) time.Time { return p.ToolCalls[i].Start }) {
		p := j.parts[at.part]
		if j.tools[at.part] == nil {
			j.tools[at.part] = make([]int, len(p.ToolCalls))
		}
		i := len(j.out.ToolCalls)
		j.tools[at.part][at.index] = i
		c := p.ToolCalls[at.index]
		c.TraceID = cmp.Or(c.TraceID, p.TraceID)
		if c.Model >= 0 {
			c.Model = j.models[at.part][c.Model]
			j.out.ModelCalls[c.Model].ToolCalls = append(j.out.ModelCalls[c.Model].ToolCalls, i)
		}
		j.out.ToolCalls = append(j.out.ToolCalls, c)
	}
}

// facts fills what is said of a trace as a whole.
func (j *joiner) facts() {
	o, last := j.out, j.parts[len(j.parts)-1]
	o.TraceID, o.Route = j.parts[0].TraceID, j.parts[0].Route
	o.Reply, o.RootError = last.Reply, last.RootError
	o.Complete.HasRoot = true
	offered := map[string]bool{}
	for _, p := range j.parts {
		o.SessionID, o.UserID, o.Service = cmp.Or(o.SessionID, p.SessionID), cmp.Or(o.UserID, p.UserID), cmp.Or(o.Service, p.Service)
		o.Version, o.SystemPrompt = cmp.Or(p.Version, o.Version), cmp.Or(o.SystemPrompt, p.SystemPrompt)
		o.Dialects, o.Agents = union(o.Dialects, p.Dialects), union(o.Agents, p.Agents)
		for _, d := range p.ToolsOffered {
			if !offered[d.Name] {
				offered[d.Name] = true
				o.ToolsOffered = append(o.ToolsOffered, d)
			}
		}
		for _, h := range p.Handoffs {
			h.TraceID = cmp.Or(h.TraceID, p.TraceID)
			o.Handoffs = append(o.Handoffs, h)
		}
		o.AgentTotals, o.Feedback = append(o.AgentTotals, p.AgentTotals...), append(o.Feedback, p.Feedback...)
		o.UserMessages = append(o.UserMessages, p.UserMessages...)
		if o.Start.IsZero() || !p.Start.IsZero() && p.Start.Before(o.Start) {
			o.Start = p.Start
		}
		o.End, o.Spans, o.agentic = laterOf(o.End, p.End), o.Spans+p.Spans, o.agentic || p.agentic
		o.Complete = o.Complete.and(p.Complete)
	}
	slices.Sort(o.Dialects)
}

func (c Completeness) and(d Completeness) Completeness {
	return Completeness{
		HasRoot: c.HasRoot && d.HasRoot, Truncated: c.Truncated || d.Truncated, Dropped: c.Dropped + d.Dropped,
		Unfinished: c.Unfinished + d.Unfinished, SyntheticTime: c.SyntheticTime || d.SyntheticTime,
	}
}

func union(all, more []string) []string {
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func (j *joiner) steps() {
	handoffs := 0
	for k, p := range j.parts {
		for _, s := range p.Steps {
			s.TraceID = cmp.Or(s.TraceID, p.TraceID)
			switch {
			case s.Index < 0:
			case s.Kind == StepModel:
				s.Index = j.models[k][s.Index]
			case s.Kind == StepTool:
				s.Index = j.tools[k][s.Index]
			case s.Kind == StepHandoff:
				s.Index += handoffs
			}
			j.out.Steps = append(j.out.Steps, s)
		}
		handoffs += len(p.Handoffs)
	}
	slices.SortStableFunc(j.out.Steps, func(a, b Step) int { return a.Start.Compare(b.Start) })
}

// gaps are the facts that some part lacks.
func (j *joiner) gaps() {
	for _, p := range j.parts {
		for _, g := range p.Gaps {
			if _, has := j.out.Lacks(g.Fact); !has {
				j.out.Gaps = append(j.out.Gaps, g)
			}
		}
	}
}
