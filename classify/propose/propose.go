// Package propose finds rules: expressions, in the language of package custom, that hold for the runs which a person labelled and for no healthy one.
//
// It is a search over a fixed vocabulary, not a model. From the labelled runs come statements (a tool was called, or failed, or came without another before it, an
// argument was missing or too large, the reply holds an address, ...); those that most of the labelled runs share and few healthy ones have are joined, three at
// most, and the shortest description that tells both apart comes first. What the search found is then asked of the real rule: the numbers of a Candidate are those
// of package custom on the runs given, within its bound of cost.
//
// Invariants: equal runs in equal order give equal candidates, byte for byte. No value of a run gets into a rule unless it is a word of a small set, or a phrase of
// several runs, and redaction leaves it as it is; numbers are round ones that lie between those of both kinds of runs. Testdata are stories that redaction has
// passed, each of which the rule was run on.
package propose

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Options of Propose.
type Options struct {
	Name     string                        // of the rule, and its label unless Label is set: small letters, digits and _
	Label    classify.Label                // "" is the name
	Taken    []string                      // names that other rules have
	Redact   func(key, text string) string // what redaction makes of a text, key being the name of what holds it; nil: no text of a run is used
	Severity classify.Severity             // "" is warning
	Others   []*trajectory.Trajectory      // runs that went wrong in another way: to find them too is not as wrong as to find a healthy one
}

// Bounds of the work.
const (
	MaxLabelled  = 50  // labelled runs that are looked at
	MaxHealthy   = 400 // healthy ones
	MaxOthers    = 200 // others
	Alternatives = 3   // candidates at most
	maxCalls     = 400 // of a run; one with more is left out
)

// Candidate is a proposed rule, and what it says of the runs that it was made of.
type Candidate struct {
	Rule       custom.Definition `json:"rule"`
	Says       string            `json:"says"`       // in words
	Hits       int               `json:"hits"`       // labelled runs that it finds
	Missed     []string          `json:"missed"`     // trace ids of labelled runs that it does not
	Collisions []string          `json:"collisions"` // trace ids of healthy runs that it finds
	Others     int               `json:"others"`     // runs that it finds which went wrong in another way
	Blind      int               `json:"blind"`      // runs that it cannot judge
	Healthy    int               `json:"healthy"`    // healthy runs that it was tried on
	Testdata   []File            `json:"testdata"`   // in the form that the rules test reads; empty where the runs cannot be told as stories
}

// File is one file of testdata, by its name within the rule's folder.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// Propose gives up to three candidates, the best first: none where nothing tells the runs apart. Runs of one list count alike; those beyond the bounds are left out.
func Propose(labelled, healthy []*trajectory.Trajectory, o Options) ([]Candidate, error) {
	pos, neg := look(labelled, MaxLabelled), look(healthy, MaxHealthy)
	if len(pos) == 0 {
		return nil, nil
	}
	s := &search{pos: pos, neg: neg, far: look(o.Others, MaxOthers)}
	s.measure(statements(pos, neg, o.Redact))
	found, err := s.tried(s.best(), o)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Testdata = testdata(found[i], pos, neg, o)
	}
	return found, nil
}

// tried asks the real rules what they say of the runs, and keeps the best that do not say the same.
func (s *search) tried(joins []join, o Options) ([]Candidate, error) {
	if len(joins) == 0 {
		return nil, nil
	}
	base := o.definition()
	defs := make([]custom.Definition, len(joins))
	for i, j := range joins {
		defs[i] = j.write(base, s.pos)
		defs[i].Name = fmt.Sprintf("candidate_%d", i)
	}
	rules, problems, err := custom.New(defs, nil)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		p := problems[0]
		return nil, fmt.Errorf("a proposed rule is none, report this: %s of %q: %s", p.Key, defs[p.Rule].When, p.Message)
	}
	engine, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{})
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, len(joins))
	for i := range joins {
		out[i] = Candidate{Rule: joins[i].write(base, s.pos), Says: joins[i].words(), Missed: []string{}, Collisions: []string{}, Healthy: len(s.neg), Testdata: []File{}}
	}
	for kind, runs := range [][]*view{s.pos, s.neg, s.far} {
		for _, v := range runs {
			r := engine.Classify(v.t.Clone(), nil)
			for i := range out {
				out[i].note(v.t.TraceID, kind, answer(r, rules[i].ID()))
			}
		}
	}
	return s.choose(out, joins), nil
}

// answer is what a rule says: match, near or blind.
func answer(r classify.Report, id string) string {
	switch {
	case slices.ContainsFunc(r.Findings, func(f classify.Finding) bool { return f.Rule == id }):
		return "match"
	case slices.ContainsFunc(r.Inapplicable, func(x classify.Inapplicable) bool { return x.Rule == id }):
		return "blind"
	}
	return "near"
}

// The kinds of runs.
const (
	ofLabelled = iota
	ofHealthy
	ofOthers
)

func (c *Candidate) note(id string, kind int, says string) {
	if says == "blind" {
		c.Blind++
	}
	switch {
	case kind == ofLabelled && says == "match":
		c.Hits++
	case kind == ofLabelled:
		c.Missed = append(c.Missed, id)
	case kind == ofHealthy && says == "match":
		c.Collisions = append(c.Collisions, id)
	case kind == ofOthers && says == "match":
		c.Others++
	}
}

// choose orders what was tried by how wrong it is, then by how much it says, and leaves out what says nothing new.
func (s *search) choose(all []Candidate, joins []join) (out []Candidate) {
	order := make([]int, len(all))
	loss := make([]float64, len(all))
	for i := range all {
		order[i], loss[i] = i, s.lossOf(len(all[i].Missed), len(all[i].Collisions), all[i].Others)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(loss[a]+perCost*float64(joins[a].cost()), loss[b]+perCost*float64(joins[b].cost())), cmp.Compare(joins[a].key(), joins[b].key()))
	})
	var taken []join
	for _, i := range order {
		c := all[i]
		if 2*c.Hits < len(s.pos) || 10*len(c.Collisions) > 3*len(s.neg) || slices.ContainsFunc(taken, joins[i].like) {
			continue
		}
		taken, out = append(taken, joins[i]), append(out, c)
		if len(out) == Alternatives {
			break
		}
	}
	return out
}

// definition is what all candidates have in common.
func (o Options) definition() custom.Definition {
	d := custom.Definition{Name: o.Name, Version: 1, Label: o.Label, Severity: cmp.Or(o.Severity, classify.Warning), Form: classify.FormNever, Needs: []trajectory.Fact{trajectory.FactWhole}}
	d.Label = cmp.Or(d.Label, classify.Label(d.Name))
	for n := 2; slices.Contains(o.Taken, d.Name); n++ {
		d.Name = fmt.Sprintf("%s_%d", strings.TrimRight(o.Name[:min(len(o.Name), 36)], "_"), n)
	}
	return d
}
