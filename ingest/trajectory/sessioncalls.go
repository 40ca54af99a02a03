package trajectory

import (
	"cmp"
	"slices"
	"time"
)

// joined is a tool call of a session while it is put together.
type joined struct {
	ToolCall
	part int     // that it comes from
	took int     // the last part that told of it again, counted from 1
	gone *joined // the call that it turned out to be
	at   int     // its place in the end
}

func (c *joined) stands() *joined {
	for c.gone != nil {
		c = c.gone
	}
	return c
}

// takeCalls makes the part's tool calls the session's. What an earlier part did, and this one only recalls, is that part's call.
func (j *joiner) takeCalls(p *piece) {
	j.answers(p)
	j.calls[p.at] = make([]*joined, len(p.ToolCalls))
	var added []*joined
	for i := range p.ToolCalls {
		c := &joined{ToolCall: p.ToolCalls[i], part: p.at}
		c.TraceID = cmp.Or(c.TraceID, p.TraceID)
		told := c.Recalled
		if c.Model >= 0 {
			told = told || !j.counts(p, c.Model)
			c.Model = j.models[p.at][c.Model]
		}
		if told {
			if o := j.earlier(c); o != nil {
				o.took = p.at + 1
				o.recall(&c.ToolCall)
				p.met[callKey(o.ID, o.Name, o.Arguments)] = true
				j.calls[p.at][i] = o
				continue
			}
		}
		j.calls[p.at][i] = c
		added = append(added, c)
		if o := j.foretold(c); o != nil {
			o.gone = c
			c.recall(&o.ToolCall)
		}
	}
	for _, c := range added {
		j.all = append(j.all, c)
		if c.ID != "" {
			j.byID[c.ID] = append(j.byID[c.ID], c)
		}
		key := callKey("", c.Name, c.Arguments)
		j.byCall[key] = append(j.byCall[key], c)
	}
}

// counts says whether a model call of the part is the session's, and not another trace's description of one.
func (j *joiner) counts(p *piece, i int) bool {
	m, out := &p.ModelCalls[i], &j.out.ModelCalls[j.models[p.at][i]]
	return out.SpanID == m.SpanID && out.TraceID == cmp.Or(m.TraceID, p.TraceID)
}

// earlier is the call of an earlier part that this one tells of again: by id, else, where one of the two has none, the first of that name and those
// arguments that this part has not told of yet.
func (j *joiner) earlier(c *joined) *joined {
	free := func(o *joined) bool {
		return o.gone == nil && o.part < c.part && o.took != c.part+1 && o.Name == c.Name
	}
	if c.ID != "" {
		if i := slices.IndexFunc(j.byID[c.ID], free); i >= 0 {
			return j.byID[c.ID][i]
		}
	}
	same := j.byCall[callKey("", c.Name, c.Arguments)]
	if i := slices.IndexFunc(same, func(o *joined) bool { return free(o) && (o.ID == "" || c.ID == "") }); i >= 0 {
		return same[i]
	}
	return nil
}

// foretold is what an earlier part recalled of a call that was not made yet: some emitters write an input down when the run is over, and by then it
// holds the next one's too.
func (j *joiner) foretold(c *joined) *joined {
	if c.ID == "" || c.Recalled {
		return nil
	}
	for _, o := range j.byID[c.ID] {
		if o.Recalled && o.gone == nil && o.Name == c.Name {
			return o
		}
	}
	return nil
}

// recall completes a call by what a later trace tells of it.
func (c *joined) recall(again *ToolCall) {
	if !c.HasResult && again.HasResult {
		c.Result, c.HasResult, c.ResultSpanID = again.Result, true, again.ResultSpanID
	}
	if (c.Outcome == OutcomeUnknown || c.Outcome == OutcomeMissing) && (again.Outcome != OutcomeUnknown || again.HasResult || again.answered) {
		c.Outcome, c.Error = again.Outcome, again.Error
	}
	c.answered = c.answered || again.answered
}

// answers gives the results that a part's inputs tell of to the calls of earlier parts that wait for theirs: by id, else to the calls that the same
// input tells of, in their order.
func (j *joiner) answers(p *piece) {
	own := map[string]bool{}
	for i := range p.ToolCalls {
		own[p.ToolCalls[i].ID] = true
	}
	open := func(c *joined) bool { return !c.HasResult && !c.answered }
	for i := range p.ModelCalls {
		m := &p.ModelCalls[i]
		var waiting []*joined
		for n := range m.New {
			for k := range m.New[n].Parts {
				r := &m.New[n].Parts[k]
				switch {
				case r.Kind == PartToolCall && r.ID == "":
					same := j.byCall[callKey("", r.Name, r.Value)]
					if at := slices.IndexFunc(same, func(c *joined) bool { return open(c) && !slices.Contains(waiting, c) }); at >= 0 {
						waiting = append(waiting, same[at])
					}
				case r.Kind == PartToolResult && r.ID != "" && !own[r.ID]:
					for _, c := range slices.Backward(j.byID[r.ID]) {
						p.met[callKey(c.ID, c.Name, c.Arguments)] = true // also where its execution has told the result: the input goes on from there
						if open(c) {
							j.answered(p, c, r, m.SpanID)
							break
						}
					}
				case r.Kind == PartToolResult && r.ID == "" && len(waiting) > 0:
					j.answered(p, waiting[0], r, m.SpanID)
					waiting = waiting[1:]
				}
			}
		}
	}
}

// answered gives a call its result. The part goes on with what asked for it.
func (j *joiner) answered(p *piece, c *joined, r *Part, span string) {
	if r.Outcome != "" {
		c.tell(r, span)
	} else {
		c.answer(r, span)
		c.timedOut()
	}
	p.met[callKey(c.ID, c.Name, c.Arguments)] = true
}

// executions pairs executions that nothing in their own trace asked for with requests that nothing in theirs executed: by id, else by name and
// arguments, in order of time. Of two executions with one id, as a client and a server describe them, one counts.
func (j *joiner) executions() {
	lone := slices.DeleteFunc(slices.Clone(j.all), func(c *joined) bool { return !c.Executed || c.Requested })
	slices.SortStableFunc(lone, func(a, b *joined) int { return a.Start.Compare(b.Start) })
	for _, byID := range []bool{true, false} {
		for _, e := range lone {
			if e.gone != nil {
				continue
			}
			if r := j.requestOf(e, byID); r != nil {
				r.execute(e)
			}
		}
	}
}

// requestOf is the call that an execution in another trace is of.
func (j *joiner) requestOf(e *joined, byID bool) (found *joined) {
	among := j.byCall[callKey("", e.Name, e.Arguments)]
	if byID {
		if e.ID == "" {
			return nil
		}
		among = j.byID[e.ID]
	} else if absent(e.Arguments) {
		return nil
	}
	for _, r := range among {
		if !r.Requested || r.part == e.part || r.gone != nil || r.Executed && !(byID && r.Name == e.Name) || !r.Executed && j.askedAt(r).After(e.Start) {
			continue
		}
		if found == nil || r.Start.Before(found.Start) {
			found = r
		}
	}
	return found
}

// askedAt is when a call can have been asked for at the earliest: clocks of client and server differ by a little, and answers stream.
func (j *joiner) askedAt(c *joined) time.Time {
	if c.Model >= 0 {
		return j.out.ModelCalls[c.Model].Start
	}
	return c.Start
}

// execute completes a request by its execution.
func (c *joined) execute(e *joined) {
	e.gone = c
	if !c.Executed {
		c.SpanID, c.TraceID, c.Executed, c.Start, c.End = e.SpanID, e.TraceID, true, e.Start, e.End
		c.Agent, c.ID = cmp.Or(c.Agent, e.Agent), cmp.Or(c.ID, e.ID)
		if c.Outcome == OutcomeMissing {
			c.Outcome = OutcomeUnknown
		}
		if !absent(e.Arguments) && (e.Arguments.JSON != nil || c.Arguments.JSON == nil) {
			c.Arguments = e.Arguments
		}
	}
	if e.HasResult && !c.HasResult {
		c.Result, c.HasResult, c.ResultSpanID = e.Result, true, e.ResultSpanID
	}
	if c.Outcome == OutcomeUnknown {
		c.Outcome, c.Error = e.Outcome, e.Error
	}
	c.answered = c.answered || e.answered
}

// toolCalls lists the tool calls in order of time.
func (j *joiner) toolCalls() {
	j.all = slices.DeleteFunc(j.all, func(c *joined) bool { return c.gone != nil })
	slices.SortStableFunc(j.all, func(a, b *joined) int { return a.Start.Compare(b.Start) })
	for i, c := range j.all {
		c.at = i
		j.out.ToolCalls = append(j.out.ToolCalls, c.ToolCall)
		if c.Model >= 0 {
			m := &j.out.ModelCalls[c.Model]
			m.ToolCalls = append(m.ToolCalls, i)
		}
	}
	j.out.of = map[string]fate{}
	for k, p := range j.parts {
		at := make([]int, len(p.ToolCalls))
		for i, c := range j.calls[k] {
			at[i] = c.stands().at
		}
		j.out.of[p.TraceID] = fate{at, j.continued[k]}
	}
}
