package propose

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Ask is what a rule alone says of a run: match, near or blind.
func Ask(r classify.Rule, t *trajectory.Trajectory) string {
	e, err := classify.New(slog.New(slog.DiscardHandler), []classify.Rule{r}, classify.Options{})
	if err != nil {
		return "blind"
	}
	return answer(e.Classify(t.Clone(), nil), r.ID())
}

// Trial is what a rule would have caught in kept runs.
type Trial struct {
	Traces     int            `json:"traces"`
	Judged     int            `json:"judged"`     // those of which it could say something
	Found      Listed         `json:"found"`      // labelled runs that it finds
	Missed     Listed         `json:"missed"`     // labelled runs that it does not find
	Collisions Listed         `json:"collisions"` // runs that pass without it: a failure that nobody saw, or a false alarm
	Others     Listed         `json:"others"`     // runs that failed, or went wrong unexplained, and have no such label: more of the same, perhaps
	Blind      map[string]int `json:"blind"`      // runs that it could not judge, by the fact that they lack
}

// Doubtful says that it hits more runs that pass than labelled ones, so that most of what it would find is false alarms or was never looked at.
func (x Trial) Doubtful() bool { return x.Collisions.Count > x.Found.Count }

// Listed are traces, the first of which are named.
type Listed struct {
	Count  int      `json:"count"`
	Traces []string `json:"traces"`
}

// maxListed bounds the traces that are named.
const maxListed = 50

func (l *Listed) add(id string) {
	if l.Count++; len(l.Traces) < maxListed {
		l.Traces = append(l.Traces, id)
	}
}

// Trials tries several rules on one run after the other. Its memory does not grow with the runs.
type Trials struct {
	engine   *classify.Engine
	ids      []string
	labelled map[string]bool
	seen     map[string]bool // labelled ones
	Of       []Trial         // by candidate
}

// NewTrials prepares the trial of candidates; labelled are the ids of the traces that a person labelled. Prices and catalog do not matter to them, but cost is what
// spans report.
func NewTrials(cs []Candidate, labelled []string) (*Trials, error) {
	defs := make([]custom.Definition, len(cs))
	for i, c := range cs {
		defs[i] = c.Rule
		defs[i].Name = fmt.Sprintf("candidate_%d", i) // they share one name
	}
	rules, problems, err := custom.New(defs, nil)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s of rule %s: %s", problems[0].Key, cs[problems[0].Rule].Rule.Name, problems[0].Message)
	}
	x := &Trials{labelled: map[string]bool{}, seen: map[string]bool{}}
	if x.engine, err = classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{}); err != nil {
		return nil, err
	}
	for _, id := range labelled {
		x.labelled[id] = true
	}
	for _, r := range rules {
		x.ids = append(x.ids, r.ID())
		x.Of = append(x.Of, Trial{Found: none(), Missed: none(), Collisions: none(), Others: none(), Blind: map[string]int{}})
	}
	return x, nil
}

func none() Listed { return Listed{Traces: []string{}} }

// Take tries them on a run, of which the verdict without them is known.
func (x *Trials) Take(t *trajectory.Trajectory, without classify.Verdict) {
	if x.labelled[t.TraceID] {
		if x.seen[t.TraceID] {
			return
		}
		x.seen[t.TraceID] = true
	}
	r := x.engine.Classify(t, nil)
	for i := range x.Of {
		x.Of[i].take(t.TraceID, x.labelled[t.TraceID], without, r, x.ids[i])
	}
}

func (x *Trial) take(id string, labelled bool, without classify.Verdict, r classify.Report, rule string) {
	x.Traces++
	says := answer(r, rule)
	if says == "blind" {
		i := slices.IndexFunc(r.Inapplicable, func(x classify.Inapplicable) bool { return x.Rule == rule })
		x.Blind[string(r.Inapplicable[i].Missing)]++
	} else {
		x.Judged++
	}
	switch {
	case labelled && says == "match":
		x.Found.add(id)
	case labelled:
		x.Missed.add(id)
	case says != "match":
	case without == classify.Passing:
		x.Collisions.add(id)
	default:
		x.Others.add(id)
	}
}
