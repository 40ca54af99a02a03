package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// BindingDrift finds tools that are no longer what they were when somebody pinned them.
var BindingDrift = add(classify.Rule{
	Name: "binding_drift", Version: 1, Label: classify.BindingDrift, Severity: classify.Warning, Form: classify.FormNone,
	Doc: classify.Doc{
		Title: "a tool is not what it was when it was pinned",
		Why: "A server may change what a tool takes, what the model is told of it, or who stands behind its name, after somebody looked at it and let it in. What a run " +
			"offers is compared with the pinned tool of the catalog. Only changes that break calls, and words that say something else, count: whatever widens a " +
			"schema is left out, and so is what clients do to schemas and words on their own (strict mode, patterns and bounds in another spelling, descriptions cut or prefixed).",
		Fix:     "Look at the change, and pin the tool again with pawl tools import, or take it out of what the agent is offered.",
		Example: "pinned: get_order{order_id}; offered: get_order{order_id, reason}, both required",
	},
	Check: checkBinding,
	Repairs: []classify.Repair{
		change.Repair("as-pinned", "the tool was not offered in another form", withoutDefinition),
	},
})

func checkBinding(in *classify.Input) classify.Result {
	t := in.Trajectory
	if !slices.ContainsFunc(in.Catalog.Tools(), catalog.Tool.Pinned) {
		return classify.Blind(trajectory.FactPinned, "pin the tools that you looked at: pawl tools import FILE|URL|--command CMD writes them with their digests")
	}
	if len(t.ToolsOffered) == 0 {
		return classify.Blind(trajectory.FactToolsOffered, "")
	}
	var out []classify.Finding
	for _, d := range t.ToolsOffered {
		pinned, ok := in.Catalog.Tool(d.Name)
		if !ok || !pinned.Pinned() || d.Builtin || pseudo(d.Name) {
			continue
		}
		for _, c := range catalog.Diff(pinned, asOffered(pinned, d)) {
			if c.Kind == catalog.Breaking || c.Kind == catalog.Meaning {
				out = append(out, bindingFinding(in, d, c))
				break // the gravest speaks for the tool
			}
		}
	}
	return classify.Match(merged(out)...)
}

// asOffered is the pinned tool with what the run tells of it. What clients do to a tool on their own is undone: strict mode, which makes everything required and
// closes objects; words cut short or put before.
func asOffered(pinned catalog.Tool, d trajectory.ToolDef) catalog.Tool {
	now := pinned
	if d.Schema != nil && pinned.Schema != nil {
		now.Schema = lenient(pinned.Schema, d.Schema)
	}
	if d.Description != "" && pinned.Description != "" && !sameTold(pinned.Description, d.Description) {
		now.Description = d.Description
	}
	if server := serverOf(d.Name); server != "" && pinned.Server != "" && d.Name != pinned.Name {
		now.Server = server // the name is the server's that offers it now
	}
	return now
}

// serverOf is the server that a tool's name is prefixed with, "" when it has no such prefix.
func serverOf(name string) string {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return ""
	}
	server, _, ok := strings.Cut(rest, "__")
	if !ok {
		return ""
	}
	return server
}

// maxPrefix is how many bytes a client may put around a description.
const maxPrefix = 40

// sameTold says that two descriptions tell the same: they have the same words, or one was cut short or has a few words around it.
func sameTold(a, b string) bool {
	a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	cut := strings.TrimRight(b, ".… ")
	return a == b || len(cut) > 0 && strings.HasPrefix(a, cut) || strings.Contains(b, a) && len(b)-len(a) <= maxPrefix
}

// lenient is the offered schema without what strict mode added to it, and without words that tell the same.
func lenient(pinned, offered jsontext.Value) jsontext.Value {
	var a, b any
	if json.Unmarshal(pinned, &a) != nil || json.Unmarshal(offered, &b) != nil {
		return offered
	}
	loosen(a, b, 0)
	out, err := json.Marshal(b, json.Deterministic(true))
	if err != nil {
		return offered
	}
	return out
}

func loosen(a, b any, depth int) {
	x, okX := a.(map[string]any)
	y, okY := b.(map[string]any)
	if !okX || !okY || depth > 16 {
		return
	}
	told, _ := y["description"].(string)
	was, _ := x["description"].(string)
	if told == "" || was == "" || sameTold(was, told) {
		asWas(x, y, "description")
	}
	for _, k := range details {
		asWas(x, y, k)
	}
	px, _ := x["properties"].(map[string]any)
	py, _ := y["properties"].(map[string]any)
	required, _ := y["required"].([]any)
	if y["additionalProperties"] == false && x["additionalProperties"] != false && len(py) > 0 && len(required) == len(py) {
		delete(y, "additionalProperties")
		delete(y, "required")
		if v, ok := x["required"]; ok {
			y["required"] = v
		}
	}
	for k, v := range py {
		loosen(px[k], v, depth+1)
	}
	loosen(x["items"], y["items"], depth+1)
}

// details are the keywords that libraries write in their own ways from one and the same definition: of these no difference is the tool's.
var details = []string{"title", "default", "examples", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "contentEncoding", "propertyNames"}

// asWas makes a member of y what it is in x.
func asWas(x, y map[string]any, key string) {
	delete(y, key)
	if v, ok := x[key]; ok {
		y[key] = v
	}
}

func bindingFinding(in *classify.Input, d trajectory.ToolDef, c catalog.Change) classify.Finding {
	t := in.Trajectory
	tool := classify.SafeName(d.Name)
	f := in.Finding("", classify.Name("tool", catalog.Normalise(d.Name)), classify.Word("field", c.Field))
	f.Confidence = 0.9
	if c.Kind == catalog.Meaning {
		f.Confidence = 0.85
	}
	where := "its " + strings.ReplaceAll(c.Field, "_", " ")
	if len(c.Pointer) > 0 {
		where = "argument " + classify.SafePointer(c.Pointer)
	}
	f.Title = fmt.Sprintf("%s is not what was pinned: %s", tool, where)
	f.Why = fmt.Sprintf("%s was pinned as one thing and is offered as another (%s): %s %s.", tool, c.Kind, where, c.What)
	for i := range t.ModelCalls {
		if _, ok := t.ModelCalls[i].Offered.Tool(d.Name); ok {
			f.Step = stepOf(t, trajectory.StepModel, i)
			f.Evidence = append(f.Evidence, classify.Evidence{SpanID: t.ModelCalls[i].SpanID, What: "offered " + tool + ", whose " + strings.TrimPrefix(where, "its ") + " " + c.What})
			break
		}
	}
	return f
}

// withoutDefinition takes the tool's changed definition out of what was offered, and leaves its name.
func withoutDefinition(t *trajectory.Trajectory, f classify.Finding) bool {
	done := false
	plain := func(d trajectory.ToolDef) trajectory.ToolDef {
		if classify.SafeName(catalog.Normalise(d.Name)) != f.Fingerprint.Part("tool") {
			return d
		}
		done = true
		return trajectory.ToolDef{Name: catalog.Normalise(d.Name)}
	}
	for i, d := range t.ToolsOffered {
		t.ToolsOffered[i] = plain(d)
	}
	for i := range t.ModelCalls {
		if set := t.ModelCalls[i].Offered; set != nil {
			tools := slices.Clone(set.Tools)
			for k := range tools {
				tools[k] = plain(tools[k])
			}
			t.ModelCalls[i].Offered = trajectory.NewToolSet(tools)
		}
	}
	return done
}
