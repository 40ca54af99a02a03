package admit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
)

// maxControls is how many healthy runs are tried before the case is found to fail everything.
const maxControls = 5

// control finds the healthy run that passes, and damages it. A case that every healthy run fails is refused; one that none decides goes without.
func (x *exam) control() error {
	failed := ""
	for _, t := range x.Controls[:min(len(x.Controls), maxControls)] {
		switch j := x.ask(t); j.Verdict {
		case oracle.Pass:
			x.proof.Control = t.TraceID
			return x.damage(t)
		case oracle.Fail:
			failed = fmt.Sprintf("run %s fails it: %s", t.TraceID, reasonOf(j))
		}
	}
	if failed != "" {
		return refuse("healthy runs of the same route fail the case too: %s", failed)
	}
	return nil
}

// damage is one way in which a healthy run is made bad.
type damage struct {
	name     string
	does     string
	asserted bool // the case asserts what is damaged: it must turn red
	apply    func(t *trajectory.Trajectory) bool
}

// damage breaks the control in every way there is. What the case asserts must be missed; the rest shows what else it sees.
func (x *exam) damage(control *trajectory.Trajectory) error {
	for _, d := range append(x.assertions(), transplants()...) {
		t := control.Clone()
		if !d.apply(t) {
			continue
		}
		j := x.ask(t)
		if j.Verdict == oracle.Fail {
			x.proof.Kills = append(x.proof.Kills, "damage/"+d.name)
		} else if d.asserted && j.Verdict == oracle.Pass { // not decided is no pass
			return refuse("the case asserts that %s, and passes a healthy run in which that is not so", d.does)
		}
	}
	return nil
}

// assertions are the damages to what the case asserts of every run.
func (x *exam) assertions() (out []damage) {
	e := &x.Case.Expect
	if e.Liveness.Reply {
		out = append(out, damage{"no-reply", "there is a reply", true, silence})
	}
	if e.Liveness.NoError {
		out = append(out, damage{"end-in-error", "the run does not end in an error", true, func(t *trajectory.Trajectory) bool {
			t.RootError = &trajectory.Error{Type: "Error", Message: "the run broke off"}
			return true
		}})
	}
	for _, tool := range e.Liveness.Calls {
		out = append(out, dropping(tool, tool+" is called"))
	}
	if e.Trajectory != nil && e.Trajectory.Mode != "subset" {
		for _, c := range e.Trajectory.Calls {
			out = append(out, dropping(c.Tool, c.Tool+" is called as expected"))
			for pointer, f := range c.Arguments {
				if f.Match == "exact" || f.Match == "number" {
					out = append(out, otherArgument(c.Tool, pointer))
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b damage) int { return strings.Compare(a.name, b.name) })
	if b := e.Budget; b != nil && (b.TotalTokens != nil || b.CostUSD != nil) {
		out = append(out, damage{"use-more", "no more tokens or money are used than healthy runs do", true, func(t *trajectory.Trajectory) bool {
			c, ok := change.Leaner(50).Apply(t, classify.Finding{})
			if ok {
				*t = *c
			}
			return ok
		}})
	}
	return out
}

// silence takes the run's last answer away.
func silence(t *trajectory.Trajectory) bool {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		if t.Steps[i].Kind == trajectory.StepReply {
			t.Steps = slices.Delete(t.Steps, i, i+1)
			break
		}
	}
	had := t.Reply != nil
	t.Reply = nil
	for i := range t.ModelCalls { // of an earlier turn too: it could be taken for the answer
		if len(t.ModelCalls[i].ToolCalls) == 0 {
			t.ModelCalls[i].Text = ""
		}
	}
	return had
}

func dropping(tool, does string) damage {
	return damage{"drop-call/" + tool, does, true, func(t *trajectory.Trajectory) bool {
		dropped := false
		for i := len(t.ToolCalls) - 1; i >= 0; i-- {
			if sameTool(t.ToolCalls[i].Name, tool) {
				change.DropCall(t, i)
				dropped = true
				i = len(t.ToolCalls) // dropping one may have taken a model call with it
			}
		}
		return dropped
	}}
}

// otherArgument gives every call of a tool another value in the first level of its arguments.
func otherArgument(tool, pointer string) damage {
	name := strings.TrimPrefix(pointer, "/")
	return damage{"other-argument/" + tool + pointer, tool + " is called with the " + name + " expected", true, func(t *trajectory.Trajectory) bool {
		changed := false
		for i := range t.ToolCalls {
			if sameTool(t.ToolCalls[i].Name, tool) && !strings.Contains(name, "/") {
				quoted, err := jsontext.AppendQuote(nil, name)
				if err != nil {
					continue
				}
				change.Argue(t, i, jsontext.Value(`{`+string(quoted)+`:"another value"}`))
				changed = true
			}
		}
		return changed
	}}
}

// transplants are failures put into a healthy run. Which of them a case sees follows from its rules.
func transplants() []damage {
	return []damage{
		{"repeat-call", "", false, func(t *trajectory.Trajectory) bool { return repeat(t, 6) }},
		{"unknown-tool", "", false, func(t *trajectory.Trajectory) bool {
			return eachCall(t, func(i int) { change.Rename(t, i, "no_such_tool"); change.Fail(t, i, "unknown tool: no_such_tool") })
		}},
		{"no-arguments", "", false, func(t *trajectory.Trajectory) bool {
			return eachCall(t, func(i int) { change.Argue(t, i, jsontext.Value(`{"no_such_field":{}}`)) })
		}},
		{"hide-error", "", false, func(t *trajectory.Trajectory) bool {
			return eachCall(t, func(i int) { change.Fail(t, i, "internal error: nothing was done") })
		}},
		{"lose-result", "", false, func(t *trajectory.Trajectory) bool { return lose(t) }},
	}
}

func eachCall(t *trajectory.Trajectory, do func(i int)) bool {
	for i := range t.ToolCalls {
		do(i)
	}
	return len(t.ToolCalls) > 0
}

// repeat makes the last call again, with the same answer, n times.
func repeat(t *trajectory.Trajectory, n int) bool {
	if len(t.ToolCalls) == 0 {
		return false
	}
	last := len(t.ToolCalls) - 1
	c := t.ToolCalls[last]
	step := slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == trajectory.StepTool && s.Index == last })
	if step < 0 || !c.HasResult {
		return false
	}
	for k := range n {
		i := change.Insert(t, step+1+2*k, change.Call{Tool: c.Name, Arguments: c.Arguments.Raw, Result: c.Result.Raw, Agent: c.Agent})
		t.ToolCalls[i].Result, t.ToolCalls[i].Outcome, t.ToolCalls[i].Error = c.Result, c.Outcome, c.Error
	}
	return true
}

// lose takes the answers of all calls away.
func lose(t *trajectory.Trajectory) bool {
	return eachCall(t, func(i int) {
		c := &t.ToolCalls[i]
		c.Result, c.HasResult, c.ResultSpanID, c.Executed, c.Error, c.Outcome = trajectory.Value{Parsed: trajectory.ParsedAbsent}, false, "", false, nil, trajectory.OutcomeMissing
	})
}

// calls says whether the run calls a tool.
func calls(t *trajectory.Trajectory, tool string) bool {
	return slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return sameTool(c.Name, tool) })
}

// sameTool compares names without what frameworks put around them.
func sameTool(a, b string) bool { return catalog.Normalise(a) == catalog.Normalise(b) }
