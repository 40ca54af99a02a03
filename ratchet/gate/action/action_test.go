// Package action_test holds the composite action to what it promises, by running its steps in bash.
package action_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

type step struct {
	ID   string            `yaml:"id"`
	Run  string            `yaml:"run"`
	Uses string            `yaml:"uses"`
	Env  map[string]string `yaml:"env"`
}

func steps(t *testing.T) []step {
	t.Helper()
	b, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Runs struct {
			Using string `yaml:"using"`
			Steps []step `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil || file.Runs.Using != "composite" {
		t.Fatal(file.Runs.Using, err)
	}
	return file.Runs.Steps
}

// No value that a pull request can choose is pasted into a script.
func TestNothingIsPastedIntoScripts(t *testing.T) {
	for _, s := range steps(t) {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s pastes an expression into its script:\n%s", s.ID, s.Run)
		}
		if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+(/[a-z]+)?@v[0-9]+$`).MatchString(s.Uses) {
			t.Errorf("uses %s", s.Uses)
		}
	}
}

// run runs the step of that id in bash, with a pawl that writes down how it was called and ends with code.
func run(t *testing.T, id, code string, env ...string) (called, printed, output string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pawl"), []byte("#!/bin/sh\nfor a in \"$@\"; do echo \"[$a]\"; done > "+dir+"/called\nexit "+code+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps(t) {
		if s.ID != id {
			continue
		}
		cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "GITHUB_OUTPUT="+dir+"/output", "PAWL_REPORT="+dir+"/report", "PAWL_SET=regressions")
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		a, _ := os.ReadFile(dir + "/called")
		b, _ := os.ReadFile(dir + "/output")
		return strings.ReplaceAll(string(a), dir, ""), string(out), string(b)
	}
	t.Fatalf("there is no step %s", id)
	return
}

func TestCheck(t *testing.T) {
	called, _, output := run(t, "check", "1", "PAWL_RUN_COMMAND=node 'my agent.js'; echo $HOME", "PAWL_BASE=abc", "PAWL_SETUP=npm ci", "PAWL_ALL=false", "PAWL_FORK=false", "PAWL_ARGS=--max-usd=5\n\n-j\n4\n")
	want := "[check]\n[--run]\n[node 'my agent.js'; echo $HOME]\n[--set]\n[regressions]\n[--junit]\n[/report/junit.xml]\n[--html]\n[/report/page.html]\n[--results]\n[/report/runs.jsonl]\n[--github]\n" +
		"[--base]\n[abc]\n[--setup]\n[npm ci]\n[--changed-since]\n[abc]\n[--max-usd=5]\n[-j]\n[4]\n"
	if called != want || output != "code=1\n" {
		t.Errorf("%s\n%s", called, output)
	}
	if called, _, _ = run(t, "check", "0", "PAWL_RUN_COMMAND=x", "PAWL_BASE=abc", "PAWL_SETUP=", "PAWL_ALL=true", "PAWL_FORK=false", "PAWL_ARGS="); strings.Contains(called, "--changed-since") || strings.Contains(called, "--setup") {
		t.Error(called)
	}
	if called, _, _ = run(t, "check", "0", "PAWL_RUN_COMMAND=x", "PAWL_BASE=", "PAWL_SETUP=y", "PAWL_ALL=false", "PAWL_FORK=false", "PAWL_ARGS="); strings.Contains(called, "--base") || strings.Contains(called, "--setup") {
		t.Error(called)
	}
}

// A pull request from a fork is told plainly that its agent was not run.
func TestFork(t *testing.T) {
	called, printed, output := run(t, "check", "0", "PAWL_RUN_COMMAND=x", "PAWL_FORK=true")
	if called != "" || output != "" || !strings.Contains(printed, "comes from a fork") {
		t.Errorf("%s %s %s", called, printed, output)
	}
}

func TestVerify(t *testing.T) {
	if called, printed, _ := run(t, "verify", "0", "PAWL_BASE="); called != "" || !strings.Contains(printed, "no base") {
		t.Errorf("%s %s", called, printed)
	}
}
