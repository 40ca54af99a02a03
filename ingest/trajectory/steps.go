package trajectory

import (
	"cmp"
	"slices"
)

// steps puts all that happened in order of time; at one moment, what was said before what followed from it.
func (b *builder) steps() {
	o := b.out
	seen := map[string]bool{}
	o.Steps = make([]Step, 0, len(o.ModelCalls)+len(o.ToolCalls)+len(o.Handoffs)+len(o.UserMessages)+2)
	for i, m := range o.ModelCalls {
		said := b.saidIn(b.calls[i])
		answered, goesOn := b.replyBefore(i)
		if goesOn && len(said) > 0 {
			o.Steps = append(o.Steps, answered)
		}
		for k, text := range said {
			if again := goesOn && k == len(said)-1; again || !seen[text] { // "yes" to a new question is said anew
				seen[text] = true
				o.Steps = append(o.Steps, Step{Kind: StepUser, SpanID: m.SpanID, Agent: m.Agent, Index: -1, Text: text, Start: m.Start, End: m.Start})
			}
		}
		o.Steps = append(o.Steps, Step{Kind: StepModel, SpanID: m.SpanID, Agent: m.Agent, Index: i, Start: m.Start, End: m.End})
	}
	for _, text := range o.UserMessages {
		if !seen[text] {
			o.Steps = append(o.Steps, Step{Kind: StepUser, SpanID: b.firstSpan(), Index: -1, Text: text, Start: o.Start, End: o.Start})
		}
	}
	for i, t := range o.ToolCalls {
		o.Steps = append(o.Steps, Step{Kind: StepTool, SpanID: t.SpanID, Agent: t.Agent, Index: i, Start: t.Start, End: t.End})
	}
	for i, h := range o.Handoffs {
		o.Steps = append(o.Steps, Step{Kind: StepHandoff, SpanID: h.SpanID, Agent: h.From, Index: i, Start: h.Start, End: h.Start})
	}
	for _, n := range b.nodes {
		if n.facts.Role == RoleRetrieval {
			o.Steps = append(o.Steps, Step{Kind: StepRetrieval, SpanID: n.span.ID, Agent: n.agentName, Index: -1, Text: n.span.Name, Start: n.start, End: n.end})
		}
	}
	slices.SortStableFunc(o.Steps, func(x, y Step) int {
		return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(rankOf(x, o), rankOf(y, o)))
	})
	b.lastSteps()
}

// replyBefore is the answer with which the turn before a call ended, where one trace holds several: the text of the last call, if it asked for
// nothing more and this call goes on from it. The trace's own reply is that of its last turn.
func (b *builder) replyBefore(i int) (Step, bool) {
	c := b.calls[i]
	for i--; i >= 0 && toolAround(b.calls[i].node); i-- {
	}
	if i < 0 {
		return Step{}, false
	}
	m := &b.out.ModelCalls[i]
	if m.Text == "" || len(m.ToolCalls) > 0 || m.FinishReason == FinishToolCalls || m.End.IsZero() {
		return Step{}, false
	}
	for said := range c.input {
		if said.Role == "assistant" && said.Text() == m.Text {
			return Step{Kind: StepReply, SpanID: m.SpanID, Agent: m.Agent, Index: -1, Text: m.Text, Start: m.End, End: m.End}, true
		}
	}
	return Step{}, false
}

// rankOf orders what starts at one moment: what the user said, what an earlier trace did, each call of a model and the tools that it asked
// for, then the rest. A call of a tool that has no span of its own starts when its model call ends, or the next begins.
func rankOf(s Step, o *Trajectory) int {
	switch s.Kind {
	case StepUser:
		return -2
	case StepModel:
		return 2 * s.Index
	case StepTool:
		switch t := &o.ToolCalls[s.Index]; {
		case t.Recalled:
			return -1
		case t.Model >= 0:
			return 2*t.Model + 1
		}
		return 2 * len(o.ModelCalls)
	}
	return 2*len(o.ModelCalls) + 1
}

// lastSteps adds the reply and the error with which the run ended.
func (b *builder) lastSteps() {
	o := b.out
	if o.Reply != nil {
		o.Steps = append(o.Steps, Step{Kind: StepReply, SpanID: b.lastModelSpan(), Index: -1, Text: *o.Reply, Start: o.End, End: o.End})
	}
	if o.RootError != nil {
		o.Steps = append(o.Steps, Step{Kind: StepError, SpanID: b.firstSpan(), Index: -1, Text: cmp.Or(o.RootError.Message, o.RootError.Type), Start: o.End, End: o.End})
	}
}

func (b *builder) firstSpan() string {
	switch {
	case b.root != nil:
		return b.root.span.ID
	case len(b.nodes) > 0:
		return b.nodes[0].span.ID
	}
	return ""
}

func (b *builder) lastModelSpan() string {
	if n := len(b.out.ModelCalls); n > 0 {
		return b.out.ModelCalls[n-1].SpanID
	}
	return b.firstSpan()
}
