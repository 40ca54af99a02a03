package texttraj

import (
	"strings"
	"testing"
)

// TestNumbers holds that what is no number is an error that names its line, and not nought.
func TestNumbers(t *testing.T) {
	for _, text := range []string{
		"model m in=", "model m in=1.5", "model m out=12k", "model m reasoning=x", "model m cached=x", "model m cost=cheap", "model m code=4o4", "model m cost=",
		"trace dropped=some", "trace unfinished=", "total a in=1,000", "total a out=x", "total a cached=-", "call c get {}\n  fails oh\n  code 5xx",
	} {
		if _, err := Parse("user Hello\n" + text + "\nreply Bye"); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: error %v, want one that names the line", text, err)
		}
	}
	got, err := Parse("trace dropped=2\nmodel m in=7 cost=0.25 code=404\ncall c get {}\n  fails oh\n  code -32602")
	if err != nil || got.Complete.Dropped != 2 || *got.ModelCalls[0].Usage.Input != 7 || *got.ModelCalls[0].Usage.CostUSD != 0.25 ||
		got.ModelCalls[0].Error.Code != 404 || got.ToolCalls[0].Error.Code != -32602 {
		t.Errorf("got %+v, %v", got, err)
	}
}
