package match

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Setting compares a run with a reference run under the names that agentevals gives its trajectory modes.
type Setting struct {
	Mode      string            // strict | unordered | subset | superset
	Arguments string            // exact | ignore | subset | superset; "" is exact
	Tools     map[string]string // by tool: the mode of its arguments in place of Arguments
	Fields    map[string][]string
}

// Expect makes the expectation of a reference run. Of a tool that Fields names only those members of the arguments are compared.
func (s Setting) Expect(reference []Call) (*regcase.Trajectory, error) {
	mode, ok := map[string]Mode{"strict": Exact, "unordered": Unordered, "subset": Subset, "superset": Superset}[s.Mode]
	if !ok {
		return nil, fmt.Errorf("trajectory match mode %q is none of strict, unordered, subset, superset", s.Mode)
	}
	out := &regcase.Trajectory{Mode: string(mode), Calls: []regcase.ExpectedCall{}}
	for _, c := range reference {
		e, err := s.call(c)
		if err != nil {
			return nil, err
		}
		out.Calls = append(out.Calls, e)
	}
	return out, nil
}

func (s Setting) call(c Call) (regcase.ExpectedCall, error) {
	e := regcase.ExpectedCall{Tool: c.Tool, Mode: s.Arguments, Arguments: map[string]regcase.Field{}}
	if own, ok := s.Tools[c.Tool]; ok {
		e.Mode = own
	}
	switch e.Mode {
	case "":
		e.Mode = "exact"
	case "ignore":
		return e, nil
	case "exact", "subset", "superset":
	default:
		return e, fmt.Errorf("arguments match mode %q of %s is none of exact, ignore, subset, superset", e.Mode, c.Tool)
	}
	only, some := s.Fields[c.Tool]
	if some {
		e.Mode = "ignore"
	}
	var m map[string]jsontext.Value
	if c.Arguments.JSON != nil {
		if err := json.Unmarshal(c.Arguments.JSON, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return e, fmt.Errorf("arguments of %s are no object", c.Tool)
		}
	}
	for _, k := range sortedKeys(m) {
		if !some || slices.Contains(only, k) {
			e.Arguments["/"+escape.Replace(k)] = regcase.Field{Match: "exact", Value: regcase.NewJSON(m[k])}
		}
	}
	return e, nil
}
