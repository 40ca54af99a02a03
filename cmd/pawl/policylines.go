package main

import (
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/config"
)

// policyLines is what pawl.yaml says that agents must and must not do, as the engine reads it.
func policyLines(cfg config.Config) []classify.Policy {
	var out []classify.Policy
	for _, p := range cfg.Policy {
		q := classify.Policy{Agent: string(p.Agent)}
		for _, l := range p.MustPrecede {
			q.MustPrecede = append(q.MustPrecede, classify.MustPrecede{Tool: l.Tool, Before: l.Before, Same: l.Same})
		}
		for _, l := range p.MustNotCall {
			q.MustNotCall = append(q.MustNotCall, classify.MustNotCall{Tool: l.Tool, UnlessUserSaid: l.UnlessUserSaid})
		}
		for _, l := range p.NoToolWhen {
			q.NoToolWhen = append(q.NoToolWhen, classify.NoToolWhen{User: l.User})
		}
		for _, l := range p.Route {
			q.Route = append(q.Route, classify.Routing{User: l.User, Allow: l.Allow, Deny: l.Deny})
		}
		out = append(out, q)
	}
	return out
}

// strangeTools names the tools of the policy that the catalog does not know although it knows one that is nearly called so. Tools that only spans
// offer are known to nobody yet, so this is a note and no error.
func strangeTools(cfg config.Config) []string {
	var known []string
	for _, t := range cfg.Tools {
		known = append(known, catalog.Normalise(t.Name))
	}
	var out []string
	ask := func(key, tool string) {
		name := catalog.Normalise(tool)
		if near, ok := classify.Nearest(name, known); ok && !slices.Contains(known, name) {
			out = append(out, fmt.Sprintf("%s: tools has no %q; did you mean %q?", key, tool, near))
		}
	}
	for i, p := range cfg.Policy {
		for j, l := range p.MustPrecede {
			ask(fmt.Sprintf("policy[%d].must_precede[%d].tool", i, j), l.Tool)
			ask(fmt.Sprintf("policy[%d].must_precede[%d].before", i, j), l.Before)
		}
		for j, l := range p.MustNotCall {
			ask(fmt.Sprintf("policy[%d].must_not_call[%d].tool", i, j), l.Tool)
		}
	}
	return out
}
