// Package record writes the recorded failing trace of a case, trace.json: OTLP JSON, redacted, pruned to what the agent did, and canonical (the
// same trace gives the same bytes whatever order its spans arrived in). A failure that spans the traces of a session has them all in the one file.
// It reads such a file back too.
package record

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Redact rewrites one text. key is the attribute's name, "" for a text that has none.
type Redact func(key, text string) string

// Encode renders a trace as OTLP JSON, {"resourceSpans": [...], "resourceLogs": [...]}, indented for reviewers. Every text passes through redact,
// in a fixed order, so that pseudonyms come out the same each time. Spans for which keep says no are left out.
func Encode(t trajectory.Trace, keep func(spanID string) bool, redact Redact) ([]byte, error) {
	return EncodeSession([]trajectory.Trace{t}, func(_, spanID string) bool { return keep(spanID) }, redact)
}

// EncodeSession renders the traces of one session as Encode does a single one, in the order given.
func EncodeSession(traces []trajectory.Trace, keep func(traceID, spanID string) bool, redact Redact) ([]byte, error) {
	e := encoder{redact: redact, traces: ptrace.NewTraces(), logs: plog.NewLogs()}
	for _, t := range traces {
		if err := e.trace(t, keep); err != nil {
			return nil, err
		}
	}
	return e.bytes()
}

type encoder struct {
	redact Redact
	traces ptrace.Traces
	logs   plog.Logs

	// What the last span appended stands under; a span with another resource or scope opens new ones. Only neighbours share, so that the bytes follow
	// from the order of the spans alone.
	origin string
	spans  ptrace.ScopeSpans
}

func (e *encoder) trace(t trajectory.Trace, keep func(traceID, spanID string) bool) error {
	for i := range t.Spans {
		if keep(t.ID, t.Spans[i].ID) {
			if err := e.span(&t.Spans[i]); err != nil {
				return err
			}
		}
	}
	for _, l := range t.Logs {
		if err := e.log(l); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) under(s *trajectory.Span) ptrace.ScopeSpans {
	resource := pcommon.NewMap()
	e.resource(s.Resource, resource)
	var origin strings.Builder
	fmt.Fprintf(&origin, "%q %q", s.Scope, s.ScopeVersion)
	for k, v := range resource.All() {
		fmt.Fprintf(&origin, " %q=%q", k, v.AsString())
	}
	if e.origin == origin.String() {
		return e.spans
	}
	rs := e.traces.ResourceSpans().AppendEmpty()
	resource.CopyTo(rs.Resource().Attributes())
	e.origin, e.spans = origin.String(), rs.ScopeSpans().AppendEmpty()
	e.spans.Scope().SetName(s.Scope)
	e.spans.Scope().SetVersion(s.ScopeVersion)
	return e.spans
}

func (e *encoder) span(s *trajectory.Span) error {
	out := e.under(s).Spans().AppendEmpty()
	if err := ids(s.TraceID, s.ID, out.SetTraceID, out.SetSpanID); err != nil {
		return err
	}
	parent, err := spanID(s.ParentID)
	if err != nil {
		return err
	}
	out.SetParentSpanID(parent)
	out.SetName(e.redact("", s.Name))
	out.SetKind(ptrace.SpanKind(s.Kind))
	out.SetStartTimestamp(pcommon.NewTimestampFromTime(s.Start))
	if !s.End.IsZero() {
		out.SetEndTimestamp(pcommon.NewTimestampFromTime(s.End))
	}
	out.Status().SetCode(ptrace.StatusCode(s.Status))
	out.Status().SetMessage(e.redact("", s.StatusMessage))
	out.SetDroppedAttributesCount(uint32(s.Dropped))
	e.attributes(s.Attrs, out.Attributes())
	for _, ev := range s.Events {
		o := out.Events().AppendEmpty()
		o.SetName(ev.Name)
		o.SetTimestamp(pcommon.NewTimestampFromTime(ev.Time))
		e.attributes(ev.Attrs, o.Attributes())
	}
	for _, l := range s.Logs {
		if err := e.log(l); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) log(l trajectory.Log) error {
	rl := e.logs.ResourceLogs().AppendEmpty()
	e.resource(l.Resource, rl.Resource().Attributes())
	sl := rl.ScopeLogs().AppendEmpty()
	sl.Scope().SetName(l.Scope)
	out := sl.LogRecords().AppendEmpty()
	if err := ids(l.TraceID, l.SpanID, out.SetTraceID, out.SetSpanID); err != nil {
		return err
	}
	out.SetTimestamp(pcommon.NewTimestampFromTime(l.Time))
	out.SetEventName(l.Name)
	e.attributes(l.Attrs, out.Attributes())
	if l.Body != (pcommon.Value{}) {
		e.value("", l.Body, out.Body())
	}
	return nil
}

// resource keeps what says which software ran; hosts, processes and pods are nobody's business outside.
func (e *encoder) resource(in trajectory.Attrs, out pcommon.Map) {
	kept := trajectory.Attrs{}
	for k, v := range in {
		if strings.HasPrefix(k, "service.") && k != "service.instance.id" || strings.HasPrefix(k, "deployment.") || strings.HasPrefix(k, "pawl.") ||
			k == "telemetry.sdk.name" || k == "telemetry.sdk.language" || k == "session.id" {
			kept[k] = v
		}
	}
	e.attributes(kept, out)
}

func (e *encoder) attributes(in trajectory.Attrs, out pcommon.Map) {
	for _, k := range slices.SortedFunc(maps.Keys(in), byIndex) {
		e.value(k, in[k], out.PutEmpty(k))
	}
}

// byIndex orders keys with numbers in them by number, so that message 2 comes before message 10 and pseudonyms are numbered as a person reads.
func byIndex(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, y := as[i], bs[i]
		if x == y {
			continue
		}
		if digits(x) && digits(y) && len(x) != len(y) {
			return cmp.Compare(len(x), len(y))
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(as), len(bs))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (e *encoder) value(key string, in, out pcommon.Value) {
	switch in.Type() {
	case pcommon.ValueTypeStr:
		out.SetStr(e.redact(key, in.Str()))
	case pcommon.ValueTypeSlice:
		s := out.SetEmptySlice()
		for _, v := range in.Slice().All() {
			e.value(key, v, s.AppendEmpty())
		}
	case pcommon.ValueTypeMap:
		m := out.SetEmptyMap()
		keys := trajectory.AttrsOf(in.Map())
		for _, k := range slices.SortedFunc(maps.Keys(keys), byIndex) {
			e.value(k, keys[k], m.PutEmpty(k))
		}
	case pcommon.ValueTypeBytes:
		// Bytes are media: nothing that a rule reads, and nothing that redaction can look into.
		out.SetStr(fmt.Sprintf("[%d bytes]", in.Bytes().Len()))
	default:
		in.CopyTo(out)
	}
}

func (e *encoder) bytes() ([]byte, error) {
	spans, err := (&ptrace.JSONMarshaler{}).MarshalTraces(e.traces)
	if err != nil {
		return nil, fmt.Errorf("recorded trace: %w", err)
	}
	logs, err := (&plog.JSONMarshaler{}).MarshalLogs(e.logs)
	if err != nil {
		return nil, fmt.Errorf("recorded trace: %w", err)
	}
	b := spans
	if e.logs.ResourceLogs().Len() > 0 {
		// Two OTLP documents in one object: {"resourceSpans":[...]} and {"resourceLogs":[...]}.
		b = append(append(bytes.TrimSuffix(spans, []byte("}")), ','), bytes.TrimPrefix(logs, []byte("{"))...)
	}
	v := jsontext.Value(b)
	if err := v.Indent(jsontext.WithIndent(" ")); err != nil {
		return nil, fmt.Errorf("recorded trace: %w", err)
	}
	return append(v, '\n'), nil
}

// Decode reads what Encode wrote.
func Decode(b []byte) (ptrace.Traces, plog.Logs, error) {
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(b)
	if err != nil {
		return td, plog.Logs{}, fmt.Errorf("recorded trace: %w", err)
	}
	ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(b)
	if err != nil {
		return td, ld, fmt.Errorf("recorded trace: %w", err)
	}
	return td, ld, nil
}
