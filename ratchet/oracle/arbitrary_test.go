package oracle

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

func fixtures(t testing.TB) (out []*trajectory.Trajectory) {
	t.Helper()
	fsys, err := rule.Testdata()
	if err != nil {
		t.Fatal(err)
	}
	all, err := fixture.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, fx := range all {
		tr, err := fx.Trajectory()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tr)
	}
	return out
}

// TestArbitrary judges arbitrary trajectories by arbitrary valid cases, from several goroutines: every judgement is one of the four, gives its
// reason, and is the same another time and with the traces in another order.
func TestArbitrary(t *testing.T) {
	o, runs := testOracle(t), fixtures(t)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 9))
			for range 100 {
				c := casetest.Case(r)
				a, b := runs[r.IntN(len(runs))].Clone(), runs[r.IntN(len(runs))].Clone()
				a.TraceID, b.TraceID = "a", "b"
				b.Start = b.Start.Add(1)
				for _, given := range [][2][]*trajectory.Trajectory{{{a}, {a, a}}, {{a, b}, {b, a}}} {
					x, y := o.Judge(&c, given[0]...), o.Judge(&c, given[1]...)
					if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
						t.Errorf("%+v is not %+v for %s", x, y, c.ID)
					}
					if (x.Reason == "") != (x.Verdict == Pass) || x.Verdict != Pass && x.Verdict != Fail && x.Verdict != Error && x.Verdict != Inconclusive {
						t.Errorf("judgement is %+v", x)
					}
					if x.Verdict == Fail && len(x.Mismatches) == 0 {
						t.Errorf("a failure without a mismatch: %+v", x)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestMoreIsStricter adds to a case: what passes the longer one passes the shorter one.
func TestMoreIsStricter(t *testing.T) {
	o, runs, r := testOracle(t), fixtures(t), rand.New(rand.NewPCG(1, 9))
	passed := 0
	for range 1000 {
		c, d := casetest.Case(r), casetest.Case(r)
		run := runs[r.IntN(len(runs))]
		sparse(r, &c.Expect)
		sparse(r, &d.Expect)
		both := c
		both.Expect.Never = append(append([]regcase.Never{}, c.Expect.Never...), d.Expect.Never...)
		both.Expect.Liveness.Calls = append(append([]string{}, c.Expect.Liveness.Calls...), d.Expect.Liveness.Calls...)
		both.Expect.Liveness.Reply, both.Expect.Liveness.NoError = c.Expect.Liveness.Reply || d.Expect.Liveness.Reply, c.Expect.Liveness.NoError || d.Expect.Liveness.NoError
		if c.Expect.Budget == nil {
			both.Expect.Budget = d.Expect.Budget
		}
		if c.Expect.Trajectory == nil {
			both.Expect.Trajectory = d.Expect.Trajectory
		}
		if c.Expect.Response == nil {
			both.Expect.Response = d.Expect.Response
		}
		if o.Judge(&both, run).Verdict != Pass {
			continue
		}
		passed++
		if j := o.Judge(&c, run); j.Verdict != Pass {
			t.Fatalf("passes with more and not with less: %+v", j)
		}
	}
	if passed < 50 {
		t.Errorf("only %d runs passed", passed)
	}
}

// sparse leaves most of what is expected out, so that some runs pass.
func sparse(r *rand.Rand, e *regcase.Expect) {
	drop := func() bool { return r.IntN(6) > 0 }
	if drop() {
		e.Trajectory = nil
	}
	if drop() {
		e.Response = nil
	}
	if drop() {
		e.Budget = nil
	}
	if drop() {
		e.State = nil
	}
	if drop() {
		e.Liveness.Calls = nil
	}
}

func BenchmarkJudge(b *testing.B) {
	o, run := testOracle(b), parse(b, looping+more+replied)
	c := loopCase()
	for b.Loop() {
		o.Judge(c, run)
	}
}
