package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/pawl-dev/pawl/classify"
)

// show prints the tables, with sets also that of all sets and kinds of truth, or with asJSON all their rows, an object a line.
func show(w io.Writer, m measurement, asJSON, sets bool) {
	if asJSON {
		enc := json.NewEncoder(w)
		for _, c := range m.cells() {
			enc.Encode(c.row())
		}
		for _, c := range m.wells() {
			enc.Encode(c)
		}
		return
	}
	read, err := readReadings()
	if err != nil {
		fmt.Fprintln(w, err)
	}
	fmt.Fprintf(w, "%s\n\n%s\n", markdown(summary(m, read)), markdown(alarms(m.wells())))
	if sets {
		fmt.Fprintf(w, "\n%s\n", markdown(scores(m.cells())))
	}
}

// summary has one row a rule: what is firm, and beside it what was derived, what was injected, and what holds of the findings that were read.
func summary(m measurement, read readings) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"rule", "right of judged", "precision", "found of visible", "recall", "not visible", "derived: right of judged, found", "injected: right of judged, found", "read: hold"})
	for _, r := range m.Rules {
		c := m.firm(r)
		d, _ := m.sum(r, derived)
		i, _ := m.sum(r, injected)
		holds, n := read.tally(r.Label)
		t.AppendRow(table.Row{r.ID(), of(c.Right, c.judged()), share(c.precision()), of(c.Right, c.Positive-c.BlindPos), share(c.recall()), c.BlindPos,
			brief(d), brief(i), of(holds, n)})
	}
	return t
}

func of(k, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", k, n)
}

func brief(c cell) string {
	if c.Positive+c.judged() == 0 {
		return "-"
	}
	return of(c.Right, c.judged()) + ", " + of(c.Right, c.Positive-c.BlindPos)
}

func markdown(t table.Writer) string { return t.RenderMarkdown() }

func scores(cells []cell) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"rule", "truth", "set", "runs", "have it", "right", "wrong", "precision", "recall", "cannot see", "of these have it", "in place", "nobody knows"})
	for _, c := range cells {
		t.AppendRow(table.Row{c.Rule, c.Strength, cmp.Or(c.Set, "all"), c.Runs, c.Positive, c.Right, c.Wrong,
			share(c.precision()), share(c.recall()), c.Blind, c.BlindPos, fmt.Sprintf("%d of %d", c.InPlace, c.Placed), c.Unknown})
	}
	return t
}

func alarms(ws []well) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"healthy runs of", "rule", "runs", "with a finding", "per 1,000", "blocking", "per 1,000 "})
	for _, w := range ws {
		t.AppendRow(table.Row{cmp.Or(w.Set, "all sets"), cmp.Or(w.Rule, "any"), w.Runs, w.Fired, thousand(w.Fired, w.Runs), w.Blocking, thousand(w.Blocking, w.Runs)})
	}
	return t
}

func thousand(k, n int) string { return fmt.Sprintf("%.1f", 1000*float64(k)/float64(max(n, 1))) }

// share writes a share with its interval, a dash when there is none.
func share(p, low, high float64) string {
	if math.IsNaN(p) {
		return "-"
	}
	return fmt.Sprintf("%.3f (%.2f-%.2f)", p, low, high)
}

// row is the cell with its shares, which JSON has as null where there is none.
func (c cell) row() any {
	type interval struct {
		Share *float64 `json:"share"`
		Low   float64  `json:"low"`
		High  float64  `json:"high"`
	}
	of := func(p, low, high float64) interval {
		if math.IsNaN(p) {
			return interval{nil, low, high}
		}
		return interval{&p, low, high}
	}
	return struct {
		cell
		Precision interval `json:"precision"`
		Recall    interval `json:"recall"`
	}{c, of(c.precision()), of(c.recall())}
}

// listing prints what a person should read: false alarms, misses, and findings of which nothing is known; with every, those that are right too.
func listing(w io.Writer, m measurement, every bool) {
	for _, r := range m.Rules {
		for _, s := range m.Samples {
			for _, j := range s.Runs {
				list(w, r, j, every)
			}
		}
	}
}

func list(w io.Writer, r classify.Rule, j judged, every bool) {
	t, said := j.claim(r.Label), j.said(r)
	what := ""
	switch {
	case len(said) > 0 && t.Present == nil:
		what = "unknown"
	case len(said) > 0 && !*t.Present:
		what = "wrong"
	case len(said) == 0 && t.Present != nil && *t.Present:
		what = "missed"
		if b := j.blind(r); b != "" {
			what = "blind:" + string(b)
		}
	case len(said) > 0 && every:
		what = "right"
	default:
		return
	}
	clean := ""
	if j.Clean {
		clean = " (healthy)"
	}
	fmt.Fprintf(w, "%s %s %s %s%s %s %s\n", what, r.ID(), j.Set, j.ID, clean, t.Strength, strings.Join(t.Where, " "))
	for _, f := range said {
		fmt.Fprintf(w, "    %s %.2f %s\n", f.Severity, f.Confidence, f.Why)
		for _, e := range f.Evidence {
			fmt.Fprintf(w, "      %s %s\n", e.SpanID, e.What)
		}
	}
}
