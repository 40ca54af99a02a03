package trajectory

import "strings"

// Home-made spans with bare keys. They are taken for a model call only where two of a model, tokens and a prompt are there, and for a tool's
// execution where two of a name, arguments and a result are: a span of HTTP may well carry a model.
var raw = add(Dialect{
	Name:  "raw",
	Rank:  35,
	Keys:  []string{"model", "llm.", "llm_model", "ai.model", "tool", "tokens", "usage.", "input_tokens", "output_tokens", "prompt", "completion", "messages"},
	Score: scoreRaw,
	Read:  readRaw,
	Remedies: map[Fact]string{
		FactToolCalls:     rawAdvice,
		FactToolExecution: "open a span around each tool with tool.name, tool.arguments and tool.result (better: the conventions' execute_tool)",
		FactToolsOffered:  "record gen_ai.tool.definitions on the span of the model call",
		FactToolSchemas:   "record gen_ai.tool.definitions on the span of the model call",
		FactArguments:     "record tool.arguments on the tool's span (better: gen_ai.tool.call.arguments)",
		FactResults:       "record tool.result on the tool's span (better: gen_ai.tool.call.result)",
		FactUserMessages:  rawAdvice,
		FactReply:         rawAdvice,
		FactUsage:         "record input_tokens and output_tokens (better: gen_ai.usage.*) on the span of the model call",
		FactFinishReason:  "record finish_reason (better: gen_ai.response.finish_reasons) on the span of the model call",
		FactModelName:     "record model (better: gen_ai.request.model) on the span of the model call",
		FactSession:       "record session.id on the spans of the run",
	},
})

const rawAdvice = "record the messages as gen_ai.input.messages and gen_ai.output.messages, or use an instrumentation of the model client"

var (
	rawModel  = []string{"model", "model_name", "model.name", "llm.model", "llm_model", "ai.model"}
	rawInput  = []string{"input_tokens", "prompt_tokens", "promptTokens", "inputTokens", "tokens.in", "tokens.input", "tokens.prompt", "tokens_in", "llm.tokens.input", "llm.prompt_tokens", "usage.input_tokens", "usage.prompt_tokens"}
	rawOutput = []string{"output_tokens", "completion_tokens", "completionTokens", "outputTokens", "tokens.out", "tokens.output", "tokens.completion", "tokens_out", "llm.tokens.output", "llm.completion_tokens", "usage.output_tokens", "usage.completion_tokens"}
	rawPrompt = []string{"messages", "prompt", "llm.prompt", "llm.messages", "llm.input", "input.messages"}
	rawAnswer = []string{"completion", "llm.completion", "llm.response", "llm.output", "output.messages"}
	rawTool   = []string{"tool.name", "tool_name", "tool"}
	rawArgs   = []string{"tool.arguments", "tool.args", "tool.input", "tool_arguments", "tool_args", "tool_input"}
	rawResult = []string{"tool.result", "tool.output", "tool_result", "tool_output"}
)

func (a Attrs) hasAny(keys []string) int {
	for _, k := range keys {
		if a.Has(k) {
			return 1
		}
	}
	return 0
}

func rawRole(a Attrs) Role {
	if a.hasAny(rawTool)+a.hasAny(rawArgs)+a.hasAny(rawResult) >= 2 {
		return RoleTool
	}
	tokens := a.Int(rawInput...) != nil || a.Int(rawOutput...) != nil
	marks := a.hasAny(rawModel) + max(a.hasAny(rawPrompt), a.hasAny(rawAnswer))
	if tokens {
		marks++
	}
	if marks >= 2 {
		return RoleModel
	}
	return RoleNone
}

// scoreRaw is low: bare keys stand on the spans of other dialects too, which then tell more.
func scoreRaw(s *Span) int {
	if rawRole(s.Attrs) == RoleNone {
		return 0
	}
	return 4
}

func readRaw(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		Role:  rawRole(a),
		Agent: a.Str("agent.name", "agent_name", "agent"), SessionID: a.Str("session.id", "session_id", "conversation_id", "conversation.id", "thread_id"),
		UserID: a.Str("user.id", "user_id"), Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	if text := a.Str("error", "error.message", "error_message"); text != "" && text != "false" && text != "true" {
		f.Error = &Error{Type: a.Str("error.type", "error_type"), Message: text}
	}
	if f.Role == RoleTool {
		f.ToolName, f.CallID = a.Str(rawTool...), callID(a.Str("tool.call_id", "tool_call_id", "tool.id", "call_id"))
		f.Arguments, _ = a.value(rawArgs...)
		f.Result, f.HasResult = a.value(rawResult...)
		return f
	}
	f.Provider, f.ModelRequested = providerOf(a.Str("provider", "llm.provider", "vendor")), a.Str(rawModel...)
	f.ResponseID = a.Str("response_id", "response.id")
	f.Usage = Usage{Input: a.Int(rawInput...), Output: a.Int(rawOutput...), CacheRead: a.Int("cached_tokens", "cache_read_tokens", "cache_read_input_tokens"),
		Reasoning: a.Int("reasoning_tokens"), CostUSD: a.Float("cost_usd", "cost", "cost.usd", "llm.cost")}
	f.FinishRaw = finishRaw(a, "finish_reason", "stop_reason", "finishReason", "llm.finish_reason")
	f.Input = spokenHistory(a.jsonText(rawPrompt...))
	f.System = a.Str("system_prompt", "system", "instructions")
	if text := a.jsonText(append(rawAnswer[:len(rawAnswer):len(rawAnswer)], "response", "output", "answer")...); text != "" {
		f.Output = withRole(asAssistant(ParseMessages(text)), "assistant")
	}
	f.OfferedText = a.jsonText("tools", "functions", "llm.tools")
	return f
}

// spokenHistory reads messages, or a prompt that is prose: the user's words.
func spokenHistory(text string) History {
	if isJSON(text) {
		return textHistory(text)
	}
	if text = plainText(text); strings.TrimSpace(text) == "" {
		return History{}
	}
	return History{Messages: []Message{{Role: "user", Parts: []Part{{Kind: PartText, Text: text}}}}}
}
