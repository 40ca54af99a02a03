package trajectory

import (
	"slices"
	"strings"
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

// handoffs lists every transfer once, whether a span, a tool or both tell of it.
func (b *builder) handoffs() {
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
	slices.SortStableFunc(b.out.Handoffs, func(x, y Handoff) int { return x.Start.Compare(y.Start) })
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
