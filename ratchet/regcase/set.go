package regcase

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Set is every case of a set, with the team's answers for tools. It is read whole or with the problems that keep it from being whole.
type Set struct {
	Cases   map[string]*Entry     // by id, further specimens by their own
	Stubs   map[string]StubFile   // by tool
	Goldens map[string]GoldenCase // cases written by hand, by id
	Renames []Rename              // in the order in which they were made

	Measures []Measure // of how much agents differ from themselves
}

// Entry is one case as it lies in a set.
type Entry struct {
	Dir       string // inside the set, with forward slashes
	Case      Case
	Digest    string // the case digest
	TraceSHA  string // of the trace that is there, which is the one that the case names
	Written   string // apiVersion that the file is written in
	Canonical bool   // the file's bytes are those that Encode gives
	Waivers   []Waiver
}

// Problem is one thing in a set that cannot be read or does not belong there.
type Problem struct {
	Path string // inside the set, with forward slashes
	Err  error
}

// Error names the path and what is wrong.
func (p Problem) Error() string { return p.Path + ": " + p.Err.Error() }

// Unwrap gives what is wrong.
func (p Problem) Unwrap() error { return p.Err }

// Bounds of a set, so that reading one ends.
const (
	maxEntries  = 20_000 // of one directory
	maxCases    = 50_000
	maxProblems = 200
)

// IDs are the ids of the cases, sorted.
func (s Set) IDs() []string { return slices.Sorted(maps.Keys(s.Cases)) }

// All are the cases in the order of their ids.
func (s Set) All() []*Entry {
	out := make([]*Entry, 0, len(s.Cases))
	for _, id := range s.IDs() {
		out = append(out, s.Cases[id])
	}
	return out
}

// ReadSet reads a set out of a source: Checkout of a working tree, a tree of git's objects, or any file system that tells links from files
// when it lists a directory. What is wrong with it is told of every file, sorted by path; a set with problems is not whole.
func ReadSet(src fs.FS) (Set, []Problem) {
	r := &reader{src: src, set: Set{Cases: map[string]*Entry{}, Stubs: map[string]StubFile{}, Goldens: map[string]GoldenCase{}}}
	for _, e := range r.list(".") {
		name := e.Name()
		switch {
		case name == StubsDir && e.IsDir():
			r.stubs()
		case name == GoldenDir && e.IsDir():
			r.goldens()
		case e.IsDir() && validLabel.MatchString(name):
			r.label(name)
		case name == RenamesFile && e.Type().IsRegular():
			r.renames()
		case name == VarianceFile && e.Type().IsRegular():
			var err error
			if r.set.Measures, err = ReadMeasures(src); err != nil {
				r.problem(name, err)
			}
		case e.IsDir() && strings.HasPrefix(name, "."), e.Type().IsRegular() && (strings.HasPrefix(name, ".") || strings.EqualFold(name, "README.md")):
			// notes and settings of other programs
		default:
			r.stray(name, e, "a set holds directories named for labels, "+StubsDir+", "+GoldenDir+", "+RenamesFile+", "+VarianceFile+" and README.md")
		}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return r.set, r.problems
}

// ReadTrace reads the recorded trace of a case.
func ReadTrace(src fs.FS, e *Entry) ([]byte, error) {
	b, err := readFile(src, path.Join(e.Dir, JSONFile), MaxTrace)
	if err == nil && SHA256(b) != e.Case.Trace.SHA256 {
		err = fmt.Errorf("%s: it is not the trace that the case names", path.Join(e.Dir, JSONFile))
	}
	return b, err
}

type reader struct {
	src      fs.FS
	set      Set
	problems []Problem
	full     bool
}

func (r *reader) problem(name string, err error) {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err // the path is said already
	}
	switch {
	case len(r.problems) < maxProblems:
		r.problems = append(r.problems, Problem{name, err})
	case !r.full:
		r.full = true
		r.problems = append(r.problems, Problem{"~", fmt.Errorf("there are more than %d problems: the rest is not told", maxProblems)})
	}
}

// stray names what does not belong where it is.
func (r *reader) stray(name string, e fs.DirEntry, belongs string) {
	if !e.IsDir() && !e.Type().IsRegular() {
		r.problem(name, fmt.Errorf("%w: it is %s, and a set holds plain files and directories alone", ErrNotFile, kindOf(e.Type())))
		return
	}
	if strings.HasSuffix(name, ".tmp") {
		belongs = "it was left behind by a write that was interrupted: remove it"
	}
	r.problem(name, fmt.Errorf("%w: %s does not belong here: %s", ErrMalformed, kindOf(e.Type()), belongs))
}

// list gives the entries of a directory by name, without those that another system would take for the same.
func (r *reader) list(dir string) []fs.DirEntry {
	entries, err := fs.ReadDir(r.src, dir)
	if err != nil {
		r.problem(dir, err)
		return nil
	}
	if len(entries) > maxEntries {
		r.problem(dir, fmt.Errorf("%w: %d entries, at most %d", ErrMalformed, len(entries), maxEntries))
		return nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	folded := map[string]string{}
	for _, e := range entries {
		low := strings.ToLower(e.Name())
		if other, ok := folded[low]; ok {
			r.problem(path.Join(dir, e.Name()), fmt.Errorf("%w: %s is there too, which is the same file where case does not count", ErrMalformed, other))
		}
		folded[low] = e.Name()
	}
	return entries
}

func (r *reader) label(label string) {
	for _, e := range r.list(label) {
		name := path.Join(label, e.Name())
		if !e.IsDir() || !validID.MatchString(e.Name()) || strings.Contains(e.Name(), ".") {
			r.stray(name, e, "below a label lie directories named for the ids of cases")
			continue
		}
		r.dir(name, e.Name())
	}
}

var specimenDir = regexp.MustCompile(`^[2-4]$`)

// dir reads a case's directory, and those of its further specimens.
func (r *reader) dir(dir, id string) {
	first := !strings.Contains(id, ".")
	var has, trace, waivers bool
	for _, e := range r.list(dir) {
		name := path.Join(dir, e.Name())
		switch plain := e.Type().IsRegular(); {
		case plain && e.Name() == CaseFile:
			has = true
		case plain && e.Name() == JSONFile:
			trace = true
		case plain && e.Name() == WaiversFile:
			waivers = true
		case e.IsDir() && first && specimenDir.MatchString(e.Name()):
			r.dir(name, id+"."+e.Name())
		default:
			r.stray(name, e, "a case's directory holds "+CaseFile+", "+JSONFile+", "+WaiversFile+" and further specimens as 2, 3, 4")
		}
	}
	switch {
	case !has:
		r.problem(dir, fmt.Errorf("%w: there is no %s", ErrMalformed, CaseFile))
	case !trace:
		r.problem(dir, fmt.Errorf("%w: there is no %s, the recorded failure", ErrMalformed, JSONFile))
	default:
		r.entry(dir, id, waivers)
	}
}

func (r *reader) entry(dir, id string, waivers bool) {
	if len(r.set.Cases) >= maxCases {
		r.problem(dir, fmt.Errorf("%w: more than %d cases", ErrMalformed, maxCases))
		return
	}
	e, err := readCase(r.src, dir)
	if err != nil {
		r.problem(path.Join(dir, CaseFile), err)
		return
	}
	if e.Case.ID != id {
		r.problem(path.Join(dir, CaseFile), fmt.Errorf("%w: it is the case %s, whose place is %s", ErrMalformed, e.Case.ID, e.Case.Dir()))
		return
	}
	if dir != e.Case.Dir() {
		r.problem(path.Join(dir, CaseFile), fmt.Errorf("%w: its label is %s, so its place is %s", ErrMalformed, e.Case.Labels[0], e.Case.Dir()))
		return
	}
	if b, err := readFile(r.src, path.Join(dir, JSONFile), MaxTrace); err != nil {
		r.problem(path.Join(dir, JSONFile), err)
	} else if e.TraceSHA = SHA256(b); e.TraceSHA != e.Case.Trace.SHA256 {
		r.problem(path.Join(dir, JSONFile), fmt.Errorf("%w: it is not the trace that the case names: its sha256 is %s", ErrMalformed, e.TraceSHA))
	}
	if waivers {
		if e.Waivers, err = readWaivers(r.src, dir); err != nil {
			r.problem(path.Join(dir, WaiversFile), err)
		}
	}
	r.set.Cases[id] = e
}

// readCase reads case.yaml alone.
func readCase(src fs.FS, dir string) (*Entry, error) {
	b, err := readFile(src, path.Join(dir, CaseFile), MaxDocument)
	if err != nil {
		return nil, err
	}
	c, written, err := decodeCase(b)
	if err != nil {
		return nil, err
	}
	digest, err := c.Digest()
	if err != nil {
		return nil, err
	}
	again, err := Encode(c)
	return &Entry{Dir: dir, Case: c, Digest: digest, Written: written, Canonical: bytes.Equal(b, again)}, err
}

// readWaivers reads the waivers of a case; where there is no file there are none.
func readWaivers(src fs.FS, dir string) ([]Waiver, error) {
	b, err := readFile(src, path.Join(dir, WaiversFile), MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return DecodeWaivers(b)
}

func (r *reader) renames() {
	b, err := readFile(r.src, RenamesFile, MaxDocument)
	if err == nil {
		r.set.Renames, err = DecodeRenames(b)
	}
	if err != nil {
		r.problem(RenamesFile, err)
	}
}

func (r *reader) stubs() {
	for _, e := range r.list(StubsDir) {
		name := path.Join(StubsDir, e.Name())
		if !e.Type().IsRegular() || !stubName.MatchString(e.Name()) {
			r.stray(name, e, "it holds <tool>.json, <tool>.yaml and executables named for tools")
			continue
		}
		f, err := r.stub(name)
		if err != nil {
			r.problem(name, err)
			continue
		}
		if other, ok := r.set.Stubs[f.Tool]; ok {
			r.problem(name, fmt.Errorf("%w: %s answers for %s already", ErrMalformed, other.Path, f.Tool))
			continue
		}
		r.set.Stubs[f.Tool] = f
	}
}

func (r *reader) stub(name string) (StubFile, error) {
	info, err := fs.Stat(r.src, name)
	if err != nil {
		return StubFile{}, err
	}
	b, err := readFile(r.src, name, MaxDocument)
	if err != nil {
		return StubFile{}, err
	}
	return stubFile(path.Base(name), b, info.Mode().Perm()&0o111 != 0)
}
