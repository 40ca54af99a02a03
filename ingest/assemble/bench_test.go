package assemble

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// agentTrace is one request with a trace of 12 spans, about 36 KB: a root, and calls of a model whose history grows.
func agentTrace(b testing.TB) []byte {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for i := range 10 {
		rs.Resource().Attributes().PutStr(fmt.Sprintf("resource.key.%d", i), "a value of some length")
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("bench")
	add := func(id string, parent string, size int) {
		s := ss.Spans().AppendEmpty()
		sp{id: id, parent: parent}.write(s)
		s.Attributes().PutStr("gen_ai.request.model", "some-model-1")
		s.Attributes().PutStr("gen_ai.input.messages", strings.Repeat("words of a prompt ", size/18))
	}
	for i := range 6 {
		add(fmt.Sprintf("m%d", i), "r", 1500*(i+1))
	}
	for i := range 5 {
		add(fmt.Sprintf("t%d", i), "r", 600)
	}
	add("r", "", 500)
	out, err := wire.Marshal(wire.Data{Signal: wire.Traces, Traces: td})
	must(b, err)
	return out
}

// stamp gives a copy of the trace another id.
type stamp struct {
	body []byte
	at   []int
	n    uint64
}

func newStamp(b testing.TB) *stamp {
	s := &stamp{body: agentTrace(b)}
	for i := 0; ; i++ {
		j := strings.Index(string(s.body[i:]), string(idBytes(0)))
		if j < 0 {
			return s
		}
		i += j
		s.at = append(s.at, i)
	}
}

func (s *stamp) next() []byte {
	s.n++
	out := append([]byte(nil), s.body...)
	for _, i := range s.at {
		binary.BigEndian.PutUint64(out[i+8:], s.n*0x9e3779b97f4a7c15) // ids are random
	}
	return out
}

func benchStore(b *testing.B) *Store {
	d := &desk{}
	o := d.options()
	o.Done = func(context.Context, trajectory.Trace, Revision) ([]byte, error) { return []byte("note"), nil }
	return open(b, b.TempDir(), o)
}

// BenchmarkApply applies messages of some whole traces each, and syncs after every 100 traces.
func BenchmarkApply(b *testing.B) {
	for _, group := range []int{1, 16} {
		b.Run(fmt.Sprintf("traces=%d", group), func(b *testing.B) {
			s, st := benchStore(b), newStamp(b)
			seq := uint64(0)
			bodies := make([][]byte, group)
			b.SetBytes(int64(group * len(st.body)))
			before := cpu(b)
			for b.Loop() {
				for i := range bodies {
					bodies[i] = st.next()
				}
				seq++
				apply(b, s, message(seq, time.Duration(seq)*time.Millisecond, queue.Traces, bodies...))
				if seq*uint64(group)%100 < uint64(group) {
					must(b, s.Sync())
				}
			}
			spans := float64(b.N * group * len(st.at))
			b.ReportMetric(float64(b.Elapsed().Microseconds())/spans, "µs/span")
			b.ReportMetric((cpu(b)-before)/spans, "cpu-µs/span")
		})
	}
}

// BenchmarkComplete reads, decodes and hands over traces one after the other.
func BenchmarkComplete(b *testing.B) {
	s, st := benchStore(b), newStamp(b)
	s.o.Parallel = 1
	fill(b, s, st, b.N)
	b.ResetTimer()
	before := cpu(b)
	rest(b, s, time.Hour)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/trace")
	b.ReportMetric((cpu(b)-before)/float64(b.N), "cpu-µs/trace")
}

func fill(b *testing.B, s *Store, st *stamp, n int) {
	for range n {
		apply(b, s, message(s.cursor.Seq+1, 0, queue.Traces, st.next()))
		if s.cursor.Seq%200 == 0 {
			must(b, s.Sync())
		}
	}
}

// BenchmarkGet reads a trace from a generation that is closed.
func BenchmarkGet(b *testing.B) {
	s, st := benchStore(b), newStamp(b)
	fill(b, s, st, 100)
	rest(b, s, time.Hour)
	apply(b, s, message(s.cursor.Seq+1, 10*time.Hour, queue.Traces, st.next()))
	st50 := uint64(50)
	st50 *= 0x9e3779b97f4a7c15
	var id traceID
	copy(id[:], idBytes(0))
	binary.BigEndian.PutUint64(id[8:], st50)
	for b.Loop() {
		if _, err := s.Get(b.Context(), id.String()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLiveTraces tells what memory a live trace costs: the slope from 5,000 to 50,000 of them, by least squares since Badger's compactions come
// and go.
func BenchmarkLiveTraces(b *testing.B) {
	for b.Loop() {
		s, st := benchStore(b), newStamp(b)
		var heap, rss fit
		var most float64
		for range 10 {
			fill(b, s, st, 5_000)
			h, r := memory(b)
			heap.add(float64(st.n), h)
			rss.add(float64(st.n), r)
			most = max(most, r)
		}
		b.ReportMetric(heap.slope(), "heap-B/trace")
		b.ReportMetric(rss.slope(), "RssAnon-B/trace")
		b.ReportMetric(most/(1<<20), "RssAnon-MiB")
		must(b, s.Close())
	}
	b.ReportMetric(0, "ns/op")
}

// fit is a line through points.
type fit struct{ n, x, y, xx, xy float64 }

func (l *fit) add(x, y float64) {
	l.n, l.x, l.y, l.xx, l.xy = l.n+1, l.x+x, l.y+y, l.xx+x*x, l.xy+x*y
}

func (l *fit) slope() float64 { return (l.n*l.xy - l.x*l.y) / (l.n*l.xx - l.x*l.x) }

// cpu is what the process has used so far, in microseconds: on a busy machine it says more than the time.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

func memory(b *testing.B) (heap, rss float64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc")
	}
	for line := range strings.Lines(string(status)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kb); n == 1 {
			rss = float64(kb) * 1024
		}
	}
	return float64(m.HeapAlloc), rss
}
