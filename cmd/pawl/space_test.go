package main

import (
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/otlp"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// TestAlmostFullDiskRefuses: below the reserve nothing is taken and the sender is told to come back; an answer holds for a second.
func TestAlmostFullDiskRefuses(t *testing.T) {
	if _, err := freeBytes(t.TempDir()); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	lg, now := slog.New(slog.DiscardHandler), time.Now()
	sp := newSpace(lg, t.TempDir(), math.MaxUint64)
	s := &server{lg: lg, space: sp}
	err := s.publish(t.Context(), wire.Batch{Signal: wire.Traces})
	if full, ok := errors.AsType[*otlp.FullError](err); !ok || full.RetryAfter <= 0 {
		t.Fatalf("publish on a full disk: %v", err)
	}
	sp.reserve = 0
	if !sp.scarce(sp.checked.Add(time.Second / 2)) {
		t.Error("it looked again at once")
	}
	if sp.scarce(sp.checked.Add(2 * time.Second)) {
		t.Error("it did not look again")
	}
	if newSpace(lg, filepath.Join(t.TempDir(), "absent"), math.MaxUint64).scarce(now) {
		t.Error("a disk that does not say is taken to be full")
	}
}
