package rule

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// EmptyResponse finds turns that end in a model call which neither says anything nor asks for a tool: the user gets nothing.
var EmptyResponse = add(classify.Rule{
	Name: "empty_response", Version: 1, Label: classify.EmptyResponse, Severity: classify.Warning, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "the last model call of a turn came back with nothing",
		Why: "The user gets a blank, and most programs show it as if it were an answer. Nothing is told apart from not recorded: the count of output tokens, or " +
			"a reply that is recorded and blank, or texts of other calls must show that the model really said nothing. A filter that took the answer away, " +
			"and a refusal without words, are named as such. An answer that the limit cut to nothing is truncated_output, and an agent that had just " +
			"written to the user by a tool may end without a word.",
		Fix:     "Look at the finish reason; ask once more where there is none; tell the user what was filtered or refused, and that it was.",
		Example: "the last model call has 2 output tokens, finish reason stop, no text and no call",
	},
	Needs: []trajectory.Fact{trajectory.FactModelCalls},
	Check: checkEmpty,
	Repairs: []classify.Repair{
		change.OfModel("answer-in-words", "the model answered", answerAgain),
	},
})

// The kinds of nothing.
const (
	nothingSaid = "empty"
	filteredOut = "filtered"
	refusedTo   = "refused"
)

// filtered are the words by which providers say that a filter took the answer, or the question, away.
var filtered = []says{
	wording("Azure OpenAI", `content management policy|responsibleaipolicyviolation|content_filter\b`),
	wording("OpenAI", `content_policy_violation|rejected as a result of our safety system`),
	wording("Google", `blocked (due to|by|because of) .{0,30}(safety|prohibited_content|blocklist|recitation)|finish_?reason.{0,20}(safety|prohibited_content|recitation)`),
	wording("Bedrock", `blocked by (the )?(content filters?|guardrails?)|guardrail_intervened`),
	wording("Anthropic", `output blocked by content filtering policy`),
}

func checkEmpty(in *classify.Input) classify.Result {
	t := in.Trajectory
	if len(t.ModelCalls) == 0 {
		return classify.Blind(trajectory.FactModelCalls, "")
	}
	var out []classify.Finding
	judged, doubtful := 0, false
	for _, i := range lastOfTurns(t) {
		kind, sure, told := judgeEmpty(t, i)
		switch {
		case !told:
			doubtful = true
		case kind == "":
			judged++
		default:
			out = append(out, emptyFinding(in, i, kind, sure))
		}
	}
	switch {
	case len(out) > 0 && (t.Complete.Truncated || t.Complete.Dropped > 0):
		return classify.Blind(trajectory.FactWhole, "")
	case len(out) == 0 && judged == 0 && doubtful:
		return classify.Blind(trajectory.FactReply, "")
	}
	return classify.Match(merged(out)...)
}

// lastOfTurns returns the last model call of each turn of the user.
func lastOfTurns(t *trajectory.Trajectory) []int {
	var out []int
	last := -1
	for _, s := range t.Steps {
		switch s.Kind {
		case trajectory.StepModel:
			last = s.Index
		case trajectory.StepUser:
			if last >= 0 {
				out = append(out, last)
			}
			last = -1
		}
	}
	if last >= 0 {
		out = append(out, last)
	}
	return out
}

// judgeEmpty says what kind of nothing a last call gave, "" when it gave something; told is false when the data leaves that open.
func judgeEmpty(t *trajectory.Trajectory, i int) (kind string, sure float64, told bool) {
	m := &t.ModelCalls[i]
	if strings.TrimSpace(m.Text) != "" || len(m.ToolCalls) > 0 || repliedAfter(t, i) {
		return "", 0, true
	}
	if m.Error != nil {
		if speaker(filtered, m.Error.Type+" "+m.Error.Message) != "" {
			return filteredOut, 0.95, true
		}
		return "", 0, true // it failed: that is not to say nothing
	}
	switch m.FinishReason {
	case trajectory.FinishContentFilter:
		if strings.Contains(strings.ToLower(m.FinishRaw), "refus") {
			return refusedTo, 0.95, true
		}
		return filteredOut, 0.95, true
	case trajectory.FinishLength, trajectory.FinishToolCalls, trajectory.FinishError:
		return "", 0, true // cut off, or calls that were not recorded, or no answer at all
	}
	if t.GoesOn || m.End.IsZero() || toldByTool(t, i) || toldByOther(t, i) {
		return "", 0, true
	}
	return saidNothing(t, i)
}

// repliedAfter says that what the turn ended with is not blank, wherever that was read.
func repliedAfter(t *trajectory.Trajectory, m int) bool {
	from := stepOf(t, trajectory.StepModel, m)
	for _, s := range t.Steps[from+1:] {
		if s.Kind == trajectory.StepUser {
			return false
		}
		if s.Kind == trajectory.StepReply && strings.TrimSpace(s.Text) != "" {
			return true
		}
	}
	return false
}

// maxBlank is how many tokens a model may count for an answer with nothing in it: the end of the turn is a token or two, with what opens it.
const maxBlank = 5

// saidNothing weighs the proof that there was no answer, rather than that none was recorded.
func saidNothing(t *trajectory.Trajectory, i int) (kind string, sure float64, told bool) {
	m := &t.ModelCalls[i]
	_, unrecorded := t.Lacks(trajectory.FactReply)
	blank := i == len(t.ModelCalls)-1 && t.Reply != nil && strings.TrimSpace(*t.Reply) == ""
	switch n := m.Usage.Output; {
	case n != nil && said(m) <= maxBlank && *n > 0:
		return nothingSaid, 0.95, true
	case blank:
		return nothingSaid, 0.85, true
	case unrecorded || n != nil && *n > 0:
		return "", 0, false // what it counts as said is not in the data
	case m.FinishReason == trajectory.FinishStop && saysSomewhere(t):
		return nothingSaid, 0.8, true
	}
	return "", 0, false
}

// said counts the tokens of an answer without those of thinking.
func said(m *trajectory.ModelCall) int64 {
	n := *m.Usage.Output
	if m.Usage.Reasoning != nil {
		n -= *m.Usage.Reasoning
	}
	return n
}

// speaks are the verbs in names of tools by which agents speak to people, or end a run.
var speaks = regexp.MustCompile(`(?i)(^|[_.:/-])(send|post|reply|respond|answer|message|notify|say|ask|tell|finish|complete|submit|done|end|final|escalate|present|display|show|render)([_.:/-]|[A-Z]|$)|[a-z](Message|Reply|Answer|Response|Notification)$`)

// toldByTool says that the last thing the agent did before was to speak by a tool, or to end by one, which went well.
func toldByTool(t *trajectory.Trajectory, m int) bool {
	from := stepOf(t, trajectory.StepModel, m)
	for k := from - 1; k >= 0; k-- {
		switch s := t.Steps[k]; s.Kind {
		case trajectory.StepUser, trajectory.StepReply:
			return false
		case trajectory.StepTool:
			c := &t.ToolCalls[s.Index]
			return !failed(c) && (pseudo(c.Name) || speaks.MatchString(c.Name))
		}
	}
	return false
}

// toldByOther says that the agent had handed the user over, and that the other agent said something: it need not add to that.
func toldByOther(t *trajectory.Trajectory, m int) bool {
	agent, spoke := t.ModelCalls[m].Agent, false
	for _, s := range slices.Backward(t.Steps[:stepOf(t, trajectory.StepModel, m)]) {
		switch {
		case s.Kind == trajectory.StepUser:
			return false
		case s.Kind == trajectory.StepModel && t.ModelCalls[s.Index].Agent == agent:
			return spoke && slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return c.Model == s.Index && handsOver.MatchString(c.Name) })
		case s.Kind == trajectory.StepModel && !spoke:
			o := &t.ModelCalls[s.Index]
			spoke = strings.TrimSpace(o.Text) != "" && len(o.ToolCalls) == 0
		}
	}
	return false
}

// handsOver are the names of tools that give the user to another agent, not a question.
var handsOver = regexp.MustCompile(`(?i)^(transfer|handoff|hand_off)[_ -]to`)

func emptyFinding(in *classify.Input, i int, kind string, sure float64) classify.Finding {
	t := in.Trajectory
	m := &t.ModelCalls[i]
	family := modelFamily(nameOf(m))
	model := cmp.Or(classify.SafeName(family), "the model")
	f := in.Finding(m.Agent, classify.Name("model", family), classify.Route("route", t.Route), classify.Word("kind", kind))
	f.Step, f.Confidence = stepOf(t, trajectory.StepModel, i), sure
	what := "came back with no text and no call"
	switch kind {
	case filteredOut:
		what = "came back with nothing, because a content filter took the answer"
	case refusedTo:
		what = "refused to answer, without a word"
	}
	if m.Usage.Output != nil {
		what += fmt.Sprintf(" (%d output tokens)", *m.Usage.Output)
	}
	f.Title = map[string]string{nothingSaid: model + " answered with nothing", filteredOut: "answer of " + model + " filtered out", refusedTo: model + " refused without a word"}[kind]
	f.Why = fmt.Sprintf("the last call of %s in the turn %s, and nothing else in the trace answers the user.", model, what)
	f.Evidence = []classify.Evidence{{SpanID: m.SpanID, What: what}}
	return f
}

// answerAgain gives the call the answer that it lacks.
func answerAgain(t *trajectory.Trajectory, i int) bool {
	m := &t.ModelCalls[i]
	const text = "I could not find that out. May I ask somebody who can?"
	m.Text, m.Error, m.FinishReason, m.FinishRaw = text, nil, trajectory.FinishStop, "stop"
	if i == len(t.ModelCalls)-1 {
		change.Reply(t, text)
	}
	return true
}
