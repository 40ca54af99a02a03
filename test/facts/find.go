package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// index answers whether something is anywhere in the data, at any depth of JSON within text within JSON.
type index struct {
	texts   []string
	values  map[string]bool
	objects []map[string]bool // of each object: its values down to its grandchildren, as canonical texts
	keys    map[string][]any
}

func newIndex() *index { return &index{values: map[string]bool{}, keys: map[string][]any{}} }

// index holds the spans and records of a capture, without the attributes of the spans that are left out.
func (c capture) index(without func(rawSpan) bool) *index {
	x := newIndex()
	for _, s := range c.spans {
		if without == nil || !without(s) {
			x.flat(s.attrs)
		}
		x.texts = append(x.texts, s.message, s.name)
		for _, e := range s.events {
			x.add(e.attrs)
		}
	}
	for _, l := range c.logs {
		x.add(l.attrs)
		x.add(l.body)
	}
	return x
}

// flat indexes the attributes of a span. Keys with a common beginning, as a.0.name and a.0.arguments, are one object too.
func (x *index) flat(attrs map[string]any) {
	x.add(attrs)
	groups := map[string]map[string]any{}
	for k, v := range attrs {
		for range 2 {
			i := strings.LastIndexByte(k, '.')
			if i < 0 {
				break
			}
			k = k[:i]
			if groups[k] == nil {
				groups[k] = map[string]any{}
			}
			groups[k][strings.Clone(k)+"/"+canonical(v)] = v
		}
	}
	for _, g := range groups {
		x.add(g)
	}
}

// add indexes a value and all that is in it.
func (x *index) add(v any) {
	x.values[canonical(v)] = true
	switch v := v.(type) {
	case string:
		x.texts = append(x.texts, v)
		if inner, ok := opened(v); ok {
			x.add(inner)
		}
	case []any:
		for _, e := range v {
			x.add(e)
		}
	case map[string]any:
		near := map[string]bool{}
		nearby(v, 3, near)
		x.objects = append(x.objects, near)
		for k, e := range v {
			x.keys[k] = append(x.keys[k], e)
			x.add(e)
		}
	}
}

// nearby collects the canonical values down to a depth.
func nearby(v any, depth int, into map[string]bool) {
	if depth == 0 {
		return
	}
	each := func(e any) {
		into[canonical(e)] = true
		if t, ok := e.(string); ok {
			if inner, ok := opened(t); ok {
				e = inner
				into[canonical(inner)] = true
			}
		}
		nearby(e, depth-1, into)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			each(e)
		}
	}
}

// opened is the JSON value that a text holds, when it holds an object, a list or a text in quotes.
func opened(text string) (any, bool) {
	t := strings.TrimSpace(text)
	if len(t) < 2 || !strings.ContainsRune(`{["`, rune(t[0])) {
		return nil, false
	}
	var v any
	if json.Unmarshal([]byte(t), &v) != nil {
		return nil, false
	}
	return v, true
}

// canonical is a value as JSON with sorted keys.
func canonical(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// fromJSON is a JSON text in canonical form, or as a JSON string when it is no JSON.
func fromJSON(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return canonical(text)
	}
	return canonical(v)
}

func (x *index) hasText(text string) bool {
	return slices.ContainsFunc(x.texts, func(t string) bool { return strings.Contains(t, text) })
}

func (x *index) hasValue(jsonText string) bool {
	return x.values[fromJSON(jsonText)]
}

// hasCall says whether an object names the tool together with the arguments.
func (x *index) hasCall(tool, args string) bool {
	name, want := canonical(tool), fromJSON(args)
	return slices.ContainsFunc(x.objects, func(near map[string]bool) bool { return near[name] && (near[want] || near[canonical(args)]) })
}

// most is the greatest number under any of the keys, wherever it lies; -1 when there is none.
func (x *index) most(keys ...string) float64 {
	most := -1.0
	for _, k := range keys {
		for _, v := range x.keys[k] {
			if n, ok := v.(float64); ok {
				most = max(most, n)
			}
		}
	}
	return most
}
