package ghpr

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

// Nothing but what a kind names can be frozen.
func TestPlacesOfKinds(t *testing.T) {
	file := func(paths ...string) (out []File) {
		for _, p := range paths {
			out = append(out, File{Path: p, Content: "x\n"})
		}
		return out
	}
	for _, c := range []struct {
		kind  Kind
		also  []string
		files []File
		ok    bool
	}{
		{"", nil, file("regressions/a/b/case.yaml"), true},
		{KindAdd, nil, file("rules/mine.yaml"), false},
		{KindAdd, []string{"rules"}, file("rules/mine.yaml"), true},
		{KindAdd, nil, file("pawl.yaml"), false},
		{KindAdd, nil, file(".github/workflows/pawl.yml"), false},
		{KindTighten, nil, file("regressions/a/b/case.yaml"), true},
		{KindTighten, []string{"rules"}, file("rules/mine.yaml"), false},
		{KindOnboard, nil, file("pawl.yaml", ".github/workflows/pawl.yml", "regressions/README.md", "regressions/a/b/case.yaml", "regressions/a/b/trace.json"), true},
		{KindOnboard, nil, file("regressions/a/b/case.yaml", "regressions/a/c/case.yaml"), false},
		{KindOnboard, nil, file(".github/workflows/other.yml"), false},
		{KindOnboard, nil, file("README.md"), false},
		{KindOnboard, nil, file("regressions/a/case.yaml"), false},
		{"delete", nil, file("regressions/a/b/case.yaml"), false},
	} {
		x := change()
		x.Kind, x.Also, x.Files = c.kind, c.also, c.files
		if _, err := Freeze(x); (err == nil) != c.ok {
			t.Errorf("%s %v: %v", c.kind, c.files, err)
		}
	}
}

// A tightening replaces files that are there, and only if somebody says that none of them becomes looser.
func TestTighten(t *testing.T) {
	no := errors.New("expect.never: fewer labels")
	for _, c := range []struct {
		name  string
		judge func(base, head []File) error
		seed  bool
		want  string
	}{
		{"tighter", func(base, head []File) error {
			if len(base) != 1 || base[0].Content != "old\n" || head[0].Content != "new\n" || base[0].Path != head[0].Path {
				return errors.New("not asked as it should be")
			}
			return nil
		}, true, ""},
		{"looser", func(base, head []File) error { return no }, true, "would loosen"},
		{"nobody to ask", nil, true, "nothing here can tell"},
		{"not there", func(base, head []File) error { return nil }, false, "lacks some of the files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				if c.seed {
					must(t, second(g.fake.Human("ana").Push(repoName, "main", caseFile, "old\n")))
				}
				x := change()
				x.Kind, x.Files = KindTighten, []File{{Path: caseFile, Content: "new\n"}}
				g.opt.Tighter = c.judge
				out := g.settle(t.Context(), frozen(t, x))
				switch {
				case c.want == "" && (out.Parked != nil || out.Receipt.State != StateOpen):
					t.Errorf("%+v %+v", out.Parked, out.Receipt)
				case c.want != "" && (out.Parked == nil || !strings.Contains(out.Parked.Reason, c.want) || len(g.fake.Ledger()) != 0):
					t.Errorf("%+v, %d writes", out.Parked, len(g.fake.Ledger()))
				}
			})
		})
	}
}

func TestOnboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		x := change()
		x.Kind = KindOnboard
		x.Files = append(x.Files, File{Path: "pawl.yaml", Content: "targets: []\n"}, File{Path: ".github/workflows/pawl.yml", Content: "on: push\n"}, File{Path: "regressions/README.md", Content: "# Cases\n"})
		in := frozen(t, x)
		out := g.settle(t.Context(), in)
		checkWorld(t, g, in)
		must(t, g.fake.Human("ana").Merge(repoName, 1))
		must(t, second(g.fake.Human("ana").Push(repoName, "main", "pawl.yaml", "mine: true\n")))
		again := g.settle(t.Context(), frozen(t, func() Change { c := x; c.Key = "other"; return c }()))
		if out.Parked != nil || again.Parked == nil || !strings.Contains(again.Parked.Reason, "only additions are made") {
			t.Errorf("%+v %+v", out.Parked, again.Parked)
		}
	})
}

// The switches: consent for what everybody sees, and the repository's own file.
func TestSwitches(t *testing.T) {
	enabled := func(text string) (bool, error) {
		if strings.Contains(text, "broken") {
			return false, errors.New("no YAML")
		}
		return !strings.Contains(text, "enabled: false"), nil
	}
	for _, c := range []struct {
		name, file, want string
		public           bool
	}{
		{"on", "enabled: true\n", "", false},
		{"no file", "", "", false},
		{"off", "enabled: false\n", "switched off by pawl.yaml on main", false},
		{"unreadable", "broken\n", "cannot be read", false},
		{"public", "", "public: true", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.opt.SwitchFile, g.opt.Enabled, g.opt.Public = "pawl.yaml", enabled, nil
				must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Private = !c.public }))
				if c.file != "" {
					must(t, second(g.fake.Human("ana").Push(repoName, "main", "pawl.yaml", c.file)))
				}
				in := frozen(t, change())
				out, err := g.reconcile(t.Context(), in)
				if c.want == "" {
					must(t, err)
					if !out.Done() {
						t.Fatalf("%+v", out)
					}
					// switched off later, it is looked at and not touched
					must(t, second(g.fake.Human("ana").Push(repoName, "main", "pawl.yaml", "enabled: false\n")))
					out, err = out.Grow(growth(1))
					must(t, err)
					out, err = g.reconcile(t.Context(), out)
					must(t, err)
					if !strings.Contains(out.Waiting, "switched off") || g.count("update-ref") != 0 || out.Receipt.State != StateOpen {
						t.Errorf("%q %+v", out.Waiting, out.Receipt)
					}
					return
				}
				waits(c.want)(t, g, in, out)
				if len(g.fake.Ledger()) != 0 {
					t.Errorf("%d writes", len(g.fake.Ledger()))
				}
			})
		})
	}
}

func TestSignOff(t *testing.T) {
	for who, ok := range map[string]bool{"pawl-bot <pawl-bot@users.noreply.github.com>": true, "ana <ana@example.com>": false} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			x := change()
			x.SignOff = who
			in := frozen(t, x)
			out := g.settle(t.Context(), in)
			if ok {
				checkWorld(t, g, in)
				if !strings.Contains(in.CommitMessage, "\nPawl-Intent: "+in.ID+"\nSigned-off-by: "+who+"\n") {
					t.Error(in.CommitMessage)
				}
			} else if out.Parked == nil || !strings.Contains(strings.Join(out.Parked.Evidence, " "), "pawl-bot <") || g.count("create-ref") != 0 {
				t.Errorf("%+v", out.Parked)
			}
		})
	}
	x := change()
	x.SignOff = "nobody"
	if _, err := Freeze(x); err == nil {
		t.Error("a sign-off without a mail")
	}
}

// A token that ended before its time is renewed once, for reads and for writes.
func TestUnauthorizedOnce(t *testing.T) {
	private, public := keyPair(t)
	for _, op := range []string{"get-ref", "create-tree", "create-ref", "create-pull"} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			must(t, g.fake.AddApp(fakegithub.App{ID: 12, Slug: "pawl-app", InstallationID: 34, PublicKey: public}))
			g.opt.Token, g.opt.App = "", App{ID: 12, InstallationID: 34, PrivateKey: private}
			g.fake.Inject(fakegithub.Fault{Op: op, Kind: fakegithub.Unauthorized})
			r, err := New(quiet(), g.opt)
			must(t, err)
			in := frozen(t, change())
			out, err := r.Reconcile(t.Context(), time.Now(), in, func(context.Context, Intent) error { return nil })
			must(t, err)
			checkWorld(t, g, in)
			if !out.Done() {
				t.Errorf("%s: %+v", op, out)
			}
			g.fake.Inject(fakegithub.Fault{Op: "get-repo", Kind: fakegithub.Unauthorized, Times: 9})
			if _, err = r.Reconcile(t.Context(), time.Now(), out, func(context.Context, Intent) error { return nil }); err == nil {
				t.Error("it goes on for ever")
			}
		})
	}
}

// What people made of a proposal before they merged it is seen, and which words they left on it.
func TestWhatPeopleSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		out := g.settle(t.Context(), frozen(t, change()))
		h := g.fake.Human("ana")
		must(t, second(h.Push(repoName, out.Branch, caseFile, "mine\n")))
		must(t, h.Label(repoName, 1, "pawl:Intended"))
		must(t, h.Label(repoName, 1, "other"))
		must(t, h.Merge(repoName, 1))
		out, err := g.reconcile(t.Context(), out)
		must(t, err)
		r := out.Receipt
		if r.State != StateMerged || strings.Join(r.Edited, " ") != caseFile || strings.Join(r.Labels, " ") != "pawl:intended" {
			t.Errorf("%+v", r)
		}
	})
}

// A base that was renamed takes its pull requests along.
func TestBaseRenamed(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t)
			in := frozen(t, change())
			out := g.settle(t.Context(), in)
			must(t, g.fake.Human("ana").RenameBranch(repoName, "main", "trunk"))
			if lost {
				out = in
			}
			out = g.settle(t.Context(), out)
			if out.Receipt.State != StateOpen || out.Receipt.Base != "trunk" || out.Parked != nil || len(g.fake.Pulls("acme", "shop")) != 1 {
				t.Errorf("%+v %+v", out.Receipt, out.Parked)
			}
			next := change()
			next.Key = "other"
			if out = g.settle(t.Context(), frozen(t, next)); out.Parked == nil || !strings.Contains(strings.Join(out.Parked.Evidence, " "), "default branch is trunk") {
				t.Errorf("%+v", out.Parked)
			}
		})
	}
}

func TestOwned(t *testing.T) {
	const text = "# owners\n*.md @docs\n/regressions/ @ana\npawl.yaml @ana @bob # both\n.github/** @ops\nregressions/free/\nsrc @dev\n"
	for path, want := range map[string]bool{"regressions/": true, "regressions/loop/x/case.yaml": true, "sub/regressions/x": false, "pawl.yaml": true, "sub/pawl.yaml": true,
		".github/workflows/pawl.yml": true, "regressions/free/x": false, "README.md": true, "a/b.md": true, "src/a.go": true, "lib/src/a.go": true, "main.go": false} {
		if got := Owned(text, path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if Owned("", "x") || !Owned("* @all", "a/b/c") {
		t.Error("nobody, or all")
	}
}

func TestMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		r, err := New(quiet(), g.opt)
		must(t, err)
		ask := func() string {
			out, err := r.Missing(t.Context(), repoName, "main", []string{"pawl", "verify"}, []string{"regressions/", "pawl.yaml"})
			must(t, err)
			return strings.Join(out, "; ")
		}
		if got := ask(); got != "no check named like pawl or verify is required on main; no code owner for regressions/, pawl.yaml" {
			t.Error(got)
		}
		must(t, second(g.fake.Human("ana").Push(repoName, "main", "CODEOWNERS", "/regressions/ @ana\n/pawl.yaml @ana\n")))
		must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Checks = []string{"build", "pawl / Verify"} }))
		if got := ask(); got != "the rules of main do not ask for a review by code owners" {
			t.Error(got)
		}
		must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Owners = true }))
		if got := ask(); got != "" {
			t.Error(got)
		}
		if len(g.fake.Ledger()) != 0 {
			t.Error("it wrote")
		}
	})
}

// A repository that goes to another owner is followed by its number, also when another takes its name; an archived one is left alone until it is not.
func TestTransferredAndArchived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		out := g.settle(t.Context(), frozen(t, change()))
		must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Owner = "holding" }))
		must(t, g.fake.AddRepo("acme", "shop", ""))
		out, err := out.Grow(growth(1))
		must(t, err)
		g.opt.Content = contentOf(out)
		out = g.settle(t.Context(), out)
		if out.FullName != "holding/shop" || out.Update.State != UpdateDone || len(g.fake.Pulls("acme", "shop")) != 0 || len(g.fake.Pulls("holding", "shop")) != 1 {
			t.Fatalf("%s %+v", out.FullName, out.Update)
		}
		must(t, g.fake.Edit("holding", "shop", func(r *fakegithub.Repo) { r.Archived = true }))
		writes := len(g.fake.Ledger())
		out, err = out.Grow(growth(2))
		must(t, err)
		g.opt.Content = contentOf(out)
		out, err = g.reconcile(t.Context(), out)
		must(t, err)
		if out.Waiting != "the repository is archived" || len(g.fake.Ledger()) != writes {
			t.Errorf("%q, %d writes", out.Waiting, len(g.fake.Ledger())-writes)
		}
		must(t, g.fake.Edit("holding", "shop", func(r *fakegithub.Repo) { r.Archived = false }))
		if out = g.settle(t.Context(), out); out.Update.State != UpdateDone || len(out.Grown) != 1 {
			t.Errorf("%+v", out.Update)
		}
	})
}
