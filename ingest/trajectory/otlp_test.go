package trajectory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func traceID(n byte) pcommon.TraceID { return pcommon.TraceID{15: n} }
func idOfSpan(n byte) pcommon.SpanID { return pcommon.SpanID{7: n} }

// request makes a request of one span.
func request(fill func(ptrace.Span)) ptrace.Traces {
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(traceID(1))
	s.SetSpanID(idOfSpan(1))
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(t0))
	fill(s)
	return td
}

func TestIntakeKeepsTheBestVersion(t *testing.T) {
	at := func(d time.Duration) pcommon.Timestamp { return pcommon.NewTimestampFromTime(t0.Add(d)) }
	unended := request(func(s ptrace.Span) { s.SetName("unended"); s.Attributes().PutStr("a", "b") })
	backwards := request(func(s ptrace.Span) { s.SetName("backwards"); s.SetEndTimestamp(at(-time.Second)) })
	early := request(func(s ptrace.Span) {
		s.SetName("early")
		s.SetEndTimestamp(at(time.Second))
		s.Attributes().PutStr("a", "b")
	})
	late := request(func(s ptrace.Span) { s.SetName("late"); s.SetEndTimestamp(at(2 * time.Second)) })
	rich := request(func(s ptrace.Span) {
		s.SetName("rich")
		s.SetEndTimestamp(at(2 * time.Second))
		s.Attributes().PutStr("a", "b")
	})
	greater := request(func(s ptrace.Span) {
		s.SetName("rich")
		s.SetEndTimestamp(at(2 * time.Second))
		s.Attributes().PutStr("a", "c")
	})
	order := []ptrace.Traces{backwards, unended, early, late, rich, greater}
	for i, better := range order {
		for j, worse := range order[:i] {
			for _, in := range [][]ptrace.Traces{{better, worse}, {worse, better, worse}} {
				got := FromOTLP(in, nil)
				if len(got) != 1 || len(got[0].Spans) != 1 {
					t.Fatalf("got %d traces", len(got))
				}
				want := FromOTLP([]ptrace.Traces{better}, nil)[0].Spans[0]
				if s := got[0].Spans[0]; s.Name != want.Name || s.Attrs.Text("a") != want.Attrs.Text("a") {
					t.Errorf("of %d and %d kept %q", i, j, s.Name)
				}
			}
		}
	}
	if got := FromOTLP([]ptrace.Traces{backwards}, nil); !got[0].Spans[0].End.IsZero() {
		t.Error("a span that ends before it starts has an end")
	}
}

func TestIntakeLeavesOutSpansWithoutIDs(t *testing.T) {
	td := request(func(s ptrace.Span) { s.SetTraceID(pcommon.TraceID{}) })
	if got := FromOTLP([]ptrace.Traces{td}, nil); len(got) != 0 {
		t.Errorf("got %d traces", len(got))
	}
}

func logRequest(bodies ...string) plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, b := range bodies {
		r := records.AppendEmpty()
		r.SetTraceID(traceID(1))
		r.SetSpanID(idOfSpan(1))
		r.SetObservedTimestamp(pcommon.NewTimestampFromTime(t0))
		r.Attributes().PutStr("event.name", "gen_ai.user.message")
		r.Body().SetStr(b)
	}
	return ld
}

func TestIntakeJoinsLogs(t *testing.T) {
	span := request(func(ptrace.Span) {})
	logs := logRequest("yes", "no", "yes")
	stray := plog.NewLogs()
	r := stray.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetTraceID(traceID(1))
	r.SetEventName("gen_ai.evaluation.result")
	var before, after Intake
	before.AddLogs(logs)
	before.AddLogs(stray)
	before.Add(span)
	after.Add(span)
	after.AddLogs(stray)
	after.AddLogs(logs)
	after.AddLogs(logs)
	for _, in := range []*Intake{&before, &after} {
		got := in.Traces()[0]
		bodies := ""
		for _, l := range got.Spans[0].Logs {
			bodies += l.Body.Str() + " " + l.Name + ";"
		}
		if want := "yes gen_ai.user.message;no gen_ai.user.message;yes gen_ai.user.message;"; bodies != want {
			t.Errorf("got %s", bodies)
		}
		if len(got.Logs) != 1 || got.Logs[0].Name != "gen_ai.evaluation.result" {
			t.Errorf("records of the trace: %v", len(got.Logs))
		}
	}
}

// TestLogsOfOneTimeInSeveralRequests holds that the messages of one call keep their order where an exporter's full batch parted them, and where each
// came in a request of its own, whichever request came first.
func TestLogsOfOneTimeInSeveralRequests(t *testing.T) {
	const other, want = "another call", "system user assistant tool choice"
	names := strings.Fields(want)
	records := func(from, to int, before bool) plog.Logs {
		ld := logRequest(names[from:to]...)
		rs := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
		for i, r := range rs.All() {
			r.Attributes().PutStr("event.name", "gen_ai."+names[from+i]+map[bool]string{true: "", false: ".message"}[names[from+i] == "choice"])
		}
		if before {
			out := logRequest(other)
			out.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).SetSpanID(idOfSpan(2))
			rs.MoveAndAppendTo(out.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords())
			return out
		}
		return ld
	}
	for name, requests := range map[string][]plog.Logs{
		"one":    {records(0, 5, false)},
		"parted": {records(0, 3, true), records(3, 5, false)},
		"each":   {records(0, 1, false), records(1, 2, false), records(2, 3, false), records(3, 4, false), records(4, 5, false)},
	} {
		for range 2 {
			slices.Reverse(requests)
			got := FromOTLP([]ptrace.Traces{request(func(ptrace.Span) {})}, requests)[0]
			var bodies []string
			for _, l := range got.Spans[0].Logs {
				bodies = append(bodies, l.Body.Str())
			}
			if text := strings.Join(bodies, " "); text != want {
				t.Errorf("%s: got %s", name, text)
			}
		}
	}
}

func TestIntakeOrdersTraces(t *testing.T) {
	var in Intake
	for i := range 3 {
		in.Add(request(func(s ptrace.Span) {
			s.SetTraceID(traceID(byte(3 - i)))
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(t0.Add(time.Duration(i/2) * time.Second)))
		}))
	}
	order := ""
	for _, tr := range in.Traces() {
		order += fmt.Sprint(tr.ID[31:])
	}
	if order != "231" {
		t.Errorf("got %s", order)
	}
}

// A start that no clock shows is none: the span begins with its parent, a root with the first span below it, and the trace is as old as they.
func TestStartsThatNoClockShows(t *testing.T) {
	at := func(ms int64) pcommon.Timestamp {
		return pcommon.NewTimestampFromTime(t0.Add(time.Duration(ms) * time.Millisecond))
	}
	for _, start := range []pcommon.Timestamp{0, 1 << 63, 1<<64 - 1} {
		span := func(id, parent byte, from, to pcommon.Timestamp) ptrace.Traces {
			return request(func(s ptrace.Span) {
				s.SetSpanID(idOfSpan(id))
				s.SetParentSpanID(idOfSpan(parent))
				s.SetStartTimestamp(from)
				s.SetEndTimestamp(to)
				s.Attributes().PutStr("gen_ai.operation.name", "chat")
			})
		}
		x := Build(FromOTLP([]ptrace.Traces{span(1, 0, start, at(90)), span(2, 1, at(10), at(20)), span(3, 1, start, at(40)), span(4, 9, start, start)}, nil)[0])
		if !x.Start.Equal(at(10).AsTime()) || !x.End.Equal(at(90).AsTime()) {
			t.Errorf("%d: from %s to %s", start, x.Start, x.End)
		}
		for _, m := range x.ModelCalls {
			if want := map[string]pcommon.Timestamp{"0000000000000002": at(10), "0000000000000003": at(10)}[m.SpanID]; want != 0 && !m.Start.Equal(want.AsTime()) {
				t.Errorf("%d: %s starts at %s", start, m.SpanID, m.Start)
			}
			if len(x.ModelCalls) != 3 || m.Start.Year() == 1969 || m.SpanID == "0000000000000004" && !(m.Start.IsZero() && m.End.IsZero()) {
				t.Errorf("%d: %s from %s to %s", start, m.SpanID, m.Start, m.End)
			}
		}
	}
}
