package rule

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

var update = flag.Bool("update", false, "rewrite the wants and the matrix")

// A fixture is a txtar file: prose in the comment, then "trajectory" in the form of texttraj, perhaps "params" (JSON), "catalog" (JSON list
// of {name, description, schema, output_schema, execution, effect, idempotent, server, pinned}), "baseline" (fresh tokens of earlier runs of the same key, by blanks, each perhaps with :USD) or "durations"
// (seconds that they took), and "want".
// Its name begins with what it must be: match, near (must not match, although it nearly does) or blind (inapplicable).
type fixture struct {
	path string
	ar   *txtar.Archive
}

func (f fixture) section(name string) (string, bool) {
	for _, file := range f.ar.Files {
		if file.Name == name {
			return string(file.Data), true
		}
	}
	return "", false
}

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
		out = append(out, fixture{filepath.ToSlash(p), ar})
	}
	return out
}

func (f fixture) trajectory(t *testing.T) *trajectory.Trajectory {
	text, ok := f.section("trajectory")
	if !ok {
		t.Fatalf("%s has no trajectory", f.path)
	}
	tr, err := texttraj.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", f.path, err)
	}
	return tr
}

// run runs one rule as the engine would.
func (f fixture) run(t *testing.T, r classify.Rule) classify.Report {
	return f.report(t, r, f.trajectory(t))
}

func (f fixture) report(t *testing.T, r classify.Rule, tr *trajectory.Trajectory) classify.Report {
	o := classify.Options{}
	if text, ok := f.section("params"); ok && filepath.Base(filepath.Dir(f.path)) == r.Name {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%s: params: %v", f.path, err)
		}
		o.Params = map[string]map[string]any{r.Name: m}
	}
	o.Catalog = f.catalog(t)
	e, err := classify.New(slog.New(slog.DiscardHandler), []classify.Rule{r}, o)
	if err != nil {
		t.Fatalf("%s: %v", f.path, err)
	}
	return e.Classify(tr, f.baseline(t, tr))
}

func (f fixture) catalog(t *testing.T) *catalog.Catalog {
	text, ok := f.section("catalog")
	if !ok {
		return nil
	}
	var in []struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Schema      jsontext.Value `json:"schema"`
		Output      jsontext.Value `json:"output_schema"`
		Execution   map[string]any `json:"execution"`
		Effect      catalog.Effect `json:"effect"`
		Idempotent  bool           `json:"idempotent"`
		Server      string         `json:"server"`
		Pinned      bool           `json:"pinned"`
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		t.Fatalf("%s: catalog: %v", f.path, err)
	}
	var tools []catalog.Tool
	for _, d := range in {
		tool := catalog.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema, OutputSchema: d.Output, Execution: d.Execution,
			Effect: d.Effect, Idempotent: d.Idempotent, Server: d.Server}
		if d.Pinned {
			tool = tool.Pin()
		}
		tools = append(tools, tool)
	}
	c, err := catalog.New(tools)
	if err != nil {
		t.Fatalf("%s: %v", f.path, err)
	}
	return c
}

func (f fixture) baseline(t *testing.T, tr *trajectory.Trajectory) *baseline.Snapshot {
	text, ok := f.section("baseline")
	times, timed := f.section("durations")
	if !ok && !timed {
		return nil
	}
	b := baseline.New()
	for n := range strings.FieldsSeq(times) {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			t.Fatalf("%s: durations: %v", f.path, err)
		}
		b.Learn(baseline.Run{Key: baseline.KeyOf(tr), Values: map[baseline.Metric]float64{baseline.Duration: v}})
	}
	for n := range strings.FieldsSeq(text) {
		r := baseline.Run{Key: baseline.KeyOf(tr), Values: map[baseline.Metric]float64{}}
		tokens, usd, priced := strings.Cut(n, ":")
		for metric, text := range map[baseline.Metric]string{baseline.FreshTokens: tokens, baseline.Cost: usd} {
			v, err := strconv.ParseFloat(text, 64)
			if metric == baseline.Cost && !priced {
				continue
			}
			if err != nil {
				t.Fatalf("%s: baseline: %v", f.path, err)
			}
			r.Values[metric] = v
		}
		b.Learn(r)
	}
	return b.Snapshot()
}

// render writes a report the way wants hold it.
func render(r classify.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		parts, _ := json.Marshal(f.Fingerprint)
		fmt.Fprintf(&b, "match %s %.2f step %d\n  %s\n  title: %s\n  why: %s\n", f.Severity, f.Confidence, f.Step, parts, f.Title, f.Why)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "  %s: %s\n", e.SpanID, e.What)
		}
	}
	for _, i := range r.Inapplicable {
		fmt.Fprintf(&b, "inapplicable: %s\n  remedy: %s\n", i.Missing, i.Remedy)
	}
	if b.Len() == 0 {
		return "no match\n"
	}
	return b.String()
}

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

// TestMatrix runs every rule over every fixture. A rule that fires on another's fixture must do so in the golden, where a reviewer sees it.
func TestMatrix(t *testing.T) {
	var b strings.Builder
	for _, f := range fixtures(t) {
		row := []string{}
		for _, r := range All() {
			if rep := f.run(t, r); kindOf(render(rep)) != "near" {
				row = append(row, r.Name+"="+kindOf(render(rep)))
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", strings.TrimSuffix(strings.TrimPrefix(f.path, "testdata/"), ".txtar"), strings.Join(row, " "))
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
