// Package agents uses pawl as a team does that has an agent in Node, with the real SDKs from npm and a scripted model. It is skipped without node and
// without SUPPORT_DIR, where the packages are:
//
//	cp test/agents/support/package.json DIR && npm install --prefix DIR && SUPPORT_DIR=DIR go test ./test/agents -v
package agents

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// team is a repository with an agent, and a pawl.
type team struct {
	t    *testing.T
	dir  string
	pawl string
	env  []string
}

func newTeam(t *testing.T) *team {
	t.Helper()
	packages := os.Getenv("SUPPORT_DIR")
	if packages == "" {
		t.Skip("SUPPORT_DIR is not set: it names the directory with the packages of test/agents/support")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not here")
	}
	packages, err := filepath.Abs(packages)
	if err != nil {
		t.Fatal(err)
	}
	m := &team{t: t, dir: filepath.Join(t.TempDir(), "repo"), pawl: filepath.Join(t.TempDir(), "pawl")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", m.pawl, "../../cmd/pawl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.CopyFS(m.dir, os.DirFS("support")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(m.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "OTEL_") && !strings.HasPrefix(kv, "GITHUB_") && !strings.HasPrefix(kv, "GIT_") {
			m.env = append(m.env, kv)
		}
	}
	m.env = append(m.env, "WORLD="+m.start("node", "world.mjs", "traces.jsonl"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	return m
}

// start starts a program that prints its address, and returns that.
func (m *team) start(words ...string) string {
	m.t.Helper()
	cmd := m.command(words...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		m.t.Fatalf("%v: %v: %s", words, err, errs.String())
	}
	go io.Copy(io.Discard, out)
	return strings.TrimSpace(line)
}

// command is a program in the repository. Words like BUG=loop before its name are its environment.
func (m *team) command(words ...string) *exec.Cmd {
	env := m.env
	for strings.Contains(words[0], "=") {
		env, words = append(env[:len(env):len(env)], words[0]), words[1:]
	}
	cmd := exec.CommandContext(m.t.Context(), cmp.Or(map[string]string{"pawl": m.pawl}[words[0]], words[0]), words[1:]...)
	cmd.Dir, cmd.Env = m.dir, env
	return cmd
}

// run runs a program, which must exit with this code, and returns all that it prints.
func (m *team) run(code int, words ...string) string {
	m.t.Helper()
	cmd := m.command(words...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		m.t.Fatalf("%v: %v, and not exit code %d:\n%s", words, err, code, out)
	}
	return strings.Join(strings.Fields(string(out)), " ") // as one line: how it is broken is of no interest here
}

// says runs a program and wants these words in what it prints.
func (m *team) says(code int, words []string, wants ...string) {
	m.t.Helper()
	out := m.run(code, words...)
	for _, want := range wants {
		if !strings.Contains(out, want) {
			m.t.Errorf("%v: no %q in\n%s", words, want, out)
		}
	}
}

func (m *team) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *team) commit(message string) {
	m.t.Helper()
	m.run(0, "git", "add", "-A")
	m.run(0, "git", "commit", "-q", "-m", message)
}

// bugs are the mistakes of the agent, with a question that shows each.
var bugs = [][2]string{
	{"skipped_step", "Refund order A-1001, please."},
	{"hallucinated_tool", "Please cancel order A-1001."},
	{"loop", "Where is my parcel P-9?"},
	{"fabricated_success", "I want a refund for order A-1002."},
}

// absorb has the agent fail in each way, and makes cases of its traces. Where it does well too, its cases know what its tools answer then.
func (m *team) absorb(well bool) {
	m.t.Helper()
	m.write("pawl.yaml", "policy:\n  - agent: support\n    must_precede: [{tool: refund_order, before: get_order, same: order_id}]\n")
	m.write(".gitignore", "node_modules\ntraces.jsonl\nruns.jsonl\n")
	m.write("bug", "")
	m.write("run.sh", `BUG="$(cat bug)" exec node agent.mjs`)
	m.run(0, "git", "init", "-q", "-b", "main")
	world := m.world()
	for _, bug := range bugs {
		for _, b := range []string{bug[0], ""} {
			if b != "" || well {
				m.run(0, "BUG="+b, "OTEL_EXPORTER_OTLP_ENDPOINT="+world, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none",
					"node", "agent.mjs", bug[1])
			}
		}
	}
	m.says(0, []string{"pawl", "absorb", "traces.jsonl", "--set", "regressions"}, "4 cases created")
	m.commit("the agent and its failures")
}

func (m *team) world() string {
	for _, kv := range m.env {
		if at, ok := strings.CutPrefix(kv, "WORLD="); ok {
			return at
		}
	}
	return ""
}

// Each failure is absorbed, seen again on the live agent, mended and clicked; and then it blocks.
func TestMendedAndClicked(t *testing.T) {
	m := newTeam(t)
	m.absorb(true)
	check := []string{"pawl", "check", "--run", "sh run.sh", "--results", "runs.jsonl", "-j", "2"}
	for _, bug := range bugs {
		m.write("bug", bug[0])
		m.commit("the bug " + bug[0])
		m.says(0, append(check, "--case", bug[0]+"-*"), "1 case: 1 miss", "0/3")
	}
	m.says(0, []string{"pawl", "click", "--results", "runs.jsonl", "--dry-run"}, "red in 3 of 3 runs", "mend the agent")

	m.write("bug", "")
	m.commit("mended")
	m.says(0, check, "4 cases: 4 pass", "Answered by replay, so not proven: get_order, refund_order, track_parcel.")
	m.says(0, []string{"pawl", "click", "--results", "runs.jsonl", "--commit"}, "pending -> enforced", "committed: Enforce 4 cases")
	m.says(0, []string{"pawl", "verify", "--base", "HEAD~1"}, "4 tightened")

	for _, bug := range bugs {
		m.says(1, []string{"BUG=" + bug[0], "pawl", "check", "--run", "node agent.mjs", "-j", "2"}, bug[0], "4 cases: 1 regression, 3 pass")
	}
	for _, bug := range bugs { // the same agent with the tools of an MCP server
		m.says(1, []string{"BUG=" + bug[0], "TOOLS=mcp", "pawl", "check", "--run", "node agent.mjs", "-j", "2", "--case", bug[0] + "-*"}, "1 case: 1 regression")
	}
	m.says(0, []string{"TOOLS=mcp", "pawl", "check", "--run", "node agent.mjs", "-j", "2"}, "4 cases: 4 pass", "Answered by replay")
	command := []string{"TOOLS=mcp", "COMMAND=" + m.pawl + " mcp replay", "pawl", "check", "--run", "node agent.mjs", "-j", "2"} // of a server that is a command
	m.says(0, command, "4 cases: 4 pass", "Answered by replay")
	m.says(1, append([]string{"BUG=loop"}, append(command, "--case", "loop-*")...), "1 case: 1 regression")
	m.says(0, []string{"pawl", "check", "--run", "node agent.mjs", "-j", "2", "--json", "--case", "loop-*"}, `"cost_usd":0.`)
}

// What is wrong with how the agent is wired is said, each by its own words, and never passes or fails.
func TestWrongSetups(t *testing.T) {
	m := newTeam(t)
	m.absorb(false)
	doctor := func(env ...string) []string {
		return append(env, "pawl", "check", "--run", "sh run.sh", "--case", "fabricated_success-*", "--doctor", "--timeout", "15s")
	}
	m.says(0, doctor(), "6 spans of support, as vercel-legacy", "its telemetry comes and the case can judge it")
	m.says(3, doctor("WRONG=crash"), "exit code 1; its last words: Error: cannot find module ./prompts.json no spans came")
	m.says(3, doctor("WRONG=print"), "no spans came; its last words: I cannot cancel that.", "experimental_telemetry: {isEnabled: true}")
	m.says(3, doctor("WRONG=no exporter"), "although the agent asked for get_order, refund_order: all that is missing is its telemetry")
	m.says(3, doctor("WRONG=no flush"), "flush", "flush at the end (sdk.shutdown())") // nothing came, or a part of it
	m.says(3, doctor("WRONG=endpoint"), "ECONNREFUSED", "all that is missing is its telemetry", "no url in the exporter's options")
	m.says(3, doctor("WRONG=no content"), "set experimental_telemetry.recordOutputs = true")
	m.says(3, doctor("WRONG=not replayed"), "get_order, refund_order ran for real", `- name: "refund_order"`)
	m.says(3, append(doctor("WRONG=hang"), "--timeout", "2s"), "the agent did not end within 2s")
	m.says(3, doctor("WRONG=lingers"), "something keeps the process alive after it")
	m.says(3, doctor("WORLD=nowhere"), "the model never answered", "look to its address, its key and its name")
	m.says(3, doctor("WORLD=http://127.0.0.1:9"), "failure of the model's provider, which says nothing of the agent")

	// Nobody has seen what this tool answers: the file to write is printed, and with it the case can be judged.
	skipped := []string{"pawl", "check", "--run", "sh run.sh", "--case", "skipped_step-*"}
	m.says(3, skipped, "no fixture for get_order: write what it answers to _fixtures/get_order.yaml")
	m.run(0, "mkdir", "-p", "regressions/_fixtures")
	m.write("regressions/_fixtures/get_order.yaml", "apiVersion: pawl/v1\nkind: Fixtures\ntool: \"get_order\"\nanswers:\n  - arguments: null\n    result: {order_id: A-1001, status: delivered}\n    fault: null\n")
	m.says(0, skipped, "1 case: 1 pass")
}

// The agent as a service, one conversation at a time and several.
func TestService(t *testing.T) {
	m := newTeam(t)
	m.absorb(true)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := free.Addr().String()
	free.Close()
	serve := func(env ...string) string {
		return m.start(append(env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+listen, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none", "node", "service.mjs")...)
	}
	check := func(url string, more ...string) []string {
		return append([]string{"pawl", "check", "--url", url, "--listen", listen}, more...)
	}
	m.says(0, check(serve(), "-j", "3"), "4 cases: 4 pass")
	m.says(0, check(serve("BUG=loop"), "--case", "loop-*"), "1 case: 1 miss")
	m.says(0, check(serve("WRONG=no traceparent"), "--case", "loop-*"), "1 case: 1 pass")
	m.says(3, check(serve("WRONG=answers 500"), "--case", "loop-*", "--doctor"), `the service answered 500; its last words: {"error":"no database"}`)
	m.says(3, []string{"pawl", "check", "--url", serve(), "--case", "loop-*", "--doctor"}, "although the agent asked for track_parcel", "--listen keeps the port")
	m.says(3, check("http://127.0.0.1:9", "--doctor"), "connection refused")
}
