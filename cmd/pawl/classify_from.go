package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/home"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// preview is a look at what would have been filed of a home's traces. It writes nothing.
type preview struct {
	*app
	from     homeFlags
	since    string
	most     int
	baseline string

	cfg   config.Config
	home  *home.Home
	begin time.Time
	end   time.Time
}

const (
	maxPreviewed = 2000 // traces, unless --max-traces says otherwise
	topShown     = 5
)

func (p *preview) flags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&p.from.name, "from", "", "read the traces of `NAME`, a line of homes in pawl.yaml, or of one of "+strings.Join(home.Kinds(), ", ")+", and say what would have been filed")
	fs.StringVar(&p.since, "since", "7d", "with --from: traces that began since this `TIME` or for this long: 7d, 36h")
	fs.StringVar(&p.from.url, "url", "", "with --from: its `URL` (default: pawl.yaml's, the vendor's environment variable, the vendor's cloud)")
	fs.StringVar(&p.from.keyEnv, "key-env", "", "with --from: the environment `VARIABLE` that holds the key (Langfuse: the public key)")
	fs.StringVar(&p.from.secretEnv, "secret-env", "", "with --from: the environment `VARIABLE` that holds the secret key or password")
	fs.StringVar(&p.from.project, "project", "", "with --from: the `PROJECT` of LangSmith or Phoenix, the tenant of Tempo")
	fs.StringSliceVar(&p.from.services, "service", nil, "with --from: only this `SERVICE`, a glob; repeatable (Jaeger and Tempo look for nothing else)")
	fs.IntVar(&p.most, "max-traces", maxPreviewed, "with --from: read at most `N` traces, the latest first")
}

// previewFlags are of no use without --from.
var previewFlags = []string{"since", "url", "key-env", "secret-env", "project", "service", "max-traces"}

// args checks that the traces of files are named, or a home is.
func (p *preview) args(cmd *cobra.Command, args []string) error {
	if p.from.name != "" && len(args) > 0 {
		return errors.New("name recorded traces, or a home with --from: not both")
	}
	if p.from.name != "" {
		return nil
	}
	for _, f := range previewFlags {
		if cmd.Flags().Changed(f) {
			return fmt.Errorf("--%s goes with --from", f)
		}
	}
	return somePaths(cmd, args)
}

func (p *preview) run(ctx context.Context) (err error) {
	if p.cfg, err = p.loadOffline(); err != nil {
		return err
	}
	p.end = time.Now()
	p.until = p.end
	if p.begin, err = sinceTime(p.since, p.end); err != nil {
		return usageError(err, "--since 7d, --since 36h or --since 2026-11-30T22:00:00Z")
	}
	if p.home, err = p.homeOf(p.cfg, p.from); err != nil {
		return err
	}
	maker, err := p.makerOf(p.cfg)
	if err != nil {
		return err
	}
	base, err := readBaseline(p.baseline)
	if err != nil {
		return err
	}
	traces, err := p.read(ctx)
	if err != nil {
		return err
	}
	all, others := p.agents(p.judge(traces, maker.Engine, base))
	told, err := p.look(ctx, all, maker)
	if err != nil {
		return err
	}
	told.Others = others
	if err := p.print(told, all); err != nil {
		return err
	}
	switch {
	case p.unread+p.leftOut > 0:
		return &exitError{code: exitUndecided}
	case slices.ContainsFunc(all, bad):
		return errFinding
	}
	return nil
}

// read reads the window. What a home does not give is told and counted; without a single trace there is nothing to say.
func (p *preview) read(ctx context.Context) ([]trajectory.Trace, error) {
	r := reading{app: p.app, warned: map[string]bool{}}
	bar := p.progress(-1, "reading "+p.home.Name())
	for item, err := range interruptible(ctx, p.home.Window(ctx, home.Window{From: p.begin, To: p.end, MaxTraces: p.most})) {
		if limit, ok := errors.AsType[*home.LimitError](err); ok {
			p.unread++
			printError(p.stderr, limit.Error()+" (--max-traces, or a shorter --since)")
			continue
		}
		r.take(item, err)
		_ = bar.Add(item.Report.Spans)
	}
	_ = bar.Finish()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	found := slices.DeleteFunc(r.found(), func(t trajectory.Trace) bool { return firstStart(t).Before(p.begin) }) // it began before, and only its end was read
	if len(found) == 0 && p.unread > 0 {
		return nil, &exitError{code: exitUndecided}
	}
	if len(found) == 0 {
		return nil, &exitError{exitUndecided, fmt.Errorf("%s has no traces since %s", p.home.Name(), p.begin.UTC().Format(time.RFC3339)), "a longer --since, or look at --project and --service"}
	}
	return found, nil
}

// agents leaves out what is no agent's trace: a store of all services holds many. Of those it says how many there are.
func (p *preview) agents(all []judged) (agents []judged, others int) {
	for _, j := range all {
		if j.trajectory.IsAgent() && (len(p.from.services) == 0 || p.home.Serves(j.trajectory.Service)) {
			agents = append(agents, j)
		}
	}
	return agents, len(all) - len(agents)
}

// filing is what would have become of one failure.
type filing struct {
	Kind   string         `json:"kind"` // always "failure"
	Rank   int            `json:"rank"` // from 1
	ID     string         `json:"id"`
	Label  classify.Label `json:"label"`
	Title  string         `json:"title"`
	Why    string         `json:"why"`
	Did    string         `json:"did"`    // case: a case would have been proposed | waits: for a person, in the inbox | refused: no case can be made of it
	Reason string         `json:"reason"` // why
	Count  int            `json:"count"`  // traces that show it
	Traces []string       `json:"traces"` // the first few of them
	// Services and times as far as the window goes.
	Service string            `json:"service"`
	Repo    *string           `json:"repo"` // that targets names for the service; null where none does
	First   time.Time         `json:"first_seen"`
	Last    time.Time         `json:"last_seen"`
	Worst   classify.Severity `json:"severity"`
}

// told is the answer.
type told struct {
	Kind    string    `json:"kind"` // always "summary"
	Home    string    `json:"home"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Traces  int       `json:"traces"` // of agents
	Others  int       `json:"others"` // that hold nothing of an agent, or are of another service
	Failing int       `json:"failing"`
	Unclear int       `json:"unclassified"`
	Partial bool      `json:"partial"` // a part could not be read, or was left out
	Cases   int       `json:"cases"`
	Pulls   int       `json:"pull_requests"`
	Waiting int       `json:"waiting"` // failures in the inbox
	Refused int       `json:"refused"`
	Minutes int       `json:"reviewer_minutes"`
	By      string    `json:"reviewer_minutes_by"` // how they are estimated
	Written bool      `json:"written"`             // always false

	filings []filing
}

const maxTraceIDs = 3

// look groups what was found, and tries out of what is due whether a case can be made of it.
func (p *preview) look(ctx context.Context, all []judged, maker *ratchet.Maker) (told, error) {
	t := told{Kind: "summary", Home: p.home.Name(), From: p.begin.UTC(), To: p.end.UTC(), Traces: len(all), Partial: p.unread+p.leftOut > 0, By: minutesBy}
	policy, err := prPolicyOf(p.cfg)
	if err != nil {
		return t, err
	}
	healthy, runs := healthyRuns(all), passingRuns(all)
	groups := groupsOf(withUnclassified(all))
	bar := p.progress(max(1, len(groups)), "trying out cases")
	pulls := map[string]int{}
	for _, g := range groups {
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		f := filing{Kind: "failure", ID: g.ID(), Label: g.Fingerprint.Label, Title: g.Title, Why: g.Why, Did: "waits", Count: g.Count, Traces: g.traces[:min(len(g.traces), maxTraceIDs)],
			Service: g.Service, First: g.FirstSeen, Last: g.LastSeen, Worst: g.Severity, Repo: p.repo(g.Service)}
		due, why := policy.Due(&g.Group)
		if f.Reason = why; due {
			f.Did = "case"
			_, err := makeCase(maker, g, healthy, runs)
			if reason, refused := ratchet.AsRefused(err); refused {
				f.Did, f.Reason = "refused", reason
			} else if err != nil {
				return t, err
			}
		}
		t.count(f, pulls)
		t.filings = append(t.filings, f)
		_ = bar.Add(1)
	}
	for _, j := range all {
		switch j.report.Verdict {
		case classify.Failing:
			t.Failing++
		case classify.Unclassified:
			t.Unclear++
		}
	}
	t.rank()
	perPull := max(1, p.cfg.GHPR.Limits.CasesPerPR)
	for _, n := range pulls {
		t.Pulls += (n + perPull - 1) / perPull
	}
	t.Minutes = minutes(t.Pulls, t.Cases, t.Waiting)
	return t, nil
}

// count adds a failure to the sums, and a case to the pull request of its label and service.
func (t *told) count(f filing, pulls map[string]int) {
	switch f.Did {
	case "case":
		t.Cases++
		pulls[string(f.Label)+"\x00"+f.Service]++
	case "waits":
		t.Waiting++
	default:
		t.Refused++
	}
}

// rank puts first what would become a case, then what is worst, then what was seen most.
func (t *told) rank() {
	order := []string{"case", "waits", "refused"}
	worst := []classify.Severity{classify.Blocking, classify.Warning, classify.Info}
	slices.SortStableFunc(t.filings, func(a, b filing) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Did), slices.Index(order, b.Did)), cmp.Compare(slices.Index(worst, a.Worst), slices.Index(worst, b.Worst)),
			cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	for i := range t.filings {
		t.filings[i].Rank = i + 1
	}
}

// What a reviewer's time is reckoned by. These are assumptions, and are told as such.
const (
	perPullRequest = 2.0 // to open a pull request, see what it is, and merge or close it
	perCase        = 3.0 // to read one case with the spans that show it
	perWaiting     = 1.5 // to look at one group in the inbox and label or dismiss it
	minutesBy      = "an estimate, not a measurement: 2 minutes a pull request, 3 a case, 1.5 a group in the inbox"
)

func minutes(pulls, cases, waiting int) int {
	return int(math.Ceil(perPullRequest*float64(pulls) + perCase*float64(cases) + perWaiting*float64(waiting)))
}

// withUnclassified adds, to the reports of traces that no rule explains, what groups them.
func withUnclassified(all []judged) []judged {
	out := slices.Clone(all)
	for i, j := range out {
		if j.report.Verdict == classify.Unclassified {
			out[i].report.Findings = append(slices.Clone(j.report.Findings), j.noLabel())
		}
	}
	return out
}

// repo is the repository that would have got a service's cases.
func (p *preview) repo(service string) *string {
	for _, t := range p.cfg.Targets {
		if ok, err := path.Match(string(t.Service), service); err == nil && ok {
			return &t.Repo
		}
	}
	return nil
}

// blindLine is one thing that rules could not see, as --json prints it.
type blindLine struct {
	Kind    string   `json:"kind"` // always "blind_spot"
	Service string   `json:"service"`
	Missing string   `json:"missing"`
	Count   int      `json:"judgements"`
	Rules   []string `json:"rules"`
	Remedy  string   `json:"remedy"`
}

func (p *preview) print(t told, all []judged) error {
	if !p.json {
		_, err := fmt.Fprint(p.stdout, t.text(p.width()), blindSpots(all), t.end())
		return err
	}
	for _, f := range t.filings {
		if err := p.printJSON(f); err != nil {
			return err
		}
	}
	for _, s := range surveyed(all) {
		for _, b := range blindOf(s) {
			if err := p.printJSON(b); err != nil {
				return err
			}
		}
	}
	return p.printJSON(t)
}

func blindOf(s sight.Service) (out []blindLine) {
	for _, x := range s.Blind {
		if !x.Missing.Optional() {
			out = append(out, blindLine{"blind_spot", s.Name, string(x.Missing), x.Count, append([]string{}, x.Rules...), x.Remedy})
		}
	}
	return out
}

// text says what would have been filed, the first few in full.
func (t told) text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of agents in %s, from %s to %s: %d failing, %d unclassified.\n", plural(t.Traces, "trace"), t.Home, t.From.Format(time.DateTime), t.To.Format(time.DateTime), t.Failing, t.Unclear)
	if t.Others > 0 {
		fmt.Fprintf(&b, "%s hold nothing of an agent, or are of another service, and are left out.\n", plural(t.Others, "further trace"))
	}
	fmt.Fprintf(&b, "Would have been filed: %s in %s; %s in the inbox for a person", plural(t.Cases, "case"), plural(t.Pulls, "pull request"), plural(t.Waiting, "failure"))
	if t.Refused > 0 {
		fmt.Fprintf(&b, "; of %d no case can be made", t.Refused)
	}
	fmt.Fprintf(&b, ".\nReviewer time: %s (%s).\n", plural(t.Minutes, "minute"), t.By)
	for _, f := range t.filings[:min(len(t.filings), topShown)] {
		fmt.Fprintf(&b, "\n%d. %s  %s\n", f.Rank, f.Label, shown(f.Title))
		b.WriteString(indent(fmt.Sprintf("%s of %s: %s", plural(f.Count, "trace"), cmp.Or(shown(f.Service), "(no service.name)"), few(f.Traces)), "   ", width))
		b.WriteString(indent(shown(cut(f.Why, 300)), "   ", width))
		b.WriteString(indent(f.becomes(), "   ", width))
	}
	if more := len(t.filings) - topShown; more > 0 {
		fmt.Fprintf(&b, "\nAnd %d more: --json tells all of them.\n", more)
	}
	return b.String()
}

func (f filing) becomes() string {
	where := "no line of targets in pawl.yaml names its repository yet"
	if f.Repo != nil {
		where = "in " + *f.Repo
	}
	switch f.Did {
	case "case":
		return fmt.Sprintf("-> a case (%s), %s", f.Reason, where)
	case "refused":
		return "-> no case can be made of it: " + shown(f.Reason)
	}
	return "-> the inbox (" + shown(f.Reason) + ")"
}

func (t told) end() string {
	if t.Partial {
		return "\nNothing was written. A part could not be read, as told above: what is said holds for the rest.\n"
	}
	return "\nNothing was written.\n"
}
