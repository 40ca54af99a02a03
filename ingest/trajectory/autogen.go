package trajectory

import "strings"

const autogenBlind = "AutoGen records none: instrument the model client beside it (OpenInference or OpenLLMetry)"

// AutoGen opens spans for agents and tools and says nothing of what they were given or gave; the model's calls have none.
var _ = add(Dialect{
	Name: "autogen",
	Rank: 16,
	Keys: []string{"gen_ai."}, Scopes: []string{"autogen"},
	Score: scoreAutogen,
	Read:  readAutogen,
	Remedies: map[Fact]string{
		FactModelCalls:    autogenBlind,
		FactToolCalls:     autogenBlind,
		FactToolsOffered:  autogenBlind,
		FactToolSchemas:   autogenBlind,
		FactArguments:     autogenBlind,
		FactResults:       autogenBlind,
		FactUserMessages:  autogenBlind,
		FactReply:         autogenBlind,
		FactUsage:         autogenBlind,
		FactSession:       "set session.id on a span around the run",
		FactToolExecution: "let the agent run the tools itself (tools= or workbench= of AssistantAgent): each execution is an execute_tool span then",
		FactFinishReason:  autogenBlind,
		FactModelName:     autogenBlind,
	},
})

func scoreAutogen(s *Span) int {
	score := 0
	if strings.HasPrefix(s.Scope, "autogen") {
		score += 12
	}
	if s.Attrs.Text("gen_ai.system") == "autogen" {
		score += 12
	}
	return score
}

func readAutogen(s *Span) Facts {
	f := readGenAI(s)
	if s.Attrs.Has("messaging.operation") || strings.HasPrefix(s.Name, "autogen ") {
		f.Role = RoleNone // the runtime's own messages
	}
	if f.Role == RoleTool {
		f.Hidden = append(f.Hidden, FactArguments, FactResults)
	}
	return f
}
