package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/schollz/progressbar/v3"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/gate"
)

// checkBar shows how far a check is. The number of its runs is known only at its end.
type checkBar struct {
	bar   *progressbar.ProgressBar
	done  int
	total int
}

func newCheckBar(a *app, runs int) *checkBar {
	return &checkBar{bar: a.progress(max(runs, 1), "running the agent"), total: max(runs, 1)}
}

func (b *checkBar) step(left int) {
	b.done++
	if total := b.done + left; total > b.total {
		b.total = total
		b.bar.ChangeMax(total)
	}
	_ = b.bar.Set(min(b.done, b.total)) // it draws on stderr; there is nothing to do about that
}

func (b *checkBar) finish() {
	if b != nil {
		_ = b.bar.Finish() // likewise
	}
}

func (c *checking) progressed(r gate.Run, left int) {
	c.bar.step(left)
	if c.json {
		_ = c.printJSON(r) // a closed pipe shows at the end
	}
}

// caseLine and checkLine are the lines of --json that follow the runs.
type caseLine struct {
	Kind string `json:"kind"`
	gate.Outcome
	State    string   `json:"state"`
	Title    string   `json:"title"`
	Replayed []string `json:"replayed"`
}

type checkLine struct {
	Kind     string      `json:"kind"`
	Exit     int         `json:"exit"`
	Cases    int         `json:"cases"`
	Retired  int         `json:"retired"`
	Runs     int         `json:"runs"`
	Reused   int         `json:"reused"`
	SpentUSD float64     `json:"spent_usd"`
	Seconds  float64     `json:"seconds"`
	Cut      string      `json:"cut"`
	Delta    *gate.Delta `json:"delta"`
	Flips    gate.Flips  `json:"flips"` // of the verdicts of one and the same agent, over --results

	Scores  *gate.Scores         `json:"scores"`  // of the cases written by hand; null where there are none
	Decided map[gate.Decider]int `json:"decided"` // runs, by what their verdict rests on
	Aliases []gate.Alias         `json:"aliases"`
	Steady  []gate.Steadiness    `json:"steadiness"`  // of the agents, as pawl variance measured it
	Noise   gate.Share           `json:"judge_noise"` // of the criteria that a model judged: it disagreed with itself
}

// tell prints the report in every way that was asked for, and gives the exit code.
func (c *checking) tell(r gate.Report) error {
	r.Steady = append([]gate.Steadiness{}, c.steady...)
	rows := r.Rows(c.cases)
	if c.junit != "" {
		b, err := r.JUnit(rows)
		if err := c.write(c.junit, b, err); err != nil {
			return err
		}
	}
	if c.html != "" {
		b, err := r.HTML(rows, c.cases)
		if err := c.write(c.html, b, err); err != nil {
			return err
		}
	}
	if err := c.print(r, rows); err != nil {
		return err
	}
	if err := c.annotate(r, rows); err != nil {
		return err
	}
	if code := r.Exit(); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

func (c *checking) print(r gate.Report, rows []gate.Row) error {
	if !c.json {
		_, err := fmt.Fprint(c.stdout, c.table(rows), c.summary(r, rows))
		return err
	}
	if len(c.traces) > 0 { // live runs were printed as they ended
		for _, run := range r.Runs {
			if err := c.printJSON(run); err != nil {
				return err
			}
		}
	}
	for _, row := range rows {
		line := caseLine{"case", row.Outcome, row.State, row.Title, append([]string{}, row.Replayed...)}
		if err := c.printJSON(line); err != nil {
			return err
		}
	}
	return c.printJSON(checkLine{"check", r.Exit(), len(r.Outcomes), r.Retired, len(r.Runs), r.Reused, r.SpentUSD, r.Took.Seconds(), r.Cut, r.Delta, r.Flips,
		r.Scores(c.cases), r.Deciders(), append([]gate.Alias{}, r.Aliases()...), r.Steady, gate.Noise(r.Runs)})
}

func (c *checking) table(rows []gate.Row) string {
	t := c.newTable(0, 0, "case", "state", "outcome", "head", "again", "base")
	for _, row := range rows {
		t.AppendRow(table.Row{row.Case, row.State, row.Word, row.Head, row.Again, row.Base})
	}
	return t.Render() + "\n"
}

// dollars gives an amount to the cent, and a small one to a hundredth of that: runs cost fractions of a cent.
func dollars(usd float64) string {
	if usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

func (c *checking) summary(r gate.Report, rows []gate.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %s", r.Sentence(), plural(len(r.Runs), "run"))
	if r.Reused > 0 {
		fmt.Fprintf(&b, ", %d of them from %s", r.Reused, c.results)
	}
	if r.SpentUSD > 0 {
		fmt.Fprintf(&b, ", %s", dollars(r.SpentUSD))
	}
	b.WriteByte('\n')
	if r.Retired > 0 {
		fmt.Fprintf(&b, "%s retired and not run.\n", plural(r.Retired, "case"))
	}
	var replayed []string
	for _, row := range rows {
		replayed = append(replayed, row.Replayed...)
	}
	slices.Sort(replayed)
	if replayed = slices.Compact(replayed); len(replayed) > 0 {
		fmt.Fprintf(&b, "Answered by replay, so not proven: %s.\n", shown(strings.Join(replayed, ", ")))
	}
	for _, line := range r.Also(c.cases) {
		b.WriteString(indent(shown(line), "", c.width()))
	}
	if r.Cut != "" {
		fmt.Fprintf(&b, "Cut short: %s.\n", shown(r.Cut))
	}
	b.WriteString(c.reasons(rows))
	return b.String()
}

// reasons are those of the cases that did not simply pass. What several say alike in many lines is printed once.
func (c *checking) reasons(rows []gate.Row) string {
	var b strings.Builder
	said := map[string]bool{}
	for _, row := range rows {
		says := row.Says()
		if says == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s %s: %s\n%s", row.Case, row.Word, shown(row.Title), indent(shown(says), "    ", c.width()))
		if _, more, ok := strings.Cut(row.First(), "\n"); ok && !said[more] {
			said[more] = true
			b.WriteString(block(more, "    ", c.width()))
		}
	}
	return b.String()
}

// block sets a text of several lines behind a margin, keeps its lines and their own margins, and breaks those that are too long.
func block(text, margin string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		own := line[:len(line)-len(strings.TrimLeft(line, " "))]
		b.WriteString(indent(shown(line), margin+own, width))
	}
	return b.String()
}

// annotate tells GitHub.
func (c *checking) annotate(r gate.Report, rows []gate.Row) error {
	if !c.github {
		return nil
	}
	out := c.stdout
	if c.json {
		out = c.stderr
	}
	if _, err := fmt.Fprint(out, r.Annotations(rows, c.set)); err != nil {
		return err
	}
	return c.summarize(r.Markdown(rows, c.cases))
}

// summarize adds to the summary of GitHub's step, where there is one.
func (c *checking) summarize(text string) error {
	file := os.Getenv("GITHUB_STEP_SUMMARY")
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	return f.Close()
}

// doctorLine is the line of check --doctor --json.
type doctorLine struct {
	Kind     string           `json:"kind"`
	Run      gate.Run         `json:"run"`
	Services []string         `json:"services"`
	Dialects []string         `json:"dialects"`
	Spans    int              `json:"spans"`
	Gaps     []trajectory.Gap `json:"gaps"`
}

// examine runs the first case once and says what came of it.
func (c *checking) examine(ctx context.Context, g *gate.Gate, plan gate.Plan) error {
	at := slices.IndexFunc(c.cases, func(k *gate.Case) bool { _, runs := gate.EntrantOf(k.Case, 1, plan.Now); return runs })
	if at < 0 {
		return &exitError{exitUndecided, fmt.Errorf("all cases of %s are retired", c.set), "a case that runs"}
	}
	k := c.cases[at]
	run, traces := g.Look(ctx, plan.Head, k, gate.Want{Case: k.ID, Side: gate.Head}, 1)
	line := doctorLine{Kind: "doctor", Run: run, Services: []string{}, Dialects: []string{}, Gaps: []trajectory.Gap{}}
	for _, t := range traces {
		line.Spans += t.Spans
		line.Services, line.Dialects = append(line.Services, t.Service), append(line.Dialects, t.Dialects...)
		for _, gap := range t.Gaps {
			if !gap.Fact.Optional() && !slices.Contains(line.Gaps, gap) {
				line.Gaps = append(line.Gaps, gap)
			}
		}
	}
	slices.Sort(line.Dialects)
	slices.Sort(line.Services)
	line.Dialects, line.Services = slices.Compact(line.Dialects), slices.Compact(line.Services)
	if err := c.diagnose(k, line); err != nil {
		return err
	}
	switch run.Verdict {
	case gate.Pass, gate.Fail:
		return nil
	}
	return &exitError{code: exitUndecided}
}

func (c *checking) diagnose(k *gate.Case, d doctorLine) error {
	if c.json {
		return c.printJSON(d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "case %s: %s\n", k.ID, shown(k.Title))
	if len(d.Dialects)+d.Spans > 0 {
		fmt.Fprintf(&b, "came:     %d spans of %s, as %s\n", d.Spans, shown(strings.Join(d.Services, ", ")), strings.Join(d.Dialects, ", "))
	}
	fmt.Fprintf(&b, "calls:    %d", len(d.Run.Calls))
	if len(d.Run.Replayed) > 0 {
		fmt.Fprintf(&b, "; answered by replay: %s", shown(strings.Join(d.Run.Replayed, ", ")))
	}
	fmt.Fprintf(&b, "\nverdict:  %s\n", d.Run.Verdict)
	if d.Run.Reason != "" {
		b.WriteString(block(d.Run.Reason, "          ", c.width()))
	}
	for _, note := range d.Run.Notes {
		b.WriteString(indent(shown(note), "note:     ", c.width()))
	}
	for _, gap := range d.Gaps {
		fmt.Fprintf(&b, "missing:  %s\n%s", gap.Fact, indent(shown(gap.Remedy), "          ", c.width()))
	}
	switch d.Run.Verdict {
	case gate.Pass, gate.Fail:
		b.WriteString("The agent runs, its telemetry comes and the case can judge it.\n")
	default:
		b.WriteString("The case could not judge this run: mend what is said above, and ask again.\n")
	}
	_, err := fmt.Fprint(c.stdout, b.String())
	return err
}
