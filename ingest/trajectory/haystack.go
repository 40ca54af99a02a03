package trajectory

import (
	"cmp"
	"strconv"
	"strings"
)

const haystackContent = "set HAYSTACK_CONTENT_TRACING_ENABLED=true"

// Haystack traces components of pipelines: a chat generator is a call of a model, a tool invoker runs tools, an agent is a component too.
// What they took and gave is JSON in Haystack's own form of messages. Version 3 has spans for an agent's steps instead.
var _ = add(Dialect{
	Name:  "haystack",
	Rank:  18,
	Score: scoreHaystack,
	Read:  readHaystack,
	Remedies: map[Fact]string{
		FactToolCalls:     haystackContent,
		FactToolExecution: "update haystack-ai: from version 3 each tool has a span; before, only the invoker that runs all of a turn has",
		FactToolsOffered:  haystackContent,
		FactToolSchemas:   haystackContent,
		FactArguments:     haystackContent,
		FactResults:       haystackContent,
		FactUserMessages:  haystackContent,
		FactReply:         haystackContent,
		FactUsage:         haystackContent + ": counts and finish reason are part of the replies",
		FactFinishReason:  haystackContent + ": counts and finish reason are part of the replies",
		FactModelName:     haystackContent + ": the model's name is part of the replies",
		FactSession:       "set session.id on a span around the run",
		FactModelCalls:    "call the model by a chat generator that is a component of the pipeline, or by haystack's Agent: other calls have no span",
	},
})

func scoreHaystack(s *Span) int {
	score := 0
	if strings.HasPrefix(s.Name, "haystack.") { // an agent's steps have no key of their own when content is off
		score += 12
	}
	if s.Attrs.Has("haystack.component.name") || s.Attrs.Has("haystack.component.type") {
		score += 12
	}
	return score
}

func readHaystack(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.Role, f.Arguments, f.Result = RoleNone, Value{Parsed: ParsedAbsent}, Value{Parsed: ParsedAbsent}
	in := readObject(a.jsonText("haystack.component.input", "haystack.agent.step.llm.input", "haystack.agent.step.tool.input", "haystack.agent.input"))
	outText := a.jsonText("haystack.component.output", "haystack.agent.step.llm.output", "haystack.agent.step.tool.output", "haystack.agent.output")
	out := readObject(outText)
	typ := a.Text("haystack.component.type")
	switch {
	case s.Name == "haystack.agent.step.llm" || strings.HasSuffix(typ, "Generator"):
		f.Role = RoleModel
		haystackModel(in, out, &f)
		if in == nil && outText == "" {
			f.Hidden = append(f.Hidden, FactUserMessages, FactReply, FactToolCalls)
		}
	case s.Name == "haystack.agent.step.tool":
		f.Role = RoleTool
		f.ToolName = a.Str("haystack.tool.name")
		haystackTool(in, out, outText, &f)
	case typ == "ToolInvoker":
		haystackInvoker(out, &f)
	case s.Name == "haystack.agent.run":
		f.Role = RoleAgent
		f.OfferedText = haystackTools(a.jsonText("haystack.agent.tools"))
		f.UserText = lastText(haystackMessages(in.get("messages")), "user")
		f.Reply = lastText(haystackMessages(cmp.Or(out.get("last_message"), out.get("messages"))), "assistant")
	case strings.HasSuffix(typ, "Retriever"):
		f.Role = RoleRetrieval
	case s.Name == "haystack.pipeline.run" && s.ParentID == "":
		f.Role = RoleAgent
	}
	return f
}

func haystackModel(in, out object, f *Facts) {
	if list := in.get("messages"); list != "" {
		f.Input = History{Text: list, Parse: haystackMessages}
	} else if prompt := in.str("prompt"); prompt != "" {
		f.Input.Messages = []Message{{Role: "user", Parts: []Part{{Kind: PartText, Text: prompt}}}}
	}
	f.OfferedText = haystackTools(in.get("tools"))
	replies := out.get("replies")
	f.Output = asAssistant(haystackMessages(replies))
	meta := readObject(firstElement(replies)).object("meta", "_meta")
	if meta == nil {
		meta = readObject(firstElement(out.get("meta")))
	}
	f.ModelResponded = cmp.Or(f.ModelResponded, meta.str("model"))
	f.FinishRaw = cmp.Or(f.FinishRaw, meta.str("finish_reason", "stop_reason"))
	f.Usage = f.Usage.or(usageOf(meta.object("usage")))
}

// haystackTools takes the definitions out of serialised tools, whose data has them: {"type": class, "data": {name, parameters, ...}}.
func haystackTools(list string) string {
	var tools eventMessages
	for e := range elements(list) {
		o := readObject(e)
		if data := o.get("data"); kindOf(data) == '{' {
			e = data
		}
		tools.add(e)
	}
	return tools.text()
}

// haystackTool reads one execution of version 3: the input names the call, or is its arguments.
func haystackTool(in, out object, outText string, f *Facts) {
	call := in.object("tool_call")
	args := cmp.Or(call.get("arguments"), in.get("arguments"), in.get("tool_arguments"))
	f.CallID = callID(call.str("id"))
	switch asked := haystackMessages(in.get("messages")); {
	case args != "":
		f.Arguments = valueOfJSON(args)
	case len(asked) > 0:
		if p, ok := soleOf(asked, PartToolCall, f.ToolName); ok {
			f.ToolName, f.CallID, f.Arguments = p.Name, p.ID, p.Value
		}
	case in != nil:
		f.Arguments = ParseValue(in.text())
	}
	if results := haystackMessages(out.get("tool_messages")); len(results) > 0 {
		haystackResult(results, f)
		return
	}
	if outText != "" {
		f.Result, f.HasResult = ParseValue(cmp.Or(out.get("result"), outText)), true
	}
}

// haystackInvoker reads the component that runs the tools of a turn: as an execution when it was one, else as structure. What several gave
// shows in the next call's input.
func haystackInvoker(out object, f *Facts) {
	results := haystackMessages(out.get("tool_messages"))
	f.Role = RoleInner
	if p, ok := soleOf(results, PartToolResult, ""); ok {
		f.Role = RoleTool
		f.ToolName, f.CallID = p.Name, p.ID
		f.Arguments = haystackOrigin(out.get("tool_messages"))
		haystackResult(results, f)
	}
}

// haystackOrigin is what the sole result among messages says it was called with.
func haystackOrigin(messages string) Value {
	first := readObject(firstElement(messages))
	result := readObject(firstElement(first.get("content", "_content"))).object("tool_call_result")
	return valueOfJSON(result.object("origin").get("arguments"))
}

func haystackResult(results []Message, f *Facts) {
	p, ok := soleOf(results, PartToolResult, f.ToolName)
	if !ok {
		return
	}
	f.ToolName, f.CallID = cmp.Or(f.ToolName, p.Name), cmp.Or(f.CallID, p.ID)
	f.Result, f.HasResult = p.Value, true
	if p.Failed {
		f.ToolError = cmp.Or(textOfValue(p.Value), "error")
	}
}

// soleOf is the one part of a kind, and of a name where one is given.
func soleOf(ms []Message, kind PartKind, name string) (sole Part, ok bool) {
	for _, m := range ms {
		for _, p := range m.Parts {
			if p.Kind != kind || name != "" && p.Name != "" && p.Name != name {
				continue
			}
			if ok {
				return Part{}, false
			}
			sole, ok = p, true
		}
	}
	return sole, ok
}

func lastText(ms []Message, role string) string {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == role {
			if text := textOf(ms[i : i+1]); text != "" {
				return text
			}
		}
	}
	return ""
}

// haystackMessages reads messages of Haystack: a role, and content that is a list of objects named for what they hold. Old ones have an
// underscore before each name; replies of plain generators are texts.
func haystackMessages(list string) []Message {
	if kindOf(list) == '{' {
		list = "[" + list + "]"
	}
	var out []Message
	for e := range elements(list) {
		if text, ok := unquote(e); ok {
			out = append(out, Message{Role: "assistant", Parts: []Part{{Kind: PartText, Text: text}}})
			continue
		}
		o := readObject(e)
		m := Message{Role: foldRole(o.str("role", "_role"))}
		content := o.get("content", "_content")
		if kindOf(content) != '[' {
			m.Parts = contentParts(content, 0)
		}
		for c := range elements(content) {
			m.Parts = append(m.Parts, haystackPart(readObject(c)))
		}
		out = append(out, m)
	}
	return settleRoles(out)
}

func haystackPart(o object) Part {
	switch {
	case o.get("tool_call") != "":
		return callPart(o.object("tool_call"))
	case o.get("tool_call_result") != "":
		r := o.object("tool_call_result")
		origin := r.object("origin")
		v, failed := resultValue(r.get("result"), 0)
		return Part{Kind: PartToolResult, ID: callID(origin.str("id")), Name: origin.str("tool_name"), Value: v, Failed: failed || r.isTrue("error"), Unrecorded: r.get("result") == ""}
	case o.get("reasoning") != "":
		return Part{Kind: PartReasoning, Text: o.object("reasoning").str("reasoning_text", "text")}
	case o.str("text") != "":
		return Part{Kind: PartText, Text: o.str("text")}
	}
	return Part{Kind: PartOther}
}

// text writes an object out again.
func (o object) text() string {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendString(b, m.name), ':'), m.raw...)
	}
	return string(append(b, '}'))
}

// floatOf reads a JSON number that is not negative.
func floatOf(raw string) *float64 {
	if f, err := strconv.ParseFloat(strings.Trim(raw, `"`), 64); err == nil && f >= 0 {
		return &f
	}
	return nil
}
