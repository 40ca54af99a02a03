package ratchet

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// fixtures are the recorded answers, each (tool, arguments, result) once, in order: a loop needs its answer once, polling needs all of them.
func fixtures(t *trajectory.Trajectory) []regcase.Fixture {
	out := []regcase.Fixture{}
	for _, c := range t.ToolCalls {
		f := regcase.Fixture{Tool: c.Name, Arguments: valueJSON(c.Arguments), From: "recording"}
		switch {
		case c.Outcome == trajectory.OutcomeOK, c.Outcome == trajectory.OutcomeUnknown:
			if !c.HasResult {
				continue // what it answered was not recorded, which is no fault
			}
			f.Result = valueJSON(c.Result)
		default:
			f.Fault = orNil(string(c.Outcome))
			f.Result = faultJSON(c)
		}
		same := func(g regcase.Fixture) bool {
			return g.Tool == f.Tool && string(g.Arguments) == string(f.Arguments) && string(g.Result) == string(f.Result) && orEmpty(g.Fault) == orEmpty(f.Fault)
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	return out
}

// Bounds of the healthy results in a case: of one tool, of all, and of their text in bytes.
const (
	maxOfTool   = 3
	maxHealthy  = 24
	maxResult   = 8 << 10
	maxOfHealth = 64 << 10
)

// healthyFixtures are results of the tools that healthy runs of the route called: an agent that is mended goes another way than the recorded run, and
// that way must have answers too. What the recording answers is left out.
func healthyFixtures(recorded []regcase.Fixture, controls []*trajectory.Trajectory) (out []regcase.Fixture) {
	of, room := map[string]int{}, maxOfHealth
	for _, t := range controls {
		for i := range t.ToolCalls {
			c := &t.ToolCalls[i]
			if c.Recalled || !c.HasResult || c.Outcome != trajectory.OutcomeOK || c.Result.Truncated || c.Arguments.Truncated {
				continue
			}
			f := regcase.Fixture{Tool: c.Name, Arguments: valueJSON(c.Arguments), Result: valueJSON(c.Result), From: "healthy"}
			size := len(f.Arguments) + len(f.Result)
			known := func(g regcase.Fixture) bool { return g.Tool == f.Tool && string(g.Arguments) == string(f.Arguments) }
			if size > maxResult || size > room || len(out) == maxHealthy || of[f.Tool] == maxOfTool || slices.ContainsFunc(recorded, known) || slices.ContainsFunc(out, known) {
				continue
			}
			of[f.Tool]++
			room -= size
			out = append(out, f)
		}
	}
	return out
}

func faultJSON(c trajectory.ToolCall) regcase.JSON {
	switch {
	case c.HasResult:
		return valueJSON(c.Result)
	case c.Error != nil && c.Error.Message != "":
		b, err := json.Marshal(c.Error.Message)
		if err != nil {
			return nil
		}
		return b
	}
	return nil
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func valueJSON(v trajectory.Value) regcase.JSON {
	if v.JSON != nil {
		return regcase.NewJSON(v.JSON)
	}
	if v.Parsed == trajectory.ParsedAbsent {
		return nil
	}
	b, err := json.Marshal(v.Raw)
	if err != nil {
		return nil
	}
	return b
}
