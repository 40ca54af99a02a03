package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// history writes runs of checks: a letter a run, P passed, F failed, E invalid.
type history struct {
	runs []Run
	n    int
}

func (h *history) check(agent, digest, letters string, change func(*Run)) {
	h.n++
	for i, l := range letters {
		v := map[rune]Verdict{'P': Pass, 'F': Fail, 'E': Error}[l]
		r := Run{Case: "c-" + digest, Digest: digest, Run: i + 1, N: 5, Side: Head, Verdict: v, Agent: agent, Check: string(rune('a' + h.n)), Decided: Deterministic,
			At: time.Date(2026, 11, h.n, 3, 0, i, 0, time.UTC), ResponseSHA256: letters + string(l) + string(rune('a'+h.n))}
		if change != nil {
			change(&r)
		}
		h.runs = append(h.runs, r)
	}
}

func flipCases() []*Case {
	var out []*Case
	for _, digest := range []string{"one", "two"} {
		c := &regcase.Case{ID: "c-" + digest}
		c.State.Name = regcase.Enforced
		out = append(out, &Case{Case: c, Sum: digest})
	}
	return out
}

func TestFlips(t *testing.T) {
	h := &history{}
	h.check("v1", "one", "PPPP", nil)
	h.check("v1", "two", "PPPP", nil)
	h.check("v1", "one", "FPF", nil)   // flipped
	h.check("v2", "one", "PPPP", nil)  // another agent: no pair
	h.check("v1", "other", "FFF", nil) // a case that is no more
	h.check("v1", "one", "EEEEE", nil) // decides nothing
	h.check("v1", "one", "PFPPP", nil) // 4 of 5: flipped back
	h.check("v1", "two", "PP", nil)    // cut short
	h.check("v1", "two", "PPPP", func(r *Run) { r.Side = Base })
	h.check("v1", "two", "FF", func(r *Run) { r.Again = true })
	h.check("v1", "two", "PPPP", nil)
	f := FlipsOf(flipCases(), h.runs)
	if f.Pairs != 3 || f.Flipped != 2 || f.Decided[Deterministic] != 2 || f.Same != 0 || len(f.Cases) != 1 || f.Cases[0] != (CaseFlips{"c-one", 2, 2}) {
		t.Errorf("%+v", f)
	}
	if len(f.Agents) != 2 || f.Agents[1].Agent != "v1" || f.Agents[1].Pairs != 3 {
		t.Errorf("%+v", f.Agents)
	}
	if got := f.Sentence(); got != "One and the same agent, checked again: 2 of 3 verdicts of cases flipped (66.7 %): 2 by rules and words, which is the agent's noise." {
		t.Error(got)
	}
	// A file that is read twice says nothing more.
	if twice := FlipsOf(flipCases(), append(h.runs[:len(h.runs):len(h.runs)], h.runs[len(h.runs)-4:]...)); twice.Pairs != 3 {
		t.Errorf("%+v", twice)
	}
}

// What a judge or an embedding turned is not the agent's noise, and where it did and said the very same that is certain.
func TestFlipsOfJudges(t *testing.T) {
	h := &history{}
	h.check("v1", "one", "PPPP", func(r *Run) { r.Decided, r.ResponseSHA256 = ByModel, "same" })
	h.check("v1", "one", "FPF", func(r *Run) { r.Decided, r.ResponseSHA256 = ByModel, "same" })
	h.check("v1", "two", "PPPP", func(r *Run) { r.Decided = ByEmbedding })
	h.check("v1", "two", "FF", func(r *Run) { r.Decided = ByEmbedding })
	f := FlipsOf(flipCases(), h.runs)
	if f.Flipped != 2 || f.Decided[ByModel] != 1 || f.Decided[ByEmbedding] != 1 || f.Decided[Deterministic] != 0 || f.Same != 1 {
		t.Errorf("%+v", f)
	}
	if got := f.Sentence(); !strings.Contains(got, "1 by embeddings, 1 by a judge; in 1 the agent did and said the same") {
		t.Error(got)
	}
}

// Files of before name no check: their runs begin anew at 1. Versions that nobody can tell apart are no pair.
func TestFlipsOfOldFiles(t *testing.T) {
	h := &history{}
	old := func(r *Run) { r.Check, r.N, r.Agent, r.Commit = "", 0, "", "abc" }
	h.check("", "one", "PPPP", old)
	h.check("", "one", "FF", old)
	if f := FlipsOf(flipCases(), h.runs); f.Pairs != 1 || f.Flipped != 1 || f.Agents[0].Checks != 2 {
		t.Errorf("%+v", f)
	}
	h = &history{}
	h.check("", "one", "PPPP", func(r *Run) { r.Commit, r.Dirty = "abc", true })
	h.check("", "one", "FF", func(r *Run) { r.Commit, r.Dirty = "abc", true })
	h.check("", "one", "PPPP", func(r *Run) { r.Commit, r.Model = "abc", "small" })
	h.check("", "one", "FF", func(r *Run) { r.Commit, r.Model = "abc", "large" })
	if f := FlipsOf(flipCases(), h.runs); f.Pairs != 0 || f.Sentence() != "" {
		t.Errorf("%+v", f)
	}
}
