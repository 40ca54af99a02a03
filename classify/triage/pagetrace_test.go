package triage

import (
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// What a rule saw on a model call is told at the call, not at the message that came with it.
func TestEvidenceStandsAtTheAgentsDoing(t *testing.T) {
	tr := &trajectory.Trajectory{ModelCalls: []trajectory.ModelCall{{}}, Steps: []trajectory.Step{
		{Kind: trajectory.StepUser, SpanID: "a", Text: "hello"}, {Kind: trajectory.StepModel, SpanID: "a"}, {Kind: trajectory.StepReply, SpanID: "a"}, {Kind: trajectory.StepUser, SpanID: "b"}}}
	steps, left := talk(tr, map[string][]seenHere{"a": {{"loop", "here"}}, "b": {{"loop", "there"}}})
	for i, want := range []int{0, 1, 0, 1} {
		if len(steps[i].Seen) != want || steps[i].Anchor != (want == 1) {
			t.Errorf("step %d: %+v", i, steps[i])
		}
	}
	if left != 0 {
		t.Error(left)
	}
}
