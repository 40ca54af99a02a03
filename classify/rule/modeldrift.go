package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// ModelDrift finds model calls that another model answered than the one that was asked.
var ModelDrift = add(classify.Rule{
	Name: "model_drift", Version: 1, Label: classify.ModelDrift, Severity: classify.Warning, Form: classify.FormNone,
	Doc: classify.Doc{
		Title: "another model answered than the one that was asked",
		Why: "A fallback, a router or a retired name changes how the agent behaves, and nobody is told. Both names must be names of models that vendors " +
			"publish; the date and release of a name, its host's prefix and suffix, and the order of its words do not count, and a name without a version may " +
			"stand for any release of its series. Routers' names, deployments, profiles and names of the team's own say nothing, and are left out.",
		Fix:     "Ask for the model by its full name, look at why the gateway fell back, and measure the agent again on the model that really answers.",
		Example: "gpt-4.1 was asked and gpt-4.1-nano answered",
	},
	Needs: []trajectory.Fact{trajectory.FactModelCalls},
	Check: checkDrift,
	Repairs: []classify.Repair{
		change.OfModel("asked-model", "the model that was asked answered", func(t *trajectory.Trajectory, i int) bool {
			t.ModelCalls[i].ModelResponded = t.ModelCalls[i].ModelRequested
			return true
		}),
	},
})

type drift struct{ agent, asked, answered string }

func checkDrift(in *classify.Input) classify.Result {
	t := in.Trajectory
	found := map[drift][]int{}
	var order []drift
	both := 0
	judged := map[[3]string]bool{} // most calls of a run ask for the same
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		if m.ModelRequested == "" || m.ModelResponded == "" {
			continue
		}
		both++
		names := [3]string{m.Provider, m.ModelRequested, m.ModelResponded}
		away, known := judged[names]
		if !known {
			away = drifted(m)
			judged[names] = away
		}
		if !away {
			continue
		}
		d := drift{m.Agent, modelFamily(m.ModelRequested), modelFamily(m.ModelResponded)}
		if found[d] == nil {
			order = append(order, d)
		}
		found[d] = append(found[d], i)
	}
	if both == 0 {
		return classify.Blind(trajectory.FactModelName, "have the instrumentation record both the requested and the responded model (gen_ai.request.model, gen_ai.response.model)")
	}
	var out []classify.Finding
	for _, d := range order {
		out = append(out, driftFinding(in, d, found[d]))
	}
	return classify.Match(merged(out)...)
}

// drifted says that a model call was surely answered by another model.
func drifted(m *trajectory.ModelCall) bool {
	if m.ModelRequested == m.ModelResponded {
		return false
	}
	if strings.Contains(strings.ToLower(m.Provider), "azure") {
		return false // what is asked for there is a deployment, whatever it is called
	}
	asked, answered := seriesOf(m.ModelRequested), seriesOf(m.ModelResponded)
	if asked == "" || answered == "" {
		return false
	}
	if asked != answered {
		return !strings.Contains(answered, asked) && !strings.Contains(asked, answered)
	}
	a, b := modelWords(m.ModelRequested), modelWords(m.ModelResponded)
	if strings.Join(a, "") == strings.Join(b, "") {
		return false
	}
	return slices.ContainsFunc(a, hasDigit) && slices.ContainsFunc(b, hasDigit) // else one of them is an alias
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// series are the beginnings of the names that vendors give their models, each with the vendor's word for the series.
var series = regexp.MustCompile(`^(gpt|codex|claude|gemini|gemma|mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|llama|command|deepseek|qwen|qwq|grok|nova|titan|phi|kimi|glm|sonar|jamba|granite|nemotron|minimax|ernie|hunyuan|doubao|o[1-9]\b)`)

// seriesOf is the vendor's series that a name belongs to, "" when it is nobody's that is known: a deployment, a router, a name of the team's own.
func seriesOf(name string) string {
	s := plainModel(name)
	if routed.MatchString(s) {
		return ""
	}
	found := series.FindString(s)
	switch {
	case found == "codex" || len(found) == 2 && found[0] == 'o':
		return "gpt" // OpenAI moves names between these
	case found == "qwq":
		return "qwen"
	}
	return found
}

// routed are names that stand for whichever model a router picks, or for what somebody deployed.
var routed = regexp.MustCompile(`^arn:|router|\bauto\b|default|deploy|fallback|\bprod\b|\bdev\b|\btest\b|fine-?tun|^ft:|:ft-|lora|custom`)

// plainModel is a name in lower case without what hosts put around it: a path, a region, a vendor, a suffix for a price or a mode.
func plainModel(name string) string {
	s := bareModel(name)
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		s = s[i+1:]
	}
	for _, p := range []string{"chat", "meta-", "databricks-", "azure-", "models-", "hf:", "@cf-"} {
		s = strings.TrimPrefix(s, p)
	}
	return glued.ReplaceAllString(strings.ReplaceAll(s, "_", "-"), "$1-$2")
}

// glued is a series with its number right behind it, as local runners write it: llama3.1.
var glued = regexp.MustCompile(`^(llama|qwen|phi|gemma|mistral|deepseek)([0-9])`)

var (
	// releaseDate is a date in any of the forms that names hold: 2024-08-06, 20241022, 0613, 05-20 and 11-2024 after a word.
	releaseDate = regexp.MustCompile(`[-@:](20\d\d-\d\d-\d\d|20\d{6}|\d\d-20\d\d|2[3-9]\d\d|[01]\d[0-3]\d|\d\d-\d\d|00\d)\b`)
	modelSplit  = regexp.MustCompile(`[-_.:@ ]+`)
	versionTag  = regexp.MustCompile(`^(v\d+|r\d{6,})$`)
)

// noMatter are words in a model's name that tell of its release, its host or its packing, and not which model it is.
var noMatter = map[string]bool{
	"latest": true, "preview": true, "exp": true, "experimental": true, "beta": true, "stable": true, "snapshot": true, "instruct": true, "chat": true, "it": true,
	"hf": true, "fp8": true, "fp16": true, "bf16": true, "int4": true, "int8": true, "awq": true, "gptq": true, "gguf": true, "turbo": true, "versatile": true,
	"free": true, "online": true, "nitro": true, "floor": true, "extended": true, "thinking": true, "maas": true, "original": true, "0": true, "hd": true, "tput": true, "tee": true,
	"q4": true, "q8": true, "k": true, "m": true, "s": true, "fast": true, "high": true, "low": true,
}

// modelWords are the words of a model's name that tell which model it is, sorted.
func modelWords(name string) []string {
	s := releaseDate.ReplaceAllString(plainModel(name), "")
	var out []string
	for _, w := range modelSplit.Split(s, -1) {
		if w != "" && !noMatter[w] && !versionTag.MatchString(w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

func driftFinding(in *classify.Input, d drift, calls []int) classify.Finding {
	t := in.Trajectory
	asked, answered := classify.SafeName(d.asked), classify.SafeName(d.answered)
	f := in.Finding(d.agent, classify.Name("requested", d.asked), classify.Name("responded", d.answered))
	f.Step, f.Confidence = stepOf(t, trajectory.StepModel, calls[0]), 0.9
	f.Title = fmt.Sprintf("%s asked, %s answered", asked, answered)
	f.Why = fmt.Sprintf("%s was asked %s, and %s answered by its own account, which is no release of the same model.", asked, times(len(calls)), answered)
	for _, i := range calls[:min(len(calls), maxEvidence)] {
		f.Evidence = append(f.Evidence, classify.Evidence{SpanID: t.ModelCalls[i].SpanID, What: fmt.Sprintf("asked %s, answered by %s", asked, answered)})
	}
	return f
}
