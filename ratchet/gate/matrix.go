package gate

import (
	"fmt"
	"strings"
)

// Column is what a set came to with one model, over the first runs of its cases.
type Column struct {
	Model   string   `json:"model"`
	Passed  int      `json:"passed"` // cases
	Of      int      `json:"of"`
	Runs    Count    `json:"runs"`
	Tokens  *float64 `json:"tokens"`   // of a run, the mean; null where none tells
	CostUSD *float64 `json:"cost_usd"` // likewise
	Seconds float64  `json:"seconds"`  // of a run, the mean
}

// Column sums a report up as that of a model.
func (r Report) Column(model string) Column {
	c := Column{Model: model, Of: len(r.Outcomes)}
	for _, o := range r.Outcomes {
		c.Runs = c.Runs.plus(o.Head)
		if o.Word == Passing || o.Word == Flaky {
			c.Passed++
		}
	}
	var tokens, usd, seconds mean
	for _, run := range r.Runs {
		if run.Side != Head || run.Again {
			continue
		}
		seconds.add(float64(run.MS) / 1000)
		if run.Tokens != nil {
			tokens.add(float64(*run.Tokens))
		}
		if run.CostUSD != nil {
			usd.add(*run.CostUSD)
		}
	}
	c.Tokens, c.CostUSD = tokens.value(), usd.value()
	if s := seconds.value(); s != nil {
		c.Seconds = *s
	}
	return c
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	return new(m.sum / float64(m.n))
}

// Measure is one line of a comparison of models: what it is called, and what it says of one, "" where that is not known.
type Measure struct {
	Name string
	Of   func(Column, *Scores) string
}

// Measures are the lines of a comparison of models below its cases.
var Measures = []Measure{
	{"cases passed", func(c Column, _ *Scores) string { return fmt.Sprintf("%d of %d", c.Passed, c.Of) }},
	{"runs passed", func(c Column, _ *Scores) string { return c.Runs.String() }},
	{"right tool", score(func(s *Scores) Share { return s.Selection })},
	{"right arguments", score(func(s *Scores) Share { return s.Arguments })},
	{"right order", score(func(s *Scores) Share { return s.Sequence })},
	{"tool where none may be", score(func(s *Scores) Share { return s.OverTrigger })},
	{"criteria fulfilled", score(func(s *Scores) Share { return s.Completion })},
	{"tokens a run", func(c Column, _ *Scores) string { return number("%.0f", c.Tokens) }},
	{"cost a run", func(c Column, _ *Scores) string { return number("$%.4f", c.CostUSD) }},
	{"seconds a run", func(c Column, _ *Scores) string { return fmt.Sprintf("%.1f", c.Seconds) }},
}

func score(of func(*Scores) Share) func(Column, *Scores) string {
	return func(_ Column, s *Scores) string {
		if s == nil {
			return ""
		}
		return of(s).String()
	}
}

func number(format string, v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}

// MarkdownTable is a table as a step summary shows it.
func MarkdownTable(title string, header []string, lines [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", cell(title))
	for i, l := range append([][]string{header}, lines...) {
		for _, text := range l {
			b.WriteString("| " + cell(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(header)) + "|\n")
		}
	}
	return b.String()
}
