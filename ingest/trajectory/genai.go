package trajectory

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// captureContent is the switch of the OpenTelemetry GenAI instrumentations that lets content through.
const captureContent = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (or SPAN_ONLY) and OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"

var genaiRemedies = map[Fact]string{
	FactToolCalls:     captureContent,
	FactToolExecution: "open an execute_tool span around each tool: the instrumentation of the model client alone cannot see tools run",
	FactToolsOffered:  "record gen_ai.tool.definitions on the model call or on invoke_agent (opt-in in the conventions; many instrumentations have no switch for it: then name the tools in the catalog, tools: in pawl.yaml)",
	FactToolSchemas:   "record the parameters inside gen_ai.tool.definitions (by default only names are recommended), or name the tools with their schemas in the catalog (tools: in pawl.yaml)",
	FactArguments:     captureContent + "; gen_ai.tool.call.arguments is opt-in",
	FactResults:       captureContent + "; gen_ai.tool.call.result is opt-in",
	FactUserMessages:  captureContent,
	FactReply:         captureContent,
	FactSession:       "set gen_ai.conversation.id (or session.id) on the agent's spans",
	FactUsage:         "record gen_ai.usage.input_tokens and gen_ai.usage.output_tokens; of streams ask the provider to include usage",
	FactFinishReason:  "record gen_ai.response.finish_reasons",
	FactModelName:     "record gen_ai.request.model",
	FactModelCalls:    "instrument the model client beside the framework, so that each call is a span with gen_ai.operation.name = chat",
}

// genai reads the OpenTelemetry conventions for generative AI with content as attributes, old keys and new, and is what plain gen_ai.*
// spans of any framework are read as.
var genai = add(Dialect{Name: "otel-genai", Rank: 28, Keys: []string{"gen_ai."}, Score: scoreGenAI, Read: readGenAI, Remedies: genaiRemedies})

// strong marks of the conventions; one is as good as all, so that dialects which build on them win by their own marks.
var genaiMarks = []string{"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments"}

func scoreGenAI(s *Span) int {
	for _, k := range genaiMarks {
		if s.Attrs.Has(k) {
			return 10
		}
	}
	if s.Attrs.HasPrefix("gen_ai.") {
		return 5
	}
	return 0
}

func readGenAI(s *Span) Facts {
	f := genaiFrame(s)
	switch f.Role {
	case RoleTool:
		genaiTool(s.Attrs, &f)
		f.HandoffTo = s.Attrs.Str("gen_ai.transfer.target.name")
	case RoleModel, RoleAgent, RoleNone:
		genaiContent(s.Attrs, &f)
	case RoleHandoff:
		f.HandoffFrom, f.HandoffTo = s.Attrs.Str("gen_ai.handoff.from_agent"), s.Attrs.Str("gen_ai.handoff.to_agent", "gen_ai.transfer.target.name")
	}
	return f
}

// genaiFrame reads what is no content: role, names, usage, ids.
func genaiFrame(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		Role:      genaiRole(s),
		Agent:     genaiAgent(s),
		SessionID: a.Str("session.id", "gen_ai.conversation.id"),
		UserID:    a.Str("user.id", "enduser.id", "gen_ai.request.user"),
	}
	if t := a.Str("error.type"); t != "" {
		f.Error = &Error{Type: t, Code: codeOf(t)}
	}
	if f.Role != RoleTool {
		genaiModel(a, &f)
	}
	return f
}

// genaiModel reads what only calls of models have, and agents as their totals.
func genaiModel(a Attrs, f *Facts) {
	f.Provider = providerOf(a.Str("gen_ai.provider.name", "gen_ai.system"))
	f.ModelRequested = a.Str("gen_ai.request.model")
	f.ModelResponded = a.Str("gen_ai.response.model")
	f.ResponseID = a.Str("gen_ai.response.id")
	f.Usage = genaiUsage(a)
	f.FinishRaw = finishRaw(a, "gen_ai.response.finish_reasons", "gen_ai.response.finish_reason")
	for _, k := range []string{"gen_ai.request.stream", "gen_ai.is_streaming", "gen_ai.request.is_stream", "llm.is_streaming"} {
		if v, ok := a.Bool(k); ok && v {
			f.Streamed = true
		}
	}
}

// genaiAgent is the agent that a span names; some emitters have the name only in the span's own.
func genaiAgent(s *Span) string {
	if n := s.Attrs.Str("gen_ai.agent.name"); n != "" {
		return n
	}
	if op := s.Attrs.Text("gen_ai.operation.name"); op == "invoke_agent" {
		if n, ok := strings.CutPrefix(s.Name, "invoke_agent "); ok {
			return n
		}
	}
	return s.Attrs.Str("gen_ai.workflow.name", "gen_ai.agent.id")
}

func genaiUsage(a Attrs) Usage {
	return Usage{
		Input:  a.Int("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
		Output: a.Int("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
		CacheRead: a.Int("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cache_read_tokens",
			"gen_ai.usage.input_cached_tokens", "gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.details.cache_read_input_tokens"),
		CacheWrite: a.Int("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens",
			"gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens", "gen_ai.usage.cache_write_tokens",
			"gen_ai.usage.details.cache_write_tokens"),
		Reasoning: a.Int("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens", "gen_ai.usage.details.reasoning_tokens"),
		AudioIn:   a.Int("gen_ai.usage.audio.input_tokens", "gen_ai.usage.input_audio_tokens", "gen_ai.usage.details.input_audio_tokens"),
		AudioOut:  a.Int("gen_ai.usage.audio.output_tokens", "gen_ai.usage.output_audio_tokens", "gen_ai.usage.details.output_audio_tokens"),
		CostUSD:   a.Float("gen_ai.usage.cost", "operation.cost"),
	}
}

// genaiRole reads the operation's name, which emitters extend freely, then the span's name, then what is there.
func genaiRole(s *Span) Role {
	a := s.Attrs
	switch op := a.Text("gen_ai.operation.name"); op {
	case "chat", "text_completion", "generate_content", "completion", "acompletion", "generate", "llm_request", "llm_call":
		return RoleModel
	case "execute_tool", "tool_call", "client_tool_call", "tool":
		return RoleTool
	case "invoke_agent", "invoke_workflow", "invoke_swarm", "invoke_graph", "agent_call":
		return RoleAgent
	case "retrieval", "vector_db_retrieve", "retriever":
		return RoleRetrieval
	case "handoff", "agent_handoff":
		return RoleHandoff
	case "model_chunk":
		return RoleInner
	case "":
	default:
		return RoleNone
	}
	first, _, _ := strings.Cut(s.Name, " ")
	switch {
	case first == "execute_tool" || a.Has("gen_ai.tool.call.id") || a.Has("gen_ai.tool.name"):
		return RoleTool
	case first == "invoke_agent":
		return RoleAgent
	case first == "chat" || a.Has("gen_ai.request.model") && (a.Has("gen_ai.usage.input_tokens") || a.Has("gen_ai.usage.prompt_tokens") || a.Has("gen_ai.response.model")):
		return RoleModel
	}
	return RoleNone
}

// genaiContent reads messages, instructions and tool definitions.
func genaiContent(a Attrs, f *Facts) {
	f.System = systemText(a.jsonText("gen_ai.system_instructions", "gen_ai.request.system_instructions"))
	f.OfferedText = a.jsonText("gen_ai.tool.definitions", "gen_ai.request.available_tools")
	genaiInput(a.jsonText("gen_ai.input.messages", "gen_ai.prompt"), f)
	out := a.jsonText("gen_ai.output.messages", "gen_ai.completion")
	f.Output = asAssistant(ParseMessages(out))
	if f.FinishRaw == "" {
		f.FinishRaw = finishInOutput(out)
	}
	if len(f.Output) == 0 {
		f.Output = splitOutput(a)
	}
	f.Hidden = append(f.Hidden, hiddenMessages(f)...)
}

// genaiInput reads a list of messages, or the whole request as a traced client function has it, with instructions and definitions in it.
func genaiInput(text string, f *Facts) {
	if text = callArguments(text); kindOf(text) != '{' {
		f.Input = textHistory(text)
		return
	}
	var system string
	f.Input, system = bodyHistory(text)
	f.System = cmp.Or(f.System, system)
	f.OfferedText = cmp.Or(f.OfferedText, string(readObject(text).get("tools", "functions")))
}

// splitOutput reads an answer whose text and calls are attributes of their own.
func splitOutput(a Attrs) []Message {
	calls := splitCalls(a.jsonText("gen_ai.response.tool_calls"))
	text := textOf(ParseMessages(a.jsonText("gen_ai.response.text")))
	if len(calls) == 0 && text == "" {
		return nil
	}
	m := Message{Role: "assistant"}
	if text != "" {
		m.Parts = append(m.Parts, Part{Kind: PartText, Text: text})
	}
	m.Parts = append(m.Parts, calls...)
	return []Message{m}
}

// splitCalls reads a list of requested calls, which need not say that they are such: Google's have a name and args alone. Sentry's list of
// what Google streamed has each call twice, as it came and as {"type": "function"}.
func splitCalls(text string) []Part {
	var came, typed []Part
	for e := range elements(text) {
		if o := readObject(e); o.has("args") && o.str("type") == "" {
			came = append(came, callPart(o))
		} else if o.str("type") == "function" {
			typed = append(typed, callPart(o))
		}
	}
	if len(came) > 0 && slices.EqualFunc(came, typed, sameRequest) {
		return came
	}
	var parts []Part
	for _, m := range ParseMessages(text) {
		parts = append(parts, m.Parts...)
	}
	if requests([]Message{{Parts: parts}}) {
		return parts
	}
	return callList(text)
}

// sameRequest says whether two requests without an id ask for the same.
func sameRequest(a, b Part) bool {
	return a.ID == "" && b.ID == "" && a.Name == b.Name && string(a.Value.JSON) == string(b.Value.JSON)
}

// hiddenMessages names the facts that are gone when the emitter put a sentinel in place of its messages.
func hiddenMessages(f *Facts) []Fact {
	if !withheld(strings.TrimSpace(f.Input.Text)) {
		return nil
	}
	f.Input = History{}
	return []Fact{FactUserMessages, FactToolCalls}
}

// callArguments takes the request out of {"args":[request, ...]}, which is how a traced client function has it.
func callArguments(text string) string {
	if !strings.HasPrefix(text, `{"args":[{`) {
		return text
	}
	for e := range elements(readObject(text).get("args")) {
		return string(e)
	}
	return text
}

// textHistory is a history that is parsed only as far as it is new.
func textHistory(text string) History {
	if strings.TrimSpace(text) == "" {
		return History{}
	}
	return History{Text: text, Parse: ParseMessages}
}

// systemText reads instructions that are prose, a list of parts, or messages.
func systemText(text string) string {
	if text == "" || withheld(text) {
		return ""
	}
	if !isJSON(text) {
		return text
	}
	if s := textOf(ParseMessages(text)); s != "" {
		return s
	}
	return text
}

// asAssistant gives an answer's messages the role that their place implies.
func asAssistant(ms []Message) []Message {
	for i := range ms {
		if ms[i].Role == "" {
			ms[i].Role = "assistant"
		}
	}
	return ms
}

var (
	argumentKeys = []string{"gen_ai.tool.call.arguments", "gen_ai.tool.args", "gen_ai.tool.input", "gen_ai.tool.arguments", "gen_ai.prompt", "input.value", "input"}
	resultKeys   = []string{"gen_ai.tool.call.result", "gen_ai.tool.output", "gen_ai.tool.result", "gen_ai.completion", "tool.result", "output.value", "output"}
)

func genaiTool(a Attrs, f *Facts) {
	f.ToolName = a.Str("gen_ai.tool.name")
	f.CallID = callID(a.Str("gen_ai.tool.call.id", "gen_ai.tool.call_id"))
	f.Arguments, _ = a.value(argumentKeys...)
	f.Result, f.HasResult = a.value(resultKeys...)
	if status := a.Str("gen_ai.tool.status"); status == "error" || status == "failure" {
		f.ToolError = "error"
	}
}

// value returns the first of the keys that is there, and whether one is. An empty text counts: it may be the result.
func (a Attrs) value(keys ...string) (Value, bool) {
	for _, k := range keys {
		if v, ok := a[k]; ok && v.Type() != pcommon.ValueTypeEmpty {
			return ValueOf(v), true
		}
	}
	return Value{Parsed: ParsedAbsent}, false
}
