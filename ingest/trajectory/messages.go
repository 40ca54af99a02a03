package trajectory

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxNesting bounds how deep bodies, batches and JSON in strings may lie in one another before the reader gives up on them.
const maxNesting = 12

// ParseMessages reads the messages out of any JSON that emitters use for them: a list of messages, one message, one content part or a list
// of them, or a whole request or response body. It knows the shapes of the OpenTelemetry conventions, OpenAI (chat and Responses),
// Anthropic, Bedrock Converse, Gemini, the AI SDK and LangChain, plain or serialised. Of a text that was cut it gives the messages before
// the cut. Text that is no JSON is one message without a role. Roles are user, assistant, system, tool, or "" when the text does not tell.
func ParseMessages(text string) []Message {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	switch text[0] {
	case '[', '{', '"':
		return settleRoles(messagesIn(text, 0))
	}
	if text == "null" {
		return nil
	}
	if text[0] == ',' && isJSON(text[1:]) { // the end of a list whose beginning is known
		return settleRoles(messagesIn(text, 0))
	}
	return []Message{{Parts: []Part{{Kind: PartText, Text: text}}}}
}

// MessagesOf reads messages out of an attribute or log body: a string as ParseMessages does, a structure as the JSON it stands for.
func MessagesOf(v pcommon.Value) []Message { return ParseMessages(structured(v)) }

// messagesIn reads any JSON value that may hold messages.
func messagesIn(raw string, depth int) []Message {
	if depth > maxNesting {
		return nil
	}
	switch kindOf(raw) {
	case '[', ',':
		return messageList(raw, depth)
	case '{':
		return appendMessages(nil, readObject(raw), depth)
	case '"':
		return messagesOfString(raw, depth)
	}
	return nil
}

func messagesOfString(raw string, depth int) []Message {
	s, _ := unquote(raw)
	if k := kindOf(s); k == '[' || k == '{' {
		if ms := messagesIn(s, depth+1); len(ms) > 0 {
			return ms
		}
	}
	if s == "" {
		return nil
	}
	return []Message{{Parts: []Part{{Kind: PartText, Text: s}}}}
}

// messageList reads a list. Neighbouring content parts without a message around them are one message.
func messageList(raw string, depth int) []Message {
	var out []Message
	var bare []Part
	var room few
	for i, end := listStart(raw), 0; i < len(raw) && raw[i] != ']'; i = nextElement(raw, end) {
		var o object
		if o, end = elementAt(room[:0], raw, i); end == 0 {
			break
		}
		if o != nil && isBarePart(o) {
			bare = appendPart(bare, o, depth+1)
			continue
		}
		if len(bare) > 0 {
			out, bare = append(out, Message{Parts: bare}), nil
		}
		if o != nil {
			out = appendMessages(out, o, depth+1)
		} else {
			out = append(out, messagesIn(raw[i:end], depth+1)...)
		}
	}
	if len(bare) > 0 {
		out = append(out, Message{Parts: bare})
	}
	return out
}

// isBarePart says that an object is a content part or tool call that stands without its message.
func isBarePart(o object) bool {
	if o.get("role", "parts", "kwargs", "message", "content_blocks") != "" {
		return false
	}
	switch t := o.str("type"); t {
	case "":
		return o.get("toolCallId", "toolUse", "toolResult", "functionCall", "functionResponse", "function_call", "function_response") != "" &&
			o.get("content") == "" || isPlainText(o)
	case "function":
		return o.get("function") != ""
	case "message", "human", "ai", "system", "tool", "HumanMessage", "AIMessage", "SystemMessage", "ToolMessage":
		return false
	default:
		return !isResponsesItem(t) && !isBody(o)
	}
}

// isPlainText says that an object is nothing but {"text": "..."}: a Bedrock or Gemini part.
func isPlainText(o object) bool { return len(o) == 1 && o[0].name == "text" }

// isBody says that an object wraps messages rather than being one.
func isBody(o object) bool {
	return o.get("messages", "contents", "choices", "candidates", "generations") != ""
}

// appendMessages reads one message, or the messages of a request or response body.
func appendMessages(out []Message, o object, depth int) []Message {
	if depth > maxNesting {
		return out
	}
	if kwargs := o.object("kwargs"); kwargs != nil && (o.has("lc") || kwargs.get("content") != "") {
		return append(out, constructed(o, kwargs, depth)...)
	}
	if typ := o.str("type"); isResponsesItem(typ) {
		return append(out, responsesItem(o, typ, depth)...)
	}
	if ms, ok := bodyMessages(o, depth); ok {
		return append(out, ms...)
	}
	if isBarePart(o) {
		return append(out, Message{Parts: appendPart(nil, o, depth+1)})
	}
	return appendMessage(out, o, foldRole(o.str("role", "type", "author", "message_type")), depth)
}

// constructed reads LangChain's serialised constructors: the class is the last word of the id path, the fields are in kwargs.
func constructed(o, kwargs object, depth int) []Message {
	class := ""
	for e := range elements(o.get("id")) {
		class, _ = unquote(e)
	}
	if class == "ChatMessage" || class == "" {
		class = kwargs.str("role", "type")
	}
	if inner := kwargs.get("messages", "message"); inner != "" {
		return messagesIn(inner, depth+1)
	}
	return appendMessage(nil, kwargs, foldRole(class), depth)
}

// bodyMessages reads a request or response body, and says whether the object is one.
func bodyMessages(o object, depth int) ([]Message, bool) {
	if o.get("role", "parts") != "" && o.get("messages") == "" {
		return nil, false
	}
	switch {
	case o.get("choices", "candidates", "generations") != "":
		return answerMessages(o, depth), true
	case o.get("messages", "contents") != "":
		return append(systemOf(o, depth), messagesIn(o.get("messages", "contents"), depth+1)...), true
	case o.get("message") != "" && o.get("content") == "":
		return messagesIn(o.get("message"), depth+1), true
	case o.get("update", "outputs") != "" && o.get("content", "type") == "":
		return messagesIn(o.get("update", "outputs"), depth+1), true
	case o.get("content") == "" && isAnyOf(o.str("type"), "", "response"):
		return inputOutput(o, depth)
	}
	return nil, false
}

// inputOutput reads the bodies that hold their messages under input, output or prompt: OpenAI Responses, Bedrock answers, completions.
func inputOutput(o object, depth int) ([]Message, bool) {
	if in := o.get("input"); in != "" && o.get("name", "toolUseId", "toolName") == "" {
		return append(systemOf(o, depth), withRole(messagesIn(in, depth+1), "user")...), true
	}
	if out := o.get("output"); out != "" {
		return withRole(messagesIn(out, depth+1), "assistant"), true
	}
	if p := o.get("prompt"); p != "" {
		return append(systemOf(o, depth), withRole(messagesIn(p, depth+1), "user")...), true
	}
	if s := systemOf(o, depth); s != nil && o.get("text", "name") == "" {
		return s, true
	}
	return nil, false
}

// answerMessages reads response bodies that list alternatives: only the first is what the agent saw.
func answerMessages(o object, depth int) []Message {
	first := firstElement(o.get("choices", "candidates", "generations"))
	if kindOf(first) == '[' { // LangChain: a list of alternatives for each prompt
		first = firstElement(first)
	}
	inner := readObject(first).get("message", "delta", "content", "text")
	return withRole(messagesIn(inner, depth+1), "assistant")
}

func firstElement(raw string) string {
	for e := range elements(raw) {
		return e
	}
	return ""
}

// systemOf reads instructions that stand beside the messages of a body.
func systemOf(o object, depth int) []Message {
	raw := o.get("system", "instructions", "systemInstruction", "system_instruction")
	if raw == "" {
		if cfg := o.object("config"); cfg != nil {
			raw = cfg.get("systemInstruction", "system_instruction")
		}
	}
	var parts []Part
	for _, m := range messagesIn(raw, depth+1) {
		parts = append(parts, m.Parts...)
	}
	if len(parts) == 0 {
		return nil
	}
	return []Message{{Role: "system", Parts: parts}}
}

// withRole gives messages that state no role the one that their place implies.
func withRole(ms []Message, role string) []Message {
	for i := range ms {
		if ms[i].Role == "" && roleOfParts(ms[i].Parts) == "" {
			ms[i].Role = role
		}
	}
	return ms
}

// isResponsesItem says whether the type is that of an item of OpenAI's Responses API, which is a message of its own.
func isResponsesItem(typ string) bool {
	switch typ {
	case "function_call", "function_call_output", "function_call_result", "custom_tool_call", "custom_tool_call_output":
		return true
	}
	return strings.HasSuffix(typ, "_call") && typ != "tool_call" && typ != "server_tool_call"
}

func responsesItem(o object, typ string, depth int) []Message {
	switch typ {
	case "function_call", "custom_tool_call":
		return []Message{{Role: "assistant", Parts: []Part{callPart(o)}}}
	case "function_call_output", "function_call_result", "custom_tool_call_output":
		return []Message{{Role: "tool", Parts: []Part{resultPart(o, depth)}}}
	default: // web_search_call and its kin: the provider runs them
		return []Message{{Role: "assistant", Parts: []Part{otherPart(o, typ)}}}
	}
}

// appendMessage reads an object that is a message.
func appendMessage(out []Message, o object, role string, depth int) []Message {
	m := Message{Role: role}
	content := o.get("content", "parts", "content_blocks", "text", "data")
	answers := role == "tool" || callID(o.str("tool_call_id", "toolCallId", "toolUseId")) != ""
	if !answers || kindOf(content) == '[' {
		m.Parts = appendContentParts(reasoningOf(o), content, depth+1)
	}
	if answers && !stateResults(m.Parts) {
		m.Parts = []Part{resultPart(o, depth)}
	}
	m.Parts = append(m.Parts, requestedCalls(o, m.Parts)...)
	if len(m.Parts) == 0 && o.get("role") == "" && role == "" {
		return out
	}
	return append(out, m)
}

// stateResults says that a tool message holds typed parts which state their results themselves.
func stateResults(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Kind == PartToolResult || p.Kind == PartToolCall })
}

// reasoningOf reads the reasoning that some providers put beside the content.
func reasoningOf(o object) []Part {
	if s := o.str("reasoning_content", "reasoning"); s != "" {
		return []Part{{Kind: PartReasoning, Text: s}}
	}
	return nil
}

// requestedCalls reads the calls that stand beside the content. The same calls are often in several places (content blocks, tool_calls,
// additional_kwargs): the first place that has any is the one that counts.
func requestedCalls(o object, have []Part) []Part {
	if slices.ContainsFunc(have, func(p Part) bool { return p.Kind == PartToolCall }) {
		return nil
	}
	calls := callList(o.get("tool_calls", "toolCalls", "tool_requests"))
	if len(calls) == 0 {
		calls = callList(o.object("additional_kwargs").get("tool_calls"))
	}
	if f := o.object("function_call"); len(calls) == 0 && f.str("name") != "" {
		calls = []Part{callPart(f)}
	}
	for _, p := range callList(o.get("invalid_tool_calls")) { // LangChain parsed them in vain; the provider's own list may hold them too
		if p.ID == "" || !slices.ContainsFunc(calls, func(c Part) bool { return c.ID == p.ID }) {
			calls = append(calls, p)
		}
	}
	return calls
}

func callList(raw string) []Part {
	if s, ok := unquote(raw); ok {
		raw = s
	}
	var out []Part
	for e := range elements(raw) {
		if p := callPart(readObject(e)); p.Name != "" || p.ID != "" {
			out = append(out, p)
		}
	}
	return out
}

// textOf joins the text parts of messages: system instructions, a final answer.
func textOf(ms []Message) string {
	var b strings.Builder
	first := ""
	for i := range ms {
		for j := range ms[i].Parts {
			p := &ms[i].Parts[j]
			switch {
			case p.Kind != PartText || p.Text == "":
			case first == "":
				first = p.Text
			default:
				b.WriteByte('\n')
				b.WriteString(p.Text)
			}
		}
	}
	return first + b.String() // mostly there is only one
}

func isAnyOf(s string, words ...string) bool { return slices.Contains(words, s) }

// isJSON says that a text begins like a JSON array or object.
func isJSON(text string) bool {
	k := kindOf(text)
	return k == '{' || k == '['
}
