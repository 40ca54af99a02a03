package importer

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// TRAIL, the form in which traces of smolagents are published: {"trace_id", "spans"}, where a span holds its children, its
// log records, and a duration instead of an end.

func isTrail(o object) bool {
	return o.inner("spans").has("child_spans", "span_attributes") || o.has("span_id") && o.has("child_spans", "span_attributes")
}

func readTrail(x *export, o object) error {
	if o.has("spans") {
		return trailSpans(x, o["spans"], "spans", o.text("trace_id"), "", maxDepth)
	}
	return trailSpan(x, o, "", "", maxDepth)
}

func trailSpans(x *export, list jsontext.Value, what, trace, parent string, depth int) error {
	if depth == 0 {
		return errors.New("spans are nested too deeply")
	}
	return each(list, what, func(o object) error { return trailSpan(x, o, trace, parent, depth) })
}

func trailSpan(x *export, o object, trace, parent string, depth int) error {
	trace, id := cmp.Or(o.text("trace_id"), trace), o.text("span_id")
	if id == "" {
		return fmt.Errorf("the span %.40q has no span_id", o.text("span_name"))
	}
	f := o.fold()
	s := x.spanObject(f, origin{})
	s.SetTraceID(x.traceID(trace))
	if s.ParentSpanID().IsEmpty() && parent != "" {
		s.SetParentSpanID(x.spanID(parent))
	}
	err := each(o["logs"], "logs", func(log object) error {
		lf := log.fold()
		lf["traceid"], lf["spanid"] = cmpValue(lf["traceid"], quoted(trace)), cmpValue(lf["spanid"], quoted(id))
		x.logObject(lf, originOf(f, origin{}))
		return nil
	})
	if err != nil {
		return err
	}
	return trailSpans(x, o["child_spans"], "child_spans", trace, id, depth-1)
}
