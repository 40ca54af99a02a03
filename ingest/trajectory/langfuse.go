package trajectory

import (
	"cmp"
	"strconv"
	"strings"
)

// Langfuse's own SDKs, and their wrappers of OpenAI and LangChain, write langfuse.observation.* on every span and no gen_ai.*. What failed
// is told by the level: the status is often left unset.
var _ = add(Dialect{
	Name: "langfuse-sdk",
	Rank: 1,
	Keys: []string{"langfuse."}, Scopes: []string{"langfuse-sdk"},
	Score: scoreLangfuse,
	Read:  readLangfuse,
	Remedies: map[Fact]string{
		FactToolCalls:     "record the model's whole message as the generation's output, tool_calls included (observeOpenAI and the LangChain CallbackHandler do)",
		FactToolExecution: `wrap each tool in an observation of type tool: startActiveObservation(name, fn, {asType: "tool"}), @observe(as_type="tool")`,
		FactToolsOffered:  "put the tools into the generation's input beside the messages: {messages, tools}",
		FactToolSchemas:   "put the tools with their parameters into the generation's input: {messages, tools}",
		FactArguments:     "set the tool observation's input, and do not mask it (capture_input, mask)",
		FactResults:       "set the tool observation's output, and do not mask it (capture_output, mask)",
		FactUserMessages:  "set the generation's input, and do not mask it (capture_input, mask)",
		FactReply:         "set the generation's output, and do not mask it (capture_output, mask)",
		FactSession:       "propagate a session: propagateAttributes({sessionId}), propagate_attributes(session_id=...)",
		FactUsage:         "set usageDetails on the generation; of streams ask the provider to include usage (OpenAI: stream_options.include_usage = true)",
		FactFinishReason:  "put finish_reason into the generation's output or metadata: the OpenAI wrapper leaves it out",
		FactModelName:     "set model on the generation",
		FactModelCalls:    `record each call of a model as an observation of type generation: observeOpenAI(client), the LangChain CallbackHandler, startActiveObservation(name, fn, {asType: "generation"})`,
	},
})

func scoreLangfuse(s *Span) int {
	score := 0
	if s.Attrs.Has("langfuse.observation.type") {
		score += 10
	}
	if s.Scope == "langfuse-sdk" {
		score += 10
	}
	return score
}

func readLangfuse(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		SessionID: a.Str("session.id", "langfuse.session.id", langfuseMeta+"thread_id"),
		UserID:    a.Str("user.id", "langfuse.user.id"),
		Agent:     a.Str(langfuseMeta + "lc_agent_name"),
		Error:     langfuseError(a),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	kind := strings.ToLower(a.Str("langfuse.observation.type"))
	if kind == "span" && langfuseRanTool(a) {
		kind = "tool"
	}
	switch kind {
	case "generation":
		f.Role = RoleModel
		langfuseModel(s, &f)
	case "tool":
		f.Role = RoleTool
		langfuseTool(s, &f)
	case "agent":
		f.Role = RoleAgent
		f.Agent = s.Name
		langfuseRun(a, &f)
	case "retriever":
		f.Role = RoleRetrieval
	default:
		langfuseSpan(s, &f)
	}
	return f
}

// langfuseSpan reads an observation of no type of its own. At the root it is the run. The LangChain handler before version 5.2 gives tools none,
// nor do teams that only name a span after its tool; and of LangGraph's nodes that ask the model, only the output tells why it stopped.
func langfuseSpan(s *Span, f *Facts) {
	a := s.Attrs
	if s.ParentID == "" {
		langfuseRun(a, f)
		return
	}
	if a.Str("langfuse.observation.level") == "DEBUG" {
		return
	}
	if answer, ok := soleAnswer(a.jsonText("langfuse.observation.output")); ok {
		readSoleAnswer(answer, f)
		return
	}
	f.Role, f.IfAsked = RoleTool, true
	langfuseTool(s, f)
}

// langfuseRanTool says whether a plain span is a tool's: so the first LangChain handlers on OpenTelemetry wrote them. Only a tool's start
// tells LangChain's handlers its inputs and a colour, and only a tool puts out a tool's message.
func langfuseRanTool(a Attrs) bool {
	if a.Has(langfuseMeta+"inputs") && a.Has(langfuseMeta+"color") {
		return true
	}
	_, ok := readToolMessage(a.Text("langfuse.observation.output"))
	return ok
}

const langfuseMeta = "langfuse.observation.metadata."

// langfuseError reads what the level tells. Its message is a thrown error as text: "Error: 401 ...".
func langfuseError(a Attrs) *Error {
	if a.Str("langfuse.observation.level") != "ERROR" {
		return nil
	}
	message := a.Text("langfuse.observation.status_message")
	class, rest, ok := strings.Cut(message, ": ")
	if !ok || strings.ContainsAny(class, " \n") || !strings.HasSuffix(class, "Error") && !strings.HasSuffix(class, "Exception") {
		return &Error{Message: message}
	}
	return &Error{Type: class, Message: rest, Code: codeInMessage(rest)}
}

func langfuseModel(s *Span, f *Facts) {
	a := s.Attrs
	params := readObject(a.jsonText("langfuse.observation.model.parameters"))
	in, out := callArguments(a.jsonText("langfuse.observation.input")), a.jsonText("langfuse.observation.output")
	f.Streamed = params.isTrue("stream") || a.Has("langfuse.observation.completion_start_time")
	f.Provider = providerOf(a.Str(langfuseMeta + "ls_provider"))
	if strings.HasPrefix(s.Name, "OpenAI.") || strings.HasPrefix(s.Name, "OpenAI-") { // how the wrapper of its client names calls
		f.Provider = "openai"
	}
	// One key holds the model that was asked for until the answer names another. Of a stream it is never renamed.
	f.ModelRequested = a.Str(langfuseMeta + "ls_model_name")
	if model := a.Str("langfuse.observation.model.name"); out != "" && !f.Streamed {
		f.ModelResponded = model
	} else {
		f.ModelRequested = cmp.Or(f.ModelRequested, model)
	}
	langfuseInput(in, a, f)
	f.Output = asAssistant(ParseMessages(out))
	f.FinishRaw = langfuseFinish(out, a)
	if kindOf(out) == '{' {
		f.ResponseID = langfuseResponseID(readObject(out))
	}
	f.Usage, f.InputExcludes = langfuseUsage(a.jsonText("langfuse.observation.usage_details"))
	cost := readObject(a.jsonText("langfuse.observation.cost_details"))
	if f.Usage.Input != nil || f.Usage.Output != nil { // a failed call is put down as free of charge
		f.Usage.CostUSD = cost.decimal("total")
	}
	if in == "" {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
}

// langfuseInput reads the messages, and the tools and instructions beside them: of OpenAI's Responses API these are in the metadata.
func langfuseInput(in string, a Attrs, f *Facts) {
	f.Input, f.System = bodyHistory(in)
	if f.Input.Text != "" {
		f.Input.Parse = langfuseMessages
	}
	f.OfferedText = cmp.Or(string(readObject(in).get("tools", "functions")), a.jsonText(langfuseMeta+"tools"), langfuseDefinitions(in))
	f.System = cmp.Or(f.System, a.Text(langfuseMeta+"instructions"))
}

// langfuseDefinitions collects the definitions that the LangChain handler puts behind the messages, each as one from the tool.
func langfuseDefinitions(in string) string {
	var list eventMessages
	if strings.Contains(in, `"function"`) && kindOf(in) == '[' {
		for e := range elements(in) {
			if def := definitionIn(readObject(e)); def != "" {
				list.add(def)
			}
		}
	}
	return list.text()
}

// definitionIn is the definition of a tool that stands where a message's content would, "" when none does.
func definitionIn(o object) string {
	content := o.get("content")
	if o.str("role") != "tool" || kindOf(content) != '{' || o.has("tool_call_id") {
		return ""
	}
	if def := readObject(content); def.str("type") != "function" || def.object("function").str("name") == "" {
		return ""
	}
	return content
}

// langfuseMessages reads a history. In those of the LangChain handler a tool's answer has the tool's name for a role, and no call id.
func langfuseMessages(text string) []Message {
	if k := kindOf(text); k != '[' && k != ',' || !strings.Contains(text, `"role"`) {
		return withRole(ParseMessages(text), "user")
	}
	var out []Message
	for e := range elements(text) {
		o := readObject(e)
		role := o.str("role")
		if definitionIn(o) != "" {
			continue
		}
		if role == "" || foldRole(role) != "" || !o.has("content") {
			out = append(out, ParseMessages(e)...)
			continue
		}
		p := resultPart(o, 0)
		p.Name = role
		out = append(out, Message{Role: "tool", Parts: []Part{p}})
	}
	return settleRoles(out)
}

func langfuseFinish(out string, a Attrs) string {
	if kindOf(out) == '{' {
		o := readObject(out)
		if s := cmp.Or(o.object("response_metadata").str("finish_reason", "stop_reason"), bodyFinish(o)); s != "" {
			return s
		}
	}
	status := a.Str(langfuseMeta + "status")
	if status == "incomplete" {
		return cmp.Or(readObject(a.jsonText(langfuseMeta+"incomplete_details")).str("reason"), status)
	}
	return cmp.Or(a.Str(langfuseMeta+"finish_reason"), status)
}

// langfuseResponseID is the id of a response that was put out whole; a lone message or item has an id of another kind.
func langfuseResponseID(o object) string {
	if o.get("choices", "candidates") != "" || o.str("object") == "response" {
		return o.str("id")
	}
	return ""
}

// langfuseUsage reads the counts. The wrappers split them into buckets that exclude one another ("input" less "input_cached_tokens"), and the
// provider's total tells whether they did.
func langfuseUsage(text string) (Usage, bool) {
	o := readObject(text)
	in, out := o.count("input"), o.count("output")
	if in == nil && out == nil {
		return usageOf(o), o.get("cache_read_input_tokens", "cache_creation_input_tokens") != "" && o.get("prompt_tokens") == ""
	}
	u := Usage{
		Input: in, Output: out,
		CacheRead:  o.count("input_cached_tokens", "input_cache_read", "cache_read_input_tokens"),
		CacheWrite: o.count("input_cache_creation", "input_cache_write", "cache_creation_input_tokens"),
		Reasoning:  o.count("output_reasoning_tokens", "output_reasoning"),
		AudioIn:    o.count("input_audio_tokens", "input_audio"),
		AudioOut:   o.count("output_audio_tokens", "output_audio"),
	}
	if total := o.count("total"); total == nil || in == nil || out == nil || *in+*out != *total {
		u.Input, u.Output = sumOf(o, "input"), sumOf(o, "output")
	}
	return u, o.get("cache_read_input_tokens", "cache_creation_input_tokens") != ""
}

// sumOf adds the counts whose names begin so; nil when there is none.
func sumOf(o object, prefix string) *int64 {
	var sum *int64
	for _, m := range o {
		if n := o.count(m.name); strings.HasPrefix(m.name, prefix) && n != nil {
			if sum == nil {
				sum = new(int64)
			}
			*sum += *n
		}
	}
	return sum
}

func langfuseTool(s *Span, f *Facts) {
	a := s.Attrs
	f.ToolName = s.Name
	in, _ := a.value("langfuse.observation.input")
	f.Arguments = tracedArguments(in)
	var out Value
	out, f.HasResult = a.value("langfuse.observation.output")
	text := a.Text("langfuse.observation.output")
	tracedResult(text, out, f)
	if m, ok := readToolMessage(text); ok {
		f.ToolName = toolNameOf(m.Name, f.ToolName)
	}
}

// langfuseRun reads what a run was asked and what it answered: of the trace as a whole where that is said.
func langfuseRun(a Attrs, f *Facts) {
	f.UserText = cmp.Or(langfuseAsked(a.jsonText("langfuse.trace.input")), langfuseAsked(a.jsonText("langfuse.observation.input")))
	f.Reply = cmp.Or(decodedAnswer(a.jsonText("langfuse.trace.output")), answerText(a.jsonText("langfuse.observation.output")))
}

// langfuseAsked is the user's text in an input, also in that of a traced function: {"args": [text], "kwargs": {...}}.
func langfuseAsked(in string) string {
	if text := plainText(in); kindOf(in) == '"' && kindOf(text) == '{' {
		in = text
	}
	if kindOf(in) == '{' {
		if v := ParseValue(in); v.Parsed == ParsedArgs {
			return askedArgument(v)
		}
	}
	return askedText(in)
}

// decimal returns the first of the names that holds a number which is not negative.
func (o object) decimal(names ...string) *float64 {
	for _, n := range names {
		if f, err := strconv.ParseFloat(strings.Trim(o.get(n), `"`), 64); err == nil && f >= 0 {
			return &f
		}
	}
	return nil
}
