package rule

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	fixturefile "github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

var update = flag.Bool("update", false, "rewrite the wants and the matrix")

// fixture is one file of testdata; package fixture says what it holds.
type fixture struct {
	path string
	ar   *txtar.Archive
	is   fixturefile.Fixture
}

func (f fixture) section(name string) (string, bool) { return f.is.Section(name) }

func fixtures(t *testing.T) []fixture {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []fixture
	for _, p := range paths {
		ar, err := txtar.ParseFile(p)
		if err != nil {
			t.Fatal(err)
		}
		p = filepath.ToSlash(p)
		out = append(out, fixture{p, ar, fixturefile.Parse(p, txtar.Format(ar))})
	}
	return out
}

func (f fixture) trajectory(t *testing.T) *trajectory.Trajectory {
	tr, err := f.is.Trajectory()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// run runs one rule as the engine would.
func (f fixture) run(t *testing.T, r classify.Rule) classify.Report {
	return f.report(t, r, f.trajectory(t))
}

func (f fixture) report(t *testing.T, r classify.Rule, tr *trajectory.Trajectory) classify.Report {
	rep, err := f.is.Report(r, tr)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func (f fixture) baseline(t *testing.T, tr *trajectory.Trajectory) *baseline.Snapshot {
	b, err := f.is.Baseline(tr)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// render writes a report the way wants hold it.
func render(r classify.Report) string { return fixturefile.Render(r) }

func kindOf(rendered string) string {
	switch {
	case strings.HasPrefix(rendered, "match"):
		return "match"
	case strings.HasPrefix(rendered, "inapplicable"):
		return "blind"
	}
	return "near"
}

func TestRules(t *testing.T) {
	kinds := map[string]map[string]bool{}
	for _, f := range fixtures(t) {
		name := filepath.Base(filepath.Dir(f.path))
		i := slices.IndexFunc(All(), func(r classify.Rule) bool { return r.Name == name })
		if i < 0 {
			t.Errorf("%s: there is no rule %s", f.path, name)
			continue
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(f.path, "testdata/"), ".txtar"), func(t *testing.T) {
			got := render(f.run(t, All()[i]))
			want, _ := f.section("want")
			if *update && got != want {
				rewrite(t, f, got)
				want = got
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			kind, _, _ := strings.Cut(filepath.Base(f.path), "-")
			if kindOf(got) != kind {
				t.Errorf("the name says %s, the rule says %s:\n%s", kind, kindOf(got), got)
			}
			if strings.TrimSpace(string(f.ar.Comment)) == "" {
				t.Error("no prose in the comment: say why this is so")
			}
			if kinds[name] == nil {
				kinds[name] = map[string]bool{}
			}
			kinds[name][kind] = true
		})
	}
	for _, r := range All() {
		for _, kind := range []string{"match", "near", "blind"} {
			if !kinds[r.Name][kind] {
				t.Errorf("testdata/%s has no %s-*.txtar", r.Name, kind)
			}
		}
	}
}

func rewrite(t *testing.T, f fixture, want string) {
	f.ar.Files = slices.DeleteFunc(f.ar.Files, func(x txtar.File) bool { return x.Name == "want" })
	f.ar.Files = append(f.ar.Files, txtar.File{Name: "want", Data: []byte(want)})
	if err := os.WriteFile(f.path, txtar.Format(f.ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDocs(t *testing.T) {
	seen := map[classify.Label]string{}
	for _, r := range All() {
		for what, text := range map[string]string{"title": r.Doc.Title, "why": r.Doc.Why, "fix": r.Doc.Fix, "example": r.Doc.Example} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("rule %s: doc has no %s", r.Name, what)
			}
		}
		if r.Version < 1 || !slices.Contains(classify.Labels(), r.Label) {
			t.Errorf("rule %s: version %d, label %q", r.Name, r.Version, r.Label)
		}
		if !slices.Contains([]classify.Form{classify.FormNever, classify.FormBudget, classify.FormFault, classify.FormNone}, r.Form) {
			t.Errorf("rule %s: form %q", r.Name, r.Form)
		}
		if len(r.Repairs) == 0 {
			t.Errorf("rule %s declares no repair: what is the least that would have had to be otherwise?", r.Name)
		}
		names := map[string]bool{}
		for _, x := range append(append([]classify.Repair{}, r.Repairs...), asRepairs(r.Twins)...) {
			if x.Name == "" || x.Does == "" || x.Apply == nil || names[x.Name] {
				t.Errorf("rule %s: repair or twin %q lacks a name of its own, a text or an edit", r.Name, x.Name)
			}
			names[x.Name] = true
		}
		if other, ok := seen[r.Label]; ok {
			t.Errorf("rules %s and %s share the label %s", other, r.Name, r.Label)
		}
		seen[r.Label] = r.Name
	}
}

func asRepairs(ws []classify.Twin) []classify.Repair {
	var out []classify.Repair
	for _, w := range ws {
		out = append(out, classify.Repair(w))
	}
	return out
}

// TestMatrix runs every rule over the fixtures of every other. A rule that fires on another's fixture must do so in the golden, where a reviewer
// sees it; a fixture without a row belongs to its own rule alone.
func TestMatrix(t *testing.T) {
	var b strings.Builder
	for _, f := range fixtures(t) {
		row := []string{}
		for _, r := range All() {
			if r.Name != filepath.Base(filepath.Dir(f.path)) && kindOf(render(f.run(t, r))) == "match" {
				row = append(row, r.Name)
			}
		}
		if len(row) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", strings.TrimSuffix(strings.TrimPrefix(f.path, "testdata/"), ".txtar"), strings.Join(row, " "))
		}
	}
	if *update {
		if err := os.WriteFile("testdata/matrix.golden", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/matrix.golden")
	if err != nil || string(want) != b.String() {
		t.Errorf("the matrix differs (err %v); look at the change, then -update:\n%s", err, b.String())
	}
}
