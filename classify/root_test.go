package classify

import (
	"slices"
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// twoTurns is a session of two turns: in each the model asks for a tool, two tools in the first.
func twoTurns() *trajectory.Trajectory {
	t := &trajectory.Trajectory{Service: "shop", TraceID: "1", Complete: trajectory.Completeness{HasRoot: true}, Reply: new("ok"),
		ModelCalls: []trajectory.ModelCall{{SpanID: "m0", ToolCalls: []int{0, 1}}, {SpanID: "m1", ToolCalls: []int{2}}}}
	for i, name := range []string{"get_order", "send_mail", "get_order"} {
		m := i / 2
		t.ToolCalls = append(t.ToolCalls, trajectory.ToolCall{SpanID: "c" + string(rune('0'+i)), RequestSpanID: t.ModelCalls[m].SpanID, Name: name, Model: m, Requested: true, Executed: true})
	}
	t.Steps = []trajectory.Step{
		{Kind: trajectory.StepUser, Index: -1}, {Kind: trajectory.StepModel, Index: 0}, {Kind: trajectory.StepTool, Index: 0}, {Kind: trajectory.StepTool, Index: 1},
		{Kind: trajectory.StepUser, Index: -1}, {Kind: trajectory.StepModel, Index: 1}, {Kind: trajectory.StepTool, Index: 2}, {Kind: trajectory.StepReply, Index: -1},
	}
	return t
}

// said is a rule that finds its label at a step, with evidence on a span, at a confidence.
func said(name string, l Label, s Severity, step int, span string, confidence float64) Rule {
	return ruleOf(name, l, s, func(in *Input) Result {
		f := in.Finding("a", Word("rule", name))
		f.Step, f.Confidence = step, confidence
		if span != "" {
			f.Evidence = []Evidence{{SpanID: span}}
		}
		return Match(f)
	})
}

func TestRoots(t *testing.T) {
	cases := []struct {
		name    string
		rules   []Rule
		primary Label
		roots   []Label
	}{
		{"a loop of a tool that does not exist", []Rule{
			said("a", Loop, Blocking, 3, "c1", 0.97), said("b", HallucinatedTool, Blocking, 3, "c1", 0.95)}, HallucinatedTool, []Label{HallucinatedTool}},
		{"what is measured follows", []Rule{
			said("a", CostSpike, Blocking, 1, "m0", 0.9), said("b", Loop, Blocking, 2, "c0", 0.97)}, Loop, []Label{Loop}},
		{"another tool in the same turn", []Rule{
			said("a", SchemaViolation, Blocking, 2, "c0", 0.97), said("b", FabricatedSuccess, Blocking, 3, "c1", 0.9)}, SchemaViolation, []Label{SchemaViolation, FabricatedSuccess}},
		{"the reply that claims what the refused call did not do", []Rule{
			said("a", SchemaViolation, Blocking, 6, "c2", 0.97), said("b", FabricatedSuccess, Blocking, 7, "", 0.9)}, SchemaViolation, []Label{SchemaViolation}},
		{"a call of another tool, written as text", []Rule{
			said("a", HallucinatedData, Blocking, 2, "c0", 0.97), ruleOf("b", MissingToolResult, Blocking, func(in *Input) Result {
				f := in.Finding("a", Name("tool", "search"))
				f.Step = -1
				return Match(f)
			})}, HallucinatedData, []Label{HallucinatedData, MissingToolResult}},
		{"another turn", []Rule{
			said("a", SchemaViolation, Blocking, 2, "c0", 0.97), said("b", HallucinatedData, Blocking, 6, "c2", 0.9)}, SchemaViolation, []Label{SchemaViolation, HallucinatedData}},
		{"two decisions in one turn", []Rule{
			said("a", SchemaViolation, Blocking, 2, "c0", 0.97), said("b", SkippedStep, Blocking, 3, "c1", 0.97)}, SchemaViolation, []Label{SchemaViolation, SkippedStep}},
		{"two of one kind on two tools", []Rule{
			said("a", SchemaViolation, Blocking, 2, "c0", 0.97), said("b", SchemaViolation, Blocking, 3, "c1", 0.97)}, SchemaViolation, []Label{SchemaViolation, SchemaViolation}},
		{"two of one kind on one call", []Rule{
			said("a", SchemaViolation, Blocking, 2, "c0", 0.97), said("b", SchemaViolation, Blocking, 2, "c0", 0.97)}, SchemaViolation, []Label{SchemaViolation}},
		{"what the outside did is part of it", []Rule{
			said("a", PermissionDenied, Warning, 2, "c0", 0.97), said("b", FabricatedSuccess, Blocking, 3, "", 0.9)}, FabricatedSuccess, []Label{FabricatedSuccess}},
		{"the outside alone", []Rule{said("a", UpstreamError, Warning, 1, "m0", 0.97)}, UpstreamError, []Label{UpstreamError}},
		{"a warning explains nothing that blocks", []Rule{
			said("a", Loop, Warning, 2, "c0", 0.97), said("b", CostSpike, Blocking, -1, "", 0.9)}, CostSpike, []Label{CostSpike, Loop}},
		{"what is unsure explains nothing that is sure", []Rule{
			said("a", SchemaViolation, Blocking, 2, "c0", 0.7), said("b", Loop, Blocking, 2, "c0", 0.97)}, SchemaViolation, []Label{SchemaViolation, Loop}},
		{"info explains nothing", []Rule{
			said("a", Loop, Info, 2, "c0", 0.97), said("b", CostSpike, Warning, -1, "", 0.9)}, CostSpike, []Label{CostSpike, Loop}},
		{"a team's rule that fits every call explains nothing of pawl's", []Rule{
			said("a", "any_call", Blocking, 2, "c0", 1), said("b", Loop, Blocking, 2, "c0", 0.97)}, Loop, []Label{Loop}},
		{"and is explained by it at most", []Rule{
			said("a", "any_call", Blocking, 1, "m0", 1), said("b", Loop, Blocking, 2, "c0", 0.97)}, "any_call", []Label{"any_call", Loop}},
		{"a chain has one root", []Rule{
			said("a", HallucinatedTool, Blocking, 2, "c0", 0.97), said("b", Loop, Blocking, 2, "c0", 0.97), said("c", ContextOverflow, Blocking, -1, "", 0.97),
			said("d", CostSpike, Blocking, -1, "", 0.97)}, HallucinatedTool, []Label{HallucinatedTool}},
	}
	for _, c := range cases {
		r := mustNew(t, c.rules, Options{}).Classify(twoTurns(), nil)
		var roots []Label
		ids := map[string]bool{}
		for _, f := range r.Findings {
			if f.Because == nil {
				roots, ids[f.Fingerprint.ID()] = append(roots, f.Label), true
			}
		}
		for _, f := range r.Findings {
			if f.Because != nil && !ids[*f.Because] {
				t.Errorf("%s: %s is because of %s, which is no root", c.name, f.Label, *f.Because)
			}
		}
		slices.Sort(roots)
		slices.Sort(c.roots)
		if r.Primary == nil || *r.Primary != c.primary || !slices.Equal(roots, c.roots) {
			t.Errorf("%s: primary %v, roots %v, want %s and %v", c.name, r.Primary, roots, c.primary, c.roots)
		}
	}
}
