package importer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Jaeger's query API and its UI's download: {"data": [trace]}, a trace by itself, or a span with its process. What its
// translation from OTLP put into tags (kind, status, scope) is put back; lists that it made text of stay text.

func isJaeger(o object) bool {
	return o.inner("data").all("spans", "traceID") || o.all("traceID", "spans") || o.all("traceID", "spanID", "operationName")
}

func readJaeger(x *export, o object) error {
	switch {
	case o.has("data"):
		return each(o["data"], "data", func(trace object) error { return readJaegerTrace(x, trace) })
	case o.has("spans"):
		return readJaegerTrace(x, o)
	}
	return readJaegerSpan(x, o, nil, "")
}

func readJaegerTrace(x *export, trace object) error {
	processes := map[string]object{}
	if p := trace.get("processes"); p != nil {
		of, err := objectOf(p)
		if err != nil {
			return fmt.Errorf("processes: %w", err)
		}
		for id, process := range of {
			processes[id] = folded(process)
		}
	}
	if !trace.has("spans") {
		return fmt.Errorf("the trace %.40q has no spans", trace.text("traceID"))
	}
	return each(trace["spans"], "spans", func(span object) error { return readJaegerSpan(x, span, processes, trace.text("traceID")) })
}

func readJaegerSpan(x *export, o object, processes map[string]object, trace string) error {
	tags := newTags(o["tags"])
	process := processes[o.text("processID")]
	if own := o.get("process"); own != nil {
		process = folded(own)
	}
	s := x.newSpan(origin{
		resource: process["tags"], service: process.text("servicename"),
		scopeName: tags.take("otel.scope.name", "otel.library.name"), scopeVer: tags.take("otel.scope.version", "otel.library.version"),
	})
	trace = cmp.Or(o.text("traceID"), trace)
	s.SetTraceID(x.traceID(trace))
	s.SetSpanID(x.spanID(o.text("spanID")))
	s.SetName(o.text("operationName"))
	s.SetKind(kindOf(tags.take("span.kind")))
	s.TraceState().FromRaw(tags.take("w3c.tracestate"))
	start, err := micros(o, "startTime")
	if err != nil {
		return err
	}
	length, err := micros(o, "duration")
	if err != nil {
		return err
	}
	s.SetStartTimestamp(start)
	s.SetEndTimestamp(start + length)
	jaegerStatus(tags, s)
	tags.take("internal.span.format")
	for _, t := range tags.rest() {
		x.attribute(t.key, t.value, s.Attributes())
	}
	if err := jaegerReferences(x, o, trace, s); err != nil {
		return err
	}
	return jaegerLogs(x, o["logs"], s)
}

func cmpValue(values ...jsontext.Value) jsontext.Value {
	for _, v := range values {
		if !absent(v) {
			return v
		}
	}
	return nil
}

// micros reads a whole number of microseconds; absent is 0.
func micros(o object, name string) (pcommon.Timestamp, error) {
	text := o.text(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxSeconds*1_000_000 {
		return 0, fmt.Errorf("span %.40q: %s: want microseconds, got %.40q", o.text("spanID"), name, text)
	}
	return pcommon.Timestamp(max(n, 0)) * 1e3, nil
}

// jaegerStatus reads the code, or else the tag error, which has been seen as a bool and as text.
func jaegerStatus(tags *tagList, s ptrace.Span) {
	code, failed := tags.take("otel.status_code"), tags.take("error")
	switch {
	case strings.EqualFold(code, "ERROR"), code == "" && strings.EqualFold(failed, "true"):
		s.Status().SetCode(ptrace.StatusCodeError)
	case strings.EqualFold(code, "OK"):
		s.Status().SetCode(ptrace.StatusCodeOk)
	}
	if failed != "" && !strings.EqualFold(failed, "true") && !strings.EqualFold(failed, "false") {
		s.Attributes().PutStr("error", failed) // a tag of the application's own
	}
	s.Status().SetMessage(tags.take("otel.status_description"))
}

// jaegerReferences takes the first reference to a span of the same trace for the parent; the others are links.
func jaegerReferences(x *export, o object, trace string, s ptrace.Span) error {
	if id := o.text("parentSpanID"); !isZeroID(id) {
		s.SetParentSpanID(x.spanID(id))
	}
	return each(o["references"], "references", func(ref object) error {
		id := ref.text("spanID")
		if isZeroID(id) {
			return nil
		}
		if s.ParentSpanID().IsEmpty() && ref.text("refType") == "CHILD_OF" && ref.text("traceID") == trace {
			s.SetParentSpanID(x.spanID(id))
			return nil
		}
		if ref.text("refType") == "CHILD_OF" && s.ParentSpanID() == x.spanID(id) {
			return nil
		}
		l := s.Links().AppendEmpty()
		l.SetTraceID(x.traceID(ref.text("traceID")))
		l.SetSpanID(x.spanID(id))
		return nil
	})
}

func jaegerLogs(x *export, logs jsontext.Value, s ptrace.Span) error {
	return each(logs, "logs", func(log object) error {
		fields := newTags(log["fields"])
		e := s.Events().AppendEmpty()
		at, err := micros(log, "timestamp")
		e.SetTimestamp(at)
		e.SetName(fields.take("event", "name"))
		for _, t := range fields.rest() {
			x.attribute(t.key, t.value, e.Attributes())
		}
		return err
	})
}

// tagList is a list of Jaeger's tags, of which some are taken out for a field of the span.
type tagList struct{ tags []tag }

type tag struct {
	key   string
	value jsontext.Value
	taken bool
}

func newTags(list jsontext.Value) *tagList {
	t := &tagList{}
	if absent(list) {
		return t
	}
	_ = elements(list, func(v jsontext.Value) error {
		o, _ := objectOf(v)
		value := o["value"]
		if kind := o.text("type"); kind == "int64" || kind == "float64" || kind == "bool" { // as text in some versions
			value = jsontext.Value(textOf(value))
		}
		if !value.IsValid() {
			value = o["value"]
		}
		t.tags = append(t.tags, tag{key: o.text("key"), value: value})
		return nil
	})
	return t
}

// take returns the text of the first of the tags that is there, and removes all of them.
func (t *tagList) take(keys ...string) string {
	found := ""
	for _, key := range keys {
		for i := range t.tags {
			if t.tags[i].key == key {
				t.tags[i].taken = true
				found = cmp.Or(found, textOf(t.tags[i].value))
			}
		}
	}
	return found
}

func (t *tagList) rest() []tag {
	var out []tag
	for _, g := range t.tags {
		if !g.taken {
			out = append(out, g)
		}
	}
	return out
}
