package wire

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func benchBody(b *testing.B) []byte {
	body := tracesBody(b, sampleTraces(seeded(1), 48))
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
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(sampleTraces(seeded(1), 48))
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
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(sampleTraces(seeded(1), 48))
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
