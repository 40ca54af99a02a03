package importer

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Most shapes write a span as one object with names that differ in spelling only: this reads them all. What a shape does
// in its own way is in its own file.

// spanObject reads the members of one span (folded) into a new span. Members that from already knows need not be there.
func (x *export) spanObject(f object, from origin) ptrace.Span {
	s := x.newSpan(originOf(f, from))
	context := folded(f.get("context", "spancontext"))
	s.SetTraceID(x.traceID(cmp.Or(f.text("traceid"), context.text("traceid"))))
	s.SetSpanID(x.spanID(cmp.Or(f.text("spanid"), context.text("spanid"))))
	parent := folded(f.get("parent", "parentspancontext"))
	if id := cmp.Or(f.text("parentspanid", "parentid"), parent.text("spanid")); !isZeroID(id) {
		s.SetParentSpanID(x.spanID(id))
	}
	s.TraceState().FromRaw(traceState(cmp.Or(f.text("tracestate"), context.text("tracestate"))))
	s.SetName(f.text("name", "spanname"))
	s.SetKind(kindOf(f.text("kind", "spankind")))
	x.times(f, s)
	x.status(f, s)
	x.attributes(f.get("attributes", "spanattributes"), s.Attributes())
	x.events(f.get("events", "spanevents"), s)
	x.links(f.get("links"), s)
	s.SetDroppedAttributesCount(count(f, "droppedattributescount", "droppedattributes"))
	s.SetDroppedEventsCount(count(f, "droppedeventscount", "droppedevents"))
	s.SetDroppedLinksCount(count(f, "droppedlinkscount", "droppedlinks"))
	return s
}

// traceState leaves out what stands for an empty one.
func traceState(text string) string {
	if text == "[]" || text == "{}" {
		return ""
	}
	return text
}

// isZeroID tells an id that stands for none: Go's exporter writes the parent of a root as zeros.
func isZeroID(id string) bool { return strings.Trim(strings.TrimPrefix(id, "0x"), "0") == "" }

// originOf reads the resource and scope that a span states for itself, over those it stands in.
func originOf(f object, from origin) origin {
	if v := f.get("resource"); v != nil {
		from.resource = v
		if inner := folded(v).get("attributes"); inner != nil {
			from.resource = inner
		}
	}
	if v := f.get("resourceattributes"); v != nil {
		from.more = v
	}
	from.service = cmp.Or(f.text("servicename"), from.service)
	scope := folded(f.get("scope", "instrumentationscope", "instrumentationlibrary"))
	from.scopeName = cmp.Or(f.text("scopename"), scope.text("name"), from.scopeName)
	from.scopeVer = cmp.Or(f.text("scopeversion"), scope.text("version"), from.scopeVer)
	if v := scope.get("attributes"); v != nil {
		from.scopeAttrs = v
	}
	return from
}

// times reads start and end, or start and duration.
func (x *export) times(f object, s ptrace.Span) {
	start := x.instant(f.get("starttime", "starttimeunixnano", "start", "timestamp"))
	end := x.instant(f.get("endtime", "endtimeunixnano", "end"))
	if end == 0 && start != 0 {
		if d, ok := period(f.text("duration")); ok {
			end = start + pcommon.Timestamp(d)
		} else if nanos := f.get("durationnano"); nanos != nil {
			end = start + pcommon.Timestamp(count64(textOf(nanos)))
		}
	}
	s.SetStartTimestamp(start)
	s.SetEndTimestamp(end)
}

// status reads a code by name or number, beside its message or in an object with it.
func (x *export) status(f object, s ptrace.Span) {
	code, message := f.text("statuscode"), f.text("statusmessage", "statusdescription")
	if v := f.get("status"); v != nil {
		in := folded(v)
		code = cmp.Or(code, in.text("code", "statuscode"))
		message = cmp.Or(message, in.text("message", "description"))
		if v[0] != '{' {
			code = cmp.Or(code, textOf(v))
		}
	}
	s.Status().SetCode(x.statusCode(code))
	s.Status().SetMessage(message)
}

func (x *export) statusCode(text string) ptrace.StatusCode {
	name := strings.ToUpper(text)
	if i := strings.LastIndexAny(name, "._"); i >= 0 {
		name = name[i+1:]
	}
	switch name {
	case "OK", "1":
		return ptrace.StatusCodeOk
	case "ERROR", "2":
		return ptrace.StatusCodeError
	case "", "UNSET", "0":
	default:
		x.note("status codes of an unknown name (such as %.40q) were left unset", text)
	}
	return ptrace.StatusCodeUnset
}

// kindOf reads a kind by number or by name, with any prefix. What OpenInference and others call a kind is none: unspecified.
func kindOf(text string) ptrace.SpanKind {
	name := strings.ToUpper(text)
	if i := strings.LastIndexAny(name, "._"); i >= 0 {
		name = name[i+1:]
	}
	switch name {
	case "INTERNAL", "1":
		return ptrace.SpanKindInternal
	case "SERVER", "2":
		return ptrace.SpanKindServer
	case "CLIENT", "3":
		return ptrace.SpanKindClient
	case "PRODUCER", "4":
		return ptrace.SpanKindProducer
	case "CONSUMER", "5":
		return ptrace.SpanKindConsumer
	}
	return ptrace.SpanKindUnspecified
}

func (x *export) events(src jsontext.Value, s ptrace.Span) {
	if absent(src) {
		return
	}
	if src[0] != '[' {
		x.note("span events that are no list were left out")
		return
	}
	_ = elements(src, func(v jsontext.Value) error {
		f := folded(v)
		if len(f) == 0 {
			return nil
		}
		e := s.Events().AppendEmpty()
		e.SetName(f.text("name", "eventname"))
		e.SetTimestamp(x.instant(f.get("timestamp", "time", "timeunixnano")))
		x.attributes(f.get("attributes"), e.Attributes())
		e.SetDroppedAttributesCount(count(f, "droppedattributescount", "droppedattributecount", "droppedattributes"))
		return nil
	})
}

func (x *export) links(src jsontext.Value, s ptrace.Span) {
	if absent(src) || src[0] != '[' {
		return
	}
	_ = elements(src, func(v jsontext.Value) error {
		f := folded(v)
		context := folded(f.get("context", "spancontext"))
		trace, span := cmp.Or(f.text("traceid"), context.text("traceid")), cmp.Or(f.text("spanid"), context.text("spanid"))
		if isZeroID(trace) || isZeroID(span) {
			return nil
		}
		l := s.Links().AppendEmpty()
		l.SetTraceID(x.traceID(trace))
		l.SetSpanID(x.spanID(span))
		x.attributes(f.get("attributes"), l.Attributes())
		return nil
	})
}

// logObject reads the members of one log record (folded). A record without a trace id is counted: it can join no trace.
func (x *export) logObject(f object, from origin) {
	trace := f.text("traceid")
	if isZeroID(trace) {
		x.untraced++
		return
	}
	r := x.newLog(originOf(f, from))
	r.SetTraceID(x.traceID(trace))
	if id := f.text("spanid"); !isZeroID(id) {
		r.SetSpanID(x.spanID(id))
	}
	r.SetTimestamp(x.instant(f.get("timeunixnano", "timestamp", "time")))
	r.SetObservedTimestamp(x.instant(f.get("observedtimeunixnano", "observedtimestamp")))
	r.SetEventName(f.text("eventname"))
	r.SetSeverityText(f.text("severitytext"))
	r.SetSeverityNumber(plog.SeverityNumber(min(count(f, "severitynumber", "severity"), 24)))
	if body := f.get("body"); body != nil {
		x.value(untyped(body), r.Body())
	}
	x.attributes(f.get("attributes", "logattributes"), r.Attributes())
}

// count reads a small number that is not negative; what is none is 0.
func count(f object, names ...string) uint32 {
	return uint32(min(count64(f.text(names...)), 1<<31))
}

func count64(text string) uint64 {
	var n uint64
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<60 {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
