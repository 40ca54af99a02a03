package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Sweep hands over the traces that are complete at now, in stream time. What cannot be handed over comes again later and holds up no other trace.
func (s *Store) Sweep(ctx context.Context, now time.Time) error {
	for ctx.Err() == nil {
		entries, err := s.dueEntries(now)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if ctx.Err() != nil {
				return nil
			}
			if err := s.look(ctx, e, now); err != nil {
				return fmt.Errorf("assemble: trace %s: %w", e.trace, err)
			}
		}
	}
	return nil
}

const sweepBatch = 256

// dueEntry is an entry of the due index.
type dueEntry struct {
	key   []byte
	trace traceID
}

func (s *Store) dueEntries(now time.Time) (out []dueEntry, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.gens) == 0 {
		return nil, nil
	}
	end := dueKey(now.Add(time.Nanosecond), traceID{})
	err = s.newest().db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("d")})
		defer it.Close()
		for it.Rewind(); it.Valid() && len(out) < sweepBatch && bytes.Compare(it.Item().Key(), end) < 0; it.Next() {
			key := it.Item().KeyCopy(nil)
			if _, t, ok := splitIndexKey(key); ok {
				out = append(out, dueEntry{key, t})
			}
		}
		return nil
	})
	return out, err
}

// look decides about one trace whose time has come: it may have moved on since the entry was made.
func (s *Store) look(ctx context.Context, e dueEntry, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, err := s.findHeader(e.trace)
	if err != nil {
		return err
	}
	if h == nil || !h.open() || !bytes.Equal(dueKey(h.Due, e.trace), e.key) {
		return s.newest().db.Update(func(txn *badger.Txn) error { return txn.Delete(e.key) }) // left over by a kill
	}
	if due := h.due(s.o); due.After(now) {
		return s.move(e.trace, h, due)
	}
	return s.complete(ctx, e.trace, h, now)
}

// move gives the trace another time in the due index.
func (s *Store) move(t traceID, h *header, due time.Time) error {
	old := h.Due
	h.Due = due
	return s.newest().db.Update(func(txn *badger.Txn) error {
		return errors.Join(txn.Delete(dueKey(old, t)), txn.Set(dueKey(due, t), nil), putJSON(txn.Set, headerKey(t), h))
	})
}

func (s *Store) complete(ctx context.Context, t traceID, h *header, now time.Time) error {
	raw, err := s.readRaw(ctx, t)
	if err != nil {
		return err
	}
	if raw.revision == h.Revision || len(raw.keys) == 0 {
		return s.settle(t, h, nil) // only copies came: nothing new to say
	}
	trace, err := raw.decode(t, h.Truncated)
	if err != nil {
		return err
	}
	rev := Revision{Digest: raw.revision, Reason: h.reason(s.o, now), Previous: h.Note, Seen: h.Last}
	note, err := s.o.Done(ctx, trace, rev)
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, ErrNotAgent):
		s.metrics.notAgent.Inc()
		h.Dropped, h.Spans, h.Bytes = true, 0, 0
		h.Revision = raw.revision
		return s.settle(t, h, raw.keys)
	case err != nil:
		return s.retry(t, h, now, err)
	}
	s.metrics.completed.WithLabelValues(rev.Reason).Inc()
	h.Revision, h.Note, h.Dropped = raw.revision, note, false
	return s.settle(t, h, nil)
}

// retry makes the trace come again after a while that doubles up to a minute, counted from the clock that the caller swept by.
func (s *Store) retry(t traceID, h *header, now time.Time, cause error) error {
	s.metrics.failed.Inc()
	h.Tries++
	wait := min(time.Second<<min(h.Tries-1, 6), time.Minute)
	s.lg.Warn("a complete trace could not be handed over", "trace", t, "tries", h.Tries, "again_in", wait, "err", cause)
	return s.move(t, h, now.Add(wait))
}

// settle closes the trace and deletes the records named.
func (s *Store) settle(t traceID, h *header, drop [][]byte) error {
	open, due := openKey(h.OpenSeq, t), dueKey(h.Due, t)
	h.OpenSeq, h.Due, h.Tries = 0, time.Time{}, 0
	err := s.newest().db.Update(func(txn *badger.Txn) error {
		return errors.Join(txn.Delete(open), txn.Delete(due), putJSON(txn.Set, headerKey(t), h))
	})
	if err != nil {
		return err
	}
	for _, g := range s.live() {
		if len(drop) == 0 {
			break
		}
		batch := g.db.NewWriteBatch()
		for _, k := range drop {
			if err := batch.Delete(k); err != nil {
				batch.Cancel()
				return err
			}
		}
		if err := batch.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// oldestOpen is the first message that an open trace still needs, or 0 when none is open.
func (s *Store) oldestOpen() (seq uint64, err error) {
	if len(s.gens) == 0 {
		return 0, nil
	}
	err = s.newest().db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("o")})
		defer it.Close()
		if it.Rewind(); it.Valid() {
			seq, _, _ = splitIndexKey(it.Item().Key())
		}
		return nil
	})
	return seq, err
}
