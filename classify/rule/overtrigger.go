package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// OverTriggerParams say when a tool that was always left alone is one that should be.
type OverTriggerParams struct {
	MinRuns int `json:"min_runs"` // healthy runs that offered a writing tool and did not call it, before its call is a finding
}

// Validate refuses a number under which a tool that is merely seldom used would be forbidden.
func (p OverTriggerParams) Validate() error {
	if p.MinRuns < 20 {
		return errors.New("want min_runs >= 20")
	}
	return nil
}

// OverTrigger finds tools that were called where none, or not this one, was wanted.
var OverTrigger = add(classify.Rule{
	Name: "over_trigger", Version: 1, Label: classify.OverTrigger, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "a tool was called where none was wanted",
		Why: "Thanks need no tool, and some tools are for the cases alone in which the user asks for them. Two lines of policy are read: no_tool_when, by what the user " +
			"said last before the call, and must_not_call, by all that the user said before it. Where the message says more than the pattern matches, the finding is " +
			"a warning. Without a policy, a writing tool that none of very many healthy runs of the route called, though it was on offer, is told for information, " +
			"provisional and of lower confidence. Hand-offs, output tools and calls that were denied or never run are left out.",
		Fix:     "Say in the tool's description when it must not be called, or do not offer it in that state of the conversation.",
		Example: "user: thanks! -> search_orders {\"query\":\"thanks\"}",
	},
	Needs:  []trajectory.Fact{trajectory.FactToolCalls},
	Params: OverTriggerParams{MinRuns: 200},
	Check:  checkOverTrigger,

	Repairs: []classify.Repair{change.WithoutCall()},
})

func checkOverTrigger(in *classify.Input) classify.Result {
	p := classify.ParamsOf[OverTriggerParams](in)
	_, deaf := in.Trajectory.Lacks(trajectory.FactUserMessages)
	var out []classify.Finding
	ruled, heard := false, true
	for _, c := range order.Calls(in.Trajectory) {
		if !c.Made() || pseudo(c.Name) {
			continue
		}
		for _, pol := range policies(in, c.Agent) {
			ruled = ruled || len(pol.MustNotCall)+len(pol.NoToolWhen) > 0
			f, found, silent := triggered(in, pol, c, deaf)
			heard = heard && !silent
			if found {
				out = append(out, f)
			}
		}
	}
	if len(out) == 0 {
		out = neverCalled(in, p)
	}
	ruled = ruled || concerned(in, func(p *classify.Policy) bool { return len(p.MustNotCall)+len(p.NoToolWhen) > 0 })
	switch {
	case len(out) > 0:
		return classify.Match(merged(out)...)
	case !heard:
		return classify.Blind(trajectory.FactUserMessages, "")
	case !ruled && !known(in, order.Spares, p.MinRuns):
		return lacksPolicy(in, "no_tool_when or must_not_call", p.MinRuns)
	}
	return classify.NoMatch()
}

// triggered judges one call by one entry of the policy. Silent says that a line would need the user's words, which are not told.
func triggered(in *classify.Input, pol *classify.Policy, c order.Call, deaf bool) (f classify.Finding, found, silent bool) {
	said := saidBefore(in.Trajectory, c.Step)
	for _, line := range pol.MustNotCall {
		if !isTool(c.Name, line.Tool) {
			continue
		}
		switch {
		case line.UnlessUserSaid == nil:
			return forbidden(in, pol, line, c, "the policy never allows it"), true, false
		case deaf || len(said) == 0:
			silent = true
		case !slices.ContainsFunc(said, line.UnlessUserSaid.MatchString):
			return forbidden(in, pol, line, c, "nothing that the user said before is what the policy wants said for it"), true, false
		}
	}
	for _, line := range pol.NoToolWhen {
		if len(said) == 0 {
			silent = true
			continue
		}
		last := said[len(said)-1]
		if at := line.User.FindStringIndex(last); at != nil {
			return unwanted(in, pol, line, c, more(last, at)), true, false
		}
	}
	return f, false, silent
}

// more says that the message holds a clause of three words or more beside what the pattern matched: it may ask for something.
func more(message string, at []int) bool {
	for i, rest := range []string{message[:at[0]], message[at[1]:]} {
		clauses := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(".,;:!?\n。，！？；、", r) })
		for j, c := range clauses {
			same := i == 0 && j == len(clauses)-1 || i == 1 && j == 0 // the clause that the match is part of
			if words := len(strings.Fields(c)); !same && words >= 3 || same && words > 6 {
				return true
			}
		}
	}
	return false
}

func forbidden(in *classify.Input, pol *classify.Policy, line classify.MustNotCall, c order.Call, why string) classify.Finding {
	f := triggerFinding(in, c)
	f.Confidence = 0.95
	f.Title = classify.SafeName(c.Tool) + " called, which the policy forbids"
	f.Why = fmt.Sprintf("%s was called, and %s.", classify.SafeName(c.Tool), why)
	f.Policy = &classify.Policy{Agent: pol.Agent, MustNotCall: []classify.MustNotCall{line}}
	return f
}

func unwanted(in *classify.Input, pol *classify.Policy, line classify.NoToolWhen, c order.Call, more bool) classify.Finding {
	f := triggerFinding(in, c)
	f.Confidence = 0.95
	f.Title = classify.SafeName(c.Tool) + " called where no tool was wanted"
	f.Why = fmt.Sprintf("%s was called on a message of the user that, by the policy, needs no tool", classify.SafeName(c.Tool))
	if more {
		f.Severity, f.Confidence = classify.Warning, 0.6
		f.Why += "; but the message says more than the policy's pattern matches"
	}
	f.Why += "."
	f.Policy = &classify.Policy{Agent: pol.Agent, NoToolWhen: []classify.NoToolWhen{line}}
	return f
}

func triggerFinding(in *classify.Input, c order.Call) classify.Finding {
	f := in.Finding(c.Agent, classify.Name("tool", c.Tool))
	f.Step = c.Step
	f.Evidence = []classify.Evidence{{SpanID: callSpan(c.ToolCall), What: classify.SafeName(c.Tool) + " called"}}
	return f
}

// neverCalled finds the call of a writing tool that no healthy run of the route made: one a trace, or it is another kind of run altogether.
func neverCalled(in *classify.Input, p OverTriggerParams) []classify.Finding {
	t, key := in.Trajectory, baseline.KeyOf(in.Trajectory)
	if in.Baseline.Runs(key) < p.MinRuns {
		return nil
	}
	var out []classify.Finding
	for _, h := range runOf(in).Habits {
		if h.Kind != order.Spares || len(h.Laws) > 0 {
			continue
		}
		laws := in.Baseline.Invariants(key, h.Kind, h.Of)
		if len(laws) == 0 || laws[0].Runs < p.MinRuns {
			continue
		}
		for _, c := range order.Calls(t) {
			if c.Made() && c.Tool == h.Of {
				f := triggerFinding(in, c)
				f.Severity, f.Confidence = classify.Info, 0.55
				f.Title = classify.SafeName(c.Tool) + " called, which no run of the route does"
				f.Why = fmt.Sprintf("%s was called; provisional: that it is on offer and left alone %s.", classify.SafeName(c.Tool), heldIn(in, laws[0].Runs))
				f.Policy = &classify.Policy{Agent: "*", MustNotCall: []classify.MustNotCall{{Tool: h.Of}}}
				out = append(out, f)
				break
			}
		}
	}
	if len(out) > 1 {
		return nil
	}
	return out
}
