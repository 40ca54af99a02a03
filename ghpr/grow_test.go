package ghpr

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

func growth(n int) Growth {
	id := fmt.Sprintf("loop-%010d", n)
	return Growth{Title: fmt.Sprintf("Add %d cases: loop in get_order", n+1), CommitMessage: "regressions: add " + id + "\n\nFound 3 times.\n",
		Body: []Block{{Text: fmt.Sprintf("%d cases.\n", n+1)}, {Text: Fence("json", `{"b":2}`), Optional: true}},
		Files: []File{{Path: "regressions/loop/" + id + "/case.yaml", Content: "kind: Case\nid: " + id + "\n"},
			{Path: "regressions/loop/" + id + "/trace.json", Content: `{"resourceSpans":[` + fmt.Sprint(n) + `]}`}},
		Identities: []string{"3f9a1c02d4@sha256:77", id}}
}

// opened is a rig with an open pull request, and its intent grown by one case. The world is made once; each test gets a copy.
func opened(t *testing.T) (*rig, Intent) {
	t.Helper()
	once.Do(func() {
		g := newRig(t)
		once.in = g.settle(t.Context(), frozen(t, change()))
		once.state, once.err = os.ReadFile(filepath.Join(g.dir, "state.json"))
		must(t, os.CopyFS(filepath.Join(first.dir, "opened"), os.DirFS(g.fake.GitDir("acme", "shop"))))
		once.repo = g.fake.GitDir("acme", "shop")
	})
	must(t, once.err)
	dir, repo := t.TempDir(), filepath.Join(t.TempDir(), "shop.git")
	must(t, os.CopyFS(repo, os.DirFS(filepath.Join(first.dir, "opened"))))
	must(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte(strings.ReplaceAll(string(once.state), once.repo, repo)), 0o600))
	f, err := fakegithub.New(quiet(), dir, fakegithub.Options{})
	must(t, err)
	openapi.Watch(t, f)
	grown, err := once.in.Grow(growth(1))
	must(t, err)
	g := &rig{t: t, dir: dir, fake: f, saved: grown.Slim()}
	g.opt = options(f)
	g.opt.Content = contentOf(grown)
	return g, grown
}

var once struct {
	sync.Once
	in    Intent
	state []byte
	repo  string
	err   error
}

// checkGrown: one pull request whose branch has one commit for the intent and one for each update that was done, with their files and nothing else.
func checkGrown(t *testing.T, g *rig, in Intent, ids ...string) {
	t.Helper()
	pulls := g.fake.Pulls("acme", "shop")
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests", len(pulls))
	}
	dir := g.fake.GitDir("acme", "shop")
	log := strings.Split(strings.TrimSpace(git(t, dir, "log", "--reverse", "--format=%B%x00", "main.."+in.Branch)), "\x00")
	log = log[:len(log)-1]
	if len(log) != len(ids) {
		t.Fatalf("%d commits, want %d: %q", len(log), len(ids), log)
	}
	for i, id := range ids {
		if !hasTrailer(log[i], id) {
			t.Errorf("commit %d is not of %s: %q", i, id, log[i])
		}
	}
	in.settle()
	files := strings.Fields(git(t, dir, "diff", "--name-only", "--diff-filter=A", "main", in.Branch))
	if all := strings.Fields(git(t, dir, "diff", "--name-only", "main", in.Branch)); len(files) != len(all) || len(all) != len(in.allFiles()) {
		t.Errorf("files %v, added %v, want %d", all, files, len(in.allFiles()))
	}
}

func TestGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, in := opened(t)
		h := g.fake.Human("ana")
		must(t, h.EditBody(repoName, 1, "Look at this, team.\r\n\r\n"+strings.ReplaceAll(in.Body, "\n", "\r\n")+"\r\nThanks."))
		writes := len(g.fake.Ledger())
		out := g.settle(t.Context(), in)
		if out.Update.State != UpdateDone || out.Update.Text.Outcome != Confirmed {
			t.Fatalf("%+v", out.Update)
		}
		checkGrown(t, g, out, in.ID, out.Update.ID)
		p := g.fake.Pulls("acme", "shop")[0]
		if p.Title != in.Update.Title || !strings.HasPrefix(p.Body, "Look at this, team.\n\n<!--") || !strings.HasSuffix(p.Body, "-->\nThanks.") || !strings.Contains(p.Body, "2 cases.") || strings.Contains(p.Body, "One case.") {
			t.Errorf("%q\n%s", p.Title, p.Body)
		}
		var ops []string
		for _, w := range g.fake.Ledger()[writes:] {
			ops = append(ops, w.Op)
		}
		if got := strings.Join(ops, " "); got != "create-tree create-commit update-ref edit-pull" {
			t.Errorf("writes %s", got)
		}
		// and once more, with a title that a person chose
		must(t, h.Retitle(repoName, 1, "Our loops"))
		next, err := out.Grow(growth(2))
		must(t, err)
		g.opt.Content = contentOf(next)
		out = g.settle(t.Context(), next)
		checkGrown(t, g, out, in.ID, in.Update.ID, out.Update.ID)
		if p := g.fake.Pulls("acme", "shop")[0]; p.Title != "Our loops" || !strings.Contains(p.Body, "3 cases.") {
			t.Errorf("%+v", p)
		}
		// a text alone
		note, err := out.Grow(Growth{Body: []Block{{Text: "4 words of retraction."}}, Identities: []string{"x"}})
		must(t, err)
		out = g.settle(t.Context(), note)
		checkGrown(t, g, out, in.ID, in.Update.ID, next.Update.ID)
		if p := g.fake.Pulls("acme", "shop")[0]; !strings.Contains(p.Body, "retraction") || len(out.Grown) != 2 {
			t.Errorf("%+v", p)
		}
	})
}

// people acts that end our hold on a pull request: nothing of the update gets in, and the rest stays.
var theirs = map[string]func(t *testing.T, h fakegithub.Human, in Intent){
	"somebody reviews": func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Review(repoName, 1)) },
	"merge queue":      func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Queue(repoName, 1, true)) },
	"merged by itself": func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Arm(repoName, 1, true)) },
	"pawl:stop":        func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Label(repoName, 1, "pawl:stop")) },
	"is closed":        func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Close(repoName, 1)) },
	"is merged":        func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Merge(repoName, 1)) },
	"pushed to its branch": func(t *testing.T, h fakegithub.Human, in Intent) {
		must(t, second(h.Push(repoName, in.Branch, "regressions/x", "y")))
	},
	"the base has some": func(t *testing.T, h fakegithub.Human, in Intent) {
		must(t, second(h.Push(repoName, "main", in.Update.Files[0].Path, "y")))
	},
}

func second(_ string, err error) error { return err }

func TestNoLongerOurs(t *testing.T) {
	for why, act := range theirs {
		for _, when := range []string{"before", "in doubt"} {
			t.Run(why+" "+when, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g, in := opened(t)
					if when == "before" {
						act(t, g.fake.Human("ana"), in)
					} else {
						g.fake.Inject(fakegithub.Fault{Op: "update-ref", Kind: fakegithub.DropBefore})
						g.die = func(p string) bool { // not a kill: the push was lost, and before it is known people act
							if strings.HasPrefix(p, "after PATCH") && strings.Contains(p, "/git/refs/") {
								act(t, g.fake.Human("ana"), in)
							}
							return false
						}
					}
					out := g.settle(t.Context(), in)
					if out.Update.State != UpdateLeft || !strings.Contains(out.Update.Why, why) {
						t.Fatalf("%+v", out.Update)
					}
					if g.count("edit-pull") != 0 {
						t.Error("the text was changed")
					}
					for _, w := range g.fake.Ledger() {
						if w.Op == "update-ref" && w.Status == 200 {
							t.Error("the branch was moved")
						}
					}
				})
			})
		}
	}
}

// A push that is quicker than ours is not lost: GitHub refuses ours.
func TestPushRightBeforeOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, in := opened(t)
		var theirs string
		g.fake.Inject(fakegithub.Fault{Op: "update-ref", Kind: fakegithub.Act, Do: func() {
			var err error
			theirs, err = g.fake.Human("ana").Push(repoName, in.Branch, "regressions/note.md", "mine\n")
			must(t, err)
		}})
		out := g.settle(t.Context(), in)
		if all, err := g.fake.Branches("acme", "shop"); err != nil || all[in.Branch] != theirs || out.Update.State != UpdateLeft {
			t.Errorf("%v %v %+v", all, err, out.Update)
		}
	})
}

// What people wrote into our part of the text, or made of all of it, stays.
func TestTheirTextStays(t *testing.T) {
	for name, text := range map[string]func(body string) string{
		"edited":  func(body string) string { return strings.Replace(body, "One case.", "One case, which I know.", 1) },
		"emptied": func(string) string { return "" },
		"other":   func(string) string { return "Mine." },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, in := opened(t)
				theirs := text(in.Body)
				must(t, g.fake.Human("ana").EditBody(repoName, 1, theirs))
				out := g.settle(t.Context(), in)
				if p := g.fake.Pulls("acme", "shop")[0]; p.Body != theirs || out.Update.State != UpdateDone || out.Update.Text.Outcome != Refused || out.Update.Text.Note == "" {
					t.Errorf("%q %+v", p.Body, out.Update)
				}
				checkGrown(t, g, out, in.ID, out.Update.ID)
			})
		})
	}
}
