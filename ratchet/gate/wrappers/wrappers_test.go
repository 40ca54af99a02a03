// Package wrappers_test runs the wrappers, which replace the body of a tool while PAWL_TOOLS_URL is set, in the languages and with the libraries that
// they are for. Those of libraries run where PAWL_NODE_MODULES or PAWL_PYTHON says where these are: directories with a node_modules each, an
// interpreter.
package wrappers_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

const kase = `apiVersion: pawl/v1
kind: Golden
cases:
  - name: wrapped
    user: hello
    expect_tool: find_parcel
    answers:
      - {tool: find_parcel, result: {status: delivered}}
      - {tool: list_parcels, result: [PX-1]}
      - {tool: broken, result: "the database is down", fault: error}
`

// called runs a program as an agent, and holds it to having got the recorded answers, and the calls to having been made as given.
func called(t *testing.T, command string) {
	t.Helper()
	all, err := regcase.GoldenCases("wrapped", []byte(kase))
	if err != nil {
		t.Fatal(err)
	}
	c, err := gate.GoldenCase(all[0])
	if err != nil {
		t.Fatal(err)
	}
	unjudged := func(*regcase.Case, ...*trajectory.Trajectory) gate.Judgement { return gate.Judgement{} }
	g, err := gate.New(slog.New(slog.DiscardHandler), unjudged, gate.Options{Settle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	out := filepath.Join(t.TempDir(), "out")
	r := g.RunOnce(t.Context(), gate.Version{Agent: gate.Agent{Command: command + " > " + out + " 2>&1"}}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Sync  map[string]string
		Async []string
		Error string
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &said); err != nil {
		t.Fatalf("%s\n%s", text, r.Reason)
	}
	if said.Sync["status"] != "delivered" || !slices.Equal(said.Async, []string{"PX-1"}) || !strings.Contains(said.Error, "the database is down") {
		t.Errorf("%+v", said)
	}
	if !slices.Equal(r.Replayed, []string{"broken", "find_parcel", "list_parcels"}) {
		t.Errorf("%v", r.Replayed)
	}
}

func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here")
	}
	called(t, fmt.Sprintf("python3 '%[1]s/testdata/python.py' '%[1]s'", here(t)))
}

func TestPythonLibraries(t *testing.T) {
	python := os.Getenv("PAWL_PYTHON")
	if python == "" {
		t.Skip("PAWL_PYTHON names no interpreter that has langchain-core and openai-agents")
	}
	for _, name := range []string{"langchain", "openai-agents"} {
		t.Run(name, func(t *testing.T) {
			called(t, fmt.Sprintf("'%s' '%[2]s/testdata/%[3]s.py' '%[2]s'", python, here(t), name))
		})
	}
}

func TestNodeLibraries(t *testing.T) {
	for name, needs := range map[string]string{"vercel": "ai", "openai-agents": "@openai/agents", "langchain": "@langchain/core"} {
		t.Run(name, func(t *testing.T) {
			var modules string
			for _, dir := range filepath.SplitList(os.Getenv("PAWL_NODE_MODULES")) {
				if _, err := os.Stat(filepath.Join(dir, "node_modules", needs)); err == nil {
					modules = filepath.Join(dir, "node_modules")
				}
			}
			if modules == "" {
				t.Skip("PAWL_NODE_MODULES names no directory that has node_modules/" + needs)
			}
			dir := t.TempDir()
			program, err := os.ReadFile("testdata/" + name + ".mjs")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "agent.mjs"), program, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			called(t, fmt.Sprintf("node '%s/agent.mjs' '%s'", dir, here(t)))
		})
	}
}
