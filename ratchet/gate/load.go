package gate

import (
	"maps"
	"os"
	"slices"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Case is a case as the gate runs it.
type Case struct {
	*regcase.Case
	Sum     string                  // its digest
	File    string                  // where it is written, inside the set
	Golden  *regcase.Golden         // as it was written by hand; nil of a case that was recorded
	Schemas map[string]regcase.JSON // of the tools that the recording offers, by name: what an agent may ask for
	Calls   []Call                  // of the recording, in order
	Changed bool                    // base does not hold it as it is
}

// NewCase makes a case ready to be run. trace is its trace.json; where it cannot be read its tools have no schemas.
func NewCase(c *regcase.Case, trace []byte) (*Case, error) {
	sum, err := c.Digest()
	if err != nil {
		return nil, err
	}
	out := &Case{Case: c, Sum: sum, File: c.Dir() + "/" + regcase.CaseFile, Schemas: map[string]regcase.JSON{}}
	for _, t := range c.Tools {
		if t.Schema != nil {
			out.Schemas[t.Name] = t.Schema
		}
	}
	td, ld, err := record.Decode(trace)
	if err != nil {
		return out, nil
	}
	for _, t := range trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld}) {
		built := trajectory.Build(t)
		out.Calls = append(out.Calls, callsOf(built)...)
		for _, d := range built.ToolsOffered {
			if _, known := out.Schemas[d.Name]; !known && d.Schema != nil {
				out.Schemas[d.Name] = regcase.JSON(d.Schema)
			}
		}
	}
	return out, nil
}

// GoldenCase makes a case that was written by hand ready to be run.
func GoldenCase(g regcase.GoldenCase) (*Case, error) {
	c, err := NewCase(&g.Case, nil)
	if err != nil {
		return nil, err
	}
	c.File, c.Golden = g.Path, &g.Golden
	return c, nil
}

// Load reads the cases of a set by id, those written by hand last, and the team's answers for tools. match says which cases, by id. bad tells of what could not be read: cases
// that the gate did not see.
func Load(root *os.Root, match func(id string) bool) (cases []*Case, stubs map[string]regcase.StubFile, bad []error) {
	src := regcase.Checkout(root)
	set, problems := regcase.ReadSet(src)
	for _, p := range problems {
		bad = append(bad, p)
	}
	for _, e := range set.All() {
		if !match(e.Case.ID) {
			continue
		}
		trace, err := regcase.ReadTrace(src, e)
		if err != nil && e.Case.State.Name != regcase.Retired {
			bad = append(bad, err)
			continue
		}
		c, err := NewCase(&e.Case, trace)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		c.File = e.Dir + "/" + regcase.CaseFile
		cases = append(cases, c)
	}
	for _, id := range slices.Sorted(maps.Keys(set.Goldens)) {
		if !match(id) {
			continue
		}
		c, err := GoldenCase(set.Goldens[id])
		if err != nil {
			bad = append(bad, err)
			continue
		}
		cases = append(cases, c)
	}
	return cases, set.Stubs, bad
}
