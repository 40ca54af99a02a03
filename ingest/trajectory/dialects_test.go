package trajectory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/plog"
)

// Every dialect has a name of its own, one rank in all its forms, tells how to have sent what is missing, and has fixtures of which it reads
// one.
func TestDialectsAreWhole(t *testing.T) {
	ranks := map[string]int{}
	for _, d := range dialects {
		if d.Name == "" || d.Name != strings.ToLower(d.Name) {
			t.Errorf("a dialect is called %q", d.Name)
		}
		if have := ranks[d.Name]; d.Rank <= 0 || have != 0 && have != d.Rank {
			t.Errorf("%s has the ranks %d and %d", d.Name, have, d.Rank)
		}
		ranks[d.Name] = d.Rank
		if len(d.Remedies) == 0 {
			t.Errorf("%s names no remedy", d.Name)
		}
		for fact, remedy := range d.Remedies {
			if remedies[fact] == "" || strings.TrimSpace(remedy) == "" {
				t.Errorf("%s: remedy of %q: %q", d.Name, fact, remedy)
			}
		}
		if !readsAFixture(t, d) {
			t.Errorf("testdata/%s: no fixture there is read as %s", d.Name, d.Name)
		}
	}
	if len(ranks) < 30 {
		t.Errorf("only %d dialects", len(ranks))
	}
}

// readsAFixture says whether a fixture in the dialect's own folder has a span that it reads.
func readsAFixture(t *testing.T, d *Dialect) bool {
	files, err := filepath.Glob("testdata/" + d.Name + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		ar, err := txtar.ParseFile(file)
		if err != nil || len(ar.Files) == 0 {
			t.Fatalf("%s: %v", file, err)
		}
		switch data := ar.Files[0].Data; filepath.Ext(file) {
		case ".txtar":
			return slices.ContainsFunc(readFixtureSpans(t, data), func(s *Span) bool { w := winner(s); return w != nil && w.Name == d.Name })
		case ".trace":
			tds, ld := fixture(t, data)
			return slices.ContainsFunc(FromOTLP(tds, []plog.Logs{ld}), func(tr Trace) bool { return slices.Contains(Build(tr).Dialects, d.Name) })
		}
		return false
	})
}

// What is known and not read yet is no dialect that is read; and every folder of fixtures belongs to something.
func TestForeignIsNotRead(t *testing.T) {
	var read, unread []string
	for _, d := range dialects {
		read = append(read, d.Name)
	}
	for _, f := range foreign {
		unread = append(unread, f.name)
		if slices.Contains(read, f.name) {
			t.Errorf("%s is read, and listed among those that are not", f.name)
		}
	}
	others := []string{"foreign", "opencode", "traps", "building", "fuzz"} // what no dialect reads; the AI SDK under its host's name; the builder's; what fuzzing found
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && !slices.Contains(read, name) && !slices.Contains(unread, name) && !slices.Contains(others, name) {
			t.Errorf("testdata/%s belongs to no dialect", name)
		}
	}
}
