package rule

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// wire is a capture as it comes over OTLP: protobuf.
type wire struct{ traces, logs []byte }

func (w wire) decode(b *testing.B) []trajectory.Trace {
	var t ptrace.ProtoUnmarshaler
	var l plog.ProtoUnmarshaler
	td, err := t.UnmarshalTraces(w.traces)
	if err != nil {
		b.Fatal(err)
	}
	ld, err := l.UnmarshalLogs(w.logs)
	if err != nil {
		b.Fatal(err)
	}
	return trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})
}

// wires reads all captures.
func wires(b *testing.B) (out []wire) {
	for _, c := range manifest(b) {
		traces, logs := ptrace.NewTraces(), plog.NewLogs()
		for _, td := range c.spans(b) {
			td.ResourceSpans().MoveAndAppendTo(traces.ResourceSpans())
		}
		for _, ld := range c.records(b) {
			ld.ResourceLogs().MoveAndAppendTo(logs.ResourceLogs())
		}
		var t ptrace.ProtoMarshaler
		var l plog.ProtoMarshaler
		tb, err := t.MarshalTraces(traces)
		if err != nil {
			b.Fatal(err)
		}
		lb, err := l.MarshalLogs(logs)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, wire{tb, lb})
	}
	return out
}

// BenchmarkEngine measures, per trajectory of the captures, what decoding costs (protobuf, traces, normal form), and what all rules cost.
func BenchmarkEngine(b *testing.B) {
	captured := wires(b)
	e := engine(b)
	var built []*trajectory.Trajectory
	for _, w := range captured {
		for _, tr := range w.decode(b) {
			built = append(built, trajectory.Build(tr))
		}
	}
	learnt := baseline.New()
	for _, t := range built {
		learnt.Learn(baseline.Measure(t))
	}
	base := learnt.Snapshot()
	per := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(built)), "ns/trajectory")
		b.ReportMetric(float64(len(built)), "trajectories")
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := new(trajectory.Reader)
			for _, w := range captured {
				for _, tr := range w.decode(b) {
					r.Build(tr)
				}
			}
		}
		per(b)
	})
	b.Run("classify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range built {
				e.Classify(t, base)
			}
		}
		per(b)
	})
	for _, r := range All() {
		one := engineOf(b, []classify.Rule{r})
		b.Run("rule="+r.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, t := range built {
					one.Classify(t, base)
				}
			}
			per(b)
		})
	}
}
