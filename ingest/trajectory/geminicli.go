package trajectory

import (
	"cmp"
	"strings"
)

const geminiTraces = "set telemetry.traces: true (GEMINI_TELEMETRY_TRACES_ENABLED=true) and telemetry.logPrompts: true in .gemini/settings.json"

// Gemini CLI writes the conventions' keys in its own way: Gemini's contents for messages, one object for an answer, a tool's request and
// response in the messages' place. Its log events, which AgentEvents makes spans of, tell of the same calls.
var _ = add(Dialect{
	Name: "gemini-cli",
	Rank: 19,
	Keys: []string{"gen_ai.", "session.id", "prompt_id"}, Scopes: []string{"gemini-cli"},
	Score: scoreGeminiCLI,
	Read:  readGeminiCLI,
	Remedies: map[Fact]string{
		FactModelCalls:    "set telemetry.enabled: true in .gemini/settings.json",
		FactToolCalls:     geminiTraces,
		FactToolExecution: geminiTraces,
		FactToolsOffered:  geminiTraces,
		FactToolSchemas:   geminiTraces,
		FactArguments:     geminiTraces,
		FactResults:       geminiTraces + "; log events carry no results",
		FactUserMessages:  geminiTraces,
		FactReply:         geminiTraces,
		FactSession:       "update Gemini CLI: spans carry gen_ai.conversation.id and events session.id",
		FactUsage:         geminiTraces,
		FactFinishReason:  geminiTraces,
		FactModelName:     geminiTraces,
	},
})

func scoreGeminiCLI(s *Span) int {
	score := 0
	if strings.HasPrefix(s.Name, "gemini_cli.") {
		score += 20
	}
	if s.Scope == "gemini-cli" {
		score += 10
	}
	switch s.Attrs.Text("gen_ai.operation.name") {
	case "llm_call", "tool_call", "user_prompt", "schedule_tool_calls", "agent_call", "system_prompt":
		score += 10
	}
	if s.Attrs.Has("gen_ai.tool.call_id") {
		score += 5
	}
	return score
}

func readGeminiCLI(s *Span) Facts {
	a := s.Attrs
	if event, ok := strings.CutPrefix(s.Name, "gemini_cli."); ok {
		return geminiEvent(a, event)
	}
	f := genaiFrame(s)
	switch cmp.Or(a.Text("gen_ai.operation.name"), s.Name) {
	case "llm_call":
		f.Role = RoleModel
		geminiModel(a, &f)
	case "tool_call":
		f.Role = RoleTool
		geminiTool(a, &f)
	case "agent_call":
		f.Role = RoleAgent
		f.UserText, f.Reply = askedText(a.Text("gen_ai.input.messages")), answerText(a.Text("gen_ai.output.messages"))
	case "user_prompt":
		f.Role, f.Agent = RoleAgent, cmp.Or(f.Agent, "gemini-cli")
		f.UserText, f.Reply = askedText(a.Text("gen_ai.input.messages")), answerText(a.Text("gen_ai.output.messages"))
	default:
		f.Role = RoleNone
	}
	return f
}

// geminiModel reads a request.
func geminiModel(a Attrs, f *Facts) {
	genaiContent(a, f)
	f.System = plainText(f.System)
	f.Provider = cmp.Or(f.Provider, "gcp.gemini")
	if f.Input.Empty() && len(f.Output) == 0 {
		f.Hidden = append(f.Hidden, FactUserMessages, FactReply, FactToolCalls, FactToolsOffered)
	}
}

// geminiTool reads a tool call: its request where the input messages would be, its response where the output messages would.
func geminiTool(a Attrs, f *Facts) {
	genaiTool(a, f)
	request := readObject(a.Text("gen_ai.input.messages"))
	if inner := request.object("request"); inner != nil {
		request = inner
	}
	f.ToolName = cmp.Or(f.ToolName, request.str("name"))
	f.CallID = cmp.Or(f.CallID, callID(request.str("callId", "call_id", "id")))
	if args := request.get("args", "arguments"); args != "" && absent(f.Arguments) {
		f.Arguments = valueOfJSON(args)
	}
	out := a.Text("gen_ai.output.messages")
	if out == "" || f.HasResult {
		return
	}
	f.HasResult = true
	f.Result = ParseValue(out)
	response := readObject(out)
	if inner := response.object("response"); inner != nil {
		response = inner
	}
	if failure := response.object("error"); failure != nil {
		f.ToolError = cmp.Or(failure.str("message"), "error")
	} else if text := response.str("error"); text != "" {
		f.ToolError = text
	}
	if parts := response.get("responseParts"); parts != "" {
		geminiResult(parts, f)
	}
}

// geminiResult reads the functionResponse that the tool's answer was made into.
func geminiResult(parts string, f *Facts) {
	for _, m := range ParseMessages(parts) {
		for _, p := range m.Parts {
			if p.Kind == PartToolResult && !p.Unrecorded {
				v := p.Value
				if inner := readObject(string(v.JSON)); len(inner) == 1 && inner.get("output") != "" {
					v = valueOfJSON(inner.get("output"))
				}
				f.Result.JSON, f.Result.Parsed = v.JSON, ParsedWrap
				if v.JSON == nil {
					f.Result.JSON = appendString(nil, v.Raw)
				}
				return
			}
		}
	}
}

// geminiEvent reads a log event.
func geminiEvent(a Attrs, event string) Facts {
	f := Facts{
		SessionID: a.Str("session.id"), UserID: a.Str("user.id", "user.email"), ResponseID: a.Str("response_id"),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	switch event {
	case "user_prompt":
		f.Role, f.Agent = RoleAgent, "gemini-cli"
		if f.UserText = a.Str("prompt"); f.UserText == "" || withheld(f.UserText) {
			f.UserText, f.Hidden = "", append(f.Hidden, FactUserMessages)
		}
	case "api_response", "api_error":
		geminiResponse(a, event, &f)
	case "tool_call":
		f.Role = RoleTool
		f.ToolName = a.Str("function_name")
		f.Arguments, _ = a.value("function_args")
		f.Denied = isAnyOf(a.Text("decision"), "reject", "cancel")
		if ok, stated := a.Bool("success"); stated && !ok {
			f.ToolError = cmp.Or(a.Text("error"), a.Text("error.message"), a.Text("error_type"), "error")
		}
	}
	return f
}

func geminiResponse(a Attrs, event string, f *Facts) {
	f.Role, f.Provider = RoleModel, "gcp.gemini"
	f.ModelRequested = a.Str("model", "model_name")
	f.Usage = Usage{Input: a.Int("input_token_count"), Output: a.Int("output_token_count"), CacheRead: a.Int("cached_content_token_count"), Reasoning: a.Int("thoughts_token_count")}
	f.FinishRaw = finishRaw(a, "finish_reasons")
	if text := a.Text("response_text"); text != "" && !withheld(text) {
		f.Output = withRole(ParseMessages(text), "assistant")
	}
	if event == "api_error" {
		f.Error = &Error{Type: a.Str("error_type", "error.type"), Message: a.Text("error"), Code: codeOf(a.Str("status_code", "http.status_code"))}
		if f.Error.Message == "" {
			f.Error.Message = a.Text("error.message")
		}
	}
}
