package rule

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// rule is the rule whose folder the fixture is in.
func (f fixture) rule(t *testing.T) classify.Rule {
	name := filepath.Base(filepath.Dir(f.path))
	i := slices.IndexFunc(All(), func(r classify.Rule) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("%s: there is no rule %s", f.path, name)
	}
	return All()[i]
}

// kind is what the fixture must be: match, near or blind.
func (f fixture) kind() string {
	kind, _, _ := strings.Cut(filepath.Base(f.path), "-")
	return kind
}

// short is the fixture's path without what all of them have.
func (f fixture) short() string {
	return strings.TrimSuffix(strings.TrimPrefix(f.path, "testdata/"), ".txtar")
}

// Every finding of every matching fixture goes away with each repair that applies to it, at least one does, and the rule then says that nothing
// is wrong, not that it cannot see, save for a fact that the fixture lacks from the start. No repair is idle.
func TestRepairsHeal(t *testing.T) {
	used := map[string]bool{}
	for _, f := range fixtures(t) {
		if f.kind() != "match" {
			continue
		}
		r := f.rule(t)
		find := func(tr *trajectory.Trajectory) []classify.Finding { return f.report(t, r, tr.Clone()).Findings }
		tr := f.trajectory(t)
		for _, x := range find(tr) {
			healers := 0
			for _, repair := range r.Repairs {
				healed, n, gone := change.Until(tr, repair, x, find)
				if n == 0 {
					continue // not for this finding
				}
				used[r.Name+" "+repair.Name] = true
				healers++
				if !gone {
					t.Errorf("%s: %s: still there after %d times %s", f.short(), x.Fingerprint.ID(), n, repair.Name)
				}
				for _, in := range f.report(t, r, healed).Inapplicable {
					if _, lacks := tr.Lacks(in.Missing); gone && !lacks {
						t.Errorf("%s: after %s the rule is blind: %s", f.short(), repair.Name, in.Missing)
					}
				}
			}
			if healers == 0 {
				t.Errorf("%s: no repair applies to %s", f.short(), x.Fingerprint.ID())
			}
		}
		if want, got := render(f.run(t, r)), render(f.report(t, r, tr)); want != got {
			t.Errorf("%s: a repair changed the original:\n%s", f.short(), got)
		}
	}
	for _, r := range All() {
		for _, repair := range r.Repairs {
			if !used[r.Name+" "+repair.Name] {
				t.Errorf("rule %s: no match-*.txtar is healed by %s", r.Name, repair.Name)
			}
		}
	}
}

// Every finding of every matching fixture is found again in each of its twins. No twin of a rule's own is idle.
func TestTwinsMatch(t *testing.T) {
	used := map[string]bool{}
	for _, f := range fixtures(t) {
		if f.kind() != "match" {
			continue
		}
		r := f.rule(t)
		find := func(tr *trajectory.Trajectory) []classify.Finding { return f.report(t, r, tr.Clone()).Findings }
		tr := f.trajectory(t)
		for _, x := range find(tr) {
			for _, w := range append(change.Twins(), r.Twins...) {
				again, made := change.Again(tr, w, x, find)
				used[r.Name+" "+w.Name], used[w.Name] = used[r.Name+" "+w.Name] || made, used[w.Name] || made
				if made && !again {
					t.Errorf("%s: %s is not found where %s", f.short(), x.Fingerprint.ID(), w.Does)
				}
			}
		}
	}
	for _, r := range All() {
		for _, w := range r.Twins {
			if !used[r.Name+" "+w.Name] {
				t.Errorf("rule %s: no match-*.txtar has a twin %s", r.Name, w.Name)
			}
		}
	}
	for _, w := range change.Twins() {
		if !used[w.Name] {
			t.Errorf("no match-*.txtar of any rule has a twin %s", w.Name)
		}
	}
}
