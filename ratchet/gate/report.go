package gate

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Rows join the outcomes of a report with what people want to read beside them.
type Row struct {
	Outcome
	Title    string
	State    string
	Label    string
	File     string // case.yaml inside the set
	Runs     []Run
	Recorded []Call   // of the recorded failure; of a case written by hand the expected ones
	Against  string   // what Recorded is
	Replayed []string // tools that were answered for in its runs, and so are not proven
}

// Rows are the outcomes with their cases and runs, what fails the check first.
func (r Report) Rows(cases []*Case) []Row {
	by := map[string]*Case{}
	for _, c := range cases {
		by[c.ID] = c
	}
	var rows []Row
	for _, o := range r.Outcomes {
		c := by[o.Case]
		if c == nil {
			continue
		}
		row := Row{Outcome: o, Title: c.Title, State: string(c.State.Name), Label: c.Labels[0], File: c.File, Recorded: c.Calls, Against: "recorded failure"}
		if c.Golden != nil {
			row.Recorded, row.Against = expectedCalls(c.Expect.Trajectory), "expected"
		}
		for _, run := range r.Runs {
			if run.Case == o.Case {
				row.Runs = append(row.Runs, run)
				row.Replayed = append(row.Replayed, run.Replayed...)
			}
		}
		slices.Sort(row.Replayed)
		row.Replayed = slices.Compact(row.Replayed)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return weight(a.Outcome) - weight(b.Outcome) })
	return rows
}

// expectedCalls are the calls that a case expects, with the arguments that must be equal.
func expectedCalls(e *regcase.Trajectory) (out []Call) {
	if e == nil {
		return nil
	}
	for _, c := range e.Calls {
		args := map[string]regcase.JSON{}
		for name, f := range c.Arguments {
			if f.Match == "exact" {
				args[strings.TrimPrefix(name, "/")] = f.Value
			}
		}
		b, err := json.Marshal(args)
		if err != nil {
			continue
		}
		out = append(out, Call{c.Tool, regcase.NewJSON(b)})
	}
	return out
}

// Tokens is the mean of its first runs, nil where none tells; CostUSD likewise.
func (r Row) Tokens() *float64 {
	return r.mean(func(run Run) *float64 {
		if run.Tokens == nil {
			return nil
		}
		return new(float64(*run.Tokens))
	})
}

// CostUSD is the mean of its first runs, nil where none tells.
func (r Row) CostUSD() *float64 { return r.mean(func(run Run) *float64 { return run.CostUSD }) }

func (r Row) mean(of func(Run) *float64) *float64 {
	var m mean
	for _, run := range r.Runs {
		if v := of(run); v != nil && run.Side == Head && !run.Again {
			m.add(*v)
		}
	}
	return m.value()
}

func weight(o Outcome) int {
	if o.Blocks {
		return 0
	}
	if o.Word == Undecided && o.Holds {
		return 1
	}
	return 2 + slices.Index([]Word{Drift, Unsure, Undecided, Flaky, Miss, Passing}, o.Word)
}

// First is the reason of the first run of head that did not pass, "" when all did.
func (r Row) First() string {
	for _, run := range r.Runs {
		if run.Side == Head && run.Verdict != Pass {
			return run.Reason
		}
	}
	return ""
}

// Says is the row's outcome in one line: why, and what the first bad run showed.
func (r Row) Says() string {
	first, _, _ := strings.Cut(r.First(), "\n")
	switch {
	case r.Word == Passing:
		return r.Why
	case r.Why == "":
		return first
	case first == "":
		return r.Why
	}
	return r.Why + ": " + first
}

// Rates are the counts as people read them: "4/5", and those of fresh runs where there were any.
func (c Count) String() string {
	if c.Runs() == 0 {
		return ""
	}
	s := fmt.Sprintf("%d/%d", c.Passed, c.Valid())
	if c.Invalid > 0 {
		s += fmt.Sprintf(" (+%d invalid)", c.Invalid)
	}
	return s
}

// Sentence sums a report up.
func (r Report) Sentence() string {
	count := map[Word]int{}
	for _, o := range r.Outcomes {
		count[o.Word]++
	}
	var parts []string
	for _, w := range []Word{Regression, Undecided, Drift, Unsure, Flaky, Miss, Passing} {
		if count[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[w], w))
		}
	}
	noun := "cases"
	switch len(r.Outcomes) {
	case 0:
		return "no case took part"
	case 1:
		noun = "case"
	}
	return fmt.Sprintf("%d %s: %s", len(r.Outcomes), noun, strings.Join(parts, ", "))
}

// Sentence says how the whole set moved, and what so few runs cannot show.
func (d Delta) Sentence() string {
	return fmt.Sprintf("All runs together: %.1f %% passed, %+.1f points against %.10s; a drop of less than %.1f points would not show in so many runs.",
		100*d.Head.Rate(), -100*d.Drop, d.Commit, 100*d.Visible)
}

// Also are the sentences beside the outcomes: how the set moved, how well tools are chosen, what the verdicts rest on, what models are called.
func (r Report) Also(cases []*Case) (out []string) {
	if r.Delta != nil {
		out = append(out, r.Delta.Sentence())
	}
	for _, s := range r.Steady {
		if !s.Steady {
			out = append(out, s.Sentence()+": its new cases are collected and none is enforced; steady the agent first (temperature, a pinned model, clearer instructions).")
		}
	}
	if s := r.Flips.Sentence(); s != "" {
		out = append(out, s)
	}
	if s := r.Scores(cases); s != nil {
		if lines := s.Sentences(); len(lines) > 0 {
			out = append(out, "Written by hand: "+strings.Join(lines, "; ")+".")
		}
	}
	if by := r.Deciders(); by[ByEmbedding]+by[ByModel] > 0 {
		all := float64(by[Deterministic] + by[ByEmbedding] + by[ByModel])
		out = append(out, fmt.Sprintf("Decided by rules and words: %.0f %%, by embeddings: %.0f %%, by a judge: %.0f %%.",
			100*float64(by[Deterministic])/all, 100*float64(by[ByEmbedding])/all, 100*float64(by[ByModel])/all))
	}
	if n := Noise(r.Runs); n.Of > 0 {
		out = append(out, fmt.Sprintf("The model that judges disagreed with itself on %s of the criteria: that noise is not the agent's.", n))
	}
	if s := r.asked(); s.Asked > 0 {
		line := fmt.Sprintf("The model was asked %d times for it, %d tokens", s.Asked, s.Tokens)
		if s.USD != nil {
			line += fmt.Sprintf(", $%.4f", *s.USD)
		}
		out = append(out, line+".")
	}
	for _, a := range r.Aliases() {
		out = append(out, a.Sentence())
	}
	return out
}

// asked is what the questions to the model took, of the runs that this check made or took over.
func (r Report) asked() (s Spent) {
	for _, run := range r.Runs {
		s.Asked += run.Asked.Asked
		s.Tokens += run.Asked.Tokens
		if run.Asked.USD != nil {
			s.USD = new(*run.Asked.USD + value(s.USD))
		}
	}
	return s
}

// Sentence says what an alias means for a check.
func (a Alias) Sentence() string {
	return fmt.Sprintf("%s answered as %s: the name is an alias that its provider may point elsewhere, so drift will look like your change; ask for the version.", a.Requested, a.Responded)
}

// Markdown is the report as a step summary or a comment shows it.
func (r Report) Markdown(rows []Row, cases []*Case) string {
	var b strings.Builder
	mark := map[int]string{0: "passed", 1: "**failed**", 3: "**not decided**"}[r.Exit()]
	fmt.Fprintf(&b, "### pawl check: %s\n\n%s\n\n| case | state | outcome | head | again | base | tokens | cost | |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", mark, r.Sentence())
	for _, row := range rows {
		word := string(row.Word)
		if row.Blocks {
			word = "**" + word + "**"
		}
		fmt.Fprintf(&b, "| `%s`<br>%s | %s | %s | %s | %s | %s | %s | %s | %s |\n", row.Case, cell(row.Title), row.State, word, row.Head, row.Again, row.Base,
			number("%.0f", row.Tokens()), number("$%.4f", row.CostUSD()), cell(row.Says()))
	}
	for _, line := range r.Also(cases) {
		fmt.Fprintf(&b, "\n%s\n", cell(line))
	}
	if r.Cut != "" {
		fmt.Fprintf(&b, "\nCut short: %s\n", cell(r.Cut))
	}
	return b.String()
}

// cell makes a text fit for a cell of a table: nothing in it is markup.
func cell(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if rs := []rune(s); len(rs) > 300 {
		s = string(rs[:300]) + "…"
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "`", "&#96;", "*", "\\*", "_", "\\_", "[", "\\[", "@", "&#64;").Replace(s)
}

// Annotations are GitHub's workflow commands, a line each: an error for what fails the check, a warning for what a person should look at. set is
// where the set lies in the repository.
func (r Report) Annotations(rows []Row, set string) string {
	var b strings.Builder
	for _, a := range r.Aliases() {
		b.WriteString(Warning(a.Sentence()) + "\n")
	}
	for _, row := range rows {
		level := ""
		switch {
		case row.Blocks, row.Word == Undecided && row.Holds:
			level = "error"
		case row.Word == Drift, row.Word == Unsure, row.Word == Flaky, row.Word == Undecided:
			level = "warning"
		default:
			continue
		}
		property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
		fmt.Fprintf(&b, "::%s file=%s,title=%s::%s\n", level, property.Replace(set+"/"+row.File), property.Replace(row.Case+": "+string(row.Word)), message.Replace(row.Title+". "+row.Says()))
	}
	return b.String()
}

var message = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// Warning is GitHub's workflow command for a warning that is of no one file.
func Warning(text string) string { return "::warning title=pawl check::" + message.Replace(text) }

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit is the report as JUnit XML, a suite for each label. What does not block is skipped, with its reason.
func (r Report) JUnit(rows []Row) ([]byte, error) {
	all := junitSuites{Name: "pawl check", Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	at := map[string]int{}
	for _, row := range rows {
		i, known := at[row.Label]
		if !known {
			i, at[row.Label] = len(all.Suites), len(all.Suites)
			all.Suites = append(all.Suites, junitSuite{Name: row.Label})
		}
		s := &all.Suites[i]
		c := row.junit()
		s.Tests, all.Tests = s.Tests+1, all.Tests+1
		if c.Failure != nil {
			s.Failures, all.Failures = s.Failures+1, all.Failures+1
		}
		if c.Skipped != nil {
			s.Skipped, all.Skipped = s.Skipped+1, all.Skipped+1
		}
		s.Cases = append(s.Cases, c)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("junit: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func (r Row) junit() junitCase {
	var ms int64
	var out strings.Builder
	for _, run := range r.Runs {
		ms += run.MS
		fmt.Fprintf(&out, "%s run %d: %s %s\n", run.Side, run.Run, run.Verdict, run.Reason)
		for _, m := range run.Mismatches {
			fmt.Fprintf(&out, "  step %d, %s: expected %s, got %s\n", m.Step, m.Field, m.Expected, m.Got)
		}
	}
	c := junitCase{Name: r.Case + " " + r.Title, Class: "pawl." + r.Label, Time: fmt.Sprintf("%.3f", float64(ms)/1000), Out: printable(out.String())}
	note := &junitText{Message: printable(string(r.Word) + ": " + r.Says()), Text: printable(r.First())}
	switch {
	case r.Blocks, r.Word == Undecided && r.Holds:
		c.Failure = note
	case r.Word != Passing && r.Word != Flaky:
		c.Skipped = note
	}
	return c
}

// printable leaves out what XML 1.0 has no way to write.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= 0x20 && r != 0xFFFE && r != 0xFFFF {
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
