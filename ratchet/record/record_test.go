package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func all(string) bool                { return true }
func same(_, text string) string     { return text }
func shout(_, text string) string    { return strings.ToUpper(text) }
func traceID(b byte) pcommon.TraceID { return pcommon.TraceID{15: b} }
func spanID8(b byte) pcommon.SpanID  { return pcommon.SpanID{7: b} }

// example has a span with every kind of value, an event, and a log record.
func example() trajectory.Trace {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	rs.Resource().Attributes().PutStr("host.name", "secret-host")
	rs.Resource().Attributes().PutStr("service.instance.id", "pod-1")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("scope")
	for i := range byte(3) {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(traceID(1))
		s.SetSpanID(spanID8(i + 1))
		s.SetName("span")
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Unix(int64(i)+1, 0)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Unix(int64(i)+2, 0)))
		if i > 0 {
			s.SetParentSpanID(spanID8(1))
			continue
		}
		a := s.Attributes()
		a.PutStr("gen_ai.prompt.10.content", "tenth")
		a.PutStr("gen_ai.prompt.2.content", "second")
		a.PutInt("n", 1<<60)
		a.PutDouble("d", 0.1)
		a.PutBool("b", true)
		a.PutEmptyBytes("raw").FromRaw([]byte{1, 2})
		a.PutEmptySlice("list").AppendEmpty().SetStr("x")
		a.PutEmptyMap("map").PutStr("inner", "y")
		e := s.Events().AppendEmpty()
		e.SetName("exception")
		e.Attributes().PutStr("exception.message", "boom")
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage("failed")
	}
	ld := plog.NewLogs()
	l := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	l.SetTraceID(traceID(1))
	l.SetSpanID(spanID8(1))
	l.SetEventName("gen_ai.user.message")
	l.Body().SetEmptyMap().PutStr("content", "hello")
	return trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})[0]
}

func TestRoundTripIsStable(t *testing.T) {
	first, err := Encode(example(), all, same)
	if err != nil {
		t.Fatal(err)
	}
	td, ld, err := Decode(first)
	if err != nil {
		t.Fatal(err)
	}
	traces := trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})
	if len(traces) != 1 || len(traces[0].Spans) != 3 || len(traces[0].Spans[0].Logs) != 1 {
		t.Fatalf("read back %d traces: %+v", len(traces), traces)
	}
	again, err := Encode(traces[0], all, same)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, again) {
		t.Errorf("not stable:\n%s\n---\n%s", first, again)
	}
	if n := traces[0].Spans[0].Attrs.Int("n"); n == nil || *n != 1<<60 {
		t.Errorf("a large number came back as %v", n)
	}
}

func TestEncodeLeavesHostsOutAndRedactsAllTexts(t *testing.T) {
	b, err := Encode(example(), all, shout)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"secret-host", "pod-1", `"tenth"`, `"second"`, `"x"`, `"y"`, `"boom"`, `"failed"`, `"hello"`, `"span"`} {
		if bytes.Contains(b, []byte(gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
	if i, j := bytes.Index(b, []byte("SECOND")), bytes.Index(b, []byte("TENTH")); i < 0 || j < i {
		t.Error("message 10 stands before message 2")
	}
}

func TestEncodeKeepsWhatIsAskedFor(t *testing.T) {
	tr := example()
	b, err := Encode(tr, func(id string) bool { return id == tr.Spans[0].ID }, same)
	if err != nil {
		t.Fatal(err)
	}
	td, _, err := Decode(b)
	if err != nil || td.SpanCount() != 1 {
		t.Errorf("%d spans, %v, want 1", td.SpanCount(), err)
	}
}

func TestIDsThatAreNone(t *testing.T) {
	tr := example()
	for _, bad := range []string{"", "xyz", strings.Repeat("g", 32), strings.Repeat("0", 64)} {
		tr.Spans[0].TraceID = bad
		if _, err := Encode(tr, all, same); err == nil {
			t.Errorf("trace id %q was written", bad)
		}
	}
}
