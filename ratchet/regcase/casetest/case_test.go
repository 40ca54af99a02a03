package casetest

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Case is a function of its seed and reaches every form, state and optional part.
func TestCaseReachesAll(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(500) {
		c := Case(rand.New(rand.NewPCG(seed, 1)))
		if d := cmp.Diff(c, Case(rand.New(rand.NewPCG(seed, 1)))); d != "" {
			t.Fatalf("seed %d gives two cases:\n%s", seed, d)
		}
		seen[c.Form]++
		seen[string(c.State.Name)]++
		seen[c.Input.Mode]++
		for name, has := range parts(c) {
			if has {
				seen[name]++
			}
		}
	}
	for _, want := range []string{"never", "budget", "fault", "pending", "enforced", "quarantined", "retired", "recorded", "simulated",
		"trajectory", "state", "response", "criteria", "budget numbers", "no never", "live", "green", "weak", "clock", "control"} {
		if seen[want] < 5 {
			t.Errorf("%s: %d of 500 cases", want, seen[want])
		}
	}
}

func parts(c regcase.Case) map[string]bool {
	e := c.Expect
	return map[string]bool{"trajectory": e.Trajectory != nil, "state": e.State != nil, "response": e.Response != nil, "criteria": len(e.Criteria) > 0,
		"budget numbers": e.Budget != nil, "no never": len(e.Never) == 0, "live": c.Live != nil, "green": c.Green != nil, "weak": c.Weak, "clock": c.Input.Clock != nil, "control": c.Provenance.Control != nil}
}
