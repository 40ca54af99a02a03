package assemble

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/sample"
)

var quiet = slog.New(slog.DiscardHandler)

func body(t testing.TB, td ptrace.Traces) []byte {
	t.Helper()
	b, err := wire.Marshal(wire.Data{Signal: wire.Traces, Traces: td})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRunAssemblesWhatTheStreamHolds(t *testing.T) {
	q, err := queue.Open(t.Context(), quiet, queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var mu sync.Mutex
	got := map[string]int{}
	all := make(chan struct{})
	done := func(_ context.Context, tr trajectory.Trace, r Revision) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		got[tr.ID] = len(tr.Spans)
		if len(got) == 20 {
			close(all)
		}
		return nil, nil
	}
	s, err := Open(quiet, t.TempDir(), Options{RootGrace: 50 * time.Millisecond, IdleTimeout: time.Second, Done: done, Quarantine: q.Quarantine})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx, q) }()
	rng := rand.New(rand.NewPCG(1, 1))
	want := map[string]int{}
	for i := range 20 {
		td := sample.Trace(sample.Dialects[i%4], sample.Named("healthy").Make(rng), time.Now(), rng)
		sp := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		want[sp.At(0).TraceID().String()] = sp.Len()
		if err := q.Publish(t.Context(), 0, queue.Traces, body(t, td)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-all:
	case <-time.After(20 * time.Second):
		t.Fatalf("only %d of 20 traces", len(got))
	}
	cancel()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	for id, n := range want {
		if got[id] != n {
			t.Errorf("trace %s has %d spans, want %d", id, got[id], n)
		}
		tr, err := s.Get(t.Context(), id)
		if err != nil || len(tr.Spans) != n {
			t.Errorf("kept trace %s: %d spans, %v", id, len(tr.Spans), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
