package trajectory

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// finishOf folds every spelling of a finish reason; "" when there is none.
func finishOf(raw string) FinishReason {
	word := strings.ToLower(strings.TrimSpace(raw))
	word = word[strings.LastIndexByte(word, '.')+1:] // "FinishReason.TOOL_CALLS", as Python prints it
	switch strings.ReplaceAll(strings.ReplaceAll(word, "-", "_"), " ", "_") {
	case "":
		return ""
	case "stop", "end_turn", "endturn", "stop_sequence", "stopsequence", "completed", "complete", "eos", "end", "finish_reason_stop":
		return FinishStop
	case "tool_calls", "tool_call", "tool_use", "tooluse", "function_call", "toolcalls":
		return FinishToolCalls
	case "length", "max_tokens", "maxtokens", "max_output_tokens", "incomplete", "model_length", "model_context_window_exceeded", "finish_reason_max_tokens":
		return FinishLength
	case "content_filter", "content_filtered", "contentfiltered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
		"guardrail_intervened", "guardrailintervened", "refusal":
		return FinishContentFilter
	case "error", "malformed_function_call", "unexpected_tool_call", "failed":
		return FinishError
	case "none", "null", "unknown":
		return ""
	default:
		return FinishOther
	}
}

// finishRaw returns the first finish reason out of any container: an array, a JSON array in a text, a comma list, one word.
func finishRaw(a Attrs, keys ...string) string {
	for _, k := range keys {
		for _, s := range a.Strings(k) {
			if s = firstWord(strings.TrimSpace(s)); s != "" && !sentinel(s) {
				return s
			}
		}
	}
	return ""
}

func firstWord(s string) string {
	if strings.HasPrefix(s, "[") || strings.HasPrefix(s, `"`) {
		var list []string
		if unmarshal([]byte(s), &list) == nil {
			s = ""
			if len(list) > 0 {
				s = list[0]
			}
		} else if out, err := jsontext.AppendUnquote(nil, s); err == nil {
			s = string(out)
		}
	}
	s, _, _ = strings.Cut(s, ",")
	return strings.TrimSpace(s)
}

// finishInOutput reads the finish reason out of output messages that carry their own.
func finishInOutput(text string) string {
	if !strings.Contains(text, `"finish_reason"`) {
		return ""
	}
	for e := range elements(text) {
		if s := readObject(e).str("finish_reason"); s != "" {
			return s
		}
	}
	return ""
}
