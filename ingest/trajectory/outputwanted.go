package trajectory

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Wanted is what a request says of the shape that the answer must have. The zero Wanted says nothing.
type Wanted struct {
	JSON   bool           // the answer must be JSON
	Schema jsontext.Value // and keep this JSON Schema; nil when the request names none
}

// IsZero says whether the request asked for no shape.
func (w Wanted) IsZero() bool { return !w.JSON }

// The attributes that hold a schema for the answer as such, those that hold parameters of the request, and those that hold all of it.
var (
	wantedSchemas = []string{"ai.schema", "gen_ai.request.structured_output_schema", "gen_ai.request.response_schema", "gen_ai.output.schema", "llm.output_schema",
		"gen_ai.structured_output.schema"}
	wantedFormats = []string{"gen_ai.request.response_format", "gen_ai.openai.request.response_format", "llm.response_format", "llm.request.response_format",
		"gen_ai.response_format", "gen_ai.output.type", "gen_ai.openai.request.output_format"}
	wantedParams = []string{"llm.invocation_parameters", "langfuse.observation.model.parameters", "langsmith.metadata.ls_invocation_params", "model_request_parameters",
		"gen_ai.request.parameters", "gen_ai.request.params", "gen_ai.request.options"}
	wantedBodies = []string{"input.value", "gcp.vertex.agent.llm_request", "genkit:input", "gen_ai.request.body", "http.request.body", "mastra.metadata.body", "request_data"}
)

// outputWanted reads what the span of a model call says of the answer's shape, in whichever words: an attribute of its own, the parameters, or the
// request's body.
func (n *node) outputWanted() Wanted {
	if w := outputWantedIn(n.span.Attrs); w.JSON {
		return w
	}
	// The AI SDK tells the schema of generateObject on the span around the call alone.
	for p := range n.above {
		if p.facts.Role != RoleAgent && p.facts.Role != RoleNone {
			break
		}
		if w := schemaWanted(p.span.Attrs.Text("ai.schema")); w.JSON {
			return w
		}
	}
	return Wanted{}
}

func outputWantedIn(a Attrs) Wanted {
	for _, k := range wantedSchemas {
		if w := schemaWanted(a.Text(k)); w.JSON {
			return w
		}
	}
	for _, k := range wantedParams {
		if w := wantedBy(readObject(a.jsonText(k)), 0); w.JSON {
			return w
		}
	}
	for _, k := range wantedFormats {
		if text := a.Text(k); text != "" {
			if w := formatWanted(text); w.JSON {
				return w
			}
		}
	}
	for _, k := range wantedBodies {
		if text := a.Text(k); mayWant(text) {
			if w := wantedBy(readObject(text), 0); w.JSON {
				return w
			}
		}
	}
	return Wanted{}
}

// mayWant says whether a body can hold anything of the kind. Bodies are long, and most do not.
func mayWant(body string) bool {
	return strings.Contains(body, "format") || strings.Contains(body, "Format") || strings.Contains(body, "esponseSchema") || strings.Contains(body, "esponse_schema") ||
		strings.Contains(body, "esponseJsonSchema") || strings.Contains(body, "esponse_json_schema") || strings.Contains(body, "guided_json")
}

// wantedBy reads the members by which vendors name the shape: of a request, its parameters or its configuration.
func wantedBy(o object, depth int) Wanted {
	if o == nil || depth > 3 {
		return Wanted{}
	}
	for _, k := range []string{"response_format", "responseFormat", "output_format", "outputFormat"} {
		if w := formatWanted(o.get(k)); w.JSON {
			return w
		}
	}
	for _, k := range []string{"response_schema", "responseSchema", "response_json_schema", "responseJsonSchema", "guided_json", "structured_output_schema"} {
		if w := schemaWanted(o.get(k)); w.JSON {
			return w
		}
	}
	if w := outputObject(o); w.JSON {
		return w
	}
	if isAnyOf(o.str("response_mime_type", "responseMimeType"), "application/json") {
		return Wanted{JSON: true}
	}
	for _, k := range []string{"text", "output_config", "outputConfig"} { // {"format": {...}}
		if w := formatWanted(o.object(k).get("format")); w.JSON {
			return w
		}
	}
	if o.has("model") && (o.has("messages") || o.has("prompt")) { // Ollama's
		if w := formatWanted(o.get("format")); w.JSON {
			return w
		}
	}
	for _, k := range []string{"config", "generation_config", "generationConfig", "kwargs", "extra_body", "request", "body", "parameters", "invocation_params", "additionalModelRequestFields"} {
		if w := wantedBy(o.object(k), depth+1); w.JSON {
			return w
		}
	}
	return Wanted{}
}

// outputObject reads the ways of two frameworks: pydantic-ai names the mode in which the answer is told its shape, of which those with a tool ask for no text,
// and Genkit has it under output.
func outputObject(o object) Wanted {
	switch o.str("output_mode") {
	case "native", "prompted":
		return schemaWanted(o.object("output_object").get("json_schema"))
	}
	out := o.object("output")
	if w := schemaWanted(out.get("schema", "jsonSchema")); w.JSON {
		return w
	}
	return Wanted{JSON: out.str("format") == "json" || out.str("contentType") == "application/json"}
}

// formatWanted reads a format: a word, or an object whose type says what more it holds.
func formatWanted(raw string) Wanted {
	raw = strings.TrimSpace(raw)
	if s, ok := unquote(raw); ok {
		raw = strings.TrimSpace(s)
	}
	if kindOf(raw) != '{' {
		return Wanted{JSON: isAnyOf(raw, "json", "json_object", "json_schema")}
	}
	o := readObject(raw)
	switch o.str("type") {
	case "json_schema", "json":
		inner := o.object("json_schema", "jsonSchema")
		if inner == nil {
			inner = o
		}
		w := schemaWanted(inner.get("schema", "schema_definition", "schema_", "value"))
		w.JSON = true
		return w
	case "json_object":
		return Wanted{JSON: true}
	case "object", "array", "":
		return schemaWanted(raw)
	}
	return Wanted{}
}

// schemaWanted reads a schema, which must look like one: an object of members is no reason to doubt an answer.
func schemaWanted(raw string) Wanted {
	raw = strings.TrimSpace(raw)
	if s, ok := unquote(raw); ok {
		raw = s
	}
	if kindOf(raw) != '{' {
		return Wanted{}
	}
	s := canonicalSchema(raw)
	o := readObject(string(s))
	if !o.has("type") && !o.has("properties") && !o.has("$ref") && !o.has("anyOf") && !o.has("enum") && !o.has("oneOf") && !o.has("allOf") {
		return Wanted{}
	}
	return Wanted{JSON: true, Schema: s}
}
