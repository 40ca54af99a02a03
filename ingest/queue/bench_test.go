package queue

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkPublish stores bodies of 37 KB, an agent's trace, each answered after its sync.
func BenchmarkPublish(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			q := open(b, Options{MaxBytes: 1 << 40})
			data := make([]byte, 36_900)
			work := make(chan struct{})
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range work {
						if err := q.Publish(b.Context(), 0, Traces, data); err != nil {
							b.Error(err)
						}
					}
				})
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
			info, err := q.Info(b.Context(), 0)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/float64(info.Messages), "bodies/message")
		})
	}
}

// BenchmarkRead reads messages of 1 MiB.
func BenchmarkRead(b *testing.B) {
	q := open(b, Options{MaxBytes: 1 << 40})
	const n = 200
	data := make([]byte, 1<<20)
	for range n {
		if err := q.Publish(b.Context(), 0, Traces, data); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(n * int64(len(data)))
	for b.Loop() {
		for m, err := range q.Read(b.Context(), 0, 1) {
			if err != nil {
				b.Fatal(err)
			}
			if m.Pending == 0 {
				break
			}
		}
	}
}
