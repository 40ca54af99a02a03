package ratchet

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
)

func loopOf(tool string) classify.Fingerprint {
	return classify.NewFingerprint("loop", "parcel-desk", "desk", classify.Names("tools", tool))
}

// publishFound publishes a verdict on one revision of a trace that shows these failures; before are those that the revision before showed.
func publishFound(t *testing.T, q *queue.Queue, trace, revision string, before []string, fps ...classify.Fingerprint) {
	t.Helper()
	v := Verdict{TraceID: trace, Revision: revision, Service: "parcel-desk", Verdict: classify.Failing, Findings: []Found{}, Seen: noon}
	if before != nil {
		v.Replaces = &Previous{Revision: "before", Fingerprints: before}
	}
	for _, fp := range fps {
		v.Findings = append(v.Findings, Found{Finding: classify.Finding{Label: "loop", Rule: "loop@1", Severity: classify.Warning, Confidence: 0.9, Fingerprint: fp, Why: "again"}, Form: classify.FormNone, Title: "a loop"})
	}
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Findings.Append(t.Context(), trace+" "+revision, doc); err != nil {
		t.Fatal(err)
	}
}

func traceNo(n int) string { return fmt.Sprintf("%032x", n) }

func catchUp(t *testing.T, a *Absorber) {
	t.Helper()
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantCount(t *testing.T, a *Absorber, fp classify.Fingerprint, want int) Group {
	t.Helper()
	g, err := a.Group(t.Context(), fp.Digest())
	if err != nil || g.Count != want {
		t.Errorf("%s: count %d, %v, want %d", fp.ID(), g.Count, err, want)
	}
	return g
}

func because(who string) Merge { return Merge{Who: who, When: noon, Reason: "the tool was renamed"} }

func mergeOK(t *testing.T, a *Absorber, x, y classify.Fingerprint) {
	t.Helper()
	if _, err := a.Merge(t.Context(), x.ID(), y.ID(), because("ana")); err != nil {
		t.Fatal(err)
	}
}

func TestMergedGroupTakesWhatIsFoundOfItsAlias(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x, y := loopOf("old"), loopOf("new")
	publishFound(t, q, traceNo(1), "r", nil, x)
	publishFound(t, q, traceNo(2), "r", nil, x, y) // counts once
	publishFound(t, q, traceNo(3), "r", nil, y)
	catchUp(t, a)
	other := testAbsorber(t, q, testFake(t)) // has read the aliases before there was one
	if err := other.learnMerges(t.Context()); err != nil {
		t.Fatal(err)
	}
	mergeOK(t, a, x, y)
	mergeOK(t, a, x, y) // again is no error and counts nothing twice
	g := wantCount(t, a, y, 3)
	if !g.Fingerprint.Knows(x.Digest()) || len(g.Decisions) != 1 || g.Decisions[0].Who != "ana" {
		t.Errorf("the group does not tell of its alias: %+v", g)
	}
	publishFound(t, q, traceNo(4), "r", nil, x)
	publishFound(t, q, traceNo(5), "r", nil, y)
	publishFound(t, q, traceNo(6), "r", nil, x, y)
	catchUp(t, other)
	wantCount(t, a, y, 6)
	if alias := wantCount(t, a, x, 2); alias.Merged == nil || alias.Merged.Into != y.Digest() {
		t.Errorf("the alias does not point home: %+v", alias.Merged)
	}
	if info, err := q.Audit.Info(t.Context()); err != nil || info.Messages != 1 {
		t.Errorf("%d messages in the audit log, %v, want 1", info.Messages, err)
	}
}

func TestAliasIsTakenBack(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x, y := loopOf("old"), loopOf("new")
	publishFound(t, q, traceNo(1), "r", nil, x)
	publishFound(t, q, traceNo(2), "r", nil, x)
	publishFound(t, q, traceNo(3), "r", nil, y)
	catchUp(t, a)
	mergeOK(t, a, x, y)
	wantCount(t, a, y, 3)
	publishFound(t, q, traceNo(1), "later", []string{x.Digest()})    // no longer shown
	publishFound(t, q, traceNo(2), "later", []string{x.Digest()}, y) // shown under the other name: still one
	catchUp(t, a)
	wantCount(t, a, y, 2)
	publishFound(t, q, traceNo(3), "later", []string{y.Digest(), x.Digest()})
	catchUp(t, a)
	wantCount(t, a, y, 1)
}

func TestMergeGoesOneHop(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x, y, z := loopOf("x"), loopOf("y"), loopOf("z")
	for i, fp := range []classify.Fingerprint{x, y, z} {
		publishFound(t, q, traceNo(i+1), "r", nil, fp)
	}
	catchUp(t, a)
	mergeOK(t, a, x, y)
	mergeOK(t, a, z, x) // x is y
	wantCount(t, a, y, 3)
	if m, err := a.merged(t.Context(), z.Digest()); err != nil || m == nil || m.Into != y.Digest() {
		t.Errorf("z leads to %+v, %v, want y", m, err)
	}
	for _, c := range [][2]string{{y.ID(), z.ID()}, {x.ID(), y.ID() + "0"}} {
		if _, err := a.Merge(t.Context(), c[0], c[1], because("bo")); err == nil {
			t.Errorf("%s was merged into %s", c[0], c[1])
		}
	}
	w := loopOf("w")
	publishFound(t, q, traceNo(9), "r", nil, w)
	catchUp(t, a)
	for _, id := range []string{y.ID(), x.ID()} {
		if _, err := a.Merge(t.Context(), id, w.ID(), because("bo")); !isUnmergeable(err) {
			t.Errorf("%s moved: %v", id, err)
		}
	}
}

func isUnmergeable(err error) bool {
	_, ok := errors.AsType[*Unmergeable](err)
	return ok
}

func TestTwoMergesAtOnce(t *testing.T) {
	q := testQueue(t)
	f := testFake(t)
	x, y, z := loopOf("x"), loopOf("y"), loopOf("z")
	first := testAbsorber(t, q, f)
	for i, fp := range []classify.Fingerprint{x, y, z} {
		publishFound(t, q, traceNo(i+1), "r", nil, fp)
	}
	catchUp(t, first)
	absorbers := []*Absorber{first, testAbsorber(t, q, f)}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, into := range []classify.Fingerprint{y, z} {
		wg.Go(func() { _, errs[i] = absorbers[i].Merge(t.Context(), x.ID(), into.ID(), because("both")) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !isUnmergeable(errors.Join(errs...)) {
		t.Fatalf("%v: want one merge and one reason", errs)
	}
	won, lost := y, z
	if errs[0] != nil {
		won, lost = z, y
	}
	wantCount(t, first, won, 2)
	wantCount(t, first, lost, 1)
}

func TestMergeGoesOnAfterAKill(t *testing.T) {
	for _, pointed := range []bool{false, true} {
		q := testQueue(t)
		a := testAbsorber(t, q, testFake(t))
		x, y := loopOf("old"), loopOf("new")
		publishFound(t, q, traceNo(1), "r", nil, x)
		publishFound(t, q, traceNo(2), "r", nil, y)
		catchUp(t, a)
		m := because("ana")
		m.Into = y.Digest()
		if err := a.claim(t.Context(), x.Digest(), m); err != nil {
			t.Fatal(err)
		}
		if pointed {
			if err := a.changeGroup(t.Context(), x.Digest(), func(g *Group) bool { g.Merged = &m; return true }); err != nil {
				t.Fatal(err)
			}
		}
		publishFound(t, q, traceNo(3), "r", nil, x) // killed here
		for range 2 {
			b := testAbsorber(t, q, testFake(t))
			catchUp(t, b)
			if err := b.Sweep(t.Context(), noon.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			wantCount(t, b, y, 3)
			wantCount(t, b, x, 1)
		}
	}
}

func TestGroupsStayApart(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	failures(t, q, 1, 2)
	a := testAbsorber(t, q, f)
	sweep(t, a, noon)
	gs, err := a.Groups(t.Context())
	if err != nil || len(gs) < 2 {
		t.Fatal(len(gs), err)
	}
	if _, err := a.Merge(t.Context(), gs[0].ID(), gs[1].ID(), because("ana")); !isUnmergeable(err) || !strings.Contains(err.Error(), "label") {
		t.Errorf("different labels: %v", err)
	}
	x, y := Group{Fingerprint: loopOf("x"), Batch: "b"}, Group{Fingerprint: loopOf("y")}
	if apart(&x, &y) == "" || apart(&y, &x) != "" {
		t.Error("a group that has a case was made an alias, or takes none")
	}
	y.Batch = "c"
	if !strings.Contains(apart(&x, &y), "both") {
		t.Error("two groups that have cases were merged")
	}
}
