package rule

import (
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// branches says of each model call whether it began anew from an earlier point: agents that search try one way, go back, and try another without
// having seen the first. Where an agent's inputs never show answers of tools it is no search but an agent that is not told, which loops.
func branches(t *trajectory.Trajectory) map[int]bool {
	told := map[string]bool{}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		told[m.Agent] = told[m.Agent] || slices.ContainsFunc(m.New, showsAnswer)
	}
	out := map[int]bool{}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		out[i] = m.Back && told[m.Agent]
	}
	return out
}

func showsAnswer(m trajectory.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p trajectory.Part) bool { return p.Kind == trajectory.PartToolResult })
}

// cutApart says that two answers, of which at least one was cut, differ in what is left of both.
func (l *looper) cutApart(i, j int) bool {
	a, b := &l.t.ToolCalls[i], &l.t.ToolCalls[j]
	if !a.HasResult || !b.HasResult || !a.Result.Truncated && !b.Result.Truncated || failed(a) || failed(b) {
		return false
	}
	n := min(len(a.Result.Raw), len(b.Result.Raw))
	return a.Result.Raw[:n] != b.Result.Raw[:n] && classify.Scrub(a.Result.Raw[:n]) != classify.Scrub(b.Result.Raw[:n])
}

// doubled says that every call of a lap worked, and that one of its tools does again what it has done before: what is made, sent or paid is so once more.
// Across traces it is not known whether what was answered was an error in words.
func (l *looper) doubled(seq []beat, at lap) bool {
	if len(l.t.Traces) > 1 {
		return false
	}
	writes := false
	for _, b := range seq[at.start : at.start+at.reps*at.period] {
		c := &l.t.ToolCalls[b.calls[0]]
		tool := effect.ToolOf(l.t, l.in.Catalog, c)
		if failed(c) || looksFailed(c) || !l.answer(b.calls[0]).known {
			return false
		}
		writes = writes || tool.Writes() && tool.Twice == effect.Doubles
	}
	return writes
}

// why says what became of the calls, to follow what was called how often.
func (l *looper) why(calls []int, class string, movedOn bool) string {
	switch {
	case class == "written":
		return ", and each was done: the same is there several times now"
	case class == "changing" && slices.ContainsFunc(calls, l.writes):
		return ", and the answers changed: the same write, over and over"
	case class == "changing":
		return ", and the answers changed: polling, but a lot of it"
	case class == "unknown" && slices.ContainsFunc(calls, func(c int) bool { return unseenAnswer(&l.t.ToolCalls[c]) == cutAnswer }):
		return "; the answers were cut, so whether they changed in what is missing is not known"
	case class == "unknown":
		return "; the answers are not recorded, so whether they changed is not known"
	case class == "error" && movedOn:
		return " and failed alike each time, before another try went differently"
	case class == "error":
		return " and failed alike each time"
	}
	return " and the same answer each time, so nothing new could come of it"
}

const cutAnswer = "cut"

// unseenAnswer is why an answer is not known, in a few words.
func unseenAnswer(c *trajectory.ToolCall) string {
	if c.HasResult && c.Result.Truncated {
		return cutAnswer
	}
	return "not recorded"
}
