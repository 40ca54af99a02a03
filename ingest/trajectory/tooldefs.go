package trajectory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// ParseToolDefs reads tool definitions of any vendor: a list of definitions, of JSON strings or of names, a comma list of names, or a
// request body that holds one. It returns nil when the text does not state the tools, and a set without tools when it states that there
// are none ("[]").
func ParseToolDefs(text string) *ToolSet {
	text = strings.TrimSpace(text)
	switch kindOf(text) {
	case '[', '{', '"':
		defs, stated := toolDefsIn(text, 0)
		if !stated {
			return nil
		}
		return NewToolSet(defs)
	}
	if defs := commaNames(text); len(defs) > 0 {
		return NewToolSet(defs)
	}
	return nil
}

// ToolDefsOf reads tool definitions out of an attribute: JSON text, or a list of texts or structures.
func ToolDefsOf(v pcommon.Value) *ToolSet { return ParseToolDefs(structured(v)) }

// NewToolSet makes a set. Of two definitions of one name the first wins; the digest does not depend on the order of the tools.
func NewToolSet(defs []ToolDef) *ToolSet {
	s := &ToolSet{Tools: make([]ToolDef, 0, len(defs))}
	seen := make(map[string]bool, len(defs))
	for _, d := range defs {
		if d.Name != "" && !seen[d.Name] {
			seen[d.Name] = true
			s.Tools = append(s.Tools, d)
		}
	}
	s.Digest = digestTools(s.Tools)
	return s
}

func digestTools(tools []ToolDef) string {
	sorted := slices.SortedFunc(slices.Values(tools), func(a, b ToolDef) int { return cmp.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, t := range sorted {
		builtin := "function"
		if t.Builtin {
			builtin = "builtin"
		}
		for _, field := range []string{t.Name, t.Description, builtin, string(t.Schema)} {
			h.Write([]byte(field))
			h.Write([]byte{0})
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// toolDefsIn reads definitions out of any JSON value and says whether the value states them at all.
func toolDefsIn(raw string, depth int) ([]ToolDef, bool) {
	if depth > maxNesting {
		return nil, false
	}
	switch kindOf(raw) {
	case '[':
		return toolList(raw, depth), true
	case '{':
		return toolObject(readObject(raw), depth)
	case '"':
		s, _ := unquote(raw)
		if isJSON(s) {
			return toolDefsIn(s, depth+1)
		}
		defs := commaNames(s)
		return defs, len(defs) > 0
	}
	return nil, false
}

func toolList(raw string, depth int) []ToolDef {
	var out []ToolDef
	for e := range elements(raw) {
		defs, _ := toolDefsIn(e, depth+1)
		out = append(out, defs...)
	}
	return out
}

// toolObject reads one definition, or the definitions that a body or a group holds.
func toolObject(o object, depth int) ([]ToolDef, bool) {
	if spec := o.object("toolSpec", "function", "custom"); spec != nil {
		return toolObject(spec, depth+1)
	}
	for _, group := range []string{"tools", "functions", "function_tools", "function_declarations", "functionDeclarations"} {
		if raw := o.get(group); raw != "" {
			return toolDefsIn(raw, depth+1)
		}
	}
	for _, body := range []string{"toolConfig", "tool_config", "config", "kwargs"} {
		if inner := o.object(body); inner != nil {
			return toolObject(inner, depth+1)
		}
	}
	if d, ok := toolDef(o); ok {
		return []ToolDef{d}, true
	}
	return nil, false
}

// toolDef reads one flat definition.
func toolDef(o object) (ToolDef, bool) {
	typ := o.str("type")
	d := ToolDef{Name: o.str("name", "tool_name", "id"), Description: o.str("description")}
	d.Schema = schemaOf(o)
	if hints := o.object("annotations"); hints != nil {
		d.ReadOnly, d.Idempotent = hint(hints.get("readOnlyHint")), hint(hints.get("idempotentHint"))
	}
	switch {
	case isBuiltinType(typ) && d.Schema == nil:
		d.Builtin, d.Name = true, cmp.Or(d.Name, typ)
	case d.Name == "" && len(o) == 1 && kindOf(o[0].raw) == '{': // Gemini: {"google_search": {}}
		d.Builtin, d.Name = true, o[0].name
	case o.get("role", "content", "arguments") != "": // a message or a call, not a definition
		return ToolDef{}, false
	}
	return d, d.Name != ""
}

// hint is what a JSON literal says, "" when it is neither true nor false.
func hint(raw string) Hint {
	h := Hint(strings.TrimSpace(raw))
	if h != HintYes && h != HintNo {
		return ""
	}
	return h
}

// isBuiltinType says that a definition's type names a tool which the provider brings along.
func isBuiltinType(typ string) bool {
	return !isAnyOf(typ, "", "function", "custom", "tool", "dynamic", "client", "extension", "datastore")
}

// schemaOf finds the JSON Schema of a tool's arguments, in canonical form; nil when the definition has none.
func schemaOf(o object) jsontext.Value {
	for _, key := range []string{"parameters", "inputSchema", "input_schema", "parameters_json_schema", "parametersJsonSchema", "args_schema"} {
		raw := o.get(key)
		if s, ok := unquote(raw); ok {
			raw = s
		}
		if kindOf(raw) != '{' {
			continue
		}
		if s := canonicalSchema(raw); s != nil {
			return s
		}
	}
	return nil
}

// canonicalSchema unwraps and normalises a schema. It returns nil for what is no JSON Schema: cut text, or a validator's own internals.
func canonicalSchema(raw string) jsontext.Value {
	o := readObject(raw)
	for _, wrapper := range []string{"json", "jsonSchema"} {
		if inner := o.get(wrapper); kindOf(inner) == '{' && o.get("properties") == "" {
			return canonicalSchema(inner)
		}
	}
	if o.get("_def", "_zod", "~standard", "def") != "" {
		return nil
	}
	if hasUpperTypes(raw) {
		raw = lowerTypes(raw)
	}
	return canonical(raw)
}

// hasUpperTypes says that a schema spells its types as Gemini does ("STRING", "OBJECT").
func hasUpperTypes(raw string) bool {
	for _, word := range []string{`"OBJECT"`, `"STRING"`, `"INTEGER"`, `"NUMBER"`, `"BOOLEAN"`, `"ARRAY"`} {
		if strings.Contains(raw, word) {
			return true
		}
	}
	return false
}

func lowerTypes(v string) string {
	var schema any
	if err := json.Unmarshal([]byte(v), &schema, readOptions...); err != nil {
		return v
	}
	lowerTypesIn(schema)
	out, err := json.Marshal(schema, json.Deterministic(true))
	if err != nil {
		return v
	}
	return string(out)
}

// lowerTypesIn walks a schema along its keywords, so that an enum value or a property named "type" stays as it is.
func lowerTypesIn(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, e := range s {
			lowerTypesIn(e)
		}
	case map[string]any:
		if t, ok := s["type"].(string); ok {
			s["type"] = strings.ToLower(t)
		}
		for _, key := range []string{"properties", "$defs", "definitions", "patternProperties"} {
			props, _ := s[key].(map[string]any)
			for _, p := range props {
				lowerTypesIn(p)
			}
		}
		for _, key := range []string{"items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "any_of", "not"} {
			lowerTypesIn(s[key])
		}
	}
}

// commaNames reads "search, get_order" as names, and refuses prose.
func commaNames(text string) []ToolDef {
	var out []ToolDef
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" || len(name) > 128 || strings.ContainsAny(name, " \t\n{}[]\"") || sentinel(name) {
			return nil
		}
		out = append(out, ToolDef{Name: name})
	}
	return out
}

// looksLikeSchema says that a JSON object is a JSON Schema, or a map from properties to schemas, rather than arguments.
func looksLikeSchema(text string) bool {
	if kindOf(text) != '{' {
		return false
	}
	o := readObject(text)
	if o.str("type") == "object" && o.get("properties") != "" {
		return true
	}
	if len(o) == 0 {
		return false
	}
	for _, m := range o {
		if kindOf(m.raw) != '{' || readObject(m.raw).str("type") == "" {
			return false
		}
	}
	return true
}
