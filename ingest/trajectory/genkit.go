package trajectory

import (
	"cmp"
	"strings"
)

// Genkit writes everything into genkit:* attributes, values as JSON. A flow is the agent's run; each turn is a "generate" span, nested in the
// one of the turn before, around one model span and the tool spans that it led to.
var _ = add(Dialect{
	Name: "genkit",
	Rank: 13,
	Keys: []string{"genkit:"}, Scopes: []string{"genkit-tracer"},
	Score: scoreGenkit,
	Read:  readGenkit,
	Remedies: map[Fact]string{
		FactToolCalls:     genkitContent,
		FactToolExecution: "define tools with ai.defineTool, so that Genkit runs them: with returnToolRequests it only passes the requests on",
		FactToolsOffered:  genkitContent,
		FactToolSchemas:   "give each tool an inputSchema in ai.defineTool",
		FactArguments:     genkitContent,
		FactResults:       genkitContent,
		FactUserMessages:  genkitContent,
		FactReply:         genkitContent,
		FactSession:       "run the agent in a session (ai.createSession), or set session.id on the flow's span: Genkit names no conversation by itself",
		FactUsage:         "update the model plugin: it must return usage in its response",
		FactFinishReason:  "update the model plugin: it must return finishReason",
		FactModelCalls:    "call the model through Genkit (ai.generate): a client that is called beside it has no span",
		FactModelName:     keptBy("Genkit", "genkit:name"),
	},
})

const (
	genkitContent  = "send the spans by OpenTelemetry's own OTLP exporter: the Google Cloud and Firebase exporters of Genkit put <redacted> in place of genkit:input and genkit:output"
	genkitRedacted = "<redacted>"
)

func scoreGenkit(s *Span) int {
	score := 0
	for _, key := range []string{"genkit:type", "genkit:metadata:subtype", "genkit:name"} {
		if s.Attrs.Has(key) {
			score += 10
		}
	}
	if s.Scope == "genkit-tracer" {
		score += 10
	}
	return score
}

func readGenkit(s *Span) Facts {
	a := s.Attrs
	f := Facts{SessionID: a.Str("genkit:sessionId"), Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent}}
	if a.Str("genkit:state") == "error" && s.Status != StatusError {
		f.Error = &Error{Message: cmp.Or(a.Str("genkit:error"), s.StatusMessage)}
	}
	switch kind := cmp.Or(a.Str("genkit:metadata:subtype"), a.Str("genkit:type")); kind {
	case "model", "background-model":
		f.Role = RoleModel
		genkitModel(a, &f)
	case "tool", "tool.v2":
		f.Role = RoleTool
		genkitTool(a, kind == "tool.v2", &f)
	case "flow", "agent":
		f.Role = RoleAgent
		f.Agent = a.Str("genkit:name")
		genkitRun(a, &f)
	case "retriever":
		f.Role = RoleRetrieval
	case "userFeedback":
		f.Feedback = []Feedback{{SpanID: s.ID, Name: "user_feedback", Label: a.Str("genkit:metadata:feedbackValue"), Explanation: a.Text("genkit:metadata:textFeedback")}}
	default:
		if s.ParentID == "" && a.Has("genkit:input") { // generate or a prompt, called without a flow
			f.Role = RoleAgent
			f.Agent = a.Str("genkit:name")
			genkitRun(a, &f)
		}
	}
	return f
}

func genkitModel(a Attrs, f *Facts) {
	provider, model, ok := strings.Cut(a.Str("genkit:name"), "/")
	if !ok {
		provider, model = "", provider
	}
	f.Provider, f.ModelRequested = providerOf(provider), model
	in, out := readObject(a.Text("genkit:input")), readObject(a.Text("genkit:output"))
	f.ModelRequested = cmp.Or(in.object("config").str("version"), f.ModelRequested)
	if list := in.get("messages"); list != "" {
		f.Input = History{Text: list, Parse: genkitMessages}
	}
	f.OfferedText = in.get("tools")
	f.Output = genkitAnswer(out)
	raw := answerBody{}
	if text := out.get("raw", "custom"); kindOf(text) == '{' {
		raw = readAnswerBody(text)
	}
	f.ModelResponded, f.ResponseID = raw.Model, raw.ID
	// Genkit folds the provider's word: an answer that asks for tools is a "stop" to it.
	f.FinishRaw = cmp.Or(raw.Finish, out.str("finishReason"))
	if f.FinishRaw == "blocked" {
		f.FinishRaw = "content_filter"
	}
	f.Usage = genkitUsage(out.object("usage")).or(raw.Usage)
	genkitHidden(a, f, []Fact{FactUserMessages, FactToolsOffered}, []Fact{FactReply, FactToolCalls})
}

// genkitUsage reads the counts. Gemini counts what it thought beside its answer: where only the total has it, it belongs to the output.
func genkitUsage(u object) Usage {
	out := usageOf(u)
	out.CacheRead = cmp.Or(u.count("cachedContentTokens"), out.CacheRead)
	out.Reasoning = cmp.Or(u.count("thoughtsTokens"), out.Reasoning)
	total := u.count("totalTokens")
	if total != nil && out.Input != nil && out.Output != nil && out.Reasoning != nil && *out.Input+*out.Output+*out.Reasoning == *total {
		out.Output = new(*out.Output + *out.Reasoning)
	}
	return out
}

// genkitAnswer is the message of a response; older plugins list it under candidates.
func genkitAnswer(out object) []Message {
	m := out.get("message")
	if m == "" {
		m = readObject(firstElement(out.get("candidates"))).get("message")
	}
	if m == "" {
		return nil
	}
	return withRole(genkitMessages("["+m+"]"), "assistant")
}

// genkitMessages reads a list of messages {role, content: [parts]}, or the end of one.
func genkitMessages(list string) []Message {
	var out []Message
	for e := range elements(list) {
		o := readObject(e)
		m := Message{Role: foldRole(o.str("role"))}
		for p := range elements(o.get("content")) {
			m.Parts = append(m.Parts, genkitPart(readObject(p))...)
		}
		out = append(out, m)
	}
	return settleRoles(out)
}

func genkitPart(o object) []Part {
	if call := o.object("toolRequest"); call != nil {
		return []Part{{Kind: PartToolCall, ID: callID(call.str("ref")), Name: call.str("name"), Value: valueOfJSON(cmp.Or(call.get("input"), "{}"))}}
	}
	if r := o.object("toolResponse"); r != nil {
		p := Part{Kind: PartToolResult, ID: callID(r.str("ref")), Name: r.str("name")}
		output := r.get("output", "content")
		p.Unrecorded = output == "" && !r.has("output")
		p.Value, p.Failed = resultValue(cmp.Or(output, "null"), 0)
		return []Part{p}
	}
	if s := o.str("reasoning"); s != "" {
		return []Part{{Kind: PartReasoning, Text: s}}
	}
	if s := o.str("text"); s != "" {
		return []Part{{Kind: PartText, Text: s}}
	}
	for _, kind := range []string{"media", "data", "custom", "resource"} {
		if o.has(kind) {
			return []Part{{Kind: PartOther, Text: kind}}
		}
	}
	return nil
}

func genkitTool(a Attrs, multipart bool, f *Facts) {
	f.ToolName = a.Str("genkit:name")
	f.Arguments, _ = a.value("genkit:input")
	f.Result, f.HasResult = a.value("genkit:output")
	if o := readObject(string(f.Result.JSON)); multipart && o.has("output") { // beside content parts that the model sees too
		f.Result.JSON, f.Result.Parsed = canonical(o.get("output")), ParsedWrap
		if f.Result.JSON == nil {
			f.Result.JSON = []byte("null")
		}
	}
	genkitHidden(a, f, []Fact{FactArguments}, []Fact{FactResults})
	if a.Text("genkit:input") == genkitRedacted {
		f.Arguments = Value{Parsed: ParsedAbsent}
	}
	if a.Text("genkit:output") == genkitRedacted {
		f.Result, f.HasResult = Value{Parsed: ParsedAbsent}, false
	}
}

// genkitRun reads what a flow was asked and what it answered; both are of the flow's own shape.
func genkitRun(a Attrs, f *Facts) {
	in, out := a.Text("genkit:input"), a.Text("genkit:output")
	genkitHidden(a, f, []Fact{FactUserMessages}, []Fact{FactReply})
	if in != genkitRedacted {
		f.UserText = askedText(in)
	}
	if out == genkitRedacted {
		return
	}
	if o := readObject(out); o.object("message") != nil {
		f.Output = genkitAnswer(o)
		return
	}
	f.Reply = cmp.Or(readObject(out).str("text", "reply"), answerText(out))
}

// genkitHidden notes what the exporter withheld of the input and of the output.
func genkitHidden(a Attrs, f *Facts, in, out []Fact) {
	if a.Text("genkit:input") == genkitRedacted {
		f.Hidden = append(f.Hidden, in...)
	}
	if a.Text("genkit:output") == genkitRedacted {
		f.Hidden = append(f.Hidden, out...)
	}
}
