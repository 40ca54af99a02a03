package ghpr

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"context"

	"github.com/pawl-dev/pawl/ghpr/github"
	"github.com/pawl-dev/pawl/test/fakegithub"
)

// world is one story: what people do before and between, and how the intent must end.
type world struct {
	name    string
	options func(*Options)
	before  func(t *testing.T, g *rig, in Intent)
	faults  func(t *testing.T, g *rig, in Intent) []fakegithub.Fault
	check   func(t *testing.T, g *rig, in, out Intent)
}

func parked(reason string) func(*testing.T, *rig, Intent, Intent) {
	return func(t *testing.T, g *rig, in, out Intent) {
		t.Helper()
		if out.Parked == nil || !strings.Contains(out.Parked.Reason, reason) || len(out.Parked.Evidence) == 0 {
			t.Fatalf("parked %+v, want %q with evidence", out.Parked, reason)
		}
	}
}

func noPulls(n int) func(*testing.T, *rig) {
	return func(t *testing.T, g *rig) {
		t.Helper()
		if got := len(g.fake.Pulls("acme", "shop")); got != n {
			t.Errorf("%d pull requests, want %d", got, n)
		}
	}
}

const caseFile = "regressions/loop/loop-3f9a1c02d4/case.yaml"

var worlds = []world{
	{name: "a foreign branch of our name parks",
		before: func(t *testing.T, g *rig, in Intent) {
			_, err := g.fake.Human("eve").Push(repoName, in.Branch, "x", "y")
			must(t, err)
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("somebody else's commit")(t, g, in, out)
			noPulls(0)(t, g)
		}},
	{name: "a foreign branch that appears just before ours parks",
		faults: func(t *testing.T, g *rig, in Intent) []fakegithub.Fault {
			return []fakegithub.Fault{{Op: "create-ref", Kind: fakegithub.Act, Do: func() {
				_, err := g.fake.Human("eve").Push(repoName, in.Branch, "x", "y")
				must(t, err)
			}}}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("somebody else's commit")(t, g, in, out)
			noPulls(0)(t, g)
		}},
	{name: "a commit on our branch before its pull request parks",
		faults: func(t *testing.T, g *rig, in Intent) []fakegithub.Fault {
			return []fakegithub.Fault{{Op: "create-pull", Kind: fakegithub.DropBefore}, {Op: "commit-pulls", Skip: 1, Kind: fakegithub.Act, Do: func() {
				_, err := g.fake.Human("eve").Push(repoName, in.Branch, "src/main.go", "package main\n")
				must(t, err)
			}}}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("somebody else's commit")(t, g, in, out)
			noPulls(0)(t, g)
		}},
	{name: "a directory where our branch should be parks",
		before: func(t *testing.T, g *rig, in Intent) {
			_, err := g.fake.Human("eve").Push(repoName, "pawl", "x", "y")
			must(t, err)
		},
		check: parked("refuses the branch")},
	{name: "a branch deleted before its pull request parks",
		faults: func(t *testing.T, g *rig, in Intent) []fakegithub.Fault {
			return []fakegithub.Fault{{Op: "create-pull", Kind: fakegithub.Act, Do: func() { must(t, g.fake.Human("eve").DeleteBranch(repoName, in.Branch)) }}}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("is gone")(t, g, in, out)
			noPulls(0)(t, g)
		}},
	{name: "somebody else's pull request from our branch parks",
		faults: func(t *testing.T, g *rig, in Intent) []fakegithub.Fault {
			return []fakegithub.Fault{{Op: "create-pull", Kind: fakegithub.Act, Do: func() {
				_, err := g.fake.Human("eve").Open(repoName, in.Branch, "main", "mine")
				must(t, err)
			}}}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("not ours")(t, g, in, out)
			noPulls(1)(t, g)
		}},
	{name: "another file at our path parks",
		before: func(t *testing.T, g *rig, in Intent) {
			_, err := g.fake.Human("ana").Push(repoName, "main", caseFile, "other\n")
			must(t, err)
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("some of these paths")(t, g, in, out)
			if n := len(g.fake.Ledger()); n != 0 {
				t.Errorf("%d writes", n)
			}
		}},
	{name: "a file where our directory should be parks before the pull request",
		before: func(t *testing.T, g *rig, in Intent) {
			_, err := g.fake.Human("ana").Push(repoName, "main", "regressions", "a file\n")
			must(t, err)
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			parked("additions and nothing else")(t, g, in, out)
			noPulls(0)(t, g)
		}},
	{name: "all files on the base already: absorbed",
		before: func(t *testing.T, g *rig, in Intent) {
			for _, f := range in.Files {
				_, err := g.fake.Human("ana").Push(repoName, "main", f.Path, f.Content)
				must(t, err)
			}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			if out.Receipt.State != StateAbsorbed || !out.Done() || len(g.fake.Ledger()) != 0 {
				t.Fatalf("%+v, %d writes", out.Receipt, len(g.fake.Ledger()))
			}
		}},
	{name: "the base moves in the middle: nothing to do about it",
		faults: func(t *testing.T, g *rig, in Intent) []fakegithub.Fault {
			return []fakegithub.Fault{{Op: "create-ref", Kind: fakegithub.Act, Do: func() {
				_, err := g.fake.Human("ana").Push(repoName, "main", "src/a.go", "package a\n")
				must(t, err)
			}}}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			if out.Receipt.State != StateOpen || out.Parked != nil {
				t.Fatalf("%+v %+v", out.Receipt, out.Parked)
			}
		}},
	{name: "no base branch",
		before: func(t *testing.T, g *rig, in Intent) {
			must(t, g.fake.Human("ana").DeleteBranch(repoName, "main"))
			_, err := g.fake.Human("ana").Push(repoName, "trunk", "a", "b")
			if err == nil {
				t.Fatal("a push without a parent")
			}
		},
		check: parked("empty")},
	{name: "an archived repository waits",
		before: func(t *testing.T, g *rig, in Intent) {
			must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Archived = true }))
		},
		check: waits("archived")},
	{name: "a token that may only read waits with the right's name",
		options: func(o *Options) { o.Token = "tok-reader" },
		before: func(t *testing.T, g *rig, in Intent) {
			must(t, g.fake.AddUser(fakegithub.User{Login: "reader", Token: "tok-reader", Right: "read"}))
		},
		check: waits("give it Contents: Read and write")},
	{name: "a token that sees nothing waits",
		options: func(o *Options) { o.Token = "tok-blind" },
		before: func(t *testing.T, g *rig, in Intent) {
			must(t, g.fake.AddUser(fakegithub.User{Login: "blind", Token: "tok-blind", Right: "none"}))
		},
		check: waits("GitHub hides")},
	{name: "a wrong token waits and is not shown", options: func(o *Options) { o.Token = "tok-wrong-987" },
		check: func(t *testing.T, g *rig, in, out Intent) {
			waits("expired, revoked or wrong")(t, g, in, out)
			if strings.Contains(out.Waiting, "tok-wrong") {
				t.Error(out.Waiting)
			}
		}},
	{name: "five are open", options: func(o *Options) { o.Limits = Limits{PerHour: 99} },
		before: func(t *testing.T, g *rig, in Intent) { openMany(t, g, "pawl-bot", "pawl/old", 5) },
		check:  waits("5 of 5 open")},
	{name: "two in this hour", before: func(t *testing.T, g *rig, in Intent) { openMany(t, g, "pawl-bot", "pawl/old", 2) },
		check: waits("2 of 2 new this hour")},
	{name: "others' pull requests do not count",
		before: func(t *testing.T, g *rig, in Intent) {
			openMany(t, g, "eve", "pawl/old", 3)
			openMany(t, g, "pawl-bot", "other/old", 3)
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			if out.Receipt.State != StateOpen {
				t.Fatalf("%+v", out)
			}
		}},
	{name: "an unknown label that may not be made costs nothing else",
		faults: func(t *testing.T, g *rig, in Intent) []fakegithub.Fault {
			return []fakegithub.Fault{{Op: "add-labels", Kind: fakegithub.Act, Do: func() { must(t, g.fake.Human("eve").EditBody(repoName, 1, "edited")) }}}
		},
		check: func(t *testing.T, g *rig, in, out Intent) {
			if out.Receipt.State != StateOpen || !out.Done() {
				t.Fatalf("%+v", out)
			}
		}},
}

func waits(why string) func(*testing.T, *rig, Intent, Intent) {
	return func(t *testing.T, g *rig, in, out Intent) {
		t.Helper()
		if !strings.Contains(out.Waiting, why) || !out.NotBefore.After(time.Now()) || out.Parked != nil {
			t.Fatalf("waiting %q not before %v parked %+v, want %q", out.Waiting, out.NotBefore, out.Parked, why)
		}
		if all, err := g.fake.Branches("acme", "shop"); err != nil || all[in.Branch] != "" {
			t.Errorf("branches %v %v", all, err)
		}
	}
}

func openMany(t *testing.T, g *rig, author, branch string, n int) {
	for i := range n {
		name := branch + string(rune('a'+i))
		_, err := g.fake.Human(author).Push(repoName, name, "f"+name, "x")
		must(t, err)
		_, err = g.fake.Human(author).Open(repoName, name, "main", "old")
		must(t, err)
	}
}

func TestPeople(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				in := frozen(t, change())
				if w.options != nil {
					w.options(&g.opt)
				}
				if w.before != nil {
					w.before(t, g, in)
				}
				if w.faults != nil {
					g.fake.Inject(w.faults(t, g, in)...)
				}
				out, err := g.patient(t.Context(), in)
				if err != nil {
					t.Logf("reconcile: %v", err)
				}
				w.check(t, g, in, out)
				if strings.Contains(errText(err), ourToken) {
					t.Errorf("the error shows the token: %v", err)
				}
				if !out.Done() && g.saved.ID == "" {
					t.Error("how it stands was not stored")
				}
			})
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The life of a pull request after it was opened, and what a lost store finds.
func TestNoAndYes(t *testing.T) {
	ends := []struct {
		name  string
		end   func(t *testing.T, h fakegithub.Human, in Intent)
		state State
	}{
		{"closed", func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Close(repoName, 1)) }, StateClosed},
		{"merged", func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.Merge(repoName, 1)) }, StateMerged},
		{"merged and the branch deleted", func(t *testing.T, h fakegithub.Human, in Intent) {
			must(t, h.Merge(repoName, 1))
			must(t, h.DeleteBranch(repoName, in.Branch))
		}, StateMerged},
		{"branch deleted", func(t *testing.T, h fakegithub.Human, in Intent) { must(t, h.DeleteBranch(repoName, in.Branch)) }, StateClosed},
		{"closed and the body emptied", func(t *testing.T, h fakegithub.Human, in Intent) {
			must(t, h.Close(repoName, 1))
			must(t, h.EditBody(repoName, 1, ""))
		}, StateClosed},
	}
	for _, e := range ends {
		for _, lost := range []bool{false, true} {
			name := e.name
			if lost {
				name += ", and the store lost"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t)
					in := frozen(t, change())
					out := g.settle(t.Context(), in)
					e.end(t, g.fake.Human("ana"), in)
					writes := len(g.fake.Ledger())
					if lost {
						out = in
					}
					out, err := g.reconcile(t.Context(), out)
					must(t, err)
					who := map[State]string{StateClosed: out.Receipt.ClosedBy, StateMerged: out.Receipt.MergedBy}[e.state]
					if out.Receipt.State != e.state || who != "ana" || !out.Done() || out.Parked != nil {
						t.Fatalf("%+v parked %+v", out.Receipt, out.Parked)
					}
					if n := len(g.fake.Ledger()); n != writes {
						t.Errorf("%d writes after the end: %v", n-writes, g.fake.Ledger()[writes:])
					}
					if n := len(g.fake.Pulls("acme", "shop")); n != 1 {
						t.Errorf("%d pull requests", n)
					}
				})
			})
		}
	}
}

func TestReopenedByAPersonIsOpenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		out := g.settle(t.Context(), frozen(t, change()))
		h := g.fake.Human("ana")
		must(t, h.Close(repoName, 1))
		r, err := New(quiet(), g.opt)
		must(t, err)
		out, err = r.Observe(t.Context(), time.Now(), out)
		must(t, err)
		if out.Receipt.State != StateClosed || out.Receipt.ClosedBy != "ana" {
			t.Fatalf("%+v", out.Receipt)
		}
		must(t, h.Reopen(repoName, 1))
		out, err = r.Observe(t.Context(), time.Now(), out)
		must(t, err)
		if out.Receipt.State != StateOpen || out.Receipt.ClosedBy != "" {
			t.Fatalf("%+v", out.Receipt)
		}
		must(t, h.Unlabel(repoName, 1, "pawl"))
		out, err = g.reconcile(t.Context(), out)
		must(t, err)
		if p := g.fake.Pulls("acme", "shop")[0]; len(p.Labels) != 1 || !out.Done() {
			t.Errorf("a label that a person took off came back: %v", p.Labels)
		}
	})
}

// Two reconcilers at once, each with its own store: the worst case, a lease that expired and no compare-and-set.
func TestTwoAtOnce(t *testing.T) {
	for _, apart := range []time.Duration{0, 700 * time.Millisecond, 2500 * time.Millisecond, 4 * time.Second} {
		t.Run(apart.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				in := frozen(t, change())
				var wg sync.WaitGroup
				for i := range 2 {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * apart)
						r, err := New(quiet(), g.opt)
						must(t, err)
						out, err := r.Reconcile(t.Context(), time.Now(), in, func(context.Context, Intent) error { return nil })
						if err != nil || out.Parked != nil || out.Receipt.Number != 1 {
							t.Errorf("%d: %v %+v", i, err, out.Parked)
						}
					})
				}
				wg.Wait()
				checkWorld(t, g, in)
			})
		})
	}
}

func TestRenamedRepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		in := frozen(t, change())
		g.fake.Inject(fakegithub.Fault{Op: "create-ref", Kind: fakegithub.Act, Do: func() {
			must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Name = "store" }))
		}})
		out, err := g.reconcile(t.Context(), in)
		if e, ok := errors.AsType[*github.Error](err); !ok || e.Kind != github.Moved {
			t.Fatalf("a redirected write: %v", err)
		}
		if out.Steps.Ref.Outcome != Planned || !strings.Contains(out.Waiting, "moved") {
			t.Fatalf("%+v", out)
		}
		if out = g.settle(t.Context(), out); out.FullName != "acme/store" || out.Receipt.Number != 1 || out.Repo != repoName {
			t.Fatalf("%+v", out)
		}
	})
}

func TestMadePublicParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Private = true }))
		g.opt.Public = nil
		g.fake.Inject(fakegithub.Fault{Op: "create-ref", Kind: fakegithub.Limit403Retry})
		out, err := g.reconcile(t.Context(), frozen(t, change()))
		if err == nil || !out.NotBefore.Equal(time.Now().Add(30*time.Second)) {
			t.Fatalf("%v, not before %v", err, out.NotBefore)
		}
		must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Private = false }))
		time.Sleep(time.Minute)
		out, err = g.reconcile(t.Context(), out)
		must(t, err)
		parked("public now")(t, g, out, withEvidence(out))
	})
}

func withEvidence(in Intent) Intent {
	if in.Parked != nil && len(in.Parked.Evidence) == 0 {
		in.Parked.Evidence = []string{"-"}
	}
	return in
}

// A store that is away, or that lost the race, ends the run before anything that can double leaves.
func TestSaveFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		r, err := New(quiet(), g.opt)
		must(t, err)
		lost := errors.New("wrong revision")
		_, err = r.Reconcile(t.Context(), time.Now(), frozen(t, change()), func(context.Context, Intent) error { return lost })
		if !errors.Is(err, ErrSave) || !errors.Is(err, lost) {
			t.Fatalf("%v", err)
		}
		for _, w := range g.fake.Ledger() {
			if w.Op == "create-ref" || w.Op == "create-pull" {
				t.Errorf("%s left", w.Op)
			}
		}
	})
}

// A parked intent stays as it is until a person looks again; then it goes on from what is there.
func TestLookAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		in := frozen(t, change())
		_, err := g.fake.Human("eve").Push(repoName, in.Branch, "x", "y")
		must(t, err)
		out, err := g.reconcile(t.Context(), in)
		must(t, err)
		must(t, g.fake.Human("eve").DeleteBranch(repoName, in.Branch))
		if still, err := g.reconcile(t.Context(), out); err != nil || still.Parked == nil {
			t.Fatalf("%v %+v", err, still)
		}
		out = g.settle(t.Context(), out.LookAgain())
		checkWorld(t, g, in)
		if out.Parked != nil || !out.Done() {
			t.Fatalf("%+v", out)
		}
	})
}

func TestModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		in := frozen(t, change())
		for _, mode := range []Mode{ModeOff, ModePreview, ""} {
			o := g.opt
			o.Mode = mode
			r, err := New(quiet(), o)
			must(t, err)
			out, err := r.Reconcile(t.Context(), time.Now(), in, func(context.Context, Intent) error { return errors.New("saved") })
			if err != nil || out.Steps != in.Steps {
				t.Errorf("mode %q: %v %+v", mode, err, out)
			}
		}
		if n := len(g.fake.Ledger()); n != 0 {
			t.Errorf("%d writes", n)
		}
	})
	for _, o := range []Options{
		{Mode: ModeOpen, Token: "t", BaseURL: "http://ghe.example.com/api/v3/"},
		{Mode: ModeOpen, BaseURL: base},
		{Mode: "yes", Token: "t"},
		{Mode: ModeOpen, Token: "t", App: App{ID: 1}, BaseURL: base},
		{Mode: ModePreview, Token: "t", BaseURL: "http://example.com"},
		{Mode: ModePreview, Token: "t", Pace: -1},
	} {
		if _, err := New(quiet(), o); err == nil {
			t.Errorf("accepted %+v", o)
		}
	}
	for _, u := range []string{"http://127.0.0.1:1234", "http://localhost/api/v3", "http://[::1]:99/", "", "https://ghe.example.com/api/v3/", "https://api.acme.ghe.com/"} {
		if _, err := New(quiet(), Options{Mode: ModeOpen, Token: "t", BaseURL: u}); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestPreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.opt.Mode = ModePreview
		must(t, g.fake.Edit("acme", "shop", func(r *fakegithub.Repo) { r.Rules = []string{"required_signatures", "brand_new_rule"} }))
		in := frozen(t, change())
		r, err := New(quiet(), g.opt)
		must(t, err)
		plan, err := r.Preview(t.Context(), time.Now(), in)
		must(t, err)
		if len(plan.Calls) != 6 || plan.Diff != in.Diff() || plan.Body != in.Body || plan.Blocked != "" || plan.Waiting != "" ||
			!strings.Contains(strings.Join(plan.Remote, "\n"), "brand_new_rule, required_signatures") {
			t.Errorf("%+v", plan)
		}
		must(t, errors.Join(errOf(g.fake.Human("eve").Push(repoName, "main", caseFile, "other\n"))))
		if plan, err = r.Preview(t.Context(), time.Now(), in); err != nil || !strings.Contains(plan.Blocked, "some of these paths") {
			t.Errorf("%v %+v", err, plan)
		}
		if n := len(g.fake.Ledger()); n != 0 {
			t.Errorf("%d writes", n)
		}
		offline, err := New(quiet(), Options{})
		must(t, err)
		if plan, err := offline.Preview(t.Context(), time.Now(), in); err != nil || len(plan.Calls) != 6 || len(plan.Remote) != 0 {
			t.Errorf("%v %+v", err, plan)
		}
	})
}

func errOf(_ string, err error) error { return err }

// An intent that was changed after it was frozen never reaches GitHub.
func TestTampered(t *testing.T) {
	in := frozen(t, change())
	for name, spoil := range map[string]func(*Intent){
		"path":    func(in *Intent) { in.Files[0].Path = ".github/workflows/x.yml" },
		"content": func(in *Intent) { in.Files[0].Content = "evil" },
		"body":    func(in *Intent) { in.Body = strings.Replace(in.Body, "One case", "Two cases", 1) },
		"branch":  func(in *Intent) { in.Branch = "main" },
		"version": func(in *Intent) { in.Version = 2 },
		"title":   func(in *Intent) { in.Title += "!" },
		"message": func(in *Intent) { in.CommitMessage = "x" },
		"labels":  func(in *Intent) { in.Labels = nil },
	} {
		bad := in.clone()
		spoil(&bad)
		if bad.check() == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
	must(t, in.check())
	must(t, in.Slim().check())
}
