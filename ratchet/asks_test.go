package ratchet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestAsksAreBounded: however many questions a sweep has, and however many repositories do not answer, it waits no longer than asksTime; one that was silent is
// asked once, and those that answer go on being asked.
func TestAsksAreBounded(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	answers := func(context.Context) error { return nil }
	synctest.Test(t, func(t *testing.T) {
		var q asks
		began := time.Now()
		if asked, err := q.ask(t.Context(), "acme/slow", hang); !asked || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != askTime {
			t.Errorf("%v %v after %v", asked, err, time.Since(began))
		}
		for range 100 {
			if asked, _ := q.ask(t.Context(), "Acme/Slow", hang); asked {
				t.Fatal("a silent repository is asked again")
			}
			if asked, err := q.ask(t.Context(), "acme/quick", answers); !asked || err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			_, _ = q.ask(t.Context(), fmt.Sprintf("acme/slow%d", i), hang)
		}
		if took := time.Since(began); took != asksTime {
			t.Errorf("a sweep waited %v", took)
		}
		if asked, _ := q.ask(t.Context(), "acme/quick", answers); asked {
			t.Error("asked when the time is over")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var q asks
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := q.ask(ctx, "acme/shop", hang); !errors.Is(err, context.Canceled) || q.silent["acme/shop"] {
			t.Errorf("the end of the process is no silence: %v", err)
		}
	})
}
