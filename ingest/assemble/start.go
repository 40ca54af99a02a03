package assemble

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// start finds where to go on: after a clean stop behind the cursor, else behind the last sync, over what is there. When the stream is not the one that
// the cursor speaks of, from its beginning.
func (s *Store) start(ctx context.Context, q *queue.Queue) (from uint64, err error) {
	info, err := q.Info(ctx, s.o.Partition)
	if err != nil {
		return 0, err
	}
	c := s.cursor
	if c.Seq == 0 {
		return s.rewind(info)
	}
	m, err := q.Get(ctx, s.o.Partition, c.Seq)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		s.lg.Warn("the last message applied is not in the stream: all that is there is applied again", "message", c.Seq, "first", info.First, "last", info.Last)
		return s.rewind(info)
	case err != nil:
		return 0, fmt.Errorf("the last message applied, %d: %w", c.Seq, err)
	case identify(m) != c.Digest:
		s.lg.Warn("the last message applied is another one now: all that is in the stream is applied again", "message", c.Seq)
		return s.rewind(info)
	case s.synced < c.Seq:
		s.lg.Info("the last stop was not clean: applying again what was not synced", "from", s.synced+1, "to", c.Seq)
		s.again = c.Seq
		return max(info.First, s.synced+1), nil
	}
	return c.Seq + 1, nil
}

// rewind begins at the beginning of a stream whose numbers say nothing about what is in the store.
func (s *Store) rewind(info queue.Info) (from uint64, err error) {
	s.cursor.Seq, s.again = 0, info.Last
	return max(info.First, 1), s.writeSynced(0)
}
