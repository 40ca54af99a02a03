package verify

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// A case that nobody can judge, or that nothing can pass, is as good as deleted: its runs are errors, or base misses it too, and it blocks nothing any
// more. Asking for more is stricter only while an agent can give it.

// passable reports the cases of head that changed and of which no run could ever be a pass now. Of new ones it is a note: they take nothing away.
func (r *Report) passable(o *oracle.Oracle, base, head *Set) {
	for _, dir := range slices.Sorted(maps.Keys(head.Cases)) {
		e, was := head.Cases[dir], base.Cases[dir]
		if e.Case.State.Name == regcase.Retired || was != nil && string(canonical(was.Case.Expect)) == string(canonical(e.Case.Expect)) {
			continue
		}
		bad := func(field, why string) {
			if was == nil {
				r.note(head.caseFile(dir), "a new case that cannot guard anything: %s", why)
				return
			}
			r.Findings = append(r.Findings, &Finding{Kind: Broken, Case: e.Case.ID, Path: head.caseFile(dir), Difference: Difference{Field: field, Relation: Unordered}, Why: why})
		}
		if field, why := hopeless(&e.Case); why != "" && !hopelessAs(was, why) {
			bad(field, why)
		}
		for i, n := range e.Case.Expect.Never {
			if o == nil || was != nil && slices.ContainsFunc(was.Case.Expect.Never, func(b regcase.Never) bool { return equalNever(b, n) }) {
				continue
			}
			one := e.Case
			one.Expect = regcase.Expect{Never: []regcase.Never{n}}
			if j, err := head.judge(o, &one, e); err == nil && j.Verdict == oracle.Error {
				bad(at("/expect/never", i), "this pawl cannot judge a run by it, so that none passes and none fails: "+j.Reason)
			}
		}
		if was != nil && blocking(e.Case.State) && Holds(Compare(&was.Case, &e.Case, r.now)) {
			r.note(head.caseFile(dir), "it asserts more while it blocks, and its green runs are of the case as it was: whether the agent can pass it only pawl check tells")
		}
	}
}

func hopelessAs(e *Entry, why string) bool {
	if e == nil {
		return false
	}
	_, before := hopeless(&e.Case)
	return before == why
}

func blocking(s regcase.State) bool {
	return s.Name == regcase.Enforced || s.Name == regcase.Quarantined
}

// hopeless says in which field a case asks for what no run can give.
func hopeless(c *regcase.Case) (field, why string) {
	e := &c.Expect
	wanted := e.Liveness.Calls
	if t := e.Trajectory; t != nil && t.Mode != "subset" && t.Distance == 0 {
		for _, call := range t.Calls {
			wanted = append(slices.Clone(wanted), call.Tool)
		}
	}
	for _, tool := range wanted {
		if len(c.Tools) > 0 && !slices.ContainsFunc(c.Tools, func(t regcase.Tool) bool { return catalog.Normalise(t.Name) == catalog.Normalise(tool) }) {
			return "/expect", fmt.Sprintf("it wants a call of %s, which is none of the tools that the agent is offered", tool)
		}
	}
	if b := e.Budget; b != nil {
		switch least := max(len(e.Liveness.Calls), leastCalls(e.Trajectory)); {
		case b.ToolCalls != nil && float64(*b.ToolCalls)*(1+b.Tolerance) < float64(least):
			return "/expect/budget/tool_calls", fmt.Sprintf("it wants %d tool calls and allows %d", least, *b.ToolCalls)
		case b.TotalTokens != nil && *b.TotalTokens == 0:
			return "/expect/budget/total_tokens", "no model answers without a token"
		case b.DurationS != nil && *b.DurationS == 0:
			return "/expect/budget/duration_s", "no run takes no time"
		}
	}
	return "", ""
}

// leastCalls is how many calls a run that meets a trajectory makes at least.
func leastCalls(t *regcase.Trajectory) int {
	if t == nil || t.Mode == "subset" {
		return 0
	}
	return max(0, len(t.Calls)-t.Distance)
}

// frail lists what makes a new case one that hardly any run could fail. The ratchet holds a case to what it was: what it never asked for it will not
// ask for later.
func frail(c *regcase.Case) (why []string) {
	e := &c.Expect
	say := func(is bool, text string, args ...any) {
		if is {
			why = append(why, fmt.Sprintf(text, args...))
		}
	}
	say(c.Weak, "an agent that refuses everything passes it (weak)")
	say(c.Runs.N < 3, "n is %d", c.Runs.N)
	say(c.Runs.Rate < 0.7, "the rate is %v", c.Runs.Rate)
	say(!e.Liveness.Reply, "no reply is wanted")
	say(!e.Liveness.NoError, "errors pass")
	say(e.Budget != nil && e.Budget.Tolerance > 0.5, "the tolerance is %v", toleranceOf(e.Budget))
	say(e.Response != nil && e.Response.Threshold < 0.8, "the threshold of the reply is %v", thresholdOf(e.Response))
	say(e.Trajectory != nil && e.Trajectory.Distance > 0 && e.Trajectory.Distance >= len(e.Trajectory.Calls), "as many edits as calls are allowed")
	return why
}

func toleranceOf(b *regcase.Budget) float64 {
	if b == nil {
		return 0
	}
	return b.Tolerance
}

func thresholdOf(r *regcase.Response) float64 {
	if r == nil {
		return 0
	}
	return r.Threshold
}
