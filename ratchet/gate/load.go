package gate

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

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
	Schemas map[string]regcase.JSON // of the tools that the recording offers, by name: what an agent may ask for
	Calls   []Call                  // of the recording, in order
}

// NewCase makes a case ready to be run. trace is its trace.json; where it cannot be read its tools have no schemas.
func NewCase(c *regcase.Case, trace []byte) (*Case, error) {
	sum, err := c.Digest()
	if err != nil {
		return nil, err
	}
	out := &Case{Case: c, Sum: sum, Schemas: map[string]regcase.JSON{}}
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

// Load reads the cases of a set by id. match says which, by id. bad tells of what could not be read: cases that the gate did not see.
func Load(root *os.Root, match func(id string) bool) (cases []*Case, bad []error) {
	found, err := fs.Glob(root.FS(), "*/*/"+regcase.CaseFile)
	if err != nil {
		return nil, []error{err}
	}
	for _, file := range found {
		dir := path.Dir(file)
		if strings.HasPrefix(dir, "_") || strings.HasPrefix(dir, ".") || !match(path.Base(dir)) {
			continue
		}
		c, err := loadOne(root, dir)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		cases = append(cases, c)
	}
	slices.SortFunc(cases, func(a, b *Case) int { return cmp.Compare(a.ID, b.ID) })
	return cases, bad
}

func loadOne(root *os.Root, dir string) (*Case, error) {
	c, err := regcase.Read(root, dir)
	if err != nil {
		return nil, err
	}
	if c.Dir() != dir {
		return nil, fmt.Errorf("%s holds the case %s, which belongs to %s", dir, c.ID, c.Dir())
	}
	trace, err := root.ReadFile(path.Join(dir, regcase.JSONFile))
	if err != nil && c.State.Name != regcase.Retired {
		return nil, fmt.Errorf("case %s: its recording: %w", c.ID, err)
	}
	return NewCase(&c, trace)
}
