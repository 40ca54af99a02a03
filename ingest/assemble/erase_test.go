package assemble

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// TestRewrite: a value is gone from every record and resource of every kept trace, ids and revisions stay, and nothing is handed over anew.
func TestRewrite(t *testing.T) {
	d := &desk{}
	s := open(t, t.TempDir(), d.options())
	apply(t, s,
		message(1, 0, queue.Traces, body(t, sp{id: "r", text: "mail to Ines Falk, please"}, sp{id: "c", parent: "r", text: "other words"}, sp{trace: 1, id: "r", text: "nothing", from: " of Ines Falk"})),
		message(2, time.Second, queue.Logs, logBody(t, 0, "r", "Ines Falk was here", "and left")),
		message(3, 2*time.Second, queue.Traces, body(t, sp{trace: 2, id: "r", text: "nobody"})))
	rest(t, s, 10*time.Minute)
	before := len(d.all())
	blank := func(text string) string { return strings.ReplaceAll(text, "Ines Falk", "[erased]") }
	want := Rewritten{Traces: 1, Records: 2, Shared: 1}
	for _, dry := range []bool{true, false} {
		if got, err := s.Rewrite(t.Context(), blank, dry); err != nil || got != want {
			t.Fatalf("dry %v: %+v, %v; want %+v", dry, got, err, want)
		}
	}
	if got, err := s.Rewrite(t.Context(), blank, true); err != nil || got != (Rewritten{}) {
		t.Errorf("again: %+v, %v", got, err)
	}
	for n := range 3 {
		raw, err := s.Raw(t.Context(), nameOf(n), time.Time{})
		must(t, err)
		all := append(raw.Traces, raw.Logs...)
		if bytes.Contains(all, []byte("Ines")) {
			t.Errorf("trace %d still holds it", n)
		}
		if n < 2 && !bytes.Contains(all, []byte("[erased]")) {
			t.Errorf("trace %d does not say that something was erased", n)
		}
		trace, err := s.Get(t.Context(), nameOf(n))
		must(t, err)
		if len(trace.Spans) != map[int]int{0: 2, 1: 1, 2: 1}[n] {
			t.Errorf("trace %d has %d spans", n, len(trace.Spans))
		}
	}
	sweep(t, s)
	rest(t, s, time.Hour)
	if after := len(d.all()); after != before {
		t.Errorf("%d traces were handed over anew", after-before)
	}
}
