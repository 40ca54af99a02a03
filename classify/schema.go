package classify

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Schemas compiles the JSON Schemas of tools, once per content, and validates values against them. Draft 2020-12 unless $schema names
// another one; nothing is ever loaded from outside. It is safe for concurrent use and holds at most maxSchemas of them.
type Schemas struct {
	mu   sync.RWMutex
	byID map[[32]byte]compiled
}

type compiled struct {
	schema *jsonschema.Schema
	err    error
}

const maxSchemas = 4096

// NewSchemas returns an empty cache.
func NewSchemas() *Schemas { return &Schemas{byID: map[[32]byte]compiled{}} }

// Violation is one way in which a value breaks a schema. What names kinds and numbers only, never the value.
type Violation struct {
	Pointer []string // segments of the JSON pointer to the place, as they stand in the value
	Keyword string   // the schema's keyword that it breaks
	What    string   // what is wrong there, to follow "the argument /x "
}

// Validate returns how the JSON value breaks the schema, sorted by place; nothing when it keeps it. The error says that the schema is not one
// that can be judged by: it does not compile, or refers to what is elsewhere.
func (s *Schemas) Validate(schema, value jsontext.Value) ([]Violation, error) {
	c := s.compile(schema)
	if c.err != nil {
		return nil, c.err
	}
	var v any
	if err := json.Unmarshal(value, &v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	err := c.schema.Validate(v)
	bad, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil, err
	}
	if endless(bad) {
		return nil, errors.New("schema refers to itself without end")
	}
	return tidy(leaves(bad, nil)), nil
}

// endless tells a schema whose references turn in a circle over one place of the value: no value keeps it, which is its own fault.
func endless(e *jsonschema.ValidationError) bool {
	_, circle := e.ErrorKind.(*kind.RefCycle)
	return circle || slices.ContainsFunc(e.Causes, endless)
}

func (s *Schemas) compile(schema jsontext.Value) compiled {
	id := sha256.Sum256(schema)
	s.mu.RLock()
	c, ok := s.byID[id]
	s.mu.RUnlock()
	if ok {
		return c
	}
	c.schema, c.err = compile(schema)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= maxSchemas {
		clear(s.byID)
	}
	s.byID[id] = c
	return c
}

// noLoader refuses to fetch: a schema in a trace must not make pawl read files or call hosts.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to %s, outside of itself", url)
}

func compile(schema jsontext.Value) (*jsonschema.Schema, error) {
	var doc any
	if err := json.Unmarshal(schema, &doc, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	const url = "pawl:///tool"
	if err := c.AddResource(url, standard(doc)); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	sch, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return sch, nil
}

// openPattern stands for a pattern that Go cannot run (look-around, back references): it matches everything, since nobody here can say.
type openPattern string

// MatchString says yes.
func (openPattern) MatchString(string) bool { return true }

// String returns the pattern.
func (p openPattern) String() string { return string(p) }

func compilePattern(p string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(p)
	if err != nil {
		return openPattern(p), nil
	}
	return re, nil
}

// standard rewrites the private dialects that are met often and are unambiguous into JSON Schema: Gemini's upper-case type names and OpenAPI's
// nullable, Python's names of types, draft 4's exclusive bounds, and a bare map of properties whose types may be "any". Everything else is left for
// the compiler to accept or refuse.
func standard(doc any) any {
	m, ok := doc.(map[string]any)
	if !ok {
		return doc
	}
	if bareProperties(m) {
		m = map[string]any{"type": "object", "properties": m}
	}
	rewrite(m)
	return m
}

func bareProperties(m map[string]any) bool {
	if _, typed := m["type"].(string); typed || len(m) == 0 {
		return false
	}
	for _, k := range []string{"properties", "$schema", "$ref", "anyOf", "oneOf", "allOf", "required", "additionalProperties", "$defs"} {
		if _, ok := m[k]; ok {
			return false
		}
	}
	for _, v := range m {
		p, ok := v.(map[string]any)
		if !ok {
			return false
		}
		if _, ok := p["type"].(string); !ok {
			return false
		}
	}
	return true
}

func rewrite(m map[string]any) {
	exclusive(m, "exclusiveMinimum", "minimum")
	exclusive(m, "exclusiveMaximum", "maximum")
	if list, ok := m["type"].([]any); ok {
		for i, t := range list {
			if name, ok := t.(string); ok {
				list[i] = typeName(name)
			}
		}
	}
	if t, ok := m["type"].(string); ok {
		low := typeName(t)
		m["type"] = low
		switch {
		case low == "any" || low == "type_unspecified":
			delete(m, "type")
		case m["nullable"] == true:
			m["type"] = []any{low, "null"}
			if enum, ok := m["enum"].([]any); ok {
				m["enum"] = append(slices.Clone(enum), nil)
			}
		}
	}
	for _, k := range []string{"properties", "$defs", "definitions", "patternProperties"} {
		if sub, ok := m[k].(map[string]any); ok {
			for _, v := range sub {
				rewriteAny(v)
			}
		}
	}
	for _, k := range []string{"items", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "prefixItems"} {
		rewriteAny(m[k])
	}
}

// pythonTypes are names of types as functions of Python declare them.
var pythonTypes = map[string]string{
	"str": "string", "int": "integer", "float": "number", "double": "number", "bool": "boolean", "list": "array", "tuple": "array", "dict": "object", "none": "null", "nonetype": "null",
}

func typeName(name string) string {
	low := strings.ToLower(name)
	return cmp.Or(pythonTypes[low], low)
}

// exclusive turns draft 4's flag beside a bound into the bound itself.
func exclusive(m map[string]any, flag, bound string) {
	on, ok := m[flag].(bool)
	if !ok {
		return
	}
	delete(m, flag)
	if limit, ok := m[bound]; ok && on {
		m[flag] = limit
		delete(m, bound)
	}
}

func rewriteAny(v any) {
	switch v := v.(type) {
	case map[string]any:
		rewrite(v)
	case []any:
		for _, e := range v {
			rewriteAny(e)
		}
	}
}

// leaves collects the places that are wrong. A choice (anyOf, oneOf, not) is reported as such: which branch was meant is not for us to say.
func leaves(e *jsonschema.ValidationError, out []Violation) []Violation {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains:
		return append(out, violation(e)...)
	}
	if len(e.Causes) == 0 {
		return append(out, violation(e)...)
	}
	for _, c := range e.Causes {
		out = leaves(c, out)
	}
	return out
}

func violation(e *jsonschema.ValidationError) []Violation {
	v := Violation{Pointer: e.InstanceLocation, Keyword: keyword(e.ErrorKind)}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return required(v, k.Missing)
	case *kind.DependentRequired:
		return required(v, k.Missing)
	case *kind.Dependency:
		return required(v, k.Missing)
	case *kind.Type:
		v.What = fmt.Sprintf("is %s where the schema wants %s", article(k.Got), wanted(k.Want))
	case *kind.Enum:
		v.What = fmt.Sprintf("is none of the %d allowed values", len(k.Want))
	case *kind.AdditionalProperties:
		v.What = "has a property that the schema does not know: " + safeList(k.Properties)
	case *kind.Format:
		v.What = "is not of the format " + SafeName(k.Want)
	case *kind.FalseSchema:
		v.Keyword, v.What = "false", "is not allowed at all"
	case *kind.AnyOf, *kind.OneOf:
		v.What = "fits none, or more than one, of the allowed shapes"
	default:
		v.What = "breaks the schema's " + v.Keyword
	}
	return []Violation{v}
}

// required points at a property that is missing, or at its parent when several are: that is one mistake, not several.
func required(v Violation, missing []string) []Violation {
	v.What = "lacks required " + safeList(missing)
	if len(missing) == 1 {
		v.Pointer = append(slices.Clone(v.Pointer), missing[0])
		v.What = "is required and not there"
	}
	return []Violation{v}
}

func safeList(names []string) string {
	safe := make([]string, len(names))
	for i, n := range names {
		safe[i] = SafeName(n)
	}
	slices.Sort(safe)
	return strings.Join(safe, ", ")
}

func keyword(k jsonschema.ErrorKind) string {
	if p := k.KeywordPath(); len(p) > 0 {
		return p[0]
	}
	return "not"
}

// wanted names the types that a schema allows, null last.
func wanted(types []string) string {
	names := make([]string, 0, len(types))
	for _, t := range types {
		names = append(names, article(t))
	}
	slices.Sort(names) // "a ..." and "an ..." sort before "null"
	return strings.Join(names, " or ")
}

func article(kind string) string {
	switch kind {
	case "object", "array", "integer":
		return "an " + kind
	case "null":
		return kind
	}
	return "a " + kind
}

// tidy sorts and removes doubles, which several branches of one schema may report.
func tidy(vs []Violation) []Violation {
	slices.SortFunc(vs, func(a, b Violation) int {
		return cmp.Or(slices.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.What, b.What))
	})
	return slices.CompactFunc(vs, func(a, b Violation) bool {
		return slices.Equal(a.Pointer, b.Pointer) && a.Keyword == b.Keyword
	})
}
