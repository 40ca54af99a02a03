package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet"
)

func openCommand(a *app) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "open OWNER/NAME",
		Short: "let pawl propose cases to a repository, before its warm-up ends or after it stopped",
		Long: "At first pawl only ranks what it finds, for ghpr.limits.warm_up (7 days), and proposes the onboarding alone. Later it stops where too many new failures\n" +
			"come at once, which tells of a broken rule or exporter. This tells the running service to go on with a repository of targets.",
		Example: "  pawl open acme/shop",
		Args:    oneArg("the repository, as OWNER/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			r, err := a.service(server)
			if err != nil {
				return err
			}
			ask, err := json.Marshal(map[string]string{"repo": args[0]})
			if err != nil {
				return err
			}
			if _, _, err = r.call(cmd.Context(), http.MethodPost, "/v1/open", ask); err != nil {
				if _, unknown := err.(absent); unknown {
					return usageError(fmt.Errorf("no line of targets of the service names %s", shown(args[0])), "targets in pawl.yaml")
				}
				return err
			}
			if a.json {
				return a.printJSON(struct {
					Kind string `json:"kind"`
					Repo string `json:"repo"`
				}{"open", args[0]})
			}
			_, err = fmt.Fprintf(a.stdout, "pawl proposes cases to %s from now on\n", shown(args[0]))
			return err
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the service's `URL` (default listen.http)")
	return cmd
}

// onboarding are the files that a repository begins with.
func onboarding(t ratchet.Target) []ghpr.File {
	return []ghpr.File{
		{Path: "pawl.yaml", Content: fmt.Sprintf("# pawl's settings for this repository; `pawl config schema` describes every key.\n"+
			"enabled: true          # false: pawl writes nothing here\ntargets:\n  - service: %q\n    repo: %s\n    base: %s\n    set: %s\n", t.Service, t.Repo, t.Base, t.Set)},
		{Path: workflowFile, Content: workflowOf(t)},
		{Path: t.Set + "/README.md", Content: fmt.Sprintf(setReadme, t.Set)},
	}
}

// workflowOf is the workflow that pawl config init writes, for the target's branch and set, until somebody says how the agent is started.
func workflowOf(t ratchet.Target) string {
	w := pipeline{Version: actionVersion(buildVersion()), Set: t.Set}
	if t.Base != ghpr.DefaultBase {
		w.Branch = t.Base
	}
	text, err := w.text()
	if err != nil {
		return "" // the template is ours, and was parsed
	}
	return string(text)
}

const setReadme = `# Regression cases

Each directory below this one holds one failure that an agent had in production: ` + "`case.yaml`" + ` says what must not happen again, ` + "`trace.json`" + ` is the recording,
with personal data and secrets replaced. pawl proposes new ones by pull request. The set only grows and tightens: ` + "`pawl verify --base REF --set %[1]s`" + ` tells
whether a change loosens a case, and ` + "`pawl check --set %[1]s --run COMMAND`" + ` runs an agent over all of them.
`
