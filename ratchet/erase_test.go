package ratchet

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/verify"
	"github.com/pawl-dev/pawl/test/sample"
)

// TestErase: a person's address is gone from the recordings and the words of a group; a value that stands in a case which nobody saw takes that case back, and it
// is made anew without it. The failure is still seen in what is left.
func TestErase(t *testing.T) {
	if redact.Erased != verify.Erased {
		t.Fatal("an erasure in a set would not be known by what stands in its place")
	}
	q := testQueue(t)
	a := absorberOver(t, q, nil, Options{Mode: ghpr.ModePreview})
	judge(t, q, "loop", 1)
	round(t, a, noon)
	_, run := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	address := regexp.MustCompile(`\S+@\S+\w`).FindString(run.User)
	parcel := regexp.MustCompile(`parcel (\S+)\.`).FindStringSubmatch(run.User)[1]
	for _, c := range []struct {
		value     string
		withdrawn int
	}{{address, 0}, {parcel, 1}} {
		s, err := redact.NewSubject(c.value)
		if err != nil {
			t.Fatal(err)
		}
		old := onlyGroup(t, a).Specimens[0].Object
		for _, dry := range []bool{true, false} {
			got, err := a.Erase(t.Context(), s, dry)
			if err != nil || got.Specimens != 1 || len(got.Withdrawn) != c.withdrawn || len(got.Left) != 0 {
				t.Fatalf("%s, dry %v: %+v, %v", c.value, dry, got, err)
			}
		}
		g := onlyGroup(t, a)
		doc, err := q.Objects.Get(t.Context(), g.Specimens[0].Object)
		if err != nil || strings.Contains(string(doc), c.value) || !strings.Contains(string(doc), redact.Erased) {
			t.Errorf("%s: the recording: %v, %s", c.value, err, doc)
		}
		if _, err := q.Objects.Get(t.Context(), old); err == nil {
			t.Errorf("%s: the old recording is still there", c.value)
		}
		if got, err := a.Erase(t.Context(), s, true); err != nil || got.Specimens+got.Groups+len(got.Withdrawn) != 0 {
			t.Errorf("again: %+v, %v", got, err)
		}
		round(t, a, noon.Add(time.Hour))
	}
	b := batchesOf(t, a)
	m := b[len(b)-1].Members
	if len(m) != 1 {
		t.Fatalf("no case was made anew: %+v", b)
	}
	yaml, trace, err := a.content(t.Context())(m[0])
	if err != nil || strings.Contains(yaml+trace, parcel) || !strings.Contains(yaml+trace, redact.Erased) {
		t.Errorf("%v: %s", err, yaml)
	}
}

// TestEraseNamesWhatIsOut: what a pull request holds cannot be taken back.
func TestEraseNamesWhatIsOut(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	judge(t, q, "loop", 1)
	round(t, a, noon)
	_, run := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	s, err := redact.NewSubject(regexp.MustCompile(`parcel (\S+)\.`).FindStringSubmatch(run.User)[1])
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Erase(t.Context(), s, false)
	if err != nil || len(got.Left) != 1 || !strings.Contains(got.Left[0], "/pull/1: case loop-") || len(got.Withdrawn) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestEraseInStreams: what was said in streams, in the quarantine and of services is gone, encoded or not; what nobody has read yet is counted and comes with the
// next time; and what was decided stays told.
func TestEraseInStreams(t *testing.T) {
	q := testQueue(t)
	a := absorberOver(t, q, nil, Options{Mode: ghpr.ModePreview})
	const who = "Maya Lindqvist"
	hidden := base64.StdEncoding.EncodeToString([]byte("it was " + who + " who asked"))
	s, err := redact.NewSubject(who)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, seed := range []uint64{1, 2} {
		v := variant(t, a, q, seed, "one")
		v.Unexplained, v.Findings[0].Why = "ended: "+who+" cannot be found", "see "+hidden
		say(t, q, v)
	}
	_, err = q.Flags.Append(t.Context(), "", []byte(`{"trace_id":"x","reason":"`+who+`"}`))
	must(err)
	must(q.Quarantine(t.Context(), "odd", map[string]string{"error": "of " + who}, []byte("\x00\x01")))
	must(q.Quarantine(t.Context(), "odd", nil, []byte("\x00\x02 another")))
	first, err := a.Erase(t.Context(), s, false)
	must(err)
	if first.Unread == 0 || first.Messages != 1 || first.Unexplained != 0 {
		t.Fatalf("before they are read: %+v", first)
	}
	round(t, a, noon)
	g := onlyGroup(t, a)
	must(a.Tell(t.Context(), "decision", &g, Decision{Who: "ana", When: noon, Choice: ChoiceApprove, Reason: "as " + who + " says, " + hidden}))
	must(q.Flags.SetCursor(t.Context(), flagReader, 2))
	for _, dry := range []bool{true, false} {
		e, err := a.Erase(t.Context(), s, dry)
		must(err)
		if e.Groups != 1 || e.Unexplained != 2 || e.Messages < 2 || e.Unread != 0 {
			t.Fatalf("dry %v: %+v", dry, e)
		}
	}
	g = onlyGroup(t, a)
	if s.In(g.Why) || !strings.Contains(g.Why, "see "+redact.Erased) {
		t.Errorf("the group says %q", g.Why)
	}
	told, _, err := a.Audit(t.Context(), AuditFilter{}, 0, 10)
	must(err)
	if len(told) != 1 || told[0].Decision.Who != "ana" || told[0].Decision.Choice != ChoiceApprove || told[0].Decision.Reason != "as [erased] says, [erased]" {
		t.Errorf("told: %+v", told)
	}
	left := 0
	for m, err := range q.ListQuarantine(t.Context(), 0) {
		must(err)
		if left++; s.In(fmt.Sprint(m.Meta)) {
			t.Error("the quarantine holds it")
		}
	}
	if left != 1 {
		t.Errorf("%d left in the quarantine", left)
	}
	if e, err := a.Erase(t.Context(), s, true); err != nil || e.Groups+e.Unexplained+e.Messages+e.Unread+e.Flags+e.Specimens != 0 {
		t.Errorf("again: %+v, %v", e, err)
	}
	say(t, q, variant(t, a, q, 3, "one")) // the streams go on
	round(t, a, noon)
	if n := onlyGroup(t, a).Count; n != 3 {
		t.Errorf("%d counted", n)
	}
}
