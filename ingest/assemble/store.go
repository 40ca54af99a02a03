package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// ErrNotAgent is what Done returns for a trace that is none of an agent's: its records are dropped and it is counted.
var ErrNotAgent = errors.New("not an agent's trace")

// Revision is one state of a complete trace.
type Revision struct {
	Digest    string    // hex, of the sorted digests of its records: equal for equal sets
	Reason    string    // why it is complete: root, idle, age, size, or lost when what pawl knew of it was damaged
	Previous  []byte    // the note that Done returned for the revision before, nil for the first
	FirstSeen time.Time // when the stream stored its first record
	LastSeen  time.Time // and its latest
}

// Done takes a complete trace. It runs in several goroutines, for one trace never twice at once. It must be safe to repeat: a kill may come before its
// return is noted. The note, best a few hundred bytes, is given back with the trace's next revision. ErrNotAgent, with a note or without, drops the
// records; any other error makes the trace come again, later and later.
type Done func(ctx context.Context, t trajectory.Trace, r Revision) (note []byte, err error)

// Quarantine keeps bytes that cannot be read. reason is a word for counters; see queue.Queue.Quarantine.
type Quarantine func(ctx context.Context, reason string, meta map[string]string, data []byte) error

// Options of Open; zero values mean the defaults named.
type Options struct {
	Done        Done                  // required
	Quarantine  Quarantine            // required
	Partition   int                   // of SPANS, which the store is for
	RootGrace   time.Duration         // quiet time after an ended root: 30 s
	IdleTimeout time.Duration         // quiet time of any trace: 3 min
	MaxAge      time.Duration         // of a trace, then it is complete: 1 h
	MaxBytes    int64                 // of a trace's records: 10 MiB
	MaxSpans    int                   // and log records of a trace: 10,000
	Parallel    int                   // traces handed over at a time: 4
	Retention   time.Duration         // of traces: 7 days
	Generation  time.Duration         // time in one Badger: 1 h
	Registerer  prometheus.Registerer // nil keeps the counters private
}

func (o Options) withDefaults() (Options, error) {
	o.RootGrace, o.IdleTimeout = cmp.Or(o.RootGrace, 30*time.Second), cmp.Or(o.IdleTimeout, 3*time.Minute)
	o.MaxAge, o.Retention, o.Generation = cmp.Or(o.MaxAge, time.Hour), cmp.Or(o.Retention, 7*24*time.Hour), cmp.Or(o.Generation, time.Hour)
	o.MaxBytes, o.MaxSpans, o.Parallel = cmp.Or(o.MaxBytes, 10<<20), cmp.Or(o.MaxSpans, 10_000), cmp.Or(o.Parallel, 4)
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	switch {
	case o.Done == nil || o.Quarantine == nil:
		return o, errors.New("assemble: Done and Quarantine are required")
	case min(o.RootGrace, o.IdleTimeout, o.MaxAge, o.Retention) < 0 || o.Generation < time.Second || min(o.MaxBytes, int64(o.MaxSpans), int64(o.Parallel)) < 0:
		return o, errors.New("assemble: times and limits must be positive, a generation at least a second")
	}
	return o, nil
}

// cursor is how far a store has come: a message, and what tells it from another one of the same number.
type cursor struct {
	Seq    uint64    `json:"seq"`
	Digest string    `json:"digest"` // see identify
	Stored time.Time `json:"stored"` // see clock
	Heard  instant   `json:"heard"`
}

// identify tells a message from others by the time at which it was stored, its length and a checksum: streams are confused by accident, not by
// intent, and a strong digest of every byte would be a tenth of the work.
func identify(m queue.Message) string {
	return fmt.Sprintf("%d-%d-%08x", m.Stored.UnixNano(), len(m.Data), crc32.Checksum(m.Data, crcTable))
}

func (c cursor) put(b *batch) error {
	v, err := sealJSON(c)
	if err != nil {
		return err
	}
	return b.set(cursorKey, v)
}

// Store assembles the traces of one partition. One goroutine applies, sweeps and syncs (Run does); reading and Stats are safe from any.
type Store struct {
	lg      *slog.Logger
	dir     string
	o       Options
	metrics *metrics
	filter  *wire.Filter
	stats   atomic.Pointer[Stats]

	mu     sync.RWMutex  // readers hold it while they read, the writer when gens changes or closes
	gens   []*generation // oldest first
	closed bool

	cursor   cursor
	again    uint64 // up to this message records may be there that a power cut has damaged
	synced   uint64 // what the file "synced" says
	clock    clock
	waiting  int             // traces in the due index
	contexts map[digest]bool // known to be in the newest generation; bounded
}

// Open opens the store in dir, made with mode 0700 where it is not there.
func Open(lg *slog.Logger, dir string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	filter, err := wire.NewFilter(wire.Scrub{}, 0)
	if err != nil {
		return nil, fmt.Errorf("assemble: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("assemble: %w: choose another data directory, or make it writable for the user that runs pawl", err)
	}
	s := &Store{lg: lg.With("component", "assemble", "partition", o.Partition), dir: dir, o: o, filter: filter,
		clock: clock{step: o.RootGrace / 10}, contexts: map[digest]bool{}}
	if s.metrics, err = newMetrics(o.Registerer, o.Partition); err != nil {
		return nil, fmt.Errorf("assemble: counters: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("assemble: %w", err), s.closeAll())
	}
	s.note()
	return s, nil
}

func (s *Store) load() error {
	if err := removeDropped(s.dir); err != nil {
		return err
	}
	gens, err := listGenerations(s.dir)
	if err != nil {
		return err
	}
	if err := s.adopt(gens); err != nil {
		return err
	}
	if err := s.loadSynced(); err != nil || len(gens) == 0 {
		return err
	}
	return s.newest().db.View(func(txn *badger.Txn) error {
		s.waiting = countWaiting(txn)
		return s.loadCursor(txn)
	})
}

func (s *Store) loadCursor(txn *badger.Txn) error {
	_, err := getJSON(txn, cursorKey, &s.cursor)
	if errors.Is(err, errDamaged) {
		s.lg.Warn("the cursor is damaged: all that is in the stream is applied again", "err", err)
		s.cursor, err = cursor{}, nil
	}
	s.clock.heard, s.clock.stored = s.cursor.Heard, s.cursor.Stored
	if err == nil && s.synced > s.cursor.Seq { // a generation was lost: what was synced is not there
		err = s.writeSynced(0)
	}
	return err
}

func (s *Store) loadSynced() error {
	b, err := os.ReadFile(s.syncedFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.synced, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err != nil || len(s.gens) == 0 {
		return s.writeSynced(0) // not ours, or its generations are gone: trust nothing
	}
	return nil
}

func countWaiting(txn *badger.Txn) (n int) {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: duePrefix})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}

func (s *Store) syncedFile() string { return filepath.Join(s.dir, "synced") }

// Sync puts what was applied on disk, and then notes how far that is.
func (s *Store) Sync() error {
	for _, g := range s.gens { // one that was closed since is on disk
		if err := g.sync(); err != nil {
			return fmt.Errorf("assemble: %w", err)
		}
	}
	if s.synced == s.cursor.Seq {
		return nil
	}
	if err := s.writeSynced(s.cursor.Seq); err != nil {
		return fmt.Errorf("assemble: %w", err)
	}
	return nil
}

// writeSynced replaces the file so that after a power cut it is the old one or the new one.
func (s *Store) writeSynced(seq uint64) error {
	tmp := s.syncedFile() + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatUint(seq, 10))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := errors.Join(os.Rename(tmp, s.syncedFile()), syncDir(s.dir)); err != nil {
		return err
	}
	s.synced = seq
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close syncs and closes. It waits for readers; those who come after it get an error.
func (s *Store) Close() error { return errors.Join(s.Sync(), s.closeAll()) }

func (s *Store) closeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, g := range s.gens {
		errs = append(errs, g.retain(s.lg, false))
	}
	s.metrics.unregister()
	return errors.Join(errs...)
}

// Stats is where a store stands.
type Stats struct {
	Applied uint64 // sequence of the last message applied
	Synced  uint64 // and of the last one that is on disk
	Open    int    // traces that are not complete, or not yet handed over
}

// Stats tells where the store stands; the rest are the counters.
func (s *Store) Stats() Stats { return *s.stats.Load() }

func (s *Store) note() {
	s.stats.Store(&Stats{s.cursor.Seq, s.synced, s.waiting})
	s.metrics.open.Set(float64(s.waiting))
}
