package classify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// verdict judges the trace: failing with a finding that matters; else unclassified when something went wrong that no rule explains; else
// incomplete when the trace has no root, was cut, does not tell how it ended, or no rule at all could judge it; else passing. What nobody
// could see has not passed.
func (e *Engine) verdict(t *trajectory.Trajectory, r Report) Verdict {
	switch {
	case slices.ContainsFunc(r.Findings, matters):
		return Failing
	case t.RootError != nil, slices.ContainsFunc(t.Feedback, bad), Silent(t):
		return Unclassified
	case !whole(t), t.EndsBlank(), len(r.Inapplicable) == len(e.rules):
		return Incomplete
	default:
		return Passing
	}
}

// Flagged returns the report of a trace that somebody outside called bad: what no rule explains is then unclassified.
func (r Report) Flagged() Report {
	if r.Verdict == Passing || r.Verdict == Incomplete {
		r.Verdict = Unclassified
	}
	return r
}

func matters(f Finding) bool { return f.Severity.rank() >= Warning.rank() }

func whole(t *trajectory.Trajectory) bool { return t.Complete.HasRoot && !t.Complete.Truncated }

// Silent says that the agent gave no reply. Nobody can say so of a trace that is not whole, that holds no model call, whose emitter does not
// record replies, or that ends while a tool is being called: the run goes on in another trace. Of some it is known that it does.
func Silent(t *trajectory.Trajectory) bool {
	if _, lacks := t.Lacks(trajectory.FactReply); lacks || t.GoesOn || !whole(t) || len(t.ModelCalls) == 0 {
		return false
	}
	if slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool {
		return c.Requested && !c.Recalled && !c.Executed && c.Outcome == trajectory.OutcomeUnknown
	}) {
		return false
	}
	return (t.Reply == nil || strings.TrimSpace(*t.Reply) == "") && !answeredByOther(t)
}

// answeredByOther says that the last agent had handed over to another one, and that one said something: whether that was due is for rules to say.
func answeredByOther(t *trajectory.Trajectory) bool {
	last := t.ModelCalls[len(t.ModelCalls)-1].Agent
	return slices.ContainsFunc(t.Handoffs, func(h trajectory.Handoff) bool {
		return h.From == last && slices.ContainsFunc(t.ModelCalls, func(m trajectory.ModelCall) bool {
			return m.Agent != last && !m.Start.Before(h.Start) && strings.TrimSpace(m.Text) != "" && len(m.ToolCalls) == 0
		})
	})
}

// bad says whether feedback calls the run bad: by its label, or by a score of nothing under a name that tells that more is better.
func bad(f trajectory.Feedback) bool {
	switch strings.ToLower(strings.TrimSpace(f.Label)) {
	case "bad", "negative", "fail", "failed", "incorrect", "wrong", "thumbs_down", "thumbs down", "thumbs-down", "down", "dislike", "unhelpful":
		return true
	}
	if f.Score == nil || *f.Score > 0 || f.Label != "" {
		return false
	}
	name := strings.ToLower(f.Name)
	return slices.ContainsFunc([]string{"feedback", "thumb", "rating", "satisf", "helpful", "correct", "success", "quality"},
		func(w string) bool { return strings.Contains(name, w) })
}

// Unexplained says in one sentence what an unclassified trace tells of itself.
func Unexplained(t *trajectory.Trajectory) string {
	if e := t.RootError; e != nil {
		return strings.Join(strings.Fields(cmp.Or(e.Message, e.Type, "the run ended in an error")), " ")
	}
	if slices.ContainsFunc(t.Feedback, bad) {
		return "its feedback is bad"
	}
	return "the run gave no reply"
}
