package main

import (
	"math"
	"slices"

	"github.com/pawl-dev/pawl/classify"
)

// cell counts, in runs, what one rule said where one kind of truth is known.
type cell struct {
	Rule     string   `json:"rule"`
	Set      string   `json:"set"` // "" sums up all sets
	Strength strength `json:"truth"`
	Runs     int      `json:"runs"`      // of which it is known whether they have the failure
	Positive int      `json:"positives"` // that have it
	Right    int      `json:"right"`     // found, and there
	Wrong    int      `json:"wrong"`     // found, and not there
	Blind    int      `json:"inapplicable"`
	BlindPos int      `json:"inapplicable_positives"` // not found, and the rule says that it cannot see
	Unknown  int      `json:"unknown"`                // found, and nobody knows
	Placed   int      `json:"placed"`                 // of those right and of which the place is known
	InPlace  int      `json:"in_place"`               // of these, at that place
}

func (c *cell) judged() int { return c.Right + c.Wrong }

func (c *cell) precision() (share, low, high float64) { return wilson(c.Right, c.judged()) }

// recall is the share of the failures that were found, of those that the rule could see.
func (c *cell) recall() (share, low, high float64) { return wilson(c.Right, c.Positive-c.BlindPos) }

func (c *cell) plus(o cell) {
	c.Runs, c.Positive, c.Right, c.Wrong = c.Runs+o.Runs, c.Positive+o.Positive, c.Right+o.Right, c.Wrong+o.Wrong
	c.Blind, c.BlindPos, c.Unknown = c.Blind+o.Blind, c.BlindPos+o.BlindPos, c.Unknown+o.Unknown
	c.Placed, c.InPlace = c.Placed+o.Placed, c.InPlace+o.InPlace
}

// well counts what one rule, or all of them, said of runs that are known to be well.
type well struct {
	Rule     string `json:"rule"` // "" for all rules together
	Set      string `json:"set"`
	Runs     int    `json:"healthy_runs"`
	Fired    int    `json:"findings"` // runs with a finding
	Blocking int    `json:"blocking"` // runs with a blocking one
}

// wilson is a share with its 95 % interval after Wilson. Of nothing, nothing is known.
func wilson(k, n int) (share, low, high float64) {
	if n <= 0 {
		return math.NaN(), 0, 1
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	mid, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return p, max(0, (mid-half)/(1+z*z/m)), min(1, (mid+half)/(1+z*z/m))
}

// firm sums up what may be held for a rule, or against it: positives that an execution or people tell of, and negatives of any strength but
// the injected.
func (m measurement) firm(r classify.Rule) cell {
	sum := cell{Rule: r.ID(), Strength: firm}
	for _, s := range m.Samples {
		for _, of := range []strength{byExecution, byPeople} {
			sum.plus(s.cell(r, of))
		}
		c := s.cell(r, derived)
		sum.plus(cell{Runs: c.Runs - c.Positive, Wrong: c.Wrong, Blind: c.Blind - c.BlindPos})
	}
	return sum
}

// cells counts, per rule, strength and set, those where something was asked or found. The sum over several sets comes before its parts, and
// before all of a rule's what is firm.
func (m measurement) cells() []cell {
	var out []cell
	for _, r := range m.Rules {
		if c := m.firm(r); c.Positive+c.judged() > 0 {
			out = append(out, c)
		}
		for _, of := range strengths() {
			sum, parts := m.sum(r, of)
			if len(parts) > 1 {
				out = append(out, sum)
			}
			out = append(out, parts...)
		}
	}
	return out
}

// sum counts one strength over all sets, and in those sets where something was asked or found.
func (m measurement) sum(r classify.Rule, of strength) (sum cell, parts []cell) {
	sum = cell{Rule: r.ID(), Strength: of}
	for _, s := range m.Samples {
		c := s.cell(r, of)
		if c.Positive+c.judged()+c.Unknown > 0 {
			parts = append(parts, c)
		}
		sum.plus(c)
	}
	return sum, parts
}

func (s sample) cell(r classify.Rule, of strength) cell {
	c := cell{Rule: r.ID(), Set: s.Name, Strength: of}
	for _, j := range s.Runs {
		if t := j.claim(r.Label); t.Strength == of {
			c.count(j, r, t)
		}
	}
	return c
}

// claim is what is known of the label; where nothing is, its strength says so.
func (j judged) claim(l classify.Label) claim {
	t, ok := j.Truth[l]
	if !ok || t.Present == nil {
		t.Strength = unknown
	}
	return t
}

func (c *cell) count(j judged, r classify.Rule, t claim) {
	said, blind := j.said(r), j.blind(r) != ""
	if t.Present == nil {
		c.Unknown += min(1, len(said))
		return
	}
	c.Runs++
	if *t.Present {
		c.Positive++
	}
	switch {
	case len(said) == 0 && blind:
		c.Blind++
		if *t.Present {
			c.BlindPos++
		}
	case len(said) > 0 && *t.Present:
		c.Right++
		c.place(said, t.Where)
	case len(said) > 0:
		c.Wrong++
	}
}

// place notes whether one of the findings points where the failure is.
func (c *cell) place(said []classify.Finding, where []string) {
	if len(where) == 0 {
		return
	}
	c.Placed++
	if slices.ContainsFunc(said, func(f classify.Finding) bool {
		return slices.ContainsFunc(f.Evidence, func(e classify.Evidence) bool { return slices.Contains(where, e.SpanID) })
	}) {
		c.InPlace++
	}
}

// wells counts false alarms on runs that are well: for each rule that had any, and for all of them together.
func (m measurement) wells() []well {
	var out []well
	for _, s := range append([]sample{m.joined()}, m.Samples...) {
		all := s.well("", m.Rules)
		if all.Runs == 0 {
			continue
		}
		out = append(out, all)
		for _, r := range m.Rules {
			if w := s.well(r.ID(), []classify.Rule{r}); w.Fired > 0 {
				out = append(out, w)
			}
		}
	}
	return out
}

// joined is all sets as one, without a name.
func (m measurement) joined() sample {
	var all sample
	for _, s := range m.Samples {
		all.Runs = append(all.Runs, s.Runs...)
	}
	return all
}

func (s sample) well(name string, rules []classify.Rule) well {
	w := well{Rule: name, Set: s.Name}
	for _, j := range s.Runs {
		if !j.Clean {
			continue
		}
		w.Runs++
		var said []classify.Finding
		for _, r := range rules {
			said = append(said, j.said(r)...)
		}
		w.Fired += min(1, len(said))
		if slices.ContainsFunc(said, func(f classify.Finding) bool { return f.Severity == classify.Blocking }) {
			w.Blocking++
		}
	}
	return w
}
