package catalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Drift is what a change of a tool means for those who call it.
type Drift string

// The drifts, from nothing to the worst. Compatible: every call that was right still is. Meaning: every call is still allowed, but what the model is told of the
// tool, or what the tool says it does, is another thing. Breaking: a call that was right may be refused, or a result lacks what it had.
//
// The order in short. Compatible: an optional argument added, a type or a set of values widened, a bound or a requirement dropped. Breaking: an argument removed
// or made required, a type, a set of values or a bound narrowed, a pattern or a format changed, and whatever cannot be compared. For results it is the other way
// round. Meaning: a description, a default or an annotation changed.
const (
	Same       Drift = ""
	Compatible Drift = "compatible"
	Meaning    Drift = "meaning-changed"
	Breaking   Drift = "breaking"
)

func (d Drift) rank() int { return slices.Index([]Drift{Same, Compatible, Meaning, Breaking}, d) }

// Change is one difference between two versions of a tool. What names kinds and numbers, never what a description says.
type Change struct {
	Kind    Drift
	Field   string   // schema, output_schema, description, annotations, server
	Pointer []string // of a schema: the argument, indices as *
	What    string   // to follow the argument, or the field
}

// Worst is the gravest of some changes.
func Worst(cs []Change) Drift {
	worst := Same
	for _, c := range cs {
		if c.Kind.rank() > worst.rank() {
			worst = c.Kind
		}
	}
	return worst
}

// Diff tells how a tool changed, gravest first. A field that only one of the two has is no change of a schema, but of a description it is.
func Diff(old, new Tool) []Change {
	out := diffSchemas("schema", old.Schema, new.Schema)
	out = append(out, reversed(diffSchemas("output_schema", new.OutputSchema, old.OutputSchema))...)
	if !sameWords(old.Description, new.Description) || !sameWords(old.Title, new.Title) {
		out = append(out, Change{Kind: Meaning, Field: "description", What: "says something else"})
	}
	if text(old.Annotations) != text(new.Annotations) {
		out = append(out, Change{Kind: Meaning, Field: "annotations", What: "say something else of what it does"})
	}
	if old.Server != "" && new.Server != "" && serverName(old.Server) != serverName(new.Server) {
		out = append(out, Change{Kind: Meaning, Field: "server", What: "is another one"})
	}
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(-cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(a.Field, b.Field), slices.Compare(a.Pointer, b.Pointer), cmp.Compare(a.What, b.What))
	})
	return out
}

// serverName is a server without its version.
func serverName(s string) string {
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		return s[:i]
	}
	return s
}

// reversed turns the words about a result round: what the old one has and the new one lacks.
func reversed(cs []Change) []Change {
	for i := range cs {
		if cs[i].Kind == Breaking {
			cs[i].What = "may now be what it was not (" + cs[i].What + ", seen from the new one)"
		}
	}
	return cs
}

// sameWords compares two texts by their words.
func sameWords(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

func diffSchemas(field string, old, new jsontext.Value) []Change {
	if len(old) == 0 || len(new) == 0 {
		return nil
	}
	var a, b any
	if json.Unmarshal(old, &a) != nil || json.Unmarshal(new, &b) != nil {
		return []Change{{Kind: Breaking, Field: field, What: "is no JSON"}}
	}
	if text(a) == text(b) {
		return nil
	}
	o := &order{oldRoot: a, newRoot: b, seen: map[[2]string]bool{}}
	o.allows(a, b, nil)
	out := o.out
	if len(out) == 0 && text(bare(a)) != text(bare(b)) {
		out = []Change{{Kind: Compatible, What: "allows more than it did, or the same in other words"}}
	}
	out = append(out, rewordings(a, b, nil)...)
	for i := range out {
		out[i].Field = field
	}
	return out
}

// bare is a schema without the words about it.
func bare(s any) any {
	switch s := s.(type) {
	case []any:
		out := make([]any, len(s))
		for i, e := range s {
			out[i] = bare(e)
		}
		return out
	case map[string]any:
		m := assertions(s)
		if p, ok := m["properties"].(map[string]any); ok { // here the members are names
			named := map[string]any{}
			for k, v := range p {
				named[k] = bare(v)
			}
			m["properties"] = named
		}
		for k, v := range m {
			if k != "properties" && k != "enum" && k != "const" {
				m[k] = bare(v)
			}
		}
		return m
	}
	return s
}

// rewordings finds descriptions and defaults that changed, of what is in both.
func rewordings(a, b any, at []string) []Change {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	if !okX || !okY || len(at) > maxDepth {
		return nil
	}
	var out []Change
	dx, _ := x["description"].(string)
	dy, _ := y["description"].(string)
	if !sameWords(dx, dy) {
		out = append(out, Change{Kind: Meaning, Pointer: slices.Clone(at), What: "is described by other words"})
	}
	if text(x["default"]) != text(y["default"]) {
		out = append(out, Change{Kind: Meaning, Pointer: slices.Clone(at), What: "has another default"})
	}
	for _, name := range keys(properties(x)) {
		out = append(out, rewordings(properties(x)[name], properties(y)[name], append(slices.Clone(at), name))...)
	}
	return append(out, rewordings(x["items"], y["items"], append(slices.Clone(at), "*"))...)
}
