package assemble

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// resume opens a crash image and does what start does when the stream is the same: it applies again what was not synced.
func resume(t testing.TB, dir string, o Options, ms []queue.Message) *Store {
	t.Helper()
	s := open(t, dir, o)
	from := s.cursor.Seq
	if s.synced < s.cursor.Seq {
		from, s.again = s.synced, s.cursor.Seq
	}
	apply(t, s, ms[from:]...)
	return s
}

// TestKillBetweenAnyTwoSteps: from an image of the directory taken at any moment the rest of the stream leads to the same traces, and none is judged
// twice that was noted as judged.
func TestKillBetweenAnyTwoSteps(t *testing.T) {
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 2))
		l := newLoad(t, rng, 10)
		ms := l.messages(t, rng)
		type crash struct {
			dir  string
			done int // calls of Done that were noted
		}
		var crashes []crash
		d := &desk{}
		o := d.options()
		o.Generation = 3 * time.Second
		s := open(t, t.TempDir(), o)
		maybe := func() {
			if rng.IntN(6) == 0 {
				crashes = append(crashes, crash{image(t, s.dir), len(d.all())})
			}
		}
		for _, m := range ms {
			apply(t, s, m)
			maybe()
			switch rng.IntN(6) {
			case 0:
				rest(t, s, time.Minute)
				maybe()
			case 1:
				must(t, s.Sync())
				maybe()
			}
		}
		rest(t, s, time.Hour)
		crashes = append(crashes, crash{image(t, s.dir), len(d.all())})
		want := verdicts(d.all())
		for i, c := range crashes {
			after := &desk{done: d.all()[:c.done:c.done]}
			o := after.options()
			o.Generation = 3 * time.Second
			s := resume(t, c.dir, o, ms)
			rest(t, s, time.Hour)
			if got := verdicts(after.all()); !slices.Equal(got, want) {
				t.Fatalf("seed %d, crash %d of %d:\n%s\nwant\n%s", seed, i, len(crashes), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			noneTwice(t, after.all())
			checkKept(t, s, after)
			must(t, s.Close())
		}
	}
}

// TestKillWhileHandingOver: what was not noted is handed over again with the same revision, and nothing is lost.
func TestKillWhileHandingOver(t *testing.T) {
	dir := t.TempDir()
	var crashes []string
	d := &desk{}
	o := d.options()
	o.Parallel = 1
	o.Done = func(ctx context.Context, tr trajectory.Trace, r Revision) ([]byte, error) {
		note, err := d.take(ctx, tr, r)
		crashes = append(crashes, image(t, dir))
		return note, err
	}
	s := open(t, dir, o)
	ms := []queue.Message{message(1, 0, queue.Traces, body(t, sp{id: "r"}, sp{trace: 1, id: "r"}, sp{trace: 2, id: "r"}))}
	apply(t, s, ms...)
	rest(t, s, time.Minute)
	if len(crashes) != 3 {
		t.Fatalf("%d crashes", len(crashes))
	}
	for _, dir := range crashes {
		after := &desk{}
		s := resume(t, dir, after.options(), ms)
		rest(t, s, time.Minute)
		if got := verdicts(after.all()); !slices.Equal(got, verdicts(d.all())) {
			t.Errorf("after the crash %q", got)
		}
	}
}

// TestKillWhileAGenerationBegins: an hour's directory that is empty, or half taken over, is taken over anew.
func TestKillWhileAGenerationBegins(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, s *Store){
		"empty directory": func(t *testing.T, s *Store) {
			must(t, os.Mkdir(filepath.Join(s.dir, epoch.Add(5*time.Hour).Format(hourName)), 0o700))
		},
		"half taken over": func(t *testing.T, s *Store) {
			g := &generation{start: epoch.Add(5 * time.Hour), dir: filepath.Join(s.dir, epoch.Add(5*time.Hour).Format(hourName))}
			must(t, os.Mkdir(g.dir, 0o700))
			must(t, g.use(quiet, func(db *badger.DB) error {
				return s.newest().db.View(func(txn *badger.Txn) error {
					b := &batch{g: g}
					h, err := s.getHeader(txn, traceID(idOf(0)))
					must(t, err)
					must(t, h.put(b, traceID(idOf(0)), header{}))
					return b.commit()
				})
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			s := open(t, t.TempDir(), d.options())
			apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "c", parent: "r"}, sp{trace: 1, id: "c", parent: "r"})))
			must(t, s.Sync())
			damage(t, s)
			s = open(t, image(t, s.dir), d.options())
			if got := s.Stats(); got.Open != 2 || got.Applied != 1 || got.Synced != 1 || len(s.gens) != 2 {
				t.Fatalf("%+v, %d generations", got, len(s.gens))
			}
			apply(t, s, message(2, 5*time.Hour, queue.Traces, body(t, sp{id: "r"}, sp{trace: 1, id: "r"})))
			rest(t, s, time.Minute)
			want(t, d, "0: c r (root)", "1: c r (root)")
		})
	}
}

// TestPowerCut: the keys are on disk and the values are not, which Badger promises up to the last sync only.
func TestPowerCut(t *testing.T) {
	d := &desk{}
	o := d.options()
	s := open(t, t.TempDir(), o)
	big := strings.Repeat("y", 2000)
	ms := []queue.Message{
		message(1, 0, queue.Traces, body(t, sp{id: "a", parent: "r", text: big})),
		message(2, 0, queue.Traces, body(t, sp{id: "b", parent: "r", text: big}), body(t, sp{trace: 1, id: "r", text: big})),
		message(3, 0, queue.Traces, body(t, sp{id: "r"})),
	}
	apply(t, s, ms[0])
	must(t, s.Sync())
	before := image(t, s.dir)
	apply(t, s, ms[1:]...)
	cut := image(t, s.dir)
	logs, err := filepath.Glob(filepath.Join(before, "*", "*.vlog"))
	must(t, err)
	if len(logs) == 0 {
		t.Fatal("no value log")
	}
	for _, name := range logs { // the value log as it was synced
		rel, err := filepath.Rel(before, name)
		must(t, err)
		must(t, copySparse(name, filepath.Join(cut, rel)))
	}
	s = resume(t, cut, o, ms)
	rest(t, s, time.Minute)
	want(t, d, "0: a b r (root)", "1: r (root)")
	if len(d.quarantined) != 0 {
		t.Errorf("quarantined %q", d.quarantined)
	}
}

func TestDamagedValues(t *testing.T) {
	d := &desk{}
	o := d.options()
	s := open(t, t.TempDir(), o)
	big := strings.Repeat("damage here", 200)
	apply(t, s, message(1, 0, queue.Traces,
		body(t, sp{id: "r"}, sp{id: "a", parent: "r", text: big}),
		body(t, sp{trace: 1, id: "r", from: strings.Repeat("a long name, so that the resource goes to the value log", 40)}),
		body(t, sp{trace: 2, id: "r", text: strings.Repeat("whole", 500)})))
	flip(t, s.dir, "damage here", "a long name")
	for range 3 {
		rest(t, s, time.Hour)
	}
	want(t, d, "0: r (root)", "2: r (root)")
	if !slices.Equal(d.quarantined, []string{"damaged_record", "damaged_record"}) {
		t.Errorf("quarantined %q", d.quarantined)
	}
	if n := counter(t, s.metrics.quarantined.WithLabelValues("damaged_record")); n != 2 {
		t.Errorf("%d counted", n)
	}
	if s.Stats().Open != 0 {
		t.Errorf("%d open", s.Stats().Open)
	}
	if tr, err := s.Get(t.Context(), nameOf(0)); err != nil || spanIDs(tr) != "r" {
		t.Errorf("kept %q, %v", spanIDs(tr), err)
	}
	apply(t, s, message(2, 0, queue.Traces, body(t, sp{id: "a", parent: "r", text: big}))) // its sender sends it again
	rest(t, s, time.Hour)
	want(t, d, "0: a r (root)", "0: r (root)", "2: r (root)")
}

// flip changes a bit of the first place in a value log where each text stands.
func flip(t *testing.T, dir string, texts ...string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*.vlog"))
	must(t, err)
	for _, name := range logs {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		must(t, err)
		b := make([]byte, 64<<10)
		n, err := f.ReadAt(b, 0)
		if n == 0 {
			t.Fatal(err)
		}
		for _, text := range texts {
			i := bytes.Index(b, []byte(text))
			if i < 0 {
				t.Fatalf("%q is not in %s", text, name)
			}
			_, err := f.WriteAt([]byte{b[i+3] ^ 1}, int64(i+3))
			must(t, err)
		}
		must(t, f.Close())
	}
}

// TestDamagedHeader: a trace whose header cannot be read is handed over as far as it is there.
func TestDamagedHeader(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "r"}, sp{trace: 1, id: "r"})))
	must(t, s.newest().db.Update(func(txn *badger.Txn) error { return txn.Set(headerKey(traceID(idOf(0))), []byte("????{}")) }))
	s.o.Generation = time.Hour
	apply(t, s, message(2, 2*time.Hour, queue.Traces, body(t, sp{trace: 2, id: "r"})))
	rest(t, s, time.Minute)
	want(t, d, "0: r (lost)", "1: r (root)", "2: r (root)")
	if s.Stats().Open != 0 {
		t.Errorf("%d open", s.Stats().Open)
	}
}

// TestUndecodableTrace: what the decoder refuses though it was well formed once goes to quarantine and never comes again.
func TestUndecodableTrace(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "r"}, sp{trace: 1, id: "r"})))
	key := keysOf(t, s, 's')[0]
	txn := s.newest().db.NewTransaction(true)
	v, err := getValue(txn, key)
	must(t, err)
	r, err := unsealRecord(v)
	must(t, err)
	r.bytes = append(slices.Clone(r.bytes), 0xff)
	must(t, txn.Set(key, r.seal()))
	must(t, txn.Commit())
	rest(t, s, time.Hour)
	want(t, d, "1: r (root)")
	if !slices.Equal(d.quarantined, []string{"undecodable_trace"}) || s.Stats().Open != 0 {
		t.Errorf("quarantined %q, %d open", d.quarantined, s.Stats().Open)
	}
}

// TestLostGeneration: what was noted as synced is not believed when its generations are gone.
func TestLostGeneration(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	ms := []queue.Message{
		message(1, 0, queue.Traces, body(t, sp{id: "a", parent: "r"})), message(2, 0, queue.Traces, body(t, sp{id: "r"})),
		message(3, time.Hour, queue.Traces, body(t, sp{id: "b", parent: "r"})),
	}
	apply(t, s, ms...)
	must(t, s.Close())
	must(t, os.RemoveAll(s.newest().dir))
	s = open(t, s.dir, d.options())
	if got := s.Stats(); got.Applied != 2 || got.Synced != 0 {
		t.Fatalf("%+v", got)
	}
	must(t, s.Close())
	for _, g := range s.gens {
		must(t, os.RemoveAll(g.dir))
	}
	s = resume(t, s.dir, d.options(), ms)
	rest(t, s, time.Minute)
	want(t, d, "0: a b r (root)")
}
