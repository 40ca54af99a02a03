package main

import "fmt"

// fact is a column of the matrix.
type fact string

// The facts.
const (
	modelCalls   fact = "model calls"
	requested    fact = "requested"
	executed     fact = "executed"
	arguments    fact = "arguments"
	results      fact = "results"
	outcomes     fact = "outcomes"
	tokens       fact = "usage"
	tools        fact = "tools offered"
	handoffs     fact = "hand-offs"
	userMessages fact = "user messages"
	reply        fact = "reply"
	session      fact = "session"
)

var facts = []fact{modelCalls, requested, executed, arguments, results, outcomes, tokens, tools, handoffs, userMessages, reply, session}

// cell counts what of one fact is right, wrong, and absent in the data.
type cell struct{ Right, Wrong, Absent int }

func (c cell) String() string {
	switch {
	case c == cell{}:
		return "-"
	case c.Wrong == 0 && c.Absent == 0:
		return fmt.Sprint(c.Right)
	case c.Wrong == 0 && c.Right == 0:
		return fmt.Sprintf("absent %d", c.Absent)
	case c.Wrong == 0:
		return fmt.Sprintf("%d, absent %d", c.Right, c.Absent)
	}
	return fmt.Sprintf("%d, WRONG %d, absent %d", c.Right, c.Wrong, c.Absent)
}

// sheet is one row of the matrix, with a sentence for each thing that is wrong.
type sheet struct {
	Name  string        `json:"name"`
	Cells map[fact]cell `json:"cells"`
	Wrong []string      `json:"wrong"`
	Notes []string      `json:"-"` // what is absent
}

func newSheet(name string) *sheet {
	return &sheet{Name: name, Cells: map[fact]cell{}, Wrong: []string{}}
}

func (s *sheet) right(f fact, n int) { c := s.Cells[f]; c.Right += n; s.Cells[f] = c }
func (s *sheet) wrong(f fact, where, format string, args ...any) {
	c := s.Cells[f]
	c.Wrong++
	s.Cells[f] = c
	s.Wrong = append(s.Wrong, fmt.Sprintf("%s %s: %s: %s", s.Name, where, f, fmt.Sprintf(format, args...)))
}

func (s *sheet) absent(f fact, n int, where, format string, args ...any) {
	if n == 0 {
		return
	}
	c := s.Cells[f]
	c.Absent += n
	s.Cells[f] = c
	s.Notes = append(s.Notes, fmt.Sprintf("%s %s: %s: absent: %s", s.Name, where, f, fmt.Sprintf(format, args...)))
}

// judge writes right when ok, absent when the data provably lacks the thing, and wrong otherwise.
func (s *sheet) judge(f fact, where string, ok bool, inData func() bool, format string, args ...any) {
	switch {
	case ok:
		s.right(f, 1)
	case !inData():
		s.absent(f, 1, where, format, args...)
	default:
		s.wrong(f, where, format, args...)
	}
}

func yes() bool { return true }
