package trajectory

import (
	"cmp"
	"strings"
)

const codexLogs = "send Codex's logs to pawl too ([otel] exporter in config.toml): what it did is in log events"

// Codex writes thousands of spans of its own program, of which the turn is worth reading, and log events, which AgentEvents makes spans of.
var _ = add(Dialect{
	Name: "codex",
	Rank: 20,
	Keys: []string{"codex.", "conversation.id", "thread.id", "call_id"}, Scopes: []string{"codex_"},
	Score: scoreCodex,
	Read:  readCodex,
	Remedies: map[Fact]string{
		FactModelCalls:    codexLogs,
		FactToolCalls:     "Codex does not record what the model asked for: its executions are in codex.tool_result events",
		FactToolExecution: codexLogs,
		FactToolsOffered:  "Codex records no tool definitions: name the tools in the catalog (tools: in pawl.yaml)",
		FactToolSchemas:   "Codex records no tool definitions: name the tools in the catalog (tools: in pawl.yaml)",
		FactArguments:     codexLogs,
		FactResults:       codexLogs,
		FactUserMessages:  "set log_user_prompt = true under [otel] in config.toml, and send logs to pawl too",
		FactReply:         "Codex records no answers: use the notify hook (last-assistant-message), or an OpenAI instrumentation behind a proxy",
		FactUsage:         codexLogs,
		FactFinishReason:  "Codex records no finish reason: send its requests through a gateway that traces them (LiteLLM), in the same pawl",
		FactSession:       codexLogs,
		FactModelName:     codexLogs,
	},
})

func scoreCodex(s *Span) int {
	score := 0
	if strings.HasPrefix(s.Name, "codex.") {
		score += 10
	}
	if s.Attrs.Has("codex.turn.token_usage.input_tokens") || s.Attrs.Has("codex.turn.reasoning_effort") {
		score += 20
	}
	if score == 0 && strings.HasPrefix(s.Scope, "codex_") && isAnyOf(s.Name, "session_task.turn", "run_turn", "run_sampling_request") {
		score = 10
	}
	return score // the rest are spans of the program, not of the agent
}

func readCodex(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		SessionID: codexSession(a), UserID: a.Str("user.account_id", "user.id"),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	switch {
	case s.Name == "codex.user_prompt":
		f.Role, f.Agent = RoleAgent, "codex"
		if f.UserText = a.Str("prompt"); f.UserText == "" || withheld(f.UserText) {
			f.UserText, f.Hidden = "", append(f.Hidden, FactUserMessages)
		}
	case s.Name == "codex.sse_event":
		f.Role = RoleModel
		codexModel(a, &f)
		f.Usage = Usage{Input: a.Int("input_token_count"), Output: a.Int("output_token_count"),
			CacheRead: a.Int("cached_token_count"), Reasoning: a.Int("reasoning_token_count")}
	case s.Name == "codex.api_request":
		codexRequest(a, &f)
	case s.Name == "codex.tool_result":
		codexTool(a, &f)
	case s.Name == "codex.tool_decision":
		codexDecision(a, &f)
	case a.Has("codex.turn.token_usage.input_tokens") || s.Name == "session_task.turn":
		f.Role, f.Agent = RoleAgent, "codex" // the sum of the turn's requests
		codexModel(a, &f)
		f.Usage = Usage{Input: a.Int("codex.turn.token_usage.input_tokens"), Output: a.Int("codex.turn.token_usage.output_tokens"),
			CacheRead: a.Int("codex.turn.token_usage.cached_input_tokens"), Reasoning: a.Int("codex.turn.token_usage.reasoning_output_tokens")}
	}
	return f
}

// codexSession is the conversation. On spans thread.id may be OpenTelemetry's, the number of a thread of the process.
func codexSession(a Attrs) string {
	if id := a.Str("conversation.id"); id != "" {
		return id
	}
	if id := a.Str("thread.id"); isUUID(id) {
		return id
	}
	return ""
}

func codexModel(a Attrs, f *Facts) {
	f.Provider, f.ModelRequested, f.Streamed = "openai", a.Str("model", "slug"), true
}

// codexRequest reads a request that failed; one that went well is told by the end of its answer.
func codexRequest(a Attrs, f *Facts) {
	code := a.Int("http.response.status_code", "status")
	message := a.Text("error.message")
	if message == "" && (code == nil || *code < 400) {
		f.Role = RoleInner
		return
	}
	f.Role = RoleModel
	codexModel(a, f)
	f.Error = &Error{Message: message, Type: "api_error"}
	if code != nil {
		f.Error.Code = int(min(*code, 599))
	}
}

func codexTool(a Attrs, f *Facts) {
	f.Role = RoleTool
	f.ToolName = a.Str("tool_name")
	if server := a.Str("mcp_server"); server != "" && !strings.Contains(f.ToolName, server) {
		f.ToolName = "mcp__" + server + "__" + f.ToolName
	}
	f.CallID = callID(a.Str("call_id"))
	f.Arguments, _ = a.value("arguments")
	f.Result, f.HasResult = a.value("output")
	if ok, stated := a.Bool("success"); stated && !ok {
		f.ToolError = cmp.Or(textOfValue(f.Result), "error")
	}
}

// codexDecision reads that a call was not allowed: then there is no result. An allowed one is told by its result.
func codexDecision(a Attrs, f *Facts) {
	f.Role = RoleInner
	if isAnyOf(a.Text("decision"), "denied", "reject", "rejected") {
		f.Role, f.Denied = RoleTool, true
		f.ByPolicy = isAnyOf(strings.ToLower(a.Text("source")), "config", "hook", "policy")
		f.ToolName, f.CallID = a.Str("tool_name"), callID(a.Str("call_id"))
	}
}
