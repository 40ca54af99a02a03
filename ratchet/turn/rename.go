package turn

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/rename"
)

// Change is one file of a set as it is to be. Old is its present path where it moves, else "".
type Change struct {
	Path string
	Old  string
	Data []byte
	Case string // id, "" of a file that is no case's
}

// Rename gives a tool or a field another name in the whole set: cases, traces, what was written by hand, the team's answers, and the entry in renames.yaml that lets verify
// prove that nothing else changed. It changes nothing by itself.
func Rename(src fs.FS, set regcase.Set, n regcase.Rename) ([]Change, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	if s, ok := set.Stubs[n.To]; ok && n.Field == "" {
		return nil, inUse(n, s.Path)
	}
	var out []Change
	for _, e := range set.All() {
		cs, err := renamed(src, e, n)
		if err != nil {
			return nil, err
		}
		out = append(out, cs...)
	}
	goldens, err := renamedGoldens(src, set, n)
	if err != nil {
		return nil, err
	}
	out = append(out, goldens...)
	stubs, err := renamedStub(set, n)
	if err != nil {
		return nil, err
	}
	out = append(out, stubs...)
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing in the set knows %s", strings.TrimSuffix(n.Tool+" "+n.Field, " "))
	}
	b, err := regcase.EncodeRenames(append(slices.Clone(set.Renames), n))
	return append(out, Change{Path: regcase.RenamesFile, Data: b}), err
}

func renamed(src fs.FS, e *regcase.Entry, n regcase.Rename) ([]Change, error) {
	trace, err := regcase.ReadTrace(src, e)
	if err != nil {
		return nil, err
	}
	c, to, err := rename.Apply(n, e.Case, trace)
	if err != nil {
		return nil, err
	}
	before, err := regcase.Encode(e.Case)
	if err != nil {
		return nil, err
	}
	after, err := regcase.Encode(c)
	if err != nil {
		return nil, err
	}
	if back, from, err := rename.Apply(inverse(n), e.Case, trace); err != nil || !bytes.Equal(from, trace) || !same(back, before) {
		return nil, inUse(n, e.Case.ID)
	}
	var out []Change
	if !bytes.Equal(trace, to) {
		out = append(out, Change{Path: path.Join(e.Dir, regcase.JSONFile), Data: to, Case: c.ID})
	}
	if !bytes.Equal(before, after) {
		out = append(out, Change{Path: path.Join(e.Dir, regcase.CaseFile), Data: after, Case: c.ID})
	}
	return out, nil
}

// same says that a case has these bytes.
func same(c regcase.Case, b []byte) bool {
	got, err := regcase.Encode(c)
	return err == nil && bytes.Equal(got, b)
}

func inUse(n regcase.Rename, by string) error {
	return fmt.Errorf("%s is used already, by %s: two names that become one are another test", n.To, by)
}

func inverse(n regcase.Rename) regcase.Rename {
	if n.Field == "" {
		return regcase.Rename{Tool: n.To, To: n.Tool}
	}
	return regcase.Rename{Tool: n.Tool, Field: n.To, To: n.Field}
}

// renamedStub gives the team's answers for the tool the new name. What an executable answers is not known here: it is told in an error.
func renamedStub(set regcase.Set, n regcase.Rename) ([]Change, error) {
	s, ok := set.Stubs[n.Tool]
	if !ok {
		return nil, nil
	}
	if s.Executable {
		return nil, fmt.Errorf("%s is a program: name it %s (and mend what it answers) yourself, then migrate", s.Path, regcase.StubName(n.To))
	}
	stubs := rename.Stub(n, regcase.Stubs{APIVersion: regcase.APIVersion, Kind: regcase.StubsKind, Tool: s.Tool, Answers: s.Answers})
	b, err := regcase.EncodeStubs(stubs)
	if err != nil {
		return nil, err
	}
	to := path.Join(regcase.StubsDir, regcase.StubName(stubs.Tool)+".yaml")
	c := Change{Path: to, Data: b}
	if to != s.Path {
		c.Old = s.Path
	}
	return []Change{c}, nil
}

// Format writes every case anew that is not in the canonical bytes of today's version.
func Format(set regcase.Set) ([]Change, error) {
	var out []Change
	for _, e := range set.All() {
		if e.Canonical {
			continue
		}
		b, err := regcase.Encode(e.Case)
		if err != nil {
			return nil, err
		}
		out = append(out, Change{Path: path.Join(e.Dir, regcase.CaseFile), Data: b, Case: e.Case.ID})
	}
	return out, nil
}
