package trajectory

// subAgent is what a sub-agent was started as, for the emitters that name each of them alike, as the agent that started it, or not at all: the
// argument of the tool's call around it. It is "" for all other agents.
func (n *node) subAgent() string {
	if n.facts.Role != RoleAgent {
		return ""
	}
	for p := range n.above {
		switch p.facts.Role {
		case RoleTool:
			if own := n.facts.Agent; own != "" && own != "Agent" && !n.namedAsAbove() {
				return ""
			}
			return argument(p.facts.Arguments, "subagent_type", "agentName", "agent_name")
		case RoleAgent, RoleModel:
			return ""
		}
	}
	return ""
}

// namedAsAbove says whether an agent around this one states the same name.
func (n *node) namedAsAbove() bool {
	for p := range n.above {
		if p.facts.Role == RoleAgent && p.facts.Agent == n.facts.Agent {
			return true
		}
	}
	return false
}
