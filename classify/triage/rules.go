package triage

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// Rule is a rule of the engine, as far as lists tell it.
type Rule struct {
	ID    string // name@version
	Label classify.Label
	Form  classify.Form
	Doc   string // what it finds, in a sentence
}

// precision is how often a rule was right.
type precision struct {
	Judged int     `json:"judged"`
	Right  int     `json:"right"`
	Low    float64 `json:"low"`  // the 95 % interval of the share that is right
	High   float64 `json:"high"` // 0 and 1 where nothing was judged
	Set    string  `json:"set"`  // what it was judged on
	Date   string  `json:"date"`
}

func precisionOf(p ratchet.Precision) precision {
	low, high := p.Interval()
	return precision{p.Judged, p.Right, low, high, p.Set, p.Date}
}

// blindSpot is a fact that a service does not send and the rule needs.
type blindSpot struct {
	Service string          `json:"service"`
	Missing trajectory.Fact `json:"missing"`
	Remedy  string          `json:"remedy"`
	Traces  int             `json:"traces"` // that the rule could not judge
	Of      int             `json:"of"`     // traces of the service
}

// shownRule is a version of a rule: how good it is, what it found, where it is blind.
type shownRule struct {
	Kind     string         `json:"kind"` // always "rule"
	Rule     string         `json:"rule"` // name@version
	Label    classify.Label `json:"label"`
	Form     classify.Form  `json:"form"`
	Doc      string         `json:"doc"`
	Current  bool           `json:"current"`  // the engine has it: groups may be of older versions
	Measured precision      `json:"measured"` // on sets of others
	Own      precision      `json:"own"`      // by what was decided here
	May      bool           `json:"may_open"` // it may open pull requests by itself
	Why      string         `json:"why"`      // or why not
	Groups   int            `json:"groups"`
	Count    int            `json:"count"` // sightings
	Days     []ratchet.Day  `json:"days"`  // sightings by day
	Blind    []blindSpot    `json:"blind"`
}

// rules answers GET /v1/rules.
func (h *handler) rules(w http.ResponseWriter, r *http.Request) {
	out, err := h.ruleList(r)
	h.answer(w, out, err)
}

// ruleList are the rules of the engine, and older versions that groups are of, by name.
func (h *handler) ruleList(r *http.Request) ([]shownRule, error) {
	gs, err := h.src.Groups(r.Context())
	if err != nil {
		return nil, err
	}
	services, err := h.src.Services(r.Context())
	if err != nil {
		return nil, err
	}
	bs, err := h.src.Batches(r.Context())
	if err != nil {
		return nil, err
	}
	byKey := map[string]*ratchet.Batch{}
	for i := range bs {
		byKey[bs[i].Key()] = &bs[i]
	}
	return rulesOf(h.engineRules(), gs, services, h.trust(gs, byKey)), nil
}

func (h *handler) engineRules() []Rule {
	if h.src.Rules == nil {
		return nil
	}
	return h.src.Rules()
}

func (h *handler) trust(gs []ratchet.Group, bs map[string]*ratchet.Batch) func(string) ratchet.Trust {
	if h.src.Trust == nil {
		return func(string) ratchet.Trust { return ratchet.Trust{} }
	}
	return h.src.Trust(gs, bs)
}

func rulesOf(rules []Rule, gs []ratchet.Group, services []ratchet.Service, trust func(string) ratchet.Trust) []shownRule {
	at := map[string]*shownRule{}
	for _, r := range rules {
		at[r.ID] = &shownRule{Rule: r.ID, Label: r.Label, Form: r.Form, Doc: r.Doc, Current: true}
	}
	for i := range gs {
		g := &gs[i]
		if g.Rule == "" || g.Count == 0 || g.Merged != nil || g.Fingerprint.Label == classify.NoLabel || g.Source == classify.SourceHuman {
			continue
		}
		if at[g.Rule] == nil {
			at[g.Rule] = &shownRule{Rule: g.Rule, Label: g.Fingerprint.Label, Form: g.Form}
		}
		r := at[g.Rule]
		r.Groups++
		r.Count += g.Count
		r.Days = addDays(r.Days, g.Days)
	}
	out := make([]shownRule, 0, len(at))
	for _, r := range at {
		t := trust(r.Rule)
		r.Kind, r.Measured, r.Own, r.May, r.Why = "rule", precisionOf(t.Measured), precisionOf(t.Own), t.May, t.Why
		r.Days, r.Blind = append([]ratchet.Day{}, r.Days...), blindSpots(r.Rule, services)
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b shownRule) int { return strings.Compare(a.Rule, b.Rule) })
	return out
}

// blindSpots are those of a rule, the service with most first.
func blindSpots(rule string, services []ratchet.Service) []blindSpot {
	name, _, _ := strings.Cut(rule, "@")
	out := []blindSpot{}
	for i := range services {
		s := &services[i]
		n := max(s.Unjudged[rule], s.Unjudged[name])
		for _, b := range s.Blind {
			if slices.Contains(b.Rules, rule) || slices.Contains(b.Rules, name) {
				out = append(out, blindSpot{s.Name, b.Missing, b.Remedy, cmp.Or(n, b.Count), s.Examined})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b blindSpot) int { return cmp.Compare(b.Traces, a.Traces) })
	return out
}

// addDays adds up two lists of days, each sorted.
func addDays(a, b []ratchet.Day) []ratchet.Day {
	out := make([]ratchet.Day, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Day < b[0].Day:
			out, a = append(out, a[0]), a[1:]
		case a[0].Day > b[0].Day:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, ratchet.Day{Day: a[0].Day, N: a[0].N + b[0].N}), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
