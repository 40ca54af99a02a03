package importer

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Dumps of single spans as people make them: an object a span in whatever spelling, alone, in lists or in an envelope that
// may state the resource, the scope and the trace for all. The console exporters of the Python and JavaScript SDKs are among
// them.

func isFlat(o object) bool {
	if isFlatSpan(o) {
		return true
	}
	env := envelope(o)
	first := env.inner("spans")
	if trace := env.get("trace_id", "traceId"); trace != nil && len(first) > 0 && !first.has("traceId") {
		first["trace_id"] = trace
	}
	return isFlatSpan(first)
}

func isFlatSpan(o object) bool {
	if o.has("spanContext") || o.inner("context").all("trace_id", "span_id") {
		return o.has("name") || o.has("attributes")
	}
	f := o.fold()
	return f.all("traceid", "spanid") && f.has("attributes", "starttime", "starttimeunixnano") && f.has("name", "spanname", "attributes")
}

// envelope is the object that holds the list of spans.
func envelope(o object) object {
	if o.has("spans") {
		return o
	}
	in, _ := objectOf(o["trace"])
	return in
}

func readFlat(x *export, o object) error {
	if isFlatSpan(o) {
		return readFlatSpan(x, o, origin{}, nil)
	}
	env := envelope(o)
	from := originOf(env.fold(), origin{})
	trace := env.get("trace_id", "traceId")
	return each(env["spans"], "spans", func(span object) error { return readFlatSpan(x, span, from, trace) })
}

func readFlatSpan(x *export, o object, from origin, trace jsontext.Value) error {
	f := o.fold()
	context := folded(f.get("context", "spancontext"))
	if f.text("spanid") == "" && context.text("spanid") == "" {
		return fmt.Errorf("the span %.40q has no span id", f.text("name"))
	}
	if f.text("traceid") == "" && context.text("traceid") == "" {
		if absent(trace) {
			return fmt.Errorf("the span %.40q has no trace id", f.text("name"))
		}
		f["traceid"] = trace
	}
	if o.has("spanContext") { // JavaScript counts the kinds from 0
		if n, err := strconv.Atoi(f.text("kind")); err == nil {
			f["kind"] = jsontext.Value(strconv.Itoa(n + 1))
		}
	}
	x.spanObject(f, from)
	return nil
}
