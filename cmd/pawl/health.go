package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/turn"
)

func healthCommand(a *app) *cobra.Command {
	var set string
	var results []string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "say what stands in a set and waits for somebody",
		Long: "Counts the cases by state, label and form, and lists what waits: pending cases by age and owner, weak ones, those never reproduced on the live agent,\n" +
			"quarantines with their review dates, failures that came again though a case held them, and what is retired.\n\n" +
			"Exit code 1: a quarantine is past its review date.",
		Example: "  pawl health --set regressions --results runs.jsonl\n  pawl health --json | jq .overdue",
		RunE: func(*cobra.Command, []string) error {
			s, err := a.openSet(set)
			if err != nil {
				return err
			}
			defer s.root.Close()
			h := health{Health: turn.HealthOf(s.Set, a.now())}
			if h.Flips, err = flipsIn(s, results); err != nil {
				return err
			}
			cfg, err := a.loadOffline()
			if err != nil {
				return err
			}
			h.Steady = append([]gate.Steadiness{}, steadinessOf(s.Set, cfg)...)
			if a.json {
				err = a.printJSON(h)
			} else {
				a.printHealth(h.Health)
				a.printSteadiness(h.Steady)
				a.printFlips(h.Flips)
			}
			if err == nil && h.Overdue > 0 {
				err = errFinding
			}
			return err
		},
	}
	setFlag(cmd, &set)
	cmd.Flags().StringArrayVar(&results, "results", nil, "tell how often verdicts flip, by the runs that pawl check wrote to this `FILE`; may be given again")
	return cmd
}

// health is the object that --json prints.
type health struct {
	turn.Health
	Flips  *gate.Flips       `json:"flips"`      // null without --results
	Steady []gate.Steadiness `json:"steadiness"` // of the agents, as pawl variance measured it
}

func (a *app) printSteadiness(all []gate.Steadiness) {
	for _, s := range all {
		then := ""
		if !s.Steady {
			then = ": none of its cases is enforced until it is steadier"
		}
		fmt.Fprint(a.stdout, indent(shown(s.Sentence()+then), "", a.width()))
	}
}

// flipsIn reads how often verdicts of one and the same agent flipped in these files.
func flipsIn(s *openedSet, files []string) (*gate.Flips, error) {
	runs, err := readResults(files)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	cases, _, _ := gate.Load(s.root, func(string) bool { return true }) // what cannot be read was told when the set was opened
	f := gate.FlipsOf(cases, runs)
	return &f, nil
}

// printFlips tells of the checks of one and the same agent, the last versions of it, and the cases that flip.
func (a *app) printFlips(f *gate.Flips) {
	if f == nil {
		return
	}
	if f.Pairs == 0 {
		fmt.Fprintln(a.stdout, "\nno version of the agent was checked twice: pawl check --results FILE --fresh tells how often verdicts flip")
		return
	}
	fmt.Fprintf(a.stdout, "\n%s", indent(f.Sentence(), "", a.width()))
	t := a.newTable(0, 0, "agent", "checks", "verdicts compared", "flipped", "last")
	for _, v := range f.Agents[max(0, len(f.Agents)-maxWaiting):] {
		t.AppendRow(table.Row{shown(fmt.Sprintf("%.12s", cmp.Or(v.Commit, v.Agent))), v.Checks, v.Pairs, v.Flipped, v.Last.Format(time.DateOnly)})
	}
	fmt.Fprintln(a.stdout, t.Render())
	for _, c := range f.Cases[:min(len(f.Cases), maxWaiting)] {
		fmt.Fprintf(a.stdout, "flips: %s, %d of %d\n", c.Case, c.Flipped, c.Pairs)
	}
}

func (a *app) printHealth(h turn.Health) {
	fmt.Fprintf(a.stdout, "%s: %s\nlabels: %s\nforms: %s\n", plural(h.Cases, "case"), counts(h.States), counts(h.Labels), counts(h.Forms))
	a.printWaiting("pending, not reproduced on the live agent", h.NotReproduced)
	a.printWaiting("pending, reproduced: fix the agent, then pawl click", h.Ready)
	a.printQuarantines(h.Quarantines)
	for _, e := range h.Escapes {
		fmt.Fprintf(a.stdout, "escaped: %s came again %s though its case held it: %s\n", e.ID, plural(len(e.Specimens), "time"), strings.Join(e.Specimens, ", "))
	}
	for _, r := range h.Retired {
		fmt.Fprintf(a.stdout, "retired: %s: %s\n", r.ID, shown(r.Reason))
	}
	if len(h.Weak) > 0 {
		fmt.Fprintf(a.stdout, "weak, for an agent that refuses everything passes them: %d of %d: add what a good run does under expect\n", len(h.Weak), h.Cases)
	}
	if len(h.Old) > 0 {
		fmt.Fprintf(a.stdout, "not in today's canonical form: %d; pawl migrate --format --write\n", len(h.Old))
	}
}

// counts reads {a: 2, b: 5} as "5 b, 2 a".
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(x, y string) int { return cmp.Or(cmp.Compare(of[y], of[x]), cmp.Compare(x, y)) })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", of[name], shown(name)))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// maxWaiting is how many of a list are shown; --json has all.
const maxWaiting = 20

func (a *app) printWaiting(title string, list []turn.Waiting) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\n%s: %d\n", title, len(list))
	t := a.newTable(5, 72, "case", "owner", "days", "seen", "what")
	for _, w := range list[:min(len(list), maxWaiting)] {
		owner := "nobody"
		if w.Owner != nil {
			owner = shown(*w.Owner)
		}
		t.AppendRow(table.Row{w.ID, owner, w.Days, w.Count, shown(w.Title)})
	}
	fmt.Fprintln(a.stdout, t.Render())
	if more := len(list) - maxWaiting; more > 0 {
		fmt.Fprintf(a.stdout, "and %d more: --json lists all\n", more)
	}
}

func (a *app) printQuarantines(list []turn.Quarantined) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\nquarantined: %d\n", len(list))
	t := a.newTable(4, 80, "case", "owner", "review", "why")
	for _, q := range list {
		review := q.Review
		if q.Overdue {
			review += " OVERDUE: blocks"
		}
		t.AppendRow(table.Row{q.ID, shown(q.Owner), review, shown(q.Reason)})
	}
	fmt.Fprintln(a.stdout, t.Render())
}
