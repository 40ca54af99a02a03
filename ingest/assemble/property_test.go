package assemble

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// load is some traces in pieces: spans in one or two versions, some under two services, small and large, and log records.
type load struct {
	spans []sp
	logs  [][]byte // requests
}

func newLoad(t testing.TB, rng *rand.Rand, traces int) load {
	var l load
	for n := range traces {
		for i := range 1 + rng.IntN(6) {
			s := sp{trace: n, id: string('a' + rune(i)), parent: "r", at: time.Duration(rng.IntN(1e6)) * time.Millisecond, text: strings.Repeat("x", rng.IntN(3000))}
			if rng.IntN(4) == 0 {
				first := s
				first.open, first.text = true, ""
				l.spans = append(l.spans, first)
			}
			if rng.IntN(4) == 0 {
				s.from = "2"
			}
			l.spans = append(l.spans, s)
		}
		if rng.IntN(4) > 0 {
			l.spans = append(l.spans, sp{trace: n, id: "r"})
		}
		if rng.IntN(2) == 0 {
			l.logs = append(l.logs, logBody(t, n, "a", "one", "two", "two", "three"))
		}
	}
	return l
}

// messages puts the load into messages: shuffled, split and repeated as chance will have it.
func (l load) messages(t testing.TB, rng *rand.Rand) (out []queue.Message) {
	spans, logs := slices.Clone(l.spans), slices.Clone(l.logs)
	for range rng.IntN(len(spans)) {
		spans = append(spans, l.spans[rng.IntN(len(l.spans))])
	}
	rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	at := time.Duration(0)
	add := func(signal queue.Signal, bodies ...[]byte) {
		at += time.Duration(rng.IntN(2000)-500) * time.Millisecond // time goes back too
		out = append(out, message(uint64(len(out)+1), at, signal, bodies...))
	}
	for len(spans) > 0 {
		var bodies [][]byte
		for range 1 + rng.IntN(3) {
			n := min(len(spans), 1+rng.IntN(8))
			bodies = append(bodies, body(t, spans[:n]...))
			spans = spans[n:]
			if len(spans) == 0 {
				break
			}
		}
		add(queue.Traces, bodies...)
		if len(logs) > 0 && rng.IntN(2) == 0 {
			add(queue.Logs, logs[rng.IntN(len(logs))])
		}
	}
	for _, b := range logs {
		add(queue.Logs, b)
	}
	return out
}

// verdicts are the last revisions in words: trace, revision, spans, log records.
func verdicts(all []handed) (out []string) {
	ends := last(all)
	for _, id := range sortedIDs(ends) {
		h := ends[id]
		var words []string
		for _, s := range h.Spans {
			words = append(words, fmt.Sprintf("%s %v %v %d", s.Name, s.Start, s.End.IsZero(), len(s.Attrs.Text("text"))))
			for _, l := range s.Logs {
				words = append(words, l.Body.Str())
			}
		}
		for _, l := range h.Logs {
			words = append(words, l.Body.Str())
		}
		out = append(out, fmt.Sprintf("%s %s %v", id, h.Digest, words))
	}
	return out
}

// TestAnyOrderAnyCopiesAnySplit: the same spans give the same traces and revisions, through late spans, new generations and restarts.
func TestAnyOrderAnyCopiesAnySplit(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := newLoad(t, rng, 12)
		var first []string
		for try := range 4 {
			d := &desk{}
			o := d.options()
			if try%2 == 1 {
				o.Generation = 2 * time.Second
			}
			s := open(t, t.TempDir(), o)
			for _, m := range l.messages(t, rng) {
				apply(t, s, m)
				switch rng.IntN(12) {
				case 0:
					rest(t, s, time.Minute) // root grace
				case 1:
					must(t, s.Close())
					s = open(t, s.dir, o)
				case 2:
					apply(t, s, m) // again
				}
			}
			rest(t, s, time.Hour)
			got := verdicts(d.all())
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Fatalf("seed %d, try %d:\n%s\nwant\n%s", seed, try, strings.Join(got, "\n"), strings.Join(first, "\n"))
			}
			noneTwice(t, d.all())
			checkKept(t, s, d)
			must(t, s.Close())
		}
	}
}

// noneTwice checks that no revision was handed over twice.
func noneTwice(t testing.TB, all []handed) {
	t.Helper()
	seen := map[string]bool{}
	for _, h := range all {
		if key := h.ID + h.Digest; seen[key] {
			t.Fatalf("revision %s of %s was handed over twice", h.Digest, h.ID)
		} else {
			seen[key] = true
		}
	}
}

// checkKept checks that what was handed over last can be read, and that the list has it once.
func checkKept(t testing.TB, s *Store, d *desk) {
	t.Helper()
	ends := last(d.all())
	for _, id := range sortedIDs(ends) {
		tr, err := s.Get(t.Context(), id)
		if err != nil || spanIDs(tr) != spanIDs(ends[id].Trace) {
			t.Fatalf("kept trace %s has %q, %v; want %q", id, spanIDs(tr), err, spanIDs(ends[id].Trace))
		}
	}
	var listed []string
	for k, err := range s.Recent(t.Context(), time.Time{}) {
		must(t, err)
		listed = append(listed, k.ID)
	}
	slices.Sort(listed)
	if !slices.Equal(listed, sortedIDs(ends)) {
		t.Fatalf("listed %q, want %q", listed, sortedIDs(ends))
	}
	if paged := checkPages(t, s); !slices.Equal(paged, listed) {
		t.Fatalf("by hour %q, want %q", paged, listed)
	}
}

// checkPages lists the traces hour by hour, and checks that each is found from its hour as it is found without.
func checkPages(t testing.TB, s *Store) (ids []string) {
	t.Helper()
	hours, err := s.Hours(time.Time{})
	must(t, err)
	for _, hour := range hours {
		for behind, more := "", true; more; more = behind != "" {
			var page []Kept
			page, behind, err = s.Page(t.Context(), hour, behind)
			must(t, err)
			for _, k := range page {
				near, err := s.Raw(t.Context(), k.ID, hour)
				must(t, err)
				far, err := s.Raw(t.Context(), k.ID, time.Time{})
				must(t, err)
				if !bytes.Equal(near.Traces, far.Traces) || !bytes.Equal(near.Logs, far.Logs) || near.Truncated != far.Truncated {
					t.Fatalf("trace %s differs when its hour %s is known", k.ID, hour)
				}
				ids = append(ids, k.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
