package assemble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// How often Run syncs and looks for complete traces.
const beat = 100 * time.Millisecond

// Run applies the partition's messages and hands complete traces over, until ctx ends. An error is fatal: what the stream held may have a hole, or
// the store cannot be written.
func (s *Store) Run(ctx context.Context, q *queue.Queue, partition int) error {
	from, last, err := s.start(ctx, q, partition)
	if err != nil {
		return fmt.Errorf("assemble: partition %d: %w", partition, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan received)
	go func() {
		defer close(messages)
		for m, err := range q.Read(ctx, partition, from) {
			select {
			case messages <- received{m, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	err = s.loop(ctx, q, partition, messages, last-min(last, from-1))
	cancel()
	for range messages { // the reader has gone before the store is closed
	}
	return err
}

type received struct {
	queue.Message
	err error
}

func (s *Store) loop(ctx context.Context, q *queue.Queue, partition int, messages <-chan received, pending uint64) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.Sync()
		case m, ok := <-messages:
			if !ok || ctx.Err() != nil {
				return s.Sync()
			}
			if m.err != nil {
				return fmt.Errorf("assemble: partition %d: %w", partition, m.err)
			}
			if err := s.Apply(ctx, m.Message); err != nil {
				return err
			}
			pending = m.Pending
			s.metrics.behind.Set(float64(pending))
		case now := <-tick.C:
			if err := s.tick(ctx, q, partition, now, pending == 0); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// tick syncs, sweeps and purges.
func (s *Store) tick(ctx context.Context, q *queue.Queue, partition int, wall time.Time, caughtUp bool) error {
	if err := s.syncLocked(); err != nil {
		return err
	}
	if err := s.Sweep(ctx, s.now(wall, caughtUp)); err != nil {
		return err
	}
	return s.purge(ctx, q, partition)
}

func (s *Store) syncLocked() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Sync()
}

// now is the time to judge quiet by: that of the last message applied, or the wall's when nothing waits. After a start the wall counts from the start,
// so that senders which could not reach us have the same grace again.
func (s *Store) now(wall time.Time, caughtUp bool) time.Time {
	if !caughtUp {
		return s.stream
	}
	if s.stream.Before(s.started) {
		return later(s.stream, s.stream.Add(wall.Sub(s.started)))
	}
	return later(s.stream, wall)
}

// start finds where to go on. After a clean stop that is behind the cursor; otherwise behind the last sync, over what is there; and when the stream is
// not the one that the cursor speaks of, from its beginning.
func (s *Store) start(ctx context.Context, q *queue.Queue, partition int) (from, last uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := q.Info(ctx, partition)
	if err != nil {
		return 0, 0, err
	}
	c := s.cursor
	switch {
	case c.Seq == 0:
		return max(info.First, 1), info.Last, nil
	case c.Seq > info.Last || c.Seq < info.First:
		s.lg.Warn("the cursor's message is not in the stream: reading all that is there again", "cursor", c.Seq, "first", info.First, "last", info.Last)
		return s.rewind(info.First), info.Last, nil
	}
	m, err := q.Get(ctx, partition, c.Seq)
	if err != nil {
		return 0, 0, fmt.Errorf("the cursor's message %d: %w", c.Seq, err)
	}
	if digestHex(m.Data) != c.Digest {
		s.lg.Warn("the cursor's message is another one: reading all that is there again", "cursor", c.Seq)
		return s.rewind(info.First), info.Last, nil
	}
	s.stream = m.Stored
	if s.synced < c.Seq {
		s.lg.Info("the last stop was not clean: reading again what was not synced", "from", s.synced+1, "to", c.Seq)
		return max(info.First, s.synced+1), info.Last, nil
	}
	return c.Seq + 1, info.Last, nil
}

// rewind forgets the numbers of a stream that is no more: headers must not take new messages for ones that they have seen.
func (s *Store) rewind(first uint64) uint64 {
	s.cursor, s.synced = cursor{Epoch: s.cursor.Epoch + 1}, 0
	return max(first, 1)
}

// purge lets go of messages that no open trace needs. Past half of its size the stream is purged up to the last sync: better a trace that a crash can
// cut short than a receiver that refuses.
func (s *Store) purge(ctx context.Context, q *queue.Queue, partition int) error {
	below, err := s.oldestOpen()
	if err != nil {
		return err
	}
	if below == 0 {
		below = s.cursor.Seq
	}
	below = min(below, s.synced, s.cursor.Seq)
	info, err := q.Info(ctx, partition)
	if err != nil {
		return s.transient(err)
	}
	if info.MaxBytes > 0 && info.Bytes > info.MaxBytes/2 && below < s.synced {
		s.metrics.earlyPurge.Inc()
		below = s.synced
	}
	if below <= info.First {
		return nil
	}
	return s.transient(q.Purge(ctx, partition, below))
}

// transient lets an error of a stream that does not answer pass: the next beat tries again.
func (s *Store) transient(err error) error {
	if _, ok := errors.AsType[*queue.UnavailableError](err); ok {
		s.lg.Warn("the stream does not answer", "err", err)
		return nil
	}
	return err
}
