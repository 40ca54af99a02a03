package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
)

// The files that other people's CI runs, by the name of a step.
const (
	actionPath = "../../ratchet/gate/action/action.yml"
	recipePath = "../../README.md"
)

// ciStep writes the script of a step as CI would run it into a file: the last step of the action is "result", "gitlab" is the recipe of the README.
//
//	cistep verify|check|result|gitlab FILE
func ciStep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cistep verify|check|result|gitlab FILE")
	}
	script := ""
	if args[0] == "gitlab" {
		script = gitlabRecipe(ts)
	} else {
		script = actionStep(ts, args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(script), 0o644))
}

func readRepo(ts *testscript.TestScript, name string) []byte {
	b, err := os.ReadFile(name) // from where the tests were started: scripts run elsewhere
	ts.Check(err)
	return b
}

func actionStep(ts *testscript.TestScript, id string) string {
	var file struct {
		Runs struct {
			Steps []struct {
				ID  string `yaml:"id"`
				Run string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	ts.Check(yaml.Unmarshal(readRepo(ts, actionPath), &file))
	steps := file.Runs.Steps
	for i, s := range steps {
		if s.ID == id || id == "result" && i == len(steps)-1 {
			return s.Run
		}
	}
	ts.Fatalf("the action has no step %s", id)
	return ""
}

// gitlabRecipe is the script of the recipe. A runner ends it with the first line that fails.
func gitlabRecipe(ts *testscript.TestScript) string {
	block := regexp.MustCompile("(?s)```yaml\n(pawl:\n  image:.*?)```").FindSubmatch(readRepo(ts, recipePath))
	if block == nil {
		ts.Fatalf("the README has no recipe for GitLab")
	}
	var file map[string]struct {
		Script []string `yaml:"script"`
	}
	ts.Check(yaml.Unmarshal(block[1], &file))
	return "set -eo pipefail\n" + strings.Join(file["pawl"].Script, "\n") + "\n"
}
