package baseline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pawl-dev/pawl/classify/order"
)

// randomRun shows some of three subjects, with some of five laws.
func randomRun(r *rand.Rand) Run {
	run := Run{Key: Key{"s", "a", fmt.Sprint(r.IntN(2))}, Values: map[Metric]float64{ToolCalls: float64(r.IntN(9))}}
	for of := range 3 {
		if r.IntN(3) == 0 {
			continue
		}
		h := order.Habit{Kind: order.Precedes, Of: fmt.Sprint("tool", of)}
		for by := range 5 {
			if r.IntN(20) > by {
				h.Laws = append(h.Laws, order.Held{Law: order.Law{By: fmt.Sprint("by", by), Arg: "id", ByArg: "id"}, Value: uint16(r.IntN(7))})
			}
		}
		run.Habits = append(run.Habits, h)
	}
	return run
}

func fileOf(t *testing.T, b *Baseline) string {
	var out bytes.Buffer
	if err := b.Snapshot().Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What a baseline knows of habits depends on the multiset of runs alone, it survives its file, and leaving a run out is as if it had never been.
func TestHabitsCommute(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		runs := make([]Run, r.IntN(12)+2)
		for i := range runs {
			runs[i] = randomRun(r)
		}
		whole, halves, mixed := New(), [2]*Baseline{New(), New()}, New()
		for _, x := range runs {
			whole.Learn(x)
			halves[r.IntN(2)].Learn(x)
		}
		for _, i := range r.Perm(len(runs)) {
			mixed.Learn(runs[i])
		}
		halves[0].Merge(halves[1])
		want := fileOf(t, whole)
		if got := fileOf(t, halves[0]); got != want {
			t.Fatalf("merged\n%s\nlearnt\n%s", got, want)
		}
		if got := fileOf(t, mixed); got != want {
			t.Fatalf("in another order\n%s\nlearnt\n%s", got, want)
		}
		again, err := Read(bytes.NewReader([]byte(want)))
		if err != nil || fileOf(t, again) != want {
			t.Fatalf("read again (%v)\n%s", err, want)
		}
		leaveOut(t, whole, runs)
	}
}

func leaveOut(t *testing.T, whole *Baseline, runs []Run) {
	t.Helper()
	for i, x := range runs {
		others := New()
		for j, y := range runs {
			if i != j {
				others.Learn(y)
			}
		}
		for of := range 3 {
			tool := fmt.Sprint("tool", of)
			got, want := whole.Snapshot().Without(x).Invariants(x.Key, order.Precedes, tool), others.Snapshot().Invariants(x.Key, order.Precedes, tool)
			if len(got) != len(want) {
				t.Fatalf("without run %d %v, of the others %v", i, got, want)
			}
			for k := range got {
				if got[k].Law != want[k].Law || got[k].Runs != want[k].Runs {
					t.Fatalf("without run %d %v, of the others %v", i, got, want)
				}
			}
		}
	}
}

func TestHabitsFileIsChecked(t *testing.T) {
	for name, habits := range map[string]string{
		"kind": `{"kind":"x","of":"t","runs":1}`, "runs": `{"kind":"precedes","of":"t","runs":9}`, "none": `{"kind":"precedes","of":"t","runs":0}`,
		"misses": `{"kind":"precedes","of":"t","runs":2,"laws":[{"by":"a","misses":2}]}`, "values": `{"kind":"precedes","of":"t","runs":2,"laws":[{"by":"a","values":[2,1]}]}`,
		"twice": `{"kind":"precedes","of":"t","runs":2,"laws":[{"by":"a"},{"by":"a"}]}`,
	} {
		file := `{"version":1,"accuracy":0.01,"routes":[{"service":"s","agent":"","route":"r","runs":2,"metrics":{},"habits":[` + habits + `]}]}`
		if _, err := Read(bytes.NewReader([]byte(file))); err == nil {
			t.Errorf("%s: %s was read", name, habits)
		}
	}
}
