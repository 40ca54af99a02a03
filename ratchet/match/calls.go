package match

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Mode is how a sequence of calls is compared.
type Mode string

// The modes.
const (
	Exact     Mode = "exact"
	Ordered   Mode = "ordered"
	Unordered Mode = "unordered"
	Superset  Mode = "superset"
	Subset    Mode = "subset"
)

// Call is one tool call that was made.
type Call struct {
	Tool      string
	Arguments trajectory.Value
	Step      int // index into the steps, -1 when none tells
	Together  int // calls of one number were asked for in one answer and have no order; -1: this one was asked for alone
}

// CallsOf lists the calls that the run made, in order of its steps.
func CallsOf(t *trajectory.Trajectory) []Call {
	out := make([]Call, 0, len(t.ToolCalls))
	seen := make([]bool, len(t.ToolCalls))
	add := func(i, step int) {
		c := &t.ToolCalls[i]
		if !seen[i] && !c.Recalled {
			out = append(out, Call{Tool: c.Name, Arguments: c.Arguments, Step: step, Together: c.Model})
		}
		seen[i] = true
	}
	for n, s := range t.Steps {
		if s.Kind == trajectory.StepTool && s.Index >= 0 && s.Index < len(seen) {
			add(s.Index, n)
		}
	}
	for i := range seen {
		add(i, -1)
	}
	return out
}

// Calls compares the run's tool calls with the expected ones.
func (m Matcher) Calls(e *regcase.Trajectory, t *trajectory.Trajectory) Answer {
	return m.Sequence(e, CallsOf(t))
}

// maxPairs bounds the work of one comparison.
const maxPairs = 1 << 20

// Sequence compares calls with the expected ones.
func (m Matcher) Sequence(e *regcase.Trajectory, got []Call) Answer {
	if len(e.Calls)*len(got) > maxPairs {
		return Answer{Undecided: []string{fmt.Sprintf("%d calls are too many to compare with %d expected ones", len(got), len(e.Calls))}}
	}
	c := newComparison(m, e.Calls, got)
	switch Mode(e.Mode) {
	case Exact:
		return c.exact(e.Distance)
	case Ordered:
		return c.ordered(e.Distance)
	case Unordered, Superset, Subset:
		return c.assigned(Mode(e.Mode), e.Distance)
	}
	return Answer{Undecided: []string{fmt.Sprintf("mode %q is none of exact, ordered, unordered, superset, subset", e.Mode)}}
}

// comparison holds expected and made calls; pairs are compared once, when they are asked for.
type comparison struct {
	m     Matcher
	want  []expected
	got   []made
	table []int8 // truth+1 of want x got; 0 is not compared yet
}

type expected struct {
	*regcase.ExpectedCall
	tool   string // normalised
	fields []wanted
}

type made struct {
	Call
	tool string
	args *arguments // nil until asked for
}

func newComparison(m Matcher, want []regcase.ExpectedCall, got []Call) *comparison {
	c := &comparison{m: m, table: make([]int8, len(want)*len(got))}
	for i := range want {
		c.want = append(c.want, expected{&want[i], catalog.Normalise(want[i].Tool), wantedOf(want[i].Arguments)})
	}
	for i := range got {
		c.got = append(c.got, made{Call: got[i], tool: catalog.Normalise(got[i].Tool)})
	}
	return c
}

// same says whether a made call is an expected one.
func (c *comparison) same(w, g int) truth {
	if c.want[w].tool != c.got[g].tool {
		return no
	}
	at := &c.table[w*len(c.got)+g]
	if *at == 0 {
		*at = int8(c.arguments(w, g, nil)) + 1
	}
	return truth(*at - 1)
}

// differences explains how a made call of the expected tool differs.
func (c *comparison) differences(w, g int) Answer {
	var a Answer
	if c.want[w].tool != c.got[g].tool {
		a.Mismatches = append(a.Mismatches, Mismatch{c.got[g].Step, "tool", short(c.want[w].Tool), short(c.got[g].Tool)})
		return a
	}
	c.arguments(w, g, &a)
	return a
}

func (c *comparison) missing(w int) Mismatch {
	return Mismatch{-1, "call", c.want[w].String(), "none"}
}

func (c *comparison) extra(g int) Mismatch {
	return Mismatch{c.got[g].Step, "call", "none", c.got[g].String()}
}

// String is the expected call as a person reads it.
func (e expected) String() string {
	var parts []string
	for _, p := range sortedKeys(e.Arguments) {
		f := e.Arguments[p]
		switch f.Match {
		case "exact", "":
			parts = append(parts, p+"="+string(f.Value))
		case "ignore":
			parts = append(parts, p+"=*")
		default:
			parts = append(parts, p+" "+f.Match+" "+string(f.Value))
		}
	}
	return short(strings.TrimSpace(e.Tool + " " + strings.Join(parts, " ")))
}

// String is the made call as a person reads it.
func (g made) String() string { return short(strings.TrimSpace(g.Tool + " " + g.Arguments.Raw)) }

// groups are the made calls, in order, with those that were asked for together in one.
func (c *comparison) groups() [][]int {
	var out [][]int
	for g := range c.got {
		n := len(out) - 1
		if t := c.got[g].Together; n >= 0 && t >= 0 && c.got[out[n][0]].Together == t {
			out[n] = append(out[n], g)
			continue
		}
		out = append(out, []int{g})
	}
	return out
}

// inOrder lists the made calls such that what was asked for together stands in the order in which it is expected, whatever the order in which
// it ran.
func (c *comparison) inOrder() []int {
	var out []int
	for _, group := range c.groups() {
		if len(group) > 1 {
			slices.SortStableFunc(group, func(a, b int) int {
				return cmp.Or(cmp.Compare(c.place(a), c.place(b)), cmp.Compare(c.got[a].tool, c.got[b].tool), cmp.Compare(c.got[a].Arguments.Raw, c.got[b].Arguments.Raw))
			})
		}
		out = append(out, group...)
	}
	return out
}

// place is the first expected call that a made one is, else after all of those the first of its tool.
func (c *comparison) place(g int) int {
	n := len(c.want)
	out := 2 * n
	for w := range c.want {
		if c.same(w, g) == yes {
			return w
		}
		if c.want[w].tool == c.got[g].tool {
			out = min(out, n+w)
		}
	}
	return out
}
