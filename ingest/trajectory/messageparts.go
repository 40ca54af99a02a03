package trajectory

import (
	"slices"
	"strings"
)

// contentParts reads the content of a message: text, a list of parts, or one part.
func contentParts(raw string, depth int) []Part { return appendContentParts(nil, raw, depth) }

func appendContentParts(out []Part, raw string, depth int) []Part {
	if depth > maxNesting {
		return out
	}
	var room few
	switch kindOf(raw) {
	case '"':
		s, _ := unquote(raw)
		return appendText(out, s, depth)
	case '{':
		return appendPart(out, readInto(room[:0], raw), depth)
	case '[':
		for i, end := listStart(raw), 0; i < len(raw) && raw[i] != ']'; i = nextElement(raw, end) {
			var o object
			if o, end = elementAt(room[:0], raw, i); end == 0 {
				break
			}
			if o != nil {
				out = appendPart(out, o, depth+1)
			} else {
				out = appendContentParts(out, raw[i:end], depth+1)
			}
		}
	}
	return out
}

// partsOfText reads content that came as text: prose, or, as some emitters write it, the list of parts as JSON.
func partsOfText(s string, depth int) []Part { return appendText(nil, s, depth) }

func appendText(out []Part, s string, depth int) []Part {
	if s == "" {
		return out
	}
	if strings.HasPrefix(s, "[{") {
		if parts := contentParts(s, depth+1); onlyKnownParts(parts) {
			return append(out, parts...)
		}
	}
	return append(out, Part{Kind: PartText, Text: s})
}

// onlyKnownParts guards against reading a user's own JSON as parts.
func onlyKnownParts(parts []Part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p Part) bool { return p.Kind == PartOther })
}

// appendPart reads one content part. It gives several only for wrappers around a list.
func appendPart(out []Part, o object, depth int) []Part {
	if depth > maxNesting {
		return out
	}
	typ := o.str("type")
	switch typ {
	case "":
		return appendUntyped(out, o, depth)
	case "text", "input_text", "output_text", "refusal":
		return appendText(out, o.str("text", "content", "refusal"), depth)
	case "reasoning", "thinking", "redacted_thinking", "summary_text":
		return append(out, Part{Kind: PartReasoning, Text: reasoningText(o, depth)})
	case "tool_call", "tool_use", "tool-call", "function", "custom", "function_call", "toolUse", "invalid_tool_call":
		if o.isTrue("providerExecuted", "provider_executed") {
			return append(out, otherPart(o, typ))
		}
		return append(out, callPart(o))
	case "tool_call_response", "tool_result", "tool-result", "tool-error", "tool_response", "function_call_output", "toolResult":
		return append(out, resultPart(o, depth))
	}
	return append(out, otherPart(o, typ))
}

// appendUntyped reads the parts of Bedrock and Gemini, whose key is their type.
func appendUntyped(out []Part, o object, depth int) []Part {
	switch {
	case o.get("toolUse") != "":
		return append(out, callPart(o.object("toolUse")))
	case o.get("toolResult") != "":
		return append(out, resultPart(o.object("toolResult"), depth))
	case o.get("functionCall", "function_call") != "":
		return append(out, geminiCall(o.object("functionCall", "function_call")))
	case o.get("functionResponse", "function_response") != "":
		return append(out, resultPart(o.object("functionResponse", "function_response"), depth))
	case o.get("reasoningContent") != "":
		return append(out, Part{Kind: PartReasoning, Text: reasoningText(o.object("reasoningContent"), depth)})
	case o.isTrue("thought"):
		return append(out, Part{Kind: PartReasoning, Text: o.str("text")})
	case o.str("text") != "":
		return append(out, Part{Kind: PartText, Text: o.str("text")})
	case o.get("toolCallId") != "" || o.get("function") != "":
		return append(out, toolCallOrResult(o, depth))
	case o.get("content", "message") != "": // an envelope around the content
		return appendContentParts(out, o.get("content", "message"), depth+1)
	case o.get("text") != "" || len(o) == 0:
		return out
	}
	return append(out, otherPart(o, ""))
}

func toolCallOrResult(o object, depth int) Part {
	if o.get("result", "output") != "" {
		return resultPart(o, depth)
	}
	return callPart(o)
}

func reasoningText(o object, depth int) string {
	if s := o.str("text", "thinking", "content", "reasoning"); s != "" {
		return s
	}
	raw := o.get("summary", "content", "reasoningText")
	return joinedText(contentParts(raw, depth+1))
}

// joinedText joins the texts of parts of whatever kind.
func joinedText(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// otherPart keeps what a rule does not read: media, and calls that the provider runs itself.
func otherPart(o object, typ string) Part {
	p := Part{Kind: PartOther, Text: typ, ID: callID(o.str("id", "call_id", "tool_use_id", "toolCallId")), Name: o.str("name", "toolName")}
	if raw := o.get("arguments", "input", "args"); raw != "" {
		p.Value = valueOfJSON(raw)
	}
	return p
}

// callPart reads a requested call of any vendor.
func callPart(o object) Part {
	p := Part{Kind: PartToolCall, ID: callID(o.str("call_id", "callId", "toolCallId", "toolUseId", "tool_call_id", "id"))}
	free := isAnyOf(o.str("type"), "custom", "custom_tool_call")
	if f := o.object("function", "custom", "functionCall"); f != nil {
		o = f
	}
	p.Name = o.str("name", "toolName", "tool_name")
	if text := o.str("input"); free && text != "" { // what the model wrote is the input, whatever it looks like
		p.Value = Value{Raw: text, Parsed: ParsedText}
		return p
	}
	p.Value = valueOfJSON(o.get("arguments", "input", "args", "parameters")) // absent stays absent: nobody recorded them
	return p
}

// geminiCall reads a functionCall of Gemini, whose encoding leaves empty arguments out: there absent means none.
func geminiCall(o object) Part {
	p := callPart(o)
	if o.get("args", "arguments") == "" {
		p.Value = ParseValue("{}")
	}
	return p
}

// callID folds the emitters' words for "no id".
func callID(id string) string {
	switch strings.TrimSpace(id) {
	case "", "null", "None", "none", "unknown", "Unknown", "N/A", "undefined", "call_":
		return ""
	}
	return id
}

// resultPart reads the result of a call, of any vendor.
func resultPart(o object, depth int) Part {
	p := Part{
		Kind:   PartToolResult,
		ID:     callID(o.str("tool_call_id", "tool_use_id", "toolUseId", "toolCallId", "call_id", "callId", "id")),
		Name:   o.str("toolName", "tool_name", "name"),
		Failed: o.isTrue("is_error", "isError") || o.str("status") == "error" || o.str("type") == "tool-error",
	}
	raw := o.get("response", "result", "output", "content", "parts", "error", "text")
	if raw == "" && (o.has("response") || o.has("result") || o.has("output")) {
		raw = "null" // what a tool without a result returns
	}
	value, failed := resultValue(raw, depth+1)
	p.Value, p.Failed, p.Unrecorded = value, p.Failed || failed, raw == ""
	return p
}

// resultValue reads the body of a result, which may be the value itself, typed output of the AI SDK, or content blocks. It says whether the
// body marks a failure.
func resultValue(raw string, depth int) (Value, bool) {
	switch kindOf(raw) {
	case '{':
		if depth <= maxNesting {
			return typedResult(raw, depth)
		}
	case '[':
		if text, ok := blockText(raw, depth); ok {
			return text, false
		}
	}
	return valueOfJSON(raw), false
}

// typedResult reads {"type": "error-text", "value": ...} and the blocks {"type": "text", "text": ...} that stand alone.
func typedResult(raw string, depth int) (Value, bool) {
	if !strings.Contains(raw, `"type"`) {
		return valueOfJSON(raw), false
	}
	o := readObject(raw)
	typ := o.str("type")
	switch typ {
	case "text", "json", "error-text", "error-json", "content":
		inner := o.get("value", "text")
		if inner == "" {
			return valueOfJSON(raw), false
		}
		v, failed := resultValue(inner, depth+1)
		return v, failed || strings.HasPrefix(typ, "error")
	case "execution-denied":
		return valueOfJSON(raw), true
	}
	return valueOfJSON(raw), false
}

// blockText reads a list of content blocks as the one value it stands for: all text, or the single JSON block of Bedrock.
func blockText(raw string, depth int) (Value, bool) {
	if depth > maxNesting {
		return Value{}, false
	}
	var texts []string
	n := 0
	for e := range elements(raw) {
		n++
		o := readObject(e)
		switch {
		case o.get("json") != "" && o.str("type") == "" && n == 1:
			return valueOfJSON(o.get("json")), true
		case (o.has("text") || o.str("type") == "text") && isAnyOf(o.str("type"), "", "text", "output_text", "input_text"):
			texts = append(texts, o.str("text", "content"))
		default:
			return Value{}, false
		}
	}
	return ParseValue(strings.Join(texts, "\n")), n > 0
}

// valueOfJSON reads a JSON value as arguments or a result. A string is one more layer: the usual form of arguments.
func valueOfJSON(raw string) Value {
	if raw == "" {
		return Value{Parsed: ParsedAbsent}
	}
	if s, ok := unquote(raw); ok {
		return ParseValue(s)
	}
	v := ParseValue(raw)
	if v.Parsed == ParsedString {
		v.Parsed = ParsedObject
	}
	return v
}
