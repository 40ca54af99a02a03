package ratchet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
)

func strange(word string) classify.Fingerprint {
	return classify.NewFingerprint(classify.NoLabel, "parcel-desk", "desk", classify.Word("message", word))
}

// publishStrange publishes a verdict on a trace that no rule explains.
func publishStrange(t *testing.T, q *queue.Queue, trace string, fp classify.Fingerprint) {
	t.Helper()
	f := Found{Finding: classify.Finding{Label: fp.Label, Rule: "unclassified@1", Source: classify.SourceRule, Severity: classify.Warning, Confidence: 1, Fingerprint: fp, Why: "it went wrong"}, Form: classify.FormNone, Title: "an error"}
	doc, err := json.Marshal(Verdict{TraceID: trace, Revision: "r", Service: "parcel-desk", Verdict: classify.Unclassified, Findings: []Found{f}, Seen: noon, Object: strings.Repeat("0", 64)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Findings.Append(t.Context(), trace+" r", doc); err != nil {
		t.Fatal(err)
	}
}

func decided(t *testing.T, a *Absorber, id string, ask Ask) Group {
	t.Helper()
	g, err := a.Decide(t.Context(), id, "ana", noon, ask)
	if err != nil {
		t.Fatalf("%s %s: %v", ask.Choice, id, err)
	}
	return g
}

func refusedWith(t *testing.T, a *Absorber, id, who, want string, ask Ask) {
	t.Helper()
	_, err := a.Decide(t.Context(), id, who, noon, ask)
	no, ok := errors.AsType[*Refused](err)
	if !ok || !strings.Contains(no.Reason, want) {
		t.Errorf("%s by %q: %v, want a refusal with %q", ask.Choice, who, err, want)
	}
}

func told(t *testing.T, a *Absorber) []Told {
	t.Helper()
	out, next, err := a.Audit(t.Context(), AuditFilter{}, 0, 1000)
	if err != nil || next != 0 {
		t.Fatal(err, next)
	}
	return out
}

func TestLabelMovesAGroupAndComesBack(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x := strange("broke")
	for n := range 3 {
		publishStrange(t, q, traceNo(n+1), x)
	}
	catchUp(t, a)
	ask := Ask{Choice: ChoiceLabel, Label: "wrong_currency", Reason: "it answers in dollars"}
	g := decided(t, a, x.ID(), ask)
	if g.Fingerprint.Label != "wrong_currency" || g.Count != 3 || g.Source != classify.SourceHuman || len(g.Specimens) != 3 || len(g.Days) != 1 || g.Days[0].N != 3 {
		t.Fatalf("not moved: %+v", g)
	}
	if again := decided(t, a, x.ID(), ask); again.ID() != g.ID() || len(again.Decisions) != 1 {
		t.Errorf("asked again it decides again: %+v", again.Decisions)
	}
	publishStrange(t, q, traceNo(4), x) // later sightings of the same signs land there
	catchUp(t, a)
	wantCount(t, a, g.Fingerprint, 4)
	if alias := wantCount(t, a, x, 0); alias.Merged == nil || alias.Merged.Into != g.Fingerprint.Digest() {
		t.Errorf("the old group does not lead to the new one: %+v", alias.Merged)
	}
	fresh := testAbsorber(t, q, testFake(t)) // a restart settles nothing anew
	if err := fresh.learnMerges(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCount(t, fresh, g.Fingerprint, 4)
	second := decided(t, a, g.ID(), Ask{Choice: ChoiceLabel, Label: "loop"})
	publishStrange(t, q, traceNo(5), x)
	catchUp(t, fresh) // it knows the first move only
	wantCount(t, a, second.Fingerprint, 5)
	if back := decided(t, a, second.ID(), Ask{Choice: ChoiceUndo}); back.ID() != g.ID() || back.Count != 5 || back.Source != classify.SourceHuman {
		t.Errorf("undone to %s with %d", back.ID(), back.Count)
	}
	back := decided(t, a, g.ID(), Ask{Choice: ChoiceUndo})
	if back.ID() != x.ID() || back.Count != 5 || back.Merged != nil || back.Source == classify.SourceHuman || back.Days[0].N != 5 {
		t.Errorf("undone to %s with %d, source %q", back.ID(), back.Count, back.Source)
	}
	publishStrange(t, q, traceNo(6), x)
	catchUp(t, fresh)
	wantCount(t, a, x, 6)
	refusedWith(t, a, x.ID(), "ana", "nothing to undo", Ask{Choice: ChoiceUndo})
	if g := decided(t, a, x.ID(), ask); g.Count != 6 || g.Fingerprint.Label != "wrong_currency" {
		t.Errorf("labelled once more: %s with %d", g.ID(), g.Count)
	}
	var choices []string
	for _, e := range told(t, a) {
		choices = append(choices, e.Decision.Choice)
	}
	slices.Reverse(choices)
	if got := strings.Join(choices, " "); got != "label label undo undo label" {
		t.Errorf("the audit stream tells %q", got)
	}
}

// TestLabelSurvivesAKill stops after each write of a move and has another absorber go on.
func TestLabelSurvivesAKill(t *testing.T) {
	for stop := range 5 {
		q := testQueue(t)
		a := testAbsorber(t, q, testFake(t))
		x, y := strange("broke"), strange("broke too")
		publishStrange(t, q, traceNo(1), x)
		publishStrange(t, q, traceNo(2), y)
		catchUp(t, a)
		mergeOK(t, a, y, x)
		g, err := a.Group(t.Context(), x.Digest())
		if err != nil {
			t.Fatal(err)
		}
		f := x
		f.Label, f.Aliases = "loop", nil
		m := Merge{Into: f.Digest(), Moved: true, Who: "ana", When: noon, Label: "loop"}
		along := m
		along.Along = true
		steps := []func() error{
			func() error {
				return a.claimMove(t.Context(), m.Into, Merge{Into: m.Into, Moved: true}, func(*Merge) bool { return true })
			},
			func() error { return a.claimMove(t.Context(), x.Digest(), m, func(*Merge) bool { return true }) },
			func() error { return a.claimMove(t.Context(), y.Digest(), along, func(*Merge) bool { return true }) },
			func() error {
				return a.changeGroup(t.Context(), x.Digest(), func(g *Group) bool { g.Merged = &m; return true })
			},
			func() error {
				return a.changeGroup(t.Context(), m.Into, func(n *Group) bool { g.Merged = &m; return n.adopt(&g, m) })
			},
		}
		for i := range stop + 1 {
			if err := steps[i](); err != nil {
				t.Fatal(err)
			}
		}
		other := testAbsorber(t, q, testFake(t))
		if err := other.learnMerges(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stop == 0 { // nothing was claimed
			wantCount(t, other, x, 2)
			continue
		}
		if _, err := other.Decide(t.Context(), x.ID(), "ana", noon, Ask{Choice: ChoiceLabel, Label: "loop"}); err != nil {
			t.Errorf("stopped after %d: %v", stop, err)
		}
		if stop >= 2 {
			publishStrange(t, q, traceNo(3), y)
			catchUp(t, other)
			wantCount(t, other, f, 3)
			continue
		}
		wantCount(t, other, f, 2)
	}
}

// TestMoveEndsAtTheStart: what a kill left between two groups is whole when the service runs again, long before it sweeps.
func TestMoveEndsAtTheStart(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x := strange("broke")
	publishStrange(t, q, traceNo(1), x)
	catchUp(t, a)
	f := x
	f.Label = "loop"
	m := Merge{Into: f.Digest(), Moved: true, Who: "ana", When: noon, Label: "loop"}
	if err := errors.Join(a.claimMove(t.Context(), m.Into, Merge{Into: m.Into, Moved: true}, func(*Merge) bool { return true }),
		a.claimMove(t.Context(), x.Digest(), m, func(*Merge) bool { return true }),
		a.changeGroup(t.Context(), x.Digest(), func(g *Group) bool { g.Merged = &m; return true })); err != nil {
		t.Fatal(err)
	}
	other := testAbsorber(t, q, testFake(t))
	other.opts.Sweep = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { _ = other.Run(ctx) })
	for e, err := range q.Groups.Watch(ctx) {
		if err != nil {
			t.Fatal("it never came whole: ", err)
		}
		var g Group
		if e.Key == f.Digest() && json.Unmarshal(e.Value, &g) == nil && g.Count == 1 && g.Merged == nil {
			return
		}
	}
	t.Fatal("the watch ended")
}

// TestDecideDuringAMove: who decides on a group while somebody labels it is told so, not that there is no such group.
func TestDecideDuringAMove(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x := strange("broke")
	publishStrange(t, q, traceNo(1), x)
	catchUp(t, a)
	f := x
	f.Label = "loop"
	m := Merge{Into: f.Digest(), Moved: true, Who: "ana", When: noon, Label: "loop"}
	if err := a.changeGroup(t.Context(), x.Digest(), func(g *Group) bool { g.Merged = &m; return true }); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, a, x.ID(), "bo", "somebody moves it", Ask{Choice: ChoiceDismiss, As: AsNotOurs, Reason: "so"})
}

// TestDecideBetweenTwoMoves: a label that comes back while it is taken back has the two groups lead to each other for a moment.
func TestDecideBetweenTwoMoves(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x := strange("broke")
	publishStrange(t, q, traceNo(1), x)
	catchUp(t, a)
	f := x
	f.Label = "loop"
	for from, to := range map[string]classify.Fingerprint{x.Digest(): f, f.Digest(): x} {
		m := Merge{Into: to.Digest(), Moved: true, Who: "ana", When: noon}
		if err := a.changeGroup(t.Context(), from, func(g *Group) bool { g.Fingerprint.Label, g.Merged = x.Label, &m; return true }); err != nil {
			t.Fatal(err)
		}
	}
	for _, ask := range []Ask{{Choice: ChoiceLabel, Label: "cost_spike"}, {Choice: ChoiceUndo}, {Choice: ChoiceDismiss, As: AsNotOurs, Reason: "so"}, {Choice: ChoiceSplit, Traces: []string{traceNo(1)}}} {
		refusedWith(t, a, x.ID(), "bo", "somebody moves it", ask)
	}
}

// TestConfirmedJudgeIsUndone: what a person confirmed of a judge's word can be taken back; the judge's word stays.
func TestConfirmedJudgeIsUndone(t *testing.T) {
	a := testAbsorber(t, testQueue(t), testFake(t))
	f := strange("broke")
	f.Label = classify.Loop
	if err := a.changeGroup(t.Context(), f.Digest(), func(g *Group) bool {
		*g = Group{Fingerprint: f, Count: 1, Source: classify.SourceJudge, Title: "it"}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []Ask{{Choice: ChoiceLabel, Label: classify.Loop}, {Choice: ChoiceUndo}} {
		g, err := a.Decide(t.Context(), f.ID(), "ana", noon, ask)
		if err != nil || g.Digest() != f.Digest() || g.Source != classify.SourceJudge {
			t.Fatalf("%s: %+v, %v", ask.Choice, g, err)
		}
		if d, ok := g.latest(ChoiceLabel); ok != (ask.Choice == ChoiceLabel) {
			t.Errorf("after %s: %+v", ask.Choice, d)
		}
	}
}

func TestDecisionsAreRefusedInWords(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x, y := strange("broke"), loopOf("get_order")
	publishStrange(t, q, traceNo(1), x)
	publishFound(t, q, traceNo(2), "r", nil, y)
	catchUp(t, a)
	for _, c := range []struct {
		id, who, want string
		ask           Ask
	}{
		{x.ID(), "", "by name", Ask{Choice: ChoiceDismiss, As: AsIntended, Reason: "so"}},
		{x.ID(), "Unknown", "by name", Ask{Choice: ChoiceDismiss, As: AsIntended, Reason: "so"}},
		{x.ID(), "ana", `did you mean "dismiss"`, Ask{Choice: "dismis"}},
		{x.ID(), "ana", "as says why", Ask{Choice: ChoiceDismiss, Reason: "so"}},
		{x.ID(), "ana", "say the reason", Ask{Choice: ChoiceDismiss, As: AsIntended}},
		{x.ID(), "ana", `did you mean "loop"`, Ask{Choice: ChoiceLabel, Label: "lop"}},
		{x.ID(), "ana", "small letters", Ask{Choice: ChoiceLabel, Label: "Wrong Currency"}},
		{x.ID(), "ana", "unclassified is", Ask{Choice: ChoiceLabel, Label: classify.NoLabel}},
		{x.ID(), "ana", "none says that no label fits", Ask{Choice: ChoiceLabel, Label: "none"}},
		{y.ID(), "ana", "a rule explains it as loop", Ask{Choice: ChoiceLabel, Label: "cost_spike"}},
		{x.ID(), "ana", "label it first", Ask{Choice: ChoiceApprove}},
		{y.ID(), "ana", "cannot assert", Ask{Choice: ChoiceApprove}},
		{x.ID(), "ana", "at most 90 days", Ask{Choice: ChoiceSnooze, Until: noon.AddDate(1, 0, 0)}},
		{x.ID(), "ana", "nothing to wake", Ask{Choice: ChoiceWake}},
		{x.ID(), "ana", "nothing to revive", Ask{Choice: ChoiceRevive}},
		{x.ID(), "ana", "nothing to undo", Ask{Choice: ChoiceUndo}},
		{x.ID(), "ana", "one label and service", Ask{Choice: ChoiceMerge, Into: y.ID(), Reason: "so"}},
		{x.ID(), "ana", "all of its traces", Ask{Choice: ChoiceSplit, Traces: []string{traceNo(1)}}},
		{x.ID(), "ana", "does not remember", Ask{Choice: ChoiceSplit, Traces: []string{traceNo(9)}}},
	} {
		refusedWith(t, a, c.id, c.who, c.want, c.ask)
	}
	if _, err := a.Decide(t.Context(), "loop-0000000000", "ana", noon, Ask{Choice: ChoiceWake}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("of a group that is not there: %v", err)
	}
	if n := len(told(t, a)); n != 0 {
		t.Errorf("%d entries in the audit stream for what was refused", n)
	}
}

func TestDismissSnoozeUndo(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	y := loopOf("get_order")
	publishFound(t, q, traceNo(1), "r", nil, y)
	catchUp(t, a)
	no := Ask{Choice: ChoiceDismiss, As: AsFalseAlarm, Reason: "it polls"}
	first := decided(t, a, y.ID(), no)
	if again := decided(t, a, y.ID(), no); len(again.Decisions) != 1 || first.Life(nil, noon) != LifeIgnored {
		t.Errorf("decided twice, or not ignored: %+v", again.Decisions)
	}
	if p := Own([]Group{first}, nil)["loop@1"]; p.Judged != 1 || p.Right != 0 {
		t.Errorf("the rule's precision is not told: %+v", p)
	}
	d, ok := first.Undoable()
	if !ok {
		t.Fatal("it cannot be undone")
	}
	back := decided(t, a, y.ID(), Ask{Choice: ChoiceUndo, Decision: d.ID})
	if again := decided(t, a, y.ID(), Ask{Choice: ChoiceUndo, Decision: d.ID}); len(again.Decisions) != 2 {
		t.Errorf("undone twice: %+v", again.Decisions)
	}
	if _, denied := back.Denied(); denied || Own([]Group{back}, nil)["loop@1"].Judged != 0 {
		t.Error("what was undone still counts")
	}
	g := decided(t, a, y.ID(), Ask{Choice: ChoiceSnooze, Until: noon.Add(time.Hour)})
	if g.Life(nil, noon) != LifeIgnored || g.Life(nil, noon.Add(2*time.Hour)) != LifeNew {
		t.Errorf("snoozed it is %s, and then %s", g.Life(nil, noon), g.Life(nil, noon.Add(2*time.Hour)))
	}
	if g = decided(t, a, y.ID(), Ask{Choice: ChoiceWake}); g.Life(nil, noon) != LifeNew {
		t.Errorf("woken it is %s", g.Life(nil, noon))
	}
	for _, e := range told(t, a) {
		if e.Decision.Who != "ana" || e.Group != y.ID() || e.Decision.ID == "" {
			t.Errorf("told: %+v", e)
		}
	}
	if page, next, err := a.Audit(t.Context(), AuditFilter{Groups: []string{y.ID()}}, 0, 3); err != nil || len(page) != 3 || next == 0 {
		t.Errorf("a page of %d, next %d, %v", len(page), next, err)
	} else if rest, end, err := a.Audit(t.Context(), AuditFilter{Who: "ana"}, next, 9); err != nil || len(rest) != 1 || end != 0 {
		t.Errorf("then %d, next %d, %v", len(rest), end, err)
	}
}

func TestSplit(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	x := strange("broke")
	for n := range 5 {
		publishStrange(t, q, traceNo(n+1), x)
	}
	catchUp(t, a)
	ask := Ask{Choice: ChoiceSplit, Traces: []string{traceNo(2), traceNo(3)}, Reason: "another tool"}
	part := decided(t, a, x.ID(), ask)
	if part.Count != 2 || part.Fingerprint.Part("split") == "" || len(part.Specimens) != 2 || part.ID() == x.ID() {
		t.Fatalf("split off: %+v", part)
	}
	if again := decided(t, a, x.ID(), ask); again.ID() != part.ID() || len(again.Decisions) != 1 {
		t.Errorf("asked again: %s %+v", again.ID(), again.Decisions)
	}
	wantCount(t, a, x, 3)
	publishStrange(t, q, traceNo(6), x)
	publishFound(t, q, traceNo(2), "later", []string{x.Digest()}, x) // a later revision of what left is not taken anew
	catchUp(t, a)
	wantCount(t, a, x, 4)
	back := decided(t, a, part.ID(), Ask{Choice: ChoiceUndo})
	if back.ID() != x.ID() || back.Count != 6 || len(back.Left) != 0 {
		t.Errorf("put back: %s with %d, left %v", back.ID(), back.Count, back.Left)
	}
	if part = decided(t, a, x.ID(), ask); part.Count != 2 {
		t.Errorf("split once more: %d", part.Count)
	}
	wantCount(t, a, x, 4)
}
