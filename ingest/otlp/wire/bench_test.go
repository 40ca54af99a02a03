package wire

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// agentTraces are spans as agents send them: a score of attributes, one or two of them long.
func agentTraces(n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for i := range 10 {
		rs.Resource().Attributes().PutStr(fmt.Sprintf("service.attribute.%d", i), "some value of the resource")
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.agent")
	messages := strings.Repeat(`{"role":"user","parts":[{"type":"text","content":"where is my order"}]},`, 30)
	for i := range n {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(traceOf(uint64(i/12 + 1)))
		s.SetSpanID(spanOf(uint64(i + 1)))
		s.SetName("chat gpt-4.1")
		s.SetStartTimestamp(1796048523575000000)
		s.SetEndTimestamp(1796048523775000000)
		s.Attributes().PutStr("gen_ai.input.messages", messages)
		s.Attributes().PutStr("gen_ai.output.messages", messages[:400])
		for k := range 12 {
			s.Attributes().PutStr(fmt.Sprintf("gen_ai.request.option_%d", k), "chat")
			s.Attributes().PutInt(fmt.Sprintf("gen_ai.usage.count_%d", k), int64(k*100))
		}
	}
	return td
}

func benchBody(b *testing.B) []byte {
	body := tracesBody(b, agentTraces(48))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	return body
}

func perSpan(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/48, "ns/span")
}

func BenchmarkWalk(b *testing.B) {
	body := benchBody(b)
	for b.Loop() {
		_, _ = Walk(Traces, body)
	}
	perSpan(b)
}

func BenchmarkApply(b *testing.B) {
	body := benchBody(b)
	f := mustFilter(b, Scrub{}, 0)
	for b.Loop() {
		_, _, _ = f.Apply(Traces, body)
	}
	perSpan(b)
}

func BenchmarkCut(b *testing.B) {
	body := benchBody(b)
	for b.Loop() {
		_, _ = Cut(Traces, body, 64, DefaultMaxMessage)
	}
	perSpan(b)
}

func BenchmarkDecode(b *testing.B) {
	body := benchBody(b)
	for b.Loop() {
		_, _, _ = Decode(Traces, body)
	}
	perSpan(b)
}

func BenchmarkTranscode(b *testing.B) {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(agentTraces(48))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = Transcode(Traces, text)
	}
	perSpan(b)
}

func BenchmarkPdataJSON(b *testing.B) {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(agentTraces(48))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	}
	perSpan(b)
}
