package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func varianceCommand(a *app) *cobra.Command {
	c := checking{app: a}
	var limit float64
	var input string
	var look bool
	cmd := &cobra.Command{
		Use:   "variance [--set DIR | --input FILE] (--run CMD | --url URL)",
		Short: "measure how much your agent differs from itself, before you trust a gate",
		Long: "Runs each case several times, one after another, with the same input and the same answers of its tools, and says how often the agent did as\n" +
			"it mostly does: the sequence of its tools, their arguments, the verdict, its words, its tokens. Above the limit a gate would be noise: collect\n" +
			"cases, enforce none yet, and steady the agent first (temperature, a pinned model, clearer instructions).\n\n" +
			"The limit is the share of runs that may differ: 0.05 unless gate.variance in pawl.yaml says otherwise of the agent (0.01 where money moves, 0.1\n" +
			"for chat), or --limit of all.\n\n" +
			"What was measured is written to _variance.json of the set, by agent and case: while an agent is above its limit, pawl click enforces none of its\n" +
			"cases, and pawl check says so. Cases that are enforced already block as before. Measure again once it is steadier.\n\n" +
			"Exit code 1: a case is above the limit; 3: a case had no run that could be judged.",
		Example: "  pawl variance --run 'node agent.js'\n  pawl variance --run 'python -m desk' -n 20 --case 'loop-*' --limit 0.01",
	}
	f := cmd.Flags()
	f.StringVar(&c.set, "set", "regressions", "the `DIR` with the cases")
	f.StringVar(&input, "input", "", "in place of a set: the input in this `FILE`, in the form of PAWL_INPUT (JSON) or cases written by hand (kind: Golden)")
	f.StringVar(&c.command, "run", "", "start the agent by this `CMD` (sh -c)")
	f.StringVar(&c.url, "url", "", "post the input to the agent at this `URL`")
	f.BoolVar(&c.talks, "conversation", false, "start --run once for all turns of a case, as pawl check --conversation does")
	f.IntVarP(&c.n, "runs", "n", 10, "runs of each case")
	f.StringArrayVar(&c.only, "case", nil, "only the cases with this `ID`, or that this glob matches")
	f.DurationVar(&c.timeout, "timeout", 2*time.Minute, "time that the agent has for one turn")
	f.StringVar(&c.listen, "listen", "", "address for a service's telemetry and tools with --url (default 127.0.0.1 and any port)")
	f.Float64Var(&limit, "limit", 0.05, "share of the runs that may differ, 0 to 1, whatever pawl.yaml says")
	f.BoolVar(&look, "dry-run", false, "measure, and write nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c.jobs = 1
		if c.n < 2 || limit < 0 || limit > 1 {
			return usageError(errors.New("at least 2 runs are compared, and the limit is a share of 0 to 1"), "pawl variance --help")
		}
		if input != "" && cmd.Flags().Changed("set") {
			return usageError(errors.New("--input takes the place of --set"), "pawl variance --input "+input)
		}
		own := &limit
		if !cmd.Flags().Changed("limit") {
			own = nil
		}
		return c.variance(cmd.Context(), input, own, look)
	}
	return cmd
}

func (c *checking) variance(ctx context.Context, input string, limit *float64, look bool) error {
	if err := c.usage(); err != nil {
		return err
	}
	cfg, err := c.loadOffline()
	if err != nil {
		return err
	}
	oracle, err := c.judgeOf(ctx, cfg)
	if err != nil {
		return err
	}
	if err := c.loadFrom(input); err != nil {
		return err
	}
	model, err := c.modelOf(cfg)
	if err != nil {
		return err
	}
	g, err := gate.New(c.log, gate.ByOracle(oracle), gate.Options{Timeout: c.timeout, Live: liveTools(cfg), Stubs: gate.Stubs{Dir: c.set, Files: c.stubs}, Listen: c.listen, Price: oracle.Prices.Fill, User: model})
	if err != nil {
		return usageError(err, "--listen with another address")
	}
	defer g.Close()
	c.bar = newCheckBar(c.app, c.n*len(c.cases))
	var last gate.Run
	stamp := gate.StampOf(ctx, ".", c.varianceFile())
	all, err := g.Measure(ctx, gate.Version{Agent: gate.Agent{Command: c.command, URL: c.url, Talks: c.talks}}, c.cases, c.n, limitOf(cfg, limit), func(r gate.Run) {
		c.bar.step(0)
		if r.Verdict == gate.Error || r.Verdict == gate.Inconclusive {
			last = r
		}
	})
	c.bar.finish()
	if err != nil {
		return err
	}
	if input == "" && !look {
		if err := c.keepVariance(all, stamp, cfg); err != nil {
			return err
		}
	}
	return c.tellVariance(all, last)
}

func (c *checking) varianceFile() string { return filepath.Join(c.set, regcase.VarianceFile) }

// keepVariance adds what was measured to what the set knows, and says what follows for its agents.
func (c *checking) keepVariance(all []gate.Variance, stamp gate.Stamp, cfg config.Config) error {
	root, err := os.OpenRoot(c.set)
	if err != nil {
		return usageError(err, "")
	}
	defer root.Close()
	measures, _ := regcase.ReadMeasures(root.FS()) // what cannot be read was told with the set, and is written anew
	for _, v := range all {
		if m, ok := gate.MeasureOf(v, stamp, c.now()); ok {
			measures = append(measures, m)
		}
	}
	b, err := regcase.EncodeMeasures(measures)
	if err != nil || len(measures) == 0 {
		return err
	}
	if err := regcase.WriteFile(root, regcase.VarianceFile, b); err != nil {
		return usageError(err, "pawl variance --dry-run, which writes nothing")
	}
	for _, s := range c.steadiness(measures, cfg) {
		if c.json {
			err = c.printJSON(struct {
				Kind string `json:"kind"`
				gate.Steadiness
			}{"steadiness", s})
		} else if !s.Steady {
			fmt.Fprintf(c.stderr, "%s: pawl click enforces none of its cases\n", shown(s.Sentence()))
		}
	}
	fmt.Fprintf(c.stderr, "written to %s, which pawl click and pawl check read: commit it\n", c.varianceFile())
	return err
}

// steadiness sums measures up over the cases that were read; where only some were asked for, over all.
func (c *checking) steadiness(measures []regcase.Measure, cfg config.Config) []gate.Steadiness {
	return gate.SteadinessOf(measures, func(id string) bool {
		return len(c.only) > 0 || slices.ContainsFunc(c.cases, func(k *gate.Case) bool { return k.ID == id })
	}, limitOf(cfg, nil))
}

// steadinessOf is how much the agents of a set differ from themselves, as was measured, by the limits that hold now.
func steadinessOf(set regcase.Set, cfg config.Config) []gate.Steadiness {
	return gate.SteadinessOf(set.Measures, func(id string) bool {
		if e := set.Cases[id]; e != nil {
			return e.Case.State.Name != regcase.Retired
		}
		_, golden := set.Goldens[id]
		return golden
	}, limitOf(cfg, nil))
}

// loadFrom reads the cases of the set or, where a file is named, of that.
func (c *checking) loadFrom(input string) error {
	if input == "" {
		root, err := os.OpenRoot(c.set)
		if err != nil {
			return usageError(fmt.Errorf("set: %w", err), "pawl absorb FILE --set "+c.set+", which makes cases of failures; or --input FILE")
		}
		defer root.Close()
		return c.load(root)
	}
	b, err := os.ReadFile(input)
	if err != nil {
		return usageError(err, "--input with another file")
	}
	if k, err := gate.InputCase(b); err == nil {
		c.cases = []*gate.Case{k}
		return nil
	}
	all, err := regcase.GoldenCases(input, b)
	if err != nil {
		return usageError(err, "pawl check --schema and pawl config schema golden, which describe the two forms of --input")
	}
	for _, g := range all {
		k, err := gate.GoldenCase(g)
		if err != nil {
			return err
		}
		c.cases = append(c.cases, k)
	}
	return nil
}

// defaultVariance is the share of an agent's runs that may differ where nothing else is said.
const defaultVariance = 0.05

// limitOf is what may differ for an agent: own, where it is given, else what the configuration says of it first.
func limitOf(cfg config.Config, own *float64) func(agent string) float64 {
	return func(agent string) float64 {
		if own != nil {
			return *own
		}
		for _, v := range cfg.Gate.Variance {
			if ok, err := path.Match(string(v.Agent), agent); err == nil && ok {
				return v.Limit
			}
		}
		return defaultVariance
	}
}

// tellVariance prints the measurements. bad is a run that could not be judged, if there was one.
func (c *checking) tellVariance(all []gate.Variance, bad gate.Run) error {
	t := c.newTable(0, 0, "case", "runs", "same tools", "same arguments", "same verdict", "replies alike", "least", "tokens", "limit", "")
	code := exitGood
	for _, v := range all {
		word := "steady"
		switch {
		case v.Invalid == v.Runs:
			word, code = "not judged", exitUndecided
		case !v.Steady && code != exitUndecided:
			word, code = "above the limit", exitFinding
		case !v.Steady:
			word = "above the limit"
		}
		if c.json {
			if err := c.printJSON(struct {
				Kind string `json:"kind"`
				gate.Variance
			}{"variance", v}); err != nil {
				return err
			}
			continue
		}
		tokens := ""
		if v.Tokens != nil {
			tokens = fmt.Sprintf("%.0f", *v.Tokens)
		}
		t.AppendRow(table.Row{v.Case, fmt.Sprintf("%d/%d", v.Runs-v.Invalid, v.Runs), percent(v.Sequence), percent(v.Arguments), percent(v.Verdicts), percent(v.Alike), percent(v.Least), tokens, percent(v.Limit), word})
	}
	if !c.json {
		fmt.Fprintf(c.stdout, "%s\n", t.Render())
		if code == exitFinding {
			fmt.Fprintln(c.stdout, "More of the runs differ than the limit allows: collect cases, enforce none yet, and steady the agent first (temperature, a pinned model, clearer instructions).")
		}
		if bad.Reason != "" {
			fmt.Fprintf(c.stdout, "\n%s run %d: %s\n%s", bad.Case, bad.Run, bad.Verdict, block(bad.Reason, "    ", c.width()))
		}
	}
	if code != exitGood {
		return &exitError{code: code}
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
