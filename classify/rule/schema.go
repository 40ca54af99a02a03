package rule

import (
	"bytes"
	"fmt"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// SchemaViolation finds tool calls whose arguments are not what the tool's schema says, by two kinds of evidence: the schema that this very
// call was offered, and the refusal of the tool or its framework. Together they are nearly certain; alone each can be wrong, since schemas
// are at times stricter or looser than the tool.
var SchemaViolation = add(classify.Rule{
	Name: "tool_args_schema_violation", Version: 3, Label: classify.SchemaViolation, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "a tool was called with arguments that its schema does not allow",
		Why: "The call fails, or worse: the tool guesses. The arguments as the tool received them are validated against the schema that the model was " +
			"offered in that call, else against the catalog. A refusal in the tool's own words counts too, and is named.",
		Fix:     "Describe the argument better in the tool's schema (unit, format, an example), make wrong values impossible (enum), or answer the refusal with what would be right.",
		Example: "search_orders {\"limit\":\"fifty\"} where limit is an integer",
	},
	Check:   checkSchema,
	Repairs: []classify.Repair{change.Fitting(), change.WithoutCall()},
})

// wrong is what is wrong with one call.
type wrong struct {
	call       int
	pointer    []string
	keyword    string
	what       string // to follow "the argument /x" or "the argument object"
	by         string // who refused it, "" when nobody did
	bySchema   bool
	confidence float64
}

type schemaKey struct{ agent, tool, pointer, keyword string }

func checkSchema(in *classify.Input) classify.Result {
	t := in.Trajectory
	if noCalls(t) {
		return classify.Blind(trajectory.FactToolCalls, "")
	}
	found := map[schemaKey][]wrong{}
	var order []schemaKey
	judged, blind := 0, classify.NoMatch()
	for i := range t.ToolCalls {
		ws, lacking := judgeArguments(in, i)
		if lacking.Missing == "" {
			judged++
		} else if blind.Missing == "" {
			blind = lacking
		}
		for _, w := range ws {
			c := &t.ToolCalls[i]
			k := schemaKey{c.Agent, c.Name, classify.SafePointer(w.pointer), w.keyword}
			if found[k] == nil {
				order = append(order, k)
			}
			found[k] = append(found[k], w)
		}
	}
	if len(order) == 0 && judged == 0 && blind.Missing != "" {
		return blind
	}
	var out []classify.Finding
	for _, k := range order {
		out = append(out, schemaFinding(in, found[k]))
	}
	return classify.Match(merged(out)...)
}

// judgeArguments returns what is wrong with a call. The second value names the fact that is missing when the schema could not be consulted.
func judgeArguments(in *classify.Input, i int) ([]wrong, classify.Result) {
	c := &in.Trajectory.ToolCalls[i]
	by := refusedBy(c)
	if c.Recalled && by == "" {
		return nil, classify.NoMatch() // the trace that made the call is the one to judge it
	}
	if pseudo(c.Name) && by == "" && !refusedHandoff(in, c) {
		return nil, classify.NoMatch() // what frameworks hand to their own output tools and hand-offs is theirs
	}
	vs, sure, lacking := violations(in, c)
	var out []wrong
	for _, v := range vs {
		w := wrong{call: i, pointer: v.Pointer, keyword: v.Keyword, what: v.What, by: by, bySchema: true}
		w.confidence = sure * schemaConfidence(c, v.Keyword, by)
		out = append(out, w)
	}
	if len(out) == 0 && by != "" {
		out = append(out, wrong{call: i, keyword: "refused", what: "was refused as invalid", by: by, confidence: 0.85})
	}
	return out, lacking
}

// refusedHandoff says that a tool is a hand-off by its name alone: it takes arguments of its own, and failed.
func refusedHandoff(in *classify.Input, c *trajectory.ToolCall) bool {
	if !handoff(catalog.Normalise(c.Name)) || !failed(c) {
		return false
	}
	schema, own := schemaFor(in, c)
	return own && bytes.Contains(schema, []byte(`"required"`))
}

// violations validates the arguments. sure is less than 1 when the schema is not provably the one that this call was offered, or the
// arguments had to be unwrapped.
func violations(in *classify.Input, c *trajectory.ToolCall) (vs []classify.Violation, sure float64, lacking classify.Result) {
	a := c.Arguments
	if a.Truncated {
		return nil, 0, classify.Blind(trajectory.FactArguments, "the arguments were cut or withheld before they reached pawl: raise the exporter's value length limit, or stop redacting them")
	}
	schema, own := schemaFor(in, c)
	if a.Parsed == trajectory.ParsedBroken {
		return []classify.Violation{{Keyword: "not_json", What: "is not JSON"}}, 1, classify.NoMatch()
	}
	if schema == nil {
		if notOffered(in.Trajectory, c) {
			return nil, 0, classify.NoMatch() // no tool of the team's: there is no schema to keep
		}
		return nil, 0, classify.Blind(trajectory.FactToolSchemas, "")
	}
	if a.JSON == nil {
		if a.Parsed == trajectory.ParsedText {
			return nil, 0, classify.NoMatch() // free text, as custom tools take it
		}
		return nil, 0, classify.Blind(trajectory.FactArguments, "")
	}
	vs, err := in.Schemas.Validate(schema, a.JSON)
	if err != nil {
		return nil, 0, classify.Blind(trajectory.FactToolSchemas, "the schema of "+classify.SafeName(c.Name)+" is not standard JSON Schema; write a standard one under tools: in pawl.yaml")
	}
	sure = 1
	if !own {
		sure = 0.9
	}
	if a.Parsed == trajectory.ParsedRepr || a.Parsed == trajectory.ParsedArgs || a.Parsed == trajectory.ParsedDouble {
		sure *= 0.9
	}
	return vs, sure, classify.NoMatch()
}

// schemaFor returns the schema of the tool in the set that the call was offered; else, and then it is not this call's own, that of the
// trace or of the catalog.
func schemaFor(in *classify.Input, c *trajectory.ToolCall) (schema []byte, own bool) {
	t := in.Trajectory
	if c.Model >= 0 {
		if d, ok := findTool(t.ModelCalls[c.Model].Offered, c.Name); ok && d.Schema != nil {
			return d.Schema, true
		}
	}
	if d, ok := findTool(&trajectory.ToolSet{Tools: t.ToolsOffered}, c.Name); ok && d.Schema != nil {
		return d.Schema, false
	}
	if d, ok := in.Catalog.Tool(c.Name); ok && d.Schema != nil {
		return d.Schema, false
	}
	return nil, false
}

// schemaConfidence weighs what became of the call: a refusal confirms, a good answer says that the schema is stricter than the tool.
func schemaConfidence(c *trajectory.ToolCall, keyword, by string) float64 {
	switch {
	case by != "":
		return 0.99
	case keyword == "format":
		return 0.7
	case failed(c):
		return 0.97
	case c.Outcome == trajectory.OutcomeOK && !looksFailed(c):
		return 0.8
	default:
		return 0.93
	}
}

func schemaFinding(in *classify.Input, ws []wrong) classify.Finding {
	w := ws[0]
	c := &in.Trajectory.ToolCalls[w.call]
	tool, pointer := classify.SafeName(c.Name), classify.SafePointer(w.pointer)
	f := in.Finding(c.Agent, classify.Name("tool", c.Name), classify.Pointer("pointer", w.pointer), classify.Word("keyword", w.keyword))
	f.Title = fmt.Sprintf("%s called with arguments that break its schema at %s (%s)", tool, orRoot(pointer), w.keyword)
	f.Step = stepOf(in.Trajectory, trajectory.StepTool, w.call)
	f.Why = schemaWhy(tool, pointer, w, c, len(ws))
	for _, w := range ws[:min(len(ws), maxEvidence)] {
		f.Evidence = append(f.Evidence, schemaEvidence(&in.Trajectory.ToolCalls[w.call], w)...)
	}
	f.Confidence = 0
	for _, w := range ws {
		f.Confidence = max(f.Confidence, w.confidence)
	}
	return f
}

func schemaWhy(tool, pointer string, w wrong, c *trajectory.ToolCall, n int) string {
	subject := "the argument object of " + tool
	if pointer != "" {
		subject = fmt.Sprintf("argument %s of %s", pointer, tool)
	}
	s := subject + " " + w.what
	switch {
	case w.bySchema && w.by != "":
		s += ", and the call was refused for its arguments (in the words of " + w.by + ")"
	case w.by != "":
		s += " by " + w.by + ", whatever the schema says"
	case c.Outcome == trajectory.OutcomeOK && !looksFailed(c):
		s += "; the tool answered all the same, so the schema may be stricter than the tool"
	}
	if n > 1 {
		s += fmt.Sprintf(" (%d calls)", n)
	}
	return s + "."
}

func schemaEvidence(c *trajectory.ToolCall, w wrong) []classify.Evidence {
	var out []classify.Evidence
	if w.bySchema {
		out = append(out, classify.Evidence{SpanID: requestSpan(c), What: schemaBreach(w)})
	}
	if w.by != "" {
		span := c.ResultSpanID
		if span == "" {
			span = c.SpanID
		}
		out = append(out, classify.Evidence{SpanID: span, What: "refusal: the words of " + w.by})
	}
	return out
}

func schemaBreach(w wrong) string {
	if w.keyword == "not_json" {
		return "the arguments do not parse as JSON"
	}
	return "schema: " + orRoot(classify.SafePointer(w.pointer)) + " breaks " + w.keyword
}

// requestSpan is the span that shows the arguments as the tool received them.
func requestSpan(c *trajectory.ToolCall) string {
	if c.SpanID != "" {
		return c.SpanID
	}
	return c.RequestSpanID
}

func orRoot(pointer string) string {
	if pointer == "" {
		return "the root"
	}
	return pointer
}
