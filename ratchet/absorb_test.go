package ratchet

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
	"github.com/pawl-dev/pawl/test/sample"
)

const pawlToken = "token-of-the-bot"

func testQueue(t testing.TB) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), quiet, queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

func testFake(t *testing.T) *fakegithub.Fake {
	t.Helper()
	f, err := fakegithub.New(quiet, t.TempDir(), fakegithub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	openapi.Watch(t, f)
	if err := f.AddUser(fakegithub.User{Login: "pawl-bot", Token: pawlToken, Right: "write"}); err != nil {
		t.Fatal(err)
	}
	if err := f.AddUser(fakegithub.User{Login: "ana", Token: "token-of-ana", Right: "write"}); err != nil {
		t.Fatal(err)
	}
	if err := f.AddRepo("acme", "parcels", ""); err != nil {
		t.Fatal(err)
	}
	return f
}

func testAbsorber(t *testing.T, q *queue.Queue, f *fakegithub.Fake) *Absorber {
	t.Helper()
	pr, err := ghpr.New(quiet, ghpr.Options{Mode: ghpr.ModeOpen, BaseURL: "http://127.0.0.1:1/", Token: pawlToken, Transport: f.Transport(), Pace: -1,
		Limits: ghpr.Limits{Open: 10, PerHour: 10, PerDay: 10}})
	if err != nil {
		t.Fatal(err)
	}
	return NewAbsorber(quiet, q, testMaker(t), pr, Options{Policy: Policy{MinCount: 2, MinConfidence: 0.8}, Propose: true, Mode: ghpr.ModeOpen,
		Targets: []Target{{Service: "parcel-*", Repo: "acme/parcels", Base: "main", Set: "regressions"}}})
}

// failures publishes the verdicts on one trace of each failing scenario.
func failures(t *testing.T, q *queue.Queue, seeds ...uint64) {
	t.Helper()
	d := sample.Dialects[0]
	base := healthyBaseline(d)
	w := NewWorker(quiet, q, testMaker(t).Engine, func() *baseline.Snapshot { return base })
	for _, seed := range seeds {
		for _, name := range []string{"schema", "loop", "unknown-tool"} {
			tr, _ := sampled(d, sample.Named(name), seed)
			if _, err := w.Judge(t.Context(), tr, "rev", nil, time.Unix(int64(seed), 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sweep folds and sweeps a few rounds: freezing and opening take one each.
func sweep(t *testing.T, a *Absorber, now time.Time) {
	t.Helper()
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := a.Sweep(t.Context(), now.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAbsorbOpensOnePullRequestPerLabel(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	failures(t, q, 1, 2)
	a := testAbsorber(t, q, f)
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	sweep(t, a, now)
	pulls := f.Pulls("acme", "parcels")
	if len(pulls) != 3 {
		t.Fatalf("%d pull requests, want 3: %+v", len(pulls), pulls)
	}
	for _, p := range pulls {
		if strings.Contains(p.Body, "customers.example") || !strings.HasPrefix(p.Head, "pawl/") {
			t.Errorf("pull request from %s leaks or is misnamed:\n%s", p.Head, p.Body)
		}
	}

	// The same verdicts again, a new absorber, and more of the same failure: nothing new.
	failures(t, q, 1, 2, 3)
	sweep(t, testAbsorber(t, q, f), now.Add(time.Hour))
	if again := f.Pulls("acme", "parcels"); len(again) != 3 {
		t.Errorf("%d pull requests after a repetition, want 3", len(again))
	}
	for e, err := range q.Groups.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		g, err := a.Group(t.Context(), e.Key)
		if err != nil {
			t.Fatal(err)
		}
		if g.Count != 3 || g.Batch == "" {
			t.Errorf("%s: count %d in batch %q, want 3 sightings in a batch", g.ID(), g.Count, g.Batch)
		}
	}
}

func TestClosedPullRequestIsANo(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	failures(t, q, 1)
	a := testAbsorber(t, q, f)
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	sweep(t, a, now)
	if err := f.Human("ana").Close("acme/parcels", 1); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	sweep(t, a, now)
	denied := 0
	for e, err := range q.Groups.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		g, err := a.Group(t.Context(), e.Key)
		if err != nil {
			t.Fatal(err)
		}
		if d, no := g.Denied(); no {
			denied++
			if d.Who != "ana" {
				t.Errorf("denied by %q, want ana", d.Who)
			}
		}
	}
	if denied != 1 {
		t.Errorf("%d groups know of the no, want 1", denied)
	}
	failures(t, q, 4, 5)
	sweep(t, a, now.Add(time.Hour))
	if n := len(f.Pulls("acme", "parcels")); n != 3 {
		t.Errorf("%d pull requests, want the 3 there were", n)
	}
}

func TestLateSpansReplaceTheVerdict(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := testAbsorber(t, q, f)
	w := NewWorker(quiet, q, a.maker.Engine, func() *baseline.Snapshot { return nil })
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	early := tr
	early.Spans = slices.Clone(tr.Spans) // the failure as it stands
	note, err := w.Judge(t.Context(), early, "one", nil, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	healthy, _ := sampled(sample.Dialects[0], sample.Named("healthy"), 1)
	healthy.ID = tr.ID
	for i := range healthy.Spans {
		healthy.Spans[i].TraceID = tr.ID
	}
	if _, err := w.Judge(t.Context(), healthy, "two", note, time.Unix(2, 0)); err != nil {
		t.Fatal(err)
	}
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	for e, err := range q.Groups.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if g, err := a.Group(t.Context(), e.Key); err != nil || g.Count != 0 {
			t.Errorf("%s: count %d after the retraction, %v", g.ID(), g.Count, err)
		}
	}
}

func TestBaselinesLearnFromPassingTracesOnce(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := testAbsorber(t, q, f)
	w := NewWorker(quiet, q, a.maker.Engine, func() *baseline.Snapshot { return nil })
	var key baseline.Key
	for seed := range uint64(25) {
		tr, _ := sampled(sample.Dialects[0], sample.Named("healthy"), seed)
		key = baseline.KeyOf(trajectory.Build(tr))
		if _, err := w.Judge(t.Context(), tr, "rev", nil, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	// Folded, and killed before the cursor moved: the next absorber reads all of it again.
	info, err := q.Findings.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var folded []sequenced
	for m, err := range q.Findings.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		var v Verdict
		if err := json.Unmarshal(m.Data, &v); err != nil {
			t.Fatal(err)
		}
		if folded = append(folded, sequenced{m.Seq, v}); m.Seq == info.Last {
			break
		}
	}
	if err := a.fold(t.Context(), folded); err != nil {
		t.Fatal(err)
	}
	if err := testAbsorber(t, q, f).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := Snapshot(context.WithoutCancel(t.Context()), q)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(key, baseline.TotalTokens); got.N != 25 || got.Median < 900 || got.Median > 1000 {
		t.Errorf("baseline %+v, want 25 runs of about 950 tokens", got)
	}
}

// TestLongBodiesFitTheirValue holds that a batch as large as it may get is still stored: its words lie in the object store.
func TestLongBodiesFitTheirValue(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := testAbsorber(t, q, f)
	d := sample.Dialects[0]
	tr, _ := sampled(d, sample.Named("loop"), 1)
	finding := findingOf(t, a.maker, tr, nil, "loop")
	b := Batch{Repo: "acme/parcels", Base: "main", Set: "regressions", Label: "loop", Service: "parcel-desk", Number: 1}
	for i := range 10 {
		made, err := a.maker.Make([]trajectory.Trace{tr}, finding, Sightings{Count: 1, Traces: []string{tr.ID}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := a.store(t.Context(), made)
		if err != nil {
			t.Fatal(err)
		}
		m.Fingerprint = strings.Repeat(string('a'+rune(i)), 64)
		m.CaseID = "loop-" + m.Fingerprint[:10]
		m.Why = strings.Repeat("a sentence with \"quotes\" in it ", 100)
		b.Join(m)
	}
	if err := a.changeBatch(t.Context(), b.Key(), func(stored *Batch) error { *stored = b; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := a.drive(t.Context(), time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), &b); err != nil {
		t.Fatal(err)
	}
	pulls := f.Pulls("acme", "parcels")
	if len(pulls) != 1 || len(pulls[0].Body) < 40_000 {
		t.Fatalf("%d pull requests, body of %d bytes", len(pulls), len(pulls[0].Body))
	}
}

func TestServicesAreCountedOncePerMessage(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := testAbsorber(t, q, f)
	failures(t, q, 1, 2)
	w := NewWorker(quiet, q, a.maker.Engine, func() *baseline.Snapshot { return nil })
	healthy, _ := sampled(sample.Dialects[0], sample.Named("healthy"), 7)
	if _, err := w.Judge(t.Context(), healthy, "rev", nil, time.Unix(9, 0)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second absorber reads nothing new
		if err := testAbsorber(t, q, f).CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := a.Services(t.Context())
	if err != nil || len(got) != 1 {
		t.Fatalf("%d services, %v", len(got), err)
	}
	s := got[0]
	if s.Name != "parcel-desk" || s.Traces() != 7 || s.Verdicts[classify.Failing] != 6 || s.Verdicts[classify.Passing] != 1 {
		t.Errorf("%+v, want 6 failing and 1 passing of parcel-desk", s)
	}
	if !slices.ContainsFunc(s.Blind, func(b sight.Blind) bool { return b.Missing == trajectory.FactBaseline }) {
		t.Errorf("blind spots %+v, want the missing baseline", s.Blind)
	}
}
