package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sync/errgroup"
)

const (
	sweepBatch = 256
	retryMost  = time.Minute
)

// Sweep hands over traces that are complete by the store's clock, at most a few hundred: more says that there are others. One that cannot be
// handed over comes again later and holds up no other.
func (s *Store) Sweep(ctx context.Context) (more bool, err error) {
	if len(s.gens) == 0 {
		return false, nil
	}
	now := s.clock.now()
	complete, more, err := s.due(now)
	if err != nil {
		return false, fmt.Errorf("assemble: sweep: %w", err)
	}
	var g errgroup.Group
	g.SetLimit(s.o.Parallel)
	for _, c := range complete {
		g.Go(func() error { s.handOver(ctx, c); return nil })
	}
	_ = g.Wait() // what went wrong is noted with each
	for _, c := range complete {
		if err := s.settle(ctx, c, now); err != nil {
			return false, fmt.Errorf("assemble: trace %s: %w", c.trace, err)
		}
	}
	s.note()
	return more && ctx.Err() == nil, nil
}

// completion is a trace whose time has come, and what came of handing it over.
type completion struct {
	trace  traceID
	was    header
	reason string

	raw     Raw
	outcome outcome
	note    []byte
	err     error // for outcome failed
}

type outcome int

const (
	failed   outcome = iota // comes again
	taken                   // by Done
	known                   // nothing new
	notAgent                // dropped
	useless                 // does not decode, and is in quarantine
)

// due reads the due index up to now. A trace may have moved on since its entry was made: then so does the entry.
func (s *Store) due(now instant) (complete []*completion, more bool, err error) {
	b := &batch{g: s.newest()}
	defer b.discard()
	n := 0
	err = s.newest().db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: duePrefix})
		defer it.Close()
		end := dueKey(now+1, traceID{})
		for it.Rewind(); it.Valid() && n < sweepBatch && bytes.Compare(it.Item().Key(), end) < 0; it.Next() {
			n++
			c, err := s.look(txn, it.Item().KeyCopy(nil), now, b)
			if err != nil {
				return err
			}
			if c != nil {
				complete = append(complete, c)
			}
		}
		return nil
	})
	return complete, n == sweepBatch, errors.Join(err, b.commit())
}

func (s *Store) look(txn *badger.Txn, key []byte, now instant, b *batch) (*completion, error) {
	at, t, ok := splitIndexKey(key)
	if !ok {
		return nil, b.delete(key)
	}
	h, err := s.getHeader(txn, t)
	switch {
	case err != nil:
		return nil, err
	case h == nil:
		h = &header{First: s.gens[0].start, Waiting: true, Due: instant(at), Reason: reasonLost}
	case !h.Waiting || h.Due != instant(at): // left over by a power cut
		s.waiting--
		return nil, b.delete(key)
	case h.dueAt(s.o) > now:
		was := *h
		h.Due = h.dueAt(s.o)
		return nil, h.put(b, t, was)
	}
	return &completion{trace: t, was: *h, reason: h.reason(s.o, now)}, nil
}

// handOver reads and decodes the trace and gives it to Done.
func (s *Store) handOver(ctx context.Context, c *completion) {
	if ctx.Err() != nil {
		return
	}
	if c.raw, c.err = gather(s.lg, c.trace, s.since(c.was.First)); c.err != nil {
		return
	}
	for _, d := range c.raw.damaged {
		if c.err = s.quarantine(ctx, "damaged_record", map[string]string{"trace": c.trace.String(), "error": d.what}, d.value); c.err != nil {
			return
		}
	}
	if len(c.raw.keys) == 0 || c.raw.revision == c.was.Revision {
		c.outcome = known
		return
	}
	c.raw.Truncated = c.was.partial(c.reason)
	trace, err := c.raw.trace(c.trace)
	if err != nil {
		c.outcome, c.err = s.giveUp(ctx, c, err)
		return
	}
	rev := Revision{c.raw.revision, c.reason, c.was.Note, c.was.First, c.was.Seen}
	c.note, c.err = s.o.Done(ctx, trace, rev)
	switch {
	case c.err == nil:
		c.outcome = taken
	case errors.Is(c.err, ErrNotAgent):
		c.outcome = notAgent
	}
}

// giveUp puts a trace that does not decode into quarantine: each of its requests was well formed once, so it would never decode.
func (s *Store) giveUp(ctx context.Context, c *completion, cause error) (outcome, error) {
	meta := map[string]string{"trace": c.trace.String(), "error": cause.Error()}
	for _, b := range [][]byte{c.raw.Traces, c.raw.Logs} {
		if len(b) == 0 {
			continue
		}
		if err := s.quarantine(ctx, "undecodable_trace", meta, b); err != nil {
			return failed, err
		}
	}
	return useless, nil
}

// settle notes what came of handing a trace over.
func (s *Store) settle(ctx context.Context, c *completion, now instant) error {
	b := &batch{g: s.newest()}
	defer b.discard()
	h := c.was
	h.Reason = c.reason
	switch c.outcome {
	case failed:
		if ctx.Err() != nil { // stopped, not failed
			return nil
		}
		s.retry(c, &h, now)
		return errors.Join(h.put(b, c.trace, c.was), s.putClock(b, now), b.commit())
	case taken:
		s.metrics.completed.WithLabelValues(c.reason).Inc()
		if c.raw.Truncated {
			s.metrics.truncated.Inc()
		}
		h.Revision, h.Note = c.raw.revision, c.note
	case notAgent:
		s.metrics.notAgent.Inc()
		h.Revision, h.Note, h.Dropped = c.raw.revision, c.note, true
	case useless:
		h.Revision = c.raw.revision
	case known:
		if len(c.raw.keys) == 0 { // all were damaged
			h.Spans, h.Bytes = 0, 0
		}
	}
	if err := s.remove(b, c, &h); err != nil {
		return err
	}
	h.Waiting, h.OpenSeq, h.Tries = false, 0, 0
	s.waiting--
	return errors.Join(h.put(b, c.trace, c.was), b.commit())
}

// retry makes the trace come again after a while that doubles. It no longer holds the stream back: what came of it is here.
func (s *Store) retry(c *completion, h *header, now instant) {
	s.metrics.failed.Inc()
	h.Tries++
	wait := min(time.Second<<min(h.Tries-1, 6), retryMost)
	h.Due, h.OpenSeq = now.add(wait), 0
	s.lg.Warn("a complete trace could not be handed over", "trace", c.trace, "tries", h.Tries, "again_in", wait, "err", c.err)
}

// putClock lets the clock go on from there after a restart, or what has to come again would wait for the time that is already over.
func (s *Store) putClock(b *batch, now instant) error {
	c := s.cursor
	c.Heard = now
	return c.put(b)
}

// remove deletes the records that are not kept, in all generations: those of a trace that is no agent's, and damaged ones. Those of the newest go with the
// batch.
func (s *Store) remove(b *batch, c *completion, h *header) error {
	var keys [][]byte
	if c.outcome == notAgent {
		keys, h.Spans, h.Bytes = c.raw.keys, 0, 0
	}
	for _, d := range c.raw.damaged {
		keys = append(keys, d.key)
	}
	if len(keys) == 0 {
		return nil
	}
	for _, g := range s.since(h.First) {
		if g == b.g {
			continue
		}
		old := &batch{g: g}
		err := g.use(s.lg, func(*badger.DB) error { return errors.Join(deleteAll(old, keys), old.commit()) })
		old.discard()
		if err != nil {
			return err
		}
	}
	return deleteAll(b, keys)
}

func deleteAll(b *batch, keys [][]byte) error {
	for _, k := range keys {
		if err := b.delete(k); err != nil {
			return err
		}
		if !b.full() {
			continue
		}
		if err := b.commit(); err != nil {
			return err
		}
	}
	return nil
}

// oldestOpen is the first message that a trace still being collected came with, or 0 when there is none.
func (s *Store) oldestOpen() (seq uint64, err error) {
	if len(s.gens) == 0 {
		return 0, nil
	}
	err = s.newest().db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: openPrefix})
		defer it.Close()
		if it.Rewind(); it.Valid() {
			seq, _, _ = splitIndexKey(it.Item().Key())
		}
		return nil
	})
	return seq, err
}
