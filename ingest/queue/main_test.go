package queue

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
)

// TestMain keeps one queue open during all tests: the server starts a clock goroutine with its first store and stops it with its
// last, and it must not be started inside a synctest bubble.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PAWL_TEST_VICTIM"); dir != "" {
		os.Exit(victim(dir))
	}
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		fail(err)
	}
	keep, err := Open(context.Background(), slog.New(slog.DiscardHandler), Options{Dir: dir})
	if err != nil {
		fail(err)
	}
	code := m.Run()
	if err := keep.Close(); err != nil {
		fail(err)
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fail(err)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// open opens a queue that is closed with the test; an empty Dir and URL means a directory of its own.
func open(t testing.TB, o Options) *Queue {
	t.Helper()
	if o.Dir == "" && o.URL == "" {
		o.Dir = filepath.Join(t.TempDir(), "data")
	}
	q, err := Open(t.Context(), logger(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Fatalf("error %q does not say %q", err, p)
		}
	}
}

// publish stores bodies one after the other in partition 0.
func publish(t testing.TB, q *Queue, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		if err := q.Publish(t.Context(), 0, Traces, []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
}

// readAll reads a partition from a sequence to its end and returns the requests in order.
func readAll(t testing.TB, q *Queue, p int, from uint64) (bodies []string) {
	t.Helper()
	info, err := q.Info(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if info.Messages == 0 || from > info.Last {
		return nil
	}
	for m, err := range q.Read(t.Context(), p, from) {
		if err != nil {
			t.Fatal(err)
		}
		for r := range m.Requests() {
			bodies = append(bodies, string(r))
		}
		if m.Seq == info.Last {
			break
		}
	}
	return bodies
}

func numbered(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
}

// count reads a counter of one label.
func count(t testing.TB, c *prometheus.CounterVec, label string) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.WithLabelValues(label).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
