package rule

import (
	"fmt"

	"github.com/pawl-dev/pawl/classify"
)

// UpstreamError finds calls of models and tools that failed on the other side.
var UpstreamError = add(classify.Rule{
	Name: "upstream_error", Version: 2, Label: classify.UpstreamError, Severity: classify.Warning, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "a model's provider or a tool's service failed",
		Why: "Outages happen; a run that ends in one lacks a retry, a fallback or a word to the user. Decided by HTTP, gRPC and vendors' codes (5xx, 429, overloaded, quota, " +
			"a key that the provider does not accept), by errors of the connection, else by whole phrases in the message of what failed. A call that was tried again " +
			"and went well is information.",
		Fix:     "Retry with a growing delay, fall back to another model or tool, and tell the user when neither helps.",
		Example: "the model call ends with 429 Rate limit reached, and so does the run",
	},
	Check:   checkUpstream,
	Repairs: []classify.Repair{answeredWell(), providerWell(), notCalled()},
})

func checkUpstream(in *classify.Input) classify.Result {
	return outsideResult(in, classify.UpstreamError, func(b blow, n int) string {
		switch {
		case b.tool >= 0:
			return fmt.Sprintf("%s failed %s on its own side: %s%s.", b.name, times(n), b.says(), b.ending())
		case b.model >= 0:
			return fmt.Sprintf("a call of the model's provider, %s, failed %s: %s%s.", b.name, times(n), b.says(), b.ending())
		}
		return fmt.Sprintf("%s failed on the provider's side: %s%s.", b.name, b.says(), b.ending())
	})
}
