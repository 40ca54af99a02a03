package trajectory

import "strings"

// splitJoined gives each of an answer's parallel calls its own arguments where they came run together ({...}{...}): all in the first call,
// or all in each. Where there are not as many as calls nothing can be told, and the text stays as it is.
func splitJoined(answer []Message) {
	var calls []*Part
	for i := range answer {
		for j := range answer[i].Parts {
			if p := &answer[i].Parts[j]; p.Kind == PartToolCall {
				calls = append(calls, p)
			}
		}
	}
	if len(calls) < 2 || calls[0].Value.Parsed != ParsedBroken {
		return
	}
	for _, c := range calls[1:] {
		if !absent(c.Value) && c.Value.Raw != "{}" && c.Value.Raw != calls[0].Value.Raw {
			return
		}
	}
	values := joinedObjects(calls[0].Value.Raw)
	if len(values) != len(calls) {
		return
	}
	for i, c := range calls {
		c.Value = ParseValue(values[i])
	}
}

// joinedObjects takes apart JSON objects that stand one after the other with nothing between them; nil when the text is anything else.
func joinedObjects(text string) (out []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		end, ok := valueEnd(text, 0)
		if text[0] != '{' || !ok {
			return nil
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return out
}
