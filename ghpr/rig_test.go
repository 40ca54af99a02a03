package ghpr

import (
	"context"
	"errors"
	"flag"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

const (
	repoName = "acme/shop"
	ourToken = "tok-secret-0123456789"
	base     = "http://127.0.0.1/"
)

var full = flag.Bool("full", false, "the whole fault matrix; otherwise a fixed part of it")

// pick picks, without -full, one in n of the matrix's runs: always the same.
func pick(t *testing.T, n uint32) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.Name()))
	if !*full && h.Sum32()%n != 0 {
		t.Skip("with -full")
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// rig is a fake GitHub, a store that survives, and the means to die at a chosen moment.
type rig struct {
	t     testing.TB
	dir   string
	fake  *fakegithub.Fake
	opt   Options
	mu    sync.Mutex
	saved Intent
	saves int
	die   func(point string) bool // called at each point of a run; true ends the run there, as a kill would
}

func newRig(t testing.TB) *rig {
	t.Helper()
	dir := t.TempDir()
	f, err := fakegithub.New(quiet(), dir, fakegithub.Options{})
	must(t, err)
	openapi.Watch(t, f)
	must(t, f.AddUser(fakegithub.User{Login: "pawl-bot", Token: ourToken, Right: "write"}))
	must(t, f.AddRepo("acme", "shop", repoCopy(t)))
	return &rig{t: t, dir: dir, fake: f, opt: options(f)}
}

func options(f *fakegithub.Fake) Options {
	return Options{Mode: ModeOpen, BaseURL: base, Token: ourToken, Transport: f.Transport(), Public: func(string) bool { return true }}
}

// first is a bare repository with one commit, made once; each test gets a copy.
var first struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if first.dir != "" {
		os.RemoveAll(first.dir)
	}
	os.Exit(code)
}

func repoCopy(t testing.TB) string {
	t.Helper()
	first.Do(func() {
		if first.dir, first.err = os.MkdirTemp("", "ghpr"); first.err != nil {
			return
		}
		f, err := fakegithub.New(quiet(), first.dir, fakegithub.Options{})
		if err == nil {
			err = f.AddRepo("first", "commit", "")
		}
		first.err = err
	})
	must(t, first.err)
	dir := filepath.Join(t.TempDir(), "shop.git")
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join(first.dir, "first", "commit.git"))))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func change() Change {
	return Change{Repo: repoName, Base: "main", Dir: "regressions", Key: "loop/shop/7", Slug: "loop", Title: "Add 1 case: loop in get_order",
		Body:          []Block{{Text: "One case.\n"}, {Text: "It says: " + Inline("hello @all, fixes #1", 80)}, {Text: Fence("json", `{"a":1}`), Optional: true}},
		CommitMessage: "regressions: add loop-3f9a1c02d4\n\nFound 7 times.\n",
		Files: []File{{Path: "regressions/loop/loop-3f9a1c02d4/case.yaml", Content: "kind: Case\nid: loop-3f9a1c02d4\n"},
			{Path: "regressions/loop/loop-3f9a1c02d4/trace.json", Content: `{"resourceSpans":[]}`}},
		Labels: []string{"pawl", "pawl:loop"}, Identities: []string{"3f9a1c02d4@sha256:77"}}
}

func frozen(t testing.TB, c Change) Intent {
	t.Helper()
	in, err := Freeze(c)
	must(t, err)
	return in
}

var errKilled = errors.New("killed")

// reconcile runs once, with the rig's store and the rig's way to die.
func (g *rig) reconcile(ctx context.Context, in Intent) (Intent, error) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := g.opt
	o.Transport = dying{g, cancel, o.Transport}
	r, err := New(quiet(), o)
	must(g.t, err)
	return r.Reconcile(ctx, time.Now(), in, func(_ context.Context, in Intent) error {
		if g.dead("before save", cancel) {
			return errKilled
		}
		g.mu.Lock()
		g.saved, g.saves = in.Slim(), g.saves+1
		g.mu.Unlock()
		if g.dead("after save", cancel) {
			return errKilled
		}
		return nil
	})
}

// patient reconciles, and again while something is being looked for.
func (g *rig) patient(ctx context.Context, in Intent) (Intent, error) {
	g.t.Helper()
	for range 20 {
		out, err := g.reconcile(ctx, in)
		if err != nil || len(out.Search) == 0 || out.Parked != nil {
			return out, err
		}
		time.Sleep(time.Until(out.NotBefore))
		in = out
	}
	g.t.Fatalf("looks for ever: %+v", in.Search)
	return in, nil
}

func (g *rig) dead(point string, cancel func()) bool {
	if g.die == nil || !g.die(point) {
		return false
	}
	cancel()
	return true
}

// settle reconciles, from what is stored, until nothing is left to do, as a loop in a service would.
func (g *rig) settle(ctx context.Context, in Intent) Intent {
	g.t.Helper()
	if g.opt.Content == nil {
		g.opt.Content = contentOf(in)
	}
	for range 20 {
		out, err := g.reconcile(ctx, in)
		if err != nil {
			g.t.Logf("reconcile: %v", err)
		}
		if out.Done() || out.Parked != nil {
			return out
		}
		time.Sleep(max(time.Until(out.NotBefore), time.Second))
		in = out
	}
	g.t.Fatalf("never done: waits %q search %+v update %+v steps %+v", in.Waiting, in.Search, in.Update, in.Steps)
	return in
}

func contentOf(in Intent) func(context.Context, string) (string, error) {
	return func(_ context.Context, blob string) (string, error) {
		files := in.Files
		if in.Update != nil {
			files = append(slices.Clone(files), in.Update.Files...)
		}
		for _, f := range files {
			if f.Blob == blob {
				return f.Content, nil
			}
		}
		return "", errors.New("no such blob")
	}
}

// dying is a network that can end with the process: before a request leaves, or after the answer was given and before it is seen.
type dying struct {
	g      *rig
	cancel func()
	next   http.RoundTripper
}

func (d dying) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.Method + " " + req.URL.Path
	d.g.checkStored(req)
	if d.g.dead("before "+what, d.cancel) {
		return nil, errKilled
	}
	resp, err := d.next.RoundTrip(req)
	if d.g.dead("after "+what, d.cancel) {
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		return nil, errKilled
	}
	return resp, err
}

// checkStored: a write that can double leaves only after the intent was stored with that step as sent.
func (g *rig) checkStored(req *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	steps := g.saved.Steps
	switch {
	case req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/git/refs/"):
		if u := g.saved.Update; u == nil || u.Ref.Outcome != Sent {
			g.t.Errorf("update-ref leaves while the store says %+v", u)
		}
	case req.Method != http.MethodPost:
	case strings.HasSuffix(req.URL.Path, "/git/refs") && steps.Ref.Outcome != Sent:
		g.t.Errorf("create-ref leaves while the store says %q", steps.Ref.Outcome)
	case strings.HasSuffix(req.URL.Path, "/pulls") && steps.PR.Outcome != Sent:
		g.t.Errorf("create-pull leaves while the store says %q", steps.PR.Outcome)
	}
}
