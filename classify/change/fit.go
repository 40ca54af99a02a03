package change

import (
	"encoding/json"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
)

// Fit returns arguments that a schema allows and that differ from the given ones in as little as can be: what is wrong is replaced, what is
// missing added, what must not be there taken out. It answers false when no such arguments are found.
func Fit(schema, args jsontext.Value) (jsontext.Value, bool) {
	s := classify.NewSchemas()
	var sub any
	if schema == nil || json.Unmarshal(schema, &sub) != nil {
		return nil, false
	}
	root := &sampler{root: sub}
	var doc any
	if args == nil || json.Unmarshal(args, &doc) != nil {
		doc = root.sample(sub, 0)
	}
	for range 32 {
		out, err := json.Marshal(doc)
		if err != nil {
			return nil, false
		}
		vs, err := s.Validate(schema, out)
		if err != nil {
			return nil, false
		}
		if len(vs) == 0 {
			return out, true
		}
		doc = root.fix(doc, sub, vs[0])
	}
	out, err := json.Marshal(root.sample(sub, 0))
	if err != nil {
		return nil, false
	}
	vs, err := s.Validate(schema, out)
	return out, err == nil && len(vs) == 0
}

// sampler makes values that a schema allows, the plainest there are.
type sampler struct{ root any }

// fix mends the place of one violation.
func (s *sampler) fix(doc, schema any, v classify.Violation) any {
	return s.at(doc, schema, v.Pointer, v.Keyword)
}

func (s *sampler) at(doc, schema any, pointer []string, keyword string) any {
	schema = s.resolve(schema)
	if len(pointer) == 0 {
		if m, ok := doc.(map[string]any); ok && (keyword == "additionalProperties" || keyword == "unevaluatedProperties") {
			return s.known(m, schema)
		}
		return s.sample(schema, 0)
	}
	switch d := doc.(type) {
	case map[string]any:
		d = maps.Clone(d)
		sub, declared := s.property(schema, pointer[0])
		if !declared && len(pointer) == 1 && keyword != "required" {
			delete(d, pointer[0])
			return d
		}
		d[pointer[0]] = s.at(d[pointer[0]], sub, pointer[1:], keyword)
		return d
	case []any:
		i, err := strconv.Atoi(pointer[0])
		if err != nil || i < 0 || i >= len(d) {
			return s.sample(schema, 0)
		}
		d = slices.Clone(d)
		d[i] = s.at(d[i], member(schema, "items"), pointer[1:], keyword)
		return d
	}
	return s.sample(schema, 0)
}

// known leaves the declared properties.
func (s *sampler) known(doc map[string]any, schema any) any {
	out := map[string]any{}
	for k, v := range doc {
		if _, ok := s.property(schema, k); ok {
			out[k] = v
		}
	}
	return out
}

// property returns the schema of a property, from the alternatives too.
func (s *sampler) property(schema any, name string) (any, bool) {
	schema = s.resolve(schema)
	if p, ok := member(schema, "properties").(map[string]any); ok {
		if sub, ok := p[name]; ok {
			return sub, true
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := member(schema, key).([]any)
		for _, alt := range list {
			if sub, ok := s.property(alt, name); ok {
				return sub, true
			}
		}
	}
	return nil, false
}

// resolve follows references within the schema.
func (s *sampler) resolve(schema any) any {
	for range 16 {
		ref, ok := member(schema, "$ref").(string)
		if !ok || !strings.HasPrefix(ref, "#/") {
			return schema
		}
		to := s.root
		for p := range strings.SplitSeq(ref[2:], "/") {
			to = member(to, p)
		}
		schema = to
	}
	return schema
}

func member(schema any, key string) any {
	m, _ := schema.(map[string]any)
	return m[key]
}

// sample makes the plainest value that a schema allows.
func (s *sampler) sample(schema any, depth int) any {
	schema = s.resolve(schema)
	if depth > 8 {
		return nil
	}
	m, _ := schema.(map[string]any)
	for _, key := range []string{"const", "default", "example"} {
		if v, ok := m[key]; ok {
			return v
		}
	}
	for _, key := range []string{"enum", "examples"} {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := m[key].([]any); ok && len(list) > 0 && m["properties"] == nil {
			return s.sample(list[0], depth+1)
		}
	}
	switch kind(m) {
	case "object":
		return s.object(m, depth)
	case "array":
		return s.array(m, depth)
	case "string":
		return text(m)
	case "integer", "number":
		return number(m)
	case "boolean":
		return true
	}
	return nil
}

func kind(m map[string]any) string {
	switch t := m["type"].(type) {
	case string:
		return strings.ToLower(t)
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				return strings.ToLower(name)
			}
		}
	}
	if m["properties"] != nil {
		return "object"
	}
	if m["pattern"] != nil || m["format"] != nil {
		return "string"
	}
	return ""
}

func (s *sampler) object(m map[string]any, depth int) any {
	out := map[string]any{}
	required, _ := m["required"].([]any)
	for _, r := range required {
		if name, ok := r.(string); ok {
			sub, _ := s.property(m, name)
			out[name] = s.sample(sub, depth+1)
		}
	}
	return out
}

func (s *sampler) array(m map[string]any, depth int) any {
	out := []any{}
	least, _ := m["minItems"].(float64)
	for range int(min(least, 16)) {
		out = append(out, s.sample(m["items"], depth+1))
	}
	return out
}

func number(m map[string]any) any {
	n := 1.0
	if v, ok := m["multipleOf"].(float64); ok {
		n = v
	}
	if v, ok := m["minimum"].(float64); ok {
		n = max(n, v)
	}
	if v, ok := m["exclusiveMinimum"].(float64); ok {
		n = max(n, v+1)
	}
	if v, ok := m["maximum"].(float64); ok {
		n = min(n, v)
	}
	if v, ok := m["exclusiveMaximum"].(float64); ok && n >= v {
		n = v - 1
	}
	return n
}

// formats are the plainest values of JSON Schema's formats.
var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "P1D", "email": "a@example.com", "uri": "https://example.com/",
	"url": "https://example.com/", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "00000000-0000-4000-8000-000000000000",
}

func text(m map[string]any) any {
	if f, ok := m["format"].(string); ok && formats[f] != "" {
		return formats[f]
	}
	out := "x"
	if p, ok := m["pattern"].(string); ok {
		out, _ = matching(p)
	}
	least, _ := m["minLength"].(float64)
	for float64(len(out)) < min(least, 1000) {
		out += "x"
	}
	return out
}

// matching returns a short text that a pattern matches.
func matching(pattern string) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "x", false
	}
	var b strings.Builder
	shortest(&b, re.Simplify())
	ok, _ := regexp.MatchString(pattern, b.String())
	return b.String(), ok
}

func shortest(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(plainest(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus:
		shortest(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			shortest(b, sub)
		}
	case syntax.OpAlternate:
		shortest(b, re.Sub[0])
	case syntax.OpRepeat:
		for range min(re.Min, 64) {
			shortest(b, re.Sub[0])
		}
	}
}

// plainest returns a letter or digit of a class, if it has one.
func plainest(ranges []rune) rune {
	for _, r := range "a1A" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}
