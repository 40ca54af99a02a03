package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// ReadSet reads the set at dir of a repository. A directory that is not there is an empty set; one that is a link or anything else is barred.
func ReadSet(repo fs.FS, dir string) *Set {
	s := &Set{Dir: dir, Cases: map[string]*Entry{}, Stubs: map[string]string{}, Goldens: map[string]Golden{}}
	if why := notDirectory(repo, dir); why != "" {
		s.Bar(why)
		return s
	}
	if _, err := fs.Lstat(repo, dir); errors.Is(err, fs.ErrNotExist) {
		return s
	}
	sub, err := fs.Sub(repo, dir)
	if err != nil {
		s.Bar(err.Error())
		return s
	}
	set, problems := regcase.ReadSet(sub)
	s.files, s.stubs, s.Renames = sub, set.Stubs, set.Renames
	for _, e := range set.All() {
		s.Cases[e.Dir] = &Entry{Case: e.Case, TraceSHA: e.TraceSHA, Waivers: e.Waivers, read: e}
	}
	for _, stub := range set.Stubs {
		s.Stubs[stub.Path] = stubText(stub)
	}
	for id, g := range set.Goldens {
		s.Goldens[id] = goldenOf(g)
	}
	for _, p := range problems {
		s.Problems = append(s.Problems, Problem{p.Path, p.Err.Error()})
	}
	return s
}

// trace reads the recording of a case.
func (s *Set) trace(e *Entry) ([]byte, error) {
	if e.recording != nil {
		return e.recording, nil
	}
	return regcase.ReadTrace(s.files, e.read)
}

// notDirectory says what stands in the way to a directory, "" if it is one or is not there.
func notDirectory(repo fs.FS, dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		info, err := fs.Lstat(repo, dir)
		switch {
		case err != nil || info.IsDir():
		case info.Mode()&fs.ModeSymlink != 0:
			return dir + " is a symbolic link: what lies elsewhere is not part of this change"
		case info.Mode()&fs.ModeIrregular != 0:
			return dir + " is a submodule: what another repository holds is not part of this change"
		default:
			return dir + " is a file and no directory"
		}
	}
	return ""
}

// ReadWaivers reads a file of waivers; none is no waivers.
func ReadWaivers(repo fs.FS, name string) ([]Waiver, error) {
	b, err := fs.ReadFile(repo, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ws, err := regcase.DecodeWaivers(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return ws, nil
}
