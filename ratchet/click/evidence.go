// Package click turns the ratchet by one tooth: from the runs that gates recorded it says whether a failure was seen on the live agent, whether it is
// mended since, and gives the case as it is to be from then on.
//
// The rule. A case is enforced once a version of the agent showed the failure in red of its valid runs, a rate r, and a later version, in a clean work
// tree of the default branch, passed so often that one which still fails at r would pass like that in at most 5 of 100 trials; and it must pass as often
// as the case asks of any check. Runs count only of the very case that lies in the set (equal case digest) and only if they were valid: an error, an
// inconclusive run and one that was never started say nothing. Of several versions that showed the failure the one that did so most seldom sets r, since
// a failure that was half mended takes more runs to rule out. A version of the default branch that misses after the green one takes the green back.
//
// Invariants: everything here is pure, and every case that comes out is at least as strict, by package verify, as the one that went in.
package click

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Chance is the largest probability with which an agent that still fails as it did may be taken for mended.
const Chance = 0.05

// Version is what the runs of one version of the agent came to.
type Version struct {
	Commit string // "" when unknown
	Agent  string // digest of the agent, "" when unknown
	Main   bool   // run from a clean work tree of the default branch
	First  time.Time
	gate.Count
}

// id is how a case names the version: its commit, else a digest of what tells it from others.
func (v Version) id() string {
	if v.Commit != "" {
		return v.Commit
	}
	return regcase.SHA256([]byte(v.Agent))
}

// Older says that commit a is known to be an ancestor of b. Where nothing is known it says no.
type Older func(a, b string) bool

// Ignored counts runs of a case that are no evidence.
type Ignored struct {
	Other   int `json:"other"`   // of another version of the case
	Invalid int `json:"invalid"` // errors, inconclusive, not run
	Unknown int `json:"unknown"` // of a changed work tree, or of no known commit
	Twice   int `json:"twice"`   // the same run again, as when two results files overlap
}

// Evidence is what the runs say of one case.
type Evidence struct {
	Live    *Version // showed the failure; nil: none did
	Rate    float64  // r: how often the failure showed, 0 to 1
	Green   *Version // the version that mended it, or comes nearest to that; nil: no later run on the default branch
	Broken  *Version // a version of the default branch, the last of all, that misses; nil: none
	Need    int      // further runs of Green that must pass; of any later version where Green is nil
	Valid   int      // runs that count
	Away    int      // valid runs of later versions that are on no default branch, and so are not green
	Ignored Ignored

	Unsteady string // why no case of this agent can be enforced, whatever its runs say: it differs too much from itself; "": it does not, as far as is known
}

// Weigh reads what the runs say of a case. digest is its case digest.
func Weigh(c *regcase.Case, digest string, runs []gate.Run, older Older) Evidence {
	if older == nil {
		older = func(string, string) bool { return false }
	}
	w := &weighing{c: c, terms: termsOf(c), older: older}
	w.gather(digest, runs)
	w.weigh()
	return w.out
}

// terms are what a case asks of any check.
type terms struct {
	n    int
	rate float64
}

func termsOf(c *regcase.Case) terms {
	e, _ := gate.EntrantOf(c, 0, time.Time{})
	if e.Terms.Hard {
		return terms{e.Terms.N, 1}
	}
	return terms{e.Terms.N, e.Terms.Rate}
}

const slack = 1e-9 // keeps 0.8 x 5 from being more than 4

// misses says that the runs pass too seldom.
func (t terms) misses(c gate.Count) bool { return c.Valid() > 0 && c.Rate() < t.rate-slack }

// need is how many more runs must pass until the count shows that the agent no longer fails at rate r, and meets the terms.
func (t terms) need(c gate.Count, r float64) int {
	least := int(math.Ceil(t.rate*float64(t.n) - slack))
	for k := range maxNeed {
		more := gate.Count{Passed: c.Passed + k, Failed: c.Failed}
		if more.Passed >= least && !t.misses(more) && atMost(more.Failed, more.Valid(), r) <= Chance+slack {
			return k
		}
	}
	return maxNeed
}

const maxNeed = 10_000

// Reach is how many runs a check must be asked for so that need more pass on top of those that are there.
func (e Evidence) Reach(c *regcase.Case) int {
	passed := e.Need
	if e.Green != nil {
		passed += e.Green.Passed
	}
	t := termsOf(c)
	n := max(t.n, passed)
	for int(math.Ceil(t.rate*float64(n)-slack)) < passed { // a check ends as soon as the rate is met
		n++
	}
	return n
}

// atMost is the probability that of n runs which fail at rate r at most k fail.
func atMost(k, n int, r float64) float64 {
	if r >= 1 {
		if k < n {
			return 0
		}
		return 1
	}
	p, term := 0.0, math.Pow(1-r, float64(n))
	for i := 0; i <= k && i <= n; i++ {
		p += term
		term *= float64(n-i) / float64(i+1) * r / (1 - r)
	}
	return min(p, 1)
}

type weighing struct {
	c        *regcase.Case
	terms    terms
	older    Older
	versions []*Version
	out      Evidence
}

// gather folds the runs into versions.
func (w *weighing) gather(digest string, runs []gate.Run) {
	seen := map[same]bool{}
	by := map[[3]string]*Version{}
	for _, r := range runs {
		if r.Case != w.c.ID {
			continue
		}
		known := r.Agent != "" || r.Commit != "" && !r.Dirty
		switch {
		case seen[sameOf(r)]:
			w.out.Ignored.Twice++
			continue
		case r.Digest != digest:
			w.out.Ignored.Other++
			continue
		case r.Verdict != gate.Pass && r.Verdict != gate.Fail:
			w.out.Ignored.Invalid++
			continue
		case !known:
			w.out.Ignored.Unknown++
			continue
		}
		seen[sameOf(r)] = true
		main := ""
		if r.Side != gate.Base && !r.Dirty && r.DefaultBranch {
			main = "main"
		}
		key := [3]string{r.Commit, r.Agent, main}
		v := by[key]
		if v == nil {
			v = &Version{Commit: r.Commit, Agent: r.Agent, Main: main != "", First: r.At}
			by[key], w.versions = v, append(w.versions, v)
		}
		if r.At.Before(v.First) {
			v.First = r.At
		}
		v.Add(r.Verdict)
		w.out.Valid++
	}
	slices.SortStableFunc(w.versions, func(a, b *Version) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Agent, b.Agent))
	})
}

// same tells a run from all others: no two of one version have the number, the second and the milliseconds in common.
type same struct {
	digest, commit, agent string
	side                  gate.Side
	again, dirty          bool
	run                   int
	at                    int64
	ms                    int64
	verdict               gate.Verdict
	response              string
}

func sameOf(r gate.Run) same {
	return same{r.Digest, r.Commit, r.Agent, r.Side, r.Again, r.Dirty, r.Run, r.At.UnixNano(), r.MS, r.Verdict, r.ResponseSHA256}
}

// after says that a is a later version than b: by history where git knows both commits, else by when they first ran.
func (w *weighing) after(a, b *Version) bool {
	if a.Commit != "" && b.Commit != "" && a.Commit != b.Commit {
		switch {
		case w.older(b.Commit, a.Commit):
			return true
		case w.older(a.Commit, b.Commit):
			return false
		}
	}
	return a.First.After(b.First)
}

func (w *weighing) weigh() {
	w.out.Broken = w.broken()
	best := Evidence{}
	for _, g := range w.versions {
		if !w.candidate(g) {
			continue
		}
		e := w.against(g)
		if best.Green == nil || better(e, best) || !better(best, e) && w.after(g, best.Green) {
			best = e
		}
	}
	if best.Green == nil {
		best = w.against(nil)
	}
	w.out.Live, w.out.Rate, w.out.Green, w.out.Need = best.Live, best.Rate, best.Green, best.Need
	for _, v := range w.versions {
		if !v.Main && v.Passed > 0 && !w.terms.misses(v.Count) {
			w.out.Away += v.Valid()
		}
	}
}

// better says that a knows of the failure where b does not, or needs fewer runs.
func better(a, b Evidence) bool {
	if (a.Rate > 0) != (b.Rate > 0) {
		return a.Rate > 0
	}
	return a.Need < b.Need
}

// broken is the last version of the default branch that misses, if no version that is later meets the terms.
func (w *weighing) broken() *Version {
	for _, v := range w.versions {
		if v.Main && w.terms.misses(v.Count) && !slices.ContainsFunc(w.versions, func(o *Version) bool { return o.Main && o.Passed > 0 && w.after(o, v) }) {
			return v
		}
	}
	return nil
}

// candidate says that a version may be the green one: of the default branch, not missing, and nothing that is later misses there. A case that is in
// quarantine does not come out of it by the runs that had enforced it.
func (w *weighing) candidate(g *Version) bool {
	if !g.Main || g.Passed == 0 || w.terms.misses(g.Count) {
		return false
	}
	if w.c.State.Name == regcase.Quarantined && w.c.Green != nil && w.c.Green.Commit == g.id() {
		return false
	}
	return !slices.ContainsFunc(w.versions, func(o *Version) bool { return o.Main && w.terms.misses(o.Count) && w.after(o, g) })
}

// against holds a green version to the failure as it was seen before it. Without one it says what any version will need.
func (w *weighing) against(g *Version) Evidence {
	e := Evidence{Green: g}
	var count gate.Count
	if g != nil {
		count = g.Count
	}
	for _, missing := range []bool{true, false} { // a version that misses tells more of the failure than a stray one
		for _, v := range w.versions {
			if v.Failed == 0 || v == g || g != nil && !w.after(g, v) || w.terms.misses(v.Count) != missing {
				continue
			}
			if r := float64(v.Failed) / float64(v.Valid()); e.Live == nil || r <= e.Rate {
				e.Live, e.Rate = v, r
			}
		}
		if e.Live != nil {
			break
		}
	}
	if l := w.c.Live; l != nil && l.Red > 0 && (g == nil || l.Commit != g.id()) {
		if r := float64(l.Red) / float64(l.Of); e.Rate == 0 || r < e.Rate {
			e.Rate = r
		}
	}
	e.Need = w.terms.need(count, e.Rate)
	if e.Rate == 0 {
		e.Need = max(0, w.terms.need(count, 1))
	}
	return e
}
