package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// catalogOf turns the tools of the configuration into a catalog, reading the files that it names.
func catalogOf(cfg config.Config) (*catalog.Catalog, error) {
	var out []catalog.Tool
	for _, t := range cfg.Tools {
		schema := jsontext.Value(t.Schema)
		if t.SchemaFile != "" {
			b, err := os.ReadFile(t.SchemaFile)
			if err != nil {
				return nil, fmt.Errorf("tool %s: %w", t.Name, err)
			}
			schema = b
		}
		out = append(out, catalog.Tool{Name: t.Name, Schema: schema, Effect: catalog.Effect(t.Effect), Idempotent: t.Idempotent, Execution: executionOf(t.Execution)})
	}
	if cfg.ToolsFile == "" {
		return catalog.New(out)
	}
	pinned, err := readTools(cfg.ToolsFile)
	if err != nil {
		return nil, err
	}
	return catalog.New(under(out, pinned))
}

// under adds the tools of a catalog file to those of pawl.yaml. Of a tool that both have the file says what it is, and pawl.yaml what it does.
func under(own, pinned []catalog.Tool) []catalog.Tool {
	for _, t := range pinned {
		i := slices.IndexFunc(own, func(o catalog.Tool) bool { return o.Name == t.Name })
		if i < 0 {
			own = append(own, t)
			continue
		}
		o := own[i]
		if o.Effect != catalog.EffectUnknown {
			t.Effect = o.Effect
		}
		t.Idempotent = o.Idempotent || t.Idempotent
		if o.Execution != nil {
			t.Execution = o.Execution
		}
		if o.Schema == nil { // else the team's own schema judges calls, and the tool is not the pinned one
			own[i] = t
		}
	}
	return own
}

// executionOf keeps what was declared and leaves out what is unknown.
func executionOf(e config.Execution) map[string]any {
	out := map[string]any{}
	if e.LLM != config.ExecUnknown {
		out["llm"] = string(e.LLM)
	}
	if e.ExternalAPI != config.ExecUnknown {
		out["external_api"] = string(e.ExternalAPI)
	}
	if len(e.Providers) > 0 {
		out["providers"] = e.Providers
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// pricesOf is pawl's own list of prices with those of the configuration before it.
func pricesOf(cfg config.Config) (*price.Table, error) {
	var own []price.Own
	for _, p := range cfg.Prices {
		own = append(own, price.Own{Provider: p.Provider, Model: string(p.Model), Rate: price.Rate{Input: p.Input, Output: p.Output,
			CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, AudioIn: p.AudioIn, AudioOut: p.AudioOut}})
	}
	return price.New(own)
}

// makerOf builds what makes cases.
func (a *app) makerOf(cfg config.Config) (*ratchet.Maker, error) {
	engine, err := a.engineOf(cfg)
	if err != nil {
		return nil, err
	}
	cat, err := catalogOf(cfg)
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	r, err := a.redactorOf(cfg)
	if err != nil {
		return nil, err
	}
	judge, err := a.oracleOf(cfg)
	if err != nil {
		return nil, err
	}
	return &ratchet.Maker{Engine: engine, Oracle: judge, Redactor: r, Catalog: cat}, nil
}

// oracleOf builds what says of runs what cases say. It knows nothing of the configuration but prices.
func (a *app) oracleOf(cfg config.Config) (*oracle.Oracle, error) {
	prices, err := pricesOf(cfg)
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	o := oracle.New(a.log, rule.All())
	o.Prices = prices
	return o, nil
}

func (a *app) redactorOf(cfg config.Config) (*redact.Redactor, error) {
	r, err := redact.New(a.log, redactOptions(cfg))
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	return r, nil
}

func redactOptions(cfg config.Config) redact.Options {
	o := redact.Options{Keep: cfg.Redact.Keep, Canaries: cfg.Redact.Canaries}
	if m := signedBy.FindStringSubmatch(cfg.GHPR.SignOff); m != nil { // it is meant to be seen, in every commit message
		o.Keep = append(slices.Clone(o.Keep), m[1])
	}
	for _, p := range cfg.Redact.Patterns {
		o.Patterns = append(o.Patterns, redact.Pattern{Name: p.Name, Regexp: p.Pattern.String()})
	}
	return o
}

var signedBy = regexp.MustCompile(`<([^<>]+)>\s*$`)
