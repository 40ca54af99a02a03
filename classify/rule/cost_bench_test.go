//go:build unix

package rule

import (
	"syscall"
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
	// Both are told in the process's own time: the machine may be busy with other things.
	measure := func(b *testing.B, once func()) {
		b.ReportAllocs()
		from := cpuTime(b)
		for b.Loop() {
			once()
		}
		b.ReportMetric(float64(cpuTime(b)-from)/float64(b.N)/float64(len(built)), "cpu-ns/trajectory")
		b.ReportMetric(float64(len(built)), "trajectories")
	}
	classifyAll := func(e *classify.Engine) func() {
		return func() {
			for _, t := range built {
				e.Classify(t, base)
			}
		}
	}
	b.Run("decode", func(b *testing.B) {
		r := new(trajectory.Reader)
		measure(b, func() {
			for _, w := range captured {
				for _, tr := range w.decode(b) {
					r.Build(tr)
				}
			}
		})
	})
	b.Run("classify", func(b *testing.B) { measure(b, classifyAll(e)) })
	for _, r := range All() {
		one := engineOf(b, []classify.Rule{r})
		b.Run("rule="+r.Name, func(b *testing.B) { measure(b, classifyAll(one)) })
	}
}

// cpuTime is how long the process has run, in nanoseconds of its threads.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
