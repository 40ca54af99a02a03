package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// sampleTraces makes a request of n spans over a few traces, groups and scopes, with values of every kind.
func sampleTraces(r *rand.Rand, n int) ptrace.Traces {
	td := ptrace.NewTraces()
	var spans ptrace.SpanSlice
	for i := range n {
		if i%5 == 0 {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", fmt.Sprintf("shop-%d", i))
			rs.SetSchemaUrl("https://example.com/schema")
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("agent")
			ss.Scope().Attributes().PutInt("v", int64(i))
			spans = ss.Spans()
		}
		fillSpan(r, spans.AppendEmpty())
	}
	return td
}

func fillSpan(r *rand.Rand, s ptrace.Span) {
	s.SetTraceID(traceOf(r.Uint64N(4) + 1))
	s.SetSpanID(spanOf(r.Uint64() | 1))
	s.SetParentSpanID(spanOf(r.Uint64N(3)))
	s.SetName("chat " + strings.Repeat("é", r.IntN(4)))
	s.SetKind(ptrace.SpanKind(r.IntN(6)))
	s.SetStartTimestamp(pcommon.Timestamp(r.Uint64()))
	s.SetEndTimestamp(pcommon.Timestamp(r.Uint64N(1 << 40)))
	s.SetFlags(r.Uint32())
	s.TraceState().FromRaw("a=b")
	s.SetDroppedAttributesCount(r.Uint32N(3))
	s.Status().SetCode(ptrace.StatusCode(r.IntN(3)))
	s.Status().SetMessage("why")
	fillValues(r, s.Attributes())
	e := s.Events().AppendEmpty()
	e.SetName("gen_ai.choice")
	e.SetTimestamp(pcommon.Timestamp(r.Uint64()))
	fillValues(r, e.Attributes())
	l := s.Links().AppendEmpty()
	l.SetTraceID(traceOf(r.Uint64() | 1))
	l.SetSpanID(spanOf(r.Uint64() | 1))
}

func fillValues(r *rand.Rand, m pcommon.Map) {
	m.PutStr("gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"`+strings.Repeat("wörd ", r.IntN(40))+`"}]}]`)
	m.PutInt("gen_ai.usage.input_tokens", r.Int64()-r.Int64())
	m.PutDouble("temperature", r.NormFloat64())
	m.PutDouble("inf", math.Inf(1))
	m.PutBool("stream", r.IntN(2) == 0)
	m.PutEmpty("nothing")
	m.PutEmptyBytes("raw").FromRaw([]byte{0, 1, byte(r.Uint32())})
	list := m.PutEmptySlice("finish_reasons")
	list.AppendEmpty().SetStr("stop")
	list.AppendEmpty().SetEmptyMap().PutStr("x.y", "z")
	inner := m.PutEmptyMap("headers")
	inner.PutStr("content-type", "json")
	inner.PutEmptyMap("deeper").PutInt("n", 1)
}

func sampleLogs(r *rand.Rand, n int) plog.Logs {
	ld := plog.NewLogs()
	var logs plog.LogRecordSlice
	for i := range n {
		if i%4 == 0 {
			rl := ld.ResourceLogs().AppendEmpty()
			rl.Resource().Attributes().PutStr("service.name", "shop")
			logs = rl.ScopeLogs().AppendEmpty().LogRecords()
		}
		l := logs.AppendEmpty()
		l.SetTraceID(traceOf(r.Uint64N(4) + 1))
		l.SetSpanID(spanOf(r.Uint64N(3)))
		l.SetTimestamp(pcommon.Timestamp(r.Uint64()))
		l.SetSeverityNumber(plog.SeverityNumber(r.IntN(25)))
		l.SetSeverityText("Info")
		l.SetEventName("gen_ai.choice")
		fillValues(r, l.Body().SetEmptyMap())
		fillValues(r, l.Attributes())
	}
	return ld
}

func traceOf(n uint64) (id pcommon.TraceID) {
	if n != 0 {
		binary.BigEndian.PutUint64(id[:8], n*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(id[8:], n)
	}
	return id
}

func spanOf(n uint64) (id pcommon.SpanID) {
	binary.BigEndian.PutUint64(id[:], n)
	return id
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }

func marshal(t testing.TB, d Data) []byte {
	t.Helper()
	b, err := Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tracesBody(t testing.TB, td ptrace.Traces) []byte {
	return marshal(t, Data{Signal: Traces, Traces: td})
}

// spanKeys lists "trace/span/name" of all spans or log records, sorted.
func itemKeys(d Data) []string {
	var out []string
	if d.Signal == Logs {
		for _, rl := range d.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, l := range sl.LogRecords().All() {
					out = append(out, fmt.Sprint(l.TraceID(), l.SpanID(), l.Timestamp()))
				}
			}
		}
		slices.Sort(out)
		return out
	}
	for _, s := range spansOf(d) {
		out = append(out, fmt.Sprint(s.TraceID(), s.SpanID(), s.Name()))
	}
	slices.Sort(out)
	return out
}

func spansOf(d Data) []ptrace.Span {
	var out []ptrace.Span
	for _, rs := range d.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				out = append(out, s)
			}
		}
	}
	return out
}

func decoded(t testing.TB, s Signal, body []byte) (Data, Report) {
	t.Helper()
	d, r, err := Decode(s, body)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return d, r
}
