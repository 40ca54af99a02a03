package trajectory

// subAgent is what a sub-agent was started as, for the emitters that name each of them alike: the argument of the tool's call around it.
func (n *node) subAgent() string {
	if n.facts.Role != RoleAgent || n.facts.Agent != "Agent" {
		return ""
	}
	for p := range n.above {
		switch p.facts.Role {
		case RoleTool:
			return argument(p.facts.Arguments, "subagent_type")
		case RoleAgent, RoleModel:
			return ""
		}
	}
	return ""
}
