package assemble

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// generation is one hour of stream time in a Badger of its own, dropped as a directory when retention is over.
type generation struct {
	start time.Time
	dir   string
	db    *badger.DB // nil while closed: only those that a live trace can reach are kept open
}

const hourName = "20060102T15"

func (s *Store) path(start time.Time) string {
	return filepath.Join(s.dir, start.UTC().Format(hourName))
}

// loadGenerations finds the directories there are and opens those that live traces can reach.
func (s *Store) loadGenerations() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		start, err := time.Parse(hourName, e.Name())
		if err != nil || !e.IsDir() {
			continue
		}
		s.gens = append(s.gens, &generation{start: start, dir: filepath.Join(s.dir, e.Name())})
	}
	slices.SortFunc(s.gens, func(a, b *generation) int { return a.start.Compare(b.start) })
	for _, g := range s.live() {
		if err := s.openGeneration(g); err != nil {
			return err
		}
	}
	return s.takeOver()
}

// live are the generations that hold records of traces which may still be open, oldest first.
func (s *Store) live() []*generation {
	if len(s.gens) == 0 {
		return nil
	}
	reach := s.gens[len(s.gens)-1].start.Add(-s.o.MaxAge).Truncate(s.o.Generation)
	i := slices.IndexFunc(s.gens, func(g *generation) bool { return !g.start.Before(reach) })
	return s.gens[i:]
}

func (s *Store) newest() *generation { return s.gens[len(s.gens)-1] }

func (s *Store) openGeneration(g *generation) error {
	if g.db != nil {
		return nil
	}
	o := badger.DefaultOptions(g.dir).
		WithValueThreshold(1 << 10).WithMemTableSize(4 << 20).WithValueLogFileSize(64 << 20).
		WithNumMemtables(2).WithNumLevelZeroTables(2).WithNumLevelZeroTablesStall(8).WithNumCompactors(2).
		WithCompression(options.None).WithBlockCacheSize(0).WithSyncWrites(false).WithDetectConflicts(false).WithMetricsEnabled(false).
		WithLogger(badgerLog{s.lg})
	db, err := badger.Open(o)
	if err != nil {
		return fmt.Errorf("open generation %s: %w", g.dir, err)
	}
	g.db = db
	return nil
}

// roll begins the generation of that stream time, unless it has begun. The one before is synced first, so that what a cursor in the new one says
// holds for the old one too.
func (s *Store) roll(at time.Time) error {
	start := at.UTC().Truncate(s.o.Generation)
	if len(s.gens) > 0 && !start.After(s.newest().start) {
		return nil
	}
	if err := s.Sync(); err != nil {
		return err
	}
	g := &generation{start: start, dir: s.path(start)}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return err
	}
	if err := s.openGeneration(g); err != nil {
		return err
	}
	s.gens = append(s.gens, g)
	if err := s.takeOver(); err != nil {
		return err
	}
	return s.forget()
}

// takeOver copies the headers and index entries of the traces that were open in the generation before, and the cursor, into the newest one. A kill in
// the middle makes it start again.
func (s *Store) takeOver() error {
	if len(s.gens) == 0 {
		return nil
	}
	g := s.newest()
	if done, err := has(g.db, rolledKey); err != nil || done {
		return err
	}
	batch := g.db.NewWriteBatch()
	defer batch.Cancel()
	if len(s.gens) > 1 && s.gens[len(s.gens)-2].db != nil {
		if err := copyOpen(s.gens[len(s.gens)-2].db, batch); err != nil {
			return err
		}
	}
	if err := batch.Set(rolledKey, nil); err != nil {
		return err
	}
	return batch.Flush()
}

func copyOpen(from *badger.DB, to *badger.WriteBatch) error {
	return from.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("o")})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			seq, t, ok := splitIndexKey(it.Item().Key())
			if !ok {
				continue
			}
			h, err := getHeader(txn, t)
			if err != nil || h == nil {
				return errors.Join(err, fmt.Errorf("open trace %s has no header", t))
			}
			if err := errors.Join(putJSON(to.Set, headerKey(t), h), to.Set(openKey(seq, t), nil), to.Set(dueKey(h.Due, t), nil)); err != nil {
				return err
			}
		}
		item, err := txn.Get(cursorKey)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error { return to.Set(cursorKey, slices.Clone(v)) })
	})
}

// forget closes the generations that live traces no longer reach and drops those whose retention is over.
func (s *Store) forget() error {
	live := s.live()
	edge := s.newest().start.Add(-s.o.Retention)
	var kept []*generation
	for _, g := range s.gens {
		if !slices.Contains(live, g) {
			if err := g.close(); err != nil {
				return err
			}
		}
		if g.start.Add(s.o.Generation).After(edge) || slices.Contains(live, g) {
			kept = append(kept, g)
			continue
		}
		if err := os.RemoveAll(g.dir); err != nil {
			return err
		}
	}
	s.gens = kept
	return nil
}

func (g *generation) close() error {
	if g.db == nil {
		return nil
	}
	err := g.db.Close()
	g.db = nil
	return err
}

func has(db *badger.DB, key []byte) (found bool, err error) {
	err = db.View(func(txn *badger.Txn) error {
		_, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		found = err == nil
		return err
	})
	return found, err
}

// badgerLog passes Badger's warnings and errors on and leaves its chatter out.
type badgerLog struct{ lg *slog.Logger }

func (l badgerLog) Errorf(f string, v ...any)   { l.lg.Error("badger: " + line(f, v)) }
func (l badgerLog) Warningf(f string, v ...any) { l.lg.Warn("badger: " + line(f, v)) }
func (l badgerLog) Infof(string, ...any)        {}
func (l badgerLog) Debugf(string, ...any)       {}

func line(f string, v []any) string { return strings.TrimSpace(fmt.Sprintf(f, v...)) }
