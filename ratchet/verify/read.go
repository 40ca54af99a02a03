package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// ReadSet reads the set at dir of a repository. A directory that is not there is an empty set; one that is a link or anything else is barred.
func ReadSet(repo fs.FS, dir string) *Set {
	s := &Set{Dir: dir, Cases: map[string]*Entry{}, Stubs: map[string]Stub{}, Goldens: map[string]Golden{}}
	if why := cmp.Or(notDirectory(repo, dir), Twin(repo, dir)); why != "" {
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
		s.Stubs[stub.Path] = stubOf(stub)
	}
	for id, g := range set.Goldens {
		s.Goldens[id] = goldenOf(g)
	}
	for _, p := range problems {
		s.Problems = append(s.Problems, Problem{p.Path, p.Err.Error()})
	}
	return s
}

// Digests are the case digests of a set, by id.
func (s *Set) Digests() map[string]string {
	out := map[string]string{}
	for id, g := range s.Goldens {
		out[id] = g.Digest
	}
	for _, e := range s.Cases {
		out[e.Case.ID] = e.read.Digest
	}
	return out
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

// Twin says what lies beside a path, or beside a directory on the way to it, that is the same where neither case nor signs that do not show count: a
// checkout on such a system holds a mixture of both. It is "" if there is nothing of the kind.
func Twin(repo fs.FS, name string) string {
	for ; name != "."; name = path.Dir(name) {
		entries, err := fs.ReadDir(repo, path.Dir(name))
		if err != nil {
			continue // what is not there has no twin
		}
		for _, e := range entries {
			if e.Name() != path.Base(name) && strings.EqualFold(visible(e.Name()), path.Base(name)) {
				return fmt.Sprintf("%s lies beside %s, which is the same place on many systems: what is read there is not what is compared here", strconv.Quote(e.Name()), name)
			}
		}
	}
	return ""
}

// visible is a name without the signs that some file systems leave out when they compare.
func visible(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
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
