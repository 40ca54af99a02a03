package ratchet

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
)

func occurrence(n int) Occurrence {
	f := classify.Finding{Label: "loop", Rule: "loop@1", Severity: classify.Blocking, Confidence: 0.9, Fingerprint: classify.NewFingerprint("loop", "s", "a")}
	return Occurrence{Finding: Found{Finding: f, Form: classify.FormNever}, TraceID: fmt.Sprintf("%032d", n), Revision: fmt.Sprintf("r%d", n),
		SessionID: fmt.Sprintf("s%d", n), Object: fmt.Sprintf("sha256:%d", n), Seen: time.Unix(int64(n), 0).UTC(), Sequence: uint64(n)}
}

// TestTakeTwiceIsTakeOnce replays any suffix of what was applied, as a restart does, and wants the same group.
func TestTakeTwiceIsTakeOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 1 + rng.IntN(20)
		apply := func(g *Group, from int) {
			for i := from; i <= n; i++ {
				g.Take(occurrence(i))
				g.Applied = max(g.Applied, uint64(i))
			}
		}
		var once, twice Group
		apply(&once, 1)
		apply(&twice, 1)
		apply(&twice, 1+rng.IntN(n))
		if !reflect.DeepEqual(once, twice) {
			t.Fatalf("replaying changed the group:\n%+v\n%+v", once, twice)
		}
		if once.Count != n {
			t.Fatalf("count %d, want %d", once.Count, n)
		}
	}
}

func TestSameOccurrenceUnderAnotherSequenceCountsOnce(t *testing.T) {
	var g Group
	o := occurrence(1)
	g.Take(o)
	g.Applied = 1
	o.Sequence = 9 // a worker that was killed before it noted that it had published
	if g.Take(o) || g.Count != 1 {
		t.Errorf("count %d, want 1", g.Count)
	}
}

func TestRetract(t *testing.T) {
	var g Group
	g.Take(occurrence(1))
	g.Take(occurrence(2))
	g.Applied = 2
	o := occurrence(1)
	if !g.Retract(o.TraceID, "r9", nil, 3) || g.Count != 1 || len(g.Specimens) != 1 {
		t.Errorf("after the retraction: count %d, %d specimens, want 1 and 1", g.Count, len(g.Specimens))
	}
	g.Applied = 3
	if g.Retract(o.TraceID, "r9", nil, 4) {
		t.Error("retracted twice")
	}
	o.Revision, o.Sequence = "r10", 5
	if !g.Take(o) || g.Count != 2 || len(g.Specimens) != 2 {
		t.Errorf("when the failure is back: count %d, %d specimens, want 2 and 2", g.Count, len(g.Specimens))
	}
}

// TestRevisionsOfATraceCountOnce holds with and without the note of the revision before, which a kill may lose, and for a trace that the group saw too
// long ago to remember.
func TestRevisionsOfATraceCountOnce(t *testing.T) {
	for _, others := range []int{0, maxSeen + 1} {
		var g Group
		first := occurrence(0)
		first.Sequence = 1
		g.Take(first)
		for i := range others {
			g.Take(occurrence(i + 2))
		}
		g.Applied = uint64(others + 1)
		next := first
		next.Revision, next.Object, next.Sequence, next.Again = "later", "sha256:later", g.Applied+1, others > 0
		if !g.Take(next) || g.Count != others+1 {
			t.Errorf("%d others: count %d, want %d", others, g.Count, others+1)
		}
		if g.Specimens[0].Object != "sha256:later" {
			t.Errorf("%d others: the specimen still is %v", others, g.Specimens[0])
		}
		next.Sequence++ // published twice
		if g.Take(next) {
			t.Errorf("%d others: the later revision was taken twice", others)
		}
	}
}

// TestRunIsLearntOnce holds when its verdict is published twice, and when a batch is folded twice.
func TestRunIsLearntOnce(t *testing.T) {
	run := baseline.Run{Key: baseline.Key{Service: "s", Agent: "a", Route: "r"}, Values: map[baseline.Metric]float64{baseline.TotalTokens: 100}}
	verdict := func(trace string, seq uint64) sequenced {
		return sequenced{seq, Verdict{TraceID: trace, Revision: "r", Run: &run}}
	}
	var stored []byte
	for _, vs := range [][]sequenced{{verdict("0001", 1)}, {verdict("0002", 2), verdict("0003", 2)}, {verdict("0003", 2)}, {verdict("0001", 3), verdict("0004", 4)}} {
		l, err := decodeBaseline(stored)
		if err != nil {
			t.Fatal(err)
		}
		l.take(vs)
		if stored, err = l.encode(); err != nil {
			t.Fatal(err)
		}
	}
	l, err := decodeBaseline(stored)
	if err != nil {
		t.Fatal(err)
	}
	if n := l.runs.Snapshot().Stats(run.Key, baseline.TotalTokens).N; n != 4 {
		t.Errorf("%v runs, want 4", n)
	}
}

// TestGroupStaysSmall holds the value of a group under its bound, however often the failure is seen.
func TestGroupStaysSmall(t *testing.T) {
	var g Group
	for i := 1; i <= 5000; i++ {
		g.Take(occurrence(i))
		g.Decide(Decision{Who: "ana", Choice: "approve", Reason: "a reason of some length, as people write it", Digest: "0123456789"})
	}
	b, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > queue.MaxValue {
		t.Errorf("%d bytes, bound is %d", len(b), queue.MaxValue)
	}
	if g.Count != 5000 || len(g.Specimens) != maxSpecimens {
		t.Errorf("count %d, %d specimens", g.Count, len(g.Specimens))
	}
}

func TestPolicy(t *testing.T) {
	blocking := func() Group {
		var g Group
		g.Take(occurrence(1))
		return g
	}
	for name, c := range map[string]struct {
		policy Policy
		change func(*Group)
		want   bool
	}{
		"blocking, once":        {Policy{MinCount: 2, MinConfidence: 0.8}, func(*Group) {}, true},
		"low confidence":        {Policy{MinConfidence: 0.95}, func(*Group) {}, false},
		"low, but approved":     {Policy{MinConfidence: 0.95}, func(g *Group) { g.Decide(Decision{Choice: "approve"}) }, true},
		"denied":                {Policy{}, func(g *Group) { g.Decide(Decision{Choice: "deny"}) }, false},
		"denied, then revived":  {Policy{}, func(g *Group) { g.Decide(Decision{Choice: "deny"}); g.Decide(Decision{Choice: "revive"}) }, true},
		"approved, then denied": {Policy{}, func(g *Group) { g.Decide(Decision{Choice: "approve"}); g.Decide(Decision{Choice: "deny"}) }, false},
		"no form":               {Policy{}, func(g *Group) { g.Form = classify.FormNone }, false},
		"warning":               {Policy{MinCount: 2}, func(g *Group) { g.Take(occurrence(2)); g.Severity = classify.Warning }, false},
		"warning, label listed": {Policy{MinCount: 2, Labels: []classify.Label{"loop"}}, func(g *Group) { g.Severity = classify.Warning; g.Take(occurrence(2)); g.Severity = classify.Warning }, true},
		"label not listed":      {Policy{Labels: []classify.Label{"cost_spike"}}, func(*Group) {}, false},
		"outside fault":         {Policy{}, func(g *Group) { g.Fingerprint.Label = "upstream_error" }, false},
		"rule not measured":     {Policy{MinJudged: 50}, func(*Group) {}, false},
		"measured on few":       {Policy{MinJudged: 50, Measured: map[string]Precision{"loop@1": {Judged: 49, Right: 49}}}, func(*Group) {}, false},
		"measured":              {Policy{MinJudged: 50, Measured: map[string]Precision{"loop@1": {Judged: 50, Right: 49}}}, func(*Group) {}, true},
		"another version":       {Policy{MinJudged: 50, Measured: map[string]Precision{"loop@2": {Judged: 50, Right: 49}}}, func(*Group) {}, false},
		"wrong too often":       {Policy{MinJudged: 50, Measured: map[string]Precision{"loop@1": {Judged: 100, Right: 79}}}, func(*Group) {}, false},
		"ten decisions":         {Policy{MinJudged: 50, Own: map[string]Precision{"loop@1": {Judged: 10, Right: 8}}}, func(*Group) {}, true},
		"nine decisions":        {Policy{MinJudged: 50, Own: map[string]Precision{"loop@1": {Judged: 9, Right: 9}}}, func(*Group) {}, false},
		"the team knows better": {Policy{MinJudged: 50, Measured: map[string]Precision{"loop@1": {Judged: 50, Right: 50}}, Own: map[string]Precision{"loop@1": {Judged: 10, Right: 3}}},
			func(*Group) {}, false},
		"not measured, approved": {Policy{MinJudged: 50}, func(g *Group) { g.Decide(Decision{Choice: "approve"}) }, true},
		"outside fault approved": {Policy{}, func(g *Group) { g.Fingerprint.Label = "upstream_error"; g.Decide(Decision{Choice: "approve"}) }, true},
	} {
		g := blocking()
		c.change(&g)
		if got, why := c.policy.Due(&g); got != c.want || why == "" {
			t.Errorf("%s: due %v (%s), want %v", name, got, why, c.want)
		}
	}
}

func TestTargetFor(t *testing.T) {
	targets := []Target{{Service: "shop-*", Repo: "acme/shop"}, {Service: "*", Repo: "acme/rest"}}
	for service, want := range map[string]string{"shop-support": "acme/shop", "billing": "acme/rest"} {
		if got, ok := TargetFor(targets, service); !ok || got.Repo != want {
			t.Errorf("%s goes to %q, want %q", service, got.Repo, want)
		}
	}
	if _, ok := TargetFor(nil, "x"); ok {
		t.Error("a service without a target has one")
	}
}

// TestSpecimens: the worst are tried first and kept, in whatever order they come.
func TestSpecimens(t *testing.T) {
	var g Group
	for i := 1; i <= maxSpecimens; i++ {
		o := occurrence(i)
		o.Finding.Severity, o.Finding.Confidence = classify.Warning, 0.99
		g.Take(o)
	}
	if g.Wants(classify.Warning) || !g.Wants(classify.Blocking) {
		t.Errorf("full of warnings: wants a warning %v, a blocking one %v", g.Wants(classify.Warning), g.Wants(classify.Blocking))
	}
	g.Take(occurrence(9))
	g.Take(occurrence(8))
	got := []string{}
	for _, s := range g.Candidates() {
		got = append(got, s.TraceID[30:])
	}
	if want := []string{"08", "09", "03", "04", "05"}; !slices.Equal(got, want) {
		t.Errorf("candidates %v, want %v", got, want)
	}
}

func TestDecideOnce(t *testing.T) {
	var g Group
	for i, d := range []struct {
		choice, digest string
		news           bool
	}{{"deny", "a", true}, {"deny", "a", false}, {"revive", "a", true}, {"deny", "a", true}, {"revive", "", true}, {"deny", "a", false}, {"deny", "b", true}} {
		if got := g.decideOnce(Decision{Choice: d.choice, Digest: d.digest}); got != d.news {
			t.Errorf("%d: %s of %q: %v, want %v", i, d.choice, d.digest, got, d.news)
		}
	}
}

// What the team decided counts once a group, by its latest word, for the version of the rule that found it.
func TestOwn(t *testing.T) {
	group := func(rule string, choices ...string) Group {
		g := Group{Rule: rule}
		for _, c := range choices {
			g.Decide(Decision{Who: "ana", Choice: c})
		}
		return g
	}
	merged := group("loop@1")
	merged.Batch = "b"
	var b Batch
	b.Intent = &ghpr.Intent{Receipt: ghpr.Receipt{State: ghpr.StateMerged}}
	got := Own([]Group{group("loop@1", "approve"), group("loop@1", "approve", "dismiss"), group("loop@1", "deny", "revive"), group("loop@1"), group("", "approve"),
		group("loop@2", "deny"), merged}, map[string]*Batch{"b": &b})
	want := map[string]Precision{"loop@1": {Judged: 3, Right: 2, Set: yourGroups}, "loop@2": {Judged: 1, Set: yourGroups}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
