package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

// clickRig is a checkout of the evasion corpus's base, on a stand-in of GitHub, with results that prove one case mended.
type clickRig struct {
	fake *fakegithub.Fake
	id   string
	file string // of the case
}

func newClickRig(t *testing.T) *clickRig {
	t.Helper()
	dir := evasionBase(t)
	t.Chdir(dir)
	gitIn(t, dir, "checkout", "-q", "main")
	f, err := fakegithub.New(slog.New(slog.DiscardHandler), t.TempDir(), fakegithub.Options{RateLimit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	openapi.Watch(t, f)
	if err := f.AddUser(fakegithub.User{Login: "pawl-bot", Token: "secret", Right: "write"}); err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "desk.git")
	gitIn(t, dir, "clone", "-q", "--bare", dir, bare)
	gitIn(t, bare, "symbolic-ref", "HEAD", "refs/heads/main")
	if err := f.AddRepo("acme", "desk", bare); err != nil {
		t.Fatal(err)
	}
	srv, err := fakegithub.Serve(f, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close(context.Background()) })
	t.Setenv("PAWL_CLICK_TOKEN", "secret")
	r := &clickRig{fake: f}
	text := fmt.Sprintf("targets: [{service: \"*\", repo: acme/desk}]\nghpr: {mode: open, base_url: %s/, token: \"${env:PAWL_CLICK_TOKEN}\", limits: {pause: 1ms}}\n", srv.URL)
	if err := os.WriteFile("click.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.prove(t)
	return r
}

// prove writes the results of runs: red at one commit, green on main at a later one.
func (r *clickRig) prove(t *testing.T) {
	t.Helper()
	root, err := os.OpenRoot("regressions")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	set, problems := regcase.ReadSet(regcase.Checkout(root))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, e := range set.All() {
		if e.Case.State.Name != regcase.Pending || e.Case.Live != nil || r.id != "" {
			continue
		}
		r.id, r.file = e.Case.ID, "regressions/"+e.Dir+"/case.yaml"
		at := time.Now().Add(-time.Hour)
		for n := range 10 {
			run := gate.Run{Case: e.Case.ID, Digest: e.Digest, Run: n + 1, Side: gate.Head, Verdict: gate.Fail, Commit: strings.Repeat("a", 40), DefaultBranch: true, Branch: "main", At: at.Add(time.Duration(n) * time.Minute)}
			if n >= 5 {
				run.Verdict, run.Commit = gate.Pass, strings.Repeat("b", 40)
			}
			if err := gate.Append("runs.jsonl", run); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.id == "" {
		t.Fatal("the corpus's base holds no pending case")
	}
}

func (r *clickRig) click(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"click", r.id, "--results", "runs.jsonl", "-c", "click.yaml", "--pr"}, args...), strings.NewReader(""), &out, &out)
	return code, out.String()
}

// However often somebody clicks, and whatever is forgotten in between, there is one pull request; it changes the case and nothing else, and the work tree
// stays as it is. A person's no is one.
func TestClickOpensOnePull(t *testing.T) {
	r := newClickRig(t)
	for round := range 3 {
		code, out := r.click(t)
		pulls := r.fake.Pulls("acme", "desk")
		if code != 0 || !strings.Contains(out, "/pull/1") || len(pulls) != 1 {
			t.Fatalf("round %d: code %d, %d pull requests\n%s", round, code, len(pulls), out)
		}
		if round == 1 {
			if err := os.RemoveAll(".git/pawl"); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := r.fake.Pulls("acme", "desk")[0]
	bare := r.fake.GitDir("acme", "desk")
	names, err := exec.Command("git", "--git-dir", bare, "diff", "--name-only", "main", p.HeadSHA).Output()
	if err != nil || strings.TrimSpace(string(names)) != r.file || !strings.HasPrefix(p.Title, "Enforce 1 case") {
		t.Errorf("%q changes %s, want %s alone, %v", p.Title, names, r.file, err)
	}
	if text, err := exec.Command("git", "--git-dir", bare, "show", p.HeadSHA+":"+r.file).Output(); err != nil || !strings.Contains(string(text), "\nstate: enforced\n") {
		t.Errorf("it does not enforce the case: %v\n%s", err, text)
	}
	if out, err := exec.Command("git", "status", "--porcelain", "--", "regressions").Output(); err != nil || len(out) > 0 {
		t.Errorf("the work tree has changed: %s, %v", out, err)
	}
	if err := r.fake.Human("ana").Close("acme/desk", 1); err != nil {
		t.Fatal(err)
	}
	if code, out := r.click(t); code != exitUndecided || !strings.Contains(out, "that is a no") || len(r.fake.Pulls("acme", "desk")) != 1 {
		t.Errorf("after a no: code %d\n%s", code, out)
	}
}

// What the base branch holds by then may be stricter than the checkout that was clicked in: that is not undone.
func TestClickLoosensNothing(t *testing.T) {
	r := newClickRig(t)
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	stricter := strings.Replace(string(text), "\"n\": 5", "\"n\": 9", 1)
	if stricter == string(text) {
		t.Fatalf("no n of 5 in\n%s", text)
	}
	if _, err := r.fake.Human("ana").Push("acme/desk", "main", r.file, stricter); err != nil {
		t.Fatal(err)
	}
	code, out := r.click(t)
	if code != exitUndecided || !strings.Contains(out, "would loosen what the base holds") || !strings.Contains(out, "/runs/n: from 9 to 5") || len(r.fake.Pulls("acme", "desk")) != 0 {
		t.Errorf("code %d, %d pull requests\n%s", code, len(r.fake.Pulls("acme", "desk")), out)
	}
}
