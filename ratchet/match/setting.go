package match

import (
	"fmt"
	"slices"

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
	if v := c.Arguments.JSON; v != nil && v.Kind() != '{' {
		return e, fmt.Errorf("arguments of %s are no object", c.Tool)
	}
	for _, p := range partsOf(c.Arguments.JSON) {
		if !some || slices.Contains(only, p.name) {
			e.Arguments["/"+escape.Replace(p.name)] = regcase.Field{Match: "exact", Value: regcase.JSON(p.value)}
		}
	}
	return e, nil
}
