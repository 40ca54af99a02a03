package ratchet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	jury "github.com/pawl-dev/pawl/classify/judge"
)

// Spending is what the judge took of a day's budget. Key in the judgements bucket: dayPrefix and the date, in UTC. What a question may cost at most is
// taken out before it is asked; what it did not need is given back. A kill in between gives nothing back: nobody knows what was billed.
type Spending struct {
	jury.Cost
	Questions int `json:"questions"` // requests to the model
}

func dayKey(now time.Time) string { return dayPrefix + now.UTC().Format(time.DateOnly) }

// Spent is what was spent on the day.
func (a *Absorber) Spent(ctx context.Context, now time.Time) (s Spending, err error) {
	err = a.q.Judgements.Update(ctx, dayKey(now), func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, nil
		}
		return nil, json.Unmarshal(old, &s)
	})
	return s, err
}

// purse takes what questions cost out of the day's budget.
func (a *Absorber) purse(now time.Time) jury.Purse {
	key, most := dayKey(now), a.opts.Jury.Budget
	return func(ctx context.Context, cost jury.Cost) (func(context.Context, jury.Cost) error, error) {
		err := a.spend(ctx, key, func(s *Spending) error {
			s.Tokens, s.USD, s.Questions = s.Tokens+cost.Tokens, s.USD+cost.USD, s.Questions+1
			return over(s.Cost, most)
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, real jury.Cost) error {
			return a.spend(ctx, key, func(s *Spending) error {
				s.Tokens, s.USD = max(0, s.Tokens-cost.Tokens+real.Tokens), max(0, s.USD-cost.USD+real.USD)
				return nil
			})
		}, nil
	}
}

// over says which bound a cost does not keep.
func over(c, most jury.Cost) error {
	switch {
	case most.Tokens > 0 && c.Tokens > most.Tokens:
		return &jury.Spent{What: fmt.Sprintf("judge.budget.tokens_per_day is %d", most.Tokens)}
	case most.USD > 0 && c.USD > most.USD:
		return &jury.Spent{What: fmt.Sprintf("judge.budget.usd_per_day is %g", most.USD)}
	}
	return nil
}

func (a *Absorber) spend(ctx context.Context, key string, change func(*Spending) error) error {
	return a.q.Judgements.Update(ctx, key, func(old []byte) ([]byte, error) {
		var s Spending
		if old != nil {
			if err := json.Unmarshal(old, &s); err != nil {
				return nil, err
			}
		}
		if err := change(&s); err != nil {
			return nil, err
		}
		return json.Marshal(s)
	})
}

// expireJudgements lets go, once a day, of what is older than keepJudgements: judgements by their traces, budgets by their date, and with them the votes and
// signatures, which are only there to ask less.
func (a *Absorber) expireJudgements(ctx context.Context, now time.Time) error {
	if recently(now, a.looks.last("judgements"), 24*time.Hour) {
		return nil
	}
	a.looks.note("judgements", now)
	kept := map[string]bool{}
	var loose []string
	for e, err := range a.q.Judgements.All(ctx) {
		if err != nil {
			return fmt.Errorf("expire judgements: %w", err)
		}
		var at struct {
			Seen    time.Time `json:"seen"`
			Since   time.Time `json:"since"`
			Opinion struct {
				Digest string `json:"digest"`
			} `json:"opinion"`
		}
		kind, _, _ := strings.Cut(e.Key, "/")
		_ = json.Unmarshal(e.Value, &at)
		old := false
		switch kind + "/" {
		case tracePrefix:
			if old = now.Sub(at.Seen) > keepJudgements; !old {
				kept[at.Opinion.Digest] = true
			}
		case signaturePrefix:
			old = now.Sub(at.Since) > keepJudgements
		case dayPrefix:
			day, err := time.Parse(time.DateOnly, strings.TrimPrefix(e.Key, dayPrefix))
			old = err == nil && now.Sub(day) > keepJudgements
		case votesPrefix:
			loose = append(loose, e.Key)
		}
		if old {
			if err := a.q.Judgements.Delete(ctx, e.Key); err != nil {
				return err
			}
		}
	}
	for _, key := range loose {
		if !kept[strings.TrimPrefix(key, votesPrefix)] {
			if err := a.q.Judgements.Delete(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}
