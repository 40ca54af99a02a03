package gate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func TestSort(t *testing.T) {
	w := gate.Watch{Prompts: []string{"prompts/**", "**/*.prompt.md"}, Tools: []string{"tools/*.py"}, Models: []string{"agent.config.*"}}
	c := w.Sort([]string{"agent.config.json", "prompts/a/b.md", "x/y.prompt.md", "y.prompt.md", "tools/a.py", "tools/deep/a.py", "regressions/loop/loop-1/case.yaml", "regressions/_fixtures/a.yaml", "README.md"}, "./regressions")
	if !slices.Equal(c.Prompts, []string{"prompts/a/b.md", "x/y.prompt.md", "y.prompt.md"}) || !slices.Equal(c.Tools, []string{"tools/a.py", "regressions/_fixtures/a.yaml"}) ||
		!slices.Equal(c.Models, []string{"agent.config.json"}) || !slices.Equal(c.Cases, []string{"loop/loop-1/case.yaml"}) || !slices.Equal(c.Other, []string{"tools/deep/a.py", "README.md"}) {
		t.Errorf("%+v", c)
	}
	if !strings.HasPrefix(c.Decides(), "prompts changed: prompts/a/b.md") || !strings.Contains(c.Mixed(), "agent.config.json") {
		t.Errorf("%s; %s", c.Decides(), c.Mixed())
	}
	alone := w.Sort([]string{"agent.config.json"}, "regressions")
	if alone.Mixed() != "" || alone.Decides() != "models changed: agent.config.json" || w.Sort([]string{"main.go"}, "s").Decides() != "" {
		t.Errorf("%+v", alone)
	}
}

// Every label and every tool is touched, by few cases and within the money.
func TestCovering(t *testing.T) {
	make := func(id, label string, tools ...string) *gate.Case {
		c := &regcase.Case{ID: id, Labels: []string{label}, Form: "never", Runs: regcase.Runs{N: 5}}
		for _, tool := range tools {
			c.Fixtures = append(c.Fixtures, regcase.Fixture{Tool: tool})
		}
		return &gate.Case{Case: c, File: label + "/" + id + "/case.yaml"}
	}
	set := []*gate.Case{make("a", "loop", "x"), make("b", "loop", "x", "y"), make("c", "loop", "y"), make("d", "cost_spike", "x"), make("e", "cost_spike", "z")}
	ids := func(s gate.Selection) (out string) {
		for _, c := range s.Cases {
			out += c.ID
		}
		return out
	}
	if got := ids(gate.Covering(set, nil, 0, nil, 0)); got != "be" {
		t.Error(got)
	}
	if got := ids(gate.Covering(set, []string{"loop/a/case.yaml"}, 0, nil, 0)); got != "abe" {
		t.Error(got)
	}
	s := gate.Covering(set, nil, 0, []gate.Run{{Case: "q", CostUSD: new(0.1)}}, 0.6)
	if ids(s) != "b" || !slices.Equal(s.Left, []string{"answer of z", "label cost_spike"}) {
		t.Errorf("%s %v", ids(s), s.Left)
	}
}

func TestFloating(t *testing.T) {
	got := gate.Floating(`{"model": "gpt-4o", "fast": "openai/gpt-4.1-mini", "pinned": "gpt-4o-2024-08-06", "oss": "gpt-oss-120b", "c": "claude-sonnet-4-5", "d": "claude-sonnet-4-5-20250929", "m": "mistral-large-latest", "l": "llama3:latest", "o": "o3"}`)
	if want := []string{"gpt-4o", "gpt-4.1-mini", "claude-sonnet-4-5", "mistral-large-latest", "llama3:latest", "o3"}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	do := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+t.Name()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do("init", "-q", "-b", "main")
	write("a b.md")
	write("sub/x.md")
	do("add", "-A")
	do("commit", "-q", "-m", "one")
	do("checkout", "-q", "-b", "change")
	do("mv", "a b.md", "ä.md")
	do("commit", "-q", "-m", "two")
	write("sub/new.md")
	got, err := gate.ChangedFiles(t.Context(), dir, "main")
	if err != nil || !slices.Equal(got, []string{"a b.md", "sub/new.md", "ä.md"}) {
		t.Error(got, err)
	}
	if got, err = gate.ChangedFiles(t.Context(), filepath.Join(dir, "sub"), "main"); err != nil || !slices.Equal(got, []string{"new.md"}) {
		t.Error(got, err)
	}
	if _, err = gate.ChangedFiles(t.Context(), dir, "nowhere"); err == nil || !strings.Contains(err.Error(), "git fetch origin nowhere") {
		t.Error(err)
	}
}
