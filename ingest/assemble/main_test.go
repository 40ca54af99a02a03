package assemble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// TestMain keeps one queue open during all tests: the server starts a clock goroutine with its first store and stops it with its last, and it must
// not be started inside a synctest bubble.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "assemble")
	if err != nil {
		panic(err)
	}
	keep, err := queue.Open(context.Background(), quiet, queue.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	code := m.Run()
	err = errors.Join(keep.Close(), goleak.Find(), os.RemoveAll(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var quiet = slog.New(slog.DiscardHandler)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sp is a span in short: one letter each for itself and its parent ("" for a root).
type sp struct {
	trace  int
	id     string
	parent string
	open   bool   // not ended
	text   string // some attribute
	at     time.Duration
	from   string // service
}

func idOf(n int) (id pcommon.TraceID) {
	binary.BigEndian.PutUint64(id[:], 0x7a)
	binary.BigEndian.PutUint64(id[8:], uint64(n)+1)
	return id
}

func nameOf(n int) string { id := idOf(n); return traceID(id).String() }

func spanOf(s string) (id pcommon.SpanID) { copy(id[:], s+strings.Repeat("_", 8)); return id }

var epoch = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func (s sp) write(to ptrace.Span) {
	to.SetTraceID(idOf(s.trace))
	to.SetSpanID(spanOf(s.id))
	if s.parent != "" {
		to.SetParentSpanID(spanOf(s.parent))
	}
	to.SetName("step " + s.id)
	to.SetStartTimestamp(pcommon.NewTimestampFromTime(epoch.Add(s.at)))
	if !s.open {
		to.SetEndTimestamp(pcommon.NewTimestampFromTime(epoch.Add(s.at + time.Second)))
	}
	if s.text != "" {
		to.Attributes().PutStr("text", s.text)
	}
}

// body is one request with those spans, each service under a resource of its own.
func body(t testing.TB, spans ...sp) []byte {
	t.Helper()
	td := ptrace.NewTraces()
	at := map[string]ptrace.SpanSlice{}
	for _, s := range spans {
		to, ok := at[s.from]
		if !ok {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", "desk"+s.from)
			rs.SetSchemaUrl("https://example.com/1")
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("lib" + s.from)
			to = ss.Spans()
			at[s.from] = to
		}
		s.write(to.AppendEmpty())
	}
	b, err := wire.Marshal(wire.Data{Signal: wire.Traces, Traces: td})
	must(t, err)
	return b
}

// logBody is one request with log records of one trace, all of one time.
func logBody(t testing.TB, trace int, span string, texts ...string) []byte {
	t.Helper()
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	for _, text := range texts {
		r := sl.LogRecords().AppendEmpty()
		r.SetTraceID(idOf(trace))
		r.SetSpanID(spanOf(span))
		r.SetTimestamp(pcommon.NewTimestampFromTime(epoch))
		r.Body().SetStr(text)
	}
	b, err := wire.Marshal(wire.Data{Signal: wire.Logs, Logs: ld})
	must(t, err)
	return b
}

// message puts bodies of one signal into a message, as a group commit does.
func message(seq uint64, stored time.Duration, signal queue.Signal, bodies ...[]byte) queue.Message {
	m := queue.Message{Seq: seq, Signal: signal, Data: slices.Concat(bodies...), Stored: epoch.Add(stored)}
	for _, b := range bodies {
		m.Cuts = append(m.Cuts, len(b))
	}
	return m
}

// handed is one call of Done.
type handed struct {
	trajectory.Trace
	Revision
}

// desk takes what a store hands over.
type desk struct {
	mu          sync.Mutex
	done        []handed
	quarantined []string // reasons
	bad         [][]byte
	answer      func(t trajectory.Trace, r Revision) ([]byte, error) // nil: a note with the revision
}

func (d *desk) take(_ context.Context, t trajectory.Trace, r Revision) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answer != nil {
		if note, err := d.answer(t, r); err != nil {
			return note, err
		}
	}
	d.done = append(d.done, handed{t, r})
	return []byte("note of " + r.Digest), nil
}

func (d *desk) quarantine(_ context.Context, reason string, _ map[string]string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quarantined = append(d.quarantined, reason)
	d.bad = append(d.bad, slices.Clone(data))
	return nil
}

// all are the calls so far.
func (d *desk) all() []handed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.done)
}

// last gives the last revision of each trace.
func last(all []handed) map[string]handed {
	out := map[string]handed{}
	for _, h := range all {
		out[h.ID] = h
	}
	return out
}

func (d *desk) options() Options { return Options{Done: d.take, Quarantine: d.quarantine} }

func spanIDs(t trajectory.Trace) string {
	var ids []string
	for _, s := range t.Spans {
		ids = append(ids, strings.TrimPrefix(s.Name, "step "))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(quiet, dir, o)
	must(t, err)
	t.Cleanup(func() {
		if !s.closed {
			must(t, s.Close())
		}
	})
	return s
}

func apply(t testing.TB, s *Store, ms ...queue.Message) {
	t.Helper()
	for _, m := range ms {
		must(t, s.Apply(t.Context(), m))
	}
}

// rest lets the store's clock run without messages, and sweeps until nothing is left to do.
func rest(t testing.TB, s *Store, d time.Duration) {
	t.Helper()
	s.clock.rest(s.clock.idle + d)
	sweep(t, s)
}

func sweep(t testing.TB, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = s.Sweep(t.Context())
		must(t, err)
	}
}

func counter(t testing.TB, c prometheus.Metric) int {
	t.Helper()
	var m dto.Metric
	must(t, c.Write(&m))
	return int(m.GetCounter().GetValue() + m.GetGauge().GetValue())
}

// image copies a directory as it is, holes left out.
func image(t testing.TB, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "image")
	must(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		if e.Name() == "LOCK" {
			return nil
		}
		return copySparse(name, filepath.Join(to, rel))
	}))
	return to
}

func copySparse(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	fi, err := src.Stat()
	if err != nil {
		return err
	}
	if err := dst.Truncate(fi.Size()); err != nil {
		return err
	}
	const seekData, seekHole = 3, 4 // of lseek on Linux
	for at := int64(0); at < fi.Size(); {
		data, err := src.Seek(at, seekData)
		if err != nil { // no data behind, or no such seek
			break
		}
		hole, err := src.Seek(data, seekHole)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(dst, data), io.NewSectionReader(src, data, hole-data)); err != nil {
			return err
		}
		at = hole
	}
	return nil
}

// keysOf counts a store's keys of a kind in its newest generation.
func keysOf(t testing.TB, s *Store, prefix byte) (keys [][]byte) {
	t.Helper()
	txn := s.newest().db.NewTransaction(false)
	defer txn.Discard()
	it := txn.NewIterator(iterate(prefix))
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		keys = append(keys, it.Item().KeyCopy(nil))
	}
	return keys
}

func sortedIDs[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
