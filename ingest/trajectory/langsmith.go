package trajectory

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// LangSmith's OpenTelemetry exporter writes each run as a span: its inputs and outputs whole, as JSON, into gen_ai.prompt and
// gen_ai.completion, whatever kind of run it is. The status is always OK; what went wrong is an exception event.
var langSmith = add(Dialect{
	Name: "langsmith",
	Rank: 10,
	Keys: []string{"langsmith."}, Scopes: []string{"langsmith"},
	Score:    scoreLangSmith,
	Read:     readLangSmith,
	Includes: overGenAI,
	Remedies: map[Fact]string{
		FactToolCalls:     "unset LANGSMITH_HIDE_OUTPUTS",
		FactToolExecution: "wrap tools with traceable(fn, {run_type: \"tool\"}) (Python: @traceable(run_type=\"tool\"))",
		FactToolsOffered:  "wrap the provider's client with wrapOpenAI / wrap_openai (wrap_anthropic): LangChain's runs carry no definitions",
		FactToolSchemas:   "wrap the provider's client with wrapOpenAI / wrap_openai (wrap_anthropic): LangChain's runs carry no definitions",
		FactArguments:     "unset LANGSMITH_HIDE_INPUTS",
		FactResults:       "unset LANGSMITH_HIDE_OUTPUTS",
		FactUserMessages:  "unset LANGSMITH_HIDE_INPUTS",
		FactReply:         "unset LANGSMITH_HIDE_OUTPUTS",
		FactUsage:         "of streams ask the provider to include usage (OpenAI: stream_options.include_usage = true)",
		FactSession:       "put session_id (or thread_id, conversation_id) into the run's metadata",
		FactRoot:          "end the run and call client.awaitPendingTraceBatches() before the process exits; the parent may be a run of another process that never exports it",
		FactModelCalls:    `wrap the provider's client (wrapOpenAI, wrap_openai and their kin), or trace the call with run_type "llm"`,
		FactFinishReason:  "wrap the provider's client (wrapOpenAI, wrap_openai and their kin): only its whole response holds the finish reason (LANGSMITH_HIDE_OUTPUTS unset)",
		FactModelName:     "put ls_model_name into the run's metadata (wrapOpenAI and LangChain do)",
	},
})

func scoreLangSmith(s *Span) int {
	score := 0
	if s.Attrs.Has("langsmith.span.kind") {
		score += 10
	}
	if s.Scope == "langsmith" {
		score += 10
	}
	return score
}

func readLangSmith(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.Agent = cmp.Or(langSmithMeta(a, "lc_agent_name"), a.Str("gen_ai.agent.name"))
	f.SessionID = cmp.Or(f.SessionID, langSmithMeta(a, "session_id", "thread_id", "conversation_id")) // langsmith.trace.session_name is the project
	f.UserID = cmp.Or(f.UserID, langSmithMeta(a, "user_id"))
	f.Role = langSmithRole(s, f.Role)
	switch f.Role {
	case RoleModel:
		langSmithModel(s, &f)
	case RoleTool:
		langSmithTool(s, &f)
	case RoleAgent:
		f.Agent = cmp.Or(f.Agent, s.Name)
		f.Usage = Usage{}
		f.UserText, f.Reply = askedText(a.Text("gen_ai.prompt")), answerText(a.Text("gen_ai.completion"))
		if o := readObject(a.Text("gen_ai.prompt")); o != nil {
			f.System = textOf(systemOf(o, 0))
		}
	}
	return f
}

// langSmithMeta reads the metadata of the run. It holds the process's LANGSMITH_ settings as well.
func langSmithMeta(a Attrs, names ...string) string {
	for _, n := range names {
		if s := a.Str("langsmith.metadata." + n); s != "" {
			return s
		}
	}
	return ""
}

// langSmithRole folds the run types. A chain is an agent's run at the root, or where it is the graph of the agent that it names.
func langSmithRole(s *Span, stated Role) Role {
	a := s.Attrs
	switch kind := a.Str("langsmith.span.kind"); kind {
	case "llm":
		return RoleModel
	case "tool":
		return RoleTool
	case "retriever":
		return RoleRetrieval
	case "chain", "":
		if stated != RoleNone && kind == "" {
			return stated
		}
		isRoot, _ := a.Bool("langsmith.is_root")
		if s.ParentID == "" || isRoot || s.Name == langSmithMeta(a, "lc_agent_name") {
			return RoleAgent
		}
	}
	return RoleNone
}

func langSmithModel(s *Span, f *Facts) {
	a := s.Attrs
	genaiContent(a, f)
	answer := readAnswerBody(a.Text("gen_ai.completion"))
	f.Usage = langSmithUsage(a).or(f.Usage).or(answer.Usage)
	f.ModelRequested = cmp.Or(f.ModelRequested, langSmithMeta(a, "ls_model_name"))
	f.ModelResponded, f.ResponseID = cmp.Or(f.ModelResponded, answer.Model), cmp.Or(f.ResponseID, answer.ID)
	f.FinishRaw = cmp.Or(f.FinishRaw, answer.Finish)
	f.Provider = cmp.Or(f.Provider, providerOf(langSmithMeta(a, "ls_provider")))
	f.OfferedText = cmp.Or(f.OfferedText, readObject(langSmithMeta(a, "ls_invocation_params")).get("tools", "functions"))
	f.Streamed = f.Streamed || strings.Contains(a.Text("gen_ai.completion"), `"chat.completion.chunk"`)
	if s.ParentID == "" && a.Str("langsmith.trace.name") != s.Name {
		f.Agent = cmp.Or(f.Agent, s.Name) // of a stream the first call is written onto the run around it
	}
	if emptyObject(a.Text("gen_ai.prompt")) {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults, FactToolsOffered)
	}
	if emptyObject(a.Text("gen_ai.completion")) {
		f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
	}
}

// emptyObject says whether a text is the {} that stands for hidden inputs or outputs.
func emptyObject(text string) bool { return strings.TrimSpace(text) == "{}" }

// langSmithUsage reads the usage in LangChain's shape, which has the details that the conventions' keys lack.
func langSmithUsage(a Attrs) Usage {
	text := cmp.Or(a.Text("langsmith.usage_metadata"), a.Text("langsmith.metadata.usage_metadata"))
	o := readObject(text)
	u := usageOf(o)
	u.CostUSD = o.price("total_cost")
	// The Python exporter writes the details as Python text.
	details := ParseValue(a.Text("gen_ai.usage.input_token_details"))
	u.CacheRead = cmp.Or(u.CacheRead, readObject(string(details.JSON)).count("cache_read"))
	u.CacheWrite = cmp.Or(u.CacheWrite, readObject(string(details.JSON)).count("cache_creation"))
	u.AudioIn = cmp.Or(u.AudioIn, readObject(string(details.JSON)).count("audio"))
	details = ParseValue(a.Text("gen_ai.usage.output_token_details"))
	u.Reasoning = cmp.Or(u.Reasoning, readObject(string(details.JSON)).count("reasoning"))
	u.AudioOut = cmp.Or(u.AudioOut, readObject(string(details.JSON)).count("audio"))
	return u
}

// price is an amount of dollars that an object states.
func (o object) price(name string) *float64 {
	if f, err := strconv.ParseFloat(cmp.Or(o.str(name), o.get(name)), 64); err == nil && f >= 0 && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return &f
	}
	return nil
}

func langSmithTool(s *Span, f *Facts) {
	a := s.Attrs
	genaiTool(a, f)
	f.ToolName = cmp.Or(f.ToolName, a.Str("langsmith.trace.name"), s.Name)
	out := a.Text("gen_ai.completion")
	if m, ok := readToolMessage(out); ok {
		f.CallID = cmp.Or(f.CallID, m.ID)
		f.Result, f.ToolError = m.result(f.Result), cmp.Or(m.Error, f.ToolError)
	} else if inner := soleMember(out, "output", "outputs"); inner != "" {
		f.Result = inWrapper(out, inner)
	} else if content := soleMember(out, "content"); kindOf(content) == '[' {
		v, _ := resultValue(content, 0) // what an MCP server answers
		f.Result = Value{Raw: out, JSON: v.JSON, Parsed: ParsedWrap, Truncated: v.Truncated}
		if v.JSON == nil && v.Raw != "" {
			f.Result.JSON = appendString(nil, v.Raw)
		}
	}
	in := a.Text("gen_ai.prompt")
	if args := soleMember(in, "args"); kindOf(args) == '[' {
		wrappedExecution(in, args, f)
		return
	}
	if inner := soleMember(in, "input"); inner != "" {
		if v := valueOfJSON(inner); v.JSON.Kind() == '{' {
			f.Arguments = Value{Raw: in, JSON: v.JSON, Parsed: ParsedWrap, Truncated: v.Truncated}
		}
	}
}

// wrappedExecution reads the two arguments that the AI SDK gives a tool's function, as its wrapper records them: the tool's own, and the call.
func wrappedExecution(raw, args string, f *Facts) {
	var of []string
	for e := range elements(args) {
		of = append(of, e)
	}
	if len(of) != 2 {
		return
	}
	if call := readObject(of[1]); call.str("toolCallId") != "" {
		v := valueOfJSON(of[0])
		f.Arguments = Value{Raw: raw, JSON: v.JSON, Parsed: ParsedWrap, Truncated: v.Truncated}
		f.CallID = cmp.Or(f.CallID, callID(call.str("toolCallId")))
	}
}

// soleMember is the value of an object's only member, if it has one of these names.
func soleMember(text string, names ...string) string {
	if kindOf(text) != '{' {
		return ""
	}
	if o := readObject(text); len(o) == 1 {
		return o.get(names...)
	}
	return ""
}

// inWrapper is the value that a wrapper holds; prose stays a JSON string.
func inWrapper(raw, inner string) Value {
	v := valueOfJSON(inner)
	out := Value{Raw: raw, JSON: v.JSON, Parsed: ParsedWrap, Truncated: v.Truncated}
	if v.JSON == nil {
		out.JSON = appendString(nil, v.Raw)
	}
	return out
}
