package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

// OpenInference flattens lists into indexed keys and keeps whole bodies in input.value and output.value beside them. Instrumentors differ in
// which of the two is complete, so both are read and the one without holes wins.
var openInference = add(Dialect{
	Name:  "openinference",
	Rank:  3,
	Keys:  []string{"openinference.", "llm.", "tool.", "input.", "output."},
	Score: scoreOpenInference,
	Read:  readOpenInference,
	Remedies: map[Fact]string{
		FactRoot:          "export the root span too: it comes when the run ends; the OpenAI Agents instrumentor never exports that of a run that throws, so open a span of your own around it",
		FactToolsOffered:  "unset OPENINFERENCE_HIDE_LLM_TOOLS, and use an instrumentor version that records llm.tools",
		FactToolSchemas:   "use an instrumentor version that records llm.tools.N.tool.json_schema",
		FactToolCalls:     "unset OPENINFERENCE_HIDE_OUTPUTS and OPENINFERENCE_HIDE_OUTPUT_MESSAGES",
		FactArguments:     "unset OPENINFERENCE_HIDE_INPUTS",
		FactResults:       "unset OPENINFERENCE_HIDE_OUTPUTS",
		FactUserMessages:  "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_INPUT_MESSAGES",
		FactReply:         "unset OPENINFERENCE_HIDE_OUTPUTS and OPENINFERENCE_HIDE_OUTPUT_MESSAGES",
		FactUsage:         "update the instrumentor, so that it writes llm.token_count.prompt and llm.token_count.completion; ask the provider for usage in streams (OpenAI: stream_options.include_usage = true)",
		FactSession:       "wrap the run in setSession(context, {sessionId}) (Python: using_session(session_id=...))",
		FactWhole:         "raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (128 by default: long histories push out the answer)",
		FactToolExecution: "wrap tools with traceTool / @tracer.tool, or use the instrumentor of the framework that runs them",
		FactModelCalls:    "add the instrumentor of the model client (openinference-instrumentation-openai, @arizeai/openinference-instrumentation-openai and their kin): that of a framework may see the run alone, and some leave no span of a call that fails",
		FactFinishReason:  "update the instrumentor (newer ones write llm.finish_reason), or let output.value hold the provider's whole response (OPENINFERENCE_HIDE_OUTPUTS unset)",
		FactModelName:     "update the instrumentor: it writes llm.model_name",
	},
})

const redacted = "__REDACTED__"

func scoreOpenInference(s *Span) int {
	score := 0
	if s.Attrs.Has("openinference.span.kind") {
		score += 10
	}
	if strings.HasPrefix(s.Scope, "openinference.instrumentation.") || strings.HasPrefix(s.Scope, "@arizeai/openinference") || s.Scope == "openinference-core" {
		score += 5
	}
	if s.Attrs.Has("llm.input_messages.0.message.role") || s.Attrs.Has("llm.output_messages.0.message.role") {
		score += 3
	}
	return score
}

func readOpenInference(s *Span) Facts {
	a := s.Attrs
	meta := metadataOf(a)
	f := Facts{
		Agent:     cmp.Or(a.Str("agent.name"), meta.str("lc_agent_name")),
		SessionID: cmp.Or(a.Str("session.id", "metadata.sessionId", "metadata.session_id"), meta.str("session_id", "sessionId", "thread_id", "conversation_id")),
		UserID:    cmp.Or(a.Str("user.id", "metadata.userId", "metadata.user_id"), meta.str("user_id", "userId")),
		Feedback:  annotations(s),
	}
	switch kind := openInferenceKind(a); kind {
	case "LLM":
		readOpenInferenceModel(s, &f)
	case "TOOL":
		readOpenInferenceTool(s, &f)
	case "AGENT":
		f.Role = RoleAgent
		f.Agent = a.Str("gen_ai.agent.name", "agent.name", "graph.node.id")
		if f.Agent == "" {
			f.Agent, f.Frame = openInferenceAgent(s)
		}
		readOpenInferenceRun(s, &f)
	case "RETRIEVER":
		f.Role = RoleRetrieval
	default:
		if s.ParentID == "" {
			readOpenInferenceRun(s, &f)
		}
	}
	return f
}

// openInferenceAgent is the name of an agent that no attribute tells: its span's. The bridges for OpenAI Agents name a span after the trace, which stands
// around those of the agents; TanStack's is the name of an operation.
func openInferenceAgent(s *Span) (name string, frame bool) {
	if strings.Contains(s.Scope, "tanstack") {
		return "", false
	}
	return strings.TrimSuffix(s.Name, ".run"), strings.Contains(s.Scope, "openai-agents") || strings.Contains(s.Scope, "openai_agents")
}

// openInferenceKind folds the kind, and infers it from the keys where the emitter left it out or open.
func openInferenceKind(a Attrs) string {
	kind := strings.ToUpper(a.Str("openinference.span.kind"))
	switch {
	case kind != "" && kind != "UNKNOWN":
		return kind
	case a.Has("tool.name"):
		return "TOOL"
	case a.Has("llm.model_name") || a.Has("llm.output_messages.0.message.role"):
		return "LLM"
	}
	return kind
}

// metadataOf reads the metadata attribute, which holds JSON.
func metadataOf(a Attrs) object { return readObject(a.jsonText("metadata")) }

func readOpenInferenceModel(s *Span, f *Facts) {
	a := s.Attrs
	f.Role = RoleModel
	params, body := readObject(a.Text("llm.invocation_parameters")), a.Text("output.value")
	answer := readAnswerBody(body)
	request := readObject(a.Text("input.value"))
	f.Provider = providerOf(cmp.Or(a.Str("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"), metadataOf(a).str("ls_provider")))
	if params.get("created_at") == "" { // the bridge for OpenAI Agents puts the answer there, less its output
		f.ModelRequested = cmp.Or(a.Str("gen_ai.request.model", "llm.request.model_name"), params.str("model", "modelId", "model_name"), request.str("model", "modelId"))
	}
	f.ResponseID = answer.ID
	f.Usage = openInferenceUsage(a).or(answer.Usage)
	f.InputExcludes = answer.CacheApart && f.Usage.Input != nil && answer.Usage.Input != nil && *f.Usage.Input == *answer.Usage.Input
	f.FinishRaw = cmp.Or(finishRaw(a, "gen_ai.response.finish_reasons"), a.Str("llm.finish_reason", "llm.stop_reason", "tanstack.ai.finish_reason"), answer.Finish)
	if answer.Finish == "max_output_tokens" || answer.Finish == "content_filter" {
		f.FinishRaw = answer.Finish // the bridge for OpenAI Agents writes "stop" whatever happened
	}
	f.Streamed = params.isTrue("stream")
	f.Output = openInferenceOutput(a, body)
	f.ModelResponded = a.Str("gen_ai.response.model", "llm.response.model_name")
	if len(f.Output) > 0 || answer.ID != "" {
		f.ModelResponded = cmp.Or(f.ModelResponded, answer.Model, a.Str("llm.model_name"))
	}
	if f.ModelResponded != a.Str("llm.model_name") {
		f.ModelRequested = cmp.Or(f.ModelRequested, a.Str("llm.model_name"))
	}
	openInferenceInput(a, request, f)
	if len(f.Input.Flat) > 0 && f.System == "" && a.Text("llm.input_messages.0.message.role") != "system" { // Anthropic's stand apart from the messages
		f.System = cmp.Or(textOf(systemOf(request, 0)), textOf(systemOf(params, 0)))
	}
	openInferenceTools(a, params, request, f)
	hideModelFacts(a, f)
}

func openInferenceUsage(a Attrs) Usage {
	return Usage{
		Input:      a.Int("llm.token_count.prompt"),
		Output:     a.Int("llm.token_count.completion"),
		CacheRead:  a.Int("llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input"),
		CacheWrite: a.Int("llm.token_count.prompt_details.cache_write"),
		Reasoning:  a.Int("llm.token_count.completion_details.reasoning"),
		AudioIn:    a.Int("llm.token_count.prompt_details.audio"),
		AudioOut:   a.Int("llm.token_count.completion_details.audio"),
		CostUSD:    a.Float("llm.cost.total"),
	}
}

// openInferenceInput takes the flattened messages, unless they have holes that the request body can fill.
func openInferenceInput(a Attrs, request object, f *Facts) {
	flat := a.flat("llm.input_messages.")
	body := a.Text("input.value")
	list := body
	if request != nil {
		list = requestList(request)
	}
	fromBody := func(whole bool) (History, string, bool) {
		if whole && flat.count() >= listLength(list) {
			return History{}, "", false
		}
		in, system := textHistory(body), ""
		if request != nil {
			in, system = requestHistory(body, request)
		}
		if first := flatMessages(flat.first().items()); system == "" && kindOf(body) == '[' && len(first) > 0 && first[0].Role == "system" {
			system = textOf(first)
		}
		return in, system, true
	}
	switch {
	case len(flat) > 0 && !isJSON(body):
		f.Input = History{Flat: flat, Item: flatMessage}
	case len(flat) > 0:
		f.Input = History{Flat: flat, Item: flatMessage, Else: fromBody}
	case isJSON(body):
		f.Input, f.System, _ = fromBody(false)
	case body != "" && body != redacted:
		f.Input.Messages = []Message{{Role: "user", Parts: partsOfText(body, 0)}}
	}
}

// bodyHistory takes the list of messages out of a request body as it stands, so that what an earlier call had need not be parsed again, and
// the instructions that stand beside it.
func bodyHistory(body string) (History, string) {
	if kindOf(body) != '{' {
		return textHistory(body), ""
	}
	return requestHistory(body, readObject(body))
}

// requestHistory is bodyHistory of a body that is an object, and read.
func requestHistory(body string, o object) (History, string) {
	list := requestList(o)
	if kindOf(list) != '[' {
		return textHistory(body), ""
	}
	if first := firstElement(list); kindOf(first) == '[' { // LangChain sends batches of conversations: one, in agents
		list = first
	}
	return textHistory(list), textOf(systemOf(o, 0))
}

// bodyLength counts the messages of a request body, 0 when it has no list of them: a sender's limit on attributes cuts the flattened ones.
func bodyLength(body string) int {
	if kindOf(body) == '{' {
		body = requestList(readObject(body))
	}
	return listLength(body)
}

// requestList is the list of messages in a request.
func requestList(o object) string { return o.get("messages", "contents", "input") }

func listLength(list string) int {
	n := 0
	for range elements(list) {
		n++
	}
	return n
}

// hasHoles says that flattened messages lost something on the way: a message without content, a block without a type, a result without
// content or call id.
func hasHoles(ms []Message) bool {
	return slices.ContainsFunc(ms, func(m Message) bool {
		return len(m.Parts) == 0 || slices.ContainsFunc(m.Parts, func(p Part) bool {
			return p.Kind == PartToolResult && (p.ID == "" || absent(p.Value)) || p.Kind == PartToolCall && p.ID == "" || p.Kind == PartOther && p.Text == ""
		})
	})
}

func openInferenceOutput(a Attrs, body string) []Message {
	flat := flatMessages(a.indexed("llm.output_messages."))
	if len(flat) > 0 && !(hasHoles(flat) && isJSON(body)) {
		return withRole(flat, "assistant")
	}
	if isJSON(body) {
		if ms := withRole(ParseMessages(body), "assistant"); len(ms) > 0 {
			return ms
		}
	}
	if len(flat) == 0 && body != "" && body != redacted && !isJSON(body) {
		return []Message{{Role: "assistant", Parts: partsOfText(body, 0)}}
	}
	return withRole(flat, "assistant")
}

// flatMessages reads messages out of indexed keys.
func flatMessages(items []Attrs) []Message {
	var out []Message
	for _, it := range items {
		if m, ok := flatMessage(it); ok {
			out = append(out, m)
		}
	}
	return settleRoles(out)
}

func flatMessage(it Attrs) (Message, bool) {
	m := Message{Role: foldRole(it.Text("message.role"))}
	content := contentText(it)
	id := callID(it.Text("message.tool_call_id"))
	calls := flatCalls(it)
	switch {
	case m.Role == "tool" || id != "":
		p := Part{Kind: PartToolResult, ID: id, Name: it.Str("message.name"), Value: ParseValue(content), Unrecorded: content == "" && !it.hasContent()}
		if v, failed := resultValue(content, 0); kindOf(content) == '{' && failed {
			p.Value, p.Failed = v, true
		}
		m.Parts = []Part{p}
	case len(it.indexed("message.contents.")) > 0:
		m.Parts = flatContents(it.indexed("message.contents."), len(calls) > 0)
	case content != redacted:
		m.Parts = partsOfText(content, 0)
	}
	m.Parts = append(m.Parts, calls...)
	return m, len(m.Parts) > 0 || it.Has("message.role")
}

// hasContent says whether a flattened message states its content, be it an empty text.
func (a Attrs) hasContent() bool {
	return a.Has("message.content") || a.HasPrefix("message.content.") || a.HasPrefix("message.contents.")
}

// contentText joins the content of a message: one text, or the odd key message.content.0 of some instrumentors.
func contentText(it Attrs) string {
	if s := it.Text("message.content"); s != "" {
		return s
	}
	for _, c := range it.indexed("message.content.") {
		if s := c.Text(""); s != "" {
			return s
		}
	}
	var texts []string
	if it.Has("message.tool_call_id") {
		for _, c := range it.indexed("message.contents.") {
			texts = append(texts, c.Text("message_content.text"))
		}
	}
	return strings.Join(texts, "\n")
}

func flatCalls(it Attrs) []Part {
	var out []Part
	for _, c := range it.indexed("message.tool_calls.") {
		name := c.Text("tool_call.function.name")
		if id := c.Text("tool_call.id"); name != "" || callID(id) != "" {
			out = append(out, requestedCall(id, name, argumentsOrNone(c.Text("tool_call.function.arguments"))))
		}
	}
	if name := it.Text("message.function_call_name"); name != "" && len(out) == 0 {
		out = append(out, requestedCall("", name, argumentsOrNone(it.Text("message.function_call_arguments_json"))))
	}
	return out
}

// flatContents reads the content list. A tool_use block there repeats the message's own tool calls, where it has any.
func flatContents(blocks []Attrs, hasCalls bool) []Part {
	var out []Part
	for _, b := range blocks {
		text := b.Text("message_content.text")
		switch typ := b.Text("message_content.type"); {
		case isAnyOf(typ, "tool_use", "tool_call") || b.Has("tool_call.function.name") || b.Has("message_content.tool_call.function.name"):
			if !hasCalls {
				out = append(out, flatToolUse(b))
			}
		case typ == "tool_result":
			id, _ := b.firstText("message_content.tool_use_id", "message_content.tool_call_id", "tool_call.id")
			content, ok := b.firstText("message_content.content", "message_content.text")
			out = append(out, Part{Kind: PartToolResult, ID: callID(id), Value: ParseValue(content), Unrecorded: !ok})
		case isAnyOf(typ, "reasoning", "thinking"):
			out = append(out, Part{Kind: PartReasoning, Text: text})
		case text == redacted:
		case text != "":
			out = append(out, Part{Kind: PartText, Text: text})
		default:
			out = append(out, Part{Kind: PartOther, Text: typ})
		}
	}
	return out
}

func flatToolUse(b Attrs) Part {
	id, _ := b.firstText("message_content.id", "tool_call.id", "message_content.tool_call.id")
	name, _ := b.firstText("message_content.name", "tool_call.function.name", "message_content.tool_call.function.name")
	args, _ := b.firstText("message_content.input", "tool_call.function.arguments", "message_content.tool_call.function.arguments")
	return requestedCall(id, name, argumentsOrNone(args))
}

// argumentsOrNone reads an absent key of a requested call as OpenInference has it: a call without arguments.
func argumentsOrNone(args string) string { return cmp.Or(args, "{}") }

// openInferenceTools finds the definitions, as one text: the flattened ones, else those in the parameters, else those in the request body.
func openInferenceTools(a Attrs, params, request object, f *Facts) {
	list := []byte("[")
	for _, it := range a.indexed("llm.tools.") {
		def := strings.TrimSpace(it.Text("tool.json_schema"))
		if !wholeObject(def) {
			name := it.Str("tool.name")
			if name == "" {
				continue
			}
			def = string(appendString([]byte(`{"name":`), name)) + string(appendString([]byte(`,"description":`), it.Str("tool.description"))) + "}"
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, def...)
	}
	if len(list) > 1 {
		f.OfferedText = string(append(list, ']'))
		return
	}
	for _, o := range []object{params, request} {
		if tools := o.get("tools", "functions"); kindOf(tools) == '[' {
			f.OfferedText = tools
			return
		}
		if f.Offered = toolsOfBody(o); f.Offered != nil {
			return
		}
	}
}

// wholeObject says whether a text is one JSON object from end to end, as far as brackets tell.
func wholeObject(text string) bool {
	if kindOf(text) != '{' {
		return false
	}
	end, ok := valueEnd(text, 0)
	return ok && end == len(text)
}

// toolsOfBody reads the definitions of a request body, nil when the body has no place for them.
func toolsOfBody(o object) *ToolSet {
	if o.get("tools", "functions", "toolConfig", "tool_config", "config") == "" {
		return nil
	}
	defs, stated := toolObject(o, 0)
	if !stated {
		return nil
	}
	return NewToolSet(defs)
}

func hideModelFacts(a Attrs, f *Facts) {
	if a.Text("input.value") == redacted && f.Input.Empty() || a.Text("llm.input_messages.0.message.content") == redacted {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
	if a.Text("output.value") == redacted && len(f.Output) == 0 || a.Text("llm.output_messages.0.message.content") == redacted {
		f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
	}
}

// readOpenInferenceRun reads what the user asked and what came back off an agent span or a root.
func readOpenInferenceRun(s *Span, f *Facts) {
	in, out := s.Attrs.Text("input.value"), s.Attrs.Text("output.value")
	f.OfferedText = s.Attrs.jsonText("smolagents.tools_names")
	f.UserText, f.Reply = askedText(in), answerText(out)
	if in == redacted {
		f.Hidden = append(f.Hidden, FactUserMessages)
	}
	if out == redacted {
		f.Hidden = append(f.Hidden, FactReply)
	}
}
