package verify

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Version is one side of the comparison: the sets by their directories in the repository, and pawl.yaml.
type Version struct {
	Sets   map[string]*Set
	Config Config
}

// Same says that two versions hold the same, to the byte of what counts.
func (v Version) Same(w Version) bool {
	return string(canonical(v.digests())) == string(canonical(w.digests()))
}

func (v Version) digests() map[string]string {
	out := map[string]string{"config": string(canonical(v.Config.Values)) + string(canonical(v.Config.Waivers)) + string(canonical(v.Config.Files)) + string(v.Config.Pinned)}
	for dir, s := range v.Sets {
		for place, e := range s.Cases {
			out[dir+"/"+place] = e.TraceSHA + string(canonical(e.Case)) + string(canonical(e.Waivers)) + fmt.Sprint(e.Untracked)
		}
		out[dir+"/"+regcase.RenamesFile] = string(canonical(s.Renames))
		for name, sum := range s.Stubs {
			out[dir+"/"+name] = fmt.Sprint(sum)
		}
		for id, g := range s.Goldens {
			out[dir+"/"+regcase.GoldenDir+"/"+id] = g.Digest + g.State
		}
		for _, p := range s.Problems {
			out[dir+"/"+p.Path] += p.Text
		}
	}
	return out
}

// Options are what a comparison needs beside its sides.
type Options struct {
	Now    time.Time
	Oracle *oracle.Oracle // judges the recordings anew; nil leaves that out
	Step   func()         // called before each recording that is judged; may be nil
}

// Check compares two versions. The error says that they cannot be compared at all; what is looser is in the report.
func Check(base, head Version, o Options) (*Report, error) {
	r := &Report{now: o.Now}
	if o.Step == nil {
		o.Step = func() {}
	}
	for _, dir := range slices.Sorted(maps.Keys(base.Sets)) {
		b := base.Sets[dir]
		h := cmpOrEmpty(head.Sets[dir], dir)
		if p, hidden := b.hidden(h); hidden {
			return nil, fmt.Errorf("%s of base cannot be read, so that what became of it is not known: %s", dir+"/"+p.Path, p.Text)
		}
		b = r.renamed(b, h)
		first := len(r.Findings)
		r.sets(b, h, o.Now)
		r.selection(base.Config, head.Config, b)
		if o.Oracle != nil {
			r.red(o.Oracle, b, h, o.Step)
		}
		r.passable(o.Oracle, b, h)
		r.waive(h, r.Findings[first:])
	}
	if err := r.config(base, head); err != nil {
		return nil, err
	}
	r.waiveConfig(base.Config, head.Config)
	r.bulk(base, head)
	return r, nil
}

func cmpOrEmpty(s *Set, dir string) *Set {
	if s == nil {
		return &Set{Dir: dir}
	}
	return s
}

// selection reports a set that pull requests of some service went to, and of none go to now.
func (r *Report) selection(base, head Config, set *Set) {
	if len(set.Cases) == 0 || !slices.Contains(base.Sets(), set.Dir) || slices.Contains(head.Sets(), set.Dir) {
		return
	}
	r.Findings = append(r.Findings, &Finding{Kind: Deselected, Path: head.Path, Difference: Difference{Field: "/targets"},
		Why: fmt.Sprintf("no target leads to %s any more, which holds %s", set.Dir, many(len(set.Cases), "case"))})
}

// waive lets through what the cases' own waivers name.
func (r *Report) waive(head *Set, findings []*Finding) {
	for _, dir := range slices.Sorted(maps.Keys(head.Cases)) {
		e := head.Cases[dir]
		var own []*Finding
		for _, f := range findings {
			if f.Path == head.caseFile(dir) {
				own = append(own, f)
			}
		}
		r.Findings = append(r.Findings, apply(own, e.Waivers, e.Case.ID, head.Dir+"/"+dir+"/"+regcase.WaiversFile)...)
	}
}

// waiveConfig lets through what the waivers beside pawl.yaml name: its own fields, and the team's tool answers, which are no case's.
func (r *Report) waiveConfig(base, head Config) {
	more, ok := beyond(base.Waivers, head.Waivers)
	if !ok {
		return
	}
	var own []*Finding
	for _, f := range r.Findings {
		if f.Case == "" && f.Waivable && f.Waiver == nil {
			own = append(own, f)
		}
	}
	r.Findings = append(r.Findings, apply(own, more, "", WaiversOf(head.Path))...)
}
