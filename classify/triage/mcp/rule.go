package mcp

import (
	"context"
	"errors"
)

// ExplainRule are the arguments of explain_rule.
type ExplainRule struct {
	Rule string `json:"rule" jsonschema:"name of a rule, or a label, such as loop"`
}

// Explained is a rule, with what the service measured of it.
type Explained struct {
	Rule
	Measured any    `json:"measured" jsonschema:"what the running service knows of it: decisions, hits, rights; null where it does not tell"`
	Cut      []Cut  `json:"cut" jsonschema:"values of measured and params that are shown in part"`
	Note     string `json:"note"`
}

// explainer joins the rules that this program has with what the service measured.
type explainer struct {
	reader
	explain func(context.Context, string) (Rule, error)
}

func (e explainer) explainRule(ctx context.Context, in ExplainRule) (Explained, error) {
	x, err := e.explain(ctx, in.Rule)
	if err != nil {
		return Explained{}, err
	}
	out := Explained{Rule: x.shown(), Cut: []Cut{}}
	var rules []map[string]any
	_, err = e.api.get(ctx, "/v1/rules", nil, &rules)
	if _, none := errors.AsType[*absent](err); none {
		out.Note = "the service does not tell what it measured of its rules"
		return out, nil
	}
	if err != nil {
		return out, err
	}
	for _, r := range rules {
		if r["rule"] == x.ID || r["name"] != nil && r["name"] == nameOf(x.ID) {
			out.Measured, out.Cut = clip(r, 16<<10)
			return out, nil
		}
	}
	out.Note = "the service has no rule " + name(x.ID) + ": its pawl or its pawl.yaml is another one"
	return out, nil
}

func nameOf(rule string) string {
	for i, r := range rule {
		if r == '@' {
			return rule[:i]
		}
	}
	return rule
}

// shown is the rule, bounded: a team's own texts may be of any length.
func (r Rule) shown() Rule {
	for _, text := range []*string{&r.Title, &r.Why, &r.Fix, &r.Example, &r.Right} {
		*text = cutRunes(clean(*text), 3000)
	}
	r.Silent, r.Needs = r.Silent[:min(len(r.Silent), 30)], names(r.Needs, 30)
	for i := range r.Silent {
		r.Silent[i] = cutRunes(clean(r.Silent[i]), 300)
	}
	params, _ := clip(map[string]any(r.Params), 4<<10)
	r.Params, _ = params.(map[string]any)
	return r
}
