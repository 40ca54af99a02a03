package main

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet"
)

type workflowFileYAML struct {
	On struct {
		PullRequest struct {
			Types, Branches []string
		} `yaml:"pull_request"`
	} `yaml:"on"`
	Jobs struct {
		Pawl struct {
			Steps []struct {
				Uses string
				Run  string
				With map[string]any
			}
		}
	}
}

func readWorkflow(t *testing.T, text string) (out workflowFileYAML) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if strings.Contains(text, "<<") {
		t.Errorf("a placeholder is left:\n%s", text)
	}
	return out
}

// What config init writes and what the onboarding proposes is one file: the onboarding does not know how the agent is started.
func TestWorkflow(t *testing.T) {
	b, err := pipeline{Run: "node 'a b.js'", Setup: "npm ci", Version: "v1"}.text()
	if err != nil {
		t.Fatal(err)
	}
	w := readWorkflow(t, string(b))
	steps := w.Jobs.Pawl.Steps
	if last := steps[len(steps)-1]; last.With["run"] != "node 'a b.js'" || last.With["setup"] != "npm ci" || last.With["set"] != nil || last.Uses != "pawl-dev/pawl/ratchet/gate/action@v1" ||
		!strings.Contains(last.With["args"].(string), "--fresh") {
		t.Errorf("%+v", last)
	}
	if len(w.On.PullRequest.Branches) != 0 || len(w.On.PullRequest.Types) == 0 {
		t.Errorf("%+v", w.On)
	}
	w = readWorkflow(t, workflowOf(ratchet.Target{Base: "release/2", Set: "tests/regressions"}))
	steps = w.Jobs.Pawl.Steps
	if last := steps[len(steps)-1]; last.With["run"] != nil || last.With["set"] != "tests/regressions" || len(w.On.PullRequest.Branches) != 1 || w.On.PullRequest.Branches[0] != "release/2" {
		t.Errorf("%+v %+v", last, w.On)
	}
	if w := readWorkflow(t, workflowOf(ratchet.Target{Base: ghpr.DefaultBase, Set: "regressions"})); len(w.On.PullRequest.Branches) != 0 {
		t.Errorf("%+v", w.On)
	}
}
