package click

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify"
)

// MinRuns is how many passing runs must agree before they say what a run is like.
const MinRuns = 3

// Tolerance is by how much a run may exceed a proposed budget: 0.2 is 20 %.
const Tolerance = 0.2

// Parts that can be proposed.
const (
	Trajectory = "trajectory"
	Budget     = "budget"
)

// Parts are all of them.
var Parts = []string{Trajectory, Budget}

// Propose adds to a case what its passing runs have in common: of the parts named the calls that all of them make, and what they take. A person accepts
// that. told says, part by part, what was proposed, or why nothing was. The case that comes back is no looser than the one that went in; digest is that
// one's case digest.
func Propose(c regcase.Case, digest string, runs []gate.Run, parts []string, now time.Time) (out regcase.Case, told []string) {
	passing := passingOf(c.ID, digest, runs)
	if len(passing) < MinRuns {
		return c, []string{fmt.Sprintf("%d runs of it passed, and %d must agree before anything is proposed", len(passing), MinRuns)}
	}
	s := Standing{Case: c}
	for _, part := range parts {
		before := s.Case
		s.Changed = false
		what := "what is asserted already is as strict"
		switch part {
		case Trajectory:
			calls := common(&c, passing)
			if len(calls) == 0 {
				told = append(told, part+": the passing runs make no call in common")
				continue
			}
			s.take(func(c *regcase.Case) {
				c.Expect.Trajectory = &regcase.Trajectory{Mode: "superset", Calls: calls}
				c.Weak = false
			}, now)
			what = fmt.Sprintf("the calls that each of %d passing runs makes: %d", len(passing), len(calls))
		case Budget:
			s.take(func(c *regcase.Case) { c.Expect.Budget = budget(c.Expect.Budget, passing) }, now)
			what = fmt.Sprintf("the most that any of %d passing runs took, and %.0f %% more", len(passing), Tolerance*100)
		}
		if !s.Changed {
			s.Case, what = before, "what is asserted already cannot be shown to be less"
		}
		told = append(told, part+": "+what)
	}
	return s.Case, told
}

// passingOf are the runs of the agent's own versions that passed, each once.
func passingOf(id, digest string, runs []gate.Run) (out []gate.Run) {
	seen := map[same]bool{}
	for _, r := range runs {
		if r.Case != id || r.Digest != digest || r.Verdict != gate.Pass {
			continue
		}
		if !seen[sameOf(r)] {
			seen[sameOf(r)] = true
			out = append(out, r)
		}
	}
	return out
}

// common are the calls that every run makes, in the order of the first run: of a tool as many as the run with the fewest. The nth call of a tool in one
// run stands beside the nth in another.
func common(c *regcase.Case, runs []gate.Run) (out []regcase.ExpectedCall) {
	by := make([]map[string][]gate.Call, len(runs))
	for i, r := range runs {
		by[i] = map[string][]gate.Call{}
		for _, call := range r.Calls {
			by[i][call.Tool] = append(by[i][call.Tool], call)
		}
	}
	said, nth := words(c), map[string]int{}
	for _, call := range runs[0].Calls {
		n := nth[call.Tool]
		nth[call.Tool]++
		if slices.ContainsFunc(by, func(m map[string][]gate.Call) bool { return len(m[call.Tool]) <= n }) {
			continue
		}
		e := regcase.ExpectedCall{Tool: call.Tool, Mode: "ignore", Arguments: map[string]regcase.Field{}}
		for _, leaf := range leaves("", call.Arguments) {
			differs := func(m map[string][]gate.Call) bool {
				return string(at(m[call.Tool][n].Arguments, leaf.at)) != string(leaf.value)
			}
			if said.hold(leaf.value) && !slices.ContainsFunc(by, differs) {
				e.Arguments[leaf.at] = regcase.Field{Match: "exact", Value: leaf.value}
			}
		}
		out = append(out, e)
	}
	return out
}

// input is all that the user says.
type input string

func words(c *regcase.Case) input {
	var b strings.Builder
	for _, t := range c.Input.Turns {
		b.WriteString(t.User + "\n")
	}
	for _, key := range slices.Sorted(maps.Keys(c.Input.Variables)) {
		b.WriteString(c.Input.Variables[key] + "\n")
	}
	return input(b.String())
}

// hold says that a value stands in what the user says, as a word of its own: the agent had it from there.
func (in input) hold(v regcase.JSON) bool {
	text := string(v)
	if jsontext.Value(v).Kind() == '"' && json.Unmarshal(v, &text) != nil {
		return false
	}
	if k := jsontext.Value(v).Kind(); k != '"' && k != '0' || strings.TrimSpace(text) == "" {
		return false
	}
	for rest := string(in); ; {
		i := strings.Index(rest, text)
		if i < 0 {
			return false
		}
		if !wordy(rest[:i], true) && !wordy(rest[i+len(text):], false) {
			return true
		}
		rest = rest[i+1:]
	}
}

// wordy says that a word goes on at the end of s, or at its beginning.
func wordy(s string, end bool) bool {
	if s == "" {
		return false
	}
	b := s[0]
	if end {
		b = s[len(s)-1]
	}
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// leaf is one value in a call's arguments that holds no others.
type leaf struct {
	at    string // JSON pointer
	value regcase.JSON
}

// leaves are the values of an object of arguments, in the order of their pointers. Elements of lists are left alone: their order is seldom the point.
func leaves(at string, v regcase.JSON) (out []leaf) {
	if jsontext.Value(v).Kind() != '{' {
		if at == "" || jsontext.Value(v).Kind() == '[' {
			return nil
		}
		return []leaf{{at, v}}
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil {
		return nil
	}
	for k, m := range members {
		out = append(out, leaves(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), regcase.NewJSON(m))...)
	}
	slices.SortFunc(out, func(a, b leaf) int { return cmp.Compare(a.at, b.at) })
	return out
}

// at is what stands at a pointer, nil where nothing does.
func at(v regcase.JSON, pointer string) regcase.JSON {
	for _, l := range leaves("", v) {
		if l.at == pointer {
			return l.value
		}
	}
	return nil
}

// budget lowers what is there to the most that the runs took, and adds what was not limited. What not every run tells is not limited.
func budget(old *regcase.Budget, runs []gate.Run) *regcase.Budget {
	b := &regcase.Budget{Tolerance: Tolerance}
	if old != nil {
		b = new(*old)
		b.Tolerance = min(b.Tolerance, Tolerance)
	}
	b.TotalTokens = least(b.TotalTokens, most(runs, func(r gate.Run) *int64 { return r.Tokens }))
	b.ToolCalls = least(b.ToolCalls, most(runs, func(r gate.Run) *int64 { return r.ToolCalls }))
	b.CostUSD = least(b.CostUSD, most(runs, func(r gate.Run) *float64 { return r.CostUSD }))
	if b.TotalTokens == nil && b.ToolCalls == nil && b.CostUSD == nil {
		return old
	}
	return b
}

func most[T int64 | float64](runs []gate.Run, number func(gate.Run) *T) (out *T) {
	for _, r := range runs {
		n := number(r)
		if n == nil {
			return nil
		}
		if out == nil || *n > *out {
			out = new(*n)
		}
	}
	return out
}

func least[T int64 | float64](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// Looser lists in what a head case does not hold what its base did; for a change that says of itself that it only tightens, that is none.
func Looser(base, head *regcase.Case, now time.Time) (out []string) {
	for _, d := range verify.Compare(base, head, now) {
		if !d.Relation.Holds() {
			out = append(out, fmt.Sprintf("%s: from %s to %s", d.Field, verify.Short(d.Base), verify.Short(d.Head)))
		}
	}
	return out
}
