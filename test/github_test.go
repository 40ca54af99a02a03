package test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

const (
	ghOwner, ghRepo = "acme", "parcel-desk"
	ghToken         = "test-token"
)

// github is the stand-in, with a hook before the writes that must not happen twice.
type github struct {
	*fakegithub.Fake
	URL string

	mu      sync.Mutex
	creates int                                // of a branch or a pull request
	hook    func(n int, op string, act func()) // n counts the creates from 1; act carries the write out
}

func newGitHub(t *testing.T) *github {
	t.Helper()
	fake, err := fakegithub.New(slog.New(slog.DiscardHandler), t.TempDir(), fakegithub.Options{})
	if err == nil {
		err = fake.AddUser(fakegithub.User{Login: "pawl-bot", Token: ghToken, Right: "write"})
	}
	if err == nil {
		err = fake.AddRepo(ghOwner, ghRepo, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	openapi.Watch(t, fake)
	g := &github{Fake: fake, hook: func(_ int, _ string, act func()) { act() }}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	g.URL = srv.URL + "/"
	return g
}

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := path.Base(r.URL.Path)
	if r.Method != http.MethodPost || op != "refs" && op != "pulls" {
		g.Fake.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	g.creates++
	n := g.creates
	g.mu.Unlock()
	g.hook(n, op, func() {
		r := r.WithContext(context.WithoutCancel(r.Context())) // the sender may be dead
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.Fake.ServeHTTP(w, r)
	})
}

// cases are the directories label/id below dir on a pull request's branch, with the names of their files.
func (g *github) cases(t *testing.T, p fakegithub.Pull, dir string) map[string][]string {
	t.Helper()
	out, err := exec.Command("git", "--git-dir", g.GitDir(ghOwner, ghRepo), "ls-tree", "-r", "--name-only", p.HeadSHA, dir+"/").CombinedOutput()
	if err != nil {
		t.Fatalf("git ls-tree: %v: %s", err, out)
	}
	found := map[string][]string{}
	for _, file := range strings.Fields(string(out)) {
		at, name := path.Split(strings.TrimPrefix(file, dir+"/"))
		at = strings.TrimSuffix(at, "/")
		found[at] = append(found[at], name)
	}
	return found
}

// checkLedger holds that every write was one that pawl makes, by pawl, and that no branch and no pull request was made or even asked for twice
// once it was there.
func (g *github) checkLedger(t *testing.T) {
	t.Helper()
	allowed := []string{"create-blob", "create-tree", "create-commit", "create-ref", "create-pull", "create-label", "add-labels", "update-ref", "edit-pull"}
	made := map[string]int{}
	for _, w := range g.Ledger() {
		if !slices.Contains(allowed, w.Op) || w.User != "pawl-bot" {
			t.Errorf("unexpected write: %s %s by %q", w.Op, w.Path, w.User)
		}
		if w.Status >= 300 {
			t.Errorf("a refused write: %s %s: %d", w.Op, w.Path, w.Status)
		}
		if w.Op == "create-ref" || w.Op == "create-pull" {
			made[w.Op]++
		}
	}
	branches, err := g.Branches(ghOwner, ghRepo)
	if err != nil {
		t.Fatal(err)
	}
	pulls := len(g.Pulls(ghOwner, ghRepo))
	if made["create-pull"] != pulls || made["create-ref"] != pulls || len(branches) != pulls+1 {
		t.Errorf("%d pull requests, %d branches besides main: %d create-pull and %d create-ref were sent", pulls, len(branches)-1, made["create-pull"], made["create-ref"])
	}
}

// serveYAML is a configuration that opens pull requests on the stand-in, with ports of the machine's choice and short waits.
func serveYAML(dir string, g *github) string {
	return fmt.Sprintf(`data_dir: %s/data
listen: {otlp_grpc: 127.0.0.1:0, otlp_http: 127.0.0.1:0, http: 127.0.0.1:0}
assemble: {root_grace: 1s, idle_timeout: 60s}
absorb: {mode: open, session_quiet: 2s, min_judged: 0}
ghpr:
  mode: open
  base_url: %s
  token: ${env:PAWL_TEST_TOKEN}
  limits: {per_hour: 50, per_day: 50, open: 50, cases_per_pr: 50, hold: 2s, pause: 1ms, cool_down: null, warm_up: null}
targets: [{service: "*", repo: %s/%s, base: main, set: regressions}]
`, dir, g.URL, ghOwner, ghRepo)
}
