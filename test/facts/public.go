package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// publicMatrix judges the public exports against what was read in their raw text by hand, one row a file.
func publicMatrix(dir string, rows []row, prefix string) ([]*sheet, error) {
	var sheets []*sheet
	for _, r := range rows {
		file := r["file"]
		if !strings.HasPrefix(file, prefix) {
			continue
		}
		want, ok := byHand[file]
		if !ok {
			return nil, fmt.Errorf("%s: nobody has read it by hand: add it to the table", file)
		}
		all, err := build(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		s := newSheet(file)
		s.public(want, countsOf(all))
		sheets = append(sheets, s)
	}
	return sheets, nil
}

// counts is what a file holds, over all its traces. nothing is a fact that the file does not tell at all.
type counts struct {
	models, requested, executed int
	args, results, failed       int // calls with arguments, with a result, and that failed
	input, output               int64
	offered                     []string
	handoffs                    []string // from>to
	users                       []string // beginnings
	replies                     []string // beginnings
	sessions                    []string
}

func countsOf(all []*trajectory.Trajectory) counts {
	var c counts
	for _, t := range all {
		c.models += len(t.ModelCalls)
		c.calls(t)
		for _, m := range t.ModelCalls {
			c.spent(m.Usage)
		}
		for _, a := range t.AgentTotals {
			c.spent(a.Usage)
		}
		for _, d := range t.ToolsOffered {
			c.offered = append(c.offered, d.Name)
		}
		for _, h := range t.Handoffs {
			c.handoffs = append(c.handoffs, h.From+">"+h.To)
		}
		c.users = append(c.users, t.UserMessages...)
		if t.Reply != nil {
			c.replies = append(c.replies, *t.Reply)
		}
		if t.SessionID != "" {
			c.sessions = append(c.sessions, t.SessionID)
		}
	}
	return c
}

func (c *counts) calls(t *trajectory.Trajectory) {
	for i := range t.ToolCalls {
		k := &t.ToolCalls[i]
		if k.Requested {
			c.requested++
		}
		if k.Executed || k.HasResult && k.Outcome == trajectory.OutcomeOK { // not what a framework answered in the tool's place
			c.executed++
		}
		if k.Arguments.JSON != nil || k.Arguments.Raw != "" {
			c.args++
		}
		if k.HasResult {
			c.results++
		}
		if k.Outcome == trajectory.OutcomeError || k.Outcome == trajectory.OutcomeTimeout || k.Outcome == trajectory.OutcomeDenied {
			c.failed++
		}
	}
}

func (c *counts) spent(u trajectory.Usage) {
	if u.Input != nil {
		c.input += *u.Input
	}
	if u.Output != nil {
		c.output += *u.Output
	}
}

// public compares a file's counts with those read by hand.
func (s *sheet) public(want, got counts) {
	for _, n := range []struct {
		fact      fact
		want, got int64
	}{
		{modelCalls, int64(want.models), int64(got.models)}, {requested, int64(want.requested), int64(got.requested)},
		{executed, int64(want.executed), int64(got.executed)}, {arguments, int64(want.args), int64(got.args)},
		{results, int64(want.results), int64(got.results)}, {outcomes, int64(want.failed), int64(got.failed)},
		{tokens, want.input, got.input}, {tokens, want.output, got.output},
	} {
		s.number(n.fact, n.want, n.got)
	}
	s.list(tools, want.offered, got.offered)
	s.list(handoffs, want.handoffs, got.handoffs)
	s.list(userMessages, want.users, got.users)
	s.list(reply, want.replies, got.replies)
	s.list(session, want.sessions, got.sessions)
}

// number is one item: right, wrong, or, where the file tells none and pawl none, absent. That nothing failed is right.
func (s *sheet) number(f fact, want, got int64) {
	if want == got && want == 0 && f != outcomes {
		s.absent(f, 1, "", "the file tells none")
		return
	}
	s.judge(f, "", want == got, yes, "got %d, want %d", got, want)
}

// list compares texts by their beginnings, one item each.
func (s *sheet) list(f fact, want, got []string) {
	if len(want)+len(got) == 0 {
		s.absent(f, 1, "", "the file tells none")
	}
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g string) bool { return strings.HasPrefix(strings.TrimSpace(g), w) })
		s.judge(f, "", i >= 0, yes, "%q, got %.300q", w, got)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, g := range left {
		s.wrong(f, "", "more than the file holds: %.200q", g)
	}
}
