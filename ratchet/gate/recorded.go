package gate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Recorded judges traces that lie recorded, without running anything. A trace belongs to the case that its resource names (pawl.case); one that names
// none belongs to every case whose first turn is what its user said. Traces with one pawl.run are one run. A miss is final: nothing can be run again.
// alone says that the traces are of the one case there is, whatever they say.
func Recorded(ctx context.Context, p Plan, judge Judge, k Criteria, traces []trajectory.Trace, alone bool) Report {
	began := time.Now()
	runs := map[string][][]*trajectory.Trajectory{}
	at := map[string]int{} // by case and pawl.run
	for _, t := range traces {
		built := trajectory.Build(t)
		name := attrOf(t, AttrRun)
		for _, c := range p.Cases {
			if !alone && !belongs(c, t, built) {
				continue
			}
			key := c.ID + " " + cmp.Or(name, t.ID)
			i, known := at[key]
			if !known {
				i, at[key] = len(runs[c.ID]), len(runs[c.ID])
				runs[c.ID] = append(runs[c.ID], nil)
			}
			runs[c.ID][i] = append(runs[c.ID][i], built)
		}
	}
	var report Report
	var entrants []Entrant
	for _, c := range p.Cases {
		e, ok := EntrantOf(c.Case, len(runs[c.ID]), p.Now)
		if !ok {
			report.Retired++
			continue
		}
		e.Terms.N, e.Fixed = len(runs[c.ID]), true
		entrants = append(entrants, e)
	}
	trial := NewTrial(entrants, false)
	for _, c := range p.Cases {
		for i, parts := range runs[c.ID] {
			r := judgeRecorded(c, judge, parts, p.Head.Stamp, i+1)
			k.hold(ctx, c.Case, &r, parts)
			report.Runs = append(report.Runs, r)
			trial.Record(Want{c.ID, Head, false}, r.Verdict)
		}
	}
	trial.Next() // there is nothing to wait for: it decides
	report.Outcomes = trial.Outcomes("")
	for i, o := range report.Outcomes {
		if o.Word == Undecided && o.Head.Runs() == 0 {
			report.Outcomes[i].Why = "no recorded trace is of it: none names it as " + AttrCase + " in its resource or begins with its input"
		}
	}
	report.Took = time.Since(began)
	return report
}

func judgeRecorded(c *Case, judge Judge, parts []*trajectory.Trajectory, s Stamp, n int) Run {
	r := Run{Kind: RunKind, Case: c.ID, Digest: c.Sum, Run: n, Side: Head, Commit: s.Commit, Dirty: s.Dirty, Branch: s.Branch, DefaultBranch: s.DefaultBranch, Agent: s.Digest}
	first, last := parts[0].Start, parts[0].End
	for _, t := range parts {
		if t.Start.Before(first) {
			first = t.Start
		}
		if t.End.After(last) {
			last = t.End
		}
	}
	r.At, r.MS = first.UTC().Truncate(time.Second), last.Sub(first).Milliseconds()
	r.measure(parts, nil)
	j := judge(c.Case, parts...)
	r.Verdict, r.Reason, r.Mismatches, r.Notes, r.Decided = j.Verdict, j.Reason, j.Mismatches, j.Notes, j.Decided
	return r
}

func belongs(c *Case, t trajectory.Trace, built *trajectory.Trajectory) bool {
	if named := attrOf(t, AttrCase); named != "" {
		return named == c.ID
	}
	return len(c.Input.Turns) > 0 && slices.ContainsFunc(built.UserMessages, func(m string) bool { return words(m) == words(c.Input.Turns[0].User) })
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }

// attrOf is the resource attribute of a trace's spans, "" where none has it.
func attrOf(t trajectory.Trace, key string) string {
	for i := range t.Spans {
		if v := t.Spans[i].Resource.Text(key); v != "" {
			return v
		}
	}
	return ""
}
