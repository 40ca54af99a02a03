package importer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// fuzzShape reads anything that came of the fixtures of a shape: it must not panic, a span must have come of more than a few
// bytes, and what is kept must not outgrow what was read.
func fuzzShape(f *testing.F, shape string) {
	files, err := filepath.Glob(filepath.Join("testdata", shape, "*.json*"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		spans, size := 0, 0
		for item, err := range importer.Read("f", bytes.NewReader(content), importer.Options{MaxDocument: 1 << 16, MaxInflated: 1 << 20}) {
			if err != nil {
				continue
			}
			body, err := wire.Marshal(item.Data)
			if err != nil {
				t.Fatal(err)
			}
			spans, size = spans+item.Report.Spans, size+len(body)
			if item.Data.Signal != wire.Traces {
				continue
			}
			for _, tr := range trajectory.FromOTLP([]ptrace.Traces{item.Data.Traces}, nil) {
				trajectory.Build(tr)
			}
		}
		if spans > len(content)/10+1 || size > 100*len(content)+1000 {
			t.Fatalf("%d spans and %d bytes of %d bytes", spans, size, len(content))
		}
	})
}

func FuzzJaeger(f *testing.F)     { fuzzShape(f, "jaeger") }
func FuzzTempo(f *testing.F)      { fuzzShape(f, "tempo") }
func FuzzCloudWatch(f *testing.F) { fuzzShape(f, "cloudwatch") }
func FuzzPhoenix(f *testing.F)    { fuzzShape(f, "phoenix") }
func FuzzLangfuse(f *testing.F)   { fuzzShape(f, "langfuse") }
func FuzzLangSmith(f *testing.F)  { fuzzShape(f, "langsmith") }
func FuzzTrail(f *testing.F)      { fuzzShape(f, "trail") }
func FuzzGoStdout(f *testing.F)   { fuzzShape(f, "gostdout") }
func FuzzFlat(f *testing.F)       { fuzzShape(f, "flat") }
func FuzzBare(f *testing.F)       { fuzzShape(f, "bare") }
