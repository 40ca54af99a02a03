package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Complaint is one thing about a tool that makes models call it wrongly, or keeps pawl from judging its calls.
type Complaint struct {
	Tool    string
	Error   bool // no call of the tool can be right; else it is advice
	Pointer string
	What    string // to follow the tool's name and the place
}

// Lint looks for what is wrong with tools: schemas that nothing can satisfy, missing descriptions, effects that nobody declared, and names that are one name once
// prefixes are off. Sorted by tool.
func Lint(tools []Tool) []Complaint {
	var out []Complaint
	short := map[string][]string{}
	for _, t := range tools {
		short[Normalise(t.Name)] = append(short[Normalise(t.Name)], t.Name)
		out = append(out, lintTool(t)...)
	}
	for _, names := range short {
		for i, n := range names {
			if len(names) > 1 {
				other := names[(i+1)%len(names)]
				out = append(out, Complaint{Tool: n, Error: n == other, What: "has the name of " + other + " once prefixes are off: calls cannot be told apart by their names"})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Complaint) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.What, b.What))
	})
	return out
}

func lintTool(t Tool) []Complaint {
	var out []Complaint
	say := func(bad bool, pointer, format string, args ...any) {
		out = append(out, Complaint{Tool: t.Name, Error: bad, Pointer: pointer, What: fmt.Sprintf(format, args...)})
	}
	if t.Description == "" {
		say(false, "", "has no description: the model has only its name to go by")
	}
	if cmp.Or(t.Effect, EffectUnknown) == EffectUnknown {
		say(false, "", "has no declared effect: whether a repeated call does harm is unknown")
	}
	if a := t.Annotations; a.ReadOnly != nil && *a.ReadOnly && (t.Effect == EffectWrite || a.Destructive != nil && *a.Destructive) {
		say(true, "", "is said to be read-only, and to write")
	}
	if len(t.Schema) == 0 {
		say(false, "", "has no schema: its arguments cannot be judged")
		return out
	}
	var doc any
	if json.Unmarshal(t.Schema, &doc) != nil {
		say(true, "", "has a schema that is no JSON")
		return out
	}
	if m, ok := doc.(map[string]any); ok && m["type"] != nil && !slices.Contains(typesOf(m), "object") {
		say(true, "", "has a schema of something else than an object: arguments are objects")
	}
	lintSchema(doc, nil, say)
	return out
}

func lintSchema(s any, at []string, say func(bool, string, string, ...any)) {
	m, ok := s.(map[string]any)
	if !ok || len(at) > maxDepth {
		return
	}
	place := ""
	for _, p := range at {
		place += "/" + p
	}
	if why := unsatisfiable(m); why != "" {
		say(true, place, "allows nothing: %s", why)
	}
	props := properties(m)
	for _, name := range texts(m["required"]) {
		if _, ok := props[name]; !ok && m["additionalProperties"] == false {
			say(true, place, "wants %q and does not allow it", name)
		} else if !ok {
			say(false, place, "wants %q and does not say what that is", name)
		}
	}
	for _, name := range keys(props) {
		p, _ := props[name].(map[string]any)
		if _, told := p["description"]; p != nil && !told && len(listed(p)) == 0 {
			say(false, place+"/"+name, "has no description")
		}
		lintSchema(props[name], append(slices.Clone(at), name), say)
	}
	lintSchema(m["items"], append(slices.Clone(at), "*"), say)
}

// unsatisfiable says why no value can keep a schema, "" when one may.
func unsatisfiable(m map[string]any) string {
	if list, ok := m["enum"].([]any); ok {
		if len(list) == 0 {
			return "its list of values is empty"
		}
		if t := typesOf(m); t != nil && !slices.ContainsFunc(list, func(v any) bool {
			own := typesOfValues(map[string]any{"const": v})
			return slices.Contains(t, own[0]) || own[0] == "integer" && slices.Contains(t, "number")
		}) {
			return "none of its values is of its type"
		}
	}
	for _, k := range [][2]string{{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"}} {
		low, okLow := m[k[0]].(float64)
		high, okHigh := m[k[1]].(float64)
		if okLow && okHigh && low > high {
			return k[0] + " is above " + k[1]
		}
	}
	if m["not"] == true || text(m["not"]) == "{}" {
		return "it is the opposite of everything"
	}
	return ""
}
