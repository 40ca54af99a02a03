package importer

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is what a JSON object is: OTLP of one or both signals, or something else and why it is not read.
type shape struct {
	traces, logs bool
	other        error
}

// recognise tells by the marks of a JSON object what it is. An object that is no JSON counts as OTLP where it begins like
// it, so that its decoder says what is wrong, and else as nothing.
func recognise(doc []byte) shape {
	if len(doc) < len(`{"batches":[]}`) {
		return shape{other: ErrNotTelemetry}
	}
	o := look(doc)
	s := shape{traces: o.has("resourceSpans", "resource_spans", "batches"), logs: o.has("resourceLogs", "resource_logs")}
	if s.traces || s.logs {
		return s
	}
	if name := o.foreign(); name != "" {
		return shape{other: &Unsupported{name}}
	}
	return shape{other: ErrNotTelemetry}
}

// outline is the top level of an object.
type outline map[string]jsontext.Value

// look reads the members of an object as far as it is sound. Anything but an object has none.
func look(doc []byte) outline {
	o := outline{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return o
	}
	_, _ = dec.ReadToken()
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return o
		}
		key := name.String()
		o[key] = nil
		if slices.Contains(otlpNames, key) {
			err = dec.SkipValue() // known by its name: no need to hold it
		} else if value, bad := dec.ReadValue(); bad == nil {
			o[key] = value.Clone()
		} else {
			err = bad
		}
		if err != nil {
			return o
		}
	}
}

var otlpNames = []string{"resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs"}

// has tells whether any of the names is a member.
func (o outline) has(names ...string) bool {
	for _, name := range names {
		if _, ok := o[name]; ok {
			return true
		}
	}
	return false
}

// all tells whether all of the names are members.
func (o outline) all(names ...string) bool {
	for _, name := range names {
		if !o.has(name) {
			return false
		}
	}
	return true
}

// inner is the outline of a member that is an object, or of the first element of one that is a list.
func (o outline) inner(name string) outline {
	value := o[name]
	if value.Kind() != '[' {
		return look(value)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, _ = dec.ReadToken()
	first, err := dec.ReadValue()
	if err != nil {
		return outline{}
	}
	return look(first)
}

// foreign names the export of another tool by its marks, or returns nothing.
func (o outline) foreign() string {
	switch {
	case o.has("resourceMetrics", "resource_metrics"):
		return "OTLP metrics"
	case o.has("resourceProfiles"):
		return "OTLP profiles"
	case o.inner("trace").has("resourceSpans", "batches"):
		return "a Tempo v2 trace (its `trace` member is the OTLP part)"
	case o.all("trace", "observations"), o.all("observations", "projectId"):
		return "a Langfuse export"
	case o.has("raw_otel_json"):
		return "a CloudWatch export"
	case o.inner("data").all("spans", "traceID"), o.all("traceID", "spans"), o.all("traceID", "operationName"):
		return "a Jaeger export"
	case o.has("run_type") && o.has("trace_id", "dotted_order", "session_id", "inputs"):
		return "a LangSmith export"
	case o.inner("context").has("trace_id") && o.has("span_kind", "parent_id", "status_code"):
		return "a Phoenix export"
	case o.inner("spans").has("child_spans", "span_attributes"), o.all("span_id", "child_spans"):
		return "a TRAIL trace"
	}
	return o.dump()
}

// dump names the ad-hoc dumps of single spans.
func (o outline) dump() string {
	switch {
	case o.has("SpanContext"):
		return "a dump of the Go stdout exporter"
	case o.has("spanContext"):
		return "a span dump of the JavaScript SDK"
	case o.all("trace_id", "span_id", "attributes"), o.inner("spans").all("trace_id", "span_id", "attributes"):
		return "a flat span dump"
	case o.has("localEndpoint") && o.has("traceId"):
		return "a Zipkin export"
	}
	return ""
}
