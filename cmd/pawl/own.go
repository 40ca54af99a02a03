package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// rulesOf returns pawl's rules and the team's own, by name. The error, if any, is the mistakes of the team's, each with its place.
func (a *app) rulesOf(cfg config.Config) ([]classify.Rule, error) {
	rules := rule.All()
	own, problems, err := custom.New(definitions(cfg.Custom), namesOf(rules))
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, usageError(a.located(cfg, problems), "pawl rules view, which lists what an expression may use")
	}
	rules = append(rules, own...)
	slices.SortFunc(rules, func(x, y classify.Rule) int { return cmp.Compare(x.Name, y.Name) })
	return rules, nil
}

func namesOf(rules []classify.Rule) (names []string) {
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return names
}

func definitions(own []config.Custom) (defs []custom.Definition) {
	for _, c := range own {
		d := custom.Definition{Name: c.Name, Version: c.Version, Label: classify.Label(c.Label), Severity: classify.Severity(c.Severity), Form: classify.Form(c.Form),
			When: c.When, Evidence: c.Evidence, Why: c.Why, Fix: c.Fix, Session: c.Session}
		for _, f := range c.Needs {
			d.Needs = append(d.Needs, trajectory.Fact(f))
		}
		defs = append(defs, d)
	}
	return defs
}

// located gives each mistake its place in the file.
func (a *app) located(cfg config.Config, problems []custom.Problem) config.Problems {
	var out config.Problems
	for _, p := range problems {
		key := fmt.Sprintf("custom[%d].%s", p.Rule, p.Key)
		message := fmt.Sprintf("`%s` of rule %s: %s", key, shown(cfg.Custom[p.Rule].Name), p.Message)
		out = append(out, config.Locate(a.file(), config.Problem{Key: key, Line: p.Line, Column: p.Column, Message: message, Advice: p.Advice}))
	}
	slices.SortStableFunc(out, func(p, q config.Problem) int {
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	})
	return out
}
