package trajectory

import (
	"cmp"
	"strings"
)

func readOpenInferenceTool(s *Span, f *Facts) {
	a := s.Attrs
	if to, ok := handoffSpan(s); ok {
		f.Role = RoleHandoff
		f.HandoffFrom = handoffEnd(a.Str("input.value"), "from_agent", "fromAgent", "from")
		f.HandoffTo = cmp.Or(handoffEnd(a.Str("output.value"), "to_agent", "toAgent", "to", "assistant"), to)
		return
	}
	f.Role = RoleTool
	f.ToolName = cmp.Or(a.Str("gen_ai.tool.name", "tool.name"), strings.TrimPrefix(s.Name, "ai.tool "))
	f.CallID = callID(a.Str("gen_ai.tool.call.id", "tool_call.id", "tool.id", "tanstack.ai.tool.call.id"))
	f.Arguments = openInferenceArguments(a, f)
	f.Result, f.HasResult = a.value("gen_ai.tool.call.result", "output.value")
	if m, ok := readToolMessage(a.Text("output.value")); ok {
		f.CallID = cmp.Or(f.CallID, m.ID)
		f.Result, f.ToolError = m.result(f.Result), m.Error
	}
	hideToolFacts(a, f)
}

// handoffSpan says that a TOOL span of the OpenAI Agents bridges stands for a hand-off, "handoff to X", and to whom.
func handoffSpan(s *Span) (string, bool) {
	if to, ok := strings.CutPrefix(s.Name, "handoff to "); ok {
		return to, true
	}
	to, ok := strings.CutPrefix(cmp.Or(s.Attrs.Str("tool.name"), s.Name), "handoff_to_")
	return to, ok && (strings.Contains(s.Scope, "openai-agents") || strings.Contains(s.Scope, "openai_agents"))
}

// handoffEnd reads the name of an agent, bare or in an object.
func handoffEnd(text string, names ...string) string {
	if isJSON(text) {
		return readObject(text).str(names...)
	}
	return plainText(text)
}

// openInferenceArguments finds the arguments. tool.parameters holds them or the tool's schema, depending on the instrumentor. LangChain gives
// a tool of one parameter that parameter's bare value, or the whole requested call.
func openInferenceArguments(a Attrs, f *Facts) Value {
	if own, ok := a.value("gen_ai.tool.call.arguments"); ok {
		return own
	}
	in, ok := a.value("input.value")
	if params := a.Text("tool.parameters"); params != "" && !looksLikeSchema(params) && (!ok || in.Parsed == ParsedText) {
		return ParseValue(params)
	}
	if args := a.Text("tool_call.function.arguments"); args != "" && (!ok || in.Parsed == ParsedText) {
		return ParseValue(args)
	}
	if len(in.JSON) == 0 || in.JSON[0] != '{' {
		return in
	}
	call := readObject(string(in.JSON))
	if args := call.get("args"); kindOf(args) == '{' && call.str("name") != "" && call.str("id", "type") != "" {
		f.CallID = cmp.Or(f.CallID, callID(call.str("id")))
		in.JSON, in.Parsed = canonical(args), ParsedWrap
	}
	return in
}

func hideToolFacts(a Attrs, f *Facts) {
	if a.Text("input.value") == redacted {
		f.Hidden = append(f.Hidden, FactArguments)
	}
	if a.Text("output.value") == redacted {
		f.Hidden = append(f.Hidden, FactResults)
	}
}

// toolMessage is the message that a framework made of a tool's result.
type toolMessage struct {
	ID      string
	Name    string
	Content string
	Error   string // "" when the message marks no failure
}

// readToolMessage reads a ToolMessage of LangChain, serialised or plain, alone, under "output", or as the update of a LangGraph command.
// It says whether the text is one.
func readToolMessage(text string) (toolMessage, bool) {
	if kindOf(text) != '{' {
		return toolMessage{}, false
	}
	o := readObject(text)
	if in := o.object("output"); in != nil && (in.has("lc") || in.has("tool_call_id")) {
		o = in
	}
	if k := o.object("kwargs"); k != nil && o.has("lc") {
		o = k
	}
	if !o.has("tool_call_id") || !o.has("content") {
		return toolMessage{}, false
	}
	m := toolMessage{ID: callID(o.str("tool_call_id")), Name: o.str("name"), Content: o.get("content")}
	if o.str("status") == "error" {
		m.Error = cmp.Or(o.str("content"), "error")
	}
	return m, true
}

// result is the value that the message carries, with the raw text as it was recorded.
func (m toolMessage) result(recorded Value) Value {
	v, _ := resultValue(m.Content, 0)
	if v.JSON == nil && v.Raw != "" && v.Parsed == ParsedText {
		v.JSON = appendString(nil, v.Raw)
	}
	return Value{Raw: recorded.Raw, JSON: v.JSON, Parsed: ParsedWrap, Truncated: recorded.Truncated || v.Truncated}
}

// annotations reads the scores that evaluators attach to a span.
func annotations(s *Span) []Feedback {
	var out []Feedback
	for _, group := range []struct{ prefix, field string }{
		{"annotations.", "annotation."}, {"evaluations.", "evaluation."}, {"trace.annotations.", "annotation."}, {"trace.evaluations.", "evaluation."},
		{"session.annotations.", "annotation."}, {"session.evaluations.", "evaluation."},
	} {
		for _, it := range s.Attrs.indexed(group.prefix) {
			name := it.Str(group.field + "name")
			if name == "" {
				continue
			}
			out = append(out, Feedback{SpanID: s.ID, Name: name, Score: it.Float(group.field + "score"),
				Label: it.Str(group.field + "label"), Explanation: it.Text(group.field + "explanation")})
		}
	}
	return out
}
