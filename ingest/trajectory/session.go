package trajectory

import (
	"cmp"
	"slices"
)

// Join makes one trajectory of the traces of one conversation. The order of the parts does not matter, a trace that is given twice counts
// once, the join of one part is that part, and no part is changed.
//
// Later traces repeat what earlier ones hold: what a part's inputs tell again is dropped (user messages, New messages, Recalled tool calls),
// and a call that one part asks for and another executes or answers is one call. What was merely said again stays: an input that shows no
// history repeats nothing, and the last word of the user in an input is new, unless it is put to two models at once or again after an error.
//
// Turns tells which traces go on with each other: those of one number work for one turn of the conversation, as their inputs prove. A trace
// of which that is not known has a turn of its own, and so has each of those that run beside each other or branch off from one.
//
// Texts and values are asked for equality alone, of a message the text as a whole; of tool results besides whether they tell of an error.
// Parts that hold digests in their place are joined just so, where Part.Failed says what the digest cannot.
func Join(parts []*Trajectory) *Trajectory {
	parts = partsInOrder(parts)
	if len(parts) == 1 {
		return parts[0]
	}
	j := newJoiner(parts)
	j.modelCalls()
	for k := range parts {
		j.read(k)
	}
	j.executions()
	j.toolCalls()
	j.facts()
	j.steps()
	j.gaps()
	return j.out
}

// TraceOf is the trace that holds a span: of a single trace that trace; of a session "" when nothing of what it holds is of that span. Where
// two traces have a span of that id it is the later one: what knows its trace says so itself.
func (t *Trajectory) TraceOf(spanID string) string {
	if t.Traces == nil {
		return t.TraceID
	}
	for _, s := range slices.Backward(t.Steps) {
		if s.SpanID == spanID && s.TraceID != "" {
			return s.TraceID
		}
	}
	return ""
}

// Settle gives a part of a session as the session knows it: a call that nothing in the part answers and another trace does is not missing its answer,
// and a run that another trace goes on with has not ended (GoesOn). It is the part itself where there is nothing to say.
func (t *Trajectory) Settle(part *Trajectory) *Trajectory {
	now := t.of[part.TraceID]
	out := part
	if now.goesOn {
		out = new(*part)
		out.GoesOn = true
	}
	var calls []ToolCall
	for i := range part.ToolCalls {
		if i >= len(now.tools) || part.ToolCalls[i].Outcome != OutcomeMissing || t.ToolCalls[now.tools[i]].Outcome == OutcomeMissing {
			continue
		}
		if calls == nil {
			calls = slices.Clone(part.ToolCalls)
		}
		c, o := &calls[i], &t.ToolCalls[now.tools[i]]
		c.Result, c.HasResult, c.ResultSpanID, c.answered = o.Result, true, o.ResultSpanID, true
		c.Outcome = OutcomeUnknown // to this trace: it ended while the call was open
	}
	if calls == nil {
		return out
	}
	if out == part {
		out = new(*part)
	}
	out.ToolCalls = calls
	return out
}

// fate is what a part of a session has become in it.
type fate struct {
	tools  []int // where its tool calls are in ToolCalls
	goesOn bool  // another part goes on where it stopped
}

// Sessions puts together the traces of one conversation each: those of one service that name the same session, and those that name none and
// follow from one trace of the service alone, as a span link says. All others stand alone. The sessions are in order of their first trace,
// as given, and so are the traces of each.
//
// An id that traces of two users share is no conversation's (a constant, a project, a window), and is not gone by: joined, one user's words
// would come to stand in another's case.
func Sessions(parts []*Trajectory) [][]*Trajectory {
	type key struct{ service, session string }
	users, byTrace := map[key]string{}, map[string]*Trajectory{}
	keyOf := func(t *Trajectory) key { return key{t.Service, t.SessionID} }
	shared := map[key]bool{}
	for _, t := range parts {
		byTrace[t.TraceID] = t
		if k := keyOf(t); t.UserID != "" {
			shared[k] = shared[k] || users[k] != "" && users[k] != t.UserID
			users[k] = t.UserID
		}
	}
	// lead is the trace by which a session goes: the first that is known by its id, or the one that the links lead back to.
	first := map[key]*Trajectory{}
	lead := func(t *Trajectory) *Trajectory {
		for range len(parts) { // bounded, for links may lead round
			from := byTrace[t.follows]
			if t.SessionID != "" || from == nil || from.Service != t.Service || from == t {
				break
			}
			t = from
		}
		k := keyOf(t)
		if t.SessionID == "" || shared[k] {
			return t
		}
		return cmp.Or(first[k], t)
	}
	var out [][]*Trajectory
	at := map[*Trajectory]int{}
	for _, t := range parts {
		l := lead(t)
		if k := keyOf(l); l.SessionID != "" && first[k] == nil {
			first[k] = l
		}
		i, ok := at[l]
		if !ok {
			i = len(out)
			at[l], out = i, append(out, nil)
		}
		out[i] = append(out[i], t)
	}
	return out
}

// partsInOrder sorts parts by start, then id, each trace once: the fuller one where two differ.
func partsInOrder(parts []*Trajectory) []*Trajectory {
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b *Trajectory) int {
		return cmp.Or(cmp.Compare(a.TraceID, b.TraceID), cmp.Compare(b.Spans, a.Spans), cmp.Compare(len(b.Steps), len(a.Steps)))
	})
	parts = slices.CompactFunc(parts, func(a, b *Trajectory) bool { return a.TraceID == b.TraceID })
	slices.SortStableFunc(parts, func(a, b *Trajectory) int { return a.Start.Compare(b.Start) })
	return parts
}

// joiner holds a session while it is put together. Its methods run once each, in the order of Join; read once for every part.
type joiner struct {
	parts     []*Trajectory
	out       *Trajectory
	models    [][]int    // of every part: where its model calls are now
	past      past       // what the parts before said
	asked     [][]Step   // of every part: what the user said in it that no part before has
	ends      [][]string // of every part: the keys of the calls that its last model call asked for
	continued []bool     // of every part: a later one goes on where it stopped
	turns     int        // how many there are so far

	calls  [][]*joined // of every part: what its tool calls are now
	all    []*joined   // the tool calls of the parts read so far
	byID   map[string][]*joined
	byCall map[string][]*joined // by name and arguments
}

func newJoiner(parts []*Trajectory) *joiner {
	n := len(parts)
	j := &joiner{
		parts: parts, out: &Trajectory{}, past: past{count: map[string]int{}, by: map[string]int{}},
		models: make([][]int, n), asked: make([][]Step, n), ends: make([][]string, n), continued: make([]bool, n),
		calls: make([][]*joined, n), byID: map[string][]*joined{}, byCall: map[string][]*joined{},
	}
	for _, p := range parts {
		j.out.Traces = append(j.out.Traces, p.TraceID)
	}
	return j
}

// modelCalls lists the calls of all parts in order of time. One that two traces describe, as its response and its time tell, counts once.
func (j *joiner) modelCalls() {
	type spot struct {
		part, index int
		call        *ModelCall
	}
	var all []spot
	for k, p := range j.parts {
		j.models[k] = make([]int, len(p.ModelCalls))
		for i := range p.ModelCalls {
			all = append(all, spot{k, i, &p.ModelCalls[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b spot) int { return a.call.Start.Compare(b.call.Start) })
	byResponse := map[string]spot{}
	for _, s := range all {
		if first, ok := byResponse[s.call.ResponseID]; ok && s.part != first.part && s.call.meets(first.call) {
			j.models[s.part][s.index] = j.models[first.part][first.index]
			continue
		}
		j.models[s.part][s.index] = len(j.out.ModelCalls)
		if s.call.ResponseID != "" {
			byResponse[s.call.ResponseID] = s
		}
		m := *s.call
		m.TraceID, m.ToolCalls = cmp.Or(m.TraceID, j.parts[s.part].TraceID), nil
		j.out.ModelCalls = append(j.out.ModelCalls, m)
	}
}

// meets says whether two calls overlap in time: some test servers give all their responses one id.
func (m *ModelCall) meets(o *ModelCall) bool {
	return !m.End.IsZero() && !o.End.IsZero() && !m.Start.After(o.End) && !o.Start.After(m.End)
}

// facts fills what is said of a trace as a whole.
func (j *joiner) facts() {
	o := j.out
	if len(j.parts) == 0 {
		return
	}
	first, last := j.parts[0], j.parts[len(j.parts)-1]
	o.TraceID, o.Route, o.Reply, o.RootError = first.TraceID, first.Route, last.Reply, last.RootError
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
		if o.Start.IsZero() {
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
