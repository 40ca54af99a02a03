package flag_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/flag"
)

const id = "4bf92f3577b34da6a3ce929d0e0e4736"

var now = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func TestNormal(t *testing.T) {
	for in, want := range map[string]string{
		id: id, strings.ToUpper(id): id, "4bf92f35-77b3-4da6-a3ce-929d0e0e4736": id, " " + id + "\n": id,
		"": "", strings.Repeat("0", 32): "", id[:31]: "", id + "0": "", "run-17": "", strings.Repeat("g", 32): "",
	} {
		if got := flag.Normal(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestNew(t *testing.T) {
	hour := &flag.Window{From: now.Add(-time.Hour), To: now}
	for _, c := range []struct {
		name string
		in   flag.Flag
		ok   bool
	}{
		{"trace", flag.Flag{Source: "x", RawID: strings.ToUpper(id)}, true},
		{"window", flag.Flag{Source: "x", Window: hour}, true},
		{"nothing", flag.Flag{Source: "x"}, false},
		{"no source", flag.Flag{RawID: id}, false},
		{"foreign id", flag.Flag{Source: "x", RawID: "run-17"}, false},
		{"both", flag.Flag{Source: "x", RawID: id, Window: hour}, false},
		{"backwards", flag.Flag{Source: "x", Window: &flag.Window{From: now, To: now.Add(-time.Second)}}, false},
		{"a month", flag.Flag{Source: "x", Window: &flag.Window{From: now.AddDate(0, -1, 0), To: now}}, false},
	} {
		f, err := flag.New(c.in, "", now)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.ok && (len(f.ID) != 32 || !f.Received.Equal(now)) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// The same claim has the same name whenever it comes, and its texts are bounded.
func TestNameOfAClaim(t *testing.T) {
	long := flag.Flag{Source: "x", RawID: id, Reason: strings.Repeat("é", 5000), Link: strings.Repeat("y", 5000)}
	a, err1 := flag.New(long, "k", now)
	b, err2 := flag.New(long, "k", now.Add(time.Hour))
	c, err3 := flag.New(long, "other", now)
	if err1 != nil || err2 != nil || err3 != nil || a.ID != b.ID || a.ID == c.ID {
		t.Fatalf("%v %v %v: %s %s %s", err1, err2, err3, a.ID, b.ID, c.ID)
	}
	if len(a.Reason) > flag.MaxReason || len(a.Link) > 1000 {
		t.Errorf("%d and %d bytes", len(a.Reason), len(a.Link))
	}
}

func FuzzDecode(f *testing.F) {
	one, err := flag.New(flag.Flag{Source: "x", RawID: id, Reason: "a\nb"}, "", now)
	if err != nil {
		f.Fatal(err)
	}
	two, err := flag.New(flag.Flag{Source: "x", Window: &flag.Window{From: now, To: now, Service: "shop"}}, "", now)
	if err != nil {
		f.Fatal(err)
	}
	doc, err := flag.Encode([]flag.Flag{one, two})
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.SplitSeq(doc, []byte("\n")) {
		f.Add(line)
	}
	f.Add([]byte(`{"id":"a","source":"b","trace_id":"c"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := flag.Decode(line)
		if err != nil {
			return
		}
		doc, err := flag.Encode([]flag.Flag{got})
		if err != nil {
			t.Fatal(err)
		}
		again, err := flag.Decode(doc)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(again)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

// TestForeign: an id that is no OpenTelemetry id is taken where a home can be asked for it, and only there; it survives being stored.
func TestForeign(t *testing.T) {
	if _, err := flag.New(flag.Flag{Source: "langfuse", RawID: "order-talk-7"}, "", now); err == nil {
		t.Error("taken without a home")
	}
	f, err := flag.NewForeign(flag.Flag{Source: "langfuse", Project: "p", RawID: "order-talk-7"}, "k", now)
	if err != nil || !f.Foreign() {
		t.Fatal(f, err)
	}
	other, err := flag.NewForeign(flag.Flag{Source: "langfuse", Project: "p", RawID: "order-talk-8"}, "k", now)
	if err != nil || other.ID == f.ID {
		t.Errorf("two ids are one flag: %v, %v", other, err)
	}
	known, err := flag.NewForeign(flag.Flag{Source: "langfuse", RawID: id}, "", now)
	if err != nil || known.Foreign() || known.TraceID == "" {
		t.Errorf("%+v, %v", known, err)
	}
	doc, err := flag.Encode([]flag.Flag{f})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := flag.Decode(doc); err != nil || got != f {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []flag.Flag{{Source: "x"}, {RawID: "y"}, {Source: "x", RawID: "y", Window: &flag.Window{From: now.Add(time.Hour), To: now}}} {
		if _, err := flag.NewForeign(bad, "", now); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
