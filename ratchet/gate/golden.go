package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Share is how many of some runs did something.
type Share struct {
	Did int `json:"did"`
	Of  int `json:"of"`
}

func (s *Share) count(did bool) {
	s.Of++
	if did {
		s.Did++
	}
}

// String is the share as people read it, "" of no runs.
func (s Share) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %% (%d of %d)", 100*float64(s.Did)/float64(s.Of), s.Did, s.Of)
}

// Scores say how well an agent chooses its tools, over the first runs of the cases that were written by hand.
type Scores struct {
	Cases       int         `json:"cases"`
	Selection   Share       `json:"selection"`    // the expected tool was called
	Arguments   Share       `json:"arguments"`    // of the runs that called it: with the expected arguments
	Sequence    Share       `json:"sequence"`     // the expected tools were called in their order
	OverTrigger Share       `json:"over_trigger"` // a tool was called where none may be
	Completion  Share       `json:"completion"`   // of the runs whose criteria a model judged: all of them were fulfilled
	Confused    []Confusion `json:"confused"`     // what was called in place of the expected tool, most frequent first
}

// Confusion is a tool that was called first where another was expected and never called. Got is "" where none was called.
type Confusion struct {
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Count    int    `json:"count"`
}

// Deciders count the runs of a report by what their verdict rests on.
func (r Report) Deciders() map[Decider]int {
	out := map[Decider]int{}
	for _, run := range r.Runs {
		if run.Decided != "" && (run.Verdict == Pass || run.Verdict == Fail) {
			out[run.Decided]++
		}
	}
	return out
}

// Scores measures the cases that were written by hand; nil where there are none.
func (r Report) Scores(cases []*Case) *Scores {
	by := map[string]*Case{}
	for _, c := range cases {
		if c.Golden != nil {
			by[c.ID] = c
		}
	}
	if len(by) == 0 {
		return nil
	}
	s := &Scores{Cases: len(by), Confused: []Confusion{}}
	confused := map[Confusion]int{}
	for _, run := range r.Runs {
		told := run.Verdict == Pass || run.Verdict == Fail || run.Verdict == Inconclusive && len(run.Calls) > 0
		if c := by[run.Case]; c != nil && told && run.Side == Head && !run.Again {
			s.count(c, run, confused)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(confused), func(a, b Confusion) int {
		return cmp.Or(confused[b]-confused[a], cmp.Compare(a.Expected, b.Expected), cmp.Compare(a.Got, b.Got))
	}) {
		k.Count = confused[k]
		s.Confused = append(s.Confused, k)
	}
	return s
}

func (s *Scores) count(c *Case, run Run, confused map[Confusion]int) {
	calls := matchCalls(run.Calls)
	if c.Golden.NoTool {
		s.OverTrigger.count(len(calls) > 0)
	}
	if tool := c.Golden.ExpectTool; tool != "" {
		called := calledTool(run.Calls, tool)
		s.Selection.count(called)
		switch {
		case !called:
			k := Confusion{Expected: tool}
			if len(run.Calls) > 0 {
				k.Got = run.Calls[0].Tool
			}
			confused[k]++
		case len(c.Golden.ExpectArgs) > 0:
			want := c.Expect.Trajectory.Calls
			i := slices.IndexFunc(want, func(e regcase.ExpectedCall) bool { return e.Tool == tool })
			s.Arguments.count(match.Matcher{}.Sequence(&regcase.Trajectory{Mode: string(match.Superset), Calls: want[i : i+1]}, calls).Holds())
		}
	}
	if len(c.Golden.ExpectSequence) > 0 {
		order := &regcase.Trajectory{Mode: string(match.Ordered)}
		for _, t := range c.Golden.ExpectSequence {
			order.Calls = append(order.Calls, regcase.ExpectedCall{Tool: t, Mode: "ignore"})
		}
		s.Sequence.count(match.Matcher{}.Sequence(order, calls).Holds())
	}
	if run.Decided == ByModel && run.Verdict != Inconclusive {
		s.Completion.count(!slices.ContainsFunc(run.Mismatches, func(m Mismatch) bool { return strings.HasPrefix(m.Field, "criteria") }))
	}
}

func matchCalls(calls []Call) []match.Call {
	out := make([]match.Call, 0, len(calls))
	for i, c := range calls {
		out = append(out, match.Call{Tool: c.Tool, Arguments: trajectory.Value{JSON: jsontext.Value(c.Arguments), Raw: string(c.Arguments)}, Step: i, Together: -1})
	}
	return out
}

func calledTool(calls []Call, tool string) bool {
	return slices.ContainsFunc(calls, func(c Call) bool { return catalog.Normalise(c.Tool) == catalog.Normalise(tool) })
}

// Sentences say the scores, one a line, as far as there were runs.
func (s Scores) Sentences() (out []string) {
	for _, x := range []struct {
		what string
		of   Share
	}{{"the right tool", s.Selection}, {"its arguments right", s.Arguments}, {"the right order", s.Sequence}, {"a tool where none may be", s.OverTrigger}, {"criteria fulfilled", s.Completion}} {
		if x.of.Of > 0 {
			out = append(out, x.what+": "+x.of.String())
		}
	}
	for _, k := range s.Confused[:min(3, len(s.Confused))] {
		out = append(out, fmt.Sprintf("%s in place of %s: %d", cmp.Or(k.Got, "no tool"), k.Expected, k.Count))
	}
	return out
}

// forbidden is the first tool that was asked for although the case allows no such call at all, whatever was answered; "" if none was.
func forbidden(e *regcase.Trajectory, ledger []Entry) string {
	if e == nil || e.Distance > 0 || e.Mode != string(match.Exact) && e.Mode != string(match.Subset) {
		return ""
	}
	for _, call := range ledger {
		if !slices.ContainsFunc(e.Calls, func(x regcase.ExpectedCall) bool { return catalog.Normalise(x.Tool) == catalog.Normalise(call.Tool) }) {
			return call.Tool
		}
	}
	return ""
}

// allowed names the tools that a case allows.
func allowed(e *regcase.Trajectory) string {
	var tools []string
	for _, c := range e.Calls {
		tools = append(tools, c.Tool)
	}
	if len(tools) == 0 {
		return "none"
	}
	return strings.Join(tools, ", ") + " alone"
}
