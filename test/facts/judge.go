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
	whole    *index // all of the data
	asking   *index // all but the spans of tool executions: where requests are
	pawl     reading
}

func (j *judged) all() {
	j.modelCalls()
	j.calls()
	j.usage()
	j.offered()
	j.handoffs()
	j.users()
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
		j.judge(requested, j.scenario, r != nil, j.asking.hasCall(c.tool, c.args), "%s %s", c.tool, c.args)
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
	ranInData := slices.ContainsFunc(j.raw.spans, j.of.tool) || result != "" && result != "null" && j.whole.hasValue(result) || c.ran.thrown() != "" && j.whole.hasText(c.ran.thrown())
	j.judge(executed, j.scenario, e != nil, ranInData, "%s %s", c.tool, c.args)
	switch text := c.ran.thrown(); {
	case text != "":
		ok := e != nil && (e.Error != nil && strings.Contains(e.Error.Message, text) || strings.Contains(e.Result.Raw, text))
		j.judge(results, j.scenario, ok, j.whole.hasText(text), "%s threw %q, got %s", c.tool, text, showCall(e))
	case c.ran.Outcome == "ok" && result != "":
		ok := e != nil && e.HasResult && sameValue(e.Result, result)
		j.judge(results, j.scenario, ok, j.whole.hasValue(result), "%s gave %s, got %s", c.tool, result, showCall(e))
	}
}

func (j *judged) arguments(c call, r, e *trajectory.ToolCall) {
	inData := j.whole.hasValue(c.args) || j.whole.hasText(c.args)
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
		j.judge(outcomes, j.scenario, false, j.outcomeInData(c) && (j.asking.hasCall(c.tool, c.args) || j.whole.hasText(c.args)), "%s %s: no such call", c.tool, c.args)
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
	j.judge(outcomes, j.scenario, slices.Contains(want, got), j.outcomeInData(c), "%s %s is %s, want %v", c.tool, c.args, got, want)
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
	return result != "" && j.whole.hasValue(result) || c.ran.thrown() != "" && j.whole.hasText(c.ran.thrown()) || slices.ContainsFunc(j.raw.spans, j.of.tool)
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
	return slices.ContainsFunc(j.whole.texts, func(t string) bool {
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

// offered: every tool of the agent with its parameters, and no other.
func (j *judged) offered() {
	var names, bare []string
	of := j.of.offers()
	for tool, params := range of {
		def := j.definition(tool)
		switch {
		case def == nil:
			names = append(names, tool)
		case len(def.Schema) == 0 && len(params) > 0 && j.schemaInData(params):
			bare = append(bare, tool)
		case len(def.Schema) > 0 && slices.ContainsFunc(params, func(p string) bool { return !strings.Contains(string(def.Schema), `"`+p+`"`) }):
			bare = append(bare, tool)
		}
	}
	slices.Sort(names)
	more := j.offersMore(of)
	j.judge(tools, j.scenario, len(names)+len(bare)+len(more) == 0, len(names) < len(of) || j.listsTools(of), "not offered %v, without schema %v, more %v", names, bare, more)
}

// listsTools says whether the data names tools that nobody called, other than in a sentence.
func (j *judged) listsTools(of map[string][]string) bool {
	n := 0
	for tool := range of {
		called := slices.ContainsFunc(j.run.calls, func(c call) bool { return c.tool == tool })
		if !called && (j.whole.values[canonical(tool)] || j.whole.hasText(tool+",")) && !j.whole.hasText(tool+", ") {
			n++
		}
	}
	return n > 1
}

func (j *judged) offersMore(of map[string][]string) []string {
	var more []string
	for _, t := range j.pawl.all {
		for _, d := range t.ToolsOffered {
			if _, ok := of[d.Name]; !ok && !slices.Contains(more, d.Name) {
				more = append(more, d.Name)
			}
		}
	}
	return more
}

func (j *judged) definition(tool string) *trajectory.ToolDef {
	var found *trajectory.ToolDef
	for _, t := range j.pawl.all {
		for i := range t.ToolsOffered {
			if d := &t.ToolsOffered[i]; d.Name == tool && (found == nil || len(found.Schema) == 0) {
				found = d
			}
		}
	}
	return found
}

// schemaInData says whether an object of the data has the tool's parameters as the keys of its properties.
func (j *judged) schemaInData(params []string) bool {
	for _, p := range j.whole.keys["properties"] {
		o, _ := p.(map[string]any)
		if len(o) == len(params) && !slices.ContainsFunc(params, func(p string) bool { return o[p] == nil }) {
			return true
		}
	}
	return false
}

// handoffs: no run of these scenarios hands over.
func (j *judged) handoffs() {
	for _, t := range j.pawl.all {
		for _, h := range t.Handoffs {
			j.wrong(handoffs, j.scenario, "nobody handed over from %q to %q", h.From, h.To)
			return
		}
	}
	j.right(handoffs, 1)
}

func (j *judged) users() {
	var got []string
	for _, t := range j.pawl.all {
		for i, m := range t.UserMessages {
			if slices.Contains(t.UserMessages[:i], m) {
				j.wrong(userMessages, j.scenario, "%.60q twice in one trace", m)
			} else if !slices.Contains(got, m) {
				got = append(got, m)
			}
		}
	}
	for _, want := range j.run.users {
		i := slices.Index(got, want)
		j.judge(userMessages, j.scenario, i >= 0, j.whole.hasText(want), "%q, got %.200q", want, got)
		if i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
	}
	for _, m := range got {
		j.wrong(userMessages, j.scenario, "no user said %.120q", m)
	}
}

func (j *judged) replies() {
	var got []string
	for _, t := range j.pawl.all {
		for _, text := range answersOf(t) {
			if text = strings.TrimSpace(text); text != "" && !slices.Contains(got, text) {
				got = append(got, text)
			}
		}
	}
	if len(j.run.replies) == 0 && len(got) == 0 {
		j.right(reply, 1) // none, as it was
	}
	for _, want := range j.run.replies {
		i := slices.Index(got, want)
		j.judge(reply, j.scenario, i >= 0, j.whole.hasText(want), "%q, got %.200q", want, got)
		if i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
	}
	got = slices.DeleteFunc(got, j.run.returned)
	for _, m := range got {
		j.wrong(reply, j.scenario, "nobody answered %.120q", m)
	}
}

// answersOf are the reply of a trace and, where it holds several turns, those of the earlier ones.
func answersOf(t *trajectory.Trajectory) []string {
	var out []string
	for _, s := range t.Steps {
		if s.Kind == trajectory.StepReply {
			out = append(out, s.Text)
		}
	}
	if t.Reply != nil && !slices.Contains(out, *t.Reply) {
		out = append(out, *t.Reply)
	}
	return out
}

func (j *judged) sessions() {
	for _, t := range j.pawl.all {
		if !t.IsAgent() {
			continue
		}
		inData := slices.ContainsFunc(j.raw.spans, func(s rawSpan) bool { return strings.EqualFold(s.trace, t.TraceID) && mentions(s, j.run.truth.Session) })
		if !inData && t.SessionID != "" {
			j.wrong(session, j.scenario, "got %q, which is not in the data", t.SessionID)
			continue
		}
		j.judge(session, j.scenario, t.SessionID == j.run.truth.Session, inData, "got %q, want %q", t.SessionID, j.run.truth.Session)
	}
}

func mentions(s rawSpan, text string) bool {
	for _, v := range s.attrs {
		if strings.Contains(canonical(v), text) {
			return true
		}
	}
	return false
}
