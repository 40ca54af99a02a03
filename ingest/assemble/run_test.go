package assemble

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// stream opens an embedded queue; stop closes it.
func stream(t testing.TB, dir string, o queue.Options) *queue.Queue {
	t.Helper()
	o.Dir = dir
	q, err := queue.Open(t.Context(), quiet, o)
	must(t, err)
	t.Cleanup(func() { must(t, q.Close()) })
	return q
}

func publish(t testing.TB, q *queue.Queue, bodies ...[]byte) {
	t.Helper()
	for _, b := range bodies {
		must(t, q.Publish(t.Context(), 0, queue.Traces, b))
	}
}

// running runs a store until stop, which gives what Run said and leaves the store open.
func running(t testing.TB, s *Store, q *queue.Queue) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() { out <- s.Run(ctx, q) }()
	return func() error {
		cancel()
		return <-out
	}
}

func info(t testing.TB, q *queue.Queue) queue.Info {
	t.Helper()
	i, err := q.Info(t.Context(), 0)
	must(t, err)
	return i
}

// bubble runs f with real Badger and JetStream in fake time.
func bubble(t *testing.T, f func(t *testing.T, q *queue.Queue, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(20 * time.Minute) // away from the beginning of a generation
		f(t, stream(t, filepath.Join(t.TempDir(), "queue"), queue.Options{}), &desk{})
	})
}

func TestRun(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		s := open(t, t.TempDir(), d.options())
		stop := running(t, s, q)
		publish(t, q, body(t, sp{id: "c", parent: "r"}), body(t, sp{id: "r"}), body(t, sp{trace: 1, id: "c", parent: "r"}))
		time.Sleep(28 * time.Second)
		want(t, d)
		time.Sleep(4 * time.Second)
		want(t, d, "0: c r (root)")
		if got := s.Stats(); got.Applied != 3 || got.Synced != 3 || got.Open != 1 {
			t.Errorf("%+v", got)
		}
		time.Sleep(150 * time.Second)
		want(t, d, "0: c r (root)", "1: c (idle)")
		if i := info(t, q); i.First != 3 || i.Messages != 1 {
			t.Errorf("the stream still holds %+v: only the cursor's own message is wanted", i)
		}
		must(t, stop())
		noneTwice(t, d.all())
	})
}

// TestBacklogIsNotIdle: ten minutes without an assembler, or without a receiver too, cut no trace short.
func TestBacklogIsNotIdle(t *testing.T) {
	for name, received := range map[string]bool{"receivers were up": true, "all was down": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
				s := open(t, t.TempDir(), d.options())
				stop := running(t, s, q)
				for n := range 20 {
					publish(t, q, body(t, sp{trace: n, id: "a", parent: "r"}))
				}
				time.Sleep(10 * time.Second)
				must(t, stop())
				must(t, s.Close())
				for n := range 20 { // what comes during the downtime, or what its senders send again after it
					if received {
						time.Sleep(30 * time.Second)
					}
					publish(t, q, body(t, sp{trace: n, id: "b", parent: "r"}))
				}
				if !received {
					time.Sleep(10 * time.Minute)
				}
				publish(t, q, body(t, sp{trace: 20, id: "r"}))
				s = open(t, s.dir, d.options())
				stop = running(t, s, q)
				time.Sleep(20 * time.Second)
				for n := range 20 {
					publish(t, q, body(t, sp{trace: n, id: "r"}))
				}
				time.Sleep(time.Minute)
				must(t, stop())
				all := d.all()
				if len(all) != 21 {
					t.Errorf("%d handed over, want 21", len(all))
				}
				for _, h := range all {
					if h.ID != nameOf(20) && spanIDs(h.Trace) != "a b r" {
						t.Errorf("trace %s was cut short: %s (%s)", h.ID, spanIDs(h.Trace), h.Reason)
					}
				}
			})
		})
	}
}

// TestRunAfterAKill: what was acknowledged is neither lost nor doubled, wherever the store was left.
func TestRunAfterAKill(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		dir := filepath.Join(t.TempDir(), "store")
		for round := range 6 {
			s := open(t, dir, d.options())
			stop := running(t, s, q)
			for n := range 5 {
				publish(t, q, body(t, sp{trace: 5*round + n, id: "r"}, sp{trace: 5*round + n, id: "a", parent: "r"}))
				publish(t, q, body(t, sp{trace: max(0, 5*round+n-5), id: "late", parent: "r"}))
			}
			time.Sleep(time.Duration(round)*9*time.Second + beat/2) // between two beats: nothing is under way
			dir = image(t, dir)                                     // as a kill leaves it
			calls := len(d.all())
			must(t, stop())
			d.done = d.done[:calls]
			must(t, s.Close())
		}
		s := open(t, dir, d.options())
		stop := running(t, s, q)
		time.Sleep(10 * time.Minute)
		must(t, stop())
		ends := last(d.all())
		if len(ends) != 30 {
			t.Errorf("%d traces", len(ends))
		}
		for n := range 30 {
			want := "a late r"
			if n >= 25 {
				want = "a r"
			}
			if got := spanIDs(ends[nameOf(n)].Trace); got != want {
				t.Errorf("trace %d has %q, want %q", n, got, want)
			}
		}
		noneTwice(t, d.all())
	})
}

// TestSyncedFileOlderThanTheCursor: the messages between are applied again, over what is there or not.
func TestSyncedFileOlderThanTheCursor(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		s := open(t, t.TempDir(), d.options())
		stop := running(t, s, q)
		for i := range 6 {
			publish(t, q, body(t, sp{id: string('a' + rune(i)), parent: "r"}))
		}
		time.Sleep(time.Second)
		must(t, stop())
		must(t, s.writeSynced(3))
		for _, key := range keysOf(t, s, 's')[3:] { // and of what was not synced only headers are there
			must(t, s.newest().db.Update(func(txn *badger.Txn) error { return txn.Delete(key) }))
		}
		s = open(t, image(t, s.dir), d.options())
		stop = running(t, s, q)
		time.Sleep(4 * time.Minute)
		must(t, stop())
		want(t, d, "0: a b c d e f (idle)")
		if n := counter(t, s.metrics.records); n != 3 {
			t.Errorf("%d records stored again, want 3", n)
		}
	})
}

// TestAnotherStream: when the cursor's message is another one, or gone, all that the stream holds is applied.
func TestAnotherStream(t *testing.T) {
	for name, messages := range map[string]int{"shorter": 2, "as long": 4, "longer": 9} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
				s := open(t, t.TempDir(), d.options())
				stop := running(t, s, q)
				for range 4 {
					publish(t, q, body(t, sp{id: "r"}))
				}
				time.Sleep(time.Minute)
				must(t, stop())
				must(t, s.Close())
				other := stream(t, filepath.Join(t.TempDir(), "other"), queue.Options{})
				for i := range messages {
					publish(t, other, body(t, sp{trace: i + 1, id: "r"}))
				}
				publish(t, other, body(t, sp{id: "late", parent: "r"}))
				s = open(t, s.dir, d.options())
				stop = running(t, s, other)
				time.Sleep(beat / 2)
				dir := image(t, s.dir) // killed before it is synced
				must(t, stop())
				s = open(t, dir, d.options())
				stop = running(t, s, other)
				time.Sleep(time.Minute)
				must(t, stop())
				if got := len(last(d.all())); got != messages+1 {
					t.Errorf("%d traces, want %d", got, messages+1)
				}
				if got := spanIDs(last(d.all())[nameOf(0)].Trace); got != "late r" {
					t.Errorf("the trace of both streams has %q", got)
				}
				if got := s.Stats(); got.Applied != uint64(messages+1) || got.Synced != got.Applied {
					t.Errorf("%+v", got)
				}
				noneTwice(t, d.all())
			})
		})
	}
}

func TestGapIsFatal(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		s := open(t, t.TempDir(), d.options())
		publish(t, q, body(t, sp{id: "r"}), body(t, sp{trace: 1, id: "r"}), body(t, sp{trace: 2, id: "r"}))
		must(t, q.Purge(t.Context(), 0, 3))
		must(t, s.Apply(t.Context(), message(1, 0, queue.Traces, body(t, sp{id: "r"}))))
		// The cursor's message is gone with others: what is there is read, from its beginning.
		stop := running(t, s, q)
		time.Sleep(time.Minute)
		must(t, stop())
		want(t, d, "0: r (root)", "2: r (root)")
		gap := advise(&queue.GapError{Log: "PAWL_SPANS_0", First: 4, Last: 6})
		if !strings.Contains(gap.Error(), "below message 7") {
			t.Errorf("advice %q", gap)
		}
		if err := s.Run(t.Context(), closedQueue(t)); err == nil {
			t.Error("ran on a closed queue")
		}
	})
}

func closedQueue(t *testing.T) *queue.Queue {
	q := stream(t, filepath.Join(t.TempDir(), "closed"), queue.Options{})
	must(t, q.Close())
	return q
}

// TestFullStreamIsPurgedEarly: past half of its bytes the stream lets go of what is synced though its trace is still open.
func TestFullStreamIsPurgedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := stream(t, filepath.Join(t.TempDir(), "queue"), queue.Options{MaxBytes: 1 << 20})
		d := &desk{}
		s := open(t, t.TempDir(), d.options())
		stop := running(t, s, q)
		text := strings.Repeat("z", 10_000)
		publish(t, q, body(t, sp{id: "a", parent: "r", text: text}))
		for i := range 200 { // twice of what the stream holds
			publish(t, q, body(t, sp{trace: 1 + i, id: "r", text: text}))
			time.Sleep(500 * time.Millisecond)
		}
		if n := counter(t, s.metrics.earlyPurge); n == 0 {
			t.Error("never purged early")
		}
		publish(t, q, body(t, sp{id: "r", text: text}))
		time.Sleep(time.Minute)
		must(t, stop())
		if got := len(d.all()); got != 201 {
			t.Errorf("%d traces, want 201", got)
		}
		if got := spanIDs(last(d.all())[nameOf(0)].Trace); got != "a r" {
			t.Errorf("the open trace has %q", got)
		}
	})
}

func TestOpenTraceHoldsTheStream(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		s := open(t, t.TempDir(), d.options())
		stop := running(t, s, q)
		publish(t, q, body(t, sp{trace: 9, id: "r"}), body(t, sp{id: "a", parent: "r"}))
		for i := range 12 {
			publish(t, q, body(t, sp{id: string('b' + rune(i)), parent: "r"}))
			time.Sleep(30 * time.Second)
		}
		if i := info(t, q); i.First != 2 {
			t.Errorf("first message %d, want that of the open trace, 2", i.First)
		}
		time.Sleep(4 * time.Minute)
		if i := info(t, q); i.First != i.Last {
			t.Errorf("stream %+v", i)
		}
		must(t, stop())
	})
}

// TestGenerationsRollAndRetentionDropsThem runs for many generations, with a pause in which only the wall's clock moves.
func TestGenerationsRollAndRetentionDropsThem(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		o := d.options()
		o.Generation, o.MaxAge, o.Retention = time.Minute, time.Minute, 6*time.Minute
		s := open(t, t.TempDir(), o)
		stop := running(t, s, q)
		for n := range 10 {
			publish(t, q, body(t, sp{trace: n, id: "a", parent: "r"}))
			time.Sleep(20 * time.Second)
			publish(t, q, body(t, sp{trace: n, id: "r"}))
			time.Sleep(40 * time.Second)
		}
		for n := range 10 {
			tr, err := s.Get(t.Context(), nameOf(n))
			if kept := n >= 5; kept && (err != nil || spanIDs(tr) != "a r") || n < 2 && !errors.Is(err, ErrNotFound) {
				t.Errorf("trace %d: %q, %v", n, spanIDs(tr), err)
			}
		}
		time.Sleep(9 * time.Minute)
		for k, err := range s.Recent(t.Context(), time.Time{}) {
			t.Errorf("after its retention: %+v, %v", k, err)
		}
		dirs, err := filepath.Glob(filepath.Join(s.dir, "2*"))
		if must(t, err); len(dirs) > 8 {
			t.Errorf("directories %q", dirs)
		}
		publish(t, q, body(t, sp{trace: 50, id: "r"}))
		time.Sleep(time.Minute)
		must(t, stop())
		if got := len(d.all()); got != 11 {
			t.Errorf("%d handed over", got)
		}
	})
}

func TestReadersWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T, q *queue.Queue, d *desk) {
		o := d.options()
		o.Generation, o.MaxAge, o.Retention = time.Minute, time.Minute, 3*time.Minute
		d.answer = func(tr trajectory.Trace, r Revision) ([]byte, error) { return nil, nil }
		s := open(t, t.TempDir(), o)
		stop := running(t, s, q)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 6 {
				for k, err := range s.Recent(t.Context(), time.Time{}) {
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := s.Get(t.Context(), k.ID); err != nil && !errors.Is(err, ErrNotFound) {
						t.Error(err)
						return
					}
				}
				time.Sleep(70 * time.Second)
			}
		}()
		for n := range 45 {
			publish(t, q, body(t, sp{trace: n, id: "r"}))
			time.Sleep(10 * time.Second)
		}
		<-done
		time.Sleep(time.Minute)
		must(t, stop())
		must(t, s.Close())
		if _, err := s.Get(t.Context(), nameOf(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("read a closed store: %v", err)
		}
		if len(last(d.all())) != 45 {
			t.Errorf("%d traces", len(last(d.all())))
		}
	})
}

func TestGetWithBadID(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	for _, id := range []string{"", "xyz", strings.Repeat("0", 31) + "g", nameOf(7)} {
		if _, err := s.Get(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	apply(t, s, message(1, 0, queue.Logs, logBody(t, 3, "a", "x")))
	raw, err := s.Raw(t.Context(), nameOf(3), time.Time{})
	if err != nil || len(raw.Traces) != 0 || !bytes.Contains(raw.Logs, idBytes(3)) {
		t.Errorf("raw %+v, %v", raw, err)
	}
	if doc, err := raw.JSON(); err != nil || !bytes.HasPrefix(doc, []byte(`{"resourceLogs":[`)) {
		t.Errorf("as JSON %s, %v", doc, err)
	}
	apply(t, s, message(2, 0, queue.Traces, body(t, sp{trace: 3, id: "r"})))
	raw, err = s.Raw(t.Context(), nameOf(3), time.Time{})
	doc, bad := raw.JSON()
	var both struct{ ResourceSpans, ResourceLogs []any }
	if err := errors.Join(err, bad, json.Unmarshal(doc, &both)); err != nil || len(both.ResourceSpans) != 1 || len(both.ResourceLogs) != 1 {
		t.Errorf("as JSON %s, %v", doc, err)
	}
	hours, err := s.Hours(time.Time{})
	must(t, err)
	for _, hour := range append(hours, epoch.Add(-24*time.Hour)) { // an hour that is not kept is no error, and no reason not to find a trace
		if _, err := s.Raw(t.Context(), nameOf(3), hour); err != nil {
			t.Errorf("from %s: %v", hour, err)
		}
	}
	if page, last, err := s.Page(t.Context(), epoch.Add(-24*time.Hour), ""); len(page) > 0 || last != "" || err != nil {
		t.Errorf("an hour that is not kept: %v, %q, %v", page, last, err)
	}
	if _, _, err := s.Page(t.Context(), hours[0], "xyz"); err == nil {
		t.Error("a page from behind no trace")
	}
}
