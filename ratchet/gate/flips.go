package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Flips say how often a check of the same cases and the same agent came out otherwise than the check before: the noise of the gate itself. They are
// read from the runs of a results file, whose history it is: the file of several checks, of several commits.
type Flips struct {
	Pairs   int             `json:"pairs"`      // of one check and the next, for each case and agent; both decided the case
	Flipped int             `json:"flipped"`    // of Pairs: one passed, the other missed
	Decided map[Decider]int `json:"decided"`    // of Flipped: by what decided most of the runs that missed
	Same    int             `json:"same_words"` // of Flipped: a run that missed had the very calls and words of one that passed, so that the judging differs, not the agent
	Agents  []AgentFlips    `json:"agents"`     // those of one version each, the last checked last
	Cases   []CaseFlips     `json:"cases"`      // those that flipped, most often first
}

// AgentFlips are those of one version of the agent.
type AgentFlips struct {
	Agent   string    `json:"agent"` // its digest, else its commit
	Commit  string    `json:"commit"`
	Checks  int       `json:"checks"`
	Pairs   int       `json:"pairs"`
	Flipped int       `json:"flipped"`
	Last    time.Time `json:"last"`
}

// CaseFlips are those of one case.
type CaseFlips struct {
	Case    string `json:"case"`
	Pairs   int    `json:"pairs"`
	Flipped int    `json:"flipped"`
}

// Rate is the share of pairs that flipped, 0 to 1; 0 of none.
func (f Flips) Rate() float64 { return float64(f.Flipped) / float64(max(1, f.Pairs)) }

// Sentence says the rate, and how much of it is the agent's and how much the judging's.
func (f Flips) Sentence() string {
	if f.Pairs == 0 {
		return ""
	}
	s := fmt.Sprintf("One and the same agent, checked again: %d of %d verdicts of cases flipped (%.1f %%)", f.Flipped, f.Pairs, 100*f.Rate())
	var parts []string
	for _, of := range []struct {
		by   Decider
		what string
	}{{Deterministic, "%d by rules and words, which is the agent's noise"}, {ByEmbedding, "%d by embeddings"}, {ByModel, "%d by a judge"}} {
		if n := f.Decided[of.by]; n > 0 {
			parts = append(parts, fmt.Sprintf(of.what, n))
		}
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, ", ")
	}
	if f.Same > 0 {
		s += fmt.Sprintf("; in %d the agent did and said the same, and was judged otherwise", f.Same)
	}
	return s + "."
}

// FlipsOf compares the checks of a history with each other. Of a run it counts what tells of noise alone: the first runs of head, of a version that is
// known, of a case as it is now. cases give the terms.
func FlipsOf(cases []*Case, history []Run) Flips {
	h := flipHistory{terms: map[string]Terms{}, last: map[[2]string]*flipCheck{}}
	for _, c := range cases {
		if e, ok := EntrantOf(c.Case, 0, time.Time{}); ok {
			h.terms[c.Sum] = e.Terms
		}
	}
	for _, r := range history {
		h.add(r)
	}
	return h.compare()
}

// versionOf tells a version of the agent from others, "" where it is not known.
func versionOf(r Run) string {
	id := r.Agent
	if id == "" && !r.Dirty {
		id = r.Commit
	}
	if id == "" {
		return ""
	}
	if r.Model != "" && r.Agent == "" { // the digest of a matrix knows the model
		id += " " + r.Model
	}
	if r.Jury != "" { // other judges are another gate
		id += " judged by " + r.Jury
	}
	return id
}

// flipCheck are the runs of one case and agent in one check.
type flipCheck struct {
	id, digest, agent string
	runs              []Run
}

type flipHistory struct {
	terms map[string]Terms
	all   []*flipCheck
	last  map[[2]string]*flipCheck // by case digest and agent
}

func (h *flipHistory) add(r Run) {
	agent := versionOf(r)
	if _, known := h.terms[r.Digest]; !known || agent == "" || r.Side != Head || r.Again {
		return
	}
	key := [2]string{r.Digest, agent}
	c := h.last[key]
	if c != nil && c.has(r) {
		return // two files that overlap
	}
	if c == nil || c.id != r.Check || r.Check == "" && c.runs[len(c.runs)-1].Run >= r.Run {
		c = &flipCheck{id: r.Check, digest: r.Digest, agent: agent}
		h.all, h.last[key] = append(h.all, c), c
	}
	c.runs = append(c.runs, r)
}

// has says that a check holds a run already. Runs of files that name no check begin anew at 1.
func (c *flipCheck) has(r Run) bool {
	return slices.ContainsFunc(c.runs, func(o Run) bool {
		return o.Check == r.Check && o.Run == r.Run && o.At.Equal(r.At) && o.MS == r.MS && (r.Check != "" || o.ResponseSHA256 == r.ResponseSHA256)
	})
}

// verdict is what the check came to for the case; ok is false where it decided nothing.
func (c *flipCheck) verdict(t Terms) (passed, ok bool) {
	var n Count
	for _, r := range c.runs {
		n.Add(r.Verdict)
		t.N = cmp.Or(r.N, t.N)
	}
	switch s, _ := t.standing(n); s {
	case met:
		return true, true
	case missed:
		return false, true
	}
	return false, false
}

func (h *flipHistory) compare() Flips {
	f := Flips{Decided: map[Decider]int{}, Agents: []AgentFlips{}, Cases: []CaseFlips{}}
	before := map[[2]string]*flipCheck{}
	checks := map[[2]string]bool{}
	for _, c := range h.all {
		a := f.agent(c)
		if id := [2]string{c.agent, cmp.Or(c.id, c.runs[0].At.String())}; !checks[id] {
			checks[id] = true
			a.Checks++
		}
		passed, ok := c.verdict(h.terms[c.digest])
		if !ok {
			continue
		}
		key := [2]string{c.digest, c.agent}
		was := before[key]
		before[key] = c
		if was == nil {
			continue
		}
		k := f.ofCase(c.runs[0].Case)
		f.Pairs, a.Pairs, k.Pairs = f.Pairs+1, a.Pairs+1, k.Pairs+1
		if did, _ := was.verdict(h.terms[c.digest]); did != passed {
			f.Flipped, a.Flipped, k.Flipped = f.Flipped+1, a.Flipped+1, k.Flipped+1
			f.explain(was, c, passed)
		}
	}
	slices.SortStableFunc(f.Agents, func(a, b AgentFlips) int { return a.Last.Compare(b.Last) })
	f.Cases = slices.DeleteFunc(f.Cases, func(c CaseFlips) bool { return c.Flipped == 0 })
	slices.SortStableFunc(f.Cases, func(a, b CaseFlips) int {
		return cmp.Or(cmp.Compare(b.Flipped, a.Flipped), cmp.Compare(a.Case, b.Case))
	})
	return f
}

func (f *Flips) agent(c *flipCheck) *AgentFlips {
	at := slices.IndexFunc(f.Agents, func(a AgentFlips) bool { return a.Agent == c.agent })
	if at < 0 {
		at = len(f.Agents)
		f.Agents = append(f.Agents, AgentFlips{Agent: c.agent})
	}
	a := &f.Agents[at]
	for _, r := range c.runs {
		if !r.At.Before(a.Last) {
			a.Last, a.Commit = r.At, r.Commit
		}
	}
	return a
}

func (f *Flips) ofCase(id string) *CaseFlips {
	at := slices.IndexFunc(f.Cases, func(c CaseFlips) bool { return c.Case == id })
	if at < 0 {
		at = len(f.Cases)
		f.Cases = append(f.Cases, CaseFlips{Case: id})
	}
	return &f.Cases[at]
}

// explain says on what a flip rests. passed is whether the later check is the one that passed.
func (f *Flips) explain(was, is *flipCheck, passed bool) {
	good, bad := was, is
	if passed {
		good, bad = is, was
	}
	by := map[Decider]int{}
	same := false
	for _, r := range bad.runs {
		if r.Verdict == Fail {
			by[cmp.Or(r.Decided, Deterministic)]++
			same = same || slices.ContainsFunc(good.runs, func(o Run) bool { return o.Verdict == Pass && didSame(o, r) })
		}
	}
	top := ByModel // of equals the one that is the least sure
	for _, d := range []Decider{ByEmbedding, Deterministic} {
		if by[d] > by[top] {
			top = d
		}
	}
	f.Decided[top]++
	if same {
		f.Same++
	}
}

// didSame says that two runs did and said the same.
func didSame(a, b Run) bool {
	_, x := traits(a.Calls)
	_, y := traits(b.Calls)
	return x == y && a.ResponseSHA256 == b.ResponseSHA256
}
