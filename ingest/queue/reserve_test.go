package queue

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"testing"
)

// TestFlagsGetInWhileSpansAreRefused: FLAGS and what is known of deliveries have room of their own.
func TestFlagsGetInWhileSpansAreRefused(t *testing.T) {
	q, err := Open(t.Context(), slog.New(slog.DiscardHandler), Options{Dir: t.TempDir(), MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	body := bytes.Repeat([]byte{0}, 300<<10)
	for range 10 {
		if err = q.Publish(t.Context(), 0, Traces, body); err != nil {
			break
		}
	}
	if _, full := errors.AsType[*FullError](err); !full {
		t.Fatalf("spans are not refused: %v", err)
	}
	if _, err := q.Flags.Append(t.Context(), "", []byte("a flag")); err != nil {
		t.Error(err)
	}
	if err := q.Deliveries.Create(t.Context(), "a delivery", []byte{'1'}); err != nil {
		t.Error(err)
	}
	if err := q.Flagged.Update(t.Context(), "a trace", func([]byte) ([]byte, error) { return []byte("flagged"), nil }); err != nil {
		t.Error(err)
	}
}

// TestWatchGoesOn: Watch gives what is there, says that it has, and then what changes.
func TestWatchGoesOn(t *testing.T) {
	q, err := Open(t.Context(), slog.New(slog.DiscardHandler), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	put := func(key string) {
		if err := q.Flagged.Create(t.Context(), key, []byte("v")); err != nil {
			t.Error(err)
		}
	}
	put("before")
	var seen []string
	for e, err := range q.Flagged.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e.Key+"="+string(e.Value))
		switch len(seen) {
		case 2:
			put("after")
		case 3:
			if err := q.Flagged.Delete(t.Context(), "before"); err != nil {
				t.Error(err)
			}
		}
		if len(seen) == 4 {
			break
		}
	}
	if want := []string{"before=v", "=", "after=v", "before="}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}
