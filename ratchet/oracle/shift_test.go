package oracle

import (
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// shifted is the trajectory, that much later.
func shifted(t *trajectory.Trajectory, d time.Duration) *trajectory.Trajectory {
	t = t.Clone()
	t.Start, t.End = t.Start.Add(d), t.End.Add(d)
	for i := range t.Steps {
		t.Steps[i].Start, t.Steps[i].End = t.Steps[i].Start.Add(d), t.Steps[i].End.Add(d)
	}
	for i := range t.ModelCalls {
		t.ModelCalls[i].Start, t.ModelCalls[i].End = t.ModelCalls[i].Start.Add(d), t.ModelCalls[i].End.Add(d)
	}
	for i := range t.ToolCalls {
		t.ToolCalls[i].Start, t.ToolCalls[i].End = t.ToolCalls[i].Start.Add(d), t.ToolCalls[i].End.Add(d)
	}
	return t
}
