package main

import (
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func trajectoryCommand(a *app) *cobra.Command {
	var session bool
	cmd := &cobra.Command{
		Use:   "trajectory FILE|DIR|-...",
		Short: "print traces in the normal form that the rules see",
		Long: "Prints one JSON object per trace: its model calls, tool calls, hand-offs, offered tools, user messages, reply, gaps and\n" +
			"ordered steps. What is not in the data is null; `gaps` names the setting that would supply it.\n\n" +
			"With --session the traces of one conversation (one service, one session id) are one object; `traces` lists them.",
		Example: "  pawl trajectory trace.json | jq .tool_calls\n  pawl trajectory captures/ | jq -r '.gaps[].remedy' | sort | uniq -c",
		Args:    somePaths,
	}
	cmd.Flags().BoolVar(&session, "session", false, "print each session as one: its traces joined, without what later ones repeat")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		prices, err := pricesOf(cfg)
		if err != nil {
			return usageError(err, "pawl config check")
		}
		traces, err := a.readTraces(cmd.Context(), args)
		if err != nil {
			return err
		}
		if session {
			return a.printSessions(traces, prices)
		}
		for _, t := range traces {
			tr := trajectory.Build(t)
			prices.Fill(tr)
			if err := a.printJSON(tr); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func (a *app) printSessions(traces []trajectory.Trace, prices *price.Table) error {
	parts := make([]*trajectory.Trajectory, len(traces))
	for i, t := range traces {
		parts[i] = trajectory.Build(t)
		prices.Fill(parts[i])
	}
	for _, session := range trajectory.Sessions(parts) {
		t := *trajectory.Join(session)
		if t.Traces == nil { // alone in its session, and listed all the same
			t.Traces = []string{t.TraceID}
		}
		if err := a.printJSON(&t); err != nil {
			return err
		}
	}
	return nil
}
