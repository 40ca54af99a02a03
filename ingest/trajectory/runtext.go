package trajectory

import "slices"

// askedText is the last thing a user said in an agent's input, whatever shape that has.
func askedText(in string) string {
	if in == redacted {
		return ""
	}
	if !isJSON(in) {
		return plainText(in)
	}
	ms := ParseMessages(in)
	for _, m := range slices.Backward(ms) {
		if m.Role == "user" {
			if t := textOf([]Message{m}); t != "" {
				return t
			}
		}
	}
	if kindOf(in) == '{' {
		return readObject(in).str("task", "query", "question", "input", "message", "prompt")
	}
	return ""
}

// answerText is the final text in an agent's output, whatever shape that has.
func answerText(out string) string {
	if out == redacted {
		return ""
	}
	if !isJSON(out) {
		return plainText(out)
	}
	ms := ParseMessages(out)
	for _, m := range slices.Backward(ms) {
		if m.Role == "assistant" || m.Role == "" {
			if t := textOf([]Message{m}); t != "" {
				return t
			}
		}
	}
	if kindOf(out) == '{' {
		return readObject(out).str("output", "result", "answer", "text", "response", "final_output")
	}
	return ""
}

// plainText undoes the quotes of a text that was sent as a JSON string.
func plainText(s string) string {
	if t, ok := unquote(s); ok {
		return t
	}
	if sentinel(s) {
		return ""
	}
	return s
}
