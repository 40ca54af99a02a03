package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// SkippedParams say when what always was becomes a rule.
type SkippedParams struct {
	MinRuns  int `json:"min_runs"`  // healthy runs in which the same value went through both calls, before its absence is a finding
	MinPlain int `json:"min_plain"` // the same for one tool that came before another, whatever they were called with
	Most     int `json:"most"`      // findings from habits on one trace
}

// Validate refuses numbers under which chance would be a rule.
func (p SkippedParams) Validate() error {
	if p.MinRuns < 5 || p.MinPlain < p.MinRuns || p.Most < 0 {
		return errors.New("want 5 <= min_runs <= min_plain and most >= 0")
	}
	return nil
}

// SkippedStep finds calls before which another call should have been made and gone well: because the team's policy says so, or because it was so in
// all healthy runs of the route.
var SkippedStep = add(classify.Rule{
	Name: "skipped_step", Version: 1, Label: classify.SkippedStep, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "a tool was called without the step that must come before it",
		Why: "A write that nobody validated, a refund that nobody looked up: the step that makes it safe was left out. A line of policy (must_precede) names the " +
			"tool, the step before it and perhaps an argument that both must share. The step counts if it was asked for in an earlier turn, be it by another agent or " +
			"earlier in the conversation, and did not fail; calls that one turn asked for together are not before each other. Without a policy, what came " +
			"before every call of a writing tool in all healthy runs of the route is looked at: that is provisional, of lower confidence, and for information alone. " +
			"Calls that were denied or never run are left out.",
		Fix:     "Make the tool itself refuse without the step (a token that only the step gives), or tell the agent so in the tool's description.",
		Example: "upsert_product {\"product_id\":\"P1\"}, and no validate_product {\"product_id\":\"P1\"} before it",
	},
	Needs:  []trajectory.Fact{trajectory.FactToolCalls},
	Params: SkippedParams{MinRuns: 20, MinPlain: 40, Most: 2},
	Check:  checkSkipped,

	Repairs: []classify.Repair{change.Preceded(skippedCall), change.WithoutCall()},
})

// skip is one call with what was left out before it.
type skip struct {
	call       order.Call
	line       classify.MustPrecede
	policy     *classify.Policy
	together   bool // one turn asked for both
	failed     bool // the step was tried and did not go well
	other      bool // the step went well for something else
	runs       int  // from habit: the runs in which it held; 0 from policy
	unreadable trajectory.Fact
}

func checkSkipped(in *classify.Input) classify.Result {
	p := classify.ParamsOf[SkippedParams](in)
	calls := order.Calls(in.Trajectory)
	var found []skip
	lacks := trajectory.Fact("")
	for _, c := range calls {
		for _, pol := range policies(in, c.Agent) {
			for _, line := range pol.MustPrecede {
				s, broken := broke(calls, c, line)
				lacks = cmp.Or(lacks, s.unreadable)
				if broken {
					s.policy = pol
					found = append(found, s)
				}
			}
		}
	}
	ruled := concerned(in, func(p *classify.Policy) bool { return len(p.MustPrecede) > 0 })
	found = append(found, fromHabits(in, p, calls, found)...)
	var out []classify.Finding
	for _, s := range found {
		out = append(out, s.finding(in))
	}
	switch {
	case len(out) > 0:
		return classify.Match(merged(out)...)
	case lacks != "":
		return classify.Blind(lacks, "")
	case !ruled && !known(in, order.Precedes, p.MinRuns):
		return lacksPolicy(in, "must_precede", p.MinRuns)
	}
	return classify.NoMatch()
}

// broke says whether a call breaks the line: nothing before it did the step. It is not, where the data does not tell that; then the fact that is
// missing is noted.
func broke(calls []order.Call, c order.Call, line classify.MustPrecede) (skip, bool) {
	s := skip{call: c, line: line}
	if !c.Made() || !isTool(c.Name, line.Tool) {
		return s, false
	}
	want, told := wanted(c, line.Same)
	if !told {
		s.unreadable = trajectory.FactArguments
	}
	have := map[string]bool{}
	for _, a := range calls {
		if !isTool(a.Name, line.Before) {
			continue
		}
		got, readable := order.Values(a.Arguments, cmp.Or(line.BeforeArg, line.Same))
		about := line.Same == "" || !told || !readable || len(want) == 0 || slices.ContainsFunc(want, func(w string) bool { return slices.Contains(got, w) })
		switch before := a.Before(c); {
		case !before:
			s.together = s.together || about && a.Together(c)
		case !about:
			s.other = true
		case a.Went() == order.No:
			s.failed = true
		case a.Went() == order.Untold:
			s.unreadable = trajectory.FactResults
			return s, false
		case !readable && line.Same != "":
			s.unreadable = trajectory.FactArguments
			return s, false
		case line.Same == "" || !told || len(want) == 0:
			return s, false
		default:
			for _, v := range got {
				have[v] = true
			}
		}
	}
	for _, w := range want {
		if !have[w] {
			s.unreadable = ""
			return s, true
		}
	}
	if len(want) > 0 {
		return s, false // each value went through the step
	}
	s.unreadable = ""
	return s, true
}

// wanted are the values of the call that the step must have had; none when any step will do.
func wanted(c order.Call, same string) ([]string, bool) {
	if same == "" {
		return nil, true
	}
	return order.Values(c.Arguments, same)
}

// fromHabits are the calls before which something is missing that came before all such calls in the healthy runs of the route: of each tool the
// strongest alone.
func fromHabits(in *classify.Input, p SkippedParams, calls []order.Call, ruled []skip) []skip {
	key := baseline.KeyOf(in.Trajectory)
	if in.Baseline.Runs(key) < p.MinRuns {
		return nil
	}
	var out []skip
	for _, h := range runOf(in).Habits {
		if h.Kind != order.Precedes || slices.ContainsFunc(ruled, func(s skip) bool { return s.call.Tool == h.Of }) {
			continue
		}
		if s, ok := strongest(in.Baseline.Invariants(key, h.Kind, h.Of), p, calls, h); ok {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b skip) int { return b.runs - a.runs })
	return out[:min(len(out), p.Most)]
}

// strongest is the broken law of a tool that says most: one about values before one about order, then by the runs in which it held.
func strongest(laws []baseline.Invariant, p SkippedParams, calls []order.Call, h order.Habit) (best skip, found bool) {
	for _, l := range laws {
		least := p.MinPlain
		if l.Arg != "" {
			least = p.MinRuns
		}
		kept := slices.ContainsFunc(h.Laws, func(x order.Held) bool { return x.Law == l.Law })
		if kept || l.Runs < least || !l.Varied() {
			continue
		}
		for _, c := range calls {
			line := classify.MustPrecede{Tool: h.Of, Before: l.By, Same: l.Arg}
			if l.ByArg != l.Arg {
				line.BeforeArg = l.ByArg
			}
			s, broken := broke(calls, c, line)
			if !broken || s.together {
				continue
			}
			s.runs = l.Runs
			if !found || s.stronger(best) {
				best, found = s, true
			}
			break
		}
	}
	return best, found
}

func (s skip) stronger(o skip) bool {
	if (s.line.Same != "") != (o.line.Same != "") {
		return s.line.Same != ""
	}
	if s.runs != o.runs {
		return s.runs > o.runs
	}
	return s.line.BeforeArg == "" && o.line.BeforeArg != ""
}

func (s skip) finding(in *classify.Input) classify.Finding {
	tool, before := classify.SafeName(s.call.Tool), classify.SafeName(s.line.Before)
	f := in.Finding(s.call.Agent, classify.Name("tool", s.call.Tool), classify.Name("before", s.line.Before))
	f.Step, f.Confidence = s.call.Step, 0.97
	f.Title = tool + " called without " + before + " before it"
	f.Policy = &classify.Policy{Agent: "*", MustPrecede: []classify.MustPrecede{s.line}}
	if s.together {
		f.Confidence = 0.85
	}
	said := "the policy demands it"
	switch {
	case s.policy != nil:
		f.Policy.Agent = s.policy.Agent
	default:
		f.Severity, f.Confidence = classify.Info, 0.6
		said = "provisional: that " + before + " comes first " + heldIn(in, s.runs)
	}
	f.Why = fmt.Sprintf("%s was called, and %s; %s.", tool, s.missing(before), said)
	f.Evidence = []classify.Evidence{{SpanID: callSpan(s.call.ToolCall), What: tool + " called; " + s.missing(before)}}
	return f
}

// missing says what was not there before the call.
func (s skip) missing(before string) string {
	same := ""
	if s.line.Same != "" {
		same = " with the same " + classify.SafeName(s.line.Same)
	}
	switch {
	case s.failed:
		return "the call of " + before + same + " before it did not go well"
	case s.together:
		return before + same + " was asked for in the same turn, so that its answer was not known yet"
	case s.other:
		return "no call of " + before + same + " came before it, though one for something else did"
	}
	return "no call of " + before + same + " came before it"
}

// skippedCall is the step that the finding misses, for the same thing.
func skippedCall(t *change.Trajectory, f change.Finding) (change.Call, bool) {
	i, ok := change.CallOf(t, f)
	if !ok || f.Policy == nil || len(f.Policy.MustPrecede) != 1 {
		return change.Call{}, false
	}
	line := f.Policy.MustPrecede[0]
	c := change.Call{Tool: line.Before, Agent: t.ToolCalls[i].Agent, Result: `{"status":"ok"}`}
	if values, _ := order.Values(t.ToolCalls[i].Arguments, line.Same); line.Same != "" && len(values) > 0 {
		args, err := json.Marshal(map[string]any{cmp.Or(line.BeforeArg, line.Same): values}, json.Deterministic(true))
		if err != nil {
			return c, false
		}
		c.Arguments = string(args)
	}
	return c, true
}
