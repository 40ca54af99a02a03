package rule

import (
	"cmp"
	"fmt"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// TruncatedOutput finds answers that a limit on output tokens cut off, and with which the agent was content.
var TruncatedOutput = add(classify.Rule{
	Name: "truncated_output", Version: 1, Label: classify.TruncatedOutput, Severity: classify.Warning, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "an answer was cut off by the limit on output tokens",
		Why: "Half an answer reads like a whole one: a list lacks its end, a condition its exception, a call its arguments. The finish reason decides, in " +
			"any provider's spelling, or the framework's own error that stands for it; text alone proves nothing and is not looked at. A cut answer that " +
			"the same agent went on from before the user spoke again is left out, unless a call that was asked for in it is broken.",
		Fix:     "Raise the limit on output tokens, ask for shorter answers, or look at the finish reason and let the model go on.",
		Example: "the last model call ends with finish reason length, and its text is the reply",
	},
	Check: checkTruncated,
	Repairs: []classify.Repair{
		change.All("answer-in-full", "the model came to its own end", change.Untroubled(), change.OfModel("whole-calls", "the calls of that answer were whole", wholeCalls)),
	},
})

// cutShort are the words by which SDKs throw where the output was cut.
var cutShort = []says{
	wording("OpenAI", `lengthfinishreason|could not parse response content as the length limit was reached|max_output_tokens`),
	wording("Strands", `maxtokens(reached)?(error|exception)|model reached max(imum)? token`),
	wording("pydantic-ai", `incompletetoolcall|model token limit \(.{1,30}\) exceeded (while|before)`),
	wording("LlamaIndex", `response was (cut off|truncated) due to (the )?max(imum)?[_ ]tokens`),
	wording("a framework", `(finish|stop)[_ ]?reason:? ?['"]?(length|max_tokens|max_output_tokens)\b|max(imum)? (output|completion) tokens? (limit )?(was )?(reached|exceeded)|maximum token limit`),
}

func checkTruncated(in *classify.Input) classify.Result {
	t := in.Trajectory
	if len(t.ModelCalls) == 0 {
		return classify.Blind(trajectory.FactModelCalls, "")
	}
	var out []classify.Finding
	judged := 0
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		if m.FinishReason != "" || m.Error != nil {
			judged++
		}
		if by := cutBy(m); by != "" {
			broken := brokenCall(t, i)
			if broken >= 0 || !resumed(t, i) {
				out = append(out, truncatedFinding(in, i, by, broken))
			}
		}
	}
	if len(out) == 0 && judged == 0 {
		return classify.Blind(trajectory.FactFinishReason, "")
	}
	return classify.Match(merged(out)...)
}

// cutBy tells who says that the answer was cut at the limit, "" when nobody does. An input that fills the window is another failure.
func cutBy(m *trajectory.ModelCall) string {
	switch {
	case m.FinishRaw == "model_context_window_exceeded":
		return ""
	case m.Error != nil && speaker(tooLong, m.Error.Type+" "+m.Error.Message) != "":
		return ""
	case m.FinishReason == trajectory.FinishLength:
		return "the finish reason"
	case m.Error != nil:
		return speaker(cutShort, m.Error.Type+" "+m.Error.Message)
	}
	return ""
}

// brokenCall is the tool call that was cut within its arguments, -1 when there is none.
func brokenCall(t *trajectory.Trajectory, m int) int {
	for _, i := range t.ModelCalls[m].ToolCalls {
		if a := t.ToolCalls[i].Arguments; a.Parsed == trajectory.ParsedBroken && !a.Truncated {
			return i
		}
	}
	return -1
}

// resumed says that the agent made another model call, or ran the calls that the cut answer asked for, before the user spoke again: it did not leave it at
// that.
func resumed(t *trajectory.Trajectory, m int) bool {
	if len(t.ModelCalls[m].ToolCalls) > 0 {
		return true
	}
	from := stepOf(t, trajectory.StepModel, m)
	if from < 0 {
		return false
	}
	for _, s := range t.Steps[from+1:] {
		switch {
		case s.Kind == trajectory.StepUser:
			return false
		case s.Kind == trajectory.StepModel && s.Agent == t.ModelCalls[m].Agent:
			return true
		}
	}
	return false
}

func truncatedFinding(in *classify.Input, i int, by string, broken int) classify.Finding {
	t := in.Trajectory
	m := &t.ModelCalls[i]
	model := cmp.Or(classify.SafeName(modelFamily(nameOf(m))), "the model")
	f := in.Finding(m.Agent, classify.Name("model", modelFamily(nameOf(m))), classify.Route("route", t.Route))
	f.Step, f.Confidence = stepOf(t, trajectory.StepModel, i), 0.95
	f.Title = "answer of " + model + " cut at its limit"
	used := ""
	if m.Usage.Output != nil {
		used = fmt.Sprintf(" after %d tokens", *m.Usage.Output)
	}
	what := "the answer of " + model + " was cut"
	switch {
	case broken >= 0:
		what = "the arguments of " + classify.SafeName(t.ToolCalls[broken].Name) + " were cut"
	case m.Text == "" && m.Error == nil && saysSomewhere(t):
		what = model + " was stopped before it had said anything"
	}
	f.Why = fmt.Sprintf("%s%s at the limit on output tokens, by the words of %s, and the agent did not have the model go on.", what, used, by)
	f.Evidence = []classify.Evidence{{SpanID: m.SpanID, What: what + used + ", in the words of " + by}}
	return f
}

// saysSomewhere says that the emitter records what models answer.
func saysSomewhere(t *trajectory.Trajectory) bool {
	for i := range t.ModelCalls {
		if t.ModelCalls[i].Text != "" {
			return true
		}
	}
	return false
}

// wholeCalls mends the arguments that were cut.
func wholeCalls(t *trajectory.Trajectory, m int) bool {
	mended := false
	for _, i := range t.ModelCalls[m].ToolCalls {
		if t.ToolCalls[i].Arguments.Parsed == trajectory.ParsedBroken {
			change.Argue(t, i, []byte("{}"))
			mended = true
		}
	}
	return mended
}
