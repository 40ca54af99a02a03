package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

const waiversFile = "waivers.yaml"

const stubsDir = "_fixtures"

// ReadSet reads the set at dir of a repository. A directory that is not there is an empty set; one that is a link or anything else is barred.
func ReadSet(repo fs.FS, dir string) *Set {
	s := &Set{Dir: dir, Cases: map[string]*Entry{}, Stubs: map[string]string{}}
	if why := notDirectory(repo, dir); why != "" {
		s.Bar(why)
		return s
	}
	labels, err := fs.ReadDir(repo, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err != nil {
		s.Bar(err.Error())
		return s
	}
	for _, l := range labels {
		switch {
		case strings.HasPrefix(l.Name(), ".") || l.Name() == "README.md":
		case !l.IsDir():
			s.problem(l.Name(), "%s has no place in a set", l.Name())
		case l.Name() == stubsDir:
			s.readStubs(repo)
		default:
			s.readLabel(repo, l.Name())
		}
	}
	return s
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

func (s *Set) problem(p, format string, args ...any) {
	s.Problems = append(s.Problems, Problem{p, fmt.Sprintf(format, args...)})
}

func (s *Set) readStubs(repo fs.FS) {
	err := fs.WalkDir(repo, s.Dir+"/"+stubsDir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(repo, p)
		if err == nil {
			s.Stubs[strings.TrimPrefix(p, s.Dir+"/")] = regcase.SHA256(b)
		}
		return err
	})
	if err != nil {
		s.problem(stubsDir, "%v", err)
	}
}

func (s *Set) readLabel(repo fs.FS, label string) {
	ids, err := fs.ReadDir(repo, path.Join(s.Dir, label))
	if err != nil {
		s.problem(label, "%v", err)
		return
	}
	for _, id := range ids {
		s.readCase(repo, label+"/"+id.Name(), true)
	}
}

var specimen = regexp.MustCompile(`^[2-4]$`)

func (s *Set) readCase(repo fs.FS, dir string, specimens bool) {
	files, err := fs.ReadDir(repo, path.Join(s.Dir, dir))
	if err != nil {
		s.problem(dir, "%v", err)
		return
	}
	for _, f := range files {
		switch {
		case specimens && f.IsDir() && specimen.MatchString(f.Name()):
			s.readCase(repo, dir+"/"+f.Name(), false)
		case f.Name() != regcase.CaseFile && f.Name() != regcase.JSONFile && f.Name() != waiversFile:
			s.problem(dir+"/"+f.Name(), "has no place in a case")
		}
	}
	e, err := readEntry(repo, path.Join(s.Dir, dir))
	if err != nil {
		s.problem(dir, "%v", err)
		return
	}
	if place := strings.Split(dir, "/"); e.Case.Labels[0] != place[0] || e.Case.ID != strings.Join(place[1:], ".") {
		s.problem(dir, "holds the case %s of label %s", e.Case.ID, e.Case.Labels[0])
		return
	}
	s.Cases[dir] = e
}

func readEntry(repo fs.FS, dir string) (*Entry, error) {
	e := &Entry{}
	b, err := fs.ReadFile(repo, path.Join(dir, regcase.CaseFile))
	if err != nil {
		return nil, err
	}
	if e.Case, err = regcase.Decode(b); err != nil {
		return nil, err
	}
	if e.Trace, err = fs.ReadFile(repo, path.Join(dir, regcase.JSONFile)); err != nil {
		return nil, err
	}
	e.Waivers, err = ReadWaivers(repo, path.Join(dir, waiversFile))
	return e, err
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
	j, err := yaml.YAMLToJSON(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var ws []Waiver
	if err := json.Unmarshal(j, &ws, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return ws, nil
}
