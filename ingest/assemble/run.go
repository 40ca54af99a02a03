package assemble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/ingest/queue"
)

const (
	beat  = 100 * time.Millisecond // between syncs and sweeps
	check = 5                      // beats between looks at the stream
)

// Run applies the messages of the store's partition and hands complete traces over, until ctx ends. An error is fatal: the stream may have a hole, or
// the store cannot be written. The store may be closed once Run has returned.
func (s *Store) Run(ctx context.Context, q *queue.Queue) error {
	from, err := s.start(ctx, q)
	if err != nil {
		return fmt.Errorf("assemble: partition %d: %w", s.o.Partition, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	messages := make(chan received)
	go func() {
		defer close(messages)
		for m, err := range q.Read(ctx, s.o.Partition, from) {
			select {
			case messages <- received{m, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	r := run{Store: s, q: q, messages: messages, applied: time.Now()}
	err = r.loop(ctx)
	cancel()
	for range messages { // the reader goes before the queue may be closed
	}
	if err = errors.Join(err, s.Sync()); err != nil {
		return fmt.Errorf("assemble: partition %d: %w", s.o.Partition, err)
	}
	return nil
}

type received struct {
	queue.Message
	err error
}

// run is one running Run.
type run struct {
	*Store
	q        *queue.Queue
	messages <-chan received
	applied  time.Time // wall time of the last message, or of the start
	beats    int
}

func (r *run) loop(ctx context.Context) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	ready := make(chan struct{}) // closed, so that a sweep with more to do takes turns with messages
	close(ready)
	var more <-chan struct{}
	for ctx.Err() == nil {
		var err error
		select {
		case <-ctx.Done():
		case m, ok := <-r.messages:
			if !ok {
				return nil
			}
			err = r.message(ctx, m)
		case now := <-tick.C:
			if err = r.tick(ctx, now); err == nil {
				more = ready
			}
		case <-more:
			var again bool
			if again, err = r.Sweep(ctx); !again {
				more = nil
			}
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// message applies one message, and waits while quarantine for parts of it is not to be had.
func (r *run) message(ctx context.Context, m received) error {
	if m.err != nil {
		return advise(m.err)
	}
	for {
		err := r.Apply(ctx, m.Message)
		if !r.transient(err) {
			r.applied = time.Now()
			r.metrics.behind.Set(float64(m.Pending))
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// advise says what to do about a stream that cannot be read on.
func advise(err error) error {
	if gap, ok := errors.AsType[*queue.GapError](err); ok {
		return fmt.Errorf("%w: what they held can only come from its senders again: purge the stream below message %d and start again to go on without it", err, gap.Last+1)
	}
	if errors.Is(err, queue.ErrSlowConsumer) {
		return fmt.Errorf("%w: start again: reading goes on behind the last message that was applied", err)
	}
	return err
}

// tick syncs, and now and then looks whether the stream holds more, so that the clock may run and messages may go.
func (r *run) tick(ctx context.Context, now time.Time) error {
	if err := r.Sync(); err != nil {
		return err
	}
	r.note()
	if r.beats++; r.beats%check != 0 {
		return nil
	}
	info, err := r.q.Info(ctx, r.o.Partition)
	if err != nil {
		if r.transient(err) {
			r.applied = now // what came meanwhile is not known
			return nil
		}
		return err
	}
	if info.Last <= r.cursor.Seq {
		r.clock.rest(now.Sub(r.applied))
		r.metrics.behind.Set(0)
	}
	if err := r.housekeep(now); err != nil {
		return err
	}
	return r.purge(ctx, r.q, info)
}

// housekeep begins a new hour though no message does, so that retention holds in a quiet time too.
func (r *run) housekeep(now time.Time) error {
	if len(r.gens) == 0 {
		return nil
	}
	if r.clock.idle > 0 {
		if err := r.roll(now); err != nil {
			return err
		}
	}
	return r.forget(now)
}

// purge lets go of messages that no trace needs which still collects records. Past half of its size the stream is purged up to the last sync: better a
// trace that a lost disk can cut short than a receiver that refuses. The cursor's own message stays, to know the stream by.
func (s *Store) purge(ctx context.Context, q *queue.Queue, info queue.Info) error {
	below, err := s.oldestOpen()
	if err != nil {
		return err
	}
	if below == 0 || below > s.synced {
		below = s.synced
	}
	early := below < s.synced && info.First < s.synced && info.MaxBytes > 0 && info.Bytes > info.MaxBytes/2
	if early {
		below = s.synced
	}
	if below <= info.First {
		return nil
	}
	if early {
		s.metrics.earlyPurge.Inc()
	}
	if err := q.Purge(ctx, s.o.Partition, below); !s.transient(err) {
		return err
	}
	return nil
}

// transient says that the stream did not answer, which passes.
func (s *Store) transient(err error) bool {
	if _, ok := errors.AsType[*queue.UnavailableError](err); ok {
		s.lg.Warn("the stream does not answer", "err", err)
		return true
	}
	_, full := errors.AsType[*queue.FullError](err)
	return full
}
