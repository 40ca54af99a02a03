package trajectory

import (
	"cmp"
	"strings"
)

const claudeCodeDetails = "set OTEL_LOG_TOOL_DETAILS=1 (arguments) and OTEL_LOG_TOOL_CONTENT=1 (results)"

// Claude Code writes bare keys: spans of its beta tracing, and log events, which AgentEvents makes spans of. Both tell of the same calls;
// they share request_id and tool_use_id.
var _ = add(Dialect{
	Name:  "claude-code",
	Rank:  21,
	Score: scoreClaudeCode,
	Read:  readClaudeCode,
	Remedies: map[Fact]string{
		FactModelCalls:    "set CLAUDE_CODE_ENABLE_TELEMETRY=1 with OTEL_LOGS_EXPORTER=otlp, and CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1 with OTEL_TRACES_EXPORTER=otlp",
		FactToolCalls:     "Claude Code records what the model asked for in its raw answers only: set OTEL_LOG_RAW_API_BODIES=1",
		FactToolsOffered:  "Claude Code records no tool definitions: name the tools in the catalog (tools: in pawl.yaml)",
		FactToolSchemas:   "Claude Code records no tool definitions: name the tools in the catalog (tools: in pawl.yaml)",
		FactToolExecution: "export logs too (OTEL_LOGS_EXPORTER=otlp): each tool's result is an event",
		FactArguments:     claudeCodeDetails,
		FactResults:       claudeCodeDetails,
		FactUserMessages:  "set OTEL_LOG_USER_PROMPTS=1",
		FactReply:         "set OTEL_LOG_ASSISTANT_RESPONSES=1",
		FactCost:          "export logs too (OTEL_LOGS_EXPORTER=otlp): api_request events carry cost_usd",
		FactFinishReason:  "update Claude Code, and set CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1: spans of model requests carry stop_reason",
		FactSession:       "unset OTEL_METRICS_INCLUDE_SESSION_ID=false",
		FactRoot:          "update Claude Code: several versions never export the span of the interaction",
		FactUsage:         "export logs too (OTEL_LOGS_EXPORTER=otlp): api_request events carry input_tokens and output_tokens",
		FactModelName:     "export logs too (OTEL_LOGS_EXPORTER=otlp): api_request events name the model",
	},
})

const claudeCodePrefix = "claude_code."

func scoreClaudeCode(s *Span) int {
	if strings.HasPrefix(s.Name, claudeCodePrefix) {
		return 20
	}
	if s.Resource.Text("service.name") == "claude-code" && (s.Attrs.Has("span.type") || s.Attrs.Has("tool_use_id")) {
		return 15
	}
	return 0
}

func readClaudeCode(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		Agent: a.Str("agent.name", "agent_name", "agent_type", "subagent_type"), SessionID: a.Str("session.id"), UserID: a.Str("user.id", "user.account_uuid"),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	kind, _ := strings.CutPrefix(s.Name, claudeCodePrefix)
	switch kind {
	case "interaction", "user_prompt":
		f.Role = RoleAgent
		f.Agent = cmp.Or(f.Agent, "claude-code")
		f.UserText = a.Str("user_prompt", "prompt")
		if f.UserText == "" || withheld(f.UserText) {
			f.UserText, f.Hidden = "", append(f.Hidden, FactUserMessages)
		}
	case "llm_request", "api_request", "api_error":
		claudeCodeModel(a, kind, &f)
	case "api_response_body", "assistant_response":
		claudeCodeAnswer(a, &f)
	case "tool", "tool_result":
		claudeCodeTool(s, &f)
	case "tool.execution", "tool.blocked_on_user":
		claudeCodePhase(a, &f)
	case "tool_decision":
		f.Role = RoleInner // tool_result repeats it
	}
	return f
}

// claudeCodeModel reads a request to the model. The input count is the provider's, which leaves cached tokens out.
func claudeCodeModel(a Attrs, kind string, f *Facts) {
	f.Role = RoleModel
	f.Agent = cmp.Or(f.Agent, agentOfQuery(a.Str("query_source")))
	f.Provider = cmp.Or(providerOf(a.Str("gen_ai.provider.name", "gen_ai.system")), "anthropic")
	f.ModelRequested = a.Str("gen_ai.request.model", "model")
	f.ModelResponded = a.Str("gen_ai.response.model")
	f.ResponseID = a.Str("request_id", "gen_ai.response.id")
	f.Usage = Usage{
		Input: a.Int("input_tokens"), Output: a.Int("output_tokens"), CacheRead: a.Int("cache_read_tokens"),
		CacheWrite: a.Int("cache_creation_tokens"), CostUSD: a.Float("cost_usd"),
	}
	f.InputExcludes = true
	if f.Usage.Input == nil {
		f.Usage, f.InputExcludes = genaiUsage(a), false
	}
	f.FinishRaw = cmp.Or(finishRaw(a, "gen_ai.response.finish_reasons"), a.Str("stop_reason"))
	f.Streamed = true
	if ok, stated := a.Bool("success"); stated && !ok || kind == "api_error" {
		f.Error = &Error{Type: a.Str("error_type", "error.type", "status_code"), Message: a.Text("error"), Code: codeOf(a.Str("status_code"))}
	}
	if out := a.Text("response.model_output"); out != "" && !withheld(out) {
		f.Output = withRole(ParseMessages(out), "assistant")
	}
}

// agentOfQuery names a sub-agent by what asked for the request; "" for the main thread and the program's own helper calls.
func agentOfQuery(source string) string {
	if name, ok := strings.CutPrefix(source, "agent:"); ok {
		return name[strings.LastIndexByte(name, ':')+1:]
	}
	return ""
}

// claudeCodeAnswer reads an answer, raw or as its text. Without the id of its request it cannot be told whose answer it is.
func claudeCodeAnswer(a Attrs, f *Facts) {
	f.ResponseID = a.Str("request_id")
	text, _ := a.firstText("body", "response", "content", "text")
	if f.ResponseID == "" || text == "" || withheld(text) {
		return
	}
	f.Role = RoleModel
	f.Agent = cmp.Or(f.Agent, agentOfQuery(a.Str("query_source")))
	f.ModelRequested = a.Str("model")
	if !isJSON(text) {
		f.Output = []Message{{Role: "assistant", Parts: []Part{{Kind: PartText, Text: text}}}}
		return
	}
	f.Output = withRole(ParseMessages(text), "assistant")
	body := readAnswerBody(text)
	f.Usage, f.InputExcludes, f.FinishRaw, f.ModelResponded = body.Usage, body.CacheApart, body.Finish, body.Model
}

func claudeCodeTool(s *Span, f *Facts) {
	a := s.Attrs
	f.Role, f.Agent = RoleTool, ""
	f.ToolName = a.Str("tool_name", "gen_ai.tool.name")
	f.CallID = callID(a.Str("tool_use_id", "gen_ai.tool.call.id"))
	params := readObject(a.Text("tool_parameters"))
	if server, tool := params.str("mcp_server_name"), params.str("mcp_tool_name"); server != "" && tool != "" && f.ToolName == "mcp_tool" {
		f.ToolName = "mcp__" + server + "__" + tool
	}
	f.Arguments = claudeCodeArguments(a, params)
	f.Result, f.HasResult = claudeCodeResult(s)
	if ok, stated := a.Bool("success"); stated && !ok {
		f.ToolError = cmp.Or(a.Text("error"), "error")
	}
	f.Denied = a.Text("decision_type") == "reject" && claudeCodeRefused(a.Text("decision_source"))
	f.ByPolicy = f.Denied && isAnyOf(a.Text("decision_source"), "config", "hook")
}

// claudeCodeArguments takes the arguments as they were given, else what the details of known tools tell of them, which is not all.
func claudeCodeArguments(a Attrs, params object) Value {
	if v := ParseValue(a.Text("tool_input")); !absent(v) {
		v.Truncated = v.Truncated || strings.Contains(v.Raw, "[TRUNCATED") || strings.Contains(v.Raw, "[truncated")
		return v
	}
	for _, known := range []struct{ text, name string }{
		{cmp.Or(a.Text("full_command"), params.str("full_command", "bash_command")), "command"},
		{a.Text("file_path"), "file_path"},
	} {
		if known.text != "" {
			raw := appendString([]byte(`{"`+known.name+`":`), known.text)
			return Value{Raw: known.text, JSON: append(raw, '}'), Parsed: ParsedWrap, Truncated: true}
		}
	}
	return Value{Parsed: ParsedAbsent}
}

// claudeCodeResult reads the event with a tool's output.
func claudeCodeResult(s *Span) (Value, bool) {
	for _, e := range s.Events {
		if e.Name != "tool.output" {
			continue
		}
		if v, ok := e.Attrs.value("output", "content", "result", "stdout", "bash_output"); ok {
			v.Truncated = v.Truncated || strings.Contains(v.Raw, "[TRUNCATED")
			return v, true
		}
	}
	return Value{Parsed: ParsedAbsent}, false
}

// claudeCodePhase reads what part of a tool call tells of the whole: that it failed, or that it was refused.
func claudeCodePhase(a Attrs, f *Facts) {
	if f.CallID = callID(a.Str("tool_use_id", "gen_ai.tool.call.id")); f.CallID == "" {
		f.Role = RoleInner
		return
	}
	f.Role, f.Agent = RoleTool, ""
	f.ToolName = a.Str("tool_name", "gen_ai.tool.name")
	f.Denied = a.Text("decision") == "reject" && claudeCodeRefused(a.Text("source"))
	f.ByPolicy = f.Denied && isAnyOf(a.Text("source"), "config", "hook")
	if ok, stated := a.Bool("success"); stated && !ok {
		f.ToolError = cmp.Or(a.Text("error"), "error")
	}
}

// claudeCodeRefused says whether a rejection is a refusal: an interruption by the user was reported as one too.
func claudeCodeRefused(source string) bool { return source != "user_abort" }
