package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
)

func baselineCommand(a *app) *cobra.Command {
	return group("baseline", "learn the normal range of runs, and show it", baselineLearn(a), baselineShow(a))
}

func baselineLearn(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "learn FILE|DIR|-... -o FILE",
		Short: "learn from recorded traces that pass",
		Long: "Learns tokens, cost, duration and tool calls per service, agent and route, from the traces that no rule finds fault with, and adds\n" +
			"them to what the file holds already. Give each trace once: the file does not remember which ones it knows.",
		Example: "  pawl baseline learn last-week/ -o baseline.json\n  pawl classify today.jsonl --baseline baseline.json",
		Args:    somePaths,
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "baseline `FILE` to make or to add to (required)")
	cmd.MarkFlagRequired("output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		engine, err := a.engineOf(cfg)
		if err != nil {
			return err
		}
		learnt := baseline.New()
		if _, err := os.Stat(out); err == nil {
			old, err := loadBaseline(out)
			if err != nil {
				return err
			}
			learnt.Merge(old)
		}
		all, err := a.judgePaths(cmd.Context(), engine, args, "")
		if err != nil {
			return err
		}
		n := 0
		for _, j := range all {
			if j.report.Verdict == classify.Passing {
				learnt.Learn(baseline.Measure(j.trajectory))
				n++
			}
		}
		return a.writeBaseline(out, learnt.Snapshot(), n, len(all))
	}
	return cmd
}

func (a *app) writeBaseline(path string, s *baseline.Snapshot, learnt, of int) error {
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return usageError(err, "a file that you may write to")
	}
	if a.json {
		return a.printJSON(map[string]any{"file": path, "digest": s.Digest(), "learnt": learnt, "traces": of, "routes": len(s.Keys())})
	}
	_, err := fmt.Fprintf(a.stdout, "learnt %d passing traces of %d; %s now holds %s\n", learnt, of, path, plural(len(s.Keys()), "route"))
	return err
}

// shownRoute is a route of a baseline, as --json prints it.
type shownRoute struct {
	Service string                             `json:"service"`
	Agent   string                             `json:"agent"`
	Route   string                             `json:"route"`
	Metrics map[baseline.Metric]baseline.Stats `json:"metrics"`
}

func baselineShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE",
		Short:   "print the medians of a baseline file",
		Example: "  pawl baseline show baseline.json",
		Args:    oneArg("the FILE that pawl baseline learn wrote"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := readBaseline(args[0])
			if err != nil {
				return err
			}
			t := a.newTable(0, 0, "service", "agent", "route", "runs", "tokens, median", "deviation", "tool calls, median")
			for _, k := range s.Keys() {
				row := shownRoute{k.Service, k.Agent, k.Route, map[baseline.Metric]baseline.Stats{}}
				for _, m := range baseline.Metrics() {
					row.Metrics[m] = s.Stats(k, m)
				}
				if a.json {
					if err := a.printJSON(row); err != nil {
						return err
					}
					continue
				}
				tokens := row.Metrics[baseline.TotalTokens]
				t.AppendRow(table.Row{shown(k.Service), shown(k.Agent), shown(k.Route), row.Metrics[baseline.ToolCalls].N, tokens.Median, tokens.MAD, row.Metrics[baseline.ToolCalls].Median})
			}
			if a.json {
				return nil
			}
			_, err = fmt.Fprintln(a.stdout, t.Render())
			return err
		},
	}
}
