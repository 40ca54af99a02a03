package casetest

import (
	"math/rand/v2"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Expect returns an arbitrary expectation that holds the frozen rule of a label.
func Expect(r *rand.Rand, label classify.Label) regcase.Expect {
	e := regcase.Expect{Never: []regcase.Never{Never(r, label)}, Liveness: liveness(r), Criteria: []regcase.Criterion{}}
	if r.IntN(5) == 0 {
		e.Never = append(e.Never, regcase.Never{Label: "unsafe_retry", Rule: "unsafe_retry@1", Severity: "blocking"})
	}
	if r.IntN(2) == 0 {
		e.Trajectory = Trajectory(r)
	}
	if r.IntN(4) == 0 {
		e.State = passed(r)
	}
	if r.IntN(4) == 0 {
		e.Response = &regcase.Response{Text: pick(r, []string{"Your order ORD-1 ships on 2026-12-01.", "I could not find it."}), Threshold: pick(r, []float64{0.88, 0.93, 0.97})}
	}
	if r.IntN(4) == 0 {
		e.Criteria = append(e.Criteria, regcase.Criterion{Text: "It names the order.", Judge: r.IntN(2) == 0})
	}
	if r.IntN(4) == 0 {
		e.Budget = Budget(r)
	}
	return e
}

// Never returns the frozen rule of one of the labels that Fingerprint uses.
func Never(r *rand.Rand, label classify.Label) regcase.Never {
	switch label {
	case classify.Loop:
		match := pick(r, []string{"4", "5", "6"})
		return regcase.Never{Label: "loop", Rule: "loop@3", Severity: pick(r, []string{"warning", "blocking"}), Params: regcase.NewJSON([]byte(`{"warn":3,"match":` + match + `,"poll":10,"max_period":4}`))}
	case classify.HallucinatedTool:
		return regcase.Never{Label: string(label), Rule: "hallucinated_tool@2", Severity: "blocking"}
	}
	return regcase.Never{Label: string(label), Rule: "tool_args_schema_violation@3", Severity: "blocking"}
}

func liveness(r *rand.Rand) regcase.Liveness {
	l := regcase.Liveness{Reply: r.IntN(4) > 0, NoError: r.IntN(4) > 0, Calls: []string{}}
	for _, name := range tools {
		if r.IntN(6) == 0 {
			l.Calls, l.Healthy = append(l.Calls, name), 3
		}
	}
	return l
}

// Trajectory returns up to three expected calls in any mode.
func Trajectory(r *rand.Rand) *regcase.Trajectory {
	t := &regcase.Trajectory{Mode: pick(r, []string{"exact", "ordered", "unordered", "superset", "subset"}), Calls: []regcase.ExpectedCall{}}
	if r.IntN(4) == 0 {
		t.Distance = 1
	}
	for range 1 + r.IntN(3) {
		c := regcase.ExpectedCall{Tool: pick(r, tools), Mode: pick(r, []string{"exact", "ignore", "subset", "superset"}), Arguments: map[string]regcase.Field{}}
		for range r.IntN(3) {
			c.Arguments[pick(r, pointer)] = Field(r)
		}
		t.Calls = append(t.Calls, c)
	}
	return t
}

// Field returns a matcher with a value of its kind.
func Field(r *rand.Rand) regcase.Field {
	switch match := pick(r, []string{"exact", "ignore", "number", "pattern", "semantic"}); match {
	case "ignore":
		return regcase.Field{Match: match}
	case "number":
		return regcase.Field{Match: match, Value: regcase.NewJSON([]byte(pick(r, []string{"10", "1.5", "-3e2"})))}
	case "pattern":
		return regcase.Field{Match: match, Value: regcase.NewJSON([]byte(pick(r, []string{`"^ORD-[0-9]+$"`, `".*"`, `"ORD-1"`})))}
	case "semantic":
		return regcase.Field{Match: match, Value: regcase.NewJSON([]byte(`"the order of yesterday"`))}
	default:
		return regcase.Field{Match: match, Value: regcase.NewJSON([]byte(pick(r, values)))}
	}
}

func passed(r *rand.Rand) *regcase.Passed {
	p := &regcase.Passed{Nodes: []string{}, Memory: []regcase.Memory{}}
	for range 1 + r.IntN(2) {
		p.Nodes = append(p.Nodes, pick(r, nodes))
	}
	if r.IntN(2) == 0 {
		p.Memory = append(p.Memory, regcase.Memory{Key: "order", Value: regcase.NewJSON([]byte(pick(r, values)))})
	}
	return p
}

// Budget returns a ceiling in at least one number.
func Budget(r *rand.Rand) *regcase.Budget {
	b := &regcase.Budget{TotalTokens: new(int64(500 + 100*r.IntN(10))), Tolerance: pick(r, []float64{0, 0.2, 0.5}), Baseline: pick(r, []string{"", digest(r)})}
	if r.IntN(2) == 0 {
		b.ToolCalls = new(int64(1 + r.IntN(6)))
	}
	if r.IntN(3) == 0 {
		b.CostUSD = new(float64(r.IntN(1000)) / 1e4)
	}
	if r.IntN(3) == 0 {
		b.DurationS = new(float64(1 + r.IntN(60)))
	}
	return b
}
