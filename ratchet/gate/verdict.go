package gate

import (
	"cmp"
	"math"
	"slices"
)

// Verdict is what one run of a case came to.
type Verdict string

// The verdicts of a run. Error: the run itself went wrong (no spans, the agent did not start, a tool ran that must not). Inconclusive: the run
// cannot tell (a fact is missing, no fixture, the dialogue diverged). NotRun: it was planned and never started.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Error        Verdict = "error"
	Inconclusive Verdict = "inconclusive"
	NotRun       Verdict = "not_run"
)

// Count is what some runs of one case came to. Invalid runs (error, inconclusive) say nothing for or against.
type Count struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Invalid int `json:"invalid"`
}

// Valid is the number of runs that passed or failed.
func (c Count) Valid() int { return c.Passed + c.Failed }

// Runs is the number of all runs.
func (c Count) Runs() int { return c.Valid() + c.Invalid }

// Rate is the share of the valid runs that passed, 0 to 1; 0 where none was valid.
func (c Count) Rate() float64 {
	if c.Valid() == 0 {
		return 0
	}
	return float64(c.Passed) / float64(c.Valid())
}

// Add counts one more run.
func (c *Count) Add(v Verdict) {
	switch v {
	case Pass:
		c.Passed++
	case Fail:
		c.Failed++
	default:
		c.Invalid++
	}
}

func (c Count) plus(d Count) Count {
	return Count{c.Passed + d.Passed, c.Failed + d.Failed, c.Invalid + d.Invalid}
}

// Terms is what a case asks of its runs: N of them, of which the share Rate must pass. Hard asks for all; a single miss is then confirmed by N
// more runs, of which none may miss.
type Terms struct {
	N    int
	Hard bool
	Rate float64
}

// standing is where some runs stand against the terms.
type standing uint8

const (
	open   standing = iota // more runs could still turn it either way
	met                    // whatever the other runs bring
	missed                 // likewise
	void                   // too few valid runs, whatever the others bring
)

// slack keeps 0.8 x 5 from being more than 4.
const slack = 1e-9

// standing decides as early as it can. It also says how many more runs must pass for the terms to be met.
func (t Terms) standing(c Count) (standing, int) {
	attempts := t.N
	if t.Hard && c.Failed > 0 {
		attempts = 2 * t.N
	}
	left := max(0, attempts-c.Runs())
	most := c.Valid() + left // valid runs, if all that are left are
	need := int(math.Ceil(t.Rate*float64(most) - slack))
	if t.Hard {
		if need = most; c.Failed > 0 {
			need--
		}
	}
	switch {
	case 2*most <= t.N:
		return void, 0
	case c.Passed >= need:
		return met, 0
	case c.Passed+left < need:
		return missed, 0
	}
	return open, need - c.Passed
}

// worse is Fisher's exact test, one-sided: the probability that, were the two equally good, head would come out as much worse than base as it did,
// or more. It is 1 where either has no valid run.
func worse(head, base Count) float64 {
	n, m := head.Valid(), base.Valid()
	if n == 0 || m == 0 {
		return 1
	}
	passed := head.Passed + base.Passed
	p := 0.0
	for x := max(0, passed-m); x <= head.Passed; x++ {
		p += math.Exp(choose(n, x) + choose(m, passed-x) - choose(n+m, passed))
	}
	return min(p, 1)
}

// choose is the logarithm of a binomial coefficient.
func choose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lg(n) - lg(k) - lg(n-k)
}

// holm says which of the p-values are significant at alpha when family hypotheses were tested at once, by Holm's step-down method. A hypothesis of
// the family that is not in p counts as one that was not rejected.
func holm(p []float64, family int, alpha float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(p[a], p[b]), cmp.Compare(a, b)) })
	out := make([]bool, len(p))
	for rank, i := range order {
		if p[i] > alpha/float64(max(1, family-rank)) {
			break
		}
		out[i] = true
	}
	return out
}

// Delta is how a whole set moved against an earlier run of it.
type Delta struct {
	Commit  string  `json:"commit"` // of the earlier run
	Head    Count   `json:"head"`
	Before  Count   `json:"before"`
	Drop    float64 `json:"drop"`    // share of runs, positive where head is worse
	Visible float64 `json:"visible"` // the smallest drop that so many runs show in 8 of 10 checks, at 1 % false alarms
}

// Compare measures the set as a whole. It is a note, never a verdict: one broken case drowns in it.
func Compare(head, before Count) Delta {
	d := Delta{Head: head, Before: before, Visible: 1}
	if head.Valid() == 0 || before.Valid() == 0 {
		return d
	}
	d.Drop = before.Rate() - head.Rate()
	const z = 2.326 + 0.842 // one-sided 1 %, power 80 %
	r := (float64(before.Passed) + 0.5) / (float64(before.Valid()) + 1)
	// The drop stands on both sides: the worse rate has the larger variance. A few steps of the fixed point are plenty.
	for range 50 {
		h := max(0, r-d.Visible)
		sd := math.Sqrt(r*(1-r)/float64(before.Valid()) + max(h*(1-h), r*(1-r))/float64(head.Valid()))
		d.Visible = min(1, (d.Visible+z*sd)/2)
	}
	return d
}
