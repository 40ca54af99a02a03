package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func rulesBacktest(a *app) *cobra.Command {
	b := backtest{app: a}
	var names []string
	var baselineFile string
	cmd := &cobra.Command{
		Use:   "backtest [RULES.yaml...] [FILE|DIR|-...]",
		Short: "say what rules would have caught in recorded or kept traces",
		Long: "Judges traces with and without the rules named, your own where none is named, and shows what they add: failures that no other rule sees, those\n" +
			"that others see too, and hits on traces that pass without them: each of these is either a failure that nobody saw, or a false alarm. Look at them.\n" +
			"Misses are the traces of the rule's label, and those that went wrong unexplained, of which it says nothing.\n\n" +
			"The traces are those of the files named. Without files, or with --server, they are those that the running service keeps, read one after the other.\n" +
			"RULES.yaml holds rules under custom:, to be tried before they go into pawl.yaml; the rest of pawl.yaml holds for them.\n\n" +
			"Exit code 0: the rules could judge, whatever they found; 3: they could judge no trace.",
		Example: "  pawl rules backtest last-week/ --rule refund_without_lookup\n  pawl rules backtest candidate.yaml --server http://127.0.0.1:7295 --since 7d\n" +
			"  pawl rules backtest --json traces.jsonl | jq 'select(.standing==\"passing\")'",
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().StringArrayVar(&names, "rule", nil, "the `RULE` to look at, by name or label; repeatable (default: those of RULES.yaml, else your own)")
	cmd.Flags().StringVar(&baselineFile, "baseline", "", "judge cost by the runs in this `FILE` (default: learn from the files given; kept traces: not at all)")
	cmd.Flags().StringVar(&b.server, "server", "", "ask the service at this `URL` for the traces that it keeps (default listen.http)")
	cmd.Flags().StringVar(&b.since, "since", "", "only traces with a span received since this `TIME` or for this long: 7d, 36h (default: all that are kept)")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		files, paths := ruleFiles(args)
		if len(paths) > 0 && (b.server != "" || b.since != "") {
			return usageError(fmt.Errorf("%s are recorded traces, and --server and --since are for those that the service keeps", strings.Join(paths, ", ")), "one or the other")
		}
		if err = b.prepare(files, names); err != nil {
			return err
		}
		if b.base, err = readBaseline(baselineFile); err != nil {
			return err
		}
		if len(paths) > 0 {
			err = b.recorded(cmd.Context(), paths)
		} else {
			err = b.kept(cmd.Context())
		}
		if err != nil {
			return err
		}
		return b.print()
	}
	return cmd
}

// ruleFiles tells files of rules from recorded traces.
func ruleFiles(args []string) (files, paths []string) {
	for _, a := range args {
		if ext := filepath.Ext(a); ext == ".yaml" || ext == ".yml" {
			files = append(files, a)
		} else {
			paths = append(paths, a)
		}
	}
	return files, paths
}

// backtest is one run of the command.
type backtest struct {
	*app
	server, since string

	trials        []*trial
	with, without *classify.Engine
	base          *baseline.Snapshot
}

// prepare builds the engines with and without the rules to look at.
func (b *backtest) prepare(files, names []string) error {
	cfg, err := b.loadOffline()
	if err != nil {
		return err
	}
	rules, tried, err := b.rulesAnd(cfg, files)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = tried
	}
	chosen, err := chooseRules(rules, names, cfg)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if slices.Contains(chosen, r.ID()) {
			b.trials = append(b.trials, newTrial(r))
		}
	}
	if b.with, err = b.engineWith(cfg, rules); err != nil {
		return err
	}
	b.without, err = b.engineWith(cfg, slices.DeleteFunc(slices.Clone(rules), func(r classify.Rule) bool { return slices.Contains(chosen, r.ID()) }))
	return err
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

// recorded judges the traces of files, all together.
func (b *backtest) recorded(ctx context.Context, paths []string) error {
	traces, err := b.readTraces(ctx, paths)
	if err != nil {
		return err
	}
	return b.take(traces)
}

// take judges traces with and without the rules. With --json what they say is printed at once.
func (b *backtest) take(traces []trajectory.Trace) error {
	with, without := b.judge(traces, b.with, b.base), b.judge(traces, b.without, b.base)
	for _, t := range b.trials {
		for i := range with {
			for _, line := range t.take(with[i], without[i]) {
				if !b.json {
					continue
				}
				if err := b.printJSON(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *backtest) print() error {
	judged := 0
	var ids []string
	for _, t := range b.trials {
		judged, ids = judged+t.Judged, append(ids, t.Rule)
		var err error
		if b.json {
			err = b.printJSON(t.tally)
		} else {
			_, err = fmt.Fprint(b.stdout, t.text(b.width()))
		}
		if err != nil {
			return err
		}
	}
	if judged == 0 {
		return &exitError{code: exitUndecided, err: fmt.Errorf("no trace has the facts that %s needs", strings.Join(ids, ", ")), try: "pawl doctor, which says which setting supplies them"}
	}
	return nil
}
