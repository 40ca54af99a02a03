package gate

import (
	"strings"
	"testing"
)

// What to do where no spans came fits eight lines of a terminal, the two before it included.
func TestNoSpansIsShort(t *testing.T) {
	lines := strings.Split(noSpans, "\n")
	for _, l := range lines {
		if len(l) > 90 {
			t.Errorf("%d: %s", len(l), l)
		}
	}
	if len(lines) > 7 {
		t.Errorf("%d lines", len(lines))
	}
	for _, v := range []string{"PHOENIX_COLLECTOR_ENDPOINT", "TRACELOOP_BASE_URL", "LANGFUSE_BASE_URL", "BRAINTRUST_API_URL", "LMNR_BASE_URL", "LANGTRACE_API_HOST", "LANGSMITH_OTEL_ENABLED", "experimental_telemetry", "OpenAI Agents"} {
		if !strings.Contains(noSpans, v) {
			t.Errorf("nothing is said of %s", v)
		}
	}
}
