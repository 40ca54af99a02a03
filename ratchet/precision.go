package ratchet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ghpr"
)

// A rule that cries wolf gets all of pawl muted, so a version of a rule opens pull requests only once it is known how often it is right: from findings
// that were judged against the truth, or from what the team itself decided on its groups. Until then it feeds triage alone. A new version of a rule
// begins anew.

// Precision is how many findings of a version of a rule were judged, and how many of them hold.
type Precision struct {
	Judged, Right int
	Set           string // what they were judged on
	Date          string
}

const (
	ownJudged   = 10  // decisions of the team that weigh as much as MinJudged findings of others
	leastRight  = 0.8 // of the judged findings
	yourGroups  = "your own groups"
	approveThis = "approve it, or dismiss it, and that counts"
)

// Own counts what the team decided, per version of a rule: a group that was approved, or whose case was merged, was right; one that was denied or
// dismissed was not, nor one whose pull request was closed as a false alarm or as intended; a duplicate was right. A pull request that was closed
// without such a label says "not now", and one that is another team's says nothing of the rule: both count neither way. Of each group the latest word counts. batches are all batches, by key.
func Own(gs []Group, batches map[string]*Batch) map[string]Precision {
	out := map[string]Precision{}
	for i := range gs {
		g := &gs[i]
		b := batches[g.Batch]
		merged := b != nil && b.Intent != nil && b.Intent.Receipt.State == ghpr.StateMerged
		no, denied := g.Denied()
		right := g.Approved() || merged && !denied || denied && no.As == AsDuplicate
		if denied && (no.As == AsNotNow || no.As == AsNotOurs) || g.Fingerprint.Label == classify.NoLabel || g.Source == classify.SourceHuman {
			continue
		}
		if g.Rule == "" || !right && !denied {
			continue
		}
		p := out[g.Rule]
		p.Judged++
		if right {
			p.Right++
		}
		p.Set = yourGroups
		out[g.Rule] = p
	}
	return out
}

// trusts says whether the version of a rule may open pull requests, and why or why not. What the team decided outweighs what was measured elsewhere.
func (p Policy) trusts(rule string) (bool, string) {
	if p.MinJudged <= 0 {
		return true, ""
	}
	known, own := p.Measured[rule], p.Own[rule]
	enough := known.Judged >= p.MinJudged
	if own.Judged >= ownJudged {
		known, enough = own, true
	}
	switch {
	case rule == "":
		return false, "the version of the rule that found it is not on record; the next sighting tells it"
	case !enough:
		return false, fmt.Sprintf("%s was measured on %s; it opens pull requests from %d on, or from %d decisions of yours (%d so far): %s",
			rule, findings(known.Judged), p.MinJudged, ownJudged, own.Judged, approveThis)
	case float64(known.Right) < leastRight*float64(known.Judged):
		return false, fmt.Sprintf("%s was right in %d of %s (%s), too seldom to open pull requests", rule, known.Right, findings(known.Judged), known.Set)
	}
	return true, fmt.Sprintf("%s was right in %d of %s", rule, known.Right, findings(known.Judged))
}

const notMeasured = "was not measured"

// known says for a pull request how often the version of a rule is right, and on whose data; the team's own decisions go before other data.
func (p Policy) known(rule string) string {
	known := p.Measured[rule]
	if own := p.Own[rule]; own.Judged >= ownJudged {
		known = own
	}
	if known.Judged == 0 {
		return notMeasured
	}
	on := known.Set
	if known.Date != "" {
		on += ", " + known.Date
	}
	return fmt.Sprintf("was right in %d of %s (%s)", known.Right, findings(known.Judged), on)
}

func findings(n int) string {
	if n == 1 {
		return "1 judged finding"
	}
	return fmt.Sprintf("%d judged findings", n)
}

// ownEvery is how often the team's decisions are counted: it takes a look at every group.
const ownEvery = time.Minute

// policy is the policy with what the team has decided so far. Groups that waited for that are looked at again.
func (a *Absorber) policy(ctx context.Context, now time.Time) (Policy, error) {
	p := a.opts.Policy
	p.Now = now
	if p.MinJudged <= 0 {
		return p, nil
	}
	if a.own == nil || now.Sub(a.ownAt) >= ownEvery {
		gs, err := a.Groups(ctx)
		if err != nil {
			return p, err
		}
		batches, err := a.Batches(ctx)
		if err != nil {
			return p, err
		}
		byKey := map[string]*Batch{}
		for i := range batches {
			byKey[batches[i].Key()] = &batches[i]
		}
		a.own, a.ownAt = Own(gs, byKey), now
	}
	p.Own = a.own
	for _, fp := range slices.Sorted(maps.Keys(a.unknown)) {
		if trusted, _ := p.trusts(a.unknown[fp]); trusted {
			delete(a.unknown, fp)
			a.touch(fp, false)
		}
	}
	return p, nil
}

// waitFor notes a group that is not due for no other reason than that its rule is not known well enough.
func (a *Absorber) waitFor(fp string, g *Group, p Policy) {
	if wanted, _ := p.wants(g); wanted {
		if trusted, _ := p.trusts(g.Rule); !trusted {
			a.unknown[fp] = g.Rule
		}
	}
}
