package verify

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Set is one version of a set of cases, as it was read.
type Set struct {
	Dir      string            // in the repository, with forward slashes
	Cases    map[string]*Entry // by directory inside the set; specimens lie below their case
	Renames  []regcase.Rename  // of renames.yaml
	Stubs    map[string]Stub   // the team's own tool answers, by path inside the set
	Goldens  map[string]Golden // cases written by hand, by id
	Problems []Problem         // what could not be read, or has no place in a set

	files fs.FS // what lies in Dir
	stubs map[string]regcase.StubFile
}

// Stub is what a file of the team's tool answers is compared by.
type Stub struct {
	SHA256     string
	Executable bool
	Tool       string
}

func stubOf(f regcase.StubFile) Stub { return Stub{f.SHA256, f.Executable, f.Tool} }

// Entry is a case, or a further specimen of one.
type Entry struct {
	Case      regcase.Case
	TraceSHA  string // of trace.json as it lies there
	Waivers   []Waiver
	Untracked bool // it lies in a work tree and git does not know it: a commit would not hold it

	read      *regcase.Entry
	recording []byte // trace.json under another name; nil: as it lies there
}

// Problem is what of a set cannot be read, with its path inside the set; "" is all of it.
type Problem struct {
	Path string
	Text string
}

// Bar says that the whole set cannot be read.
func (s *Set) Bar(why string) {
	clear(s.Cases)
	s.Problems = append([]Problem{{"", why}}, s.Problems...)
}

// Barred says that the whole set cannot be read.
func (s *Set) Barred() bool { return len(s.Problems) > 0 && s.Problems[0].Path == "" }

// hidden returns a problem of base behind which a case or an answer of the team may lie, and which head does not have as well.
func (s *Set) hidden(head *Set) (Problem, bool) {
	for _, p := range s.Problems {
		parts := strings.Split(p.Path, "/")
		if s.Cases[strings.Join(parts[:min(2, len(parts))], "/")] != nil || len(parts) == 1 && strings.Contains(p.Path, ".") || slices.Contains(head.Problems, p) {
			continue // of a case that was read all the same; a file that has no place
		}
		return p, true
	}
	return Problem{}, false
}

// Kind says what sort of loosening a finding is.
type Kind string

// The kinds.
const (
	Loosened   Kind = "loosened"   // a field is looser, or cannot be compared
	Deleted    Kind = "deleted"    // a case of base is not there
	Moved      Kind = "moved"      // it is somewhere else, where nothing that looks for it looks
	Unreadable Kind = "unreadable" // it is there and no case any more
	Rewritten  Kind = "rewritten"  // what may only be added to was changed
	Blind      Kind = "blind"      // this pawl does not see the recorded failure
	Deselected Kind = "deselected" // the configuration no longer leads to the set
	Emptied    Kind = "emptied"    // nothing is left to run
	Broken     Kind = "broken"     // no run can be judged by it, or none can pass
	Idle       Kind = "idle"       // a waiver of nothing, which a later change could lean on
	Bulk       Kind = "bulk"       // more cases at once than a reviewer would look at
)

// Finding is one way in which head is looser than base.
type Finding struct {
	Kind Kind   `json:"kind"`
	Case string `json:"case"` // id; "" for what is no case's
	Path string `json:"path"` // file in the repository
	Difference
	Why      string  `json:"why"`
	Waivable bool    `json:"waivable"`
	Waiver   *Waiver `json:"waiver"` // what lets it through; nil: nothing does
}

// Note is something to know that decides nothing.
type Note struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Report is what verify says of two versions of a set and of pawl.yaml.
type Report struct {
	Cases     int // of base
	New       int // of head and not of base
	Tightened int // cases that are stricter
	Findings  []*Finding
	Notes     []Note

	now time.Time
}

// Open lists the findings that no waiver lets through; all of them where waivers do not count.
func (r *Report) Open(noWaivers bool) []*Finding {
	var out []*Finding
	for _, f := range r.Findings {
		if f.Waiver == nil || noWaivers {
			out = append(out, f)
		}
	}
	return out
}

func (r *Report) note(path, format string, args ...any) {
	r.Notes = append(r.Notes, Note{path, fmt.Sprintf(format, args...)})
}

// sets adds what two versions of one set show.
func (r *Report) sets(base, head *Set, now time.Time) {
	r.Cases += len(base.Cases)
	for _, dir := range slices.Sorted(maps.Keys(base.Cases)) {
		r.entry(base, head, dir, now)
	}
	for _, dir := range slices.Sorted(maps.Keys(head.Cases)) {
		r.head(base, head, dir, now)
	}
	r.problems(base, head)
	r.stubs(base, head)
	r.goldens(base, head)
	if active(base) > 0 && active(head) == 0 {
		r.Findings = append(r.Findings, &Finding{Kind: Emptied, Path: base.Dir, Why: "the set holds no case any more that would be run. That is never waived: " +
			"let a case stay, or bring one that runs in the same change, of another failure or by hand in " + base.Dir + "/" + regcase.GoldenDir})
	}
}

// many is a number with its noun.
func many(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// active counts the cases that a check runs, those written by hand too.
func active(s *Set) (n int) {
	n = len(s.Goldens)
	for _, e := range s.Cases {
		if e.Case.State.Name != regcase.Retired {
			n++
		}
	}
	return n
}

// caseFile is the path of a case in the repository.
func (s *Set) caseFile(dir string) string { return s.Dir + "/" + dir + "/" + regcase.CaseFile }

// entry compares one case of base with what lies at its place in head.
func (r *Report) entry(base, head *Set, dir string, now time.Time) {
	b := base.Cases[dir]
	h, there := head.Cases[dir]
	if !there {
		r.Findings = append(r.Findings, gone(base, head, dir))
		return
	}
	if h.Untracked {
		r.Findings = append(r.Findings, &Finding{Kind: Deleted, Case: b.Case.ID, Path: base.caseFile(dir), Why: "the case lies in the work tree, but git no longer tracks it: a commit would delete it"})
		return
	}
	ds := Compare(&b.Case, &h.Case, now)
	var own []*Finding
	for _, d := range ds {
		if !d.Relation.Holds() {
			own = append(own, &Finding{Kind: Loosened, Case: b.Case.ID, Path: base.caseFile(dir), Difference: d, Why: sentence(d), Waivable: true})
		}
	}
	if Whole(ds) == Stricter {
		r.Tightened++
	}
	more, ok := beyond(b.Waivers, h.Waivers)
	if !ok {
		own = append(own, &Finding{Kind: Rewritten, Case: b.Case.ID, Path: base.Dir + "/" + dir + "/" + regcase.WaiversFile, Why: "waivers that were there before were changed or removed: that file is only added to"})
	}
	h.Waivers = more // what is left to be used by this change
	r.Findings = append(r.Findings, own...)
}

// gone says what became of a case that is not at its place.
func gone(base, head *Set, dir string) *Finding {
	c := &base.Cases[dir].Case
	f := &Finding{Kind: Deleted, Case: c.ID, Path: base.caseFile(dir), Why: "the case is deleted; a case that is no longer wanted is retired: pawl retire " + c.ID + " --reason ..."}
	for _, p := range head.Problems {
		if p.Path == "" || p.Path == dir || strings.HasPrefix(p.Path, dir+"/") || strings.HasPrefix(dir+"/", p.Path+"/") {
			f.Kind, f.Why = Unreadable, "the case cannot be read any more: "+p.Text
			return f
		}
	}
	for _, other := range slices.Sorted(maps.Keys(head.Cases)) {
		h := &head.Cases[other].Case
		if h.ID == c.ID || h.Trace.SHA256 == c.Trace.SHA256 && base.Cases[other] == nil {
			f.Kind, f.Why = Moved, "the case lies at "+head.Dir+"/"+other+" now: its place is made of its failure, and it stays there"
		}
	}
	return f
}

// maxQuarantine is how far ahead the review of a quarantine may lie, in days.
const maxQuarantine = 14

// head checks one case of head for what holds of any.
func (r *Report) head(base, head *Set, dir string, now time.Time) {
	e := head.Cases[dir]
	_, known := base.Cases[dir]
	c, file := &e.Case, head.caseFile(dir)
	bad := func(field, why string) {
		r.Findings = append(r.Findings, &Finding{Kind: Loosened, Case: c.ID, Path: file, Difference: Difference{Field: field, Relation: Looser}, Why: why})
	}
	if !known {
		r.New++
		if why := frail(c); len(why) > 0 && c.State.Name != regcase.Retired {
			r.note(file, "a new case that is weak from the start: %s", strings.Join(why, "; "))
		}
		if c.State.Name == regcase.Retired || c.State.Name == regcase.Quarantined {
			bad("/state", "a new case enters pending or enforced: this one would hold the place of its failure and never block")
		}
	}
	review, err := time.Parse(day, c.State.Review)
	if c.State.Name == regcase.Quarantined && (err != nil || review.After(now.AddDate(0, 0, maxQuarantine))) {
		bad("/state", fmt.Sprintf("the review of a quarantine is at most %d days ahead; %s is not", maxQuarantine, c.State.Review))
	}
	if Overdue(c.State, now) {
		r.note(file, "the quarantine of %s is past its review of %s: it blocks as an enforced case does", c.ID, c.State.Review)
	}
}

// problems reports what head holds that nobody can read, unless base held the same.
func (r *Report) problems(base, head *Set) {
	for _, p := range head.Problems {
		path := strings.TrimSuffix(head.Dir+"/"+p.Path, "/")
		switch {
		case slices.Contains(base.Problems, p):
			r.note(path, "%s", p.Text)
		case slices.ContainsFunc(r.Findings, func(f *Finding) bool { return f.Kind == Unreadable && strings.HasPrefix(f.Path, path) }):
		default:
			r.Findings = append(r.Findings, &Finding{Kind: Unreadable, Path: path, Why: p.Text})
		}
	}
}

// stubs compares the team's own tool answers: a run of the agent sees them. A new one goes before the healthy results that cases hold; where a case
// holds no answer that fits, it answers what could not be judged before.
func (r *Report) stubs(base, head *Set) {
	add := func(name string, was, is regcase.JSON, why string) {
		r.Findings = append(r.Findings, &Finding{Kind: Loosened, Path: head.Dir + "/" + name, Difference: Difference{Field: "/" + name, Base: was, Head: is, Relation: Unordered}, Why: why, Waivable: true})
	}
	value := func(s *Set, name string) regcase.JSON {
		if stub, ok := s.Stubs[name]; ok {
			return canonical("sha256:" + stub.SHA256)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(base.Stubs)) {
		if base.Stubs[name] != head.Stubs[name] {
			add(name, value(base, name), value(head, name), "what the tool answers in every case that calls it has changed: another test")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(head.Stubs)) {
		if _, known := base.Stubs[name]; known {
			continue
		}
		stub := head.Stubs[name]
		if healthy := base.holding(stub.Tool, "healthy"); len(healthy) > 0 {
			add(name, nil, value(head, name), "it goes before the healthy result that "+healthy[0]+" holds of the tool")
		} else if recorded := base.holding(stub.Tool, "recording"); len(recorded) > 0 {
			r.note(head.Dir+"/"+name, "it answers calls of %s that %s of base, such as %s, hold no answer for: runs that could not be judged may pass by it", stub.Tool, many(len(recorded), "case"), recorded[0])
		}
		if stub.Executable {
			r.note(head.Dir+"/"+name, "what a program answers may hang on files that are not compared")
		}
	}
}

// holding lists the cases that hold an answer of a tool from there, whatever prefix an SDK gives its name: the gate looks for them so, too.
func (s *Set) holding(tool, from string) (ids []string) {
	for _, dir := range slices.Sorted(maps.Keys(s.Cases)) {
		c := &s.Cases[dir].Case
		if slices.ContainsFunc(c.Fixtures, func(f regcase.Fixture) bool {
			return f.From == from && catalog.Normalise(f.Tool) == catalog.Normalise(tool)
		}) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// sentence says what a difference does.
func sentence(d Difference) string {
	how := "is looser"
	if d.Relation == Unordered {
		how = "cannot be shown to be as strict"
	}
	return fmt.Sprintf("%s %s: from %s to %s", d.Field, how, Short(d.Base), Short(d.Head))
}
