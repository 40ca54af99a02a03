package ratchet

import (
	"slices"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
)

// A consequence opens no group: it is told of its root's. If a later revision of the trace shows it alone, it is a failure of its own; and if it was
// one before, it is taken back.
func TestConsequencesOpenNoGroup(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	both := failing("01", "shop", "s", "why")
	spike := classify.Finding{Label: classify.CostSpike, Severity: classify.Blocking, Confidence: 0.9, Evidence: []classify.Evidence{},
		Fingerprint: classify.NewFingerprint(classify.CostSpike, "shop", "a"), Because: new(both.Findings[0].Fingerprint.ID())}
	alone := spike
	alone.Because = nil
	both.Findings = append(both.Findings, Found{Finding: spike, Form: classify.FormBudget})
	loop, cost := both.Findings[0].Fingerprint.ID(), spike.Fingerprint.ID()

	counts := func() map[string]int {
		if err := a.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		gs, err := a.Groups(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		for _, g := range gs {
			out[g.ID()] = g.Count
			if g.ID() == loop && !slices.Equal(g.Follow, []string{cost}) {
				t.Errorf("the loop was followed by %v", g.Follow)
			}
		}
		return out
	}
	say(t, q, both)
	if got := counts(); len(got) != 1 || got[loop] != 1 {
		t.Errorf("groups %v, want the loop's alone", got)
	}
	// another trace shows the spike alone, and in its next revision as a consequence
	v := failing("02", "shop", "s", "why")
	v.Findings = []Found{{Finding: alone, Form: classify.FormBudget}}
	say(t, q, v)
	if got := counts(); got[cost] != 1 {
		t.Errorf("groups %v, want one spike of its own", got)
	}
	again := both
	again.TraceID, again.Revision, again.Seen = "02", "r2", time.Unix(2, 0).UTC()
	again.Replaces = &Previous{Revision: "r", Fingerprints: []string{alone.Fingerprint.Digest()}}
	say(t, q, again)
	if got := counts(); got[cost] != 0 || got[loop] != 2 {
		t.Errorf("groups %v, want two loops and the spike taken back", got)
	}
}
