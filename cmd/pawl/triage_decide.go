package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet"
)

// deciding is a subcommand that decides: fill makes the question of the arguments behind the group's id.
func (a *app) deciding(server *string, cmd *cobra.Command, fill func(g *toldTriage, args []string, ask *ratchet.Ask) error) *cobra.Command {
	choice, _, _ := strings.Cut(cmd.Use, " ")
	ask := ratchet.Ask{Choice: choice}
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "`WHY`, in a sentence")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.running = true
		r, err := a.service(*server)
		if err != nil {
			return err
		}
		_, g, err := r.groupNamed(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if fill != nil {
			if err := fill(&g, args[1:], &ask); err != nil {
				return err
			}
		}
		return a.decide(cmd.Context(), r, g, ask)
	}
	return cmd
}

// decide sends a decision and tells where the group stands then.
func (a *app) decide(ctx context.Context, r *running, g toldTriage, ask ratchet.Ask) error {
	doc, err := json.Marshal(asSent(ask))
	if err != nil {
		return err
	}
	body, _, err := r.call(ctx, http.MethodPost, "/v1/groups/"+url.PathEscape(g.ID)+"/decisions", doc)
	if err != nil {
		return err
	}
	var done struct {
		Group json.RawMessage `json:"group"`
	}
	var now toldTriage
	if err := errors.Join(json.Unmarshal(body, &done), json.Unmarshal(done.Group, &now)); err != nil {
		return fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
	}
	if a.json {
		return a.printJSON(done.Group)
	}
	if now.ID != g.ID {
		fmt.Fprintf(a.stdout, "%s is %s now\n", g.ID, now.ID)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s, %s\n", now.ID, now.Life, shown(now.Status))
	return err
}

// asSent is the question without what it does not say.
func asSent(ask ratchet.Ask) map[string]any {
	out := map[string]any{"choice": ask.Choice}
	for name, text := range map[string]string{"label": string(ask.Label), "as": ask.As, "reason": ask.Reason, "digest": ask.Digest, "into": ask.Into, "decision": ask.Decision} {
		if text != "" {
			out[name] = text
		}
	}
	if !ask.Until.IsZero() {
		out["until"] = ask.Until
	}
	if len(ask.Traces) > 0 {
		out["traces"] = ask.Traces
	}
	return out
}

func triageLabel(a *app, server *string) *cobra.Command {
	return a.deciding(server, &cobra.Command{
		Use: "label ID LABEL", Short: "give what no rule explains a label, one of pawl's or a new one", Args: cobra.ExactArgs(2),
		Long:    "The group moves to that label, with all that is found with the same signs from then on. Its id changes; the old one leads there.",
		Example: "  pawl triage label unclassified-3f9a1c02d4 wrong_currency --reason 'it answers in dollars'",
	}, func(_ *toldTriage, args []string, ask *ratchet.Ask) error {
		ask.Label = classify.Label(args[0])
		return nil
	})
}

func triageDismiss(a *app, server *string) *cobra.Command {
	var as string
	cmd := a.deciding(server, &cobra.Command{
		Use: "dismiss ID", Short: "say that it is no failure of this agent; its rule hears of it", Args: oneArg("the group's id"),
		Example: "  pawl triage dismiss loop-3f9a1c02d4 --as intended --reason 'it polls a slow job'",
	}, func(_ *toldTriage, _ []string, ask *ratchet.Ask) error { ask.As = as; return nil })
	cmd.Flags().StringVar(&as, "as", "", strings.Join(ratchet.Dismissals, ", "))
	return cmd
}

// onCase is a decision on the proposed case.
func onCase(a *app, server *string, cmd *cobra.Command) *cobra.Command {
	var digest string
	cmd = a.deciding(server, cmd, func(g *toldTriage, _ []string, ask *ratchet.Ask) error {
		if ask.Digest = g.Digest; digest != "" && (len(digest) < leastDigest || !strings.HasPrefix(g.Digest, digest)) {
			return &exitError{exitUndecided, fmt.Errorf("the case changed since you looked: it is %s now", g.Digest), "pawl triage show " + g.ID}
		}
		return nil
	})
	cmd.Flags().StringVar(&digest, "digest", "", "only if the case is this one: its `DIGEST`, or 8 digits of it, as show prints it")
	return cmd
}

const leastDigest = 8

func triageApprove(a *app, server *string) *cobra.Command {
	return onCase(a, server, &cobra.Command{
		Use: "approve ID", Short: "let its case be proposed, without more sightings", Args: oneArg("the group's id"),
		Example: "  pawl triage approve loop-3f9a1c02d4 --digest 9c1f04ab",
	})
}

func triageDeny(a *app, server *string) *cobra.Command {
	return onCase(a, server, &cobra.Command{
		Use: "deny ID", Short: "keep its case out of pull requests, until a person revives it", Args: oneArg("the group's id"),
		Example: "  pawl triage deny loop-3f9a1c02d4 --reason 'the tool goes away next week'",
	})
}

func triageSnooze(a *app, server *string) *cobra.Command {
	var length, until string
	cmd := a.deciding(server, &cobra.Command{
		Use: "snooze ID", Short: "put it off: until then it is ignored and nothing is proposed", Args: oneArg("the group's id"),
		Example: "  pawl triage snooze loop-3f9a1c02d4 --for 72h",
	}, func(_ *toldTriage, _ []string, ask *ratchet.Ask) (err error) {
		if until != "" {
			if ask.Until, err = time.Parse(time.RFC3339, until); err != nil {
				return usageError(fmt.Errorf("--until %s is no time", shown(until)), "2026-12-24T08:00:00Z")
			}
			return nil
		}
		var d config.Duration
		if err := d.UnmarshalText([]byte(length)); err != nil {
			return usageError(fmt.Errorf("--for: %w", err), "--for 72h")
		}
		ask.Until = a.now().Add(time.Duration(d)).UTC()
		return nil
	})
	cmd.Flags().StringVar(&length, "for", "168h", "how `LONG`")
	cmd.Flags().StringVar(&until, "until", "", "until this `TIME`, such as 2026-12-24T08:00:00Z")
	return cmd
}

func triageWake(a *app, server *string) *cobra.Command {
	return a.deciding(server, &cobra.Command{Use: "wake ID", Short: "end a snooze", Args: oneArg("the group's id"),
		Example: "  pawl triage wake loop-3f9a1c02d4"}, nil)
}

func triageRevive(a *app, server *string) *cobra.Command {
	return a.deciding(server, &cobra.Command{Use: "revive ID", Short: "end a dismissal, a denial or the no of a closed pull request", Args: oneArg("the group's id"),
		Example: "  pawl triage revive loop-3f9a1c02d4 --reason 'it came back in 2.1'"}, nil)
}

func triageSplit(a *app, server *string) *cobra.Command {
	return a.deciding(server, &cobra.Command{
		Use: "split ID TRACE...", Short: "take traces out into a group of their own", Args: cobra.MinimumNArgs(2),
		Long:    "Those traces alone leave: other traces that show the same go on to the old group.",
		Example: "  pawl triage split unclassified-3f9a1c02d4 4bf92f35 0af76519 --reason 'these two are the time zone'",
	}, func(g *toldTriage, args []string, ask *ratchet.Ask) (err error) {
		ask.Traces, err = tracesNamed(g, args)
		return err
	})
}

func triageMerge(a *app, server *string) *cobra.Command {
	var into string
	cmd := a.deciding(server, &cobra.Command{
		Use: "merge ID", Short: "say that it is the same failure as another group, for good", Args: oneArg("the group's id"),
		Example: "  pawl triage merge loop-3f9a1c02d4 --into loop-8812ab34cd --reason 'the tool was renamed'",
	}, func(_ *toldTriage, _ []string, ask *ratchet.Ask) error { ask.Into = into; return nil })
	cmd.Flags().StringVar(&into, "into", "", "the `ID` of the group that it becomes part of")
	return cmd
}

func triageUndo(a *app, server *string) *cobra.Command {
	var id string
	cmd := a.deciding(server, &cobra.Command{
		Use: "undo ID", Short: "take the latest decision on it back", Args: oneArg("the group's id"),
		Example: "  pawl triage undo loop-3f9a1c02d4",
	}, func(_ *toldTriage, _ []string, ask *ratchet.Ask) error { ask.Decision = id; return nil })
	cmd.Flags().StringVar(&id, "decision", "", "only if this is the latest: its `ID`")
	return cmd
}
