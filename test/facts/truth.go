package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// truth is what really happened in one run, by the capturer's log.
type truth struct {
	Session string   `json:"session_id"`
	Labels  []string `json:"labels"`
	Outcome struct {
		Turns []string `json:"turns"`
		Error string   `json:"error"`
	} `json:"outcome"`
	Log []execution `json:"tool_log"`
}

// execution is one tool that ran. Outcome is ok, throw:<text>, isError:<text> or hang.
type execution struct {
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Result  json.RawMessage `json:"result"`
	Outcome string          `json:"outcome"`
}

func (e execution) thrown() string {
	if _, text, ok := strings.Cut(e.Outcome, ":"); ok {
		return text
	}
	return ""
}

// call is one requested call with what became of it.
type call struct {
	tool, args string
	ran        *execution // nil when it was refused or never run
}

// run is what one scenario of one emitter must show: the script as far as the run came, and the log.
type run struct {
	truth    truth
	users    []string
	replies  []string
	calls    []call
	answered int // model calls that the provider answered
	failing  int // model calls, at the least, that the provider failed
	// suspended: the run waits for a person, who would approve the call that did not run.
	suspended bool
}

func readTruth(path string) (truth, error) {
	var t truth
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return t, fmt.Errorf("read %s: %w", path, err)
	}
	return t, nil
}

// runOf joins the script with the log. A request belongs to the next logged execution of the same tool.
func runOf(scenario string, t truth) (run, error) {
	r := run{truth: t, suspended: slices.ContainsFunc(t.Outcome.Turns, func(t string) bool { return strings.Contains(t, "interrupted") || strings.Contains(t, "suspended") })}
	script, ok := scripts[scenario]
	if !ok {
		return r, fmt.Errorf("scenario %s has no script", scenario)
	}
	left := slices.Clone(t.Log)
	for _, turn := range script {
		r.users = append(r.users, turn.user)
		for _, s := range turn.steps {
			switch {
			case s.fails:
				r.failing++
			case s.tool != "":
				r.answered++
				c := call{tool: s.tool, args: s.args}
				if i := slices.IndexFunc(left, func(e execution) bool { return e.Name == s.tool }); i >= 0 {
					e := left[i]
					left, c.ran = slices.Delete(left, i, i+1), &e
				}
				r.calls = append(r.calls, c)
			case r.said(s.text), len(turn.steps) == 1:
				r.answered++
				r.replies = append(r.replies, s.text)
			}
		}
	}
	if len(left) > 0 {
		return r, fmt.Errorf("scenario %s: %d executions were never asked for", scenario, len(left))
	}
	return r, nil
}

// said tells whether the run's log has the text among its answers.
func (r run) said(text string) bool {
	return slices.ContainsFunc(r.truth.Outcome.Turns, func(t string) bool { return strings.HasPrefix(t, text) })
}

// returned tells whether the run as a whole gave this text back, perhaps with a remark in brackets behind it.
func (r run) returned(text string) bool {
	return slices.ContainsFunc(r.truth.Outcome.Turns, func(t string) bool { return t == text || strings.HasPrefix(t, text+" [") })
}

// row is one line of a manifest, by column name.
type row map[string]string

func readManifest(dir string) ([]row, error) {
	text, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		return nil, fmt.Errorf("read the list of the data: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	head := strings.Split(lines[0], "\t")
	var rows []row
	for _, line := range lines[1:] {
		r := row{}
		for i, cell := range strings.Split(line, "\t") {
			if i < len(head) {
				r[head[i]] = strings.Trim(cell, `"`)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}
