package rule

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// TestUsageOfCallsThatAllFailed holds that nobody is told to record what no provider reports.
func TestUsageOfCallsThatAllFailed(t *testing.T) {
	failed, answered := trajectory.ModelCall{Error: &trajectory.Error{Type: "429"}}, trajectory.ModelCall{}
	if got := unused(&trajectory.Trajectory{ModelCalls: []trajectory.ModelCall{failed, failed}}); !strings.Contains(got, "nothing is to be set") {
		t.Errorf("all failed: %q", got)
	}
	if got := unused(&trajectory.Trajectory{ModelCalls: []trajectory.ModelCall{failed, answered}}); got != "" {
		t.Errorf("one answered: %q", got)
	}
}
