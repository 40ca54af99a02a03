package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

type label = classify.Label

// outside are the labels that say what the world did: a tool's answer is evidence enough of them.
var outside = []label{classify.UpstreamError, classify.PermissionDenied, classify.SilentTimeout, classify.ProtocolError, classify.MissingToolResult, classify.ModelDrift, classify.BindingDrift}

// disputes says what is wrong with the evidence of an answer; "" for nothing. Every place must be there, and one of them must show what the agent did: else
// an instruction that somebody put into the run would be evidence of itself.
func (s shown) disputes(a answer) string {
	if a.Label != None && len(a.Evidence) == 0 {
		return "it cites nothing"
	}
	agents := false
	for _, c := range a.Evidence {
		w, there := s.spans[c.SpanID]
		switch {
		case !there:
			return "it cites a span that is not in the run"
		case holds(w.did, c.Quote):
			agents = true
		case !holds(w.told, c.Quote):
			return "it cites words that do not stand on that span"
		}
	}
	if a.Label != None && !agents && !slices.Contains(outside, a.Label) {
		return "it cites only what others said, nothing that the agent did"
	}
	return ""
}

// holds says whether a quote stands in one of the texts. Blanks do not count, nor whether it was copied out of the JSON or out of what that means. Less than
// three letters show nothing, unless they are all that is there.
func holds(texts []string, quote string) bool {
	forms := []string{blanks(quote)}
	var plain string
	if json.Unmarshal([]byte(`"`+strings.Trim(quote, `"`)+`"`), &plain) == nil {
		forms = append(forms, blanks(plain))
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		text = blanks(text)
		return slices.ContainsFunc(forms, func(f string) bool { return f != "" && (f == text || len([]rune(f)) >= 3 && strings.Contains(text, f)) })
	})
}

func blanks(s string) string { return strings.Join(strings.Fields(s), " ") }

// count makes the outcome of the votes.
func (p *Panel) count(op *Opinion, t *trajectory.Trajectory) {
	tally := map[label]int{}
	void := 0
	for _, v := range op.Votes {
		if v.Void != "" {
			void++
			continue
		}
		tally[v.Label]++
	}
	n := len(op.Votes)
	for _, v := range op.Votes {
		if v.Void != "" || 2*tally[v.Label] <= n {
			continue
		}
		op.Outcome, op.Confidence, op.Why = NoneFits, float64(tally[v.Label])/float64(n), v.Why
		if v.Label != None {
			op.Outcome, op.Label = Labelled, v.Label
			f := finding(t, op, v, shownSpans(t))
			op.Finding = &f
		}
		return
	}
	op.Outcome, op.Why = Split, fmt.Sprintf("%d votes agree on no label, %d of them void", n, void)
	if 2*void > n {
		op.Outcome, op.Why = NotDecided, "most votes are void: "+firstVoid(op.Votes)
	}
}

func firstVoid(votes []Vote) string {
	for _, v := range votes {
		if v.Void != "" {
			return v.Void
		}
	}
	return ""
}

// shownSpans are the steps by span.
func shownSpans(t *trajectory.Trajectory) map[string]int {
	out := map[string]int{}
	for i, s := range t.Steps {
		if _, has := out[s.SpanID]; !has {
			out[s.SpanID] = i
		}
	}
	return out
}

// finding is what the majority says, in the shape of a rule's: a warning, for a person, of which no case is made. Its fingerprint has the label's generic
// parts: the tool that the first evidence is on, or the kind of step. steps are the run's, by span.
func finding(t *trajectory.Trajectory, op *Opinion, v Vote, steps map[string]int) classify.Finding {
	step, tool, agent, kind := -1, "", "", ""
	evidence := []classify.Evidence{}
	for _, c := range v.Evidence {
		evidence = append(evidence, classify.Evidence{SpanID: c.SpanID, What: fmt.Sprintf("the judge quotes %q", blanks(c.Quote))})
		if i, has := steps[c.SpanID]; has && step < 0 {
			s := t.Steps[i]
			step, agent, kind = i, s.Agent, string(s.Kind)
			if s.Kind == trajectory.StepTool {
				tool = t.ToolCalls[s.Index].Name
			}
		}
	}
	parts := []classify.Part{classify.Word("by", "judge"), classify.Name("tool", tool)}
	if tool == "" {
		parts[1] = classify.Word("step", cmp.Or(kind, "run"))
	}
	return classify.Finding{
		Label: op.Label, Rule: op.Judge, Source: classify.SourceJudge, Severity: classify.Warning, Confidence: op.Confidence, Form: classify.FormNone,
		Fingerprint: classify.NewFingerprint(op.Label, t.Service, agent, parts...), Agent: agent, Step: step, Evidence: evidence,
		Title: fmt.Sprintf("a model says %s, %d of %d votes; no rule saw it", op.Label, int(op.Confidence*float64(len(op.Votes))+0.5), len(op.Votes)), Why: v.Why,
	}
}
