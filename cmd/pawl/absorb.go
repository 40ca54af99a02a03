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
	var every bool
	cmd := &cobra.Command{
		Use:   "absorb FILE|DIR|-... --set DIR",
		Short: "classify recorded traces and write a case for each new failure, no network",
		Long: "Finds the failures in recorded traces and writes one regression case per failure into the set: redacted, proven red on its\n" +
			"own recording and on twins of it, and proven green where it is mended. A failure that could not be proven so is refused, with the reason. A failure that the set holds already is left alone, so absorbing the same traces again changes nothing.\n" +
			"One that was seen again after its case was enforced gets a further specimen below it, at most three.\n\n" +
			"Failures that are not blocking, or of low confidence, are reported and not absorbed; see `absorb` in pawl.yaml.",
		Example: "  pawl absorb traces.jsonl --set regressions\n  pawl absorb captures/ --set regressions --json",
		Args:    somePaths,
	}
	cmd.Flags().StringVar(&set, "set", "", "`DIR` of the regression set; made if it is not there (required)")
	cmd.Flags().StringVar(&baselineFile, "baseline", "", "judge cost by the runs in this `FILE` (default: learn from the traces given)")
	cmd.Flags().BoolVar(&every, "every", false, "take every failure that a case can assert, as if a person had approved each, whatever pawl.yaml says")
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
		policy := policyOf(cfg)
		policy.Every = every
		return a.absorb(cmd.Context(), all, maker, policy, set)
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
	Did    string         `json:"did"`  // created | escaped (a further specimen of a case that is enforced) | known | skipped (by the policy) | refused (no case can be made of it)
	Path   *string        `json:"path"` // of the case's directory; null when skipped or refused
	Title  string         `json:"title"`
	Count  int            `json:"count"`
	Reason string         `json:"reason"`
	Case   *proven        `json:"case"`  // null unless created
	Began  lineage.Story  `json:"began"` // what had changed when it began, as far as the traces given tell
}

// proven is what was shown of a case that was created, as --json prints it.
type proven struct {
	Form    string         `json:"form"`
	Weak    bool           `json:"weak"`
	Kills   []string       `json:"kills"`
	Healed  []string       `json:"healed"`  // the rule's repairs after which it passes
	Control *string        `json:"control"` // the healthy run that passes
	Bytes   map[string]int `json:"bytes"`   // of the redacted recording: whole, and trimmed to trace.json
}

// sighted is a group of an offline run with the traces that show it.
type sighted struct {
	ratchet.Group
	judged  map[string]judged // by trace id
	traces  []string
	history *lineage.History // of its service
}

// setAround is the nearest directory above dir that is a set, for it holds <label>/<label>-<hex>/case.yaml; "" if there is none.
func setAround(dir string) string {
	at, err := filepath.Abs(dir)
	for range 3 { // the set, the label and the case that dir may lie in
		at = filepath.Dir(at)
		if err == nil && isSet(os.DirFS(at)) {
			return at
		}
	}
	return ""
}

func isSet(dir fs.FS) bool {
	found, _ := fs.Glob(dir, "*/*/"+regcase.CaseFile)
	return slices.ContainsFunc(found, func(name string) bool {
		label, id, _ := strings.Cut(name, "/")
		return strings.HasPrefix(id, label+"-")
	})
}

func (a *app) absorb(ctx context.Context, all []judged, maker *ratchet.Maker, policy ratchet.Policy, set string) error {
	if outer := setAround(set); outer != "" {
		return usageError(fmt.Errorf("set %s lies in the set %s, and sets hold no sets", set, outer), "--set "+outer)
	}
	if err := os.MkdirAll(set, 0o755); err != nil {
		return usageError(fmt.Errorf("set: %w", err), "a directory that you may write to")
	}
	root, err := os.OpenRoot(set)
	if err != nil {
		return usageError(fmt.Errorf("set: %w", err), "")
	}
	defer root.Close()
	counts := becameOf{}
	healthy, passing := healthyRuns(all), passingRuns(all)
	for _, g := range groupsOf(all) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		did, err := writeCase(root, maker, policy, g, healthy, passing)
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
		counts.add(did)
		if err := a.printAbsorbed(did); err != nil {
			return err
		}
	}
	if a.json {
		return nil
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s\n", plural(len(all), "trace"), counts)
	return err
}

// becameOf counts what became of the groups of a run: by what was done, by form, and how many cases are weak.
type becameOf map[string]int

func (t becameOf) add(d absorbed) {
	t[d.Did]++
	if d.Case != nil {
		t["form "+d.Case.Form]++
		if d.Case.Weak {
			t["weak"]++
		}
	}
}

func (t becameOf) String() string {
	var kinds []string
	for _, form := range []string{"never", "budget", "fault"} {
		if n := t["form "+form]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, form))
		}
	}
	if n := t["weak"]; n > 0 {
		kinds = append(kinds, fmt.Sprintf("%d of them weak", n))
	}
	created := plural(t["created"], "case") + " created"
	if len(kinds) > 0 {
		created += " (" + strings.Join(kinds, ", ") + ")"
	}
	if n := t["escaped"]; n > 0 {
		created += fmt.Sprintf(", %s came again though enforced", plural(n, "failure"))
	}
	return fmt.Sprintf("%s, %d known already, %s refused, %s not absorbed", created, t["known"], plural(t["refused"], "failure"), plural(t["skipped"], "failure"))
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

// passing are the passing runs of a batch that stand alone, by what they are compared with.
type passing map[baseline.Key][]judged

func passingRuns(all []judged) passing {
	out := passing{}
	for _, j := range all {
		if k := baseline.KeyOf(j.trajectory); j.report.Verdict == classify.Passing {
			out[k] = append(out[k], j)
		}
	}
	return out
}

// beside are passing runs of the route of a failing one: those that call most tools first, then those nearest to it in time.
func (p passing) beside(failed judged) (out []trajectory.Trace) {
	var near []judged
	for _, j := range p[baseline.KeyOf(failed.trajectory)] {
		if j.trace.ID != failed.trace.ID && (failed.trajectory.SessionID == "" || j.trajectory.SessionID != failed.trajectory.SessionID) {
			near = append(near, j)
		}
	}
	distance := func(j judged) time.Duration { return j.trajectory.Start.Sub(failed.trajectory.Start).Abs() }
	slices.SortStableFunc(near, func(a, b judged) int {
		return cmp.Or(cmp.Compare(toolsOf(b), toolsOf(a)), cmp.Compare(distance(a), distance(b)), cmp.Compare(a.trace.ID, b.trace.ID))
	})
	for _, j := range near[:min(len(near), ratchet.MaxControls)] {
		out = append(out, j.trace)
	}
	return out
}

func toolsOf(j judged) int {
	names := map[string]bool{}
	for _, c := range j.trajectory.ToolCalls {
		names[c.Name] = true
	}
	return len(names)
}

func seen(t *trajectory.Trajectory) time.Time {
	if t.End.IsZero() {
		return t.Start
	}
	return t.End
}

func writeCase(root *os.Root, maker *ratchet.Maker, policy ratchet.Policy, g *sighted, healthy *baseline.Snapshot, runs passing) (absorbed, error) {
	d := absorbed{ID: g.ID(), Label: g.Fingerprint.Label, Did: "skipped", Title: g.Title, Count: g.Count, Began: g.story()}
	due, why := policy.Due(&g.Group)
	d.Reason = why
	if !due {
		return d, nil
	}
	made, err := makeCase(maker, g, healthy, runs)
	if reason, refused := ratchet.AsRefused(err); refused {
		d.Did, d.Reason = "refused", reason
		return d, nil
	}
	if err != nil {
		return d, err
	}
	c, did, err := regcase.Write(root, made.Case, made.Trace)
	if err != nil {
		return d, err
	}
	if did == regcase.Known {
		var why string
		if c, made, did, why, err = escape(root, maker, c, g, healthy, runs); err != nil {
			return d, err
		}
		d.Reason = cmp.Or(why, d.Reason)
	}
	if did != regcase.Known {
		p := c.Provenance
		d.Case = &proven{c.Form, c.Weak, p.Kills, append([]string{}, made.Healed...), p.Control, map[string]int{"whole": made.Whole, "trimmed": len(made.Trace)}}
	}
	path := c.Dir()
	d.ID, d.Did, d.Path, d.Title = c.ID, string(did), &path, c.Title
	return d, nil
}

// makeCase tries the group's specimens in turn. If no case can be made of any, the first one's reason is the answer.
func makeCase(maker *ratchet.Maker, g *sighted, healthy *baseline.Snapshot, runs passing) (made ratchet.Made, first error) {
	s := ratchet.Sightings{Count: g.Count, First: g.FirstSeen, Last: g.LastSeen, Traces: g.traces, Healthy: healthy}
	for _, specimen := range g.Candidates() {
		j := g.judged[specimen.TraceID]
		i := slices.IndexFunc(j.report.Findings, func(f classify.Finding) bool { return f.Fingerprint.Equal(g.Fingerprint) })
		f := j.report.Findings[i]
		s.Controls = runs.beside(j)
		made, err := maker.Make(j.recording(f), f, s, j.baseline)
		if _, refused := ratchet.AsRefused(err); !refused {
			return made, err
		}
		first = cmp.Or(first, err)
	}
	return made, first
}
