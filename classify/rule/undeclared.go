package rule

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// UndeclaredExecution finds tools that are declared never to call a model, or never to call an outside service, and were seen to.
var UndeclaredExecution = add(classify.Rule{
	Name: "undeclared_execution", Version: 1, Label: classify.UndeclaredRun, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "a tool did what it is declared never to do",
		Why: "Cost, data protection and what may run for real in a test all rest on the declaration. Only what is declared never counts, and only a span below " +
			"the tool's own that shows otherwise: a call of a model, or a client's request to a host outside. Hosts of the own network, databases, and the " +
			"road to the tool's own MCP server are left out; no span below a tool proves nothing.",
		Fix:     "Correct the declaration under tools: in pawl.yaml, or take the call out of the tool.",
		Example: "summarise_order, declared {llm: never}, with a span of a model call below it",
	},
	Check: checkUndeclared,
	Repairs: []classify.Repair{
		change.OfCall("nothing-beneath", "the tool called nobody", func(t *trajectory.Trajectory, i int) bool { t.ToolCalls[i].Beneath = nil; return true }),
		change.WithoutCall(),
	},
})

func checkUndeclared(in *classify.Input) classify.Result {
	t := in.Trajectory
	var out []classify.Finding
	declared, ran := false, false
	for _, d := range in.Catalog.Tools() {
		declared = declared || d.Execution["llm"] == "never" || d.Execution["external_api"] == "never"
	}
	if !declared {
		return classify.Blind(trajectory.FactDeclaration, "declare under tools: in pawl.yaml what each tool never does, for example execution: {llm: never, external_api: never}")
	}
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		d, ok := in.Catalog.Tool(c.Name)
		if !ok {
			continue
		}
		ran = ran || c.Executed
		for _, field := range []string{"llm", "external_api"} {
			if seen := observed(c, field); d.Execution[field] == "never" && len(seen) > 0 {
				out = append(out, undeclaredFinding(in, i, field, seen))
			}
		}
	}
	if len(out) == 0 && !ran && len(t.ToolCalls) > 0 {
		return classify.Blind(trajectory.FactToolExecution, "")
	}
	return classify.Match(merged(out)...)
}

// observed returns what was seen below the call that a field of the declaration speaks of.
func observed(c *trajectory.ToolCall, field string) []trajectory.Beneath {
	var out []trajectory.Beneath
	for _, b := range c.Beneath {
		model := b.Model != "" || modelHost.MatchString(b.Host)
		if field == "llm" && model || field == "external_api" && b.Host != "" && !model && outsideHost(b.Host) {
			out = append(out, b)
		}
	}
	return out
}

// modelHost are the hosts of model providers: a request to one is a call of a model, whoever made it.
var modelHost = regexp.MustCompile(`^(api\.(openai|anthropic|groq|deepseek|perplexity|cerebras)\.(com|ai)|api\.(mistral|cohere|x|fireworks|deepinfra)\.(ai|com)|api\.together\.(xyz|ai)|openrouter\.ai|` +
	`(.+\.)?(generativelanguage|[a-z0-9-]*aiplatform)\.googleapis\.com|bedrock-runtime[a-z0-9.-]*\.amazonaws\.com|.+\.openai\.azure\.com|.+\.(inference|services)\.ai\.azure\.com|` +
	`(api-inference|router)\.huggingface\.co|dashscope[a-z-]*\.aliyuncs\.com|api\.replicate\.com|api\.moonshot\.(ai|cn)|api\.novita\.ai|api\.sambanova\.ai)$`)

// outsideHost says that a host is not of the own machine, network or cluster.
func outsideHost(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast() && !ip.IsUnspecified()
	}
	if !strings.Contains(host, ".") {
		return false // a name within a cluster or a compose file
	}
	return !slices.ContainsFunc([]string{".local", ".localhost", ".internal", ".svc", ".lan", ".intranet", ".corp", ".home.arpa", ".test", ".consul"},
		func(s string) bool { return strings.HasSuffix(host, s) || strings.Contains(host, ".svc.") })
}

func undeclaredFinding(in *classify.Input, i int, field string, seen []trajectory.Beneath) classify.Finding {
	t := in.Trajectory
	c := &t.ToolCalls[i]
	tool := classify.SafeName(c.Name)
	what := map[string]string{"llm": "a model", "external_api": "an outside service"}[field]
	f := in.Finding(c.Agent, classify.Name("tool", c.Name), classify.Word("field", field))
	f.Step, f.Confidence = stepOf(t, trajectory.StepTool, i), 0.95
	f.Title = fmt.Sprintf("%s called %s, which it is declared never to do", tool, what)
	f.Why = fmt.Sprintf("%s is declared %s: never, and %s was called %s while it ran.", tool, field, what, times(len(seen)))
	for _, b := range seen[:min(len(seen), maxEvidence)] {
		f.Evidence = append(f.Evidence, classify.Evidence{SpanID: b.SpanID, What: what + " called below " + tool + ": " + beneathName(b)})
	}
	return f
}

// beneathName names a model or a host.
func beneathName(b trajectory.Beneath) string {
	switch {
	case b.Host != "":
		return classify.SafeName(b.Host)
	case b.Model == "?":
		return "a model without a name"
	}
	return classify.SafeName(modelFamily(b.Model))
}
