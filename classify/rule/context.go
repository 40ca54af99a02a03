package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// ContextParams are the thresholds of the rule context_overflow, in shares of the model's window.
type ContextParams struct {
	Warn    float64        `json:"warn"`
	Match   float64        `json:"match"`
	Windows map[string]int `json:"windows"` // tokens by the beginning of a model's name, before pawl's own table
}

// Validate refuses shares out of order.
func (p ContextParams) Validate() error {
	if p.Warn <= 0 || p.Match < p.Warn || p.Match > 1 {
		return errors.New("want 0 < warn <= match <= 1")
	}
	return nil
}

// ContextOverflow finds runs whose history outgrew the model's context window: the provider said so, or the input is about to.
var ContextOverflow = add(classify.Rule{
	Name: "context_overflow", Version: 1, Label: classify.ContextOverflow, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "the input outgrew the model's context window",
		Why: "The provider refuses the call, or the model silently loses the beginning. The provider's own error decides; else a finish reason that " +
			"says so, or input tokens, cached ones included, against the window of the model, which comes from a small dated table or from config.",
		Fix:     "Page or shorten tool results, compact the history before the window is full, or start a fresh sub-agent for the long part.",
		Example: "400 This model's maximum context length is 128000 tokens",
	},
	Params: ContextParams{Warn: 0.85, Match: 0.95, Windows: map[string]int{}},
	Check:  checkContext,
	Repairs: []classify.Repair{
		change.All("shorter-input", "the input was a tenth as long, and nobody refused it", change.Leaner(0.1), change.Untroubled()),
	},
})

// tooLong are the words by which providers and frameworks say that the input does not fit.
var tooLong = []says{
	wording("OpenAI", `context_length_exceeded|maximum context length (is|of) |input exceeds the context window|string_above_max_length`),
	wording("Anthropic", `prompt is too long|input length and .?max_tokens.? exceed context limit|exceeds? the maximum (allowed )?(number of|context) `),
	wording("Google", `input token count .{0,30}exceeds the maximum number of tokens`),
	wording("Bedrock", `input is too long for requested model|too many input tokens|input length exceeds|expected maxlength`),
	wording("Mistral", `too large for model with \d+ maximum context length|prompt contains \d+ tokens`),
	wording("Cohere", `too many tokens: (total|size|the)`),
	wording("xAI", `maximum prompt length is`),
	wording("vLLM", `(maximum|max) model (len|length)|longer than the maximum`),
	wording("llama.cpp", `exceeds? the available context size|exceed_context_size`),
	wording("Ollama", `input length exceeds (the )?(maximum )?context length`),
	wording("TGI", `.?inputs.? tokens \+ .?max_new_tokens.? must be <=`),
	wording("DashScope", `range of input length should be`),
	wording("Groq", `please reduce the length of the messages`),
	wording("framework", `contextwindow(overflow|exceeded)|contextoverflowerror|context[_ ]window[_ ](was |is )?exceeded|exceed(s|ed)? (the )?(model'?s )?(maximum )?context (window|length|limit)`),
}

// hit is one model call, or the run, that overflowed.
type hit struct {
	model    int // -1: the run's own error
	family   string
	share    float64 // of the window; 0 when only words tell
	by       string  // whose words, "" when counted
	severity classify.Severity
}

func checkContext(in *classify.Input) classify.Result {
	t := in.Trajectory
	p := classify.ParamsOf[ContextParams](in)
	var hits []hit
	judged, lacks := 0, classify.NoMatch()
	for i := range t.ModelCalls {
		h, ok, lacking := judgeWindow(&t.ModelCalls[i], p)
		if lacking.Missing == "" {
			judged++
		} else if lacks.Missing == "" {
			lacks = lacking
		}
		if ok {
			h.model, h.family = i, modelFamily(nameOf(&t.ModelCalls[i]))
			hits = append(hits, h)
		}
	}
	if len(hits) == 0 {
		hits = runHits(t)
	}
	if _, none := t.Lacks(trajectory.FactModelCalls); len(hits) == 0 && none {
		return classify.Blind(trajectory.FactModelCalls, "")
	}
	switch {
	case len(hits) == 0 && judged == 0:
		return lacks
	case len(hits) == 0 && t.EndsBlank(): // it may be the call that was refused
		return classify.Blind(trajectory.FactReply, "")
	}
	return classify.Match(contextFindings(in, hits)...)
}

// judgeWindow judges one model call. The last value names the fact that is missing when its input could not be weighed.
func judgeWindow(m *trajectory.ModelCall, p ContextParams) (hit, bool, classify.Result) {
	name := nameOf(m)
	size, known := window(name, p.Windows)
	if !known && m.ModelRequested != "" {
		size, known = window(m.ModelRequested, p.Windows)
	}
	h := hit{severity: classify.Blocking}
	if m.Error != nil {
		if h.by = speaker(tooLong, m.Error.Type+" "+m.Error.Message); h.by != "" {
			return h, true, classify.NoMatch()
		}
	}
	if m.FinishRaw == "model_context_window_exceeded" {
		h.by = "the finish reason"
		return h, true, classify.NoMatch()
	}
	switch {
	case m.Error != nil:
		return h, false, classify.NoMatch() // failed for another reason
	case m.Usage.Input == nil:
		return h, false, classify.Blind(trajectory.FactUsage, "")
	case !known && name == "":
		return h, false, classify.Blind(trajectory.FactModelName, "")
	case !known:
		return h, false, classify.Blind(trajectory.FactModelName, fmt.Sprintf(
			"the context window of %s is not known to pawl: set it in pawl.yaml under rules: {context_overflow: {windows: {...}}}", classify.SafeName(modelFamily(name))))
	}
	return weigh(h, m, float64(size), p)
}

func weigh(h hit, m *trajectory.ModelCall, size float64, p ContextParams) (hit, bool, classify.Result) {
	used := float64(*m.Usage.Input)
	if m.FinishReason == trajectory.FinishLength && m.Usage.Output != nil && used >= p.Warn*size {
		used += float64(*m.Usage.Output)
	}
	h.share = used / size
	switch {
	case h.share > 1.05:
		return h, false, classify.NoMatch() // it was answered, so the window is larger than we believe
	case h.share >= p.Match:
		return h, true, classify.NoMatch()
	case h.share >= p.Warn:
		h.severity = classify.Warning
		return h, true, classify.NoMatch()
	}
	return h, false, classify.NoMatch()
}

// runHits looks at errors that no model call carries: of the run, and of steps that are only errors.
func runHits(t *trajectory.Trajectory) []hit {
	texts := []string{}
	if t.RootError != nil {
		texts = append(texts, t.RootError.Type+" "+t.RootError.Message)
	}
	for _, s := range t.Steps {
		if s.Kind == trajectory.StepError {
			texts = append(texts, s.Text)
		}
	}
	for _, text := range texts {
		if by := speaker(tooLong, text); by != "" {
			return []hit{{model: -1, family: modelFamily(lastModel(t)), by: by, severity: classify.Blocking}}
		}
	}
	return nil
}

func nameOf(m *trajectory.ModelCall) string { return cmp.Or(m.ModelResponded, m.ModelRequested) }

func lastModel(t *trajectory.Trajectory) string {
	for _, m := range slices.Backward(t.ModelCalls) {
		if name := nameOf(&m); name != "" {
			return name
		}
	}
	return ""
}

// contextFindings makes one finding per agent and family: words before numbers, then the fullest call.
func contextFindings(in *classify.Input, hits []hit) []classify.Finding {
	type key struct{ agent, family string }
	groups := map[key][]hit{}
	var order []key
	for _, h := range hits {
		k := key{family: h.family}
		if h.model >= 0 {
			k.agent = in.Trajectory.ModelCalls[h.model].Agent
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], h)
	}
	var out []classify.Finding
	for _, k := range order {
		out = append(out, contextFinding(in, k.agent, groups[k]))
	}
	return merged(out)
}

func contextFinding(in *classify.Input, agent string, hits []hit) classify.Finding {
	t := in.Trajectory
	worst := slices.MaxFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(min(len(a.by), 1), min(len(b.by), 1)), cmp.Compare(a.share, b.share))
	})
	family := cmp.Or(classify.SafeName(worst.family), "the model")
	f := in.Finding(agent, classify.Name("model", worst.family), classify.Route("route", t.Route))
	f.Severity = worst.severity
	f.Step = len(t.Steps) - 1
	if worst.model >= 0 {
		f.Step = stepOf(t, trajectory.StepModel, worst.model)
	}
	if worst.by != "" {
		f.Confidence = 0.99
		f.Title = "input did not fit the context window of " + family
		f.Why = fmt.Sprintf("a call of %s was refused or cut because its input does not fit: the words of %s.", family, worst.by)
	} else {
		f.Confidence = 0.85
		f.Title = fmt.Sprintf("input filled %.0f %% of the context window of %s", 100*worst.share, family)
		f.Why = fmt.Sprintf("the input of a call filled %.0f %% of the window that pawl knows for %s.", 100*worst.share, family)
	}
	for _, h := range hits[:min(len(hits), maxEvidence)] {
		f.Evidence = append(f.Evidence, contextEvidence(t, h))
	}
	return f
}

func contextEvidence(t *trajectory.Trajectory, h hit) classify.Evidence {
	e := classify.Evidence{What: fmt.Sprintf("input is %.0f %% of the window", 100*h.share)}
	if h.by != "" {
		e.What = "input does not fit: the words of " + h.by
	}
	switch {
	case h.model >= 0:
		e.SpanID = t.ModelCalls[h.model].SpanID
	case len(t.ModelCalls) > 0:
		e.SpanID = t.ModelCalls[len(t.ModelCalls)-1].SpanID
	case len(t.Steps) > 0:
		e.SpanID = t.Steps[len(t.Steps)-1].SpanID
	}
	return e
}
