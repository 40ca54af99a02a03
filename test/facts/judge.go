package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// judged is one run: what happened, what the raw bytes hold, and what pawl read.
type judged struct {
	*sheet
	scenario string
	run      run
	raw      capture
	of       emitter
	whole    func() *index // all of the data
	asking   func() *index // all but the spans of tool executions: where requests are
	pawl     reading
}

func (j *judged) all() {
	j.modelCalls()
	j.calls()
	j.usage()
	j.offered()
	j.handoffs()
	j.users()
	j.foretold()
	j.replies()
	j.sessions()
}

// modelCalls: as many as the script had answered, plus those the provider failed, of which the data may show more (retries) or none.
func (j *judged) modelCalls() {
	got, seen := 0, 0
	for _, t := range j.pawl.all {
		got += len(t.ModelCalls)
	}
	for _, s := range j.raw.spans {
		if j.of.model(s) {
			seen++
		}
	}
	happened := j.run.answered + j.run.failing
	if j.of.total != nil {
		seen = max(seen, happened) // one span stands for the loop; its steps are told apart by what they asked for
	}
	want := max(seen, 0)
	if j.run.failing == 0 && seen > happened {
		j.wrong(modelCalls, j.scenario, "the raw reader sees %d model spans, the script made %d calls", seen, happened)
	}
	j.right(modelCalls, min(got, want))
	if got != want {
		j.wrong(modelCalls, j.scenario, "got %d, want %d", got, want)
	}
	j.absent(modelCalls, max(0, happened-want), j.scenario, "%d of %d calls have no span", happened-want, happened)
}

func (j *judged) calls() {
	asked, done := slices.Clone(j.pawl.requested), slices.Clone(j.pawl.executed)
	for _, c := range j.run.calls {
		r := take(&asked, c.tool, c.args)
		j.judge(requested, j.scenario, r != nil, func() bool { return j.asking().hasCall(c.tool, c.args) }, "%s %s", c.tool, c.args)
		e := take(&done, c.tool, c.args)
		if c.ran != nil {
			j.execution(c, e)
		}
		j.arguments(c, r, e)
		j.outcome(c, r, e)
	}
	for _, c := range asked {
		j.wrong(requested, j.scenario, "nobody asked for %s %s", c.Name, c.Arguments.Raw)
	}
	for _, c := range done {
		if c.Outcome == trajectory.OutcomeOK {
			j.wrong(executed, j.scenario, "%s %s did not run", c.Name, c.Arguments.Raw)
		}
	}
}

// execution judges that the call ran and what came of it.
func (j *judged) execution(c call, e *trajectory.ToolCall) {
	result := string(c.ran.Result)
	ranInData := func() bool {
		return slices.ContainsFunc(j.raw.spans, j.of.tool) || result != "" && result != "null" && j.whole().hasValue(result) || c.ran.thrown() != "" && j.whole().hasText(c.ran.thrown())
	}
	j.judge(executed, j.scenario, e != nil, ranInData, "%s %s", c.tool, c.args)
	switch text := c.ran.thrown(); {
	case text != "":
		ok := e != nil && (e.Error != nil && strings.Contains(e.Error.Message, text) || strings.Contains(e.Result.Raw, text))
		j.judge(results, j.scenario, ok, func() bool { return j.whole().hasText(text) }, "%s threw %q, got %s", c.tool, text, showCall(e))
	case c.ran.Outcome == "ok" && result != "":
		ok := e != nil && e.HasResult && sameValue(e.Result, result)
		j.judge(results, j.scenario, ok, func() bool { return j.whole().hasValue(result) }, "%s gave %s, got %s", c.tool, result, showCall(e))
	}
}

func (j *judged) arguments(c call, r, e *trajectory.ToolCall) {
	inData := func() bool { return j.whole().hasValue(c.args) || j.whole().hasText(c.args) }
	switch {
	case r == nil && e == nil:
		j.judge(arguments, j.scenario, false, inData, "%s %s: no such call", c.tool, c.args)
	case r != nil && r != e && e != nil && !sameValue(e.Arguments, c.args) && c.ran != nil && !sameValue(e.Arguments, string(c.ran.Args)):
		j.wrong(arguments, j.scenario, "%s ran with %s, want %s", c.tool, e.Arguments.Raw, c.args)
	default:
		one := r
		if one == nil {
			one = e
		}
		ok := sameValue(one.Arguments, c.args) || sameValue(one.Arguments, wrapped(c.args))
		j.judge(arguments, j.scenario, ok, inData, "%s %s, got %q", c.tool, c.args, one.Arguments.Raw)
	}
}

// wrapped is how the scripted provider puts arguments that are no JSON into a protocol whose arguments are always an object.
func wrapped(text string) string { return `{"_raw":` + canonical(text) + `}` }

// outcome: a call that ran has the log's; one that was refused failed; one that nobody ran is missing.
func (j *judged) outcome(c call, r, e *trajectory.ToolCall) {
	one := e
	if one == nil {
		one = r
	}
	if one == nil {
		inData := func() bool {
			return j.outcomeInData(c) && (j.asking().hasCall(c.tool, c.args) || j.whole().hasText(c.args))
		}
		j.judge(outcomes, j.scenario, false, inData, "%s %s: no such call", c.tool, c.args)
		return
	}
	got, want := one.Outcome, []trajectory.Outcome{trajectory.OutcomeError}
	switch {
	case c.ran == nil && j.scenario == "S08":
		want = []trajectory.Outcome{trajectory.OutcomeMissing}
		if j.run.suspended {
			want = append(want, trajectory.OutcomeUnknown) // it waits for a person's approval
		}
	case c.ran == nil && !j.tellsRefusal(c):
		want = append(want, trajectory.OutcomeMissing) // all that is to be seen is that nothing came of it
	case c.ran == nil:
	case c.ran.Outcome == "ok":
		want = []trajectory.Outcome{trajectory.OutcomeOK}
	case c.ran.Outcome == "hang":
		want = []trajectory.Outcome{trajectory.OutcomeTimeout, trajectory.OutcomeError, trajectory.OutcomeUnknown}
	case j.scenario == "S11":
		want = append(want, trajectory.OutcomeDenied)
	case j.scenario == "S10":
		want = append(want, trajectory.OutcomeTimeout)
	}
	j.judge(outcomes, j.scenario, slices.Contains(want, got), func() bool { return j.outcomeInData(c) }, "%s %s is %s, want %v", c.tool, c.args, got, want)
}

// outcomeInData says whether the data tells what became of a call: its result or error, or, of a refused one, any word of refusal.
func (j *judged) outcomeInData(c call) bool {
	if j.of.blind {
		return false
	}
	if c.ran == nil && j.scenario == "S08" {
		return !j.of.apart && j.ended()
	}
	if c.ran == nil {
		return j.tellsRefusal(c)
	}
	result := string(c.ran.Result)
	return result != "" && j.whole().hasValue(result) || c.ran.thrown() != "" && j.whole().hasText(c.ran.thrown()) || slices.ContainsFunc(j.raw.spans, j.of.tool)
}

// ended says whether the data shows the run as a whole: a span without a parent, or one whose parent is there.
func (j *judged) ended() bool {
	return slices.ContainsFunc(j.raw.spans, func(s rawSpan) bool { return s.parent == "" })
}

// tellsRefusal says whether the data holds a word of refusal: an error's text, or a short text that names the tool or the arguments.
func (j *judged) tellsRefusal(c call) bool {
	if j.run.truth.Outcome.Error != "" && slices.ContainsFunc(j.raw.spans, func(s rawSpan) bool { return s.failed }) {
		return true
	}
	return slices.ContainsFunc(j.whole().texts, func(t string) bool {
		if len(t) > 1500 || strings.HasPrefix(t, "{") || !strings.Contains(t, c.tool) && !strings.Contains(t, c.args) {
			return strings.Contains(strings.ToLower(t[:min(len(t), 200)]), "not json") || strings.Contains(t[:min(len(t), 200)], "not parse")
		}
		lower := strings.ToLower(t)
		return slices.ContainsFunc([]string{"invalid", "not found", "unavailable", "error", "unknown", "no such", "did not match"}, func(w string) bool { return strings.Contains(lower, w) })
	})
}

func showCall(c *trajectory.ToolCall) string {
	if c == nil {
		return "no call"
	}
	text := fmt.Sprintf("%s, result %.80q", c.Outcome, c.Result.Raw)
	if c.Error != nil {
		text += fmt.Sprintf(", error %.80q", c.Error.Message)
	}
	return text
}
