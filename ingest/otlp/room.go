package otlp

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

// A body costs several times its size from inflating it until it is stored, so large ones share a room of their own and wait
// for it; without it twenty senders of large batches, or of bombs, take gigabytes. Small bodies never wait.
const (
	smallBody = 1 << 20
	roomWait  = 4 * time.Second // exporters give up after ten
)

// room counts the bytes of large bodies under way.
type room struct {
	free *semaphore.Weighted
	size int64
	wait time.Duration
}

func newRoom(size int64) *room { return &room{semaphore.NewWeighted(size), size, roomWait} }

// share is what one request holds of a room. It must be given back.
type share struct {
	of   *room
	held int64
}

// take waits for n bytes, more than the room being taken for all of it. A [*FullError] says that the wait was too long; nothing is held then.
func (s *share) take(ctx context.Context, n int) error {
	if n <= smallBody {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.of.wait)
	defer cancel()
	want := min(int64(n), s.of.size)
	if err := s.of.free.Acquire(ctx, want); err != nil {
		return &FullError{RetryAfter: retry}
	}
	s.held += want
	return nil
}

// keep gives back what exceeds n bytes.
func (s *share) keep(n int) {
	if over := s.held - int64(n); over > 0 {
		s.of.free.Release(over)
		s.held -= over
	}
}

// inflate undoes the coding as [inflate] does, with a share for what turns out to be large.
func (r *Receiver) inflate(ctx context.Context, s *share, raw []byte, c coding) ([]byte, error) {
	if c == plain {
		return raw, s.take(ctx, len(raw))
	}
	body, err := inflate(raw, c, min(smallBody, r.opt.MaxInflated))
	if err != errTooMuch || r.opt.MaxInflated <= smallBody {
		return body, err
	}
	if err := s.take(ctx, r.opt.MaxInflated); err != nil {
		return nil, err
	}
	body, err = inflate(raw, c, r.opt.MaxInflated)
	s.keep(len(body))
	return body, err
}
