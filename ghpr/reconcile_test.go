package ghpr

import (
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"--git-dir", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// checkWorld: exactly one branch beside main with exactly our files on top of main's first commit, and exactly one pull request.
func checkWorld(t testing.TB, g *rig, in Intent) {
	t.Helper()
	all, err := g.fake.Branches("acme", "shop")
	must(t, err)
	if len(all) != 2 || all[in.Branch] == "" {
		t.Fatalf("branches %v, want main and %s", all, in.Branch)
	}
	dir := g.fake.GitDir("acme", "shop")
	commits := strings.Split(git(t, dir, "log", "-p", "--no-color", "--full-index", "--format=%x01%B%x00", "main.."+in.Branch), "\x01")[1:]
	if len(commits) != 1 {
		t.Fatalf("%d commits on the branch, want 1", len(commits))
	}
	msg, diff, _ := strings.Cut(commits[0], "\x00")
	if diff = strings.TrimLeft(diff, "\n"); diff != in.Diff() {
		t.Errorf("diff on the branch:\n%s\nwant\n%s", diff, in.Diff())
	}
	if !hasTrailer(msg, in.ID) {
		t.Errorf("commit message lacks the trailer:\n%s", msg)
	}
	pulls := g.fake.Pulls("acme", "shop")
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests, want 1", len(pulls))
	}
	p := pulls[0]
	if p.Title != in.Title || p.Body != in.Body || p.Head != in.Branch || p.Base != in.Base || p.State != "open" {
		t.Errorf("pull request %+v", p)
	}
	if strings.Join(sorted(p.Labels), " ") != strings.Join(in.Labels, " ") {
		t.Errorf("labels %v, want %v", p.Labels, in.Labels)
	}
}

func TestHappyPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		in := frozen(t, change())
		start := time.Now()
		out, err := g.reconcile(t.Context(), in)
		must(t, err)
		if !out.Done() || out.Receipt.State != StateOpen || out.Receipt.Number != 1 || out.Receipt.Head != out.Commit || out.Parked != nil || out.Waiting != "" {
			t.Fatalf("%+v", out)
		}
		checkWorld(t, g, in)
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("took %v of its own time", d)
		}
		writes := g.fake.Ledger()
		var ops []string
		for i, w := range writes {
			ops = append(ops, w.Op)
			if i > 0 && w.At.Sub(writes[i-1].At) < time.Second {
				t.Errorf("%s %v after %s", w.Op, w.At.Sub(writes[i-1].At), writes[i-1].Op)
			}
		}
		want := "create-tree create-commit create-ref create-pull create-label add-labels create-label add-labels"
		if got := strings.Join(ops, " "); got != want {
			t.Errorf("writes %s\nwant   %s", got, want)
		}
		// A finished intent is observed and not written, saved only if something is new.
		saves := g.saves
		again, err := g.reconcile(t.Context(), out)
		must(t, err)
		if len(g.fake.Ledger()) != len(writes) || g.saves != saves || again.Receipt.State != StateOpen {
			t.Errorf("a finished intent was written again: %d writes, %d saves", len(g.fake.Ledger())-len(writes), g.saves-saves)
		}
	})
}
