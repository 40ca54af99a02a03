package rule

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// notDone is what an agent says that tells the truth of an effect that failed or of which nothing is known.
const notDone = "I could not do that."

// toldTruth repairs a claim: the answer on which the finding stands says what is true.
func toldTruth() classify.Repair {
	return change.Repair("say-so", "the answer said what is true", func(t *trajectory.Trajectory, f classify.Finding) bool {
		if f.Step < 0 || f.Step >= len(t.Steps) {
			return false
		}
		last := !slices.ContainsFunc(t.Steps[f.Step:], func(s trajectory.Step) bool { return s.Kind == trajectory.StepUser })
		if last {
			change.Reply(t, notDone)
			return true
		}
		if t.Steps[f.Step].Kind == trajectory.StepReply {
			t.Steps[f.Step].Text = notDone
			return true
		}
		return false
	})
}

// worked repairs an effect that failed: the calls that the evidence names were answered well.
func worked() classify.Repair {
	return change.Repair("give-result", "the calls got good answers", func(t *trajectory.Trajectory, f classify.Finding) bool {
		done := false
		for _, e := range f.Evidence {
			if i, ok := callOn(t, e.SpanID); ok {
				change.Answer(t, i, `{"status":"ok"}`)
				t.ToolCalls[i].Executed, done = true, true
			}
		}
		return done
	})
}

// readBack repairs an unknown outcome: what the first call that the evidence names did is read before the agent goes on.
func readBack() classify.Repair {
	return change.Repair("read-back", "what the call had done was read before the agent went on", func(t *trajectory.Trajectory, f classify.Finding) bool {
		i, ok := callOn(t, f.Evidence[0].SpanID)
		if !ok {
			return false
		}
		c := t.ToolCalls[i]
		step := stepOf(t, trajectory.StepTool, i) + 1
		for step < len(t.Steps) && t.Steps[step].Kind == trajectory.StepTool && t.ToolCalls[t.Steps[step].Index].Model == c.Model && c.Model >= 0 {
			step++
		}
		words := slices.DeleteFunc(effect.Words(c.Name), func(w string) bool { return w == "or" || w == "and" })
		change.Insert(t, step, change.Call{Tool: "get_" + strings.Join(words, "_"), Arguments: c.Arguments.Raw, Result: `{"found":true}`, Agent: c.Agent})
		return true
	})
}

// callOn returns the call that a span shows: its execution, its result, else its request.
func callOn(t *trajectory.Trajectory, span string) (int, bool) {
	for i := range t.ToolCalls {
		if c := &t.ToolCalls[i]; span != "" && (span == c.SpanID || span == c.ResultSpanID) {
			return i, true
		}
	}
	return 0, false
}
