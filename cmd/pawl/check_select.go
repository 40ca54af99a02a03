package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/gate"
)

// selected is the line of check --json that says which part of the set is run.
type selected struct {
	Kind     string   `json:"kind"`
	Since    string   `json:"since"`
	Whole    bool     `json:"whole"`
	Why      string   `json:"why"`
	Cases    int      `json:"cases"`
	Of       int      `json:"of"`
	Left     []string `json:"left"` // what no case that is run touches, for want of money
	Warnings []string `json:"warnings"`
}

// maxModelFile bounds what is read of a file that may name models, in bytes.
const maxModelFile = 256 << 10

// choose cuts the cases down to those that a change calls for, and says so.
func (c *checking) choose(ctx context.Context, cfg config.Config) error {
	files, err := gate.ChangedFiles(ctx, ".", c.since)
	if err != nil {
		return usageError(err, "a branch, tag or commit that this clone has, or none of --changed-since, which runs the whole set")
	}
	watch := gate.Watch{Prompts: globs(cfg.Watch.Prompts), Tools: globs(cfg.Watch.Tools), Models: globs(cfg.Watch.Models)}
	change := watch.Sort(files, c.set)
	s := &selected{Kind: "selection", Since: c.since, Of: len(c.cases), Why: change.Decides(), Left: []string{}, Warnings: []string{}}
	if mixed := change.Mixed(); mixed != "" {
		s.Warnings = append(s.Warnings, mixed)
	}
	s.Warnings = append(s.Warnings, c.floating(ctx, watch)...)
	switch {
	case watch.Empty():
		s.Whole, s.Why = true, "pawl.yaml does not say which files are prompts, tools and models (watch)"
	case s.Why != "":
		s.Whole = true
	default:
		var plan gate.Plan
		if err := c.remember(&plan); err != nil {
			return err
		}
		part := gate.Covering(c.cases, change.Cases, c.n, plan.Known, c.maxUSD)
		s.Why = "no prompt, tool or model changed: these cases touch every label and tool"
		if s.Left = append(s.Left, part.Left...); len(s.Left) > 0 {
			s.Why = "no prompt, tool or model changed: as many cases as the money is for (--max-usd)"
		}
		c.cases = part.Cases
	}
	s.Cases, c.selected = len(c.cases), s
	return c.tellSelection()
}

// tellSelection says at once what is run and what to beware of.
func (c *checking) tellSelection() error {
	s := c.selected
	if c.json {
		if err := c.printJSON(s); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%d of %s since %s: %s", s.Cases, plural(s.Of, "case"), s.Since, s.Why)
	if len(s.Left) > 0 {
		line += "; not touched: " + strings.Join(s.Left, ", ")
	}
	fmt.Fprintln(c.stderr, shown(line)+".")
	for _, w := range s.Warnings {
		fmt.Fprintf(c.stderr, "pawl: warning: %s\n", shown(w))
	}
	if c.github {
		out := c.stdout
		if c.json {
			out = c.stderr
		}
		for _, w := range s.Warnings {
			fmt.Fprintln(out, gate.Warning(w))
		}
	}
	if s.Cases == 0 {
		return &exitError{exitUndecided, fmt.Errorf("no case can be paid for with --max-usd: nothing was executed"), "more money"}
	}
	return nil
}

// floating warns of models in the watched files that their provider may point elsewhere.
func (c *checking) floating(ctx context.Context, watch gate.Watch) (out []string) {
	all, err := gate.Files(ctx, ".")
	if err != nil {
		return nil
	}
	for _, name := range watch.ModelFiles(all) {
		f, err := os.Open(name)
		if err != nil {
			continue // deleted in the work tree
		}
		text, err := io.ReadAll(io.LimitReader(f, maxModelFile))
		f.Close()
		if err != nil {
			continue
		}
		for _, model := range gate.Floating(string(text)) {
			out = append(out, fmt.Sprintf("%s names %s, which its provider may point at another version at any time: write the version (a name with a date), or drift will look like your change", name, model))
		}
	}
	return out
}

func globs(in []config.Glob) []string {
	out := make([]string, 0, len(in))
	for _, g := range in {
		out = append(out, string(g))
	}
	return out
}
