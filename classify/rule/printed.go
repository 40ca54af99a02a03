package rule

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// printedCall is how models write a call into their answer instead of making it: a JSON object, or a line of a text protocol, that names a
// tool beside its arguments.
var printedCall = []*regexp.Regexp{
	regexp.MustCompile(`(?s)"(?:action|name|tool|tool_name|function)"\s*:\s*"([^"\n]{1,100})"\s*,\s*"(?:action_input|arguments|parameters|args|input|tool_input)"\s*:`),
	regexp.MustCompile(`(?m)^\s*Action:\s*([A-Za-z0-9_.\-]{1,100})\s*\n\s*Action Input:`),
	regexp.MustCompile(`<(?:tool_call|function_call|function|invoke)[ =>](?:name=)?"?([A-Za-z0-9_.\-]{1,100})"?>`),
}

// printed returns the offered tool whose call the model wrote as text into the last answer of its agent, where no call was made.
func printed(t *trajectory.Trajectory, i int) (string, bool) {
	m := &t.ModelCalls[i]
	if m.Offered == nil || len(m.ToolCalls) > 0 || m.Error != nil || m.FinishReason == trajectory.FinishLength || later(t, i) {
		return "", false
	}
	for _, re := range printedCall {
		for _, hit := range re.FindAllStringSubmatch(m.Text, 4) {
			if d, ok := findTool(m.Offered, strings.TrimSpace(hit[1])); ok && !d.Builtin && !pseudo(d.Name) {
				return d.Name, true
			}
		}
	}
	return "", false
}

// later says that the agent made another model call after this one.
func later(t *trajectory.Trajectory, i int) bool {
	for _, o := range t.ModelCalls[i+1:] {
		if o.Agent == t.ModelCalls[i].Agent {
			return true
		}
	}
	return false
}

func printedFinding(in *classify.Input, i int, tool string) classify.Finding {
	t := in.Trajectory
	name := classify.SafeName(tool)
	f := in.Finding(t.ModelCalls[i].Agent, classify.Name("tool", tool), classify.Word("form", "printed"))
	f.Step = stepOf(t, trajectory.StepModel, i)
	f.Confidence = 0.85
	f.Title = name + " written into the answer as text and never called"
	f.Why = fmt.Sprintf("the last answer holds a call of %s as text, the tool was on offer, and nobody called it.", name)
	f.Evidence = append(f.Evidence, classify.Evidence{SpanID: t.ModelCalls[i].SpanID, What: "the answer's text is a call of " + name + "; the answer requests no tool"})
	return f
}
