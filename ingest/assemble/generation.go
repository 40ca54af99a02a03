package assemble

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	valueThreshold = 1 << 8  // most spans go to the value log: the trees are rewritten often and hold little more than keys
	memTable       = 4 << 20 // a transaction may hold 3/20 of it
)

// generation is the Badger of one hour, dropped as a directory when retention is over.
type generation struct {
	start time.Time
	dir   string
	dirty atomic.Bool // written since the last sync

	mu    sync.Mutex
	db    *badger.DB  // nil while closed
	users int         // calls of use that are running
	keep  bool        // it stays open without users: a live trace may reach it
	soon  *time.Timer // closes it once a reader that goes on here has not come back; nil before there was one
}

const hourName = "20060102T150405"

// use runs f on the generation, which is opened for it unless it is open.
func (g *generation) use(lg *slog.Logger, f func(*badger.DB) error) error {
	if err := g.enter(lg); err != nil {
		return err
	}
	err := f(g.db)
	return errors.Join(err, g.leave())
}

func (g *generation) enter(lg *slog.Logger) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.open(lg); err != nil {
		return err
	}
	g.users++
	return nil
}

func (g *generation) leave() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	return g.closeUnused()
}

// linger is how long a generation stays open behind a reader that goes on there: to open one costs more than to read a trace.
const linger = 5 * time.Second

// leaveSoon is leave for a reader that will be back.
func (g *generation) leaveSoon(lg *slog.Logger) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	if g.keep || g.users > 0 || g.db == nil {
		return nil
	}
	if g.soon != nil {
		g.soon.Stop()
	}
	g.soon = time.AfterFunc(linger, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if err := g.closeUnused(); err != nil {
			lg.Warn("a generation of traces did not close well", "generation", g.dir, "err", err)
		}
	})
	return nil
}

// retain opens the generation for good, or lets it close when its last user has gone.
func (g *generation) retain(lg *slog.Logger, keep bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keep = keep
	if keep {
		return g.open(lg)
	}
	return g.closeUnused()
}

func (g *generation) closeUnused() error {
	if g.keep || g.users > 0 || g.db == nil {
		return nil
	}
	err := g.db.Close()
	g.db = nil
	return err
}

func (g *generation) open(lg *slog.Logger) error {
	if g.db != nil {
		return nil
	}
	o := badger.DefaultOptions(g.dir).
		WithValueThreshold(valueThreshold).WithMemTableSize(memTable).WithValueLogFileSize(64 << 20).WithVerifyValueChecksum(true).
		WithNumMemtables(2).WithNumLevelZeroTables(2).WithNumLevelZeroTablesStall(8).WithNumCompactors(2).
		WithBaseTableSize(1 << 20). // a compaction holds several tables in memory
		WithCompression(options.None).WithBlockCacheSize(0).WithSyncWrites(false).WithDetectConflicts(false).WithMetricsEnabled(false).
		WithLogger(badgerLog{lg})
	db, err := badger.Open(o)
	if err != nil {
		return fmt.Errorf("open generation %s: %w: if it cannot be mended, move the directory away to go on without its traces", g.dir, err)
	}
	g.db = db
	return nil
}

// sync puts on disk what was written; closing does that too.
func (g *generation) sync() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.dirty.Swap(false) || g.db == nil {
		return nil
	}
	if err := g.db.Sync(); err != nil {
		g.dirty.Store(true)
		return fmt.Errorf("sync %s: %w", g.dir, err)
	}
	return nil
}

// listGenerations finds the generations of a store, oldest first.
func listGenerations(dir string) (gens []*generation, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if start, err := time.Parse(hourName, e.Name()); err == nil && e.IsDir() {
			gens = append(gens, &generation{start: start, dir: filepath.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(gens, func(a, b *generation) int { return a.start.Compare(b.start) })
	return gens, nil
}

func (s *Store) newest() *generation { return s.gens[len(s.gens)-1] }

// since are the generations that hold what was stored since then, oldest first.
func (s *Store) since(at time.Time) []*generation {
	for i, g := range s.gens {
		if g.start.Add(s.o.Generation).After(at) {
			return s.gens[i:]
		}
	}
	return s.gens[max(0, len(s.gens)-1):]
}

// live are the generations that the headers of late records are looked up in.
func (s *Store) live() []*generation {
	if len(s.gens) == 0 {
		return nil
	}
	return s.since(s.newest().start.Add(-s.o.MaxAge))
}

// badgerLog passes Badger's warnings and errors on and leaves its chatter out.
type badgerLog struct{ lg *slog.Logger }

func (l badgerLog) Errorf(f string, v ...any)   { l.lg.Error("badger: " + line(f, v)) }
func (l badgerLog) Warningf(f string, v ...any) { l.lg.Warn("badger: " + line(f, v)) }
func (l badgerLog) Infof(string, ...any)        {}
func (l badgerLog) Debugf(string, ...any)       {}

func line(f string, v []any) string { return strings.TrimSpace(fmt.Sprintf(f, v...)) }
