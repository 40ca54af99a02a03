package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// provider is one provider of the public list.
type provider struct {
	ID     string  `json:"id"`
	Models []model `json:"models"`
}

type model struct {
	ID     string    `json:"id"`
	Match  match     `json:"match"`
	Window int       `json:"context_window"`
	Prices schedules `json:"prices"`
}

// match is the list's rule for names; of the forms that it knows those that name something are read.
type match struct {
	Equals     string  `json:"equals"`
	StartsWith string  `json:"starts_with"`
	Contains   string  `json:"contains"`
	EndsWith   string  `json:"ends_with"`
	Regex      string  `json:"regex"`
	Or         []match `json:"or"`
	And        []match `json:"and"`
}

// partialDate is the beginning of a date or number of a release, with which a rule means all of them.
var partialDate = regexp.MustCompile(`-(20\d\d-?|0)$`)

// names are the names that a rule is about. Regular expressions stand beside them for dates, which pawl takes off by itself.
func (m match) names() []string {
	var out []string
	for _, s := range []string{m.StartsWith, m.Contains, m.EndsWith} {
		out = append(out, strings.TrimRight(partialDate.ReplaceAllString(strings.ToLower(s), ""), "-@:"))
	}
	out = append(out, strings.ToLower(m.Equals))
	out = slices.DeleteFunc(out, func(s string) bool { return s == "" || strings.Contains(s, ".ft") })
	for _, alternatives := range [][]match{m.Or, m.And} {
		for _, inner := range alternatives {
			out = append(out, inner.names()...)
		}
	}
	return out
}

// schedules are the prices of a model, one after the other in time.
type schedules []schedule

type schedule struct {
	From   string // date; "" for ever before
	Hourly bool   // they depend on the time of day
	Prices map[string]tiered
}

// tiered is a price with what it becomes above a size of the input.
type tiered struct {
	Base  float64
	Tiers []struct {
		Start int64   `json:"start"`
		Price float64 `json:"price"`
	}
}

// UnmarshalJSON reads a plain number or {base, tiers}.
func (t *tiered) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &t.Base) == nil {
		return nil
	}
	type plain tiered
	return json.Unmarshal(b, (*plain)(t))
}

// UnmarshalJSON reads one set of prices, or a list of them with constraints.
func (s *schedules) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		one := schedule{}
		*s = schedules{one}
		return json.Unmarshal(b, &(*s)[0].Prices)
	}
	var list []struct {
		Constraint *struct {
			StartDate string `json:"start_date"`
			StartTime string `json:"start_time"`
		} `json:"constraint"`
		Prices map[string]tiered `json:"prices"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	for _, e := range list {
		one := schedule{Prices: e.Prices}
		if e.Constraint != nil {
			one.From, one.Hourly = e.Constraint.StartDate, e.Constraint.StartDate == ""
		}
		*s = append(*s, one)
	}
	return nil
}
