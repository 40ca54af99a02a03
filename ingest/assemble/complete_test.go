package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func iterate(prefix byte) badger.IteratorOptions {
	return badger.IteratorOptions{Prefix: []byte{prefix}}
}

// want checks the calls of Done so far, each as "trace: spans (reason)".
func want(t *testing.T, d *desk, lines ...string) {
	t.Helper()
	var got []string
	for _, h := range d.all() {
		for n := range 100 {
			if h.ID == nameOf(n) {
				got = append(got, fmt.Sprintf("%d: %s (%s)", n, spanIDs(h.Trace), h.Reason))
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, lines) {
		t.Fatalf("handed over %q, want %q", got, lines)
	}
}

func TestCompleteWhen(t *testing.T) {
	root, child, orphan, unended := sp{id: "r"}, sp{id: "c", parent: "r"}, sp{id: "o", parent: "x"}, sp{id: "r", open: true}
	for name, c := range map[string]struct {
		spans  []sp
		before time.Duration // not yet complete after it
		after  time.Duration
		want   string
	}{
		"root ended":                  {[]sp{child, root}, 29 * time.Second, time.Second, "0: c r (root)"},
		"root not ended":              {[]sp{child, unended}, 179 * time.Second, time.Second, "0: c r (idle)"},
		"no root":                     {[]sp{child}, 179 * time.Second, time.Second, "0: c (idle)"},
		"a parent that never comes":   {[]sp{root, orphan}, 29 * time.Second, time.Second, "0: o r (root)"},
		"clocks of senders are wrong": {[]sp{{id: "r", at: -1e6 * time.Second}, {id: "c", parent: "r", at: 1e6 * time.Second}}, 29 * time.Second, time.Second, "0: c r (root)"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			s := open(t, t.TempDir(), d.options())
			apply(t, s, message(1, 0, queue.Traces, body(t, c.spans...)))
			rest(t, s, c.before)
			want(t, d)
			if got := s.Stats(); got.Open != 1 || got.Applied != 1 {
				t.Errorf("stats %+v", got)
			}
			rest(t, s, c.after)
			want(t, d, c.want)
			rest(t, s, 24*time.Hour)
			want(t, d, c.want)
			if got := s.Stats().Open; got != 0 {
				t.Errorf("%d open", got)
			}
			for _, kind := range []byte("do") {
				if k := keysOf(t, s, kind); len(k) != 0 {
					t.Errorf("left in index %c: %q", kind, k)
				}
			}
		})
	}
}

func TestQuietIsCountedFromTheLastSpan(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	for i := range 10 {
		apply(t, s, message(uint64(i+1), 0, queue.Traces, body(t, sp{id: "r"}, sp{id: string('a' + rune(i)), parent: "r"})))
		rest(t, s, 25*time.Second)
	}
	want(t, d)
	rest(t, s, 5*time.Second)
	want(t, d, "0: a b c d e f g h i j r (root)")
}

func TestMaxAgeMarksTruncated(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	for i := range 31 {
		apply(t, s, message(uint64(i+1), 0, queue.Traces, body(t, sp{id: fmt.Sprintf("%08d", i), parent: "r"})))
		rest(t, s, 2*time.Minute)
	}
	all := d.all()
	if len(all) != 1 || len(all[0].Spans) != 30 || all[0].Reason != "age" || !all[0].Truncated {
		t.Fatalf("%d handed over: %+v", len(all), all)
	}
	rest(t, s, 3*time.Minute)
	if all = d.all(); len(all) != 2 || len(all[1].Spans) != 31 || all[1].Reason != "idle" || all[1].Truncated || string(all[1].Previous) != "note of "+all[0].Digest {
		t.Fatalf("the rest: %+v", all[1:])
	}
	if n := counter(t, s.metrics.reopened); n != 1 {
		t.Errorf("%d reopened", n)
	}
	if n := counter(t, s.metrics.truncated); n != 1 {
		t.Errorf("%d truncated", n)
	}
}

func TestLimits(t *testing.T) {
	for name, limit := range map[string]func(*Options){
		"spans": func(o *Options) { o.MaxSpans = 5 },
		"bytes": func(o *Options) { o.MaxBytes = 5*1200 + 600 },
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			o := d.options()
			limit(&o)
			s := open(t, t.TempDir(), o)
			spans := []sp{{id: "r"}}
			for i := range 9 {
				spans = append(spans, sp{id: string('a' + rune(i)), parent: "r", text: strings.Repeat("x", 1150)})
			}
			apply(t, s, message(1, 0, queue.Traces, body(t, spans...)))
			sweep(t, s)
			all := d.all()
			if len(all) != 1 || !all[0].Truncated || all[0].Reason != "size" || len(all[0].Spans) < 4 || len(all[0].Spans) > 6 {
				t.Fatalf("handed over %+v", all)
			}
			n := len(all[0].Spans)
			if got := counter(t, s.metrics.overflow); got != 10-n {
				t.Errorf("%d over the limit, want %d", got, 10-n)
			}
			for i := range 5 { // more of it opens it no more
				apply(t, s, message(uint64(i+2), time.Minute, queue.Traces, body(t, spans...)))
				rest(t, s, time.Hour)
			}
			if len(d.all()) != 1 || s.Stats().Open != 0 {
				t.Errorf("%d handed over, %d open", len(d.all()), s.Stats().Open)
			}
			if tr, err := s.Get(t.Context(), nameOf(0)); err != nil || len(tr.Spans) != n || !tr.Truncated {
				t.Errorf("kept: %d spans, truncated %v, %v", len(tr.Spans), tr.Truncated, err)
			}
		})
	}
}

func TestLateSpanMakesANewRevision(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "r"})))
	rest(t, s, time.Minute)
	apply(t, s, message(2, time.Minute, queue.Traces, body(t, sp{id: "r"}))) // a copy
	if s.Stats().Open != 0 || counter(t, s.metrics.duplicates) != 1 {
		t.Fatalf("a copy opened the trace: %+v", s.Stats())
	}
	rest(t, s, time.Hour)
	apply(t, s, message(3, 2*time.Minute, queue.Traces, body(t, sp{id: "c", parent: "r"})))
	rest(t, s, time.Minute)
	want(t, d, "0: c r (root)", "0: r (root)")
	all := d.all()
	if all[0].Previous != nil || string(all[1].Previous) != "note of "+all[0].Digest {
		t.Errorf("previous notes %q, %q", all[0].Previous, all[1].Previous)
	}
	if !all[1].FirstSeen.Equal(epoch) || !all[1].LastSeen.Equal(epoch.Add(2*time.Minute)) {
		t.Errorf("seen %v to %v", all[1].FirstSeen, all[1].LastSeen)
	}
}

func TestVersionsOfASpan(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	apply(t, s,
		message(1, 0, queue.Traces, body(t, sp{id: "r", text: "whole"}), body(t, sp{id: "r", open: true})),
		message(2, 0, queue.Traces, body(t, sp{id: "r", open: true, text: "begun"})))
	rest(t, s, time.Minute)
	all := d.all()
	if len(all) != 1 || len(all[0].Spans) != 1 || all[0].Spans[0].End.IsZero() {
		t.Fatalf("the ended version was not kept: %+v", all)
	}
	if text := all[0].Spans[0].Attrs.Text("text"); text != "whole" {
		t.Errorf("text %q", text)
	}
}

func TestLogRecordsJoinInTheOrderOfTheirRequest(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	texts := []string{"system", "user", "assistant", "tool", "tool", "assistant again", "end"}
	apply(t, s,
		message(1, 0, queue.Logs, logBody(t, 0, "r", texts[3:]...)),
		message(2, 0, queue.Logs, logBody(t, 0, "r", texts...)),
		message(3, 0, queue.Traces, body(t, sp{id: "r"})),
		message(4, 0, queue.Logs, logBody(t, 0, "r", texts...)))
	rest(t, s, time.Minute)
	all := d.all()
	if len(all) != 1 || len(all[0].Spans) != 1 {
		t.Fatalf("handed over %+v", all)
	}
	var got []string
	for _, l := range all[0].Spans[0].Logs {
		got = append(got, l.Body.Str())
	}
	// What both requests hold stands where it stood first, as if they came at once.
	if len(got) != len(texts) || got[0] == "end" || slices.Index(got, "user") < slices.Index(got, "system") {
		t.Errorf("records %q, want those of %q", got, texts)
	}
}

func TestNotAgentIsDropped(t *testing.T) {
	d := &desk{answer: func(tr trajectory.Trace, r Revision) ([]byte, error) { return []byte("was none"), ErrNotAgent }}
	s := open(t, t.TempDir(), d.options())
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "r"}, sp{id: "c", parent: "r"})))
	rest(t, s, time.Minute)
	if n := counter(t, s.metrics.notAgent); n != 1 {
		t.Fatalf("%d not agent", n)
	}
	gone := func() {
		t.Helper()
		if k := keysOf(t, s, 's'); len(k) != 0 || s.Stats().Open != 0 {
			t.Errorf("%d records left, %d open", len(k), s.Stats().Open)
		}
		if _, err := s.Get(t.Context(), nameOf(0)); !errors.Is(err, ErrNotFound) {
			t.Errorf("kept: %v", err)
		}
		for k, err := range s.Recent(t.Context(), time.Time{}) {
			t.Errorf("listed: %+v, %v", k, err)
		}
	}
	gone()
	apply(t, s, message(2, time.Minute, queue.Traces, body(t, sp{id: "late", parent: "r"})))
	rest(t, s, time.Hour)
	gone()
	d.answer = nil // now something of an agent comes after all
	apply(t, s, message(3, 2*time.Minute, queue.Traces, body(t, sp{id: "model", parent: "r"})))
	rest(t, s, time.Hour)
	all := d.all()
	if len(all) != 1 || !all[0].Truncated || string(all[0].Previous) != "was none" {
		t.Fatalf("handed over %+v", all)
	}
}

func TestDoneFails(t *testing.T) {
	broken := true
	tries := 0
	d := &desk{}
	d.answer = func(tr trajectory.Trace, r Revision) ([]byte, error) {
		if tr.ID == nameOf(1) {
			tries++
			if broken {
				return nil, errors.New("no answer")
			}
		}
		return nil, nil
	}
	s := open(t, t.TempDir(), d.options())
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{id: "r"}, sp{trace: 1, id: "r"}, sp{trace: 2, id: "r"})))
	rest(t, s, time.Minute)
	want(t, d, "0: r (root)", "2: r (root)")
	if seq, err := s.oldestOpen(); err != nil || seq != 0 {
		t.Errorf("a trace that cannot be handed over holds the stream back at %d, %v", seq, err)
	}
	for range 600 {
		rest(t, s, time.Second)
	}
	if tries < 10 || tries > 20 {
		t.Errorf("%d tries in ten minutes", tries)
	}
	if n := counter(t, s.metrics.failed); n != tries {
		t.Errorf("%d failures counted of %d", n, tries)
	}
	must(t, s.Close())
	s = open(t, s.dir, d.options())
	broken = false
	rest(t, s, time.Minute)
	want(t, d, "0: r (root)", "1: r (root)", "2: r (root)")
}

func TestMalformedRequestSpoilsNoOther(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	good, other := body(t, sp{id: "r"}), body(t, sp{trace: 1, id: "r"})
	bad := slices.Clone(body(t, sp{trace: 2, id: "r"}))
	bad = bad[:len(bad)-3]
	deep := slices.Clone(body(t, sp{trace: 3, id: "r", text: "broken below the span's own fields"}))
	i := strings.Index(string(deep), "broken") - 1
	deep[i] = 0xff // the length of the string
	apply(t, s, message(1, 0, queue.Traces, good, bad, other, deep), message(2, 0, "metrics", good))
	rest(t, s, time.Minute)
	want(t, d, "0: r (root)", "1: r (root)")
	if got := d.quarantined; !slices.Equal(got, []string{"malformed_request", "malformed_request", "malformed_request"}) {
		t.Fatalf("quarantined %q", got)
	}
	for i, want := range [][]byte{bad, deep, good} {
		if !slices.Equal(d.bad[i], want) {
			t.Errorf("quarantined %q, want %q", d.bad[i], want)
		}
	}
	if n := counter(t, s.metrics.quarantined.WithLabelValues("malformed_request")); n != 3 {
		t.Errorf("%d counted", n)
	}
}

func TestRecordsWithoutIDs(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	apply(t, s, message(1, 0, queue.Traces, body(t, sp{trace: -1, id: "r"}, sp{id: "r"})))
	if n := len(keysOf(t, s, 's')); n != 2 { // trace -1 is ...7a and zeros
		t.Fatalf("%d records", n)
	}
	zero := body(t, sp{id: "r"})
	copy(zero[strings.Index(string(zero), string(idBytes(0))):], make([]byte, 16))
	apply(t, s, message(2, 0, queue.Traces, zero))
	if n := counter(t, s.metrics.unplaced); n != 1 {
		t.Errorf("%d unplaced", n)
	}
	if n := len(keysOf(t, s, 's')); n != 2 {
		t.Errorf("%d records", n)
	}
}

func idBytes(n int) []byte { id := idOf(n); return id[:] }

func TestQuarantineThatFailsKeepsTheMessage(t *testing.T) {
	d := &desk{}
	o := d.options()
	refuse := errors.New("full")
	take := o.Quarantine
	o.Quarantine = nil
	if _, err := Open(quiet, t.TempDir(), o); err == nil || !strings.Contains(err.Error(), "required") {
		t.Fatalf("opened without quarantine: %v", err)
	}
	o.Quarantine = func(ctx context.Context, reason string, meta map[string]string, b []byte) error {
		if refuse != nil {
			return refuse
		}
		return take(ctx, reason, meta, b)
	}
	s := open(t, t.TempDir(), o)
	m := message(1, 0, queue.Traces, body(t, sp{id: "r"}), []byte("\x0a\xffbad"))
	if err := s.Apply(t.Context(), m); !errors.Is(err, refuse) || s.Stats().Applied != 0 {
		t.Fatalf("applied %d, %v", s.Stats().Applied, err)
	}
	refuse = nil
	apply(t, s, m)
	rest(t, s, time.Minute)
	want(t, d, "0: r (root)")
	if len(d.quarantined) != 1 {
		t.Errorf("quarantined %q", d.quarantined)
	}
}
