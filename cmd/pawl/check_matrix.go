package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// column is what one model came to.
type column struct {
	model  string
	report gate.Report
	rows   map[string]gate.Row
	scores *gate.Scores
}

// matrixLine is the line of check --matrix --json for a model; the lines of its runs name it.
type matrixLine struct {
	Kind string `json:"kind"`
	gate.Column
	Scores *gate.Scores   `json:"scores"`
	Cases  []gate.Outcome `json:"cases"`
}

// matrix runs the set for one model after another.
func (c *checking) matrix(ctx context.Context, g *gate.Gate, plan gate.Plan) error {
	models := slices.Compact(slices.Clone(c.models))
	stamp := plan.Head.Stamp
	plan.All = true
	var columns []column
	for _, m := range models {
		if err := c.remember(&plan); err != nil {
			return err
		}
		if plan.Head.Model, plan.Head.Stamp = m, stamp; stamp.Digest != "" {
			plan.Head.Stamp.Digest = regcase.SHA256([]byte(stamp.Digest + "\x00" + m))[:16]
		}
		fmt.Fprintf(c.stderr, "%s: ", shown(m))
		c.announce(plan)
		plan.Progress = c.progressed
		report, err := g.Check(ctx, plan)
		c.bar.finish()
		if err != nil {
			return err
		}
		col := column{m, report, map[string]gate.Row{}, report.Scores(c.cases)}
		for _, row := range report.Rows(c.cases) {
			col.rows[row.Case] = row
		}
		columns = append(columns, col)
		if ctx.Err() != nil {
			break
		}
	}
	return c.tellMatrix(columns)
}

func (c *checking) tellMatrix(columns []column) error {
	code := exitGood
	for _, col := range columns {
		switch e := col.report.Exit(); {
		case e == exitFinding:
			code = exitFinding
		case e != exitGood && code == exitGood:
			code = e
		}
		if c.json {
			if err := c.printJSON(matrixLine{"matrix", col.report.Column(col.model), col.scores, append([]gate.Outcome{}, col.report.Outcomes...)}); err != nil {
				return err
			}
		}
	}
	header, lines := c.matrixLines(columns)
	if !c.json {
		t := c.newTable(0, 0, anyOf(header)...)
		for _, l := range lines {
			row := table.Row{}
			for _, cell := range l {
				row = append(row, cell)
			}
			t.AppendRow(row)
		}
		fmt.Fprintln(c.stdout, t.Render())
	}
	if c.github {
		if err := c.summarize(gate.MarkdownTable("pawl check: models", header, lines)); err != nil {
			return err
		}
	}
	if code != exitGood {
		return &exitError{code: code}
	}
	return nil
}

// matrixLines are the table: a line for each case, then one for each measure that some model has.
func (c *checking) matrixLines(columns []column) (header []string, lines [][]string) {
	header = []string{"case"}
	for _, col := range columns {
		header = append(header, col.model)
	}
	for _, k := range c.cases {
		line := []string{k.ID}
		for _, col := range columns {
			row := col.rows[k.ID]
			line = append(line, strings.TrimSpace(string(row.Word)+" "+row.Head.String()))
		}
		lines = append(lines, line)
	}
	for _, measure := range gate.Measures {
		line := []string{measure.Name}
		for _, col := range columns {
			line = append(line, measure.Of(col.report.Column(col.model), col.scores))
		}
		if slices.ContainsFunc(line[1:], func(s string) bool { return s != "" }) {
			lines = append(lines, line)
		}
	}
	return header, lines
}

func anyOf(texts []string) []any {
	out := make([]any, 0, len(texts))
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}
