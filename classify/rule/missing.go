package rule

import (
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// MissingToolResult finds calls that the model asked for and that nobody answered.
//
// It wants no session. What a later trace answers is settled before the rule sees the trace (trajectory.Settle); that one lets a call of an earlier trace
// lie proves nothing, since runs that wait for a person or a client go on in the same way.
var MissingToolResult = add(classify.Rule{
	Name: "missing_tool_result", Version: 1, Label: classify.MissingToolResult, Severity: classify.Blocking, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "a tool call was requested and never answered",
		Why: "The agent went on, or ended, without the answer that it had asked for: what it says after that rests on nothing. Judged only on whole " +
			"traces; calls that run at the client or the provider, denied ones, ones that were cut off, ones that the schema or the framework refused, " +
			"and ones after which the run broke off with an error are left out. A call " +
			"of an offered tool that the model wrote into its last answer as text, where no call was made, was not answered either.",
		Fix:     "Execute every requested call, and answer those that are not executed with an error; do not end the run on a request.",
		Example: "the model asks for get_order and the run ends",
	},
	Needs: []trajectory.Fact{trajectory.FactToolCalls},
	Check: checkMissing,
	Repairs: []classify.Repair{
		change.Answered(`{"status":"ok"}`), change.WithoutCall(),
		change.OfModel("answer-in-words", "the last answer was one in words", answerInWords),
	},
})

func checkMissing(in *classify.Input) classify.Result {
	t := in.Trajectory
	var out []classify.Finding
	open := false
	for i := range t.ToolCalls {
		open = open || unclear(&t.ToolCalls[i])
		if unanswered(in, i) {
			out = append(out, missingFinding(in, i))
		}
	}
	for i := range t.ModelCalls {
		if tool, ok := printed(t, i); ok {
			out = append(out, printedFinding(in, i, tool))
		}
	}
	switch {
	case len(out) == 0 && open && !t.Complete.HasRoot:
		return classify.Blind(trajectory.FactRoot, "")
	case len(out) == 0 && open:
		return classify.Blind(trajectory.FactResults, "")
	case len(out) == 0:
		return classify.NoMatch()
	}
	switch c := t.Complete; {
	case !c.HasRoot:
		return classify.Blind(trajectory.FactRoot, "")
	case c.Truncated || c.Dropped > 0:
		return classify.Blind(trajectory.FactWhole, "")
	case c.Unfinished > 0:
		return classify.Blind(trajectory.FactWhole, "spans of this trace never ended, so an answer may still be on its way")
	}
	return classify.Match(merged(out)...)
}

// unclear says that the data shows neither an answer to the call nor that there was none.
func unclear(c *trajectory.ToolCall) bool {
	return c.Outcome == trajectory.OutcomeUnknown && c.Requested && !c.Executed && !c.Recalled && !c.HasResult && !pseudo(c.Name)
}

// unanswered says that the call is missing its answer and that nothing excuses it.
func unanswered(in *classify.Input, i int) bool {
	t := in.Trajectory
	c := &t.ToolCalls[i]
	if c.Outcome != trajectory.OutcomeMissing || !c.Requested || c.Executed || c.Recalled || c.HasResult || c.Error != nil {
		return false
	}
	return !pseudo(c.Name) && !elsewhere(in, c) && !cutOff(t, c) && !refusedOrUnknown(in, i) && !brokeOff(t, i) && !ranUnpaired(t, c)
}

// ranUnpaired says that an execution without a request has the same name and arguments: then it is this call's, whatever the order says.
func ranUnpaired(t *trajectory.Trajectory, c *trajectory.ToolCall) bool {
	return slices.ContainsFunc(t.ToolCalls, func(o trajectory.ToolCall) bool {
		return o.Executed && !o.Requested && o.Name == c.Name && string(o.Arguments.JSON) == string(c.Arguments.JSON)
	})
}

// elsewhere says that the tool is run where no span shows it: by the provider or by the client.
func elsewhere(in *classify.Input, c *trajectory.ToolCall) bool {
	if set, ok := offeredTo(in.Trajectory, c); ok {
		if d, ok := findTool(set, c.Name); ok && d.Builtin {
			return true
		}
	}
	tool, ok := in.Catalog.Tool(c.Name)
	if !ok {
		return false
	}
	where, _ := tool.Execution["where"].(string)
	return where == "client" || tool.Execution["client"] == "always"
}

func cutOff(t *trajectory.Trajectory, c *trajectory.ToolCall) bool {
	if c.Model < 0 {
		return false
	}
	r := t.ModelCalls[c.Model].FinishReason
	return r == trajectory.FinishLength || r == trajectory.FinishContentFilter || r == trajectory.FinishError
}

// refusedOrUnknown says that the call could not run: that is the finding, and the missing answer its consequence.
func refusedOrUnknown(in *classify.Input, i int) bool {
	ws, _ := judgeArguments(in, i)
	if len(ws) > 0 {
		return true
	}
	set, seen := offeredTo(in.Trajectory, &in.Trajectory.ToolCalls[i])
	_, made := hallucination(in, i, set, seen)
	return made
}

// brokeOff says that the run ended with an error after this call, before the agent took another step.
func brokeOff(t *trajectory.Trajectory, i int) bool {
	return t.RootError != nil && !wentOn(t, i)
}

// wentOn says that the agent made another model call, or answered, after asking.
func wentOn(t *trajectory.Trajectory, i int) bool {
	m := t.ToolCalls[i].Model
	return m >= 0 && later(t, m)
}

func missingFinding(in *classify.Input, i int) classify.Finding {
	t := in.Trajectory
	c := &t.ToolCalls[i]
	name := classify.SafeName(c.Name)
	f := in.Finding(c.Agent, classify.Name("tool", c.Name))
	f.Step = stepOf(t, trajectory.StepTool, i)
	f.Title = name + " requested and never answered"
	f.Evidence = append(f.Evidence, classify.Evidence{SpanID: firstOf(c.RequestSpanID, c.SpanID), What: "requested " + name + "; no execution and no result anywhere in the trace"})
	if wentOn(t, i) {
		f.Confidence = 0.95
		f.Why = fmt.Sprintf("the model asked for %s, no result of it is in the trace, and the agent went on without it.", name)
		return f
	}
	f.Confidence = 0.85
	f.Why = fmt.Sprintf("the model asked for %s, no result of it is in the trace, and the run ended there without an error.", name)
	return f
}

// answerInWords replaces the call that a last answer holds as text, if no call was made.
func answerInWords(t *trajectory.Trajectory, m int) bool {
	if len(t.ModelCalls[m].ToolCalls) > 0 {
		return false
	}
	t.ModelCalls[m].Text = "I could not look it up."
	change.Reply(t, t.ModelCalls[m].Text)
	return true
}
