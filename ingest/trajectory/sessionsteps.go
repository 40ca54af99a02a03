package trajectory

import (
	"cmp"
	"slices"
)

// steps puts all that happened in order of time. What was only told again is no step.
func (j *joiner) steps() {
	o := j.out
	for k, p := range j.parts {
		for _, s := range j.asked[k] {
			o.UserMessages = append(o.UserMessages, s.Text)
			o.Steps = append(o.Steps, s)
		}
		for _, s := range p.Steps {
			if s.Kind == StepRetrieval || s.Kind == StepReply || s.Kind == StepError {
				s.TraceID = cmp.Or(s.TraceID, p.TraceID)
				o.Steps = append(o.Steps, s)
			}
		}
	}
	for i, m := range o.ModelCalls {
		o.Steps = append(o.Steps, Step{Kind: StepModel, SpanID: m.SpanID, TraceID: m.TraceID, Agent: m.Agent, Index: i, Start: m.Start, End: m.End})
	}
	for i, c := range o.ToolCalls {
		o.Steps = append(o.Steps, Step{Kind: StepTool, SpanID: c.SpanID, TraceID: c.TraceID, Agent: c.Agent, Index: i, Start: c.Start, End: c.End})
	}
	for i, h := range o.Handoffs {
		o.Steps = append(o.Steps, Step{Kind: StepHandoff, SpanID: h.SpanID, TraceID: h.TraceID, Agent: h.From, Index: i, Start: h.Start, End: h.Start})
	}
	part := map[string]int{}
	for k, p := range j.parts {
		part[p.TraceID] = k
	}
	slices.SortStableFunc(o.Steps, func(x, y Step) int {
		return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(part[x.TraceID], part[y.TraceID]), cmp.Compare(rankOf(x, o), rankOf(y, o)))
	})
}

// gaps are the facts that a part lacks which has something of their kind, unless the join supplied them.
func (j *joiner) gaps() {
	for _, f := range allFacts {
		for k, p := range j.parts {
			if g, lacks := p.Lacks(f); lacks && !j.supplied(f, k) {
				j.out.Gaps = append(j.out.Gaps, g)
				break
			}
		}
	}
}

// supplied says whether the session has a fact that one of its parts lacks.
func (j *joiner) supplied(f Fact, k int) bool {
	switch f {
	case FactSession:
		return j.out.SessionID != ""
	case FactReply:
		return k < len(j.parts)-1
	case FactModelCalls:
		return len(j.out.ModelCalls) > 0
	case FactUserMessages:
		return len(j.parts[k].ModelCalls) == 0 || slices.Index(j.out.Turns, j.out.Turns[k]) < k
	case FactToolExecution:
		return j.some(k, func(c *ToolCall) bool { return c.Executed })
	case FactArguments:
		return j.some(k, func(c *ToolCall) bool { return !absent(c.Arguments) && !hidden(c.Arguments) })
	case FactResults:
		return j.some(k, func(c *ToolCall) bool { return c.HasResult && !hidden(c.Result) || c.Error != nil })
	}
	return false
}

// some says whether one of the part's tool calls is such, as the session knows them.
func (j *joiner) some(k int, such func(*ToolCall) bool) bool {
	return slices.ContainsFunc(j.calls[k], func(c *joined) bool { return such(&c.stands().ToolCall) })
}
