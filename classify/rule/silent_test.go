package rule

import (
	"log/slog"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// TestWaitForUnseenWork holds that the time between two model calls is nobody's only where the second one is told of no work: of an agent that runs
// the code that its model wrote there is no span, and its output comes as a message.
func TestWaitForUnseenWork(t *testing.T) {
	for _, tc := range []struct {
		name, role string
		match      bool
	}{
		{"nothing new", "", true},
		{"its own words", "assistant", true},
		{"an output", "tool", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr, err := texttraj.Parse("trace service=lab\nuser Which guess is best?\nmodel m1 agent=solver in=10 out=10 finish=stop text=code\nwait 150s\nmodel m2 agent=solver in=20 out=10 finish=stop\nreply Ten.\n")
			if err != nil {
				t.Fatal(err)
			}
			if tc.role != "" {
				tr.ModelCalls[1].New = append(tr.ModelCalls[1].New, trajectory.Message{Role: tc.role, Parts: []trajectory.Part{{Kind: trajectory.PartText, Text: "496 cases"}}})
			}
			e, err := classify.New(slog.New(slog.DiscardHandler), []classify.Rule{SilentTimeout}, classify.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(e.Classify(tr, nil).Findings) > 0; got != tc.match {
				t.Errorf("match %v, want %v", got, tc.match)
			}
		})
	}
}
