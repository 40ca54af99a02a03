package main

import (
	"log/slog"
	"sync"
	"time"
)

// diskReserve is the free space below which no more telemetry is taken. What was taken still has to be assembled, in files that are mapped into
// memory: writing to such a file on a full disk does not fail, it ends the process.
const diskReserve = 128 << 20

// space watches the disk under a directory.
type space struct {
	lg      *slog.Logger
	dir     string
	reserve uint64

	mu      sync.Mutex
	checked time.Time
	low     bool
}

func newSpace(lg *slog.Logger, dir string, reserve uint64) *space {
	return &space{lg: lg, dir: dir, reserve: reserve}
}

// scarce tells whether less than the reserve is free; it looks at most once a second. A disk that does not say has enough.
func (s *space) scarce(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.checked) < time.Second {
		return s.low
	}
	free, err := freeBytes(s.dir)
	was := s.low
	s.checked, s.low = now, err == nil && free < s.reserve
	switch {
	case s.low && !was:
		s.lg.Error("the disk is almost full: telemetry is refused until there is room again", "dir", s.dir, "free", free, "reserve", s.reserve)
	case was && !s.low:
		s.lg.Info("the disk has room again", "dir", s.dir, "free", free)
	}
	return s.low
}
