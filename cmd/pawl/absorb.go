package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func absorbCommand(a *app) *cobra.Command {
	var set, baselineFile string
	cmd := &cobra.Command{
		Use:   "absorb FILE|DIR|-... --set DIR",
		Short: "classify recorded traces and write a case for each new failure, no network",
		Long: "Finds the failures in recorded traces and writes one regression case per failure into the set: redacted, and proven red on\n" +
			"its own recording. A failure that the set holds already is left alone, so absorbing the same traces again changes nothing.\n\n" +
			"Failures that are not blocking, or of low confidence, are reported and not absorbed; see `absorb` in pawl.yaml.",
		Example: "  pawl absorb traces.jsonl --set regressions\n  pawl absorb captures/ --set regressions --json",
		Args:    somePaths,
	}
	cmd.Flags().StringVar(&set, "set", "", "`DIR` of the regression set; made if it is not there (required)")
	cmd.Flags().StringVar(&baselineFile, "baseline", "", "judge cost by the runs in this `FILE` (default: learn from the traces given)")
	cmd.MarkFlagRequired("set")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		maker, err := a.makerOf(cfg)
		if err != nil {
			return err
		}
		all, err := a.judgePaths(cmd.Context(), maker.Engine, args, baselineFile)
		if err != nil {
			return err
		}
		return a.absorb(cmd.Context(), all, maker, policyOf(cfg), set)
	}
	return cmd
}

// policyOf is what pawl.yaml says of any case. A case that a person has written needs no measured rule: see prPolicyOf.
func policyOf(cfg config.Config) ratchet.Policy {
	p := ratchet.Policy{MinCount: cfg.Absorb.MinCount, MinConfidence: cfg.Absorb.MinConfidence}
	for _, l := range cfg.Absorb.Labels {
		p.Labels = append(p.Labels, classify.Label(l))
	}
	return p
}

// prPolicyOf is the policy for cases that go into pull requests by themselves.
func prPolicyOf(cfg config.Config) (ratchet.Policy, error) {
	p := policyOf(cfg)
	measured, err := rule.Measured()
	if err != nil {
		return p, err
	}
	p.MinJudged, p.Measured = cfg.Absorb.MinJudged, map[string]ratchet.Precision{}
	for id, m := range measured {
		p.Measured[id] = ratchet.Precision{Judged: m.Judged, Right: m.Right, Set: m.Set, Date: m.Date}
	}
	return p, nil
}

// absorbed is what became of one group of an offline run, as --json prints it.
type absorbed struct {
	ID     string         `json:"id"`
	Label  classify.Label `json:"label"`
	Did    string         `json:"did"`  // created | known | skipped
	Path   *string        `json:"path"` // of the case's directory; null when skipped
	Title  string         `json:"title"`
	Count  int            `json:"count"`
	Reason string         `json:"reason"`
	Began  lineage.Story  `json:"began"` // what had changed when it began, as far as the traces given tell
}

// sighted is a group of an offline run with the traces that show it.
type sighted struct {
	ratchet.Group
	judged  map[string]judged // by trace id
	traces  []string
	history *lineage.History // of its service
}

func (a *app) absorb(ctx context.Context, all []judged, maker *ratchet.Maker, policy ratchet.Policy, set string) error {
	if err := os.MkdirAll(set, 0o755); err != nil {
		return usageError(fmt.Errorf("set: %w", err), "a directory that you may write to")
	}
	root, err := os.OpenRoot(set)
	if err != nil {
		return usageError(fmt.Errorf("set: %w", err), "")
	}
	defer root.Close()
	counts := map[string]int{}
	healthy := healthyRuns(all)
	for _, g := range groupsOf(all) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		did, err := writeCase(root, maker, policy, g, healthy)
		switch {
		case errors.Is(err, fs.ErrPermission):
			return usageError(fmt.Errorf("set %s: %w", set, err), "a directory that you may write to")
		case errors.Is(err, regcase.ErrUnreadable): // it stands in the way of one case, not of the others
			a.unread++
			did.Reason = err.Error()
			printError(a.stderr, fmt.Sprintf("set %s: %v", set, err))
		case err != nil:
			return fmt.Errorf("set %s: %w", set, err)
		}
		if did.Path != nil {
			*did.Path = filepath.Join(set, *did.Path)
		}
		counts[did.Did]++
		if err := a.printAbsorbed(did); err != nil {
			return err
		}
	}
	if a.json {
		return nil
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s created, %d known already, %s not absorbed\n", plural(len(all), "trace"), plural(counts["created"], "case"), counts["known"], plural(counts["skipped"], "failure"))
	return err
}

func (a *app) printAbsorbed(d absorbed) error {
	if a.json {
		return a.printJSON(d)
	}
	where := d.Reason
	if d.Path != nil {
		where = *d.Path
	}
	began := ""
	if worthTelling(d.Began) {
		began = indent(d.Began.Sentence, "         ", a.width())
	}
	_, err := fmt.Fprintf(a.stdout, "%-8s %s  %s\n         %s\n%s", d.Did, d.ID, shown(d.Title), shown(where), began)
	return err
}

// groupsOf folds the findings of a run by fingerprint, in order of first appearance.
func groupsOf(all []judged) []*sighted {
	var out []*sighted
	byPrint, past := map[string]*sighted{}, histories{}
	for _, j := range all {
		c := lineage.ContextOf(j.trajectory)
		for _, f := range j.report.Findings {
			if f.Because != nil {
				continue // a consequence: the case is of its root
			}
			fp := f.Fingerprint.Digest()
			g := byPrint[fp]
			if g == nil {
				g = &sighted{judged: map[string]judged{}, history: past.before(j)}
				byPrint[fp], out = g, append(out, g)
			}
			o := ratchet.Occurrence{Finding: ratchet.NewFound(f), Service: j.trajectory.Service, TraceID: j.trace.ID, Revision: f.Rule, SessionID: j.trajectory.SessionID,
				Object: j.trace.ID, Seen: seen(j.trajectory), // the trace is at hand: nothing has to be stored
				Context: &c, Began: past.before(j).Before(c, f.Fingerprint.Agent, seen(j.trajectory))}
			if g.Take(o) {
				g.judged[j.trace.ID], g.traces = j, append(g.traces, j.trace.ID)
			}
		}
		past.take(j, c)
	}
	return out
}

// healthyRuns are what budgets are taken from, where the run was judged by itself: of the traces that it learnt from, those that pass. It is nil where a
// baseline was given.
func healthyRuns(all []judged) *baseline.Snapshot {
	learnt := baseline.New()
	for _, j := range all {
		if !j.baseline.LeftOneOut() {
			return nil
		}
		if j.report.Verdict == classify.Passing {
			learnt.Learn(baseline.Measure(j.trajectory))
		}
	}
	return learnt.Snapshot()
}

func seen(t *trajectory.Trajectory) time.Time {
	if t.End.IsZero() {
		return t.Start
	}
	return t.End
}

func writeCase(root *os.Root, maker *ratchet.Maker, policy ratchet.Policy, g *sighted, healthy *baseline.Snapshot) (absorbed, error) {
	d := absorbed{ID: g.ID(), Label: g.Fingerprint.Label, Did: "skipped", Title: g.Title, Count: g.Count, Began: g.story()}
	due, why := policy.Due(&g.Group)
	d.Reason = why
	if !due {
		return d, nil
	}
	made, err := makeCase(maker, g, healthy)
	if reason, refused := ratchet.AsRefused(err); refused {
		d.Reason = reason
		return d, nil
	}
	if err != nil {
		return d, err
	}
	c, did, err := regcase.Write(root, made.Case, made.Trace)
	if err != nil {
		return d, err
	}
	path := strings.Join([]string{c.Labels[0], c.ID}, "/")
	d.ID, d.Did, d.Path, d.Title = c.ID, string(did), &path, c.Title
	return d, nil
}

// makeCase tries the group's specimens in turn. If no case can be made of any, the first one's reason is the answer.
func makeCase(maker *ratchet.Maker, g *sighted, healthy *baseline.Snapshot) (made ratchet.Made, first error) {
	s := ratchet.Sightings{Count: g.Count, First: g.FirstSeen, Last: g.LastSeen, Traces: g.traces, Healthy: healthy}
	for _, specimen := range g.Candidates() {
		j := g.judged[specimen.TraceID]
		i := slices.IndexFunc(j.report.Findings, func(f classify.Finding) bool { return f.Fingerprint.Equal(g.Fingerprint) })
		f := j.report.Findings[i]
		made, err := maker.Make(j.recording(f), f, s, j.baseline)
		if _, refused := ratchet.AsRefused(err); !refused {
			return made, err
		}
		first = cmp.Or(first, err)
	}
	return made, first
}
