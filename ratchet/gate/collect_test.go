package gate

import (
	"context"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Telemetry joins the run that it names, or whose trace it is of; what names nothing only a run that is alone; and never another's.
func TestAttribution(t *testing.T) {
	c := newCollector()
	send := func(said, attr string, trace byte) {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		if attr != "" {
			rs.Resource().Attributes().PutStr(AttrRun, attr)
		}
		s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{trace})
		s.SetSpanID(pcommon.SpanID{1})
		s.SetParentSpanID(pcommon.SpanID{9})
		body, err := wire.Marshal(wire.Data{Signal: wire.Traces, Traces: td})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.publish(context.WithValue(t.Context(), runKey{}, said), wire.Batch{Signal: wire.Traces, Body: body, Spans: 1}); err != nil {
			t.Fatal(err)
		}
	}
	a := c.open("a")
	c.expect(a, pcommon.TraceID{1}, pcommon.SpanID{9})
	send("", "", 50) // it is alone
	b := c.open("b")
	send("b", "", 2)
	send("", "b", 3)
	send("", "", 3)     // a trace that b named before
	send("", "", 1)     // the trace that a was given
	send("", "", 60)    // either's
	send("gone", "", 1) // names another run, whatever its trace
	send("", "a", 4)    // by its resource
	if !a.rooted || b.rooted {
		t.Errorf("rooted: a %v, b %v", a.rooted, b.rooted)
	}
	if a.spans != 3 || b.spans != 3 || c.stray != 2 {
		t.Errorf("a has %d spans, b %d, nobody %d", a.spans, b.spans, c.stray)
	}
	c.close(a)
	send("", "", 1) // late, and b is alone
	send("", "a", 5)
	if b.spans != 3 || c.stray != 4 {
		t.Errorf("b has %d spans, nobody %d", b.spans, c.stray)
	}
}
