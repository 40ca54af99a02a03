package verify

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

// clone copies a case deeply.
func clone(t testing.TB, c regcase.Case) regcase.Case {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out regcase.Case
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// variant is a case after a few changes, each up, down or aside.
func variant(t testing.TB, r *rand.Rand, c regcase.Case, changes int) regcase.Case {
	out := clone(t, c)
	for range changes {
		mutations[r.IntN(len(mutations))](r, &out)
	}
	return out
}

// mutations each change one thing of a case.
var mutations = []func(r *rand.Rand, c *regcase.Case){
	func(r *rand.Rand, c *regcase.Case) { c.Runs.N = 1 + r.IntN(10) },
	func(r *rand.Rand, c *regcase.Case) { c.Runs.Rate = float64(1+r.IntN(10)) / 10 },
	func(r *rand.Rand, c *regcase.Case) { c.Runs.Mode = pick(r, "hard", "soft") },
	func(r *rand.Rand, c *regcase.Case) { c.State = casetest.State(r) },
	func(r *rand.Rand, c *regcase.Case) { c.Title = pick(r, "a", "b") },
	func(r *rand.Rand, c *regcase.Case) { c.Weak = r.IntN(2) == 0 },
	func(r *rand.Rand, c *regcase.Case) { c.Labels = append(c.Labels, pick(r, "x", "y")) },
	func(r *rand.Rand, c *regcase.Case) { c.Labels = c.Labels[:1] },
	func(r *rand.Rand, c *regcase.Case) { c.Owner = nil },
	func(r *rand.Rand, c *regcase.Case) { c.Owner = new(pick(r, "ana", "ben")) },
	func(r *rand.Rand, c *regcase.Case) { c.Input.Turns[0].User += pick(r, " please", "!") },
	func(r *rand.Rand, c *regcase.Case) { c.Fixtures = c.Fixtures[:len(c.Fixtures)/2] },
	func(r *rand.Rand, c *regcase.Case) {
		c.Live = &regcase.Live{Commit: pick(r, "a", "b"), Red: r.IntN(5), Of: 5 + r.IntN(2)}
	},
	func(r *rand.Rand, c *regcase.Case) {
		c.Green = &regcase.Green{Commit: pick(r, "a", "b"), Passed: r.IntN(5), Of: 5 + r.IntN(2)}
	},
	func(r *rand.Rand, c *regcase.Case) { c.Green = nil },
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Liveness.Reply = r.IntN(2) == 0 },
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Liveness.NoError = r.IntN(2) == 0 },
	func(r *rand.Rand, c *regcase.Case) {
		c.Expect.Liveness.Calls = append(c.Expect.Liveness.Calls, pick(r, casetest.Tools()...))
	},
	func(r *rand.Rand, c *regcase.Case) {
		if n := len(c.Expect.Liveness.Calls); n > 0 {
			c.Expect.Liveness.Calls = c.Expect.Liveness.Calls[:n-1]
		}
	},
	func(r *rand.Rand, c *regcase.Case) {
		c.Expect.Never = append(c.Expect.Never, casetest.Never(r, c.Fingerprint.Label))
	},
	func(r *rand.Rand, c *regcase.Case) {
		if n := len(c.Expect.Never); n > 0 {
			c.Expect.Never = c.Expect.Never[:n-1]
		}
	},
	func(r *rand.Rand, c *regcase.Case) {
		for i := range c.Expect.Never {
			if c.Expect.Never[i].Label == "loop" {
				c.Expect.Never[i] = casetest.Never(r, "loop")
			}
		}
	},
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Trajectory = nil },
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Trajectory = casetest.Trajectory(r) },
	sequence(func(r *rand.Rand, t *regcase.Trajectory) {
		t.Mode = pick(r, "exact", "ordered", "unordered", "superset", "subset")
	}),
	sequence(func(r *rand.Rand, t *regcase.Trajectory) {
		t.Mode = pick(r, "exact", "ordered", "unordered", "superset", "subset")
	}),
	sequence(func(r *rand.Rand, t *regcase.Trajectory) { t.Distance = r.IntN(2) }),
	sequence(func(r *rand.Rand, t *regcase.Trajectory) {
		t.Calls = slices.Insert(t.Calls, r.IntN(len(t.Calls)+1), casetest.Trajectory(r).Calls[0])
	}),
	sequence(func(r *rand.Rand, t *regcase.Trajectory) {
		if len(t.Calls) > 1 {
			t.Calls = slices.Delete(t.Calls, 0, 1)
		}
	}),
	sequence(func(r *rand.Rand, t *regcase.Trajectory) { slices.Reverse(t.Calls) }),
	call(func(r *rand.Rand, c *regcase.ExpectedCall) { c.Mode = pick(r, "exact", "ignore", "subset", "superset") }),
	call(func(r *rand.Rand, c *regcase.ExpectedCall) {
		c.Arguments[pick(r, "/order_id", "/query", "/limit")] = casetest.Field(r)
	}),
	call(func(r *rand.Rand, c *regcase.ExpectedCall) {
		for p := range maps.Keys(c.Arguments) {
			delete(c.Arguments, p)
			return
		}
	}),
	call(func(r *rand.Rand, c *regcase.ExpectedCall) {
		for _, p := range slices.Sorted(maps.Keys(c.Arguments)) {
			c.Arguments[p] = regcase.Field{Match: "ignore"}
		}
	}),
	call(func(r *rand.Rand, c *regcase.ExpectedCall) {
		for _, p := range slices.Sorted(maps.Keys(c.Arguments)) {
			if f := c.Arguments[p]; f.Match == "number" || f.Match == "exact" {
				c.Arguments[p] = regcase.Field{Match: pick(r, "number", "exact"), Value: regcase.JSON(pick(r, "10", "0", "1.50"))}
			}
		}
	}),
	func(r *rand.Rand, c *regcase.Case) {
		c.Expect.State = &regcase.Passed{Nodes: []string{"triage", "orders"}[:1+r.IntN(2)], Memory: []regcase.Memory{}}
	},
	func(r *rand.Rand, c *regcase.Case) { c.Expect.State = nil },
	func(r *rand.Rand, c *regcase.Case) {
		c.Expect.Response = &regcase.Response{Text: "Your order ORD-1 ships on 2026-12-01.", Threshold: pick(r, 0.88, 0.93, 0.97)}
	},
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Response = nil },
	func(r *rand.Rand, c *regcase.Case) {
		c.Expect.Criteria = append(c.Expect.Criteria, regcase.Criterion{Text: pick(r, "a", "b"), Judge: r.IntN(2) == 0})
	},
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Criteria = []regcase.Criterion{} },
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Budget = casetest.Budget(r) },
	func(r *rand.Rand, c *regcase.Case) { c.Expect.Budget = nil },
}

func sequence(change func(r *rand.Rand, t *regcase.Trajectory)) func(r *rand.Rand, c *regcase.Case) {
	return func(r *rand.Rand, c *regcase.Case) {
		if c.Expect.Trajectory != nil {
			change(r, c.Expect.Trajectory)
		}
	}
}

func call(change func(r *rand.Rand, c *regcase.ExpectedCall)) func(r *rand.Rand, c *regcase.Case) {
	return sequence(func(r *rand.Rand, t *regcase.Trajectory) {
		if len(t.Calls) > 0 {
			c := &t.Calls[r.IntN(len(t.Calls))]
			if c.Arguments == nil {
				c.Arguments = map[string]regcase.Field{}
			}
			change(r, c)
		}
	})
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
