package ratchet

import (
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
