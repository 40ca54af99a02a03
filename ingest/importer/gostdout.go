package importer

// The Go SDK's stdout exporter, as users of ADK for Go dump it: one object a span, indented or not, one after the other,
// with its own spelling of every name; and its sibling for log records.

func isGoStdout(o object) bool {
	return o.has("SpanContext") && o.has("Name", "StartTime") || o.all("TraceID", "Timestamp", "Body")
}

func readGoStdout(x *export, o object) error {
	f := o.fold()
	if o.has("Body") && !o.has("SpanContext") {
		x.logObject(f, origin{})
		return nil
	}
	x.spanObject(f, origin{})
	return nil
}
