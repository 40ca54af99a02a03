package assemble

import (
	"context"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Look returns a kept trace with what Done was told of it last, so that it can be judged again: Previous is the note of its latest revision. open says
// that it was not handed over since its latest record came: Done will see it. Where recent is set only those hours are looked through which new records
// can reach, which is quick; else all. ErrNotFound is returned of a trace that is not there, or of which nothing is kept.
func (s *Store) Look(ctx context.Context, id string, recent bool) (trace trajectory.Trace, r Revision, open bool, err error) {
	t, err := parseTraceID(id)
	if err != nil {
		return trace, r, false, fmt.Errorf("assemble: %w: %v", ErrNotFound, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	gens := s.gens
	if recent && !s.closed {
		gens = s.live()
	}
	h, err := s.lookHeader(t, gens)
	if err != nil {
		return trace, r, false, fmt.Errorf("assemble: trace %s: %w", id, err)
	}
	if h.Waiting || h.Revision == "" {
		return trace, r, true, nil
	}
	raw, err := s.raw(ctx, t, gens)
	if err != nil {
		return trace, r, false, fmt.Errorf("assemble: trace %s: %w", id, err)
	}
	if trace, err = raw.trace(t); err != nil {
		return trace, r, false, fmt.Errorf("assemble: decode trace %s: %w", id, err)
	}
	return trace, Revision{raw.revision, h.Reason, h.Note, h.First, h.Seen}, false, nil
}

// lookHeader is the trace's latest header in these generations, or ErrNotFound.
func (s *Store) lookHeader(t traceID, gens []*generation) (found *header, err error) {
	if s.closed {
		return nil, ErrClosed
	}
	for _, g := range slices.Backward(gens) {
		err := g.use(s.lg, func(db *badger.DB) error {
			return db.View(func(txn *badger.Txn) (err error) {
				found, err = s.getHeader(txn, t)
				return err
			})
		})
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, ErrNotFound
}
