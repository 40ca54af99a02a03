package trajectory

import (
	"cmp"
	"strings"
)

// OpenAI Agents SDK for Python, through the two emitters that share one scope name: OpenLLMetry, whose history names requested calls by the
// id of the item and not of the call, and OpenTelemetry's contrib instrumentation with AWS's fork of it, which writes calls as the text of
// Python objects. The structure spans of the former are read as OpenLLMetry's.
var _ = add(Dialect{
	Name: "openai-agents",
	Rank: 12,
	Keys: []string{"gen_ai.agent.description"}, Scopes: []string{openAIAgentsScope},
	Score: scoreOpenAIAgents,
	Read:  readOpenAIAgents,
	Remedies: map[Fact]string{
		FactToolCalls:     openAIAgentsContent,
		FactToolExecution: "declare tools with @function_tool: hosted tools run at the provider and have no span",
		FactToolsOffered:  "update the instrumentation: OpenLLMetry's records gen_ai.tool.definitions, the contrib one and AWS's fork do not",
		FactToolSchemas:   "update the instrumentation: OpenLLMetry's records gen_ai.tool.definitions, the contrib one and AWS's fork do not",
		FactArguments:     openAIAgentsContent,
		FactResults:       openAIAgentsContent,
		FactUserMessages:  openAIAgentsContent,
		FactReply:         openAIAgentsContent,
		FactSession:       "set session.id (or gen_ai.conversation.id) on the agent's spans: the SDK's group_id is not exported",
		FactUsage:         "of streams set ModelSettings(include_usage=True)",
		FactModelCalls:    "do not set OPENAI_AGENTS_DISABLE_TRACING=1 or RunConfig(tracing_disabled=True): the instrumentation listens to the SDK's own traces",
		FactFinishReason:  "update the instrumentation: OpenLLMetry's writes gen_ai.response.finish_reasons; the Responses API itself states a status only",
		FactModelName:     "set model on the Agent or in RunConfig, so that the span names it",
	},
})

const (
	openAIAgentsScope   = "opentelemetry.instrumentation.openai_agents"
	openAIAgentsContent = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (OpenLLMetry: TRACELOOP_TRACE_CONTENT=true)"
)

func scoreOpenAIAgents(s *Span) int {
	if s.Attrs.Has("traceloop.span.kind") {
		return 0 // OpenLLMetry's structure
	}
	score := 0
	if s.Scope == openAIAgentsScope {
		score += 10
	}
	if s.Attrs.Text("gen_ai.agent.description") == "OpenAI Agents instrumentation" {
		score += 10
	}
	return score
}

func readOpenAIAgents(s *Span) Facts {
	f := readGenAI(s)
	if f.Agent == "OpenAI Agent" {
		f.Agent = "" // what the fork writes on every span below the agent's
	}
	if f.Role == RoleAgent && f.Agent == "" {
		f.Agent, _ = strings.CutPrefix(s.Name, "invoke_agent ")
	}
	if f.Input.Text != "" {
		f.Input.Parse = parseOpenAIAgents
	}
	f.Output = withoutItemIDs(withObjects(f.Output))
	return f
}

func parseOpenAIAgents(text string) []Message {
	return settleRoles(withoutItemIDs(withObjects(ParseMessages(text))))
}

// withoutItemIDs takes away ids of requested calls that are those of items of the Responses API: results and executions have others.
func withoutItemIDs(ms []Message) []Message {
	for _, m := range ms {
		for i, p := range m.Parts {
			if p.Kind == PartToolCall && strings.HasPrefix(p.ID, "fc_") {
				m.Parts[i].ID = ""
			}
		}
	}
	return ms
}

// withObjects puts calls, results and texts in the place of text parts that are the text of Python objects.
func withObjects(ms []Message) []Message {
	for i := range ms {
		m := &ms[i]
		var parts []Part
		for _, p := range m.Parts {
			if read := objectParts(p); len(read) > 0 {
				parts = append(parts, read...)
			} else {
				parts = append(parts, p)
			}
		}
		m.Parts = parts
		if r := roleOfParts(parts); r != "" {
			m.Role = r
		}
	}
	return ms
}

func objectParts(p Part) []Part {
	if p.Kind != PartText {
		return nil
	}
	if text := strings.TrimSpace(p.Text); strings.HasPrefix(text, "{'") || strings.HasPrefix(text, "[{'") {
		return literalParts(text)
	}
	var out []Part
	for _, o := range pythonObjects(p.Text) {
		switch o.class {
		case "FunctionToolCall":
			out = append(out, requestedCall(o.text("call_id"), o.text("name"), o.text("arguments")))
		case "OutputText":
			out = append(out, Part{Kind: PartText, Text: o.text("text")})
		}
	}
	return out
}

// literalParts reads a dict, or a list of them, that is an item of the Responses API.
func literalParts(text string) []Part {
	raw, ok := literal(text)
	if !ok || !strings.Contains(string(raw), `"function_call`) {
		return nil
	}
	var out []Part
	for _, m := range ParseMessages(string(raw)) {
		out = append(out, m.Parts...)
	}
	return out
}

// pythonObject is an object as Python prints it: its class without the word Response, and its fields as JSON.
type pythonObject struct {
	class  string
	fields map[string]string
}

func (o pythonObject) text(name string) string {
	s, _ := unquote(o.fields[name])
	return cmp.Or(s, strings.Trim(o.fields[name], `"`))
}

// pythonObjects finds the objects of the classes that hold what a model answered, nested ones too. It ends where one cannot be read.
func pythonObjects(text string) []pythonObject {
	var out []pythonObject
	for i := 0; ; {
		at := strings.Index(text[i:], "Response")
		if at < 0 {
			return out
		}
		i += at + len("Response")
		rest := text[i:]
		class := ""
		for _, c := range []string{"FunctionToolCall", "OutputText"} {
			if strings.HasPrefix(rest, c+"(") {
				class = c
			}
		}
		if class == "" {
			continue
		}
		r := reprReader{s: rest, i: len(class) + 1}
		fields, ok := r.keywords()
		if !ok {
			return out
		}
		out = append(out, pythonObject{class, fields})
		i += r.i
	}
}

// keywords reads name=value pairs up to the parenthesis that ends a call, and says whether they are sound.
func (r *reprReader) keywords() (map[string]string, bool) {
	fields := map[string]string{}
	for r.peek() != ')' {
		eq := strings.IndexByte(r.s[r.i:min(len(r.s), r.i+64)], '=')
		if eq < 0 {
			return nil, false
		}
		name := r.s[r.i : r.i+eq]
		r.i += eq + 1
		at := len(r.out)
		if !r.value(0) {
			return nil, false
		}
		fields[name] = string(r.out[at:])
		if !r.comma(')') {
			return nil, false
		}
	}
	return fields, true
}
