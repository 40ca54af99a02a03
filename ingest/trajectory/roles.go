package trajectory

import "strings"

// foldRole maps every spelling of a role to user, assistant, system or tool; "" when the word says nothing.
func foldRole(role string) string {
	switch strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(role), "chunk"), "message") {
	case "user", "human", "customer":
		return "user"
	case "assistant", "ai", "model", "tool-call", "bot":
		return "assistant"
	case "system", "developer":
		return "system"
	case "tool", "function", "tool-response", "tool_result", "ipython":
		return "tool"
	}
	return ""
}

// roleOfParts is the role that only such parts can have.
func roleOfParts(parts []Part) string {
	calls, results := 0, 0
	for _, p := range parts {
		switch p.Kind {
		case PartToolCall:
			calls++
		case PartToolResult:
			results++
		}
	}
	switch {
	case calls > 0 && results == 0:
		return "assistant"
	case results > 0 && results == len(parts):
		return "tool"
	}
	return ""
}

// settleRoles corrects roles by what the messages hold: results that came as user, calls that came as tool, and unknown roles by place.
func settleRoles(ms []Message) []Message {
	for i := range ms {
		m := &ms[i]
		if r := roleOfParts(m.Parts); r != "" && (m.Role == "" || m.Role == "tool" || r == "tool") {
			m.Role = r
		}
		if m.Role == "" && i > 0 {
			m.Role = roleAfter(ms[i-1].Role)
		}
	}
	return ms
}

func roleAfter(prev string) string {
	switch prev {
	case "user", "tool":
		return "assistant"
	case "assistant", "system":
		return "user"
	}
	return ""
}
