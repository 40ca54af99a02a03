package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// engine is one frozen rule, ready to judge. err says why it cannot.
type engine struct {
	*classify.Engine
	rule  classify.Rule
	least classify.Severity // what fails a run
	note  string            // what is to be known of how it judges
	err   error
}

// maxEngines bounds the cache: a set of many cases has few different rules, but a daemon lives long.
const maxEngines = 256

// engineOf builds the engine of a frozen never, once for equal ones.
func (o *Oracle) engineOf(n regcase.Never, tools []regcase.Tool) *engine {
	key := digestOf(n, tools)
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, ok := o.engines[key]; ok {
		return e
	}
	if len(o.engines) >= maxEngines {
		clear(o.engines)
	}
	e := o.build(n, tools)
	o.engines[key] = e
	return e
}

func digestOf(n regcase.Never, tools []regcase.Tool) string {
	b, err := json.Marshal(struct {
		Never regcase.Never
		Tools []regcase.Tool
	}{n, tools}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Sprintf("%+v %+v", n, tools) // cannot happen for what came from a file
	}
	return regcase.SHA256(b)
}

func (o *Oracle) build(n regcase.Never, tools []regcase.Tool) *engine {
	rule, note, err := o.ruleOf(n)
	if err != nil {
		return &engine{err: err}
	}
	e := &engine{rule: rule, note: note, least: classify.Warning}
	opts := classify.Options{Severity: map[classify.Label]classify.Severity{}}
	switch s := classify.Severity(n.Severity); s {
	case "", classify.Info:
	case classify.Warning, classify.Blocking:
		e.least, opts.Severity[rule.Label] = s, s
	default:
		return &engine{err: fmt.Errorf("severity %q of %s is none of warning, blocking", n.Severity, n.Rule)}
	}
	if opts.Params, err = paramsOf(n, rule.Name); err != nil {
		return &engine{err: err}
	}
	if opts.Policy, err = policyOf(n); err != nil {
		return &engine{err: err}
	}
	if opts.Catalog, err = catalogOf(tools); err != nil {
		return &engine{err: err}
	}
	if e.Engine, err = classify.New(o.lg, []classify.Rule{rule}, opts); err != nil {
		return &engine{err: fmt.Errorf("%s cannot be judged with its frozen parameters: %w", n.Rule, err)}
	}
	return e
}

// ruleOf finds the installed rule of a never, or makes a team's own from what was frozen of it.
func (o *Oracle) ruleOf(n regcase.Never) (classify.Rule, string, error) {
	name, version, ok := strings.Cut(n.Rule, "@")
	v, err := strconv.Atoi(version)
	if !ok || err != nil || v < 1 {
		return classify.Rule{}, "", fmt.Errorf("%q is not a rule with its version, such as loop@3", n.Rule)
	}
	i := slices.IndexFunc(o.rules, func(r classify.Rule) bool { return r.Name == name })
	if i < 0 {
		r, err := customRule(n, name, v)
		return r, "", err
	}
	r := o.rules[i]
	if string(r.Label) != n.Label {
		return r, "", fmt.Errorf("rule %s finds %s, and the case says %s: it was edited, or made by another pawl", n.Rule, r.Label, n.Label)
	}
	note := ""
	if r.Version != v {
		note = fmt.Sprintf("the case froze %s and this pawl has %s: judged by that one with the frozen parameters", n.Rule, r.ID())
	}
	return r, note, nil
}

// customRule makes a team's own rule again. Its sentence is not frozen, since it decides nothing.
func customRule(n regcase.Never, name string, version int) (classify.Rule, error) {
	var p custom.Params
	if len(n.Params) == 0 || json.Unmarshal(n.Params, &p, json.RejectUnknownMembers(true)) != nil || p.When == "" {
		return classify.Rule{}, fmt.Errorf("this pawl has no rule %s: run the version that made the case, or retire the case with a reason", n.Rule)
	}
	severity := classify.Severity(n.Severity)
	if !severity.Valid() {
		severity = classify.Blocking
	}
	rules, problems, err := custom.New([]custom.Definition{{
		Name: name, Version: version, Label: classify.Label(n.Label), Severity: severity, Session: p.Session, When: p.When, Evidence: p.Evidence,
		Why: "the team's rule " + name + " holds on {count} places",
	}}, nil)
	switch {
	case err != nil:
		return classify.Rule{}, fmt.Errorf("rule %s: %w", n.Rule, err)
	case len(problems) > 0:
		return classify.Rule{}, fmt.Errorf("rule %s: its frozen %s is not one that this pawl understands: %s", n.Rule, problems[0].Key, problems[0].Message)
	}
	return rules[0], nil
}

// paramsOf reads the frozen parameters. The digest of a baseline, which some rules add to them, is no parameter.
func paramsOf(n regcase.Never, rule string) (map[string]map[string]any, error) {
	if len(n.Params) == 0 {
		return nil, nil
	}
	var p map[string]any
	if err := json.Unmarshal(n.Params, &p); err != nil {
		return nil, fmt.Errorf("parameters of %s: %w", n.Rule, err)
	}
	delete(p, "baseline")
	return map[string]map[string]any{rule: p}, nil
}

func policyOf(n regcase.Never) ([]classify.Policy, error) {
	if len(n.Policy) == 0 {
		return nil, nil
	}
	var list []classify.Policy
	lines := jsontext.Value(n.Policy)
	if lines.Kind() != '[' {
		lines = slices.Concat(jsontext.Value("["), lines, jsontext.Value("]"))
	}
	if err := json.Unmarshal(lines, &list, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("policy of %s: %w", n.Rule, err)
	}
	return list, nil
}

// catalogOf is what the team's catalog said when the case was made. A tool of which the case knows no more than its name came from spans, which
// tell of it again.
func catalogOf(tools []regcase.Tool) (*catalog.Catalog, error) {
	var out []catalog.Tool
	for _, t := range tools {
		effect := catalog.Effect(t.Effect)
		if t.Schema == nil && t.Execution == nil && !t.Idempotent && (effect == "" || effect == catalog.EffectUnknown) {
			continue
		}
		known := catalog.Tool{Name: t.Name, Schema: jsontext.Value(t.Schema), Effect: effect, Idempotent: t.Idempotent}
		if t.Execution != nil {
			if err := json.Unmarshal(t.Execution, &known.Execution); err != nil {
				return nil, fmt.Errorf("execution of tool %s: %w", t.Name, err)
			}
		}
		out = append(out, known)
	}
	return catalog.New(out)
}
