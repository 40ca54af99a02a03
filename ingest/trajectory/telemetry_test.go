package trajectory

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// recorded builds a trace of spans that setup writes, each a second long, one a second.
func recorded(spans int, setup func(i int, s ptrace.Span, r pcommon.Resource, scope pcommon.InstrumentationScope)) *Trajectory {
	td := ptrace.NewTraces()
	for i := range spans {
		rs := td.ResourceSpans().AppendEmpty()
		ss := rs.ScopeSpans().AppendEmpty()
		s := ss.Spans().AppendEmpty()
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{byte(i + 1)})
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(t0.Add(time.Duration(i) * time.Second)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(t0.Add(time.Duration(i+1) * time.Second)))
		s.Attributes().PutStr("gen_ai.operation.name", "chat")
		setup(i, s, rs.Resource(), ss.Scope())
	}
	return Build(FromOTLP([]ptrace.Traces{td}, nil)[0])
}

func TestTelemetry(t *testing.T) {
	type setup = func(i int, s ptrace.Span, r pcommon.Resource, scope pcommon.InstrumentationScope)
	lost := [8]byte{99}
	for name, c := range map[string]struct {
		spans int
		setup setup
		got   func(Telemetry) any
		want  any
	}{
		"an orphan beside the root": {3, func(i int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
			if i == 2 {
				s.SetParentSpanID(lost)
			}
		}, func(w Telemetry) any { return w.Orphans }, 1},
		"what stands below a root that never came": {1, func(_ int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
			s.SetParentSpanID(lost)
		}, func(w Telemetry) any { return w.Orphans }, 0},
		"an end before its start": {1, func(_ int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
			s.SetEndTimestamp(s.StartTimestamp() - 1)
		}, func(w Telemetry) any { return w.Backward }, 1},
		"another machine's clock is behind": {2, func(i int, s ptrace.Span, r pcommon.Resource, _ pcommon.InstrumentationScope) {
			r.Attributes().PutStr("host.name", fmt.Sprint(i))
			if i == 1 {
				s.SetParentSpanID([8]byte{1})
				s.SetStartTimestamp(pcommon.NewTimestampFromTime(t0.Add(-time.Minute)))
			}
		}, func(w Telemetry) any { return w.Skewed }, 1},
		"two instrumentations of one call": {2, func(i int, s ptrace.Span, _ pcommon.Resource, scope pcommon.InstrumentationScope) {
			scope.SetName([]string{"framework", "client"}[i])
			s.Attributes().PutStr("gen_ai.response.id", "resp-1")
			if i == 1 {
				s.SetParentSpanID([8]byte{1})
			}
		}, func(w Telemetry) any { return fmt.Sprint(w.Doubled, w.DoubledBy) }, "1 [client + framework]"},
		"a threshold of sampling": {1, func(_ int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
			s.TraceState().FromRaw("x=1, ot=rv:0123;th:c")
		}, func(w Telemetry) any { return w.Sampled }, true},
		"a threshold that lets all through": {1, func(_ int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
			s.TraceState().FromRaw("ot=th:0")
		}, func(w Telemetry) any { return w.Sampled }, false},
		"a rate of sampling": {1, func(_ int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
			s.Attributes().PutInt("SampleRate", 20)
		}, func(w Telemetry) any { return w.Sampled }, true},
		"who speaks, once each": {3, func(i int, _ ptrace.Span, _ pcommon.Resource, scope pcommon.InstrumentationScope) {
			scope.SetName([]string{"b", "a", "b"}[i])
			scope.SetVersion("2")
		}, func(w Telemetry) any { return fmt.Sprint(w.Emitters) }, "[{otel-genai a 2} {otel-genai b 2}]"},
	} {
		if got := c.got(recorded(c.spans, c.setup).Telemetry); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// What a trace lacks altogether is a gap, what it tells in part is a share with a remedy, and what could not be there is neither.
func TestShares(t *testing.T) {
	tr := recorded(2, func(i int, s ptrace.Span, _ pcommon.Resource, _ pcommon.InstrumentationScope) {
		if i == 0 {
			s.Attributes().PutInt("gen_ai.usage.input_tokens", 7)
			s.Attributes().PutInt("gen_ai.usage.output_tokens", 7)
		}
	})
	of := map[Fact]Share{}
	for _, s := range tr.Facts {
		of[s.Fact] = s
	}
	if s := of[FactUsage]; s.Seen != 1 || s.Of != 2 || s.Remedy == "" || tr.Remedy(FactUsage) != s.Remedy {
		t.Errorf("usage: %+v", s)
	}
	if _, lacks := tr.Lacks(FactUsage); lacks {
		t.Error("usage is told in part: no gap")
	}
	if _, could := of[FactResults]; could {
		t.Error("no tool was called: there is no result to tell")
	}
	for _, g := range tr.Gaps {
		if s := of[g.Fact]; s.Seen != 0 || s.Of == 0 || s.Remedy != g.Remedy {
			t.Errorf("gap %s with share %+v", g.Fact, s)
		}
	}
}
