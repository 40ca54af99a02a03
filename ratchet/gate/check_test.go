package gate_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/desk"
)

func enforced(t testing.TB) *gate.Case {
	c := loopCase(t)
	c.State = regcase.State{Name: regcase.Enforced}
	return c
}

func planOf(agent gate.Agent, cases ...*gate.Case) gate.Plan {
	return gate.Plan{Cases: cases, Now: time.Now(), Head: gate.Version{Agent: agent}}
}

func TestCheck(t *testing.T) {
	for _, x := range []struct {
		name  string
		modes []string
		state regcase.StateName
		word  gate.Word
		exit  int
		runs  int
	}{
		{"good", []string{"good"}, regcase.Enforced, gate.Passing, 0, 4},
		{"bad", []string{"loop"}, regcase.Enforced, gate.Regression, 1, 2 + 5},
		{"bad and pending", []string{"loop"}, regcase.Pending, gate.Miss, 0, 2},
		{"two bad of five, then good", []string{"flaky", "3,4,5"}, regcase.Enforced, gate.Regression, 1, 2 + 5},
		{"one bad of five", []string{"flaky", "1,2,3,5"}, regcase.Enforced, gate.Passing, 0, 5},
		{"mute", []string{"silent"}, regcase.Enforced, gate.Undecided, 3, 3},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := loopCase(t)
			c.State.Name = x.state
			r, err := newGate(t, gate.Options{Jobs: 2}).Check(t.Context(), planOf(agentCommand(x.modes...), c))
			if err != nil {
				t.Fatal(err)
			}
			o := r.Outcomes[0]
			if o.Word != x.word || r.Exit() != x.exit || len(r.Runs) > x.runs+1 {
				t.Errorf("%s (%s), exit %d after %d runs: %+v", o.Word, o.Why, r.Exit(), len(r.Runs), r.Runs[0].Reason)
			}
		})
	}
}

// What an earlier check ran of the very same agent and case is not run again; of another agent it is.
func TestCheckGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	check := func(digest string, stop int) gate.Report {
		known, err := gate.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := planOf(agentCommand("good"), enforced(t))
		p.Head.Stamp.Digest, p.Known = digest, known
		ended := 0
		p.Keep = func(r gate.Run) error {
			if ended++; ended == stop {
				cancel()
			}
			return gate.Append(file, r)
		}
		r, err := newGate(t, gate.Options{}).Check(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := check("v1", 2); r.Outcomes[0].Word != gate.Undecided || r.Exit() != 3 || r.Cut != "interrupted" {
		t.Errorf("%+v", r.Outcomes)
	}
	// A kill in the middle of a line costs that line alone.
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"kind":"run","case":"lo`)
	f.Close()
	if r := check("v1", 0); r.Outcomes[0].Word != gate.Passing || r.Reused != 2 || len(r.Runs) != 4 {
		t.Errorf("%d runs, %d reused, %+v", len(r.Runs), r.Reused, r.Outcomes)
	}
	if r := check("v1", 0); r.Reused != 4 || len(r.Runs) != 4 {
		t.Errorf("%d runs, %d reused", len(r.Runs), r.Reused)
	}
	if r := check("v2", 0); r.Reused != 0 {
		t.Errorf("%d reused", r.Reused)
	}
	if runs, err := gate.ReadFile(file); err != nil || len(runs) != 8 {
		t.Errorf("%d lines, %v", len(runs), err)
	}
}

func TestBudgets(t *testing.T) {
	p := planOf(agentCommand("good"), enforced(t))
	p.MaxTime = time.Nanosecond
	r, err := newGate(t, gate.Options{}).Check(t.Context(), p)
	if err != nil || r.Exit() != 3 || !strings.Contains(r.Cut, "--max-minutes") || len(r.Runs) != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestBase compares two commits of a real repository.
func TestBase(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	repo := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(mode string) {
		if err := os.WriteFile(filepath.Join(repo, "mode"), []byte(mode), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "mode")
		git("commit", "-q", "--allow-empty", "-m", mode)
	}
	git("init", "-q")
	commit("good")
	git("tag", "good")
	commit("loop")
	git("tag", "loop")
	commit("loop")

	agent := agentCommand("file", "mode")
	agent.Dir = repo
	check := func(ref, setup string) (gate.Report, error) {
		p := planOf(agent, enforced(t))
		var undo func() error
		p.Base = func(ctx context.Context) (gate.Version, error) {
			at, remove, err := gate.Worktree(ctx, repo, ref, setup)
			undo = remove
			return gate.Version{Agent: gate.Agent{Command: agent.Command, Dir: at}}, err
		}
		r, err := newGate(t, gate.Options{Jobs: 2}).Check(t.Context(), p)
		if undo != nil {
			if err := undo(); err != nil {
				t.Error(err)
			}
		}
		if left := git("worktree", "list", "--porcelain"); strings.Count(left, "worktree ") != 1 {
			t.Errorf("a worktree is left: %s", left)
		}
		return r, err
	}
	if r, err := check("good", "test -f mode"); err != nil || r.Outcomes[0].Word != gate.Regression || r.Exit() != 1 {
		t.Errorf("%+v %v", r.Outcomes, err)
	}
	if r, err := check("loop", ""); err != nil || r.Outcomes[0].Word != gate.Drift || r.Exit() != 0 {
		t.Errorf("%+v %v", r.Outcomes, err)
	}
	for ref, why := range map[string]string{"nowhere": "check out base nowhere", "good": "exit code 7: no network"} {
		if _, _, err := gate.Worktree(t.Context(), repo, ref, "echo no network; exit 7"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := gate.CommitOf(t.Context(), repo, "--upload-pack=x"); err == nil || !strings.Contains(err.Error(), "git fetch") {
		t.Error(err)
	}
	if left := git("worktree", "list", "--porcelain"); strings.Count(left, "worktree ") != 1 {
		t.Errorf("a worktree is left: %s", left)
	}
	if s := gate.StampOf(t.Context(), repo); s.Commit == "" || s.Dirty || s.Branch != "main" || !s.DefaultBranch {
		t.Errorf("%+v", s)
	}
}

// Traces that name their case, and traces that only begin as it does.
func TestRecorded(t *testing.T) {
	c := enforced(t)
	judge := gate.ByOracle(oracle.New(quiet, rule.All()))
	record := func(mode, named string) trajectory.Trace {
		in := desk.Input{ToolsURL: "http://127.0.0.1:1", Messages: []desk.Message{{Role: "user", Content: c.Input.Turns[0].User}}}
		td := desk.Below(desk.Converse(mode, in), strings.Repeat("ab", 15)+"cd", "0000000000000000")
		if named != "" {
			td.ResourceSpans().At(0).Resource().Attributes().PutStr(gate.AttrCase, named)
		}
		return trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0]
	}
	for _, x := range []struct {
		mode, named string
		word        gate.Word
		exit        int
	}{
		{"loop", "", gate.Regression, 1}, {"live", "", gate.Passing, 0}, {"live", c.ID, gate.Passing, 0}, {"loop", "another", gate.Undecided, 3},
	} {
		r := gate.Recorded(t.Context(), gate.Plan{Cases: []*gate.Case{c}, Now: time.Now()}, judge, gate.Criteria{}, []trajectory.Trace{record(x.mode, x.named)}, false)
		if r.Outcomes[0].Word != x.word || r.Exit() != x.exit {
			t.Errorf("%s %s: %+v", x.mode, x.named, r.Outcomes)
		}
	}
}

// Every report holds what fails, and text of a trace is no markup in any of them.
func TestReports(t *testing.T) {
	c := enforced(t)
	c.Title = "a <b>title</b> | with\n::error::commands"
	r := gate.Report{Outcomes: []gate.Outcome{{Case: c.ID, Word: gate.Regression, Blocks: true, Why: "worse", Head: gate.Count{Passed: 1, Failed: 4}}}}
	r.Runs = []gate.Run{{Case: c.ID, Side: gate.Head, Run: 1, Verdict: gate.Fail, Reason: "it <script>alert(1)</script> looped \x01", Calls: []gate.Call{{Tool: "get_order"}},
		Mismatches: []gate.Mismatch{{Step: 3, Field: "never/loop", Expected: "none", Got: "6 calls"}}}}
	rows := r.Rows([]*gate.Case{c})
	page, err := r.HTML(rows, nil)
	if err != nil || bytes.Contains(page, []byte("<script>")) || !bytes.Contains(page, []byte("never/loop")) || !bytes.Contains(page, []byte("get_order()")) {
		t.Errorf("%v %s", err, page)
	}
	junit, err := r.JUnit(rows)
	var suites struct {
		Failures int `xml:"failures,attr"`
	}
	if err != nil || xml.Unmarshal(junit, &suites) != nil || suites.Failures != 1 {
		t.Errorf("%v %s", err, junit)
	}
	if notes := r.Annotations(rows, "regressions"); strings.Count(notes, "\n") != 1 || !strings.HasPrefix(notes, "::error file=regressions/loop/") {
		t.Errorf("%q", notes)
	}
	if text := r.Markdown(rows, nil); strings.Contains(text, "<b>") || strings.Contains(text, "<script>") {
		t.Error(text)
	}
}

func FuzzResults(f *testing.F) {
	line, err := gate.Run{Case: "loop-1", Verdict: gate.Pass}.Line()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte("{\"kind\":\"other\"}\n\n{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, err := gate.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, r := range runs {
			line, err := r.Line()
			if err != nil {
				t.Fatal(err)
			}
			again.Write(line)
		}
		back, err := gate.Read(&again)
		if err != nil || len(back) != len(runs) {
			t.Fatalf("%d runs became %d: %v", len(runs), len(back), err)
		}
	})
}
