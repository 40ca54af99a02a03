package trajectory

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

const detailsEvent = "gen_ai.client.inference.operation.details"

// This dialect reads the conventions with content in span events or log records: one event a message (up to 1.36), or one that holds all.
var _ = add(Dialect{Name: "otel-genai-events", Rank: 29, Score: scoreEvents, Read: readEvents, Remedies: eventRemedies()})

func eventRemedies() map[Fact]string {
	out := map[Fact]string{}
	for f, r := range genaiRemedies {
		out[f] = strings.ReplaceAll(r, "true (or SPAN_ONLY)", "true (or SPAN_AND_EVENT), and export logs to pawl as well as traces,")
	}
	return out
}

func scoreEvents(s *Span) int {
	for _, e := range s.Events {
		if isMessageEvent(e.Name) {
			return 10
		}
	}
	for i := range s.Logs {
		if isMessageEvent(s.Logs[i].Name) {
			return 10
		}
	}
	return 0
}

// isMessageEvent says whether an event's name is one of those that carry content.
func isMessageEvent(name string) bool {
	return strings.HasPrefix(name, "gen_ai.") &&
		(strings.HasSuffix(name, ".message") || name == "gen_ai.choice" || name == detailsEvent)
}

// messageRank is the place of a message event in a conversation, for those whose order nothing else tells.
func messageRank(name string) int {
	return slices.Index([]string{"gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message", "gen_ai.choice"}, name)
}

func readEvents(s *Span) Facts {
	f := genaiFrame(s)
	events := slices.Clone(s.Events)
	for i := range s.Logs {
		events = append(events, s.Logs[i].Event)
	}
	if f.Role == RoleNone && s.Attrs.Text("gen_ai.operation.name") == "" && hasModelEvent(events) {
		f.Role = RoleModel
	}
	if f.Role == RoleTool {
		genaiTool(s.Attrs, &f)
		toolEvents(events, &f)
		return f
	}
	genaiContent(s.Attrs, &f)
	var in, out eventMessages
	for _, e := range events {
		readMessageEvent(e, &in, &out, &f)
	}
	if text := in.text(); text != "" {
		f.Input = textHistory(text)
	}
	if text := out.text(); text != "" {
		f.Output = asAssistant(ParseMessages(text))
		if f.FinishRaw == "" {
			f.FinishRaw = finishInOutput(text)
		}
	}
	return f
}

func hasModelEvent(events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return e.Name == "gen_ai.choice" || e.Name == detailsEvent })
}

// readMessageEvent takes the messages of one event into the input or the output.
func readMessageEvent(e Event, in, out *eventMessages, f *Facts) {
	switch e.Name {
	case detailsEvent:
		a := e.all()
		in.addList(a.jsonText("gen_ai.input.messages"))
		out.addList(a.jsonText("gen_ai.output.messages"))
		f.System = cmp.Or(f.System, systemText(a.jsonText("gen_ai.system_instructions")))
		f.OfferedText = cmp.Or(f.OfferedText, a.jsonText("gen_ai.tool.definitions"))
	case "gen_ai.choice":
		out.add(choiceObject(e.all(), f))
	case "gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message":
		role := strings.TrimSuffix(strings.TrimPrefix(e.Name, "gen_ai."), ".message")
		in.add(messageObject(e.all(), role))
	}
}

// all are the fields of an event, be they attributes or the body's. A body that is plain text is the content.
func (e Event) all() Attrs {
	var a Attrs
	switch {
	case e.Body == (pcommon.Value{}):
		return e.Attrs
	case e.Body.Type() == pcommon.ValueTypeMap:
		a = AttrsOf(e.Body.Map())
	case e.Body.Type() == pcommon.ValueTypeStr && e.Body.Str() != "":
		a = Attrs{"content": e.Body}
	}
	if a == nil {
		return e.Attrs
	}
	for k, v := range e.Attrs {
		if !a.Has(k) {
			a[k] = v
		}
	}
	return a
}

// eventMessages collects message objects as one JSON list, the form in which a history can be compared with the one before it.
type eventMessages struct{ b strings.Builder }

func (l *eventMessages) add(object string) {
	if object == "" {
		return
	}
	if l.b.Len() > 0 {
		l.b.WriteByte(',')
	}
	l.b.WriteString(object)
}

// addList adds the messages of a JSON list. A list that repeats what is there already replaces it: some emitters send growing ones.
func (l *eventMessages) addList(text string) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return
	}
	inner := strings.TrimSpace(text[1 : len(text)-1])
	if have := l.b.String(); have != "" && strings.HasPrefix(inner, have) {
		l.b.Reset()
	}
	l.add(inner)
}

func (l *eventMessages) text() string {
	if l.b.Len() == 0 {
		return ""
	}
	return "[" + l.b.String() + "]"
}

// messageObject writes one message event as a JSON message.
func messageObject(a Attrs, role string) string {
	b := append([]byte(`{"role":`), appendString(nil, cmp.Or(a.Str("role"), role))...)
	b = appendContent(b, a, "content")
	for _, k := range []string{"tool_calls", "id", "name"} {
		if text := a.jsonText(k); text != "" {
			name := k
			if k == "id" && role == "tool" {
				name = "tool_call_id"
			}
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = appendEmbedded(b, text, k == "tool_calls")
		}
	}
	return string(append(b, '}'))
}

// choiceObject writes a choice event as a JSON message. Its message is a structure, JSON text, or plain text.
func choiceObject(a Attrs, f *Facts) string {
	f.FinishRaw = cmp.Or(f.FinishRaw, firstWord(a.Str("finish_reason")))
	v, ok := a["message"]
	if ok && v.Type() == pcommon.ValueTypeMap {
		return messageObject(AttrsOf(v.Map()), "assistant")
	}
	if text := a.Text("message"); strings.HasPrefix(strings.TrimSpace(text), "{") {
		return text
	}
	b := appendContent([]byte(`{"role":"assistant"`), a, "message", "content")
	if calls := a.jsonText("tool_calls"); calls != "" {
		b = appendEmbedded(append(b, `,"tool_calls":`...), calls, true)
	}
	return string(append(b, '}'))
}

// appendContent writes a message's content; a list of content blocks is written as such, also when it came as text.
func appendContent(b []byte, a Attrs, keys ...string) []byte {
	for _, k := range keys {
		if text := a.jsonText(k); text != "" {
			v := a[k]
			return appendEmbedded(append(b, `,"content":`...), text, v.Type() != pcommon.ValueTypeStr || isBlocks(text))
		}
	}
	return append(b, `,"content":null`...)
}

// isBlocks says whether a text is a JSON list of content blocks.
func isBlocks(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "[{") {
		return false
	}
	for _, name := range []string{`"text"`, `"toolUse"`, `"toolResult"`, `"type"`, `"json"`, `"reasoningContent"`} {
		if strings.HasPrefix(strings.TrimSpace(text[2:]), name) {
			return true
		}
	}
	return false
}

// appendEmbedded writes a text as the JSON that it is, or as a string.
func appendEmbedded(b []byte, text string, asJSON bool) []byte {
	if asJSON {
		if v := canonical(text); v != nil {
			return append(b, v...)
		}
	}
	return appendString(b, text)
}

// toolEvents reads a tool span's own events: the tool message holds the arguments, the choice the result.
func toolEvents(events []Event, f *Facts) {
	for _, e := range events {
		a := e.all()
		switch e.Name {
		case "gen_ai.tool.message":
			if v, ok := a.value("content", "arguments"); ok && f.Arguments.Parsed == ParsedAbsent {
				f.Arguments = v
			}
			f.CallID = cmp.Or(f.CallID, callID(a.Str("id")))
		case "gen_ai.choice":
			if v, ok := a["message"]; ok && !f.HasResult {
				f.Result, f.HasResult = blockResult(structured(v)), true
			}
		case detailsEvent:
			detailsOfTool(a, f)
		}
	}
}

// blockResult reads a result that comes as a list of content blocks or as itself.
func blockResult(text string) Value {
	if isBlocks(text) {
		if v, ok := blockText(strings.TrimSpace(text), 0); ok {
			return v
		}
	}
	return ParseValue(text)
}

// detailsOfTool reads arguments and result out of the messages of a tool span's details event.
func detailsOfTool(a Attrs, f *Facts) {
	for _, key := range []string{"gen_ai.input.messages", "gen_ai.output.messages"} {
		for _, m := range ParseMessages(a.jsonText(key)) {
			for _, p := range m.Parts {
				switch {
				case p.Kind == PartToolCall && f.Arguments.Parsed == ParsedAbsent:
					f.Arguments = p.Value
				case p.Kind == PartToolResult && !f.HasResult:
					f.Result, f.HasResult = p.Value, true
					if p.Failed {
						f.ToolError = cmp.Or(f.ToolError, "error")
					}
				}
			}
		}
	}
}
