package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
)

// What was measured must be of rules that there are; of which version is told, since older ones count for nothing.
func TestMeasured(t *testing.T) {
	measured, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	if len(measured) == 0 {
		t.Error("nothing was measured")
	}
	for id := range measured {
		name, _, ok := strings.Cut(id, "@")
		if !ok || !slices.ContainsFunc(All(), func(r classify.Rule) bool { return r.Name == name }) {
			t.Errorf("%s is no version of a rule", id)
		}
	}
	for _, r := range All() {
		if p, ok := measured[r.ID()]; !ok || p.Judged < 50 {
			t.Logf("%s: %d judged findings: it feeds triage alone", r.ID(), p.Judged)
		}
	}
}
