package gate

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"diff": diff, "first": firstBad, "number": number}).Parse(page))

// HTML is the report as one page that needs nothing else.
func (r Report) HTML(rows []Row, cases []*Case) ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		Report
		Rows []Row
		Also []string
	}{r, rows, r.Also(cases)})
	if err != nil {
		return nil, fmt.Errorf("html: %w", err)
	}
	return b.Bytes(), nil
}

// firstBad is the first run of head that did not pass, else the first one; nil where there is none.
func firstBad(r Row) *Run {
	for i := range r.Runs {
		if r.Runs[i].Side == Head && r.Runs[i].Verdict != Pass {
			return &r.Runs[i]
		}
	}
	if len(r.Runs) > 0 {
		return &r.Runs[0]
	}
	return nil
}

// Line is one line of two sequences of calls side by side: Left is "" where only the run has it, Right where only the recording does. Mark is " " for
// equal ones, "~" for the same tool with other arguments, "-" for one that is missing, "+" for one too many.
type Line struct{ Mark, Left, Right string }

// diff aligns the calls of the recording with those of a run: equal calls by their longest common subsequence, then what is between them by tool.
func diff(recorded, run []Call) (out []Line) {
	a, b := texts(recorded), texts(run)
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j, from := 0, 0, 0 // from: of the lines, where the last equal pair ended
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out[:from], pair(out[from:])...)
			out = append(out, Line{" ", a[i], b[j]})
			i, j, from = i+1, j+1, len(out)
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, Line{"-", a[i], ""})
			i++
		default:
			out = append(out, Line{"+", "", b[j]})
			j++
		}
	}
	return append(out[:from], pair(out[from:])...)
}

// pair joins a missing call with the first later one too many of the same tool: it was made with other arguments.
func pair(lines []Line) []Line {
	var out []Line
	used := map[int]bool{}
	last := -1
	for n, l := range lines {
		if used[n] {
			continue
		}
		if l.Mark == "-" {
			for m := max(n, last) + 1; m < len(lines); m++ {
				if lines[m].Mark == "+" && nameIn(lines[m].Right) == nameIn(l.Left) {
					for k := n + 1; k < m; k++ { // what was called before it comes before it
						if lines[k].Mark == "+" && !used[k] {
							out, used[k] = append(out, lines[k]), true
						}
					}
					l, used[m], last = Line{"~", l.Left, lines[m].Right}, true, m
					break
				}
			}
		}
		out = append(out, l)
	}
	return out
}

func nameIn(call string) string {
	tool, _, _ := strings.Cut(call, "(")
	return tool
}

// maxCalls bounds what of a run is compared, in calls.
const maxCalls = 500

func texts(calls []Call) []string {
	out := make([]string, 0, len(calls))
	for _, c := range calls[:min(len(calls), maxCalls)] {
		text := c.Tool + "(" + string(c.Arguments) + ")"
		if len(text) > 400 {
			text = strings.ToValidUTF8(text[:400], "") + "…"
		}
		out = append(out, text)
	}
	return out
}
