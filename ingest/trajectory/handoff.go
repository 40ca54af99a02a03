package trajectory

import (
	"slices"
	"strings"
	"time"
)

// transferTarget says whether a tool hands the conversation to another agent, and to whom.
func transferTarget(name string, args Value) (string, bool) {
	lower := strings.ToLower(name)
	switch lower {
	case "transfer_to_agent", "handoff_to_agent", "transfer", "handoff":
		return argument(args, "agent_name", "agentName", "agent", "target", "to"), true
	case "delegate work to coworker", "ask question to coworker", "delegate_work_to_coworker", "ask_question_to_coworker":
		return argument(args, "coworker"), true
	case "agent", "task", "runsubagent":
		if to := argument(args, "subagent_type", "agentName"); to != "" {
			return to, true
		}
	}
	for _, prefix := range []string{"transfer_to_", "handoff_to_", "hand_off_to_", "handoff-to-", "transfer-to-"} {
		if to, ok := strings.CutPrefix(lower, prefix); ok && to != "" {
			return to, true
		}
	}
	return "", false
}

// argument returns the first of the names that an object of arguments gives a text.
func argument(args Value, names ...string) string {
	if args.JSON.Kind() != '{' {
		return ""
	}
	return readObject(string(args.JSON)).str(names...)
}

// handoffs lists every transfer once, whether a span, a tool or both tell of it, and every question that one agent put to another as to a tool.
func (b *builder) handoffs() {
	b.transfers()
	b.delegations()
	slices.SortStableFunc(b.out.Handoffs, func(x, y Handoff) int { return x.Start.Compare(y.Start) })
}

// delegations are the runs of an agent below a call of a tool by another, and the calls of a tool that is named for asking an agent which then ran.
func (b *builder) delegations() {
	for _, n := range b.nodes {
		if n.facts.Role != RoleAgent || n.agentName == "" || n.folded != nil {
			continue
		}
		if tool := n.calledAs(); tool != nil && !b.goesOn(n) && !sameName(tool.agentName, n.agentName) {
			b.delegate(tool.stands().span.ID, tool.agentName, n.agentName, tool.start)
		} else if by := n.hiredBy(); by != "" {
			b.delegate(n.span.ID, by, n.agentName, n.start)
		}
	}
	for _, t := range b.out.ToolCalls {
		if to := b.askedFor(t.Name); to != "" && t.Executed && !t.Recalled && !sameName(t.Agent, to) {
			b.delegate(t.SpanID, t.Agent, to, t.Start)
		}
	}
}

// hiredBy is the agent that called this one without a tool.
func (n *node) hiredBy() string {
	if !n.facts.Hired || n.parent == nil {
		return ""
	}
	return n.parent.agentName
}

// calledAs is the execution of a tool right around an agent's run.
func (n *node) calledAs() *node {
	for p := range n.above {
		switch p.facts.Role {
		case RoleTool:
			return p
		case RoleAgent, RoleModel, RoleHandoff:
			return nil
		}
	}
	return nil
}

// askedFor is the agent of the trace that a tool is named for asking, "" when the name says no such thing.
func (b *builder) askedFor(tool string) string {
	for _, prefix := range []string{"ask_", "call_", "consult_", "delegate_to_"} {
		if to, ok := strings.CutPrefix(strings.ToLower(tool), prefix); ok && b.worked(to) {
			return b.properName(to)
		}
	}
	return ""
}

// delegate notes a delegation, unless that call is known to be a transfer or a delegation to the same agent.
func (b *builder) delegate(span, from, to string, start time.Time) {
	if !slices.ContainsFunc(b.out.Handoffs, func(h Handoff) bool { return h.SpanID == span && sameName(h.To, to) }) {
		b.out.Handoffs = append(b.out.Handoffs, Handoff{SpanID: span, From: from, To: to, Start: start})
	}
}

// transfers are the hand-overs of the conversation itself.
func (b *builder) transfers() {
	for _, t := range b.out.ToolCalls {
		to, ok := transferTarget(t.Name, t.Arguments)
		if !ok || t.Recalled || t.Outcome == OutcomeError || t.Outcome == OutcomeDenied || t.Outcome == OutcomeMissing {
			continue
		}
		b.out.Handoffs = append(b.out.Handoffs, Handoff{SpanID: t.SpanID, From: t.Agent, To: b.properName(to), Start: t.Start})
	}
	told := make([]bool, len(b.out.Handoffs))
	for _, n := range b.nodes {
		tool := n.facts.Role == RoleTool && n.facts.HandoffTo != "" && n.err == nil
		if n.facts.Role != RoleHandoff && !tool || n.folded != nil {
			continue
		}
		h := Handoff{SpanID: n.span.ID, From: n.facts.HandoffFrom, To: n.facts.HandoffTo, Start: n.start}
		if h.From == "" {
			h.From = n.agentName
		}
		i := slices.IndexFunc(b.out.Handoffs[:len(told)], func(o Handoff) bool { return sameName(o.To, h.To) || h.To == "" })
		for i >= 0 && i < len(told) && told[i] {
			if i++; i < len(told) && !sameName(b.out.Handoffs[i].To, h.To) {
				i = len(told)
			}
		}
		if i >= 0 && i < len(told) {
			told[i] = true
			b.out.Handoffs[i].SpanID = h.SpanID
			continue
		}
		b.out.Handoffs = append(b.out.Handoffs, h)
	}
}

// properName is the name by which an agent of the trace calls itself, when a tool's name only resembles it.
func (b *builder) properName(to string) string {
	for _, a := range b.out.Agents {
		if sameName(a, to) {
			return a
		}
	}
	return to
}

// worked says whether an agent of that name took part in the trace.
func (b *builder) worked(name string) bool {
	return slices.ContainsFunc(b.out.Agents, func(a string) bool { return sameName(a, name) })
}

// sameName compares agents' names as tool names spell them: letters and digits alone, the word agent at the end aside.
func sameName(a, b string) bool { return a != "" && plainName(a) == plainName(b) }

func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, s)
	return strings.TrimSuffix(s, "agent")
}
