package ghpr

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

var (
	seeds = flag.Uint64("seeds", 8, "random histories of the model test")
	seed0 = flag.Uint64("seed", 1, "the first seed")
)

// model is one random history: pawl's steps by two absorbers over one store, people's deeds, GitHub's faults, and the passing of time.
type model struct {
	t    *testing.T
	rng  *rand.Rand
	fake *fakegithub.Fake
	log  []string

	mu      sync.Mutex
	stored  map[string]Intent // slim, by key
	version map[string]int
	blobs   map[string]string
	cases   int

	foreign map[string]string // commits of people, with their branch
	texts   map[int]string    // what people wrote beside our part, by pull request
	refused map[int]bool      // closed by a person
	files   map[string]bool   // ever seen on main
}

func newModel(t *testing.T, seed uint64) *model {
	g := newRig(t)
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 7)), fake: g.fake, stored: map[string]Intent{}, version: map[string]int{}, blobs: map[string]string{},
		foreign: map[string]string{}, texts: map[int]string{}, refused: map[int]bool{}, files: map[string]bool{}}
	for i := range 3 {
		c := change()
		c.Key, c.Slug = fmt.Sprintf("key-%d", i), fmt.Sprintf("slug-%d", i)
		c.Files = m.newCase()
		in := frozen(t, c)
		m.remember(in.Files)
		m.stored[c.Key] = in.Slim()
	}
	return m
}

func (m *model) newCase() []File {
	m.cases++
	dir := fmt.Sprintf("regressions/loop/loop-%010d/", m.cases)
	return []File{{Path: dir + "case.yaml", Content: fmt.Sprintf("id: %d\n", m.cases)}, {Path: dir + "trace.json", Content: fmt.Sprintf("{\"n\": %d}\n", m.cases)}}
}

func (m *model) remember(files []FrozenFile) {
	for _, f := range files {
		m.blobs[f.Blob] = f.Content
	}
}

func (m *model) note(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// mortal is the network and the store of one process, which may end at a point of its run.
type mortal struct {
	m      *model
	left   int // points until the end; negative: lives on
	dead   bool
	cancel func()
}

func (p *mortal) ends() bool {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if p.left--; p.left == 0 {
		p.dead = true
		p.cancel()
	}
	return p.dead
}

// RoundTrip carries a request, unless the process ends before it leaves or before its answer is seen.
func (p *mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.ends() {
		return nil, errKilled
	}
	resp, err := p.m.fake.Transport().RoundTrip(req)
	if p.ends() {
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		return nil, errKilled
	}
	return resp, err
}

// step is one round of one process over one intent, from what is stored, by compare-and-set.
func (m *model) step(key string, left int) (out Intent, err error) {
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	p := &mortal{m: m, left: left, cancel: cancel}
	r, err := New(quiet(), Options{Mode: ModeOpen, BaseURL: base, Token: ourToken, Transport: p, Public: func(string) bool { return true },
		Limits: Limits{Open: 50, PerHour: 500, PerDay: 500}, Content: func(_ context.Context, blob string) (string, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.blobs[blob], nil
		}})
	must(m.t, err)
	m.mu.Lock()
	in, version := m.stored[key].clone(), m.version[key]
	m.mu.Unlock()
	return r.Reconcile(ctx, time.Now(), in, func(_ context.Context, in Intent) error {
		if p.ends() {
			return errKilled
		}
		m.mu.Lock()
		lost := m.version[key] != version
		if !lost {
			version++
			m.stored[key], m.version[key] = in.Slim(), version
		}
		m.mu.Unlock()
		if lost {
			return errors.New("another was here first")
		}
		if p.ends() {
			return errKilled
		}
		return nil
	})
}

// grow freezes one more case onto an open pull request, as an absorber does between two rounds.
func (m *model) grow(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := m.stored[key]
	if in.Receipt.State != StateOpen || in.Parked != nil || !in.Done() {
		return
	}
	g := Growth{Title: fmt.Sprintf("Add %d", m.cases), Files: m.newCase(), Body: []Block{{Text: fmt.Sprintf("Now %d cases.", m.cases)}}, Identities: []string{fmt.Sprint(m.cases)}}
	out, err := in.Grow(g)
	must(m.t, err)
	m.remember(out.Update.Files)
	m.stored[key] = out.Slim()
	m.version[key]++
	m.note("grow %s by case %d", key, m.cases)
}

func (m *model) anyPull() (fakegithub.Pull, bool) {
	pulls := m.fake.Pulls("acme", "shop")
	if len(pulls) == 0 {
		return fakegithub.Pull{}, false
	}
	return pulls[m.rng.IntN(len(pulls))], true
}

// person does one thing that people do.
func (m *model) person() {
	h := m.fake.Human("ana")
	p, ok := m.anyPull()
	if !ok {
		return
	}
	what := m.rng.IntN(12)
	m.note("person %d on pull %d", what, p.Number)
	switch what {
	case 0:
		if p.State == "open" && h.Close(repoName, p.Number) == nil {
			m.refused[p.Number] = true
		}
	case 1:
		if p.State == "closed" && !p.Merged && m.branch(p.Head) && h.Reopen(repoName, p.Number) == nil {
			delete(m.refused, p.Number)
		}
	case 2, 3:
		_ = h.Merge(repoName, p.Number)
	case 4:
		if m.branch(p.Head) {
			if sha, err := h.Push(repoName, p.Head, fmt.Sprintf("notes/%d.md", m.rng.IntN(1000)), fmt.Sprint(m.rng.Int())); err == nil {
				m.foreign[sha] = p.Head
			}
		}
	case 5:
		text := fmt.Sprintf("Note %d of mine.", m.rng.IntN(1_000_000))
		if now := m.fake.Pulls("acme", "shop")[p.Number-1]; h.EditBody(repoName, p.Number, text+"\n"+now.Body) == nil {
			m.texts[p.Number] = text
		}
	case 6:
		if m.branch(p.Head) && m.rng.IntN(2) == 0 && h.DeleteBranch(repoName, p.Head) == nil {
			for sha, b := range m.foreign {
				if b == p.Head {
					delete(m.foreign, sha)
				}
			}
			if p.State == "open" {
				m.refused[p.Number] = true
			}
		}
	case 7:
		_ = h.Review(repoName, p.Number)
	case 8:
		_ = h.Queue(repoName, p.Number, m.rng.IntN(2) == 0)
	case 9:
		_ = h.Label(repoName, p.Number, "pawl:stop")
	case 10:
		_, _ = h.Push(repoName, "main", fmt.Sprintf("src/%d.go", m.rng.IntN(1000)), fmt.Sprint(m.rng.Int()))
	case 11:
		must(m.t, m.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Archived = !r.Archived }))
	}
}

func (m *model) branch(name string) bool {
	all, err := m.fake.Branches("acme", "shop")
	return err == nil && all[name] != ""
}

var modelOps = []string{"", "create-tree", "create-commit", "create-ref", "update-ref", "create-pull", "edit-pull", "get-ref", "list-pulls", "pull-commits", "compare", "get-pull"}

func (m *model) trouble() {
	f := fakegithub.Fault{Op: modelOps[m.rng.IntN(len(modelOps))], Kind: kinds[m.rng.IntN(len(kinds))], Skip: m.rng.IntN(4), Times: 1 + m.rng.IntN(2), Delay: 40 * time.Second}
	switch m.rng.IntN(5) {
	case 0:
		f = fakegithub.Fault{Op: []string{"create-ref", "update-ref"}[m.rng.IntN(2)], Kind: fakegithub.StaleRefs, Reads: 1 + m.rng.IntN(6)}
	case 1:
		f = fakegithub.Fault{Op: "create-pull", Kind: fakegithub.StalePulls, Reads: 1 + m.rng.IntN(6)}
	}
	m.note("fault %s %s skip %d", f.Op, f.Kind, f.Skip)
	m.fake.Inject(f)
}

// both lets two absorbers work on the same intent at once, each of which may die.
func (m *model) both(key string) {
	lives := func() int {
		if m.rng.IntN(3) == 0 {
			return 1 + m.rng.IntN(70)
		}
		return -1
	}
	a, b, apart := lives(), lives(), time.Duration(m.rng.IntN(6))*time.Second
	m.note("absorbers on %s: %d %d apart %s", key, a, b, apart)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = m.step(key, a) })
	if m.rng.IntN(2) == 0 {
		wg.Go(func() {
			time.Sleep(apart)
			_, _ = m.step(key, b)
		})
	}
	if m.rng.IntN(3) == 0 {
		time.Sleep(time.Duration(m.rng.IntN(8)) * time.Second)
		m.person()
	}
	wg.Wait()
}

func (m *model) play(steps int) {
	for range steps {
		key := fmt.Sprintf("key-%d", m.rng.IntN(3))
		switch m.rng.IntN(10) {
		case 0:
			m.person()
		case 1:
			m.trouble()
		case 2, 3:
			m.grow(key)
		case 4:
			time.Sleep(time.Duration(m.rng.IntN(120)) * time.Second)
		default:
			m.both(key)
		}
		m.check()
	}
	// at last all is quiet: every intent comes to its end
	must(m.t, m.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Archived = false }))
	for key := range m.stored {
		m.end(key)
	}
	m.check()
	m.checkEnd()
}

func (m *model) end(key string) {
	for range 60 {
		in := m.stored[key]
		if in.Parked != nil || in.Done() && in.Receipt.State != "" {
			_, _ = m.step(key, -1) // a last look
			return
		}
		time.Sleep(max(time.Second, time.Until(in.NotBefore)))
		_, _ = m.step(key, -1)
	}
	m.t.Errorf("%s never ends: waits %q, steps %+v, update %+v", key, m.stored[key].Waiting, m.stored[key].Steps, m.stored[key].Update)
}

// check holds what must hold at any moment.
func (m *model) check() {
	m.t.Helper()
	dir := m.fake.GitDir("acme", "shop")
	byKey := map[string][]int{}
	for _, p := range m.fake.Pulls("acme", "shop") {
		if mark, _, ok := ParseMarker(p.Body); ok {
			byKey[mark.Key] = append(byKey[mark.Key], p.Number)
		}
		if text := m.texts[p.Number]; text != "" && !strings.Contains(p.Body, text) {
			m.t.Errorf("pull %d lost a person's words", p.Number)
		}
		if m.refused[p.Number] && p.State == "open" {
			m.t.Errorf("pull %d was closed by a person and is open", p.Number)
		}
	}
	for key, n := range byKey {
		if len(n) > 1 {
			m.t.Errorf("%s has pull requests %v", key, n)
		}
	}
	for sha, branch := range m.foreign {
		if exec.Command("git", "--git-dir", dir, "merge-base", "--is-ancestor", sha, branch).Run() != nil {
			m.t.Errorf("%s lost a person's commit %s", branch, sha)
		}
	}
	now := map[string]bool{}
	for _, f := range strings.Fields(git(m.t, dir, "ls-tree", "-r", "--name-only", "main")) {
		now[f], m.files[f] = true, true
	}
	for f := range m.files {
		if !now[f] {
			m.t.Errorf("main lost %s", f)
		}
	}
}

// checkEnd holds what must hold once all is quiet.
func (m *model) checkEnd() {
	m.t.Helper()
	dir := m.fake.GitDir("acme", "shop")
	all, err := m.fake.Branches("acme", "shop")
	must(m.t, err)
	for branch := range all {
		theirs := false
		for line := range strings.Lines(git(m.t, dir, "log", "--reverse", "--first-parent", "--format=%H %an", "main.."+branch)) {
			sha, who, _ := strings.Cut(strings.TrimSpace(line), " ")
			if who != "pawl-bot" {
				theirs = true
			} else if theirs {
				m.t.Errorf("%s: our commit %s stands on a person's", branch, sha)
			}
		}
	}
	for _, w := range m.fake.Ledger() {
		if !slices.Contains([]string{"create-tree", "create-commit", "create-ref", "update-ref", "create-pull", "edit-pull", "create-label", "add-labels"}, w.Op) {
			m.t.Errorf("a write that pawl never makes: %s %s", w.Op, w.Path)
		}
		if w.Op == "update-ref" && strings.Contains(w.Body, `"force":true`) {
			m.t.Error("a forced push")
		}
	}
	for key, in := range m.stored {
		if in.InDoubt() && in.Parked == nil {
			m.t.Errorf("%s is in doubt for ever: %+v", key, in.Steps)
		}
	}
}

// TestModel plays random histories. -seeds N plays more of them, -seed S begins elsewhere.
func TestModel(t *testing.T) {
	for seed := *seed0; seed < *seed0+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, seed)
				m.play(60)
				if t.Failed() {
					t.Log(strings.Join(m.log, "\n"))
				}
			})
		})
	}
}
