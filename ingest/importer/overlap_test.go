package importer

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

func TestOverlap(t *testing.T) {
	item := func(file string, trace, span byte, start time.Duration) Item {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{trace})
		s.SetSpanID(pcommon.SpanID{span})
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Unix(1000, 0).Add(start)))
		return Item{File: file, Data: wire.Data{Signal: wire.Traces, Traces: td}}
	}
	var o Overlap
	for i, c := range []struct {
		item Item
		want string // in the warning; "" for none
	}{
		{item("a", 1, 1, 0), ""},
		{item("a", 1, 1, time.Second), ""},      // one recording's own business: versions of a span
		{item("b", 1, 1, time.Microsecond), ""}, // the same span once more, with a coarser clock
		{item("b", 1, 2, 0), ""},                // the rest of the trace
		{item("c", 1, 1, time.Second), "in a:"},
		{item("c", 1, 1, time.Hour), ""}, // said already
		{item("c", 1, 2, time.Hour), "in b:"},
		{item("c", 2, 1, time.Hour), ""},
		{Item{File: "d", Data: wire.Data{Signal: wire.Logs}}, ""},
	} {
		got := o.Add(c.item)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}
