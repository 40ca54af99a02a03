package rename

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// A recorded trace is any JSON, of any dialect: attributes in lists of {key, value}, messages as JSON inside of texts, calls and schemas in the
// shapes of many vendors. So it is rewritten by what is true of all: a call is an object, or a list of attributes, that names the tool and holds
// arguments beside the name. Order and spelling of everything else stay.

// maxDepth bounds how deep a tool's name is looked for: each level reads what lies below it again.
const maxDepth = 64

type member struct {
	name  string
	value jsontext.Value
}

// document rewrites a whole trace.json, which may end in a line feed and hold several values.
func (w *writer) document(b []byte) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	var out []byte
	changed := false
	for {
		v, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		v = v.Clone()
		next, c := w.value(v)
		if c && indented(v) {
			next = next.Clone()
			err = next.Indent(jsontext.WithIndent(" "))
		}
		if err != nil {
			return nil, err
		}
		changed = changed || c
		out = append(append(out, next...), '\n')
	}
	if !changed {
		return b, nil
	}
	if !bytes.HasSuffix(b, []byte("\n")) {
		out = bytes.TrimSuffix(out, []byte("\n"))
	}
	return out, nil
}

// indented says that a value is laid out as recorded traces are, so that a reviewer sees what changed and nothing else.
func indented(v jsontext.Value) bool {
	c := v.Clone()
	return c.Indent(jsontext.WithIndent(" ")) == nil && bytes.Equal(c, v)
}

// value rewrites one value and says whether anything in it changed; if nothing did it is returned as it was.
func (w *writer) value(v jsontext.Value) (jsontext.Value, bool) {
	if w.depth++; w.depth > maxDepth {
		w.depth--
		return v, false
	}
	defer func() { w.depth-- }()
	switch v.Kind() {
	case '"':
		return w.text(v)
	case '[':
		return w.list(v)
	case '{':
		return w.object(v)
	}
	return v, false
}

// text rewrites a text that is the tool's name, the name of a span such as "execute_tool NAME", or JSON.
func (w *writer) text(v jsontext.Value) (jsontext.Value, bool) {
	s := unquote(v)
	if inner := jsontext.Value(strings.TrimSpace(s)); len(inner) > 1 && (inner[0] == '{' || inner[0] == '[') && inner.IsValid() {
		if out, changed := w.value(inner); changed {
			return quote(string(out)), true
		}
		return v, false
	}
	if !w.whole() {
		return v, false
	}
	if s == w.n.Tool {
		return quote(w.n.To), true
	}
	if verb, ok := strings.CutSuffix(s, " "+w.n.Tool); ok && verb != "" && !strings.ContainsAny(verb, " \n") {
		return quote(verb + " " + w.n.To), true
	}
	if s == w.n.Tool+".tool" {
		return quote(w.n.To + ".tool"), true
	}
	return v, false
}

func (w *writer) list(v jsontext.Value) (jsontext.Value, bool) {
	items := elements(v)
	changed := false
	for i := range items {
		var c bool
		items[i], c = w.value(items[i])
		changed = changed || c
	}
	if !w.whole() && w.attributes(items) {
		changed = true
	}
	if !changed {
		return v, false
	}
	return join('[', ']', items), true
}

func (w *writer) object(v jsontext.Value) (jsontext.Value, bool) {
	ms := members(v)
	changed := false
	for i := range ms {
		var c bool
		ms[i].value, c = w.value(ms[i].value)
		changed = changed || c
	}
	if !w.whole() && slices.ContainsFunc(ms, func(m member) bool { return isName(m.name) && unquote(m.value) == w.n.Tool }) {
		for i := range ms {
			var c bool
			ms[i].value, c = w.beside(ms[i])
			changed = changed || c
		}
	}
	if !changed {
		return v, false
	}
	return joinMembers(ms), true
}

func isName(key string) bool {
	return slices.Contains([]string{"name", "tool", "tool_name", "toolName", "function_name"}, key)
}

var (
	argumentKeys = []string{"arguments", "args", "input", "tool_input", "kwargs", "parameters"}
	schemaKeys   = []string{"parameters", "inputSchema", "input_schema", "schema", "parametersJsonSchema", "json_schema"}
)

// beside rewrites what stands beside the tool's name: its arguments, its schema, or the field that a policy line compares.
func (w *writer) beside(m member) (jsontext.Value, bool) {
	if m.name == "same" && "/"+regcase.EscapePointer(unquote(m.value)) == w.n.Field {
		return quote(unescape(w.n.To)), true
	}
	inner, text := m.value, m.value.Kind() == '"'
	if text {
		inner = jsontext.Value(strings.TrimSpace(unquote(m.value)))
	}
	if inner.Kind() != '{' || !inner.IsValid() {
		return m.value, false
	}
	isSchema := slices.ContainsFunc(members(inner), func(m member) bool { return m.name == "properties" })
	var out jsontext.Value
	var changed bool
	switch {
	case isSchema && slices.Contains(schemaKeys, m.name):
		out = w.schema(inner)
		changed = !bytes.Equal(out, inner)
	case slices.Contains(argumentKeys, m.name):
		out, changed = w.wrapped(inner)
	}
	if !changed {
		return m.value, false
	}
	if text {
		out = quote(string(out))
	}
	return out, true
}

// wrapped renames the field in arguments, or in those that a framework put into a wrapper of its own.
func (w *writer) wrapped(args jsontext.Value) (jsontext.Value, bool) {
	if out, changed := moved(args, w.n.Field, w.n.To); changed {
		return out, true
	}
	ms := members(args)
	changed := false
	for i, m := range ms {
		if c := false; m.name == "kwargs" || m.name == "inputs" {
			ms[i].value, c = moved(m.value, w.n.Field, w.n.To)
			changed = changed || c
		}
	}
	if !changed {
		return args, false
	}
	return joinMembers(ms), true
}

// attributes rewrites, in a list of {key, value}, the arguments that belong to an attribute with the tool's name: of a span of the tool, or with
// the same beginning of the key.
func (w *writer) attributes(items []jsontext.Value) (changed bool) {
	for _, item := range items {
		key, value := attribute(item)
		if unquote(value) != w.n.Tool || !strings.HasSuffix(strings.ToLower(key), "name") {
			continue
		}
		prefix := key[:len(key)-len("name")]
		ofSpan := strings.Contains(strings.ToLower(key), "tool") && !strings.ContainsAny(key, "0123456789") || key == "traceloop.entity.name"
		for i, other := range items {
			k, v := attribute(other)
			rest, flat := strings.CutPrefix(k, prefix)
			if v == nil || !flat && !(ofSpan && isArguments(k)) {
				continue
			}
			if ofSpan && isArguments(k) {
				rest = "arguments"
			}
			if out, c := w.beside(member{rest, v}); c {
				items[i], changed = withValue(other, out), true
			}
		}
	}
	return changed
}

func isArguments(key string) bool {
	return slices.Contains([]string{"gen_ai.tool.call.arguments", "input.value", "ai.toolCall.args", "traceloop.entity.input", "tool.parameters", "tool_arguments", "mcp.tool.arguments", "logfire.arguments"}, key)
}

// attribute gives key and text of an attribute; the text is nil if it is none.
func attribute(v jsontext.Value) (key string, text jsontext.Value) {
	if v.Kind() != '{' {
		return "", nil
	}
	for _, m := range members(v) {
		switch m.name {
		case "key":
			key = unquote(m.value)
		case "value":
			if m.value.Kind() != '{' {
				continue
			}
			for _, inner := range members(m.value) {
				if inner.name == "stringValue" {
					text = inner.value
				}
			}
		}
	}
	return key, text
}

func withValue(attr, text jsontext.Value) jsontext.Value {
	ms := members(attr)
	for i := range ms {
		if ms[i].name == "value" {
			ms[i].value = joinMembers([]member{{"stringValue", text}})
		}
	}
	return joinMembers(ms)
}

// moved renames the last part of a pointer in a value. Lists on the way are entered by "*" and by index alike.
func moved(v jsontext.Value, from, to string) (jsontext.Value, bool) {
	head, rest, _ := strings.Cut(from[1:], "/")
	_, restTo, deeper := strings.Cut(to[1:], "/")
	name := unescapePart(head)
	if v.Kind() == '[' {
		items := elements(v)
		changed := false
		for i := range items {
			if c := false; deeper && (name == "*" || strings.Trim(name, "0123456789") == "") {
				items[i], c = moved(items[i], "/"+rest, "/"+restTo)
				changed = changed || c
			}
		}
		if !changed {
			return v, false
		}
		return join('[', ']', items), true
	}
	if v.Kind() != '{' {
		return v, false
	}
	ms := members(v)
	i := slices.IndexFunc(ms, func(m member) bool { return m.name == name })
	if i < 0 || !deeper && slices.ContainsFunc(ms, func(m member) bool { return m.name == unescapePart(to[1:]) }) {
		return v, false
	}
	if !deeper {
		ms[i].name = unescapePart(to[1:])
		return joinMembers(ms), true
	}
	var changed bool
	if ms[i].value, changed = moved(ms[i].value, "/"+rest, "/"+restTo); !changed {
		return v, false
	}
	return joinMembers(ms), true
}

// schema renames the field in a JSON Schema of the arguments, and notes the digests of the old and the new one.
func (w *writer) schema(v jsontext.Value) jsontext.Value {
	out := inSchema(v, w.n.Field, w.n.To)
	if !bytes.Equal(out, v) {
		w.schemas[regcase.SHA256(regcase.NewJSON(v))] = regcase.SHA256(regcase.NewJSON(out))
	}
	return out
}

func inSchema(v jsontext.Value, from, to string) jsontext.Value {
	if v.Kind() != '{' || from == "" {
		return v
	}
	head, rest, _ := strings.Cut(from[1:], "/")
	_, restTo, deeper := strings.Cut(to[1:], "/")
	name, ms := unescapePart(head), members(v)
	for i, m := range ms {
		switch {
		case m.name == "items" && deeper:
			ms[i].value = inSchema(m.value, "/"+rest, "/"+restTo)
		case m.name == "required" && !deeper && m.value.Kind() == '[':
			items := elements(m.value)
			for j := range items {
				if unquote(items[j]) == name {
					items[j] = quote(unescapePart(to[1:]))
				}
			}
			ms[i].value = join('[', ']', items)
		case m.name == "properties" && m.value.Kind() == '{':
			props := members(m.value)
			for j := range props {
				if props[j].name != name {
					continue
				}
				if deeper {
					props[j].value = inSchema(props[j].value, "/"+rest, "/"+restTo)
				} else {
					props[j].name = unescapePart(to[1:])
				}
			}
			ms[i].value = joinMembers(props)
		}
	}
	return joinMembers(ms)
}

func unescapePart(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }

// unescape is the last part of a pointer as a name.
func unescape(pointer string) string {
	return unescapePart(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

func members(v jsontext.Value) (out []member) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		out = append(out, member{key, value.Clone()})
	}
	return out
}

func elements(v jsontext.Value) (out []jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for k := dec.PeekKind(); k != ']' && k != 0; k = dec.PeekKind() {
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		out = append(out, value.Clone())
	}
	return out
}

func join(open, shut byte, items []jsontext.Value) jsontext.Value {
	out := jsontext.Value{open}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, shut)
}

func joinMembers(ms []member) jsontext.Value {
	items := make([]jsontext.Value, len(ms))
	for i, m := range ms {
		items[i] = append(append(quote(m.name), ':'), m.value...)
	}
	return join('{', '}', items)
}

func quote(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return jsontext.Value(`""`) // cannot happen: the text was read from JSON, which is UTF-8
	}
	return b
}

// unquote is a JSON text as it reads, "" for anything else.
func unquote(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
