package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/judge"
	"github.com/pawl-dev/pawl/ratchet"
)

func judgeCommand(a *app) *cobra.Command {
	cmd := group("judge", "the model that is asked of what no rule explains",
		judgeRubricCommand(a), judgeTryCommand(a), judgeCalibrateCommand(a), judgeStatusCommand(a))
	cmd.Long = "The judge is off by default (judge.enabled). It is asked only of traces that went wrong and that no rule explains; it chooses from the labels of the\n" +
		"rules or says none, has to quote what it means, and waits for people: it is no reason for a pull request before it was held against 50 labels that\n" +
		"people gave and said the same in 0.85 of them."
	return cmd
}

func judgeRubricCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "rubric",
		Short:   "print what the model is told about judging, for a file of your own",
		Long:    "Prints the rubric that judge.rubric names, or the built-in one. Put it into your repository, change it there, and name it in judge.rubric.",
		Example: "  pawl judge rubric > pawl-rubric.md",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadOffline()
			if err != nil {
				return err
			}
			text, err := rubricOf(cfg)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(struct {
					Kind   string `json:"kind"`
					Digest string `json:"digest"`
					Text   string `json:"text"`
				}{"rubric", judge.RubricDigest(text), text})
			}
			_, err = io.WriteString(a.stdout, text)
			return err
		},
	}
}

// opined is a trace with what the judge said of it.
type opined struct {
	Kind    string           `json:"kind"` // always "opinion"
	TraceID string           `json:"trace_id"`
	Verdict classify.Verdict `json:"verdict"` // of the rules
	judge.Opinion
	Error string `json:"error"` // why it was not decided, where the model could not be asked
}

func judgeTryCommand(a *app) *cobra.Command {
	var only []string
	var all bool
	cmd := &cobra.Command{
		Use:   "try FILE|DIR|-...",
		Short: "ask the model of recorded traces that went wrong and that no rule explains, and show its votes",
		Long: "Asks as the service would, within judge.budget, and keeps nothing. Exit code 0: the model was asked, or there was nothing to ask;\n" +
			"3: of some trace nothing was decided.",
		Example: "  pawl judge try traces.jsonl --trace 4bf92f3577b34da6a3ce929d0e0e4736",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bench, err := a.bench(cmd.Context(), args)
			if err != nil {
				return err
			}
			return bench.try(cmd.Context(), only, all)
		},
	}
	cmd.Flags().StringArrayVar(&only, "trace", nil, "ask of the trace with this `ID` alone, whatever the rules say of it; may be given several times")
	cmd.Flags().BoolVar(&all, "all", false, "ask of every trace")
	return cmd
}

// benching is a judge with the traces that it is asked of.
type benching struct {
	*app
	panel *judge.Panel
	maker *ratchet.Maker
	pay   judge.Purse
	all   []judged
}

func (a *app) bench(ctx context.Context, paths []string) (*benching, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	maker, err := a.makerOf(cfg)
	if err != nil {
		return nil, err
	}
	panel, err := panelOf(a.log, cfg, maker.Engine.Rules(), maker.Redactor, nil)
	if err != nil {
		return nil, err
	}
	all, err := a.judgePaths(ctx, maker.Engine, paths, "")
	if err != nil {
		return nil, err
	}
	return &benching{a, panel, maker, purseOf(cfg), all}, nil
}

// ask puts one trace to the judge.
func (b *benching) ask(ctx context.Context, j *judged) (opined, error) {
	out := opined{Kind: "opinion", TraceID: j.trace.ID, Verdict: j.report.Verdict, Opinion: judge.Opinion{Outcome: judge.NotDecided, Judge: b.panel.ID(), Votes: []judge.Vote{}}}
	run, session, err := b.maker.Redacted(j.trace)
	if err != nil {
		out.Error = err.Error()
		return out, nil
	}
	signs := ""
	if j.report.Verdict == classify.Unclassified {
		signs = session.Text(classify.NoLabelFinding(run).Why)
	}
	op, err := b.panel.Judge(ctx, judge.Question{Run: run, Signs: signs, Verify: session.Verify, Pay: b.pay})
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if op.Votes == nil {
		op.Votes = []judge.Vote{}
	}
	if out.Opinion = op; err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

func (b *benching) try(ctx context.Context, only []string, all bool) error {
	asked, undecided := 0, 0
	for i := range b.all {
		j := &b.all[i]
		if wanted, named := matches(only, j.trace.ID); len(only) > 0 && !named || len(only) == 0 && !all && j.report.Verdict != classify.Unclassified || !wanted {
			continue
		}
		t, err := b.ask(ctx, j)
		if err != nil {
			return err
		}
		asked++
		if t.Outcome == judge.NotDecided {
			undecided++
		}
		if err := b.show(&t); err != nil {
			return err
		}
	}
	switch {
	case asked == 0 && len(only) > 0:
		return usageError(fmt.Errorf("no trace here has the id %s", strings.Join(only, " or ")), "pawl classify, which lists them")
	case asked == 0 && !b.json:
		fmt.Fprintf(b.stderr, "None of %s went wrong without a rule to explain it: nothing was asked. --all asks of every trace.\n", plural(len(b.all), "trace"))
	case undecided > 0:
		return &exitError{code: exitUndecided}
	}
	return nil
}

// matches says whether an id is one of those that are wanted, or begins with one.
func matches(only []string, id string) (wanted, named bool) {
	for _, o := range only {
		if o != "" && strings.HasPrefix(id, strings.ToLower(o)) {
			return true, true
		}
	}
	return len(only) == 0, false
}

func (b *benching) show(t *opined) error {
	if b.json {
		return b.printJSON(t)
	}
	var w strings.Builder
	fmt.Fprintf(&w, "%s  %s", t.TraceID, t.Outcome)
	if t.Outcome == judge.Labelled {
		fmt.Fprintf(&w, " %s, %.2f of the votes", t.Label, t.Confidence)
	}
	if why := t.Error; why != "" || t.Why != "" {
		if why == "" {
			why = t.Why
		}
		fmt.Fprintf(&w, ": %s", shown(why))
	}
	w.WriteByte('\n')
	if t.Cut != "" {
		fmt.Fprintf(&w, "  not shown to the model: %s\n", t.Cut)
	}
	for i, v := range t.Votes {
		if v.Void != "" {
			fmt.Fprintf(&w, "  vote %d: void: %s\n", i+1, shown(v.Void))
			continue
		}
		fmt.Fprintf(&w, "  vote %d: %s: %s\n", i+1, v.Label, shown(v.Why))
		for _, c := range v.Evidence {
			fmt.Fprintf(&w, "    %s %q\n", c.SpanID, shown(c.Quote))
		}
	}
	_, err := io.WriteString(b.stdout, w.String())
	return err
}

func judgeCalibrateCommand(a *app) *cobra.Command {
	var server, out string
	var traces []string
	cmd := &cobra.Command{
		Use:   "calibrate (LABELS --traces FILE|DIR | --server URL)",
		Short: "hold the judge against labels that people gave",
		Long: "LABELS has one JSON object a line, {\"trace_id\": \"...\", \"label\": \"loop\"}, none where people say that no label fits; the model is asked of each of these\n" +
			"traces, within judge.budget. -o keeps the result for judge.calibration: it holds for this model and this rubric alone. With --server the running service says\n" +
			"how its judge agrees with what people decided there. Exit code 0: calibrated; 1: it agrees too seldom; 3: too few labels.",
		Example: "  pawl judge calibrate labels.jsonl --traces traces/ -o pawl-judge.json\n  pawl judge calibrate --server http://127.0.0.1:7295",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && cmd.Flags().Changed("server"):
				report, err := a.juryReport(cmd.Context(), server)
				if err != nil {
					return err
				}
				return a.tellAgreement(report.Agreement)
			case len(args) != 1 || len(traces) == 0:
				return usageError(errors.New("name a file of labels and, with --traces, where its traces are; or --server"), cmd.CommandPath()+" --help")
			}
			return a.calibrate(cmd.Context(), args[0], traces, out)
		},
	}
	cmd.Args = cobra.MaximumNArgs(1)
	f := cmd.Flags()
	f.StringVar(&server, "server", "", "ask the service at this `URL`")
	f.StringArrayVar(&traces, "traces", nil, "recorded traces: a `FILE` or directory; may be given several times")
	f.StringVarP(&out, "output", "o", "", "keep the result in this `FILE`")
	return cmd
}

func (a *app) calibrate(ctx context.Context, file string, traces []string, out string) error {
	labels, order, err := readLabels(file)
	if err != nil {
		return err
	}
	b, err := a.bench(ctx, traces)
	if err != nil {
		return err
	}
	known := map[classify.Label]bool{judge.None: true}
	for _, c := range taxonomyOf(b.maker.Engine.Rules()) {
		known[c.Label] = true
	}
	g := ratchet.Agreement{Judge: b.panel.ID(), Model: b.panel.Model(), Rubric: b.panel.RubricDigest(), Set: file, Date: a.now().UTC().Format(time.DateOnly)}
	by := map[string]*judged{}
	for i := range b.all {
		by[b.all[i].trace.ID] = &b.all[i]
	}
	for _, id := range order {
		j := by[id]
		if j == nil {
			return usageError(fmt.Errorf("%s labels trace %s, which is not among the traces", file, shown(id)), "--traces, with the file that has it")
		}
		if !known[labels[id]] {
			return usageError(fmt.Errorf("%s: %s is no label of a rule, so the judge cannot choose it", file, shown(string(labels[id]))), "pawl rules list")
		}
		t, err := b.ask(ctx, j)
		if err != nil {
			return err
		}
		g.Add(labels[id], t.Opinion)
		fmt.Fprintf(a.stderr, "%s  people: %s, judge: %s %s%s\n", id, labels[id], t.Outcome, t.Label, shown(t.Error))
	}
	if out != "" {
		doc, err := json.MarshalIndent(g, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(out, append(doc, '\n'), 0o644); err != nil {
			return usageError(err, "")
		}
	}
	return a.tellAgreement(g)
}

// readLabels reads what people said of traces, in the file's order.
func readLabels(file string) (labels map[string]classify.Label, order []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, usageError(err, "")
	}
	defer f.Close()
	labels = map[string]classify.Label{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var l struct {
			TraceID string         `json:"trace_id"`
			Label   classify.Label `json:"label"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.TraceID == "" || l.Label == "" {
			return nil, nil, usageError(fmt.Errorf(`%s:%d: want {"trace_id": "...", "label": "..."}`, file, n), "")
		}
		l.TraceID = strings.ToLower(l.TraceID)
		if _, twice := labels[l.TraceID]; twice {
			return nil, nil, usageError(fmt.Errorf("%s:%d: trace %s has a label already", file, n, shown(l.TraceID)), "")
		}
		labels[l.TraceID], order = l.Label, append(order, l.TraceID)
	}
	if err := lines.Err(); err != nil {
		return nil, nil, usageError(fmt.Errorf("%s: %w", file, err), "")
	}
	if len(order) == 0 {
		return nil, nil, usageError(fmt.Errorf("%s holds no label", file), "")
	}
	return labels, order, nil
}

func (a *app) tellAgreement(g ratchet.Agreement) error {
	share, low, high := g.Share()
	may, why := g.Calibrated()
	if a.json {
		var known *float64
		if g.Labels > 0 {
			known = &share
		}
		err := a.printJSON(struct {
			Kind string `json:"kind"`
			ratchet.Agreement
			Share      *float64 `json:"share"`
			Low        float64  `json:"low"`
			High       float64  `json:"high"`
			Calibrated bool     `json:"calibrated"`
			Why        string   `json:"why"`
		}{"calibration", g, known, low, high, may, why})
		if err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(a.stdout, "%s (%s): %s\n", g.Model, g.Judge, why); err != nil {
		return err
	}
	switch {
	case may:
		return nil
	case g.Labels < ratchet.LeastLabels:
		return &exitError{code: exitUndecided}
	}
	return errFinding
}

func judgeStatusCommand(a *app) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "what the judge of the running service said, what it cost, and what waits",
		Example: "  pawl judge status --server http://127.0.0.1:7295",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.juryReport(cmd.Context(), server)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(r)
			}
			return a.tellJury(r)
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "the service's `URL` (default listen.http)")
	return cmd
}

func (a *app) juryReport(ctx context.Context, server string) (r ratchet.JuryReport, err error) {
	s, err := a.service(server)
	if err != nil {
		return r, err
	}
	doc, _, err := s.call(ctx, http.MethodGet, "/v1/judge", nil)
	if _, unknown := err.(absent); unknown {
		return r, usageError(errors.New("the service asks no model"), "judge.enabled in its pawl.yaml")
	}
	if err == nil {
		err = json.Unmarshal(doc, &r)
	}
	return r, err
}

func (a *app) tellJury(r ratchet.JuryReport) error {
	var w strings.Builder
	fmt.Fprintf(&w, "%s (%s): %s\n", r.Model, r.Judge, r.Why)
	fmt.Fprintf(&w, "today: %d requests, %d tokens, %.4f USD", r.Spent.Questions, r.Spent.Tokens, r.Spent.USD)
	if b := r.Budget; b.Tokens > 0 || b.USD > 0 {
		fmt.Fprintf(&w, " (budget: %d tokens, %g USD; 0 is no bound)", b.Tokens, b.USD)
	}
	w.WriteByte('\n')
	for _, o := range []string{string(judge.Labelled), string(judge.NoneFits), string(judge.Split), string(judge.NotDecided), string(ratchet.JudgementWaiting)} {
		if n := r.Counts[o]; n > 0 {
			fmt.Fprintf(&w, "%s: %d\n", o, n)
		}
	}
	for _, j := range r.Judgements {
		if j.Waits != "" && j.State == ratchet.JudgementWaiting {
			fmt.Fprintf(&w, "%s waits until %s: %s\n", j.TraceID, j.NotBefore.Format(time.DateTime), shown(j.Waits))
		}
	}
	_, err := io.WriteString(a.stdout, w.String())
	return err
}
