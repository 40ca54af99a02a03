package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/config"
)

func rulesBacktest(a *app) *cobra.Command {
	var names []string
	var baselineFile string
	cmd := &cobra.Command{
		Use:   "backtest FILE|DIR|-...",
		Short: "say what rules would have caught in recorded traces",
		Long: "Judges recorded traces with and without the rules named, your own where none is named, and shows what they add: failures that no other rule sees, those\n" +
			"that others see too, and hits on traces that pass without them: each of these is either a failure that nobody saw, or a false alarm. Look at them.\n\n" +
			"Exit code 0: the rules could judge, whatever they found; 3: they could judge no trace.",
		Example: "  pawl rules backtest last-week/ --rule refund_without_lookup\n  pawl rules backtest --json traces.jsonl | jq 'select(.standing==\"passing\")'",
		Args:    somePaths,
	}
	cmd.Flags().StringArrayVar(&names, "rule", nil, "the `RULE` to look at, by name or label; repeatable (default: your own)")
	cmd.Flags().StringVar(&baselineFile, "baseline", "", "judge cost by the runs in this `FILE` (default: learn from the traces given)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		rules, err := a.rulesOf(cfg)
		if err != nil {
			return err
		}
		chosen, err := chooseRules(rules, names, cfg)
		if err != nil {
			return err
		}
		with, err := a.engineWith(cfg, rules)
		if err != nil {
			return err
		}
		without, err := a.engineWith(cfg, slices.DeleteFunc(slices.Clone(rules), func(r classify.Rule) bool { return slices.Contains(chosen, r.ID()) }))
		if err != nil {
			return err
		}
		base, err := readBaseline(baselineFile)
		if err != nil {
			return err
		}
		traces, err := a.readTraces(cmd.Context(), args)
		if err != nil {
			return err
		}
		return a.printBacktest(chosen, a.judge(traces, with, base), a.judge(traces, without, base))
	}
	return cmd
}

// chooseRules returns the ids of the rules to look at.
func chooseRules(rules []classify.Rule, names []string, cfg config.Config) ([]string, error) {
	if len(names) == 0 {
		for _, c := range cfg.Custom {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil, usageError(fmt.Errorf("pawl.yaml has no rule of your own, and --rule names none"), "--rule loop, or write one under custom: in pawl.yaml")
	}
	var ids []string
	for _, n := range names {
		r, err := ruleNamed(rules, n)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, r.ID()) {
			ids = append(ids, r.ID())
		}
	}
	return ids, nil
}

// hit is one finding of a backtest, as --json prints it.
type hit struct {
	Kind        string              `json:"kind"` // hit
	Rule        string              `json:"rule"`
	TraceID     string              `json:"trace_id"`
	Service     string              `json:"service"`
	Fingerprint string              `json:"fingerprint"`
	Severity    classify.Severity   `json:"severity"`
	Why         string              `json:"why"`
	Evidence    []classify.Evidence `json:"evidence"`
	Standing    standing            `json:"standing"`
	Others      []classify.Label    `json:"others"` // what other rules find on the trace
}

// standing is how a hit stands to what is known of its trace without the rule.
type standing string

const (
	standsKnown      standing = "known"      // another rule finds something at the same span
	standsNew        standing = "new"        // the trace fails by another rule, elsewhere
	standsExplains   standing = "explains"   // the trace went wrong, and no other rule says how
	standsPassing    standing = "passing"    // the trace passes without the rule
	standsIncomplete standing = "incomplete" // the trace is not whole
)

// tally is a rule's whole backtest, as --json prints it.
type tally struct {
	Kind         string         `json:"kind"` // rule
	Rule         string         `json:"rule"`
	Traces       int            `json:"traces"`
	Judged       int            `json:"judged"`
	Hits         int            `json:"hits"`
	Groups       int            `json:"groups"` // fingerprints
	Standing     map[string]int `json:"standing"`
	Inapplicable map[string]int `json:"inapplicable"` // traces, by what they lack
}

// backtest compares what is found with a rule and without it.
func backtest(id string, with, without []judged) ([]hit, tally) {
	hits, t := []hit{}, tally{Kind: "rule", Rule: id, Traces: len(with), Standing: map[string]int{}, Inapplicable: map[string]int{}}
	groups := map[string]bool{}
	for i, j := range with {
		if n := slices.IndexFunc(j.report.Inapplicable, func(x classify.Inapplicable) bool { return x.Rule == id }); n >= 0 {
			t.Inapplicable[string(j.report.Inapplicable[n].Missing)]++
		} else {
			t.Judged++
		}
		for _, f := range j.report.Findings {
			if f.Rule != id {
				continue
			}
			h := hit{"hit", id, j.trace.ID, j.trajectory.Service, f.Fingerprint.ID(), f.Severity, f.Why, f.Evidence, standingOf(f, without[i].report), []classify.Label{}}
			for _, other := range without[i].report.Findings {
				if !slices.Contains(h.Others, other.Label) {
					h.Others = append(h.Others, other.Label)
				}
			}
			hits, groups[h.Fingerprint] = append(hits, h), true
			t.Standing[string(h.Standing)]++
		}
	}
	t.Hits, t.Groups = len(hits), len(groups)
	return hits, t
}

func standingOf(f classify.Finding, without classify.Report) standing {
	switch without.Verdict {
	case classify.Passing:
		return standsPassing
	case classify.Unclassified:
		return standsExplains
	case classify.Incomplete:
		return standsIncomplete
	}
	for _, other := range without.Findings {
		for _, e := range other.Evidence {
			if slices.ContainsFunc(f.Evidence, func(own classify.Evidence) bool { return own.SpanID == e.SpanID }) {
				return standsKnown
			}
		}
	}
	return standsNew
}

func (a *app) printBacktest(chosen []string, with, without []judged) error {
	judged := 0
	for _, id := range chosen {
		hits, t := backtest(id, with, without)
		judged += t.Judged
		if a.json {
			for _, h := range hits {
				if err := a.printJSON(h); err != nil {
					return err
				}
			}
			if err := a.printJSON(t); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprint(a.stdout, backtestText(hits, t, a.width())); err != nil {
			return err
		}
	}
	if judged == 0 {
		return &exitError{code: exitUndecided, err: fmt.Errorf("no trace has the facts that %s needs", strings.Join(chosen, ", ")), try: "pawl doctor, which says which setting supplies them"}
	}
	return nil
}

var standingWords = []struct {
	is   standing
	word string
}{
	{standsPassing, "on traces that pass without it: new catches, or false alarms"},
	{standsExplains, "on traces that went wrong unexplained"},
	{standsNew, "on traces that fail by other rules, at other spans"},
	{standsKnown, "where other rules find something too"},
	{standsIncomplete, "on traces that are not whole"},
}

func backtestText(hits []hit, t tally, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s of %s that it could judge\n", t.Rule, plural(t.Hits, "hit"), plural(t.Groups, "group"), plural(t.Judged, "trace"))
	for _, s := range standingWords {
		if t.Standing[string(s.is)] == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %d %s\n", t.Standing[string(s.is)], s.word)
		for _, h := range hits {
			if h.Standing == s.is {
				b.WriteString(indent(h.TraceID+" "+h.Fingerprint+": "+shown(h.Why), "      ", width))
			}
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(t.Inapplicable)) {
		fmt.Fprintf(&b, "  inapplicable to %s: no %s\n", plural(t.Inapplicable[fact], "trace"), fact)
	}
	return b.String()
}
