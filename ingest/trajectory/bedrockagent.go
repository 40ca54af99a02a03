package trajectory

import (
	"cmp"
	"maps"
	"strings"
)

// Agents of AWS Bedrock through OpenInference, which makes spans of the trace that InvokeAgent streams. What differs from its other instrumentors:
// messages hold blocks as Java prints them, or the XML in which older models asked for functions; a tool's span has the bare name of the function
// where the model has that of its action group too, and lists its arguments by name, type and value; the session is a parameter of the call.
var _ = add(Dialect{
	Name: "openinference",
	Rank: 3,
	Keys: []string{"openinference."},
	Score: func(s *Span) int {
		if isBedrockAgent(s) {
			return 30
		}
		return 0
	},
	Read:     readBedrockAgent,
	Includes: []string{"openinference"},
	Remedies: bedrockAgentRemedies(),
})

const bedrockAgentTools = "Bedrock does not tell the action groups' functions in its trace: name the tools in the catalog (tools: in pawl.yaml), as group__function"

// bedrockAgentRemedies are OpenInference's, save where the trace that Bedrock streams decides.
func bedrockAgentRemedies() map[Fact]string {
	out := maps.Clone(openInference.Remedies)
	for f, remedy := range map[Fact]string{
		FactModelCalls:    "set enableTrace: true on InvokeAgent: the spans are made of its trace; of a call that failed Bedrock tells none",
		FactToolExecution: "set enableTrace: true on InvokeAgent: the spans are made of its trace",
		FactToolsOffered:  bedrockAgentTools,
		FactToolSchemas:   bedrockAgentTools,
		FactSession:       "unset OPENINFERENCE_HIDE_LLM_INVOCATION_PARAMETERS: InvokeAgent's sessionId is in llm.invocation_parameters",
	} {
		out[f] = remedy
	}
	return out
}

func isBedrockAgent(s *Span) bool {
	if !strings.Contains(s.Scope, "openinference") || !strings.Contains(s.Scope, "bedrock") {
		return false
	}
	return s.Scope == "@arizeai/openinference-instrumentation-bedrock-agent" || isAnyOf(s.Name, "action_group", "bedrock.invoke_agent") || collaborator(s) != ""
}

// collaborator is the agent that another one called, "" when the span is not that of such a call.
func collaborator(s *Span) string {
	name, ok := strings.CutPrefix(s.Name, "agent_collaborator[")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "]")
}

func readBedrockAgent(s *Span) Facts {
	f := readOpenInference(s)
	a := s.Attrs
	switch f.Role {
	case RoleModel:
		f.ModelRequested, f.ModelResponded = cmp.Or(f.ModelRequested, a.Str("llm.model_name")), "" // that of the prompt's configuration
		f.Input = eachMessage(f.Input, fromJava)
		f.Output = toUser(fromJava(f.Output))
	case RoleTool:
		bedrockAgentTool(a, &f)
	case RoleAgent:
		params := readObject(a.Text("llm.invocation_parameters"))
		f.SessionID = cmp.Or(f.SessionID, params.str("sessionId"))
		f.Agent, f.Hired = cmp.Or(collaborator(s), params.str("agentId")), collaborator(s) != ""
	}
	return f
}

func bedrockAgentTool(a Attrs, f *Facts) {
	if group := readObject(a.Text("tool.parameters")).str("action_group_name"); group != "" && !strings.Contains(f.ToolName, "__") {
		f.ToolName = group + "__" + f.ToolName
	}
	in := "llm.input_messages.0.message.tool_calls.0.tool_call.function.arguments"
	if args := a.Text(in); args != "" {
		f.Arguments = namedArguments(ParseValue(args))
	}
}

// namedArguments makes an object of the list of arguments that Bedrock gives a function: [{"name", "type", "value"}], every value a text.
func namedArguments(list Value) Value {
	if list.JSON.Kind() != '[' {
		return list
	}
	out := []byte{'{'}
	for e := range elements(string(list.JSON)) {
		o := readObject(e)
		name, value := o.str("name"), o.str("value")
		if name == "" || !o.has("value") {
			return list
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendString(out, name), ':')
		if v := ParseValue(value); isAnyOf(o.str("type"), "number", "integer", "boolean", "array", "object") && v.JSON != nil {
			out = append(out, v.JSON...)
		} else {
			out = appendString(out, value)
		}
	}
	list.JSON, list.Parsed = canonical(string(append(out, '}'))), ParsedWrap
	return list
}

// toUser makes the message that an agent among others sends its user, as if by a tool, the answer that it is.
func toUser(ms []Message) []Message {
	for _, m := range ms {
		for i, p := range m.Parts {
			if p.Kind == PartToolCall && p.Name == "AgentCommunication__sendMessage" && strings.EqualFold(argument(p.Value, "recipient"), "user") {
				m.Parts[i] = Part{Kind: PartText, Text: argument(p.Value, "content")}
			}
		}
	}
	return ms
}

// fromJava puts blocks in the place of the texts that print them, and takes the results that older models were told in XML for what they are.
func fromJava(ms []Message) []Message {
	for i := range ms {
		m := &ms[i]
		if len(m.Parts) != 1 || m.Parts[0].Kind != PartText {
			continue
		}
		text := strings.TrimSpace(m.Parts[0].Text)
		if parts := javaBlocks(text); parts != nil {
			m.Parts = parts
		} else if m.Role == "user" && strings.HasPrefix(text, "<function_results>") {
			m.Role, m.Parts = "tool", []Part{{Kind: PartToolResult, Value: ParseValue(text)}}
		}
	}
	return settleRoles(ms)
}

// javaBlocks reads content blocks as Java prints a list of maps: [{text=..., type=text}, {input={...}, name=..., id=..., type=tool_use}] or
// [{tool_use_id=..., type=tool_result, content=[Content{...}]}]. Nothing in it is quoted, so that each block is known by how it ends; nil when
// the text is none.
func javaBlocks(text string) []Part {
	rest, ok := strings.CutPrefix(text, "[")
	if !ok || !strings.HasSuffix(text, "}]") {
		return nil
	}
	var out []Part
	for {
		p, after, ok := javaBlock(rest)
		if !ok {
			return nil
		}
		out = append(out, p)
		if after == "]" {
			return out
		}
		if rest, ok = strings.CutPrefix(after, ", "); !ok {
			return nil
		}
	}
}

func javaBlock(s string) (p Part, rest string, ok bool) {
	if text, is := strings.CutPrefix(s, "{text="); is {
		p.Kind = PartText
		p.Text, rest, ok = cutBlock(text, ", type=text}")
		return p, rest, ok
	}
	if body, is := strings.CutPrefix(s, "{input="); is {
		body, rest, ok = cutBlock(body, ", type=tool_use}")
		body, id, hasID := cutLast(body, ", id=")
		args, name, hasName := cutLast(body, ", name=")
		return Part{Kind: PartToolCall, ID: callID(id), Name: name, Value: Value{Raw: args, Parsed: ParsedText}}, rest, ok && hasID && hasName
	}
	if body, is := strings.CutPrefix(s, "{tool_use_id="); is {
		id, body, hasID := strings.Cut(body, ", type=tool_result, content=[")
		body, rest, ok = cutBlock(body, "}]}")
		return Part{Kind: PartToolResult, ID: callID(id), Value: ParseValue(javaContent(body)), Failed: strings.Contains(body, ", isError=true")}, rest, ok && hasID
	}
	return p, s, false
}

// cutBlock cuts at the first mark that ends a block: the list ends after it, or another block begins.
func cutBlock(s, mark string) (block, rest string, ok bool) {
	for at := 0; ; {
		i := strings.Index(s[at:], mark)
		if i < 0 {
			return s, "", false
		}
		at += i + len(mark)
		if rest = s[at:]; rest == "]" || strings.HasPrefix(rest, ", {") {
			return s[:at-len(mark)], rest, true
		}
	}
}

// javaContent joins the texts of Content{type=text, source=null, text=..., reasoningText=null, ...} objects.
func javaContent(s string) string {
	var texts []string
	for _, c := range strings.Split(s, "Content{") {
		if _, text, ok := strings.Cut(c, ", text="); ok {
			if t, _, more := cutLast(text, ", reasoningText="); more {
				text = t
			}
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
