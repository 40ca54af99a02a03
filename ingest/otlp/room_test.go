package otlp

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// TestLargeBodiesShareARoom: while one large body waits to be stored, others of its size are told to come back, in both forms and
// without being stored; small ones go through, and so do large ones once there is room.
func TestLargeBodiesShareARoom(t *testing.T) {
	stored, release := make(chan wire.Batch, 8), make(chan struct{})
	publish := func(ctx context.Context, b wire.Batch) error {
		if len(b.Body) > smallBody {
			stored <- b
			<-release
		}
		return nil
	}
	r, err := New(slog.New(slog.DiscardHandler), publish, Options{HTTP: "127.0.0.1:0", MaxInflated: 3 << 20, MaxWire: 3 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r.room = newRoom(3 << 20)
	r.room.wait = time.Millisecond
	r.Start()
	t.Cleanup(func() { _ = r.Stop(context.WithoutCancel(t.Context())) })
	large := []byte(strings.Replace(requestJSON(1, 1), `"s"`, `"`+strings.Repeat("x", 2<<20)+`"`, 1))
	first := make(chan int)
	go func() {
		res, _ := post(t, r, "/v1/traces", large, "Content-Type", "application/json")
		first <- res.StatusCode
	}()
	<-stored
	for _, body := range [][]byte{large, compress(t, "gzip", large)} {
		res, answer := post(t, r, "/v1/traces", body, "Content-Type", "application/json")
		if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
			t.Errorf("a large body beside another: %d %s", res.StatusCode, answer)
		}
	}
	if res, answer := post(t, r, "/v1/traces", []byte(requestJSON(1, 1)), "Content-Type", "application/json"); res.StatusCode != 200 {
		t.Errorf("a small body beside a large one: %d %s", res.StatusCode, answer)
	}
	close(release)
	if code := <-first; code != 200 {
		t.Errorf("the first: %d", code)
	}
	if res, answer := post(t, r, "/v1/traces", compress(t, "gzip", large), "Content-Type", "application/json"); res.StatusCode != 200 {
		t.Errorf("once there is room: %d %s", res.StatusCode, answer)
	}
	if len(stored) != 1 {
		t.Errorf("%d more were stored, want 1", len(stored))
	}
}

// TestShareIsGivenBack: what a body needed less than it asked for is free again at once, and all of it at the end.
func TestShareIsGivenBack(t *testing.T) {
	r := newRoom(10 << 20)
	r.wait = time.Millisecond
	a, b := share{of: r}, share{of: r}
	if err := a.take(t.Context(), 100<<20); err != nil {
		t.Fatalf("more than the room: %v", err)
	}
	if _, full := errors.AsType[*FullError](b.take(t.Context(), 2<<20)); !full {
		t.Error("the room held two")
	}
	a.keep(3 << 20)
	if err := b.take(t.Context(), 7<<20); err != nil {
		t.Errorf("after the rest was given back: %v", err)
	}
	a.keep(0)
	b.keep(0)
	if !r.free.TryAcquire(r.size) {
		t.Error("something was not given back")
	}
}
