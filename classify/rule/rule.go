// Package rule holds pawl's rules, one file and one folder of testdata each. Every rule is a pure function of a trajectory: it answers with
// findings bound to span ids, with no match, or with the fact that it lacks. Sentences and titles name tools, kinds and numbers, never
// what a user or a tool said.
package rule

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// table holds every rule; files add to it while the package initialises.
var table []classify.Rule

func add(r classify.Rule) classify.Rule {
	table = append(table, r)
	return r
}

// All returns every rule of the package, by name.
func All() []classify.Rule {
	return slices.SortedFunc(slices.Values(table), func(a, b classify.Rule) int { return cmp.Compare(a.Name, b.Name) })
}

// stepOf returns the index of the step in which the tool call happened, -1 when no step tells.
func stepOf(t *trajectory.Trajectory, kind trajectory.StepKind, index int) int {
	return slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == kind && s.Index == index })
}

// times spells how often: once, twice, 3 times.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}
