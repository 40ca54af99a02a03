package ratchet

import (
	"fmt"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// expect asserts what the label's form can: the rule itself, frozen, or numbers from healthy runs of the route.
func expect(t *trajectory.Trajectory, f classify.Finding, base *baseline.Snapshot) (regcase.Expect, error) {
	e := regcase.Expect{Never: []regcase.Never{}, Liveness: liveness(t, base), Criteria: []regcase.Criterion{}}
	if f.Form == classify.FormBudget {
		b, err := budget(t, f.Label, base)
		e.Budget = b
		return e, err
	}
	params, err := json.Marshal(f.Params, json.Deterministic(true))
	if err != nil {
		return e, fmt.Errorf("parameters of %s: %w", f.Rule, err)
	}
	if f.Params == nil {
		params = nil
	}
	e.Never = append(e.Never, regcase.Never{Label: string(f.Label), Rule: f.Rule, Severity: string(leastWarning(f.Severity)), Params: params, Policy: regcase.JSON(f.Policy.JSON())})
	return e, nil
}

// leastWarning is the severity at which a case fails a run: a provisional finding that a person made a case of is a warning from then on.
func leastWarning(s classify.Severity) classify.Severity {
	if s == classify.Info {
		return classify.Warning
	}
	return s
}

// minHealthy is how many healthy runs give a budget.
const minHealthy = 5

// tolerance is how far above the healthy runs a budget lies.
const tolerance = 0.2

// budget holds the agent to the upper end of healthy runs, not their middle: a route answers short questions and long ones, and a healthy answer to this
// one must pass. Money is limited where it is told, the number of tool calls only where the recorded run exceeds it, and the time only of a case about time.
func budget(t *trajectory.Trajectory, label classify.Label, base *baseline.Snapshot) (*regcase.Budget, error) {
	run := baseline.Measure(t)
	main := baseline.TotalTokens
	if label == classify.LatencySpike {
		main = baseline.Duration
	}
	if n := base.Stats(run.Key, main).N; n < minHealthy {
		return nil, &Refused{fmt.Sprintf("%d healthy runs of the route are known: a number to hold the agent to needs %d; give traces of healthy runs with it, or a baseline", n, minHealthy)}
	}
	b := &regcase.Budget{Tolerance: tolerance, Baseline: base.Digest()}
	over := false
	exceeds := func(m baseline.Metric, most float64) bool {
		is := run.Values[m] > most*(1+tolerance)
		over = over || is
		return is
	}
	if most, ok := upperEnd(run, base, baseline.Duration); ok && main == baseline.Duration {
		b.DurationS = new(math.Ceil(most*1e3) / 1e3)
		exceeds(baseline.Duration, *b.DurationS)
	}
	if most, ok := upperEnd(run, base, baseline.TotalTokens); ok && main == baseline.TotalTokens {
		b.TotalTokens = new(int64(math.Ceil(most)))
		exceeds(baseline.TotalTokens, float64(*b.TotalTokens))
	}
	if most, ok := upperEnd(run, base, baseline.Cost); ok && main == baseline.TotalTokens {
		b.CostUSD = new(math.Ceil(most*1e6) / 1e6)
		exceeds(baseline.Cost, *b.CostUSD)
	}
	if most, ok := upperEnd(run, base, baseline.ToolCalls); ok && exceeds(baseline.ToolCalls, math.Ceil(most)+1) {
		b.ToolCalls = new(int64(math.Ceil(most)) + 1)
	}
	if !over {
		return nil, &Refused{"the recorded run is inside the budget that healthy runs give: a case made of it could not fail"}
	}
	return b, nil
}

// upperEnd is the upper end of what healthy runs of the route take; false where too few of them, or the recorded run itself, tell.
func upperEnd(run baseline.Run, base *baseline.Snapshot, m baseline.Metric) (float64, bool) {
	stats := base.Stats(run.Key, m)
	_, told := run.Values[m]
	return stats.P95, told && stats.N >= minHealthy
}

// minAgreeing is how many healthy runs must agree on which tools are called.
const minAgreeing = 3

// liveness asks for a reply, for no error, and for the tools that all healthy runs of the route call.
func liveness(t *trajectory.Trajectory, base *baseline.Snapshot) regcase.Liveness {
	l := regcase.Liveness{Reply: true, NoError: true, Calls: []string{}}
	for _, law := range base.Invariants(baseline.KeyOf(t), order.Uses, "") {
		if law.Runs >= minAgreeing {
			l.Calls, l.Healthy = append(l.Calls, law.By), law.Runs
		}
	}
	return l
}
