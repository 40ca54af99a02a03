package rule

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// OutputSchema finds answers that are not of the shape which the request wants, and results of tools that are not of the shape which the tool declares.
var OutputSchema = add(classify.Rule{
	Name: "output_schema_violation", Version: 1, Label: classify.OutputViolation, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "an answer is not of the shape that was asked for",
		Why: "A program reads it, and breaks on it or takes it for something else. The shape is the request's own: a response format, a response schema, the schema of " +
			"a generated object; a framework that gives up on an answer by its own words counts too. For tools it is the output schema in the catalog, against the " +
			"structured content of the result. Answers that ask for tools, that were cut, filtered or refused, and those after which the agent asked again are left " +
			"out; a fence of Markdown around JSON is forgiven.",
		Fix:     "Use the provider's strict mode, simplify the schema, or validate the answer and ask again with the error.",
		Example: "response_format wants {city: string} and the answer is {\"town\":\"Bern\"}",
	},
	Check: checkOutput,
	Repairs: []classify.Repair{
		change.Repair("fitting-answer", "the answer had the shape that was asked for", fitAnswer),
		change.OfCall("fitting-result", "the tool's result had the shape that it declares", fitResult),
	},
})

// unshaped are the words by which frameworks give up on an answer's shape.
var unshaped = []says{
	wording("AI SDK", `noobjectgenerated|response did not match schema|could not parse the response`),
	wording("pydantic-ai", `exceeded maximum (output )?retries \(\d+\)( for (output|result) validation)?`),
	wording("LangChain", `outputparserexception|output_parsing_failure|structuredoutputvalidationerror|multiplestructuredoutputserror`),
	wording("OpenAI Agents", `invalid json when parsing .{1,400} for typeadapter|modelbehaviorerror: invalid json`),
	wording("instructor", `instructorretryexception|incompleteoutputexception`),
	wording("LlamaIndex", `could not extract json string from output|failed to parse .{0,40}output`),
	wording("Semantic Kernel", `failed to deserialize .{0,60}(response|output)`),
	wording("a framework", `(structured|json) output .{0,60}(invalid|failed|does not match|did not match)|failed to parse (structured|json) output`),
}

// outputBreach is one way in which an answer, or a tool's result, is not what it must be.
type outputBreach struct {
	pointer []string
	keyword string
	what    string // to follow "the answer "
	sure    float64
}

func checkOutput(in *classify.Input) classify.Result {
	t := in.Trajectory
	var out []classify.Finding
	judged, undecided := 0, classify.NoMatch()
	for i := range t.ModelCalls {
		bs, lacking, ok := judgeAnswer(in, i)
		if ok {
			judged++
		}
		if lacking.Missing != "" {
			undecided = lacking
		}
		for _, b := range bs {
			out = append(out, answerFinding(in, i, b))
		}
	}
	for i := range t.ToolCalls {
		bs, ok := judgeResult(in, i)
		if ok {
			judged++
		}
		for _, b := range bs {
			out = append(out, resultFinding(in, i, b))
		}
	}
	switch {
	case len(out) > 0 || judged > 0:
		return classify.Match(merged(out)...)
	case undecided.Missing != "":
		return undecided
	case len(t.ModelCalls) == 0:
		return classify.Blind(trajectory.FactModelCalls, "")
	}
	return classify.Blind(trajectory.FactOutputSchema,
		"if requests ask for a shape of the answer (response_format and the like), have the instrumentation record it: llm.invocation_parameters, gen_ai.output.schema")
}

// judgeAnswer says how an answer breaks the shape that its request wants; judged is false when it wants none, or no answer is to be had.
func judgeAnswer(in *classify.Input, i int) (breaches []outputBreach, lacking classify.Result, judged bool) {
	t := in.Trajectory
	m := &t.ModelCalls[i]
	if m.Error != nil {
		if by := speaker(unshaped, m.Error.Type+" "+m.Error.Message); by != "" && cutBy(m) == "" && !resumed(t, i) {
			return []outputBreach{{keyword: "refused", what: "was given up by the framework: the words of " + by, sure: 0.85}}, classify.NoMatch(), true
		}
		return nil, classify.NoMatch(), m.Wanted.JSON
	}
	if !m.Wanted.JSON {
		return nil, classify.NoMatch(), false
	}
	switch m.FinishReason {
	case trajectory.FinishLength, trajectory.FinishContentFilter, trajectory.FinishError, trajectory.FinishToolCalls:
		return nil, classify.NoMatch(), true // others speak of those
	}
	if len(m.ToolCalls) > 0 || resumed(t, i) {
		return nil, classify.NoMatch(), true
	}
	text := unfenced(m.Text)
	switch {
	case text == "":
		return nil, classify.Blind(trajectory.FactReply, ""), false
	case t.Complete.Truncated || t.Complete.Dropped > 0:
		return nil, classify.Blind(trajectory.FactWhole, ""), false
	}
	value := jsontext.Value(text)
	if !value.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return notJSON(text), classify.NoMatch(), true
	}
	if m.Wanted.Schema == nil {
		return nil, classify.NoMatch(), true
	}
	vs, err := in.Schemas.Validate(m.Wanted.Schema, value)
	if err != nil {
		return nil, classify.Blind(trajectory.FactOutputSchema, "the schema that the request wants the answer to keep is not standard JSON Schema"), false
	}
	if elsewhereKept(in, m, value) {
		return nil, classify.NoMatch(), true
	}
	return breachesOf(vs), classify.NoMatch(), true
}

// notJSON tells an answer that is not JSON at all. One that merely breaks off may have been cut by whoever recorded it, and is left alone.
func notJSON(text string) []outputBreach {
	if cutMark.MatchString(text) || beginsJSON(text) && !closesJSON(text) {
		return nil
	}
	return []outputBreach{{keyword: "not_json", what: "is not JSON", sure: 0.9}}
}

var cutMark = regexp.MustCompile(`(?i)(\.\.\.|…|\[?\(?truncated\)?\]?|<cut>)["\s]*$`)

func beginsJSON(s string) bool { return s[0] == '{' || s[0] == '[' }

func closesJSON(s string) bool { return s[len(s)-1] == '}' || s[len(s)-1] == ']' }

// fence is what a model puts around JSON that it shows to people.
var fence = regexp.MustCompile("(?s)^```[a-zA-Z]*\\s*\\n(.*?)\\n?\\s*```$")

func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if m := fence.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return text
}

// elsewhereKept says that the answer keeps the schema inside a wrapper that SDKs put around shapes which are no object: {"value": ...}, {"elements": [...]}.
func elsewhereKept(in *classify.Input, m *trajectory.ModelCall, value jsontext.Value) bool {
	var o map[string]jsontext.Value
	if json.Unmarshal(value, &o, jsontext.AllowDuplicateNames(true)) != nil || len(o) != 1 {
		return false
	}
	for _, k := range []string{"elements", "value", "result", "response", "items", "data", "output"} {
		if inner, ok := o[k]; ok {
			vs, err := in.Schemas.Validate(m.Wanted.Schema, inner)
			return err == nil && len(vs) == 0
		}
	}
	return false
}

func breachesOf(vs []classify.Violation) []outputBreach {
	var out []outputBreach
	for _, v := range vs {
		sure := 0.95
		if v.Keyword == "format" {
			continue // an annotation to most providers
		}
		out = append(out, outputBreach{v.Pointer, v.Keyword, v.What, sure})
	}
	return out
}

// judgeResult judges the structured content of a tool's result by the output schema that the catalog has of the tool.
func judgeResult(in *classify.Input, i int) ([]outputBreach, bool) {
	c := &in.Trajectory.ToolCalls[i]
	d, ok := in.Catalog.Tool(c.Name)
	if !ok || d.OutputSchema == nil || c.Outcome != trajectory.OutcomeOK || c.Result.Truncated {
		return nil, false
	}
	var mcp struct {
		Structured jsontext.Value `json:"structuredContent"`
		IsError    bool           `json:"isError"`
	}
	if json.Unmarshal([]byte(c.Result.Raw), &mcp, jsontext.AllowDuplicateNames(true)) != nil {
		return nil, false
	}
	if mcp.Structured.Kind() != '{' || mcp.IsError {
		return nil, true // an answer in words breaks no schema
	}
	vs, err := in.Schemas.Validate(d.OutputSchema, mcp.Structured)
	if err != nil {
		return nil, false
	}
	return breachesOf(vs), true
}

func answerFinding(in *classify.Input, i int, b outputBreach) classify.Finding {
	t := in.Trajectory
	m := &t.ModelCalls[i]
	f := in.Finding(m.Agent, classify.Pointer("pointer", b.pointer), classify.Word("keyword", b.keyword))
	f.Step, f.Confidence = stepOf(t, trajectory.StepModel, i), b.sure
	place := orRoot(classify.SafePointer(b.pointer))
	f.Title = fmt.Sprintf("answer breaks the shape that was asked for at %s (%s)", place, b.keyword)
	at := "the answer"
	if len(b.pointer) > 0 {
		at += " at " + place
	}
	switch {
	case m.Wanted.Schema != nil:
		f.Why = fmt.Sprintf("%s %s, by the schema that the request itself wants the answer to keep.", at, b.what)
	case m.Wanted.JSON:
		f.Why = fmt.Sprintf("the request wants JSON, and %s %s.", at, b.what)
	default:
		f.Why = at + " " + b.what + "."
	}
	f.Evidence = []classify.Evidence{{SpanID: m.SpanID, What: at + " " + b.what}}
	return f
}

func resultFinding(in *classify.Input, i int, b outputBreach) classify.Finding {
	t := in.Trajectory
	c := &t.ToolCalls[i]
	tool, place := classify.SafeName(c.Name), orRoot(classify.SafePointer(b.pointer))
	f := in.Finding(c.Agent, classify.Name("tool", c.Name), classify.Pointer("pointer", b.pointer), classify.Word("keyword", b.keyword))
	f.Step, f.Confidence, f.Severity = stepOf(t, trajectory.StepTool, i), b.sure, classify.Warning
	f.Title = fmt.Sprintf("result of %s breaks its own output schema at %s (%s)", tool, place, b.keyword)
	f.Why = fmt.Sprintf("%s declares an output schema, and its structured result at %s %s.", tool, place, b.what)
	f.Evidence = []classify.Evidence{{SpanID: firstOf(c.ResultSpanID, c.SpanID), What: fmt.Sprintf("the result at %s %s", place, b.what)}}
	return f
}

// fitAnswer gives the call an answer of the shape that it must have.
func fitAnswer(t *trajectory.Trajectory, f classify.Finding) bool {
	if f.Step < 0 || f.Step >= len(t.Steps) || t.Steps[f.Step].Kind != trajectory.StepModel {
		return false
	}
	i := t.Steps[f.Step].Index
	m := &t.ModelCalls[i]
	fit := jsontext.Value(`{}`)
	if m.Wanted.Schema != nil {
		now := jsontext.Value(unfenced(m.Text))
		if !now.IsValid() {
			now = jsontext.Value(`{}`)
		}
		v, ok := change.Fit(m.Wanted.Schema, now)
		if !ok {
			return false
		}
		fit = v
	}
	m.Text, m.Error, m.FinishReason, m.Wanted.JSON = string(fit), nil, trajectory.FinishStop, true
	if i == len(t.ModelCalls)-1 {
		change.Reply(t, m.Text)
	}
	return true
}

// fitResult gives the call a result without structured content, which breaks nothing.
func fitResult(t *trajectory.Trajectory, i int) bool {
	c := &t.ToolCalls[i]
	if !bytes.Contains([]byte(c.Result.Raw), []byte("structuredContent")) {
		return false
	}
	change.Answer(t, i, `{"content":[{"type":"text","text":"ok"}],"structuredContent":null}`)
	return true
}
