package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify"
)

func classifyCommand(a *app) *cobra.Command {
	p := &preview{app: a}
	cmd := &cobra.Command{
		Use:   "classify FILE|DIR|-... | --from NAME",
		Short: "label recorded traces, offline; or say what would have been filed of those that live elsewhere",
		Long: "Reads recorded telemetry (OTLP JSON or protobuf, one request or many, and the exports of Jaeger, Tempo, CloudWatch, Phoenix,\n" +
			"Langfuse, LangSmith, TRAIL and the Go stdout exporter; gzip and zstd accepted), brings each trace into one normal form and runs the rules over it. All traces of one call are seen together.\n\n" +
			"A rule that cannot see says which fact is missing and which setting of your instrumentation supplies it.\n\n" +
			"With --from the traces of the last days are read from where they live, and what would have been filed is told: the five most pressing failures, the time that it takes\n" +
			"people, and what cannot be seen. Nothing is written, there or here. It needs no pawl.yaml: keys are taken from the environment as the vendor's own tools do.\n" +
			"--json prints a line for each failure and each blind spot, and a summary.\n\n" +
			"Exit code 1: at least one trace is failing or unclassified; 3: none is, but a part could not be read or was left out, or there was no trace.",
		Example: "  pawl classify traces.jsonl\n  pawl classify --json captures/ | jq 'select(.verdict==\"failing\")'\n  zcat export.gz | pawl classify -\n" +
			"  pawl classify --from langfuse --since 7d\n  pawl classify --from tempo --url https://tempo.example.com --service 'shop-*' --since 24h",
		Args: p.args,
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&p.baseline, "baseline", "", "judge cost by the runs in this `FILE` (default: learn from the traces given)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if p.from.name != "" {
			return p.run(cmd.Context())
		}
		cfg, err := a.loadOffline()
		if err != nil {
			return err
		}
		engine, err := a.engineOf(cfg)
		if err != nil {
			return err
		}
		all, err := a.judgePaths(cmd.Context(), engine, args, p.baseline)
		if err != nil {
			return err
		}
		if err := a.printJudged(all); err != nil {
			return err
		}
		if slices.ContainsFunc(all, bad) {
			return errFinding
		}
		return nil
	}
	return cmd
}

func bad(j judged) bool {
	return j.report.Verdict == classify.Failing || j.report.Verdict == classify.Unclassified
}

func (a *app) printJudged(all []judged) error {
	if a.json {
		for _, j := range all {
			if err := a.printJSON(classify.NewLine(j.trajectory, j.report)); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := fmt.Fprint(a.stdout, findingList(all, a.width()), beginnings(all, a.width()), blindSpots(all), summary(all))
	return err
}

// findingList shows the traces that somebody should look at, each with its findings and the spans that show them.
func findingList(all []judged, width int) string {
	var b strings.Builder
	for _, j := range all {
		fs := j.report.Findings
		if len(fs) == 0 && j.report.Verdict != classify.Unclassified {
			continue
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", j.trace.ID, cmp.Or(shown(j.trajectory.Service), "(no service.name)"), j.report.Verdict)
		for _, f := range fs {
			fmt.Fprintf(&b, "  %s\n%s", mark(f, j.report), indent(shown(f.Why)+" "+spansOf(f), "    ", width))
		}
		if len(fs) == 0 {
			b.WriteString(indent("no rule explains it: "+shown(cut(j.unexplained(), 300)), "    ", width))
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n* the root cause; <- what another finding led to. What is not marked (warning) or (info) is blocking; (info) alone does not make a trace fail.\n")
	}
	return b.String()
}

// unexplained says what an unclassified trace tells of itself.
func (j judged) unexplained() string {
	if j.left != classify.NotLeft {
		return j.noLabel().Why
	}
	return classify.Unexplained(j.trajectory)
}

const maxSpansShown = 6

// spansOf names the spans that show a finding, each once; of one that spans a session its traces.
func spansOf(f classify.Finding) string {
	var spans, traces []string
	for _, e := range f.Evidence {
		if !slices.Contains(spans, e.SpanID) {
			spans = append(spans, e.SpanID)
		}
		if e.TraceID != "" && !slices.Contains(traces, e.TraceID) {
			traces = append(traces, e.TraceID)
		}
	}
	if len(traces) > 0 {
		return "[" + plural(len(traces), "trace") + " of the session: " + few(traces) + "]"
	}
	return "[" + few(spans) + "]"
}

func few(ids []string) string {
	if len(ids) > maxSpansShown {
		ids = append(ids[:maxSpansShown], fmt.Sprintf("and %d more", len(ids)-maxSpansShown))
	}
	return strings.Join(ids, " ")
}

// mark shows the severity of a finding and, by a star, the root cause.
func mark(f classify.Finding, r classify.Report) string {
	s := string(f.Label)
	if r.Primary != nil && *r.Primary == f.Label && f.Because == nil {
		s += " *"
	}
	if f.Because != nil {
		s += " <- " + *f.Because
	}
	if f.Severity != classify.Blocking {
		s += " (" + string(f.Severity) + ")"
	}
	return s
}

// blindSpots says, per service, which rules could not see and what opens their eyes; not those that judge only what a team may want.
func blindSpots(all []judged) string {
	var b strings.Builder
	for _, s := range surveyed(all) {
		for _, x := range s.Blind {
			if x.Missing.Optional() {
				continue
			}
			fmt.Fprintf(&b, "  %s: no %s in %s of %s\n      %s\n", cmp.Or(shown(s.Name), "(no service.name)"), x.Missing, plural(x.Count, "judgement"), strings.Join(x.Rules, ", "), shown(x.Remedy))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nBlind spots (pawl doctor tells more):\n" + b.String()
}

func summary(all []judged) string {
	count := map[classify.Verdict]int{}
	learnt := false
	for _, j := range all {
		count[j.report.Verdict]++
		learnt = learnt || j.baseline.LeftOneOut()
	}
	s := fmt.Sprintf("\n%s: %d failing, %d unclassified, %d incomplete, %d passing\n", plural(len(all), "trace"),
		count[classify.Failing], count[classify.Unclassified], count[classify.Incomplete], count[classify.Passing])
	if learnt {
		s += "Cost was judged by the other traces of this call, where a route has enough of them; --baseline FILE judges by earlier runs.\n"
	}
	return s
}
