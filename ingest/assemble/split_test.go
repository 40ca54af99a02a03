package assemble

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/test/sample"
)

// FuzzSplit: a request that is split and put together again by context decodes to the same records under the same resources and scopes.
func FuzzSplit(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, d := range sample.Dialects {
		td := sample.Trace(d, sample.Named("healthy").Make(rng), time.Unix(1e9, 0), rng)
		b, err := wire.Marshal(wire.Data{Signal: wire.Traces, Traces: td})
		must(f, err)
		f.Add(false, b)
	}
	two := body(f, sp{id: "r"}, sp{id: "a", from: "2", open: true, parent: "r"})
	f.Add(false, slices.Concat(two, two))
	f.Add(true, logBody(f, 1, "a", "x", "x", "y"))
	f.Add(true, two)
	f.Add(false, []byte{10, 2, 26, 0, 10, 4, 18, 2, 18, 0})
	filter, err := wire.NewFilter(wire.Scrub{}, 0)
	must(f, err)
	f.Fuzz(func(t *testing.T, logs bool, b []byte) {
		signal := wire.Traces
		if logs {
			signal = wire.Logs
		}
		if _, _, err := split(signal, b); err != nil { // and does not panic
			return
		}
		clean, _, err := filter.Apply(signal, b)
		if err != nil {
			return
		}
		records, unplaced, err := split(signal, clean)
		if err != nil || unplaced != 0 {
			t.Fatalf("a clean body: %d unplaced, %v", unplaced, err)
		}
		var again []byte
		for _, r := range records {
			again, err = appendRequest(again, r.around, [][]byte{r.bytes})
			must(t, err)
		}
		got, want := eachRecord(t, signal, again), eachRecord(t, signal, clean)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
		for i, r := range records {
			checkRecord(t, signal, r, want[i])
		}
	})
}

// eachRecord decodes a request and encodes each record with what it stands under.
func eachRecord(t *testing.T, signal wire.Signal, b []byte) (out [][]byte) {
	data, _, err := wire.Decode(signal, b)
	must(t, err)
	add := func(d wire.Data) {
		one, err := wire.Marshal(d)
		must(t, err)
		out = append(out, one)
	}
	if signal == wire.Logs {
		for _, rl := range data.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, r := range sl.LogRecords().All() {
					ld := plog.NewLogs()
					to := ld.ResourceLogs().AppendEmpty()
					rl.Resource().CopyTo(to.Resource())
					to.SetSchemaUrl(rl.SchemaUrl())
					in := to.ScopeLogs().AppendEmpty()
					sl.Scope().CopyTo(in.Scope())
					in.SetSchemaUrl(sl.SchemaUrl())
					r.CopyTo(in.LogRecords().AppendEmpty())
					add(wire.Data{Signal: signal, Logs: ld})
				}
			}
		}
		return out
	}
	for _, rs := range data.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				td := ptrace.NewTraces()
				to := td.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(to.Resource())
				to.SetSchemaUrl(rs.SchemaUrl())
				in := to.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(in.Scope())
				in.SetSchemaUrl(ss.SchemaUrl())
				s.CopyTo(in.Spans().AppendEmpty())
				add(wire.Data{Signal: signal, Traces: td})
			}
		}
	}
	return out
}

// checkRecord compares what was read off the wire with what pdata says.
func checkRecord(t *testing.T, signal wire.Signal, r record, one []byte) {
	data, _, err := wire.Decode(signal, one)
	must(t, err)
	if signal == wire.Logs {
		l := data.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
		if r.trace != traceID(l.TraceID()) || r.span != spanID(l.SpanID()) || r.root {
			t.Fatalf("read %v %v, want %v %v", r.trace, r.span, l.TraceID(), l.SpanID())
		}
		return
	}
	s := data.Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	root := s.ParentSpanID().IsEmpty() && s.EndTimestamp() != 0
	if r.trace != traceID(s.TraceID()) || r.span != spanID(s.SpanID()) || r.root != root {
		t.Fatalf("read %v %v root %v, want %v %v %v", r.trace, r.span, r.root, s.TraceID(), s.SpanID(), root)
	}
}
