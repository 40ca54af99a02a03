package trajectory

import (
	"cmp"
	"strings"
)

// LiveKit's agents talk in a room for hours: the session is the room's, each turn a part of it. What may be personal moved to lk.pii.* keys.
// One call of the model is told by the node around it, which has the conversation, and by the request in it, which has the counts; each
// attempt of a request is a span of its own.
var _ = add(Dialect{
	Name: "livekit",
	Rank: 9,
	Keys: []string{"lk."}, Scopes: []string{"livekit-agents"},
	Score: scoreLiveKit,
	Read:  readLiveKit,
	Remedies: map[Fact]string{
		FactToolSchemas:   "name the tools in the catalog (tools: in pawl.yaml): LiveKit sends names only",
		FactToolsOffered:  "update livekit-agents: newer versions list the tools in lk.function_tools",
		FactArguments:     "switch the redaction of telemetry off in the session's recording options",
		FactResults:       "switch the redaction of telemetry off in the session's recording options",
		FactUserMessages:  "switch the redaction of telemetry off in the session's recording options",
		FactReply:         "switch the redaction of telemetry off in the session's recording options",
		FactToolCalls:     "switch the redaction of telemetry off in the session's recording options",
		FactFinishReason:  "LiveKit records no finish reason: instrument the model's client beside it",
		FactSession:       "run the agent in a room: its name, or the job's id, is the session",
		FactUsage:         "use a model plugin that reports usage",
		FactRoot:          "the span of the session comes when the room closes: let the job shut down before the exporter does",
		FactModelCalls:    "use an LLM plugin in the session: realtime speech models have no llm_request span",
		FactToolExecution: "declare tools with @function_tool: those have a function_tool span",
		FactModelName:     "update livekit-agents: llm_request spans name the model in gen_ai.request.model",
	},
})

func scoreLiveKit(s *Span) int {
	score := 0
	if strings.HasPrefix(s.Scope, "livekit-agents") {
		score += 14
	}
	if s.Attrs.HasPrefix("lk.") {
		score += 12
	}
	return score
}

// lk reads a key of LiveKit's in its old place or among those that may be personal.
func lk(a Attrs, name string) string {
	return cmp.Or(a.jsonText("lk.pii."+name), a.jsonText("lk."+name))
}

func readLiveKit(s *Span) Facts {
	a := s.Attrs
	f := readEvents(s)
	f.Role = RoleNone
	f.SessionID = cmp.Or(lk(a, "room_name"), lk(a, "room_id"), a.Str("lk.job_id"), f.SessionID)
	f.UserID = cmp.Or(f.UserID, lk(a, "participant_identity"))
	f.Agent = cmp.Or(lk(a, "agent_name"), lk(a, "agent_label"), f.Agent)
	switch s.Name {
	case "agent_session", "job_entrypoint":
		if s.Name == "agent_session" || s.ParentID == "" {
			f.Role = RoleAgent
		}
		f.Output, f.Input = nil, History{} // its events are the whole session's
	case "llm_node", "llm_request":
		f.Role = RoleModel
		liveKitModel(a, &f)
	case "llm_request_run":
		f.Role = RoleInner
	case "function_tool":
		f.Role = RoleTool
		liveKitTool(a, &f)
	}
	return f
}

func liveKitModel(a Attrs, f *Facts) {
	if items := readObject(lk(a, "chat_ctx")).get("items"); items != "" {
		f.Input = textHistory(items)
	}
	f.OfferedText = cmp.Or(f.OfferedText, a.jsonText("lk.function_tools"))
	m := Message{Role: "assistant"}
	if text := lk(a, "response.text"); text != "" && !withheld(text) {
		m.Parts = append(m.Parts, Part{Kind: PartText, Text: text})
	}
	if m.Parts = append(m.Parts, callList(lk(a, "response.function_calls"))...); len(m.Parts) > 0 {
		f.Output = []Message{m}
	}
	metrics := readObject(lk(a, "llm_metrics"))
	f.Usage = f.Usage.or(usageOf(metrics)).or(Usage{CacheRead: metrics.count("prompt_cached_tokens")})
	f.ResponseID = cmp.Or(f.ResponseID, metrics.str("request_id"))
	f.Streamed = true
	if withheld(lk(a, "chat_ctx")) {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
	if withheld(lk(a, "response.text")) {
		f.Hidden = append(f.Hidden, FactReply)
	}
}

func liveKitTool(a Attrs, f *Facts) {
	f.ToolName = cmp.Or(a.Str("lk.function_tool.name"), a.Str("gen_ai.tool.name"))
	f.CallID = callID(cmp.Or(a.Str("lk.function_tool.id"), a.Str("gen_ai.tool.call.id")))
	f.Arguments, _ = a.value("lk.pii.function_tool.arguments", "lk.function_tool.arguments")
	f.Result, f.HasResult = a.value("lk.pii.function_tool.output", "lk.function_tool.output")
	if failed, ok := a.Bool("lk.function_tool.is_error"); ok && failed {
		f.ToolError = cmp.Or(textOfValue(f.Result), "error")
	}
}
