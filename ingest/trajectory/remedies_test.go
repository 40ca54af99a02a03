package trajectory

import (
	"slices"
	"testing"
)

// mustTell are the facts for which every dialect names its emitter's own setting, or says in plain words that there is none and what to do
// instead. The others hang on the sender's SDK or on pawl, whoever the emitter is: the root, limits, clocks, prices.
var mustTell = []Fact{FactModelCalls, FactToolCalls, FactToolExecution, FactToolsOffered, FactToolSchemas, FactArguments, FactResults, FactUsage,
	FactFinishReason, FactModelName, FactSession, FactUserMessages, FactReply}

// never are the facts that no trace of the emitter can lack, and why.
var never = map[string]map[Fact]string{
	"raw": {FactModelCalls: "a span is read as raw because it calls a model"},
}

// Every dialect says for each fact that its emitter may leave out what would supply it, in words of its own.
func TestEveryDialectHasARemedyForEachFact(t *testing.T) {
	for _, d := range dialects {
		for _, f := range mustTell {
			if never[d.Name][f] != "" {
				continue
			}
			switch r := d.Remedies[f]; {
			case r == "":
				t.Errorf("%s has no remedy for %s", d.Name, f)
			case r == remedies[f]:
				t.Errorf("%s: the remedy for %s is the general one", d.Name, f)
			}
		}
	}
	for _, f := range allFacts {
		if remedies[f] == "" && f != FactDialect {
			t.Errorf("no general remedy for %s", f)
		}
	}
	if slices.Contains(mustTell, FactCost) {
		t.Error("cost is pawl's to compute")
	}
}
