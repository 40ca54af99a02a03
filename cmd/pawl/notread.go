package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
)

// leastToken is how many characters a token has that nobody guesses: unlike logins, requests that show one are not counted.
const leastToken = 16

// tooOpen names what a configuration leaves without the bound or the lock that it needs.
func tooOpen(cfg config.Config) (out []string) {
	if b := cfg.Judge.Budget; cfg.Judge.Enabled && b.TokensPerDay == 0 && b.USDPerDay == 0 {
		out = append(out, "judge.budget has no bound: a bad day costs as many questions as it has failures that no rule explains")
	}
	for i, t := range cfg.Auth.Tokens {
		if n := len(t.Token.Reveal()); n > 0 && n < leastToken {
			out = append(out, fmt.Sprintf("auth.tokens[%d] has %d characters, that of %s, and can be guessed: openssl rand -hex 24 makes one", i, n, t.Name))
		}
	}
	return out
}

// notRead names what a configuration sets and this version does not act on: a setting that does nothing must not look as if it did.
func notRead(cfg config.Config) []string {
	out := strangeTools(cfg)
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
