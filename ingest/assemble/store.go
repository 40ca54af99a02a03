package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// ErrNotAgent is what Done returns for a trace that is none of an agent's: its records are dropped and it is counted.
var ErrNotAgent = errors.New("not an agent's trace")

// Revision is one state of a complete trace.
type Revision struct {
	Digest   string    // of the sorted digests of its records: equal for equal sets
	Reason   string    // why it is complete: root, idle, age or size
	Previous []byte    // the note that Done returned for the revision before, nil for the first
	Seen     time.Time // stream time of its latest record
}

// Done takes a complete trace. It must be safe to repeat: a kill may come before its return is noted. The note is given back with the trace's next
// revision. ErrNotAgent drops the trace; any other error makes it come again, later and later.
type Done func(ctx context.Context, t trajectory.Trace, r Revision) (note []byte, err error)

// Options of Open; zero values mean the defaults named.
type Options struct {
	RootGrace   time.Duration // quiet time after an ended root: 30 s
	IdleTimeout time.Duration // quiet time of any trace: 3 min
	MaxAge      time.Duration // 1 h
	MaxBytes    int64         // 10 MiB
	MaxSpans    int           // 10,000
	Retention   time.Duration // 7 days
	Generation  time.Duration // stream time in one Badger: 1 h
	Done        Done          // required
	Quarantine  func(ctx context.Context, reason string, meta map[string]string, data []byte) error
	Registerer  prometheus.Registerer // nil keeps the counters private
	Partition   int                   // for the counters' label
}

func (o Options) withDefaults() (Options, error) {
	o.RootGrace, o.IdleTimeout = cmp.Or(o.RootGrace, 30*time.Second), cmp.Or(o.IdleTimeout, 3*time.Minute)
	o.MaxAge, o.Retention, o.Generation = cmp.Or(o.MaxAge, time.Hour), cmp.Or(o.Retention, 7*24*time.Hour), cmp.Or(o.Generation, time.Hour)
	o.MaxBytes, o.MaxSpans = cmp.Or(o.MaxBytes, 10<<20), cmp.Or(o.MaxSpans, 10_000)
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if o.Done == nil || o.Quarantine == nil {
		return o, errors.New("assemble: Done and Quarantine are required")
	}
	return o, nil
}

// cursor is how far a store has come: a message, and the digest of its bytes to tell it from another one of the same number. The epoch counts the
// streams that there have been: when one is lost and another begins, its numbers begin anew.
type cursor struct {
	Epoch  int    `json:"epoch"`
	Seq    uint64 `json:"seq"`
	Digest string `json:"digest"`
}

// Store assembles the traces of one partition. One goroutine applies and sweeps (Run does); reading is safe from any.
type Store struct {
	lg      *slog.Logger
	dir     string
	o       Options
	metrics *metrics

	mu       sync.RWMutex // held for writing while generations change
	gens     []*generation
	cursor   cursor
	synced   uint64    // sequence that the last sync covered
	stream   time.Time // stream time of the last message applied
	started  time.Time
	contexts map[digest]bool // contexts known to be in the newest generation; bounded
}

// Open opens the store in dir, made with mode 0700 where it is not there.
func Open(lg *slog.Logger, dir string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("assemble: %w", err)
	}
	s := &Store{lg: lg.With("component", "assemble", "partition", o.Partition), dir: dir, o: o, started: time.Now(), contexts: map[digest]bool{}}
	if s.metrics, err = newMetrics(o.Registerer, o.Partition); err != nil {
		return nil, fmt.Errorf("assemble: counters: %w", err)
	}
	if err := errors.Join(s.loadGenerations(), s.loadCursor()); err != nil {
		return nil, errors.Join(fmt.Errorf("assemble: %w", err), s.closeAll())
	}
	return s, nil
}

func (s *Store) loadCursor() error {
	b, err := os.ReadFile(s.syncedFile())
	if err == nil {
		s.synced, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.syncedFile(), err)
	}
	if len(s.gens) == 0 {
		return nil
	}
	return s.newest().db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(cursorKey)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error { return json.Unmarshal(v, &s.cursor) })
	})
}

func (s *Store) syncedFile() string { return filepath.Join(s.dir, "synced") }

// Sync makes durable what was applied, and then notes how far that is.
func (s *Store) Sync() error {
	if s.synced == s.cursor.Seq {
		return nil
	}
	for _, g := range s.live() {
		if err := g.db.Sync(); err != nil {
			return fmt.Errorf("assemble: sync %s: %w", g.dir, err)
		}
	}
	if err := writeDurably(s.syncedFile(), strconv.FormatUint(s.cursor.Seq, 10)); err != nil {
		return fmt.Errorf("assemble: %w", err)
	}
	s.synced = s.cursor.Seq
	return nil
}

// writeDurably replaces a small file so that after a power cut it is the old one or the new one.
func writeDurably(name, text string) (err error) {
	tmp := name + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close syncs and closes. The store must not be used after it.
func (s *Store) Close() error {
	return errors.Join(s.Sync(), s.closeAll())
}

func (s *Store) closeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, g := range s.gens {
		errs = append(errs, g.close())
	}
	if s.metrics != nil {
		s.metrics.unregister()
	}
	return errors.Join(errs...)
}
