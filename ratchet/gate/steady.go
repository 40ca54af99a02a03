package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Steadiness is how much an agent differed from itself when that was last measured, over all its cases.
type Steadiness struct {
	Agent   string    `json:"agent"` // "" where its cases name none
	Cases   int       `json:"cases"` // that were measured
	Runs    int       `json:"runs"`  // that could be judged
	Differs float64   `json:"differs"`
	Limit   float64   `json:"limit"`
	Steady  bool      `json:"steady"` // no more than the limit differ
	Commit  string    `json:"commit"` // of the last measurement, "" when unknown
	At      time.Time `json:"at"`
}

// SteadinessOf sums the measures up, an agent each, by name. Those of cases that has does not know are left out. limit is the share that may differ.
func SteadinessOf(measures []regcase.Measure, has func(id string) bool, limit func(agent string) float64) []Steadiness {
	by := map[string]*Steadiness{}
	out := []Steadiness{}
	for _, m := range measures {
		if !has(m.Case) {
			continue
		}
		s := by[m.Agent]
		if s == nil {
			s = &Steadiness{Agent: m.Agent, Limit: limit(m.Agent)}
			by[m.Agent] = s
		}
		s.Cases, s.Runs = s.Cases+1, s.Runs+m.Runs
		s.Differs += m.Differs * float64(m.Runs) // made a share below
		if !m.At.Before(s.At) {
			s.At, s.Commit = m.At, m.Commit
		}
	}
	for _, s := range by {
		s.Differs /= float64(s.Runs)
		s.Steady = s.Differs <= s.Limit+slack
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Steadiness) int { return strings.Compare(a.Agent, b.Agent) })
	return out
}

// Unsteady finds an agent that differs by more than its limit; ok is false where it is steady or was never measured.
func Unsteady(all []Steadiness, agent string) (s Steadiness, ok bool) {
	i := slices.IndexFunc(all, func(s Steadiness) bool { return s.Agent == agent })
	if i < 0 || all[i].Steady {
		return s, false
	}
	return all[i], true
}

// Sentence says what was measured.
func (s Steadiness) Sentence() string {
	name := s.Agent
	if name == "" {
		name = "the agent"
	}
	at := s.At.UTC().Format(time.DateOnly)
	if s.Commit != "" {
		at += fmt.Sprintf(" at %.12s", s.Commit)
	}
	return fmt.Sprintf("%s differed from itself in %.1f %% of %d runs, and may in %.4g %% (pawl variance, %s)", name, 100*s.Differs, s.Runs, 100*s.Limit, at)
}

// MeasureOf is what is kept of a measurement; ok is false where no run could be judged.
func MeasureOf(v Variance, s Stamp, at time.Time) (m regcase.Measure, ok bool) {
	m = regcase.Measure{Case: v.Case, Agent: v.Agent, At: at.UTC().Truncate(time.Second), Runs: v.Runs - v.Invalid, Differs: v.Differs()}
	if !s.Dirty {
		m.Commit = s.Commit
	}
	return m, m.Runs > 0
}
