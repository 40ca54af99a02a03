package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// order decides whether one JSON Schema allows all that another one does. It is conservative: what it cannot decide counts as not allowed.
//
// An argument is taken to hold no members beside those that its schema names, unless the schema says that there may be others: that is what a model is told.
// So a new optional property is no narrowing, although a wild schema would have allowed any value there before.
type order struct {
	oldRoot, newRoot any
	seen             map[[2]string]bool // pairs of references that are being compared: they hold unless something else fails
	out              []Change
}

const maxDepth = 32

// narrowed puts down that new does not allow what old does.
func (o *order) narrowed(at []string, format string, args ...any) {
	o.out = append(o.out, Change{Kind: Breaking, Pointer: slices.Clone(at), What: fmt.Sprintf(format, args...)})
}

// allows compares two schemas at one place of the arguments.
func (o *order) allows(old, new any, at []string) {
	if len(at) > maxDepth {
		o.narrowed(at, "is nested too deep to be compared")
		return
	}
	if text(old) == text(new) && text(definitions(o.oldRoot)) == text(definitions(o.newRoot)) {
		return
	}
	oldRef, newRef := refOf(old), refOf(new)
	if oldRef != "" || newRef != "" {
		pair := [2]string{text(old), text(new)}
		if o.seen[pair] {
			return
		}
		o.seen[pair] = true
		var ok bool
		if old, ok = resolve(o.oldRoot, old); !ok {
			o.narrowed(at, "refers to what is not there")
			return
		}
		if new, ok = resolve(o.newRoot, new); !ok {
			o.narrowed(at, "refers to what is not there")
			return
		}
	}
	switch {
	case trivial(new), old == false:
		return
	case new == false:
		o.narrowed(at, "is no longer allowed")
		return
	}
	a, okA := asSchema(old)
	b, okB := asSchema(new)
	if !okA || !okB {
		o.narrowed(at, "is no schema")
		return
	}
	o.types(a, b, at)
	o.values(a, b, at)
	o.bounds(a, b, at)
	o.same(a, b, at)
	o.choices(a, b, at)
	o.object(a, b, at)
	o.array(a, b, at)
}

// asSchema takes a schema apart; true is one that says nothing.
func asSchema(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case bool:
		return map[string]any{}, v
	case map[string]any:
		return v, true
	}
	return nil, false
}

func (o *order) types(a, b map[string]any, at []string) {
	want := typesOf(b)
	if want == nil {
		return
	}
	have := typesOf(a)
	if have == nil {
		have = typesOfValues(a)
	}
	if have == nil {
		o.narrowed(at, "must now be %s, and could be anything", strings.Join(want, " or "))
		return
	}
	for _, t := range have {
		if !slices.Contains(want, t) && !(t == "integer" && slices.Contains(want, "number")) {
			o.narrowed(at, "may no longer be %s", t)
		}
	}
}

// typesOf lists the types that a schema names, nil when it names none.
func typesOf(s map[string]any) []string {
	var out []string
	switch t := s["type"].(type) {
	case string:
		out = []string{t}
	case []any:
		for _, e := range t {
			if name, ok := e.(string); ok {
				out = append(out, name)
			}
		}
	}
	if s["nullable"] == true && len(out) > 0 {
		out = append(out, "null")
	}
	return out
}

// typesOfValues lists the types of the values that a schema lists.
func typesOfValues(s map[string]any) []string {
	var out []string
	for _, v := range listed(s) {
		switch v := v.(type) {
		case string:
			out = append(out, "string")
		case bool:
			out = append(out, "boolean")
		case float64:
			if v == float64(int64(v)) {
				out = append(out, "integer")
			} else {
				out = append(out, "number")
			}
		case nil:
			out = append(out, "null")
		case []any:
			out = append(out, "array")
		default:
			out = append(out, "object")
		}
	}
	return out
}

// listed returns the values that enum or const allow, nil when the schema lists none.
func listed(s map[string]any) []any {
	if c, ok := s["const"]; ok {
		return []any{c}
	}
	list, _ := s["enum"].([]any)
	return list
}

func (o *order) values(a, b map[string]any, at []string) {
	want := listed(b)
	if want == nil {
		return
	}
	have := listed(a)
	if have == nil {
		o.narrowed(at, "must now be one of %d values", len(want))
		return
	}
	allowed := map[string]bool{}
	for _, v := range want {
		allowed[text(v)] = true
	}
	gone := 0
	for _, v := range have {
		if !allowed[text(v)] {
			gone++
		}
	}
	if gone > 0 {
		o.narrowed(at, "lost %d of its %d values", gone, len(have))
	}
}

// bounds compares the keywords that hold a number; sign tells whether less or more of it allows more.
func (o *order) bounds(a, b map[string]any, at []string) {
	for _, k := range []struct {
		name string
		sign float64
	}{{"maximum", 1}, {"exclusiveMaximum", 1}, {"maxLength", 1}, {"maxItems", 1}, {"maxProperties", 1},
		{"minimum", -1}, {"exclusiveMinimum", -1}, {"minLength", -1}, {"minItems", -1}, {"minProperties", -1}} {
		want, ok := b[k.name]
		if !ok || text(a[k.name]) == text(want) {
			continue
		}
		n, isNumber := want.(float64)
		old, had := a[k.name].(float64)
		switch {
		case isNumber && n == 0 && k.sign < 0 && k.name != "minimum" && k.name != "exclusiveMinimum":
		case isNumber && had && k.sign*n >= k.sign*old:
		default:
			o.narrowed(at, "has a narrower %s", k.name)
		}
	}
}

// same are the keywords that can only be compared as a whole: what new says of them old must have said too.
func (o *order) same(a, b map[string]any, at []string) {
	for _, k := range []string{"pattern", "format", "multipleOf", "uniqueItems", "contentEncoding", "not", "if", "then", "else", "oneOf", "allOf", "contains", "minContains", "maxContains",
		"dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "prefixItems", "additionalItems", "$dynamicRef"} {
		want, ok := b[k]
		switch {
		case !ok || k == "uniqueItems" && want == false:
		case text(a[k]) != text(want):
			o.narrowed(at, "has another %s", k)
		case strings.Contains(text(want), `"$ref"`) && text(definitions(o.oldRoot)) != text(definitions(o.newRoot)):
			o.narrowed(at, "has a %s that refers to definitions which changed", k)
		}
	}
	if _, ok := a["patternProperties"]; ok && b["patternProperties"] == nil && b["additionalProperties"] != nil {
		o.narrowed(at, "has another patternProperties")
	}
	if _, ok := a["prefixItems"]; ok && b["prefixItems"] == nil && b["items"] != nil {
		o.narrowed(at, "has another prefixItems")
	}
}

func definitions(root any) any {
	m, _ := root.(map[string]any)
	return []any{m["$defs"], m["definitions"]}
}

// choices compares anyOf: each of the old shapes must be allowed by one of the new ones.
func (o *order) choices(a, b map[string]any, at []string) {
	want, ok := b["anyOf"].([]any)
	if !ok {
		return
	}
	have, ok := a["anyOf"].([]any)
	if !ok {
		have = []any{without(a, "anyOf")}
	}
	for _, h := range have {
		if !slices.ContainsFunc(want, func(w any) bool { return o.would(h, w) }) {
			o.narrowed(at, "lost one of the shapes that it could have")
		}
	}
}

// would says whether new allows what old does, and puts nothing down.
func (o *order) would(old, new any) bool {
	trial := &order{oldRoot: o.oldRoot, newRoot: o.newRoot, seen: map[[2]string]bool{}}
	trial.allows(old, new, nil)
	return len(trial.out) == 0
}

func without(m map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func (o *order) object(a, b map[string]any, at []string) {
	have, want := properties(a), properties(b)
	needed := texts(a["required"])
	for _, name := range texts(b["required"]) {
		if !slices.Contains(needed, name) {
			o.narrowed(append(at, name), "is now required")
		}
	}
	for _, name := range keys(have) {
		place := append(slices.Clone(at), name)
		switch s, ok := want[name]; {
		case ok:
			o.allows(have[name], s, place)
		case have[name] != false:
			o.narrowed(place, "was removed")
		}
	}
	rest, open := a["additionalProperties"]
	for _, name := range keys(want) {
		if _, ok := have[name]; !ok && open && rest != false {
			o.allows(rest, want[name], append(slices.Clone(at), name))
		}
	}
	if more, ok := b["additionalProperties"]; ok && open && rest != false {
		o.allows(rest, more, append(slices.Clone(at), "*"))
	}
}

func (o *order) array(a, b map[string]any, at []string) {
	want, ok := b["items"]
	if !ok || trivial(want) {
		return
	}
	have, ok := a["items"]
	if !ok {
		if t := typesOf(a); t != nil && !slices.Contains(t, "array") {
			return
		}
		have = true
	}
	if _, list := have.([]any); list {
		if text(have) != text(want) {
			o.narrowed(at, "has other items")
		}
		return
	}
	o.allows(have, want, append(slices.Clone(at), "*"))
}

func properties(s map[string]any) map[string]any {
	p, _ := s["properties"].(map[string]any)
	return p
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func texts(v any) []string {
	var out []string
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// trivial says that a schema allows everything.
func trivial(s any) bool {
	m, ok := s.(map[string]any)
	return s == true || ok && len(m) == 0
}

func refOf(s any) string {
	m, _ := s.(map[string]any)
	ref, _ := m["$ref"].(string)
	return ref
}

// resolve follows references within the document. What stands beside a reference counts as well, which only a document of one's own could tell: such are
// refused.
func resolve(root, s any) (any, bool) {
	for range maxDepth {
		ref := refOf(s)
		if ref == "" {
			return s, true
		}
		if len(assertions(s)) > 1 {
			return nil, false
		}
		rest, ok := strings.CutPrefix(ref, "#")
		if !ok {
			return nil, false
		}
		s = root
		for seg := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
			if rest == "" {
				break
			}
			seg = strings.ReplaceAll(strings.ReplaceAll(seg, "~1", "/"), "~0", "~")
			switch v := s.(type) {
			case map[string]any:
				if s, ok = v[seg]; !ok {
					return nil, false
				}
			case []any:
				i, err := strconv.Atoi(seg)
				if err != nil || i < 0 || i >= len(v) {
					return nil, false
				}
				s = v[i]
			default:
				return nil, false
			}
		}
	}
	return nil, false
}

// assertions are the keywords of a schema that are not merely words about it.
func assertions(s any) map[string]any {
	m, _ := s.(map[string]any)
	out := map[string]any{}
	for k, v := range m {
		if !slices.Contains([]string{"title", "description", "default", "examples", "example", "$comment", "deprecated", "readOnly", "writeOnly", "$defs", "definitions", "$schema", "$id"}, k) {
			out[k] = v
		}
	}
	return out
}

// text is a value as JSON, members in order; "" for none.
func text(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
