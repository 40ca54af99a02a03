package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func TestSteadiness(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	measures := []regcase.Measure{
		{Case: "a", Agent: "desk", At: at, Runs: 10},
		{Case: "b", Agent: "desk", At: at.Add(time.Hour), Commit: "0123456789abcdef", Runs: 10, Differs: 0.1},
		{Case: "gone", Agent: "desk", At: at, Runs: 10, Differs: 1},
		{Case: "c", Agent: "pay", At: at, Runs: 10, Differs: 0.1},
	}
	all := SteadinessOf(measures, func(id string) bool { return id != "gone" }, func(agent string) float64 {
		if agent == "pay" {
			return 0.01
		}
		return 0.05
	})
	if len(all) != 2 || !all[0].Steady || all[0].Differs != 0.05 || all[0].Runs != 20 || all[1].Steady {
		t.Errorf("%+v", all)
	}
	if _, ok := Unsteady(all, "desk"); ok {
		t.Error("at its limit it is steady")
	}
	if u, ok := Unsteady(all, "pay"); !ok || !strings.HasPrefix(u.Sentence(), "pay differed from itself in 10.0 % of 10 runs, and may in 1 % (pawl variance, 2026-12-01)") {
		t.Error(u.Sentence())
	}
	if _, ok := Unsteady(all, "nobody"); ok {
		t.Error("what was never measured is not held to be unsteady")
	}
	if _, ok := MeasureOf(Variance{Case: "a", Runs: 4, Invalid: 4}, Stamp{}, at); ok {
		t.Error("no run was judged")
	}
	if m, ok := MeasureOf(Variance{Case: "a", Runs: 4, Arguments: 0.75, Verdicts: 1}, Stamp{Commit: "abc", Dirty: true}, at); !ok || m.Commit != "" || m.Differs != 0.25 {
		t.Errorf("%+v", m)
	}
}
