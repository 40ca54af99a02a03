package trajectory

import "cmp"

// AgentTotal is what an agent says that all its model calls used together, where none of them tells its own part.
type AgentTotal struct {
	SpanID string // the agent's
	Agent  string
	Model  string // of all its calls; "" when they are of several or it is not told
	Usage  Usage
}

// agentTotals lets an agent's own total stand in where no model call below it states usage. Where one does, the total counts the same tokens
// once more, and where an agent around it has one, that is the sum.
func (b *builder) agentTotals() {
	if len(b.calls) == 0 || b.calls[0].node.facts.Role == RoleAgent {
		return // the totals are calls themselves: see totalOfAgents
	}
	told := map[*node]bool{} // what stands around a call that states its usage
	for _, c := range b.calls {
		if !c.node.facts.Usage.counted() {
			continue
		}
		for p := range c.node.above {
			told[p] = true
		}
	}
	standsFor := map[*node]bool{}
	for _, n := range b.topDown() {
		if n.facts.Role != RoleAgent || !n.facts.Usage.spent() || told[n] || n.below(standsFor) {
			continue
		}
		standsFor[n] = true
		b.out.AgentTotals = append(b.out.AgentTotals, AgentTotal{SpanID: n.span.ID, Agent: n.agentName, Model: b.modelOfAll(n), Usage: n.wholeUsage()})
	}
	for _, c := range b.calls {
		b.out.ModelCalls[c.index].InTotal = c.node.below(standsFor)
	}
}

// below says whether any of the spans stands around a node.
func (n *node) below(any map[*node]bool) bool {
	for p := range n.above {
		if any[p] {
			return true
		}
	}
	return false
}

func (u Usage) counted() bool { return u.Input != nil || u.Output != nil }

// modelOfAll is the model that all calls of an agent used, of which it tells the total: the one that its calls name, else it itself. It is ""
// where they name several.
func (b *builder) modelOfAll(agent *node) string {
	names := map[string]bool{}
	for _, c := range b.calls {
		if c.node.below(map[*node]bool{agent: true}) {
			m := &b.out.ModelCalls[c.index]
			names[cmp.Or(m.ModelResponded, m.ModelRequested)] = true
		}
	}
	delete(names, "")
	switch len(names) {
	case 0:
		return cmp.Or(agent.facts.ModelResponded, agent.facts.ModelRequested)
	case 1:
		for name := range names {
			return name
		}
	}
	return ""
}

// spent says whether any token is counted. An agent whose calls failed before they told theirs sums up to 0, which is no count.
func (u Usage) spent() bool { return tokens(u.Input)+tokens(u.Output) > 0 }
