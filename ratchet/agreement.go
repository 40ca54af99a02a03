package ratchet

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/classify"
	jury "github.com/pawl-dev/pawl/classify/judge"
)

// LeastLabels and leastAgreed: a judge may be a reason for a pull request only once it is known how often people say the same: of at least LeastLabels labels that they gave. Another model or
// another rubric is another judge, of which nothing is known.
const (
	LeastLabels = 50
	leastAgreed = 0.85
)

// Agreement is how often a judge said what people said.
type Agreement struct {
	Judge  string `json:"judge"` // the judge's ID
	Model  string `json:"model"`
	Rubric string `json:"rubric"` // its digest
	Labels int    `json:"labels"` // by people, of which the judge said anything: a label, or none
	Agreed int    `json:"agreed"`
	Silent int    `json:"silent"` // labels by people of which the judge decided nothing
	Set    string `json:"set"`    // whose labels
	Date   string `json:"date"`
}

// Add takes one label by a person against what the judge said.
func (g *Agreement) Add(person classify.Label, op jury.Opinion) {
	switch {
	case op.Outcome == jury.Labelled || op.Outcome == jury.NoneFits:
		g.Labels++
		if answered(op) == person {
			g.Agreed++
		}
	default:
		g.Silent++
	}
}

// answered is the label of an opinion, or none.
func answered(op jury.Opinion) classify.Label {
	if op.Outcome == jury.Labelled {
		return op.Label
	}
	return jury.None
}

// Share is how often they agree, with its 95 % interval (Wilson's); of nothing, nothing is known.
func (g Agreement) Share() (share, low, high float64) {
	low, high = Precision{Judged: g.Labels, Right: g.Agreed}.Interval()
	if g.Labels > 0 {
		share = float64(g.Agreed) / float64(g.Labels)
	}
	return share, low, high
}

// Calibrated says whether the judge may be a reason for a pull request, and why or why not.
func (g Agreement) Calibrated() (bool, string) {
	share, low, high := g.Share()
	switch {
	case g.Labels < LeastLabels:
		return false, fmt.Sprintf("the judge was held against %d of the %d labels by people that it takes (pawl judge calibrate)", g.Labels, LeastLabels)
	case share < leastAgreed:
		return false, fmt.Sprintf("the judge agrees with people in %.2f of %d labels (%.2f to %.2f), and %.2f is wanted", share, g.Labels, low, high, leastAgreed)
	}
	return true, fmt.Sprintf("the judge agrees with people in %.2f of %d labels (%.2f to %.2f)", share, g.Labels, low, high)
}

// Truths are what people said of the groups that judged traces are in, held against what the judge with that id said of them: one decision counts once, however
// many traces its group has. gs are all groups.
func Truths(id string, gs []Group, js []Judgement) Agreement {
	by := map[string]*Group{}
	for i := range gs {
		by[gs[i].Digest()] = &gs[i]
	}
	g := Agreement{Judge: id, Set: yourGroups}
	counted := map[string]bool{}
	for i := range js {
		j := &js[i]
		if j.Opinion.Judge != id || j.State == JudgementWaiting {
			continue
		}
		fp := j.Of
		if told := j.told(); told != "" {
			fp = told
		}
		person, decision, ok := truth(by, fp)
		if key := decision + " " + string(answered(j.Opinion)); ok && !counted[key] {
			counted[key] = true
			g.Add(person, j.Opinion)
		}
	}
	return g
}

// truth is what people said of the group of a digest, and by which decision: a label, or none where they said that it is no failure.
func truth(by map[string]*Group, fp string) (label classify.Label, decision string, ok bool) {
	g := by[fp]
	for hops := 0; g != nil && g.Merged != nil && hops < maxHops; hops++ {
		g = by[g.Merged.Into]
	}
	if g == nil {
		return "", "", false
	}
	d, judged := g.Judged()
	switch {
	case judged && d.Choice == ChoiceLabel:
		return d.Label, d.ID, true
	case judged && (d.As == AsFalseAlarm || d.As == AsIntended):
		return jury.None, d.ID, true
	case g.Fingerprint.Label == classify.NoLabel, judged && d.As != AsDuplicate: // not ours says nothing of the label
		return "", "", false
	case judged, g.Approved(), g.Source == classify.SourceHuman:
		return g.Fingerprint.Label, g.Digest(), true
	}
	return "", "", false
}

// agree counts how the jury agrees with people.
func (a *Absorber) agree(ctx context.Context) error {
	gs, err := a.Groups(ctx)
	if err != nil {
		return err
	}
	js, err := a.Judgements(ctx)
	if err != nil {
		return err
	}
	o := a.opts.Jury
	own := Truths(o.ID, gs, js)
	own.Model, own.Rubric = o.Model, o.Rubric
	if o.Measured.Judge == o.ID && own.Labels < LeastLabels { // what people decide here outweighs what was tried elsewhere
		own = o.Measured
	}
	a.bench.mu.Lock()
	defer a.bench.mu.Unlock()
	a.bench.agreed = map[string]Agreement{o.ID: own}
	return nil
}

// Agreement is how the jury agrees with people, by the id of the judge; empty without a jury.
func (a *Absorber) Agreement() map[string]Agreement {
	a.bench.mu.Lock()
	defer a.bench.mu.Unlock()
	return a.bench.agreed
}

// judged says of a group that a model named whether it is to become a case, as far as the model is concerned.
func (p Policy) judged(g *Group) (bool, string) {
	known, ok := p.Judges[g.Rule]
	if !ok {
		return false, "a model says so, and nothing is known of how often people say the same: it waits for a person"
	}
	may, why := known.Calibrated()
	if !may {
		return false, "a model says so: it waits for a person; " + why
	}
	return true, why
}
