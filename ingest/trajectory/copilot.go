package trajectory

import (
	"maps"
	"slices"
	"strings"
)

const copilotContent = "set github.copilot.chat.otel.captureContent: true in VS Code (elsewhere COPILOT_OTEL_CAPTURE_CONTENT=true)"

// GitHub Copilot, in VS Code and as a CLI: the conventions' spans with keys of its own beside them. session.id on the resource is the editor's
// window, not the chat.
var (
	_ = add(Dialect{Name: "copilot", Rank: 22, Keys: []string{"copilot_chat.", "github.copilot."}, Score: scoreCopilotKeys, Read: readCopilot, Remedies: copilotRemedies})
	_ = add(Dialect{Name: "copilot", Rank: 22, Keys: []string{"gen_ai."}, Score: scoreCopilotService, Read: readCopilot, Remedies: copilotRemedies})
)

var copilotRemedies = map[Fact]string{
	FactModelCalls:    "set github.copilot.chat.otel.enabled: true in VS Code (elsewhere COPILOT_OTEL_ENABLED=true)",
	FactToolCalls:     copilotContent,
	FactToolExecution: "update Copilot: earlier versions open no execute_tool spans",
	FactToolsOffered:  copilotContent,
	FactToolSchemas:   copilotContent,
	FactArguments:     copilotContent,
	FactResults:       copilotContent,
	FactUserMessages:  copilotContent,
	FactReply:         copilotContent,
	FactSession:       "update Copilot: spans carry gen_ai.conversation.id",
	FactRoot:          "let the agent's request end before the window closes: its span is exported last",
	FactUsage:         "update Copilot: chat spans carry gen_ai.usage.input_tokens and gen_ai.usage.output_tokens",
	FactFinishReason:  "update Copilot: chat spans carry gen_ai.response.finish_reasons",
	FactModelName:     keptBy("Copilot", "gen_ai.request.model"),
}

func scoreCopilotKeys(s *Span) int {
	if s.Attrs.HasPrefix("copilot_chat.") || s.Attrs.HasPrefix("github.copilot.") {
		return 20
	}
	return 0
}

func scoreCopilotService(s *Span) int {
	if isAnyOf(s.Resource.Text("service.name"), "copilot-chat", "github-copilot") && s.Attrs.Has("gen_ai.operation.name") {
		return 15
	}
	return 0
}

func readCopilot(s *Span) Facts {
	a := s.Attrs
	f := readGenAI(s)
	if scoreEvents(s) > 0 {
		f = readEvents(s)
	}
	f.SessionID = a.Str("copilot_chat.chat_session_id", "github.copilot.chat_session_id", "gen_ai.conversation.id")
	f.Run = s.Resource.Str("session.id")
	f.Denied = f.Denied || f.Role == RoleTool && a.Text("error.type") == "denied"
	switch {
	case a.Text("gen_ai.operation.name") == "execute_hook":
		f.Role = RoleInner
	case f.Role == RoleTool && absent(f.Arguments):
		f.Arguments = copilotParameters(a)
	}
	return f
}

// copilotParameters reads the few arguments of known tools that stand beside, cut to a length, when content is not captured.
func copilotParameters(a Attrs) Value {
	const prefix = "github.copilot.tool.parameters."
	out := []byte("{")
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if name, ok := strings.CutPrefix(k, prefix); ok && a.Has(k) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = appendString(append(appendString(out, name), ':'), a.Text(k))
		}
	}
	if len(out) == 1 {
		return Value{Parsed: ParsedAbsent}
	}
	out = append(out, '}')
	return Value{Raw: string(out), JSON: canonical(string(out)), Parsed: ParsedWrap, Truncated: true}
}
