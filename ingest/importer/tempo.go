package importer

import "github.com/go-json-experiment/json/jsontext"

// Tempo's answers: version 1 is OTLP under the name of batches (which the OTLP reader knows), version 2 has the same within
// trace, beside a status. Jaeger's API v3 has it within result.

// nested returns the OTLP part of an answer that wraps it, or nothing.
func nested(o object) jsontext.Value {
	for _, name := range []string{"trace", "result"} {
		if v := o[name]; !absent(v) && v[0] == '{' && o.inner(name).has("resourceSpans", "resource_spans", "batches") {
			return v
		}
	}
	return nil
}

// partial is what an answer says of what it left out.
func partial(o object) []string {
	if o.text("status") == "PARTIAL" {
		return []string{"Tempo says that the trace is partial: " + o.text("message")}
	}
	return nil
}
