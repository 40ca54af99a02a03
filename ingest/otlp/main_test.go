package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a Publish that keeps what it was given, or refuses.
type store struct {
	mu      sync.Mutex
	batches []wire.Batch
	refuse  error
}

func (s *store) publish(_ context.Context, b wire.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.batches = append(s.batches, b)
	return nil
}

// spans decodes all that was stored and lists the span ids, sorted.
func (s *store) spans(t *testing.T) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, b := range s.batches {
		d, report, err := wire.Decode(b.Signal, b.Body)
		if err != nil || report.Spans != b.Spans {
			t.Fatalf("batch of %d spans holds %d: %v", b.Spans, report.Spans, err)
		}
		if b.Signal == wire.Logs {
			out = append(out, slices.Repeat([]string{"log"}, d.Logs.LogRecordCount())...)
			continue
		}
		for _, rs := range d.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					out = append(out, span.SpanID().String())
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// start makes a receiver on free loopback ports that stops with the test.
func start(t *testing.T, opt Options) (*Receiver, *store) {
	t.Helper()
	s := &store{}
	opt.GRPC, opt.HTTP = "127.0.0.1:0", "127.0.0.1:0"
	if opt.Registerer == nil {
		opt.Registerer = prometheus.NewRegistry()
	}
	r, err := New(slog.New(slog.DiscardHandler), s.publish, opt)
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return r, s
}

// requestJSON holds spans numbered from first to last, each of a trace of its own.
func requestJSON(first, last int) string {
	spans := ""
	for n := first; n <= last; n++ {
		if n > first {
			spans += ","
		}
		spans += fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":"s"}`, n, n)
	}
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + spans + `]}]}]}`
}

const logJSON = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"00000000000000000000000000000001","body":{"stringValue":"b"}}]}]}]}`

func requestProto(t testing.TB, text string, s wire.Signal) []byte {
	t.Helper()
	body, _, err := wire.Transcode(s, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return body
}
