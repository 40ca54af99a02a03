package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// judged is one trace of an offline run with what the rules say of it.
type judged struct {
	trace      trajectory.Trace
	trajectory *trajectory.Trajectory
	report     classify.Report
	baseline   *baseline.Snapshot // that it was judged by
	session    []trajectory.Trace // all traces of its session, itself included; nil when it stands alone
	left       classify.Left      // how the user left the conversation that ends here, where no rule explains it
}

// noLabel is what groups a trace that is unclassified.
func (j judged) noLabel() classify.Finding {
	if j.left != classify.NotLeft {
		return classify.LeftFinding(j.trajectory, j.left)
	}
	return classify.NoLabelFinding(j.trajectory)
}

// recording is what a finding on the trace rests on: the trace, or all of its session.
func (j judged) recording(f classify.Finding) []trajectory.Trace {
	if f.TraceID() != "" {
		return j.session
	}
	return []trajectory.Trace{j.trace}
}

// maxWarnings is how many different warnings about what was derived or mended are shown: a folder of exports may have thousands.
const maxWarnings = 20

// readTraces reads all traces of the paths, by first start and then id. What cannot be read is reported on stderr and counted in a.unread;
// an error says that there is not one trace: nothing was judged, which must not look like a good result.
func (a *app) readTraces(ctx context.Context, paths []string) ([]trajectory.Trace, error) {
	r := reading{app: a, warned: map[string]bool{}}
	for item, err := range interruptible(ctx, importer.Walk(importer.Options{Stdin: a.stdin}, paths...)) {
		r.take(item, err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	found := r.found()
	switch {
	case len(found) == 0 && a.unread > 0:
		return nil, usageError(errors.New("nothing could be read"), "a file of OTLP JSON or protobuf, as a Collector's file exporter writes it")
	case len(found) == 0 && r.passed > 0:
		return nil, fmt.Errorf("there is no trace to judge: %s passed over for holding no telemetry", plural(r.passed, "file"))
	case len(found) == 0:
		return nil, errors.New("there is no trace to judge")
	case a.unread > 0:
		fmt.Fprintf(a.stderr, "pawl: %s could not be read: left out of what follows\n", plural(a.unread, "part"))
	}
	return found, nil
}

// reading collects telemetry from wherever it is recorded.
type reading struct {
	*app
	traces []ptrace.Traces
	logs   []plog.Logs
	passed int // files that hold none
	warned map[string]bool
	twice  importer.Overlap
}

// take adds an item, or tells what is wrong with a part.
func (r *reading) take(item importer.Item, err error) {
	if err != nil && passedOver(err) {
		r.log.Debug("passed over", "why", err)
		r.passed++
		return
	}
	if err != nil {
		r.reportProblem(err)
		return
	}
	for _, why := range item.Report.Rejected.Reasons {
		r.leftOut += why.Count
		fmt.Fprintf(r.stderr, "pawl: %s: left out: %s\n", item.File, why.Text)
	}
	for _, w := range append(item.Report.Warnings, r.twice.Add(item)) {
		if line := item.File + ": " + w; w != "" && !r.warned[line] && len(r.warned) < maxWarnings {
			r.warned[line] = true
			fmt.Fprintf(r.stderr, "pawl: %s\n", shown(line))
		}
	}
	switch item.Data.Signal {
	case wire.Traces:
		r.traces = append(r.traces, item.Data.Traces)
	case wire.Logs:
		r.logs = append(r.logs, item.Data.AllLogs()...)
	}
}

// found are the traces of what was taken, by first start and then id.
func (r *reading) found() []trajectory.Trace {
	found := trajectory.FromOTLP(r.traces, r.logs)
	if r.leftOut > 0 {
		fmt.Fprintf(r.stderr, "pawl: %s could be of no trace and is left out: what follows is told in part\n", plural(r.leftOut, "record"))
	}
	slices.SortFunc(found, func(x, y trajectory.Trace) int {
		return cmp.Or(firstStart(x).Compare(firstStart(y)), cmp.Compare(x.ID, y.ID))
	})
	return found
}

func firstStart(t trajectory.Trace) (first time.Time) {
	for i := range t.Spans {
		if s := t.Spans[i].Start; first.IsZero() || s.Before(first) {
			first = s
		}
	}
	for _, l := range t.Logs {
		if first.IsZero() || l.Time.Before(first) {
			first = l.Time
		}
	}
	return first
}

// passedOver tells a file that was merely met in a directory and holds no telemetry.
func passedOver(err error) bool {
	p, ok := errors.AsType[*importer.Problem](err)
	return ok && p.Found && errors.Is(err, importer.ErrNotTelemetry)
}

// reportProblem tells of a part that could not be read and counts it.
func (a *app) reportProblem(err error) {
	a.unread++
	p, ok := errors.AsType[*importer.Problem](err)
	if path, failed := errors.AsType[*fs.PathError](err); ok && failed {
		err = fmt.Errorf("%s: %w", p.File, path.Err)
	}
	printError(a.stderr, err.Error())
}

// plural gives a number with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// somePaths is the Args of the commands that read recorded traces.
func somePaths(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("name the recorded traces to read: files, directories, or - for standard input")
	}
	return nil
}

// judgePaths reads the traces of the paths and classifies them, by the baseline file if one is named.
func (a *app) judgePaths(ctx context.Context, engine *classify.Engine, paths []string, baselineFile string) ([]judged, error) {
	base, err := readBaseline(baselineFile)
	if err != nil {
		return nil, err
	}
	traces, err := a.readTraces(ctx, paths)
	if err != nil {
		return nil, err
	}
	return a.judge(traces, engine, base), nil
}

// judge builds and classifies all traces, and the sessions that they make up. Without a baseline of its own the run learns from itself, leaving out
// the trace that it judges.
func (a *app) judge(traces []trajectory.Trace, engine *classify.Engine, given *baseline.Snapshot) []judged {
	out := make([]judged, 0, len(traces))
	learnt := baseline.New()
	for _, t := range a.build(traces) {
		engine.Price(t.trajectory)
		learnt.Learn(baseline.Measure(t.trajectory))
		out = append(out, t)
	}
	own, until := learnt.Snapshot(), a.until
	for i := range out {
		if end := seen(out[i].trajectory); a.until.IsZero() && end.After(until) {
			until = end
		}
	}
	for _, members := range sessions(out) {
		session := joined(members)
		for _, j := range members {
			if j.baseline = given; given == nil {
				j.baseline = own.Without(baseline.Measure(j.trajectory))
			}
			j.trajectory = session.Settle(j.trajectory)
			j.report = engine.Classify(j.trajectory, j.baseline)
		}
		found := engine.ClassifySession(session, given)
		for _, j := range members {
			j.report = engine.WithSession(j.trajectory, j.report, found)
		}
		leave(engine, members, until)
	}
	return out
}

// leave judges how the user left a conversation, by its last trace: if nothing came after it until the end of what is known, for long enough.
func leave(engine *classify.Engine, members []*judged, until time.Time) {
	last := members[0]
	for _, j := range members {
		if j.trajectory.Start.After(last.trajectory.Start) {
			last = j
		}
	}
	if until.Sub(seen(last.trajectory)) < engine.LeftAfter() {
		return
	}
	if last.left = engine.Left(last.trajectory, last.report); last.left != classify.NotLeft {
		last.report = last.report.Flagged()
	}
}

// sessions groups the traces of one run by session, and notes with each the traces of its own.
func sessions(all []judged) [][]*judged {
	parts := make([]*trajectory.Trajectory, len(all))
	by := map[*trajectory.Trajectory]*judged{}
	for i := range all {
		parts[i] = all[i].trajectory
		by[parts[i]] = &all[i]
	}
	var out [][]*judged
	for _, session := range trajectory.Sessions(parts) {
		var members []*judged
		var traces []trajectory.Trace
		for _, p := range session {
			members, traces = append(members, by[p]), append(traces, by[p].trace)
		}
		for _, j := range members {
			if len(members) > 1 {
				j.session = traces
			}
		}
		out = append(out, members)
	}
	return out
}

func joined(members []*judged) *trajectory.Trajectory {
	var parts []*trajectory.Trajectory
	for _, j := range members {
		parts = append(parts, j.trajectory)
	}
	return trajectory.Join(parts)
}

// build brings the traces into normal form. One that breaks a dialect is a bug of pawl: it is told of, counted in a.unread, and costs that trace.
func (a *app) build(traces []trajectory.Trace) []judged {
	out := make([]judged, 0, len(traces))
	var reader trajectory.Reader
	one := func(t trajectory.Trace) {
		defer func() {
			if p := recover(); p != nil {
				a.log.Debug("a trace broke pawl", "trace", t.ID, "panic", p, "stack", string(debug.Stack()))
				a.reportProblem(fmt.Errorf("trace %s broke pawl (%v): please report this with the trace; it is left out", t.ID, p))
			}
		}()
		out = append(out, judged{trace: t, trajectory: reader.Build(t)})
	}
	for _, t := range traces {
		one(t)
	}
	return out
}

// engineOf builds the engine that the configuration describes.
func (a *app) engineOf(cfg config.Config) (*classify.Engine, error) {
	rules, err := a.rulesOf(cfg)
	if err != nil {
		return nil, err
	}
	return a.engineWith(cfg, rules)
}

// engineWith builds it for some of the rules: parameters of the others, and severities of labels that the others give, are left out.
func (a *app) engineWith(cfg config.Config, rules []classify.Rule) (*classify.Engine, error) {
	cat, err := catalogOf(cfg)
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	prices, err := pricesOf(cfg)
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	engine, err := classify.New(a.log, rules, classify.Options{Params: overridesOf(cfg, rules), Severity: severityOf(cfg, rules), Catalog: cat, Prices: prices, Policy: policyLines(cfg), LeftAfter: leftAfter(cfg)})
	if err != nil {
		return nil, usageError(err, "pawl config check")
	}
	return engine, nil
}

// leftAfter is how long nothing comes after a conversation that was abandoned, 0 where nobody is to look for such.
func leftAfter(cfg config.Config) time.Duration {
	if !cfg.Absorb.Abandoned {
		return 0
	}
	return time.Duration(cfg.Absorb.SessionQuiet)
}

func severityOf(cfg config.Config, rules []classify.Rule) map[classify.Label]classify.Severity {
	out := map[classify.Label]classify.Severity{}
	for _, r := range rules {
		if s, ok := cfg.Severity[config.Label(r.Label)]; ok {
			out[r.Label] = classify.Severity(s)
		}
	}
	return out
}

func overridesOf(cfg config.Config, rules []classify.Rule) map[string]map[string]any {
	over, names := cfg.Rules.Overrides(), namesOf(rules)
	maps.DeleteFunc(over, func(name string, _ map[string]any) bool { return !slices.Contains(names, name) })
	return over
}

// readBaseline reads the file of --baseline; "" is none.
func readBaseline(path string) (*baseline.Snapshot, error) {
	if path == "" {
		return nil, nil
	}
	b, err := loadBaseline(path)
	if err != nil {
		return nil, err
	}
	return b.Snapshot(), nil
}

func loadBaseline(path string) (*baseline.Baseline, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError(err, "pawl baseline learn FILE -o "+path)
	}
	defer f.Close()
	b, err := baseline.Read(f)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", path, err), "pawl baseline learn FILE -o a new file")
	}
	return b, nil
}
