package trajectory

import (
	"os"
	"slices"
	"testing"
)

// Facts per span of exporters and SDKs: they must agree with the captures' manifest and with what really happened.
func TestCapturesFactsOfExporters(t *testing.T) {
	known := map[string]int{ // as in TestCapturesFacts
		"openlit-langchain 1.15.0 names":   32, // LangChain's class stands in the tool's place: Build finds the name
		"openlit-langchain 1.15.0 results": 29, // "[object ToolMessage]": the next input has the result
		"openlit-langchain 1.15.0 usage":   54, // an estimate of the input, which is not used
		"langsmith-openai 0.12.0 agents":   21, // to the manifest a chain is none; its root is the run
		"langsmith-openai 0.12.0 usage":    2,  // calls that failed, with status OK
		"langsmith-openai 0.12.0 finish":   2,
	}
	table := map[string]*sdkScore{}
	for _, c := range readCaptures(t, "openlit-", "langsmith-", "otel-aws") {
		row := table[c.label()]
		if row == nil {
			row = &sdkScore{}
			table[c.label()] = row
		}
		scoreCapture(t, c, row)
	}
	for label, row := range table {
		t.Logf("%-34s %v", label, row.all())
		for i, s := range row.all() {
			if missing := s.of - s.right; missing > known[label+" "+scoreNames[i]] {
				t.Errorf("%s: %s %s, want at most %d missing", label, scoreNames[i], s, known[label+" "+scoreNames[i]])
			}
		}
	}
}

// Instrumentations that record no content must say so, fact by fact, and name what would.
func TestCapturesWithoutContent(t *testing.T) {
	for sdk, want := range map[string][]Fact{
		"otel-aws-bedrock-0.78.0":  {FactToolCalls, FactToolExecution, FactToolsOffered, FactArguments, FactResults, FactUserMessages, FactReply},
		"traceloop-bedrock-0.27.0": {FactToolCalls, FactToolsOffered, FactUsage, FactFinishReason, FactUserMessages, FactReply},
	} {
		if _, err := os.Stat(capturesDir); err != nil {
			t.Skipf("no captures at %s", capturesDir)
		}
		traces, _ := captured(t, sdk, "S01")
		x := Build(traces[0])
		for _, f := range want {
			if g, ok := x.Lacks(f); !ok || g.Remedy == remedies[f] {
				t.Errorf("%s: %s: lacks %v, remedy %q", sdk, f, ok, g.Remedy)
			}
		}
		if _, unread := x.Lacks(FactDialect); unread || len(x.ModelCalls) != 4 || slices.Contains(x.Dialects, "otel-genai") {
			t.Errorf("%s: read as %v, %d calls", sdk, x.Dialects, len(x.ModelCalls))
		}
	}
}
