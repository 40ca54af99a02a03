package assemble

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

var (
	// ErrNotFound says that the store holds no trace of that id.
	ErrNotFound = errors.New("no such trace")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store of traces is closed")
)

// Get returns a kept trace, complete or not, however old, or ErrNotFound. An id is 32 hex digits. Records that cannot be read are left out.
func (s *Store) Get(ctx context.Context, id string) (trajectory.Trace, error) {
	t, err := parseTraceID(id)
	if err != nil {
		return trajectory.Trace{}, fmt.Errorf("assemble: %w: %v", ErrNotFound, err)
	}
	raw, err := s.Raw(ctx, id, time.Time{})
	if err != nil {
		return trajectory.Trace{}, err
	}
	trace, err := raw.trace(t)
	if err != nil {
		return trajectory.Trace{}, fmt.Errorf("assemble: decode trace %s: %w", id, err)
	}
	return trace, nil
}

// Raw returns what Get does as OTLP requests. hour is where Page listed the trace, the zero time where that is not known: without it every hour since the
// trace's is looked through.
func (s *Store) Raw(ctx context.Context, id string, hour time.Time) (Raw, error) {
	t, err := parseTraceID(id)
	if err != nil {
		return Raw{}, fmt.Errorf("assemble: %w: %v", ErrNotFound, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	near := s.around(hour)
	if !hour.IsZero() && !s.closed { // who knows the hour reads more of it
		release, err := s.hold(near, func(g *generation) error { return g.leaveSoon(s.lg) })
		if err != nil {
			return Raw{}, fmt.Errorf("assemble: trace %s: %w", id, err)
		}
		defer func() { _ = release() }() // closes nothing
	}
	raw, err := s.raw(ctx, t, near)
	if errors.Is(err, ErrNotFound) && !hour.IsZero() { // it has moved since
		raw, err = s.raw(ctx, t, s.gens)
	}
	if err != nil {
		return Raw{}, fmt.Errorf("assemble: trace %s: %w", id, err)
	}
	return raw, nil
}

// around are the generations in which a trace that is listed in one may have its header, oldest first: all of them where the hour is not known.
func (s *Store) around(hour time.Time) []*generation {
	if hour.IsZero() {
		return s.gens
	}
	i := s.at(hour)
	if i < 0 {
		return nil
	}
	return s.gens[i : i+1+len(s.newer(i))]
}

// at is the index of the generation of an hour, or -1.
func (s *Store) at(hour time.Time) int {
	return slices.IndexFunc(s.gens, func(g *generation) bool { return g.start.Equal(hour) })
}

// raw looks for the trace's header from the newest of the generations backwards: it says how far back the records lie. Each came with its header, so that
// none is in a newer one than that.
func (s *Store) raw(ctx context.Context, t traceID, gens []*generation) (Raw, error) {
	if s.closed {
		return Raw{}, ErrClosed
	}
	for _, g := range slices.Backward(gens) {
		if err := ctx.Err(); err != nil {
			return Raw{}, err
		}
		var h *header
		err := g.use(s.lg, func(db *badger.DB) error {
			return db.View(func(txn *badger.Txn) (err error) {
				h, err = s.getHeader(txn, t)
				return err
			})
		})
		if err != nil {
			return Raw{}, err
		}
		if h == nil {
			continue
		}
		upTo := slices.Index(s.gens, g) + 1
		raw, err := gather(s.lg, t, s.gens[min(upTo-1, len(s.gens)-len(s.since(h.First))):upTo])
		if err == nil && len(raw.keys) == 0 {
			return raw, ErrNotFound
		}
		raw.Truncated = h.partial(h.Reason)
		return raw, err
	}
	return Raw{}, ErrNotFound
}

// Kept is a trace in the list of Recent.
type Kept struct {
	ID        string
	FirstSeen time.Time // when the stream stored its first record
	LastSeen  time.Time // and its latest
	Records   int       // spans and log records stored
	Bytes     int64     // of them
	Open      bool      // not complete, or not yet handed over
	Note      []byte    // what the receiver of the last revision wants to be told with the next; nil before there was one
}

// Hours are the hours with traces that were touched since then, the newest first, each by its start.
func (s *Store) Hours(since time.Time) (out []time.Time, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	for _, g := range slices.Backward(s.gens) {
		if g.start.Add(s.o.Generation).After(since) {
			out = append(out, g.start)
		}
	}
	return out, nil
}

// Page lists some of the traces of an hour by id, from behind an id, "" from the first. last is behind what the next page begins, "" at the hour's end. An hour
// that is not kept any more has none.
func (s *Store) Page(ctx context.Context, hour time.Time, behind string) (page []Kept, last string, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i := s.at(hour)
	switch {
	case s.closed:
		return nil, "", ErrClosed
	case ctx.Err() != nil || i < 0:
		return nil, "", ctx.Err()
	}
	var from []byte
	if behind != "" {
		t, err := parseTraceID(behind)
		if err != nil {
			return nil, "", fmt.Errorf("assemble: list traces: %w", err)
		}
		from = t[:]
	}
	key, err := s.list(i, from, func(k Kept) { page = append(page, k) })
	if err != nil {
		return nil, "", fmt.Errorf("assemble: list traces of %s: %w", hour, err)
	}
	return page, hex.EncodeToString(key), nil
}

// Recent lists the kept traces with a record since then, those of the newest hour first, within an hour by id. It holds nothing while the loop body runs,
// so that the list is not of one moment: a trace that moves meanwhile may come twice or not at all.
func (s *Store) Recent(ctx context.Context, since time.Time) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		at := place{}
		for more := true; more; {
			var page []Kept
			var err error
			if page, at, more, err = s.page(ctx, since, at); err != nil {
				yield(Kept{}, fmt.Errorf("assemble: recent traces: %w", err))
				return
			}
			for _, k := range page {
				if !yield(k, nil) {
					return
				}
			}
		}
	}
}

// place is how far a list has come: the generations from start on are listed, and of that one the traces up to trace, or all of it when that is nil.
type place struct {
	start time.Time
	trace []byte
}

const pageSize = 256

// page lists some headers of one generation.
func (s *Store) page(ctx context.Context, since time.Time, at place) (page []Kept, next place, more bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, at, false, ErrClosed
	}
	i := len(s.gens) - 1
	for ; i >= 0 && !at.start.IsZero(); i-- {
		if g := s.gens[i]; g.start.Before(at.start) || g.start.Equal(at.start) && at.trace != nil {
			break
		}
	}
	if i < 0 || ctx.Err() != nil || !s.gens[i].start.Add(s.o.Generation).After(since) {
		return nil, at, false, ctx.Err()
	}
	next = place{start: s.gens[i].start}
	from := at.trace
	if !at.start.Equal(next.start) {
		from = nil
	}
	next.trace, err = s.list(i, from, func(k Kept) {
		if !k.LastSeen.Before(since) {
			page = append(page, k)
		}
	})
	return page, next, true, err
}

// list gives a page of the headers of the i-th generation behind a key. last is nil at its end.
func (s *Store) list(i int, behind []byte, each func(Kept)) (last []byte, err error) {
	newer := s.newer(i)
	release, err := s.hold(newer, (*generation).leave)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	err = s.gens[i].use(s.lg, func(db *badger.DB) error {
		return db.View(func(txn *badger.Txn) error {
			it := txn.NewIterator(badger.IteratorOptions{Prefix: headerPrefix})
			defer it.Close()
			n := 0
			for it.Seek(slices.Concat(headerPrefix, behind)); it.Valid(); it.Next() {
				id := it.Item().KeyCopy(nil)[len(headerPrefix):]
				if bytes.Equal(id, behind) || len(id) != len(traceID{}) {
					continue
				}
				if n++; n > pageSize {
					return nil
				}
				last = id
				if err := s.listed(txn, newer, traceID(id), each); err != nil {
					return err
				}
			}
			last = nil
			return nil
		})
	})
	return last, err
}

// listed gives one trace, unless a newer generation tells more of it or its records were dropped.
func (s *Store) listed(txn *badger.Txn, newer []*generation, t traceID, each func(Kept)) error {
	h, err := s.getHeader(txn, t)
	if err != nil || h == nil || h.Spans == 0 {
		return err
	}
	for _, g := range newer {
		if found, err := hasKey(g.db, headerKey(t)); found || err != nil {
			return err
		}
	}
	each(Kept{t.String(), h.First, h.Seen, h.Spans, h.Bytes, h.Waiting, h.Note})
	return nil
}

// newer are the generations that may have a later header of a trace in the i-th: the next one, where it went when it was waiting, and those from which a
// late record could reach it.
func (s *Store) newer(i int) []*generation {
	reach := s.gens[i].start.Add(s.o.Generation + s.o.MaxAge)
	next := i + 1
	for next < len(s.gens) && (next == i+1 || !s.gens[next].start.After(reach)) {
		next++
	}
	return s.gens[i+1 : next]
}

// hold keeps generations open until release, which leaves each.
func (s *Store) hold(gens []*generation, leave func(*generation) error) (release func() error, err error) {
	held := gens[:0:0]
	release = func() (err error) {
		for _, g := range held {
			err = errors.Join(err, leave(g))
		}
		return err
	}
	for _, g := range gens {
		if err := g.enter(s.lg); err != nil {
			return nil, errors.Join(err, release())
		}
		held = append(held, g)
	}
	return release, nil
}
