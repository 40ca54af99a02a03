package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/config"
)

var (
	fingerprintID = regexp.MustCompile(`^[a-z][a-z0-9_]*-[0-9a-f]{10}$`)
	traceID       = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

func rulesExplain(a *app) *cobra.Command {
	var in []string
	var server string
	cmd := &cobra.Command{
		Use:   "explain LABEL|RULE|FINGERPRINT|TRACE [FINGERPRINT|TRACE]",
		Short: "say what a rule finds and how, and why two findings are one failure or two",
		Long: "Of a label or rule: why it is a failure, how it is decided, what it needs, an example, and what to change. Of a fingerprint, with the traces\n" +
			"in which it was found (--in): the parts that make it. Of two fingerprints or traces: in which parts they differ. Findings are one failure if and\n" +
			"only if all parts are equal, or a person said so: arguments, messages, ids, numbers in names and times are not among the parts. Without --in the\n" +
			"running service is asked about its groups, at --server or at listen.http of pawl.yaml; it alone knows what people merged.\n\n" +
			"Exit code 0: explained, and of two: they are one failure; 1: they are two.",
		Example: "  pawl rules explain loop\n  pawl rules explain loop-3f9a1c02d4 --in traces.jsonl\n" +
			"  pawl rules explain loop-3f9a1c02d4 loop-08985f5344 --server http://127.0.0.1:7295",
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.Flags().StringArrayVar(&in, "in", nil, "recorded traces, a `FILE` or directory, in which the fingerprints or traces are found; repeatable")
	cmd.Flags().StringVar(&server, "server", "", "ask the service at this `URL` (default listen.http, unless --in is given)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		if len(args) == 1 && !fingerprintID.MatchString(args[0]) && !traceID.MatchString(args[0]) {
			return a.explainRule(cfg, args[0])
		}
		return a.explainFindings(cmd.Context(), cfg, args, in, server)
	}
	return cmd
}

// explained is a rule in full, as --json prints it.
type explained struct {
	ruleLine
	Why     string   `json:"why"`
	Fix     string   `json:"fix"`
	Example string   `json:"example"`
	Repairs []string `json:"repairs"`
}

func (a *app) explainRule(cfg config.Config, word string) error {
	x, err := a.explained(cfg, word)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(x)
	}
	_, err = fmt.Fprint(a.stdout, x.text(a.width()))
	return err
}

// explained is the rule, or the first one of the label, that a word names.
func (a *app) explained(cfg config.Config, word string) (explained, error) {
	lines, rules, err := a.ruleLines(cfg)
	if err != nil {
		return explained{}, err
	}
	r, err := ruleNamed(rules, word)
	if err != nil {
		return explained{}, err
	}
	x := explained{ruleLine: lines[slices.IndexFunc(lines, func(l ruleLine) bool { return l.Name == r.Name })], Why: r.Doc.Why, Fix: r.Doc.Fix, Example: r.Doc.Example, Repairs: []string{}}
	for _, rep := range r.Repairs {
		x.Repairs = append(x.Repairs, rep.Does)
	}
	return x, nil
}

func (x explained) text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", x.Rule, x.Title)
	section := func(name, text string) {
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(&b, "\n%s\n%s", name, indent(text, "  ", width))
		}
	}
	section("Why, and how it is decided", x.Why)
	section("What to change", x.Fix)
	section("Example", x.Example)
	section("It is silent once", strings.Join(x.Repairs, "; or "))
	section("It says nothing without", cmp.Or(strings.ReplaceAll(join(x.Needs), " ", ", "), "no fact is needed in every case; what it lacks on a trace it says there"))
	var params []string
	if !x.Own {
		for _, k := range slices.Sorted(maps.Keys(x.Params)) {
			params = append(params, fmt.Sprintf("%s: %v", k, x.Params[k]))
		}
	}
	section("Parameters, under rules: "+x.Name+" in pawl.yaml", strings.Join(params, "\n"))
	set := ""
	if p := x.Precision; p != nil {
		set = fmt.Sprintf(", on %s, %s", p.Set, p.Date)
	}
	fmt.Fprintf(&b, "\nLabel %s, severity %s, cases of form %s; right: %s%s.\n", x.Label, x.Severity, x.Form, right(x.Precision), set)
	return b.String()
}

// instance is one failure as it was found, with the traces that have it.
type instance struct {
	finding classify.Finding
	traces  []string
	merge   *merged // of an alias that the service knows; nil of others
}

// explainFindings explains one or two fingerprints or traces that are found in recorded traces, or that the service knows.
func (a *app) explainFindings(ctx context.Context, cfg config.Config, words, in []string, server string) error {
	for _, w := range words {
		if !fingerprintID.MatchString(w) && !traceID.MatchString(w) {
			return usageError(fmt.Errorf("%q is neither a fingerprint such as loop-3f9a1c02d4 nor a trace's id", w), "pawl classify, which prints both")
		}
	}
	look, err := a.lookIn(ctx, cfg, in, server)
	if err != nil {
		return err
	}
	var found []instance
	for _, w := range words {
		x, err := look(w)
		if err != nil {
			return err
		}
		found = append(found, x)
	}
	if len(found) == 1 {
		return a.printInstance(found[0])
	}
	return a.printComparison(found[0], found[1], server != "" || len(in) == 0)
}

// lookIn says how instances are found: in recorded traces, with what a service knows of them where one is named, or by a service alone.
func (a *app) lookIn(ctx context.Context, cfg config.Config, in []string, server string) (func(string) (instance, error), error) {
	if len(in) == 0 {
		return a.lookUp(ctx, server)
	}
	engine, err := a.engineOf(cfg)
	if err != nil {
		return nil, err
	}
	all, err := a.judgePaths(ctx, engine, in, "")
	if err != nil {
		return nil, err
	}
	var r *running
	if server != "" {
		if r, err = a.service(server); err != nil {
			return nil, err
		}
	}
	return func(word string) (instance, error) {
		x, err := find(all, word)
		if err == nil && r != nil {
			x.merge, err = r.merged(ctx, x.finding.Fingerprint.ID())
		}
		return x, err
	}, nil
}

// find looks for a fingerprint, or for the primary finding of a trace.
func find(all []judged, word string) (instance, error) {
	var x instance
	for _, j := range all {
		for _, f := range j.report.Findings {
			primary := j.trace.ID == word && f.Because == nil && j.report.Primary != nil && *j.report.Primary == f.Label
			if f.Fingerprint.ID() == word || primary && x.finding.Label == "" {
				if x.finding.Label == "" {
					x.finding = f
				}
			}
		}
	}
	if x.finding.Label == "" {
		return x, fmt.Errorf("no finding of these traces is, or stands on, %s", word)
	}
	for _, j := range all {
		if slices.ContainsFunc(j.report.Findings, func(f classify.Finding) bool { return f.Fingerprint.Equal(x.finding.Fingerprint) }) {
			x.traces = append(x.traces, j.trace.ID)
		}
	}
	return x, nil
}

func (a *app) printInstance(x instance) error {
	fp := x.finding.Fingerprint
	if a.json {
		return a.printJSON(map[string]any{"fingerprint": fp, "rule": x.finding.Rule, "why": x.finding.Why, "traces": x.traces, "merged": x.merge})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %sin %s: %s\n\nFindings are this failure if all of these are equal:\n", fp.ID(), by(x.finding.Rule), plural(len(x.traces), "trace"), shown(x.finding.Why))
	writeParts(&b, fp)
	if x.merge != nil {
		fmt.Fprintf(&b, "It is one with %s: %s.\n", x.merge.Into, x.merge)
	}
	if len(fp.Aliases) > 0 {
		fmt.Fprintf(&b, "These are its aliases, by digest: %s.\n", strings.Join(fp.Aliases, ", "))
	}
	fmt.Fprintf(&b, "\nTraces: %s\nThe rule: pawl rules explain %s\n", few(slices.Clone(x.traces)), x.finding.Label)
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

func by(rule string) string {
	if rule == "" { // groups do not tell which version it was
		return ""
	}
	return "by " + rule + ", "
}

func writeParts(b *strings.Builder, fp classify.Fingerprint) {
	fmt.Fprintf(b, "  %-10s %d\n  %-10s %s\n  %-10s %s\n  %-10s %s\n", "version", fp.Version, "label", fp.Label, "service", cmp.Or(fp.Service, "(none)"), "agent", cmp.Or(fp.Agent, "(none)"))
	for _, p := range fp.Parts {
		fmt.Fprintf(b, "  %-10s %s\n", p.Key, p.Value)
	}
}

// compared is what there is to say of two instances, as --json prints it.
type compared struct {
	One         bool                  `json:"one"`
	A           classify.Fingerprint  `json:"a"`
	B           classify.Fingerprint  `json:"b"`
	Differences []classify.Difference `json:"differences"`
	Merges      []*merged             `json:"merges"` // that make them one
	Asked       bool                  `json:"asked"`  // the service was asked: without it no merge is known
}

func (a *app) printComparison(x, y instance, asked bool) error {
	c := compared{A: x.finding.Fingerprint, B: y.finding.Fingerprint, Differences: []classify.Difference{}, Merges: []*merged{}, Asked: asked}
	c.Differences = append(c.Differences, classify.Differences(c.A, c.B)...)
	home := func(i instance) string {
		if i.merge != nil {
			return i.merge.Into
		}
		return i.finding.Fingerprint.ID()
	}
	c.One = len(c.Differences) == 0 || c.A.Knows(c.B.Digest()) || c.B.Knows(c.A.Digest())
	if len(c.Differences) > 0 && home(x) == home(y) {
		c.One = true
		for _, m := range []*merged{x.merge, y.merge} {
			if m != nil {
				c.Merges = append(c.Merges, m)
			}
		}
	}
	if a.json {
		if err := a.printJSON(c); err != nil {
			return err
		}
	} else if _, err := fmt.Fprint(a.stdout, c.text()); err != nil {
		return err
	}
	if !c.One {
		return errFinding
	}
	return nil
}

func (c *compared) text() string {
	var b strings.Builder
	switch {
	case len(c.Differences) == 0:
		fmt.Fprintf(&b, "One failure, %s: all parts are equal.\n", c.A.ID())
		writeParts(&b, c.A)
		return b.String()
	case len(c.Merges) > 0:
		fmt.Fprintf(&b, "One failure, %s and %s, since somebody said so:\n", c.A.ID(), c.B.ID())
		for _, m := range c.Merges {
			fmt.Fprintf(&b, "  %s %s\n", m.Alias, m)
		}
		b.WriteString("Their parts differ in\n")
	case c.One:
		fmt.Fprintf(&b, "One failure, by merge: one of %s and %s is recorded as an alias of the other. Their parts differ in\n", c.A.ID(), c.B.ID())
	default:
		fmt.Fprintf(&b, "Two failures, %s and %s: they differ in\n", c.A.ID(), c.B.ID())
	}
	for _, d := range c.Differences {
		fmt.Fprintf(&b, "  %-10s %s and %s\n", d.Key, cmp.Or(d.A, "(none)"), cmp.Or(d.B, "(none)"))
	}
	if !c.One && !c.Asked {
		b.WriteString("Merges that people recorded are known to the service alone: --server URL asks it.\n")
	}
	return b.String()
}
