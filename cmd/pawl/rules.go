package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func rulesCommand(a *app) *cobra.Command {
	cmd := group("rules", "list, explain, test and backtest the rules, and those of your own", rulesList(a), rulesExplain(a), rulesTry(a), rulesBacktest(a), rulesView(a))
	cmd.Long = "A rule says of a trace: it has this failure, and these spans show it; or it has not; or a fact is missing, and this setting supplies it.\n\n" +
		"Rules of your own stand under custom: in pawl.yaml, as expressions in CEL (cel.dev) over the trace t. They are checked when they are\n" +
		"loaded, bounded in what they may cost, and abstain where the trace does not tell what they ask."
	return cmd
}

// ruleLine is a rule as --json prints it. Every key is always there.
type ruleLine struct {
	Rule      string            `json:"rule"` // name@version
	Name      string            `json:"name"`
	Version   int               `json:"version"`
	Own       bool              `json:"own"`
	Label     classify.Label    `json:"label"`
	Severity  classify.Severity `json:"severity"`
	Form      classify.Form     `json:"form"`
	Title     string            `json:"title"`
	Needs     []trajectory.Fact `json:"needs"`
	Params    map[string]any    `json:"params"`
	Precision *rule.Precision   `json:"precision"` // null: not measured
}

// ruleLines describes the rules as the configuration has them.
func (a *app) ruleLines(cfg config.Config) ([]ruleLine, []classify.Rule, error) {
	engine, err := a.engineOf(cfg)
	if err != nil {
		return nil, nil, err
	}
	measured, err := rule.Measured()
	if err != nil {
		return nil, nil, err
	}
	set, builtIn := cfg.Rules.Parameters(), namesOf(rule.All())
	var out []ruleLine
	for _, r := range engine.Rules() {
		l := ruleLine{Rule: r.ID(), Name: r.Name, Version: r.Version, Own: !slices.Contains(builtIn, r.Name), Label: r.Label, Severity: r.Severity, Form: r.Form,
			Title: r.Doc.Title, Needs: append([]trajectory.Fact{}, r.Needs...), Params: set[r.Name]}
		if l.Params == nil {
			if l.Params, err = paramsOf(r); err != nil {
				return nil, nil, err
			}
		}
		if p, ok := measured[l.Rule]; ok && !l.Own {
			l.Precision = &p
		}
		out = append(out, l)
	}
	return out, engine.Rules(), nil
}

func paramsOf(r classify.Rule) (map[string]any, error) {
	out := map[string]any{}
	if r.Params == nil {
		return out, nil
	}
	b, err := json.Marshal(r.Params)
	if err != nil {
		return nil, fmt.Errorf("rule %s: parameters: %w", r.Name, err)
	}
	return out, json.Unmarshal(b, &out)
}

func rulesList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "print all rules, with what they need and how often they are right",
		Long: "Prints every rule with its version, the label and severity of its findings, the form that its cases take, the facts that it needs,\n" +
			"and how often it was right where that was measured. A version that was not measured feeds triage and opens no pull requests by itself.",
		Example: "  pawl rules list\n  pawl rules list --json | jq -r 'select(.precision==null).rule'",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadOffline()
			if err != nil {
				return err
			}
			lines, _, err := a.ruleLines(cfg)
			if err != nil {
				return err
			}
			t := a.newTable(0, 0, "rule", "label", "severity", "form", "needs", "right")
			for _, l := range lines {
				if a.json {
					if err := a.printJSON(l); err != nil {
						return err
					}
					continue
				}
				name, label := l.Rule, string(l.Label)
				if l.Own {
					name += " (own)"
				}
				if label == l.Name {
					label = "the same"
				}
				t.AppendRow(table.Row{name, label, l.Severity, l.Form, join(l.Needs), right(l.Precision)})
			}
			if a.json {
				return nil
			}
			_, err = fmt.Fprintln(a.stdout, t.Render())
			return err
		},
	}
}

func join[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return strings.Join(out, " ")
}

func right(p *rule.Precision) string {
	if p == nil {
		return "not measured"
	}
	return fmt.Sprintf("%d of %d (%.2f to %.2f)", p.Right, p.Judged, p.Low, p.High)
}

func rulesView(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "view",
		Short: "print what the expressions of your own rules may use",
		Long: "Prints the fields of a trace, and the functions, that expressions under custom: may use, beside those of CEL itself. What a trace does not\n" +
			"tell is absent: what is computed from it is absent too, unless the rest decides alone, and the rule is then inapplicable and names the fact.",
		Example: "  pawl rules view\n  pawl rules view --json",
		RunE: func(*cobra.Command, []string) error {
			kinds, functions := custom.View(), custom.Functions()
			if a.json {
				return a.printJSON(map[string]any{"types": kinds, "functions": functions, "facts": custom.Facts()})
			}
			var b strings.Builder
			for _, k := range kinds {
				fmt.Fprintf(&b, "%s: %s\n", k.Name, k.Doc)
				for _, f := range k.Fields {
					fmt.Fprintf(&b, "  %-16s %-18s %s\n", f.Name, f.Type, f.Doc)
				}
				b.WriteString("\n")
			}
			b.WriteString("Functions\n")
			for _, f := range functions {
				fmt.Fprintf(&b, "  %-24s %s\n", f.Use, f.Doc)
			}
			fmt.Fprintf(&b, "\nFacts that needs: may name\n%s", indent(join(custom.Facts()), "  ", a.width()))
			_, err := fmt.Fprint(a.stdout, b.String())
			return err
		},
	}
}

// ruleNamed finds a rule by its name, its name@version or its label.
func ruleNamed(rules []classify.Rule, word string) (classify.Rule, error) {
	var known []string
	for _, r := range rules {
		if word == r.Name || word == r.ID() || word == string(r.Label) {
			return r, nil
		}
		known = append(known, r.Name, string(r.Label))
	}
	slices.SortFunc(known, cmp.Compare)
	near := ""
	if n, ok := classify.Nearest(word, known); ok {
		near = fmt.Sprintf("; did you mean %q?", n)
	}
	return classify.Rule{}, usageError(fmt.Errorf("there is no rule and no label %q%s", word, near), "pawl rules list")
}
