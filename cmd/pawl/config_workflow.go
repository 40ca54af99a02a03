package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Where GitHub looks for them.
const (
	workflowFile = ".github/workflows/pawl.yml"
	templateFile = ".github/pull_request_template.md"
)

//go:embed workflow.yml
var workflowText string

var workflowTemplate = template.Must(template.New("workflow").Delims("<<", ">>").Parse(workflowText))

// checkbox is the line of a pull request's template that asks for the runs.
const checkbox = "- [ ] This changes a prompt, a tool or the model, and `pawl check` was looked at (the label `run-evals` runs the whole set)"

// pipeline is what the file is made of.
type pipeline struct {
	Run, Setup, Version string // how the agent is started and prepared; version of the action
	Branch, Set         string // that pull requests are made to, "" for any; directory of the cases, "" for the action's default
}

// text is the workflow file.
func (w pipeline) text() ([]byte, error) {
	w.Run, w.Setup, w.Branch, w.Set = quoted(w.Run), quoted(w.Setup), quoted(w.Branch), quoted(w.Set)
	var b bytes.Buffer
	if err := workflowTemplate.Execute(&b, w); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// actionVersion is a tag of pawl's, or its main branch for a build that is of none.
func actionVersion(v version) string {
	if strings.HasPrefix(v.Version, "v") && !strings.Contains(v.Version, "-0.") && !strings.Contains(v.Version, "+") {
		return v.Version
	}
	return "main"
}

// writeWorkflow writes the files that have GitHub run pawl, and tells what was done with each. A template that is there is left alone.
func writeWorkflow(w pipeline, force bool) (done []string, err error) {
	if strings.ContainsAny(w.Run+w.Setup, "\n\r") {
		return nil, usageError(errors.New("--run and --setup are one line each: put more into a script"), "pawl config init --workflow --run 'sh run.sh'")
	}
	text, err := w.text()
	if err != nil {
		return nil, err
	}
	if err := writeNew(workflowFile, text, force); err != nil {
		return nil, err
	}
	done = append(done, "wrote "+workflowFile)
	existing, err := existingTemplate()
	switch {
	case err != nil:
		return done, err
	case existing == "":
		if err := writeNew(templateFile, []byte(checkbox+"\n"), false); err != nil {
			return done, err
		}
		return append(done, "wrote "+templateFile), nil
	case strings.Contains(mustRead(existing), "run-evals"):
		return done, nil
	}
	return append(done, "add to "+existing+": "+checkbox), nil
}

// existingTemplate finds the template of pull requests at the places where GitHub looks, "" if there is none.
func existingTemplate() (string, error) {
	for _, dir := range []string{".github", ".", "docs"} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if strings.EqualFold(e.Name(), filepath.Base(templateFile)) && e.Type().IsRegular() {
				return filepath.ToSlash(filepath.Join(dir, e.Name())), nil
			}
		}
	}
	return "", nil
}

func mustRead(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return "" // then it is said what to add
	}
	return string(b)
}

// writeNew writes a file and its folders; one that is there only by force.
func writeNew(name string, b []byte, force bool) error {
	if _, err := os.Lstat(name); err == nil && !force {
		return usageError(fmt.Errorf("%s is there already", name), "--force overwrites it")
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return usageError(err, "")
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		return usageError(err, "")
	}
	return nil
}

// quoted is a text as a YAML scalar, in single quotes, which hold everything but a line's end; nothing stays nothing.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
