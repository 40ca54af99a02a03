package importer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Phoenix: spans as its API answers them ({"data": [span]}) or its clients dump them, one object a span. The attributes are
// flat or nested by version; a few, which OpenInference writes as JSON text, were taken apart and are put together again.
// The kind of OpenInference is a field beside the attributes. There is neither resource nor scope.

func isPhoenix(o object) bool {
	if o.has("data") {
		o = o.inner("data")
	}
	if o.has("context.trace_id", "context.span_id") {
		return o.has("span_kind", "parent_id")
	}
	return o.inner("context").has("trace_id") && o.has("span_kind") && o.has("parent_id", "status_code", "start_time")
}

func readPhoenix(x *export, o object) error {
	if o.has("data") {
		return each(o["data"], "data", func(span object) error { return readPhoenixSpan(x, span) })
	}
	return readPhoenixSpan(x, o)
}

func readPhoenixSpan(x *export, o object) error {
	f := o.fold()
	for _, id := range []string{"traceid", "spanid"} { // of a table's row
		if v := f.get("context." + id); v != nil {
			f[id] = v
		}
	}
	flat := flattened{x: x}
	if attrs := f.get("attributes"); attrs != nil {
		flat.object("", attrs, maxDepth)
	}
	for _, name := range sortedNames(o) {
		if key, ok := strings.CutPrefix(name, "attributes."); ok {
			flat.value(key, o[name], maxDepth)
		}
	}
	delete(f, "attributes")
	kind := f.text("spankind")
	delete(f, "spankind")
	s := x.spanObject(f, origin{})
	flat.into(s.Attributes())
	if _, has := s.Attributes().Get("openinference.span.kind"); !has && kind != "" && kind != "UNKNOWN" {
		s.Attributes().PutStr("openinference.span.kind", kind)
	}
	phoenixExceptions(s)
	return nil
}

// phoenixExceptions names the attributes of exceptions as OpenTelemetry does, where a dump has the event's own names.
func phoenixExceptions(s ptrace.Span) {
	for _, e := range s.Events().All() {
		for _, name := range []string{"type", "message", "stacktrace"} {
			v, ok := e.Attributes().Get("exception_" + name)
			if _, has := e.Attributes().Get("exception." + name); ok && !has {
				v.CopyTo(e.Attributes().PutEmpty("exception." + name))
			}
		}
	}
}

// flattened collects attributes under dotted keys with indices, as OpenInference writes them.
type flattened struct {
	x     *export
	pairs []pair
}

type pair struct {
	key   string
	value jsontext.Value
}

// wholeKeys end the keys whose values OpenInference writes as JSON text.
var wholeKeys = []string{
	"metadata", "tool.parameters", "llm.invocation_parameters", "llm.prompt_template.variables", "tool.json_schema",
	"tool_call.function.arguments", "message.function_call_arguments_json", "input.value", "output.value",
}

func isWhole(key string) bool {
	return slices.ContainsFunc(wholeKeys, func(k string) bool { return key == k || strings.HasSuffix(key, "."+k) })
}

func (f *flattened) object(prefix string, src jsontext.Value, depth int) {
	_ = members(src, func(name string, v jsontext.Value) bool {
		f.value(prefix+name, v, depth)
		return len(f.pairs) < maxMembers
	})
}

func (f *flattened) value(key string, v jsontext.Value, depth int) {
	switch {
	case absent(v):
	case depth == 0 || isWhole(key) && (v[0] == '{' || v[0] == '['):
		f.pairs = append(f.pairs, pair{key, jsonText(v)})
	case v[0] == '{':
		f.object(key+".", v, depth-1)
	case v[0] == '[' && holdsObjects(v):
		i := 0
		_ = elements(v, func(e jsontext.Value) error {
			f.value(key+"."+strconv.Itoa(i), e, depth-1)
			i++
			return nil
		})
	default:
		f.pairs = append(f.pairs, pair{key, v})
	}
}

func holdsObjects(list jsontext.Value) bool {
	for i := 1; i < len(list); i++ {
		switch list[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return list[i] == '{'
		}
	}
	return false
}

// into writes the attributes. Keys below one whose value is JSON text (tool.parameters.properties.x.type) become that text.
func (f *flattened) into(m pcommon.Map) {
	var parts map[string]*branch
	for _, p := range f.pairs {
		root, path, ok := belowWhole(p.key)
		if !ok {
			f.x.attribute(p.key, p.value, m)
			continue
		}
		if parts == nil {
			parts = map[string]*branch{}
		}
		if parts[root] == nil {
			parts[root] = &branch{}
		}
		parts[root].put(path, p.value)
	}
	roots := make([]string, 0, len(parts))
	for root := range parts {
		roots = append(roots, root)
	}
	slices.Sort(roots)
	for _, root := range roots {
		if _, has := m.Get(root); !has {
			m.PutStr(root, string(parts[root].append(nil)))
		}
	}
}

// belowWhole splits a key after the first whole key in it.
func belowWhole(key string) (root string, path []string, ok bool) {
	for _, k := range wholeKeys[:4] { // those that Phoenix takes apart
		if rest, found := strings.CutPrefix(key, k+"."); found {
			return k, strings.Split(rest, "."), true
		}
	}
	return "", nil, false
}

// branch is a JSON structure that is being put together again: a leaf, or members in the order in which they came.
type branch struct {
	leaf  jsontext.Value
	names []string
	below map[string]*branch
}

func (b *branch) put(path []string, v jsontext.Value) {
	if len(path) == 0 || len(path) > maxDepth {
		b.leaf = v
		return
	}
	if b.below == nil {
		b.below = map[string]*branch{}
	}
	next := b.below[path[0]]
	if next == nil {
		next = &branch{}
		b.below[path[0]] = next
		b.names = append(b.names, path[0])
	}
	next.put(path[1:], v)
}

func (b *branch) append(out []byte) []byte {
	if b.below == nil {
		return append(out, b.leaf...)
	}
	list := b.isList()
	out = append(out, "{["[btoi(list)])
	for i, name := range b.names {
		if i > 0 {
			out = append(out, ',')
		}
		if !list {
			out = append(append(out, quoted(name)...), ':')
		}
		out = b.below[name].append(out)
	}
	return append(out, "}]"[btoi(list)])
}

// isList tells members that are named 0, 1, 2 and so on.
func (b *branch) isList() bool {
	for i, name := range b.names {
		if name != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
