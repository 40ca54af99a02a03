package ratchet

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/sample"
)

// BenchmarkSketch is what a verdict costs more when its trace is of a session: time beside that of building and judging the trace, and bytes.
func BenchmarkSketch(b *testing.B) {
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	e := testMaker(b).Engine
	built := trajectory.Build(tr)
	b.Run("build and judge", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Classify(trajectory.Build(tr), nil)
		}
	})
	b.Run("sketch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			doc, _, err := classify.Sketch(built)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(doc)), "bytes")
			b.ReportMetric(float64(len(tr.Spans)), "spans")
		}
	})
}

// BenchmarkGather is what folding a verdict costs more for its session: of each its own, as chats with one question have, and of one for all.
func BenchmarkGather(b *testing.B) {
	tr, _ := sampled(sample.Dialects[0], sample.Named("healthy"), 1)
	doc, _, err := classify.Sketch(trajectory.Build(tr))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"a session each", "one session"} {
		b.Run(name, func(b *testing.B) {
			q := testQueue(b)
			a := NewAbsorber(quiet, q, testMaker(b), nil, Options{})
			n := 0
			for b.Loop() {
				var vs []sequenced
				for range foldLimit {
					n++
					v := Verdict{TraceID: fmt.Sprintf("%032d", n), Revision: "r", SessionID: "s", Service: "shop", Sketch: doc, Seen: time.Unix(int64(n), 0)}
					if name == "a session each" {
						v.SessionID = fmt.Sprint(n)
					}
					vs = append(vs, sequenced{uint64(n), v})
				}
				if err := a.gather(b.Context(), vs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/verdict")
		})
	}
}

// BenchmarkVerdict shows how many bytes a verdict takes on FINDINGS, with a sketch and without.
func BenchmarkVerdict(b *testing.B) {
	tr, _ := sampled(sample.Dialects[0], sample.Named("healthy"), 1)
	doc, _, err := classify.Sketch(trajectory.Build(tr))
	if err != nil {
		b.Fatal(err)
	}
	for name, sketch := range map[string][]byte{"without": nil, "with": doc} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				out, err := json.Marshal(Verdict{TraceID: tr.ID, Revision: "r", SessionID: "s", Service: "shop", Sketch: sketch})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(out)), "bytes")
			}
		})
	}
}
