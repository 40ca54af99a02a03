package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
)

// notRead names what a configuration sets and this version does not act on: a setting that does nothing must not look as if it did.
func notRead(cfg config.Config) []string {
	out := strangeTools(cfg)
	if b := cfg.Judge.Budget; cfg.Judge.Enabled && b.TokensPerDay == 0 && b.USDPerDay == 0 {
		out = append(out, "judge.budget has no bound: a bad day costs as many questions as it has failures that no rule explains")
	}
	labels := map[string]bool{}
	for _, r := range rule.All() {
		labels[string(r.Label)] = true
	}
	for _, r := range cfg.Custom {
		labels[cmp.Or(r.Label, r.Name)] = true
	}
	for _, l := range slices.Sorted(maps.Keys(cfg.Severity)) {
		if !labels[string(l)] {
			out = append(out, fmt.Sprintf("severity.%s: no rule of this version gives that label", l))
		}
	}
	return out
}
