package main

import (
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func trajectoryCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trajectory FILE|DIR|-...",
		Short: "print traces in the normal form that the rules see",
		Long: "Prints one JSON object per trace: its model calls, tool calls, hand-offs, offered tools, user messages, reply, gaps and\n" +
			"ordered steps. What is not in the data is null; `gaps` names the setting that would supply it.",
		Example: "  pawl trajectory trace.json | jq .tool_calls\n  pawl trajectory captures/ | jq -r '.gaps[].remedy' | sort | uniq -c",
		Args:    somePaths,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := a.loadOffline(); err != nil { // nothing of it matters here, but a mistake in it must not go unseen
			return err
		}
		traces, err := a.readTraces(cmd.Context(), args)
		if err != nil {
			return err
		}
		for _, t := range traces {
			if err := a.printJSON(trajectory.Build(t)); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
