package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/ratchet"
)

func triagePropose(a *app, server *string) *cobra.Command {
	var nth int
	var offer bool
	var save string
	cmd := &cobra.Command{
		Use: "propose ID", Short: "propose a rule for what was labelled, and show what it would have caught", Args: oneArg("the group's id"),
		Long: "Looks for what the labelled runs share and the healthy ones of the service lack, as up to three rules in CEL, and tries each on the kept traces: labelled runs\n" +
			"that it finds and misses, hits on runs that pass without it (a failure that nobody saw, or a false alarm: look at them), and hits on others that went wrong.\n" +
			"--offer makes its pull request: the rule's file and testdata in rules_dir, and cases that it finds. It is previewed unless ghpr.mode and absorb.mode are open.\n" +
			"--save writes file and testdata into a directory instead, to be changed and tried with `pawl rules backtest`.\n\n" +
			"Exit code 0: a rule was proposed, saved or offered; 3: none can be.",
		Example: "  pawl triage propose wrong_currency-3f9a1c02d4\n  pawl triage propose wrong_currency-3f9a1c02d4 --nth 1 --offer",
	}
	cmd.Flags().IntVar(&nth, "nth", 0, "save or offer the `N`th rule, counted from 0")
	cmd.Flags().BoolVar(&offer, "offer", false, "make its pull request")
	cmd.Flags().StringVar(&save, "save", "", "write it into `DIR`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.running = true
		if offer && save != "" {
			return usageError(errors.New("--offer makes a pull request and --save writes files"), "one or the other")
		}
		r, err := a.service(*server)
		if err != nil {
			return err
		}
		_, g, err := r.groupNamed(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		at := "/v1/groups/" + url.PathEscape(g.ID) + "/propose"
		doc, p, err := a.proposedOr(cmd.Context(), r, at, offer || save != "")
		switch {
		case err != nil:
			return err
		case len(p.Candidates) == 0:
			return &exitError{exitUndecided, fmt.Errorf("no rule is proposed: %s", shown(p.Why)), "pawl rules view, which lists what a rule may say"}
		case (offer || save != "") && (nth < 0 || nth >= len(p.Candidates)):
			return usageError(fmt.Errorf("--nth %d: there are %s, counted from 0", nth, plural(len(p.Candidates), "rule")), "pawl triage propose "+g.ID)
		case offer:
			return a.offerRule(cmd.Context(), r, at, nth)
		case save != "":
			return a.saveRule(save, p.Candidates[nth])
		case a.json:
			return a.printJSON(doc)
		}
		_, err = fmt.Fprint(a.stdout, proposalText(p, a.width()))
		return err
	}
	return cmd
}

// proposedOr is what was proposed before, where that will do, else it is proposed anew.
func (a *app) proposedOr(ctx context.Context, r *running, at string, before bool) (doc json.RawMessage, p triage.Proposal, err error) {
	if before {
		if err = r.get(ctx, at, nil, &p); err == nil && p.State == "done" && len(p.Candidates) > 0 {
			return nil, p, nil
		}
	}
	return a.propose(ctx, r, at)
}

// saveRule writes a rule and its testdata into a directory; what is there already stays as it is, and is an error.
func (a *app) saveRule(dir string, c triage.Candidate) error {
	if err := os.MkdirAll(filepath.Join(dir, c.Name), 0o755); err != nil {
		return usageError(err, "a directory that you may write to")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return usageError(err, "")
	}
	defer root.Close()
	files := append([]propose.File{{Name: c.Name + ".yaml", Content: c.YAML}}, c.Testdata...)
	for i, f := range files {
		name := f.Name
		if i > 0 {
			name = filepath.Join(c.Name, f.Name)
		}
		w, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = io.WriteString(w, f.Content)
			err = errors.Join(err, w.Close())
		}
		if err != nil {
			return usageError(err, "--save another directory")
		}
		fmt.Fprintln(a.stdout, filepath.Join(dir, name))
	}
	return nil
}

// proposeTime is how long a proposal may take: the service ends it sooner.
const proposeTime = 3 * time.Minute

// propose has rules proposed, and shows meanwhile how far that is. An interrupt ends it there, too.
func (a *app) propose(ctx context.Context, r *running, at string) (json.RawMessage, triage.Proposal, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.followProposal(ctx, r, at)
	}()
	body, _, err := r.callFor(ctx, proposeTime, http.MethodPost, at, nil)
	cancel()
	<-done
	var p triage.Proposal
	if err == nil {
		if err = json.Unmarshal(body, &p); err != nil {
			err = fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
		}
	}
	return body, p, err
}

// followProposal moves a bar until ctx ends.
func (a *app) followProposal(ctx context.Context, r *running, at string) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	bar := a.progress(1, "trying on kept traces")
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var p triage.Proposal
		if err := r.get(ctx, at, nil, &p); err == nil && p.State == "running" && p.Of > 0 {
			bar.ChangeMax(p.Of)
			_ = bar.Set(min(p.Done, p.Of-1))
		}
	}
}

func proposalText(p triage.Proposal, width int) string {
	var b strings.Builder
	more := ""
	if p.More {
		more = ", the latest; more are kept"
	}
	fmt.Fprintf(&b, "%s: from %s and %s, tried on %d kept traces%s\n", p.Group, plural(p.Labelled, "labelled run"), plural(p.Healthy, "healthy run"), p.Done, more)
	for i, c := range p.Candidates {
		t := c.Trial
		fmt.Fprintf(&b, "\n[%d] the run %s\n\n%s\n", i, shown(c.Says), indent(c.YAML, "    ", 1000))
		fmt.Fprintf(&b, "    finds %d of %d labelled, %s that pass without it, %d others that went wrong; %s\n",
			t.Found.Count, t.Found.Count+t.Missed.Count, plural(t.Collisions.Count, "run"), t.Others.Count, testdataText(len(c.Testdata)))
		if t.Doubtful() {
			b.WriteString("    doubtful: it hits more runs that pass than labelled ones; look at those first\n")
		}
		for _, x := range []struct {
			word   string
			traces []string
		}{{"misses", t.Missed.Traces}, {"passes without it", t.Collisions.Traces}} {
			if len(x.traces) > 0 {
				b.WriteString(indent(x.word+": "+strings.Join(x.traces[:min(len(x.traces), 5)], " "), "      ", width))
			}
		}
	}
	fmt.Fprintf(&b, "\npawl triage propose %s --offer makes the first one's pull request\n", p.Group)
	return b.String()
}

func testdataText(files int) string {
	if files == 0 {
		return "no testdata, for no run of these can be told short and redacted"
	}
	return plural(files, "file") + " of testdata"
}

// offerRule makes the pull request of a proposed rule.
func (a *app) offerRule(ctx context.Context, r *running, at string, n int) error {
	body, _, err := r.call(ctx, http.MethodPost, fmt.Sprintf("%s/%d/offer", at, n), nil)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(json.RawMessage(body))
	}
	var o ratchet.Offered
	if err := json.Unmarshal(body, &o); err != nil {
		return fmt.Errorf("%s does not answer as pawl does: %w", r.at, err)
	}
	fmt.Fprintf(a.stdout, "the rule %s is offered in batch %s, with %s\n", o.Rule, o.Batch, plural(len(o.Cases), "case"))
	for _, id := range o.Cases {
		fmt.Fprintf(a.stdout, "  %s\n", id)
	}
	for _, why := range o.Left {
		fmt.Fprint(a.stdout, indent("left out: "+shown(why), "  ", a.width()))
	}
	return nil
}
