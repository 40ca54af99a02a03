package verify

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// TestSequencesHold compares many small expectations of calls with each other, and the order with what they say of every small run.
func TestSequencesHold(t *testing.T) {
	runs := smallRuns()
	pairs, passed, all := 0, 0, 0
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 6))
		base := smallTrajectory(r)
		on := verdicts(base, runs)
		for range 12 {
			head := clone(t, regcase.Case{State: regcase.State{Name: regcase.Pending}, Expect: regcase.Expect{Trajectory: base}}).Expect.Trajectory
			for range 1 + r.IntN(2) {
				alter(r, head)
			}
			d := &differ{}
			d.trajectory(base, head)
			if len(d.out) == 0 || !Holds(d.out) {
				continue
			}
			pairs++
			for i, ok := range verdicts(head, runs) {
				all++
				if !ok {
					continue
				}
				passed++
				if !on[i] {
					t.Fatalf("seed %d: %v passes %s and not %s: %+v", seed, runs[i], canonical(head), canonical(base), d.out)
				}
			}
		}
	}
	t.Logf("%d pairs; %d of %d runs pass", pairs, passed, all)
	if pairs < 300 || passed < 1000 {
		t.Errorf("%d pairs, %d of %d runs pass: too few to show anything", pairs, passed, all)
	}
}

func verdicts(e *regcase.Trajectory, runs [][]match.Call) (out []bool) {
	for _, run := range runs {
		out = append(out, match.Matcher{}.Sequence(e, run).Holds())
	}
	return out
}

// smallRuns are all runs of up to three calls of two tools with few arguments, and some longer ones.
func smallRuns() (out [][]match.Call) {
	var calls []match.Call
	for _, tool := range []string{"a", "b"} {
		for _, args := range []string{`{}`, `{"x":0}`, `{"x":10}`, `{"x":10.05,"y":"v"}`} {
			calls = append(calls, match.Call{Tool: tool, Arguments: trajectory.Value{JSON: []byte(args), Raw: args}, Together: -1})
		}
	}
	out = append(out, nil)
	for i := range calls {
		out = append(out, calls[i:i+1])
		for j := range calls {
			out = append(out, []match.Call{calls[i], calls[j]})
			if k := (i*7 + j*3) % len(calls); (i+j)%3 == 0 {
				out = append(out, []match.Call{calls[i], calls[j], calls[k]})
			}
		}
	}
	for i, run := range slices.Clone(out) { // the same, asked for together
		if len(run) == 2 && i%2 == 0 {
			both := slices.Clone(run)
			both[0].Together, both[1].Together = 0, 0
			out = append(out, both)
		}
	}
	return out
}

func smallTrajectory(r *rand.Rand) *regcase.Trajectory {
	e := &regcase.Trajectory{}
	for range 3 {
		alter(r, e)
	}
	e.Mode = pick(r, "exact", "ordered", "unordered", "superset", "subset")
	e.Distance = pick(r, 0, 0, 0, 1)
	for range 1 + r.IntN(2) {
		e.Calls = append(e.Calls, smallCall(r))
	}
	return e
}

func smallCall(r *rand.Rand) regcase.ExpectedCall {
	c := regcase.ExpectedCall{Tool: pick(r, "a", "b"), Mode: pick(r, "exact", "ignore", "subset", "superset"), Arguments: map[string]regcase.Field{}}
	for _, p := range []string{"/x", "/y"} {
		if r.IntN(2) == 0 {
			c.Arguments[p] = smallField(r)
		}
	}
	return c
}

func smallField(r *rand.Rand) regcase.Field {
	return pick(r, regcase.Field{Match: "ignore"}, regcase.Field{Match: "exact", Value: regcase.JSON("10")}, regcase.Field{Match: "number", Value: regcase.JSON("10")},
		regcase.Field{Match: "exact", Value: regcase.JSON("0")}, regcase.Field{Match: "number", Value: regcase.JSON("0")}, regcase.Field{Match: "exact", Value: regcase.JSON(`"v"`)},
		regcase.Field{Match: "exact"}, regcase.Field{Match: "pattern", Value: regcase.JSON(`"v|1"`)})
}

// alter changes one thing of an expectation.
func alter(r *rand.Rand, e *regcase.Trajectory) {
	if len(e.Calls) == 0 {
		e.Calls = append(e.Calls, smallCall(r))
		return
	}
	i := r.IntN(len(e.Calls))
	c := &e.Calls[i]
	if c.Arguments == nil {
		c.Arguments = map[string]regcase.Field{}
	}
	switch r.IntN(10) {
	case 0, 1:
		e.Mode = pick(r, "exact", "ordered", "unordered", "superset", "subset")
	case 2:
		e.Distance = r.IntN(2)
	case 3:
		e.Calls = slices.Insert(e.Calls, i, smallCall(r))
	case 4:
		e.Calls = slices.Delete(e.Calls, i, i+1)
	case 5, 6:
		c.Mode = pick(r, "exact", "ignore", "subset", "superset")
	case 7:
		delete(c.Arguments, pick(r, "/x", "/y"))
	default:
		c.Arguments[pick(r, "/x", "/y")] = smallField(r)
	}
}

// TestLessIsStricter judges runs by the real rules with two values of every parameter that the table calls monotone.
func TestLessIsStricter(t *testing.T) {
	o := oracle.New(slog.New(slog.DiscardHandler), rule.All())
	for rule, tried := range map[string]struct{ full, runs []string }{
		"loop": {
			full: []string{`{"warn":%s,"match":%s,"poll":%s,"max_period":4}`, "2", "3", "5", "8"},
			runs: append(loops(`ok {"status":"open"}`), append(loops(`ok {"n":%d}`), loops(`error {"error":"no"}`)...)...),
		},
		"context_overflow": {
			full: []string{`{"warn":%s,"match":%s,"windows":{}}`, "0.5", "0.7", "0.85", "0.95"},
			runs: windows(),
		},
	} {
		holds(t, o, rule, tried.full[0], tried.full[1:], tried.runs)
	}
}

func loops(result string) (out []string) {
	for n := 1; n <= 9; n++ {
		var b strings.Builder
		b.WriteString("trace service=shop route=/chat\nuser hi\n")
		for i := range n {
			answer := result
			if strings.Contains(result, "%d") {
				answer = fmt.Sprintf(result, i)
			}
			fmt.Fprintf(&b, "model m%d in=20 out=5\ncall c%d get_order {\"id\":1}\n  %s\n", i, i, answer)
		}
		out = append(out, b.String()+"model z in=20 out=5 text=\"ok\"\nreply done\n")
	}
	return out
}

func windows() (out []string) {
	for in := 60_000; in <= 128_000; in += 4_000 {
		out = append(out, fmt.Sprintf("trace service=shop route=/chat\nuser hi\nmodel m model=gpt-4o in=%d out=5 text=\"ok\"\nreply done\n", in))
	}
	return out
}

// holds judges every run by every pair of parameter sets that differ in one number of the table.
func holds(t *testing.T, o *oracle.Oracle, name, form string, values, texts []string) {
	slots := strings.Count(form, "%s")
	var sets []regcase.JSON
	for i := range pow(len(values), slots) {
		args := make([]any, slots)
		for s := range slots {
			args[s] = values[i/pow(len(values), s)%len(values)]
		}
		sets = append(sets, regcase.NewJSON(fmt.Appendf(nil, form, args...)))
	}
	verdict := map[string][]oracle.Verdict{}
	count := map[oracle.Verdict]int{}
	for _, p := range sets {
		c := &regcase.Case{Form: "never", Expect: regcase.Expect{Never: []regcase.Never{{Label: name, Rule: name + "@1", Params: p}}}}
		for _, text := range texts {
			run, err := fixture.Parse("x/match.txtar", []byte("-- trajectory --\n"+text)).Trajectory()
			if err != nil {
				t.Fatal(err)
			}
			v := o.Judge(c, run).Verdict
			count[v]++
			verdict[string(p)] = append(verdict[string(p)], v)
		}
	}
	stricter := 0
	for _, base := range sets {
		for _, head := range sets {
			if paramsRelation(name, base, head) != Stricter || slices.Contains(verdict[string(base)], oracle.Error) {
				continue // a threshold above the next one is no case: it cannot be judged, and is not admitted
			}
			stricter++
			for i, v := range verdict[string(head)] {
				if v == oracle.Pass && verdict[string(base)][i] != oracle.Pass {
					t.Fatalf("%s: passes with %s and is %s with %s:\n%s", name, head, verdict[string(base)][i], base, texts[i])
				}
			}
		}
	}
	if stricter == 0 || count[oracle.Pass] == 0 || count[oracle.Fail] == 0 {
		t.Errorf("%s: %d pairs and %v: nothing was shown", name, stricter, count)
	}
	t.Logf("%s: %d pairs, %v", name, stricter, count)
}

func pow(n, k int) int {
	out := 1
	for range k {
		out *= n
	}
	return out
}
