package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// TestATraceThatBreaksPawlCostsThatTrace: a panic while a trace is built is told of and counted, and the others are judged. An attribute value
// that no decoder makes stands in for the bug.
func TestATraceThatBreaksPawlCostsThatTrace(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{log: slog.New(slog.DiscardHandler), stderr: &stderr}
	span := func(trace string, v pcommon.Value) trajectory.Trace {
		return trajectory.Trace{ID: trace, Spans: []trajectory.Span{{TraceID: trace, ID: "01", Attrs: trajectory.Attrs{"gen_ai.operation.name": v}}}}
	}
	got := a.build([]trajectory.Trace{span("bad", pcommon.Value{}), span("good", pcommon.NewValueStr("chat"))})
	if len(got) != 1 || got[0].trace.ID != "good" || a.unread != 1 || !strings.Contains(stderr.String(), "trace bad broke pawl") {
		t.Errorf("%d built, %d unread, stderr %q", len(got), a.unread, stderr.String())
	}
}
