package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const ownRule = "custom:\n  - {name: NAME, when: \"true\", evidence: t.model_calls, why: It ran}\n"

func ruleText(name string) []byte { return []byte(strings.Replace(ownRule, "NAME", name, 1)) }

func TestRulesDir(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("pawl.yaml", append(ruleText("in_the_file"), "absorb: {labels: [b_rule]}\n"...))
	put("pawl-rules/b_rule.yaml", ruleText("b_rule"))
	put("pawl-rules/a_rule.yaml", ruleText("a_rule"))
	put("pawl-rules/a_rule/match-1.txtar", []byte("testdata"))
	put("pawl-rules/README.md", []byte("# rules"))
	names := func(c Config) (out string) {
		for _, r := range c.Custom {
			out += r.Name + " "
		}
		return out
	}
	for name, load := range map[string]func(string) (Config, error){"Load": Load, "LoadOffline": LoadOffline} {
		if c, err := load(filepath.Join(dir, "pawl.yaml")); err != nil || names(c) != "in_the_file a_rule b_rule " {
			t.Errorf("%s: %s, %v", name, names(c), err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := ParseTree(os.DirFS(filepath.Dir(dir)), filepath.Base(dir)+"/pawl.yaml", text); err != nil || names(c) != "in_the_file a_rule b_rule " {
		t.Errorf("in a tree: %s, %v", names(c), err)
	}
	if c, err := ParseTree(os.DirFS(dir), "pawl.yaml", nil); err != nil || names(c) != "a_rule b_rule " {
		t.Errorf("without a file: %s, %v", names(c), err)
	}
	put("pawl.yaml", []byte("rules_dir: null\n"))
	if c, err := Load(filepath.Join(dir, "pawl.yaml")); err != nil || len(c.Custom) > 0 {
		t.Errorf("without a directory: %s, %v", names(c), err)
	}
	put("alone.yaml", ruleText("alone"))
	if c, err := LoadAlone(filepath.Join(dir, "alone.yaml")); err != nil || names(c) != "alone " {
		t.Errorf("alone: %s, %v", names(c), err)
	}
}

// What is wrong in the directory is told with its file, and never left out in silence.
func TestBadRulesDir(t *testing.T) {
	for want, files := range map[string]fstest.MapFS{
		"unknown key `listen`":   {"pawl-rules/a.yaml": {Data: []byte("listen: {}\n")}},
		"`custom` is missing":    {"pawl-rules/a.yaml": {Data: []byte("# nothing\n")}},
		"call it pawl-rules/a.y": {"pawl-rules/a.yml": {Data: ruleText("a_rule")}},
		"anchors":                {"pawl-rules/a.yaml": {Data: []byte("custom: &x []\n")}},
		"is not a file":          {"pawl-rules/a.yaml": {Data: make([]byte, maxFile+1)}},
	} {
		_, err := ParseTree(files, "pawl.yaml", nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pawl-rules/a.y") {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, dir := range []string{"../rules", "/rules"} {
		if _, err := ParseTree(fstest.MapFS{}, "pawl.yaml", []byte("rules_dir: "+dir+"\n")); err == nil || !strings.Contains(err.Error(), "does not lie below") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
