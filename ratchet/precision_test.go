package ratchet

import (
	"strings"
	"testing"
	"time"
)

// A rule that was not measured fills triage and opens nothing; with ten decisions of the team's it does.
func TestUnmeasuredRulesWaitForTheTeam(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	a.opts.Policy.MinJudged = 50
	failures(t, q, 1)
	sweep(t, a, time.Now())
	bs, err := a.Batches(t.Context())
	if err != nil || len(bs) != 0 {
		t.Fatalf("%d batches, %v, want none", len(bs), err)
	}
	gs, err := a.Groups(t.Context())
	if err != nil || len(gs) == 0 {
		t.Fatalf("%d groups, %v", len(gs), err)
	}
	rule := gs[0].Rule
	for i := range gs {
		if status := a.opts.Policy.Status(&gs[i], a.opts.Targets, nil); !strings.Contains(status, gs[i].Rule+" was measured on 0 judged findings") {
			t.Errorf("status is %q", status)
		}
	}
	for i := range ownJudged { // groups of the same rule that somebody approved
		g := failing(strings.Repeat("a", i+1), "other-service", "s", "why")
		g.Service = strings.Repeat("x", i+1)
		g.Findings[0].Rule, g.Findings[0].Fingerprint.Service = rule, g.Service
		say(t, q, g)
		if err := a.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.changeGroup(t.Context(), g.Findings[0].Fingerprint.Digest(), func(g *Group) bool { g.Decide(Decision{Choice: "approve"}); return true }); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, a, time.Now().Add(3*time.Minute))
	if bs, err = a.Batches(t.Context()); err != nil || len(bs) != 1 || len(bs[0].Members) != 1 || bs[0].Members[0].Fingerprint != gs[0].Fingerprint.Digest() {
		t.Errorf("batches %+v, %v, want one with the rule's case", bs, err)
	}
}
