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

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"diff": diff, "first": firstBad}).Parse(page))

// HTML is the report as one page that needs nothing else.
func (r Report) HTML(rows []Row) ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		Report
		Rows []Row
	}{r, rows})
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

// Line is one line of a diff of two sequences of calls: Mark is " ", "-" (only in the recording) or "+" (only in the run).
type Line struct{ Mark, Text string }

// diff aligns the calls of the recording with those of a run, by their longest common subsequence.
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
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Line{" ", a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, Line{"-", a[i]})
			i++
		default:
			out = append(out, Line{"+", b[j]})
			j++
		}
	}
	return out
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
