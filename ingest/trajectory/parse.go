package trajectory

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// ParseValue reads the text of a tool call's arguments or result: JSON, JSON in a JSON string, a Python literal, a wrapper of a known
// framework, or plain text. It never fails: what cannot be read keeps its raw text and says so in Parsed. An empty text is ParsedAbsent.
func ParseValue(raw string) Value {
	text := strings.TrimSpace(raw)
	switch {
	case text == "":
		return Value{Raw: raw, Parsed: ParsedAbsent}
	case withheld(text):
		return Value{Raw: raw, Parsed: ParsedText, Truncated: true}
	}
	v := parseText(raw, text, 0)
	v.Truncated = v.Truncated || holdsWithheld(raw) || (v.Parsed == ParsedBroken && cutByLimit(text))
	return v
}

// ValueOf reads an attribute value as ParseValue reads a text; structured values are ParsedObject.
func ValueOf(v pcommon.Value) Value {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return ParseValue(v.Str())
	case pcommon.ValueTypeEmpty:
		return Value{Parsed: ParsedAbsent}
	}
	raw := structured(v)
	out := Value{Raw: raw, JSON: canonical(raw), Parsed: ParsedObject, Truncated: holdsWithheld(raw)}
	if out.JSON == nil {
		out.Parsed = ParsedBroken
		return out
	}
	return unwrap(out, 0)
}

// maxEncodings is how many times a value may be JSON text inside a JSON string.
const maxEncodings = 4

func parseText(raw, text string, depth int) Value {
	v := Value{Raw: raw}
	switch {
	case !jsonish(text):
		v.Parsed = ParsedText
		return v
	case text == "None" || text == "True" || text == "False" || text[0] == '(' || text[0] == '\'':
		return parseRepr(v, text, depth)
	}
	if v.JSON = canonical(text); v.JSON == nil {
		return parseRepr(v, text, depth)
	}
	v.Parsed = ParsedString
	if text[0] == '"' && depth < maxEncodings {
		return parseInner(v, depth)
	}
	return unwrap(v, depth)
}

// parseInner reads what a JSON string holds when that is an object or a list: a text that was encoded twice. A string that holds anything
// else is just a string.
func parseInner(v Value, depth int) Value {
	inner, err := jsontext.AppendUnquote(nil, v.JSON)
	if err != nil {
		return v
	}
	text := strings.TrimSpace(string(inner))
	if text == "" || (text[0] != '{' && text[0] != '[' && text[0] != '"') {
		return v
	}
	if in := parseText(v.Raw, text, depth+1); in.JSON != nil {
		in.Parsed = ParsedDouble
		return in
	}
	return v
}

func parseRepr(v Value, text string, depth int) Value {
	if out, ok := literal(text); ok {
		if v.JSON = canonical(string(out)); v.JSON != nil {
			v.Parsed = ParsedRepr
			return unwrap(v, depth)
		}
	}
	v.JSON, v.Parsed = nil, ParsedBroken
	if c := text[0]; c == '(' || c == '\'' {
		v.Parsed = ParsedText // prose that begins so is no failed literal
	}
	return v
}

// jsonish says whether a text means to be JSON or a Python literal: it begins with the first token of one.
func jsonish(text string) bool {
	switch c := text[0]; c {
	case '"', '(', '\'':
		return true
	case '{':
		rest := strings.TrimLeft(text[1:], " \t\r\n")
		return rest == "" || strings.IndexByte("\"'}", rest[0]) >= 0 || bareKey(rest)
	case '[':
		rest := strings.TrimLeft(text[1:], " \t\r\n")
		return rest == "" || strings.IndexByte("\"'{[]-0123456789(", rest[0]) >= 0 || literalWord(rest)
	default:
		return (c == '-' || c >= '0' && c <= '9' || literalWord(text)) && jsontext.Value(text).IsValid() ||
			text == "None" || text == "True" || text == "False"
	}
}

// bareKey says whether a text begins with an unquoted name and a colon, as JSON written by a careless model does.
func bareKey(s string) bool {
	i := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	return i > 0 && s[i] == ':'
}

func literalWord(s string) bool {
	for _, w := range []string{"null", "true", "false", "None", "True", "False"} {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// unwrap takes a value out of the wrappers that frameworks put around it. Names are in order in canonical JSON, so that the first tells
// whether an object can be one.
func unwrap(v Value, depth int) Value {
	if depth >= maxEncodings || !bytes.HasPrefix(v.JSON, []byte(`{"`)) {
		return v
	}
	name, _, _ := bytes.Cut(v.JSON[2:], []byte(`"`))
	switch string(name) {
	case "args":
		return unwrapArgs(v)
	case "input_str", "kwargs", "output":
		return unwrapLangChain(v, depth)
	case "id":
		if bytes.Contains(v.JSON, []byte(`"lc":`)) {
			return unwrapLangChain(v, depth)
		}
	}
	return v
}

// unwrapArgs reads {"args":[...],"kwargs":{...}}: a decorated function's call.
func unwrapArgs(v Value) Value {
	var w map[string]jsontext.Value
	if unmarshal(v.JSON, &w) != nil || w["kwargs"] == nil || len(w) > 3 || (len(w) == 3 && w["sanitize_inputs_outputs"] == nil) {
		return v
	}
	var list []jsontext.Value
	if unmarshal(w["args"], &list) != nil {
		return v
	}
	v.Parsed = ParsedArgs
	switch kwargs := w["kwargs"]; {
	case len(list) == 0 && len(kwargs) > 0 && kwargs[0] == '{':
		v.JSON = slices.Clone(kwargs)
	case len(list) == 1 && len(kwargs) == 2:
		v.JSON = slices.Clone(list[0])
	case len(list) > 0 && len(kwargs) == 2:
		v.JSON = slices.Clone(w["args"])
	}
	return v
}

// langChain are the wrappers of LangChain's callbacks and of its serialised messages.
type langChain struct {
	InputStr *string        `json:"input_str"`
	Inputs   jsontext.Value `json:"inputs"`
	Output   jsontext.Value `json:"output"`
	LC       jsontext.Value `json:"lc"`
	Kwargs   jsontext.Value `json:"kwargs"`
}

func unwrapLangChain(v Value, depth int) Value {
	var w langChain
	if unmarshal(v.JSON, &w) != nil {
		return v
	}
	var inner string
	switch {
	case len(w.Inputs) > 0 && w.Inputs[0] == '{' && w.InputStr != nil:
		inner = string(w.Inputs)
	case w.InputStr != nil:
		inner = *w.InputStr
	case len(w.LC) > 0 && len(w.Kwargs) > 0:
		var message struct {
			Content jsontext.Value `json:"content"`
		}
		if unmarshal(w.Kwargs, &message) != nil || len(message.Content) == 0 {
			return v
		}
		inner = string(message.Content)
	case len(w.Output) > 0 && w.Output[0] == '{' && bytes.Contains(w.Output, []byte(`"lc":`)):
		inner = string(w.Output)
	default:
		return v
	}
	return wrapped(v, inner, depth)
}

// wrapped reads what a wrapper held. Prose stays prose: it becomes a JSON string.
func wrapped(v Value, inner string, depth int) Value {
	v.Parsed = ParsedWrap
	text := strings.TrimSpace(inner)
	if text == "" {
		v.JSON = jsontext.Value(`""`)
		return v
	}
	if in := parseText(v.Raw, text, depth+1); in.JSON != nil {
		v.JSON = in.JSON
		return v
	}
	v.JSON = appendString(nil, inner)
	return v
}

func unmarshal(data []byte, into any) error {
	if len(data) == 0 {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(data, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// withheld says whether a text is an emitter's word for content that it hid or could not write.
func withheld(text string) bool {
	switch text {
	case "__REDACTED__", "[REDACTED]", "<REDACTED>", "REDACTED", "<replaced>", "FILTERED", "[FILTERED]", "[Filtered]", "<not serializable>",
		"<not specified>", "N/A", "exception details redacted", "[object Object]", "[object ToolMessage]":
		return true
	}
	return strings.HasPrefix(text, "[Scrubbed due to ")
}

// holdsWithheld says whether part of a text was hidden or cut by the emitter.
func holdsWithheld(raw string) bool {
	return strings.Contains(raw, "REDACTED") && (strings.Contains(raw, "__REDACTED__") || strings.Contains(raw, "[REDACTED]") ||
		strings.Contains(raw, "<REDACTED>")) || strings.Contains(raw, "[Scrubbed due to ") || strings.Contains(raw, "[TRUNCATED: original length")
}

// cutByLimit says whether a broken text looks cut by a length limit of the sender rather than written so by the model: it ends in the
// middle, and where limits lie.
func cutByLimit(text string) bool {
	if strings.HasSuffix(text, "...") || strings.HasSuffix(text, "…") {
		return true
	}
	if !endsEarly(text) {
		return false
	}
	n := len(text)
	return n >= 4000 || slices.Contains([]int{64, 128, 255, 256, 500, 512, 1000, 1024, 2000, 2048}, n)
}

// endsEarly says whether a JSON text is good as far as it goes.
func endsEarly(text string) bool {
	d := jsontext.NewDecoder(strings.NewReader(text), lenient...)
	for {
		if _, err := d.ReadToken(); err != nil {
			return errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}
