package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
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
		return nil, ownMistakes(a.file(), cfg, problems)
	}
	return byName(append(rules, own...)), nil
}

func byName(rules []classify.Rule) []classify.Rule {
	slices.SortFunc(rules, func(x, y classify.Rule) int { return cmp.Compare(x.Name, y.Name) })
	return rules
}

// ownMistakes tells mistakes in rules of pawl.yaml and of its rules directory, each in its file.
func ownMistakes(file string, cfg config.Config, problems []custom.Problem) error {
	files, err := config.RuleFiles(os.DirFS(filepath.Dir(file)), cfg.RulesDir, filepath.ToSlash(filepath.Dir(file)))
	if err != nil {
		return usageError(err, "")
	}
	in := len(cfg.Custom)
	for _, f := range files {
		in -= len(f.Custom)
	}
	var out config.Problems
	at := func(file string, from, n int) {
		var here []custom.Problem
		for _, p := range problems {
			if p.Rule >= from && p.Rule < from+n {
				p.Rule -= from
				here = append(here, p)
			}
		}
		out = append(out, located(file, cfg.Custom[from:from+n], here)...)
	}
	at(file, 0, in)
	for _, f := range files {
		at(filepath.Join(filepath.Dir(file), filepath.FromSlash(f.Path)), in, len(f.Custom))
		in += len(f.Custom)
	}
	return usageError(out, "pawl rules view, which lists what an expression may use")
}

func mistakes(file string, own []config.Custom, problems []custom.Problem) error {
	return usageError(located(file, own, problems), "pawl rules view, which lists what an expression may use")
}

// rulesAnd returns the rules of the configuration with those that stand under custom: in more files, whose names it returns too. They take the place of rules
// of their names in pawl.yaml.
func (a *app) rulesAnd(cfg config.Config, files []string) (rules []classify.Rule, names []string, err error) {
	if rules, err = a.rulesOf(cfg); err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		more, err := config.LoadAlone(file)
		if err != nil {
			return nil, nil, usageError(err, "a file with rules under custom:, such as pawl.yaml")
		}
		if len(more.Custom) == 0 {
			return nil, nil, usageError(fmt.Errorf("%s has no rules under custom", file), "pawl rules backtest --help")
		}
		builtIn := namesOf(rule.All())
		rules = slices.DeleteFunc(rules, func(r classify.Rule) bool {
			return !slices.Contains(builtIn, r.Name) && slices.ContainsFunc(more.Custom, func(c config.Custom) bool { return c.Name == r.Name })
		})
		own, problems, err := custom.New(definitions(more.Custom), namesOf(rules))
		if err != nil {
			return nil, nil, err
		}
		if len(problems) > 0 {
			return nil, nil, mistakes(file, more.Custom, problems)
		}
		rules, names = append(rules, own...), append(names, namesOf(own)...)
	}
	return byName(rules), names, nil
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
func located(file string, own []config.Custom, problems []custom.Problem) config.Problems {
	var out config.Problems
	for _, p := range problems {
		key := fmt.Sprintf("custom[%d].%s", p.Rule, p.Key)
		message := fmt.Sprintf("`%s` of rule %s: %s", key, shown(own[p.Rule].Name), p.Message)
		out = append(out, config.Locate(file, config.Problem{Key: key, Line: p.Line, Column: p.Column, Message: message, Advice: p.Advice}))
	}
	slices.SortStableFunc(out, func(p, q config.Problem) int {
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	})
	return out
}
