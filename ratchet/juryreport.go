package ratchet

import (
	"context"
	"time"

	jury "github.com/pawl-dev/pawl/classify/judge"
)

// JuryReport is where the judge stands.
type JuryReport struct {
	Judge      string         `json:"judge"` // its id
	Model      string         `json:"model"`
	Rubric     string         `json:"rubric"` // digest
	Budget     jury.Cost      `json:"budget"` // of a day; 0: no bound
	Spent      Spending       `json:"spent"`  // today, in UTC
	Agreement  Agreement      `json:"agreement"`
	Calibrated bool           `json:"calibrated"`
	Why        string         `json:"why"`
	Counts     map[string]int `json:"counts"` // of what was asked: by outcome, and waiting
	Judgements []Asked        `json:"judgements"`
}

// Asked is one judgement as people see it.
type Asked struct {
	TraceID   string         `json:"trace_id"`
	Service   string         `json:"service"`
	Seen      time.Time      `json:"seen"`
	State     JudgementState `json:"state"`
	Waits     string         `json:"waits"`
	NotBefore time.Time      `json:"not_before"`
	Opinion   jury.Opinion   `json:"opinion"`
}

// maxAsked bounds the judgements of a report: the latest.
const maxAsked = 200

// JuryReport says where the judge stands; ok is false where there is none.
func (a *Absorber) JuryReport(ctx context.Context, now time.Time) (r JuryReport, ok bool, err error) {
	o := a.opts.Jury
	if o == nil {
		return r, false, nil
	}
	if err := a.agree(ctx); err != nil {
		return r, true, err
	}
	js, err := a.Judgements(ctx)
	if err != nil {
		return r, true, err
	}
	r = JuryReport{Judge: o.ID, Model: o.Model, Rubric: o.Rubric, Budget: o.Budget, Agreement: a.Agreement()[o.ID], Counts: map[string]int{}, Judgements: []Asked{}}
	r.Calibrated, r.Why = r.Agreement.Calibrated()
	if r.Spent, err = a.Spent(ctx, now); err != nil {
		return r, true, err
	}
	for i := range js {
		j := &js[i]
		if j.State == JudgementWaiting {
			r.Counts[string(j.State)]++
		} else {
			r.Counts[string(j.Opinion.Outcome)]++
		}
		if len(r.Judgements) < maxAsked {
			if j.Opinion.Votes == nil {
				j.Opinion.Votes = []jury.Vote{}
			}
			r.Judgements = append(r.Judgements, Asked{j.TraceID, j.Service, j.Seen, j.State, j.Waits, j.NotBefore, j.Opinion})
		}
	}
	return r, true, nil
}
