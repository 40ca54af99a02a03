package trajectory

import (
	"cmp"
	"strings"
)

// OpenLLMetry (Traceloop) wrote indexed keys until spring 2026 and the conventions' own message attributes since. Its structure spans
// (workflow, agent, task, tool) are the same in both. Laminar's SDK builds on it and adds lmnr.* to its spans.
var _ = add(Dialect{Name: "openllmetry", Rank: 12,
	Keys:   []string{"traceloop.", "llm.", "lmnr.", "gen_ai.prompt.", "gen_ai.completion.", "gen_ai.is_streaming"},
	Scopes: []string{"@traceloop/", "traceloop.tracer"},
	Score:  scoreOpenLLMetry, Read: readOpenLLMetry, Remedies: openLLMetryRemedies, Advice: adviceOfConverse})

var openLLMetryRemedies = map[Fact]string{
	FactRoot:          "withWorkflow, withAgent and withTool end their span only when the promise fulfils: catch errors inside, or open the run's own span around them",
	FactToolCalls:     "set TRACELOOP_TRACE_CONTENT=true; the LangChain instrumentation leaves requested calls out: instrument the provider's client too",
	FactToolExecution: "wrap tools with withTool / @tool; a tool that throws leaves no span there (catch errors inside), and the tools of an MCP session are in a trace of the session's own",
	FactToolsOffered:  "instrument the provider's client beside the framework: the LangChain, Anthropic and Bedrock instrumentations record no definitions",
	FactToolSchemas:   "instrument the provider's client: it records gen_ai.tool.definitions with parameters",
	FactArguments:     "set TRACELOOP_TRACE_CONTENT=true",
	FactResults:       "set TRACELOOP_TRACE_CONTENT=true",
	FactUserMessages:  "set TRACELOOP_TRACE_CONTENT=true",
	FactReply:         "set TRACELOOP_TRACE_CONTENT=true",
	FactUsage:         "of streams ask the provider to include usage (OpenAI: stream_options.include_usage = true)",
	FactSession:       "call withAssociationProperties({session_id: ...}) around the run",
	FactFinishReason:  "update the instrumentation: old versions do not record the finish reason of every provider",
	FactModelCalls:    "initialise the SDK before the provider's client is imported (or pass it in instrumentModules); a call that fails leaves no span there, and an MCP session that is opened outside the run has a trace of its own: open it inside",
	FactModelName:     keptBy("OpenLLMetry", "gen_ai.request.model"),
}

func scoreOpenLLMetry(s *Span) int {
	a, score := s.Attrs, 0
	for _, key := range []string{"traceloop.span.kind", "traceloop.workflow.name", "llm.request.type"} {
		if a.Has(key) {
			score += 10
		}
	}
	if a.Has("gen_ai.prompt.0.role") || a.Has("gen_ai.completion.0.role") || a.Has("gen_ai.completion.0.content") || a.Has("lmnr.span.path") {
		score += 10
	}
	if score == 0 && (a.Has("traceloop.entity.name") || a.Has("traceloop.entity.path")) {
		score = 10
	}
	if isTraceloopScope(s.Scope) {
		score += 5
		if a.Has("gen_ai.request.model") || a.Has("traceloop.entity.output") || a.Has("traceloop.entity.input") {
			score += 10
		}
	}
	if a.Has("gen_ai.is_streaming") || a.Has("llm.usage.total_tokens") {
		score += 2
	}
	return score
}

func isTraceloopScope(scope string) bool {
	return strings.HasPrefix(scope, "@traceloop/") || scope == "traceloop.tracer"
}

func readOpenLLMetry(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	if role := openLLMetryRole(s); role != f.Role {
		if f.Role == RoleTool {
			genaiModel(a, &f)
		}
		f.Role = role
	}
	f.SessionID = cmp.Or(f.SessionID, associated(a, "session_id", "sessionId", "thread_id", "chat_id", "conversation_id"))
	f.UserID = cmp.Or(f.UserID, associated(a, "user_id", "userId"))
	switch f.Role {
	case RoleModel:
		openLLMetryModel(s, &f)
	case RoleTool:
		openLLMetryTool(s, &f)
	case RoleAgent:
		f.Agent = cmp.Or(a.Str("gen_ai.agent.name", "traceloop.entity.name", "traceloop.workflow.name"), strings.TrimSuffix(s.Name, ".agent"))
		f.Frame = strings.EqualFold(a.Str("traceloop.span.kind"), "workflow")
		openLLMetryRun(a, &f)
	case RoleHandoff:
		from, to, ok := strings.Cut(strings.TrimSuffix(s.Name, ".handoff"), " → ")
		if !ok {
			from = ""
		}
		f.HandoffFrom = cmp.Or(a.Str("gen_ai.handoff.from_agent"), spoken(from))
		f.HandoffTo = cmp.Or(a.Str("gen_ai.handoff.to_agent"), spoken(to))
	case RoleNone:
		if s.ParentID == "" {
			openLLMetryRun(a, &f)
		}
	}
	return f
}

// spoken is a text unless it is one of the emitters' words for nothing.
func spoken(s string) string {
	if sentinel(s) {
		return ""
	}
	return s
}

// associated reads the properties that the application attached to the run.
func associated(a Attrs, names ...string) string {
	for _, prefix := range []string{"traceloop.association.properties.", "lmnr.association.properties."} {
		for _, n := range names {
			if s := a.Str(prefix + n); s != "" {
				return s
			}
		}
	}
	return ""
}

// openLLMetryRole folds the kinds. A workflow is the agent's run only at the root: the LangChain instrumentation calls every runnable one.
func openLLMetryRole(s *Span) Role {
	a := s.Attrs
	kind := strings.ToLower(cmp.Or(a.Str("traceloop.span.kind"), a.Str("lmnr.span.type")))
	if kind == "tool" && a.Str("llm.request.type") == "chat" {
		kind = "llm" // inside a tool Laminar before 0.7 hands the tool's type on to the spans below
	}
	switch kind {
	case "tool":
		return RoleTool
	case "agent":
		return RoleAgent
	case "llm":
		return RoleModel
	case "handoff":
		return RoleHandoff
	case "workflow":
		if s.ParentID == "" {
			return RoleAgent
		}
		return RoleNone
	case "session":
		return RoleNone
	}
	if role := genaiRole(s); role != RoleNone {
		return role
	}
	switch {
	case isAnyOf(a.Str("llm.request.type"), "chat", "completion"):
		return RoleModel
	case kind == "" && isTraceloopScope(s.Scope) && a.Has("gen_ai.request.model") && !a.Has("gen_ai.operation.name"):
		return RoleModel
	case a.Has("gen_ai.completion.0.role") || a.Has("gen_ai.completion.0.content"):
		return RoleModel
	case s.ParentID == "" && a.Has("lmnr.span.path"):
		return RoleAgent
	}
	return RoleNone
}

func openLLMetryModel(s *Span, f *Facts) {
	a := s.Attrs
	genaiContent(a, f)
	if a.Has("gen_ai.prompt.0.role") {
		f.Input = History{Flat: a.flat("gen_ai.prompt."), Item: indexedMessage}
	} else if in := indexedMessages(a.indexed("gen_ai.prompt.")); len(in) > 0 {
		f.Input = History{Messages: in}
	}
	completions := a.indexed("gen_ai.completion.")
	if out := indexedMessages(completions); len(out) > 0 {
		f.Output = withRole(out, "assistant")
	}
	if f.Input.Empty() {
		f.Input = textHistory(a.jsonText("lmnr.span.input"))
	}
	if len(f.Output) == 0 {
		f.Output = withRole(ParseMessages(a.jsonText("lmnr.span.output")), "assistant")
	}
	f.InputExcludes = strings.HasPrefix(s.Scope, "@traceloop/instrumentation-anthropic")
	if len(completions) > 0 {
		f.FinishRaw = cmp.Or(f.FinishRaw, completions[0].Str("finish_reason"))
	}
	if f.OfferedText == "" {
		f.Offered = indexedFunctions(a.indexed("llm.request.functions."))
	}
	if withheld(a.Text("gen_ai.prompt.0.content")) {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
	if withheld(a.Text("gen_ai.completion.0.content")) {
		f.Hidden = append(f.Hidden, FactReply)
	}
	if finishOf(f.FinishRaw) == FinishToolCalls && !requests(f.Output) {
		f.Hidden = append(f.Hidden, FactToolCalls) // the answer was a call, and the emitter left it out
	}
}

// requests says whether an answer holds a requested call.
func requests(ms []Message) bool {
	for _, m := range ms {
		for _, p := range m.Parts {
			if p.Kind == PartToolCall {
				return true
			}
		}
	}
	return false
}

// indexedMessages reads gen_ai.prompt.N.* and gen_ai.completion.N.*.
func indexedMessages(items []Attrs) []Message {
	var out []Message
	for _, it := range items {
		if m, ok := indexedMessage(it); ok {
			out = append(out, m)
		}
	}
	return settleRoles(out)
}

func indexedMessage(it Attrs) (Message, bool) {
	content := it.Text("content")
	if content == "null" || withheld(content) {
		content = ""
	}
	m := Message{Role: foldRole(it.Text("role"))}
	id := callID(it.Text("tool_call_id"))
	switch parts := partsOfText(content, 0); {
	case (m.Role == "tool" || id != "") && !requests([]Message{{Parts: parts}}):
		m.Parts = []Part{{Kind: PartToolResult, ID: id, Name: it.Str("name"), Value: ParseValue(content), Unrecorded: content == "" && !it.Has("content")}}
	default:
		m.Parts = parts
	}
	if r := it.Text("reasoning"); r != "" {
		m.Parts = append([]Part{{Kind: PartReasoning, Text: r}}, m.Parts...)
	}
	for _, c := range it.indexed("tool_calls.") {
		if name := cmp.Or(c.Text("name"), c.Text("function.name")); name != "" {
			args, _ := c.firstText("arguments", "function.arguments")
			m.Parts = append(m.Parts, requestedCall(c.Text("id"), name, args))
		}
	}
	if name := it.Text("function_call.name"); name != "" && !requests([]Message{m}) {
		m.Parts = append(m.Parts, requestedCall(it.Text("function_call.id"), name, it.Text("function_call.arguments")))
	}
	return m, len(m.Parts) > 0 || it.Has("role") || it.Has("content")
}

// indexedFunctions reads llm.request.functions.N.*; the JavaScript SDK calls the parameters "arguments".
func indexedFunctions(items []Attrs) *ToolSet {
	if len(items) == 0 {
		return nil
	}
	defs := make([]ToolDef, 0, len(items))
	for _, it := range items {
		d := ToolDef{Name: it.Str("name"), Description: it.Str("description")}
		if schema, _ := it.firstText("parameters", "arguments", "input_schema"); kindOf(schema) == '{' {
			d.Schema = canonicalSchema(schema)
		}
		defs = append(defs, d)
	}
	return NewToolSet(defs)
}

func openLLMetryTool(s *Span, f *Facts) {
	a := s.Attrs
	genaiTool(a, f)
	in, hasIn := a.firstText("traceloop.entity.input", "lmnr.span.input")
	out, hasOut := a.firstText("traceloop.entity.output", "lmnr.span.output", "mcp.response.value")
	if absent(f.Arguments) && hasIn {
		f.Arguments = entityArguments(in)
	}
	if !f.HasResult && hasOut {
		f.HasResult = true
		f.Result, f.ToolError = entityResult(out)
	}
	message, isMessage := readToolMessage(cmp.Or(out, a.Text("gen_ai.tool.call.result")))
	if isMessage {
		f.CallID = cmp.Or(f.CallID, message.ID)
		f.Result, f.ToolError = message.result(f.Result), cmp.Or(message.Error, f.ToolError)
	}
	name, _ := strings.CutSuffix(strings.TrimPrefix(s.Name, "execute_tool "), ".tool")
	f.ToolName = toolNameOf(f.ToolName, message.Name, a.Str("traceloop.entity.name", "ai.toolCall.name"), name) // the latter where Laminar reads the AI SDK
	f.CallID = cmp.Or(f.CallID, callID(a.Str("ai.toolCall.id")))
	if withheld(in) {
		f.Hidden = append(f.Hidden, FactArguments)
	}
	if withheld(out) {
		f.Hidden = append(f.Hidden, FactResults)
	}
}

// toolNameOf is the first name that is a tool's own; some instrumentations give the class that implements it.
func toolNameOf(names ...string) string {
	for _, n := range names {
		if n != "" && !isAnyOf(n, "DynamicStructuredTool", "DynamicTool", "StructuredTool", "BaseTool", "FunctionTool", "Tool", "unknown") {
			return n
		}
	}
	return ""
}

// entityArguments reads the input of a decorated function: {args, kwargs}, {"args":[x]}, or MCP's {tool_name, arguments}.
func entityArguments(in string) Value {
	v := ParseValue(in)
	if v.Parsed == ParsedArgs || len(v.JSON) == 0 || v.JSON[0] != '{' {
		return v
	}
	o := readObject(string(v.JSON))
	if args := o.get("arguments"); args != "" && o.has("tool_name") {
		v.JSON, v.Parsed = canonical(args), ParsedWrap
		return v
	}
	if args := o.get("args"); len(o) == 1 && kindOf(args) == '[' {
		return soleArgument(v, args)
	}
	return v
}

// soleArgument unwraps {"args":[x]}: x is the arguments, or JSON text of them.
func soleArgument(v Value, args string) Value {
	var list []string
	for e := range elements(args) {
		list = append(list, e)
	}
	v.Parsed = ParsedArgs
	switch len(list) {
	case 0:
		v.JSON = []byte("{}")
	case 1:
		v.JSON = canonical(cmp.Or(string(valueOfJSON(list[0]).JSON), list[0]))
	default:
		v.JSON = canonical(args)
	}
	return v
}

// entityResult reads the output of a decorated function or an MCP call, and the error mark in it.
func entityResult(out string) (Value, string) {
	v := ParseValue(out)
	if len(v.JSON) == 0 || v.JSON[0] != '{' {
		return v, ""
	}
	o := readObject(string(v.JSON))
	inner := o.get("result")
	if inner == "" || len(o) > 2 || len(o) == 2 && !o.has("is_error") {
		return v, failureIn(o)
	}
	r, _ := resultValue(inner, 0)
	failure := ""
	if o.isTrue("is_error", "isError") {
		failure = cmp.Or(r.Raw, "error")
	}
	if r.JSON == nil && r.Raw != "" {
		r.JSON = appendString(nil, r.Raw)
	}
	v.JSON, v.Parsed = r.JSON, ParsedWrap
	return v, failure
}

// failureIn reads the error marks that results of MCP and Anthropic tools carry.
func failureIn(o object) string {
	if !o.isTrue("is_error", "isError") {
		return ""
	}
	v, _ := resultValue(o.get("content", "error", "message"), 0)
	return cmp.Or(v.Raw, "error")
}

// openLLMetryRun reads what an agent or workflow was asked and what it answered.
func openLLMetryRun(a Attrs, f *Facts) {
	in, _ := a.firstText("traceloop.entity.input", "lmnr.span.input")
	out, _ := a.firstText("traceloop.entity.output", "lmnr.span.output")
	if v := entityArguments(in); v.Parsed == ParsedArgs || len(v.JSON) > 0 && v.JSON[0] == '[' {
		f.UserText = askedArgument(v)
	} else {
		f.UserText = askedText(in)
	}
	f.Reply = decodedAnswer(out)
}

// decodedAnswer is the text of an output that may have been encoded twice, as that of a decorated function which returns a model's answer.
func decodedAnswer(out string) string {
	text := answerText(out)
	if kindOf(out) == '"' && kindOf(text) == '{' {
		if inner := soleMember(text, "output", "result", "answer", "text", "response", "final_output"); kindOf(inner) == '"' {
			return plainText(inner)
		}
		return cmp.Or(lastAnswer(ParseMessages(text)), text)
	}
	return text
}

// askedArgument is the text that a decorated function was called with, if it was called with one.
func askedArgument(v Value) string {
	raw := string(v.JSON)
	if kindOf(raw) == '[' {
		raw = firstElement(raw)
	}
	if kindOf(raw) == '"' {
		return plainText(raw)
	}
	return askedText(raw)
}

// adviceOfConverse tells of Bedrock's Converse, of which OpenLLMetry for JavaScript records the model's name and nothing else.
func adviceOfConverse(s *Span, f Fact) string {
	if !strings.HasSuffix(s.Scope, "instrumentation-bedrock") || s.Attrs.HasPrefix("gen_ai.usage.") || s.Attrs.Has("gen_ai.input.messages") || s.Attrs.Has("gen_ai.prompt.0.content") {
		return ""
	}
	switch f {
	case FactToolCalls, FactToolsOffered, FactToolSchemas, FactArguments, FactResults, FactUsage, FactFinishReason, FactUserMessages, FactReply:
		return "of Bedrock's Converse OpenLLMetry records the model's name alone: use @arizeai/openinference-instrumentation-bedrock, or call the model through InvokeModel"
	}
	return ""
}
