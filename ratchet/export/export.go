// Package export writes the cases of a set for other tools: promptfoo, agentevals, and a plain JSON Lines form for anything else.
//
// Other tools assert less than a case does. What of a case has no counterpart is named in the export, case by case, as "lost": a suite that is
// green elsewhere has not shown what pawl check shows. Retired cases are left out.
package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Format names a tool that cases are written for.
type Format string

// The formats.
const (
	Promptfoo  Format = "promptfoo"  // promptfooconfig.yaml
	AgentEvals Format = "agentevals" // JSON Lines: the arguments of createTrajectoryMatchEvaluator and of its evaluator
	JSONL      Format = "jsonl"      // JSON Lines: the whole case with its digest
)

// Formats lists them.
func Formats() []Format { return []Format{Promptfoo, AgentEvals, JSONL} }

// Result is an export and what it could not say.
type Result struct {
	Data    []byte
	Cases   int                 // that were written
	Left    map[string]string   // id -> why it was left out
	Lost    map[string][]string // id -> parts of the case that have no counterpart
	Retired int
}

// Write exports the cases of a set, in the order of their ids.
func Write(set regcase.Set, f Format) (Result, error) {
	r := Result{Left: map[string]string{}, Lost: map[string][]string{}}
	var live []*regcase.Entry
	for _, e := range set.All() {
		if e.Case.State.Name == regcase.Retired {
			r.Retired++
			continue
		}
		live = append(live, e)
	}
	switch f {
	case Promptfoo:
		return r, promptfoo(&r, live)
	case AgentEvals:
		return r, lines(&r, live, agentEvals)
	case JSONL:
		return r, lines(&r, live, whole)
	}
	return r, fmt.Errorf("%q is none of %v", f, Formats())
}

// lines writes one object for each case that one gives one for.
func lines(r *Result, live []*regcase.Entry, one func(r *Result, e *regcase.Entry) (any, bool)) error {
	for _, e := range live {
		v, ok := one(r, e)
		if !ok {
			continue
		}
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("case %s: %w", e.Case.ID, err)
		}
		r.Data = append(append(r.Data, b...), '\n')
		r.Cases++
	}
	return nil
}

// whole is the plain form: the case as it is, with its digest before it.
func whole(_ *Result, e *regcase.Entry) (any, bool) {
	return struct {
		Digest string       `json:"digest"`
		Dir    string       `json:"dir"`
		Case   regcase.Case `json:"case"`
	}{e.Digest, e.Dir, e.Case}, true
}

// lose notes what an export does not say of a case.
func (r *Result) lose(id string, parts ...string) {
	r.Lost[id] = append(r.Lost[id], parts...)
}

// common notes what no other tool has a word for.
func (r *Result) common(c *regcase.Case) {
	for _, n := range c.Expect.Never {
		r.lose(c.ID, "never "+n.Rule)
	}
	if c.Expect.State != nil {
		r.lose(c.ID, "state")
	}
	if len(c.Input.Turns) > 1 {
		r.lose(c.ID, "the agent's own answers between the turns: the recorded ones stand in")
	}
	if len(c.Fixtures) > 0 {
		r.lose(c.ID, "fixtures: tools are not replayed")
	}
}

// call is an expected call with the arguments that are known exactly.
type call struct {
	tool      string
	arguments jsontext.Value
	exact     []string // dot paths of the fields that are compared
	all       bool     // every field is known and compared
	null      bool     // one of them is to be null
}

// calls are those that a case expects, and how they are to lie in the run; nil where it expects none.
func calls(r *Result, c *regcase.Case) (list []call, mode string) {
	t := c.Expect.Trajectory
	if t == nil {
		for _, name := range c.Expect.Liveness.Calls {
			list = append(list, call{tool: name, arguments: jsontext.Value("{}")})
		}
		return list, "superset"
	}
	if t.Distance > 0 {
		r.lose(c.ID, fmt.Sprintf("%d edits of the sequence that are allowed", t.Distance))
	}
	for i := range t.Calls {
		list = append(list, expected(r, c.ID, &t.Calls[i]))
	}
	return list, t.Mode
}

func expected(r *Result, id string, e *regcase.ExpectedCall) call {
	tree := map[string]any{}
	out := call{tool: e.Tool, all: e.Mode == "exact"}
	for _, p := range slices.Sorted(maps.Keys(e.Arguments)) {
		f := e.Arguments[p]
		path := strings.Split(strings.TrimPrefix(p, "/"), "/")
		if f.Match != "exact" || p == "" || slices.ContainsFunc(path, func(s string) bool {
			return s == "" || strings.ContainsAny(s, ".~") || strings.Trim(s, "0123456789") == ""
		}) {
			r.lose(id, fmt.Sprintf("%s %s: %s", e.Tool, p, f.Match))
			out.all = false
			continue
		}
		out.null = out.null || f.Value == nil
		if put(tree, path, f.Value) {
			out.exact = append(out.exact, strings.Join(path, "."))
		}
	}
	if e.Mode == "subset" || e.Mode == "superset" {
		r.lose(id, e.Tool+": fields that are not named, "+e.Mode)
	}
	b, err := json.Marshal(tree, json.Deterministic(true))
	if err != nil {
		b = []byte("{}")
	}
	out.arguments = b
	return out
}

// put sets a value at a path of names. It fails where a value stands in the way.
func put(tree map[string]any, path []string, v regcase.JSON) bool {
	for _, name := range path[:len(path)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok && tree[name] != nil {
			return false
		}
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = v
	return true
}
