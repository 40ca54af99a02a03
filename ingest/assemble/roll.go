package assemble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// roll begins the generation of that time, unless it has begun. The one before is synced first: what a cursor in the new one says holds for the
// old one too.
func (s *Store) roll(at time.Time) error {
	start := at.UTC().Truncate(s.o.Generation)
	if len(s.gens) > 0 && !start.After(s.newest().start) {
		return nil
	}
	if err := s.Sync(); err != nil {
		return err
	}
	g := &generation{start: start, dir: filepath.Join(s.dir, start.Format(hourName))}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return err
	}
	if err := syncDir(s.dir); err != nil {
		return err
	}
	return s.adopt(append(slices.Clone(s.gens), g))
}

// adopt makes gens the store's generations, the last of them the one that is written to. A kill in the middle makes it start again at the next Open.
func (s *Store) adopt(gens []*generation) error {
	if len(gens) == 0 {
		return nil
	}
	if err := s.takeOver(gens); err != nil {
		return fmt.Errorf("begin generation %s: %w", gens[len(gens)-1].dir, err)
	}
	s.mu.Lock()
	s.gens = gens
	s.mu.Unlock()
	clear(s.contexts) // they are stored once per generation
	return s.forget(s.newest().start)
}

// takeOver copies what waits in the generation before, and the cursor, into the last one.
func (s *Store) takeOver(gens []*generation) error {
	to := gens[len(gens)-1]
	if err := to.retain(s.lg, true); err != nil {
		return err
	}
	if done, err := hasKey(to.db, rolledKey); err != nil || done {
		return err
	}
	b := &batch{g: to}
	defer b.discard()
	if len(gens) > 1 {
		err := gens[len(gens)-2].use(s.lg, func(db *badger.DB) error {
			return db.View(func(txn *badger.Txn) error { return s.copyWaiting(txn, b) })
		})
		if err != nil {
			return err
		}
	}
	if err := b.set(rolledKey, nil); err != nil {
		return err
	}
	return b.commit()
}

func (s *Store) copyWaiting(from *badger.Txn, to *batch) error {
	it := from.NewIterator(badger.IteratorOptions{Prefix: duePrefix})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		due, t, ok := splitIndexKey(it.Item().Key())
		if !ok {
			continue
		}
		h, err := s.getHeader(from, t)
		if err == nil && h == nil { // Sweep hands over what there is
			err = to.set(dueKey(instant(due), t), nil)
		} else if err == nil {
			err = h.put(to, t, header{})
		}
		if err == nil && to.full() {
			err = to.commit()
		}
		if err != nil {
			return err
		}
	}
	v, err := getValue(from, cursorKey)
	if errors.Is(err, badger.ErrKeyNotFound) || errors.Is(err, errDamaged) {
		return nil
	}
	if err != nil {
		return err
	}
	return to.set(cursorKey, v)
}

// forget closes the generations that late records no longer reach and drops those that ended longer ago than retention. The newest stays.
func (s *Store) forget(now time.Time) error {
	live := s.live()
	var kept, over []*generation
	for _, g := range s.gens {
		if g != s.newest() && !g.start.Add(s.o.Generation+s.o.Retention).After(now) {
			over = append(over, g)
			continue
		}
		kept = append(kept, g)
		if err := g.retain(s.lg, slices.Contains(live, g)); err != nil {
			return err
		}
	}
	if len(over) == 0 {
		return nil
	}
	s.mu.Lock() // waits for those who read
	s.gens = kept
	s.mu.Unlock()
	for _, g := range over {
		if err := errors.Join(g.retain(s.lg, false), os.Rename(g.dir, g.dir+droppedSuffix), os.RemoveAll(g.dir+droppedSuffix)); err != nil {
			return fmt.Errorf("drop generation %s: %w", g.dir, err)
		}
		s.lg.Info("dropped the traces of an hour whose retention is over", "generation", g.start)
	}
	return nil
}

// droppedSuffix marks a generation that is being removed, so that a kill leaves none that looks whole.
const droppedSuffix = ".dropped"

func removeDropped(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*"+droppedSuffix))
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

func hasKey(db *badger.DB, key []byte) (found bool, err error) {
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
