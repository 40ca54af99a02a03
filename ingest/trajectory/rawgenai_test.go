package trajectory

import (
	"bytes"
	"os"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Traces in somebody's own keys are agents', and tell what they used or that they do not tell it.
func TestPublicOwnKeys(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/public/synthetic-golden/golden_subset.jsonl")
	if err != nil {
		t.Skipf("no public fixtures here: %v", err)
	}
	traces, calls := 0, 0
	for line := range bytes.Lines(data) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range FromOTLP([]ptrace.Traces{td}, nil) {
			x := Build(tr)
			traces++
			calls += len(x.ModelCalls)
			_, silent := x.Lacks(FactModelCalls)
			if !x.IsAgent() || silent != (len(x.ModelCalls) == 0) {
				t.Errorf("%s: agent %v, %d model calls, said so %v", x.TraceID, x.IsAgent(), len(x.ModelCalls), silent)
			}
		}
	}
	if traces != 18 || calls < 51 {
		t.Errorf("%d traces, %d model calls", traces, calls)
	}
}
