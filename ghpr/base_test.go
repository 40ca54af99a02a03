package ghpr

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDefaultBase: a base that is said to be the default one is whatever the repository's default branch is called when it is looked at: after it was renamed
// the pull request is still the same, grows, and the next one goes there too.
func TestDefaultBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		c := change()
		c.Base = DefaultBase
		in, err := g.patient(t.Context(), frozen(t, c))
		must(t, err)
		if p := g.fake.Pulls("acme", "shop")[0]; p.Base != "main" || in.Receipt.Base != "" || !in.Done() {
			t.Fatalf("%+v %+v", p, in.Receipt)
		}
		must(t, g.fake.Human("ana").RenameBranch(repoName, "main", "trunk"))
		in, err = in.Grow(growth(1))
		must(t, err)
		in, err = g.patient(t.Context(), in)
		must(t, err)
		if in.Parked != nil || in.Receipt.Base != "" || in.Update == nil || in.Update.State != UpdateDone {
			t.Fatalf("after the rename: %+v %+v %+v", in.Parked, in.Receipt, in.Update)
		}
		next := change()
		next.Base, next.Key, next.Files[0].Path, next.Files[1].Path = DefaultBase, "other", "regressions/loop/loop-0000000002/case.yaml", "regressions/loop/loop-0000000002/trace.json"
		plan, err := g.reconciler(t).Preview(t.Context(), time.Now(), frozen(t, next))
		must(t, err)
		if !strings.Contains(strings.Join(plan.Remote, "\n"), "trunk is at ") || !strings.Contains(plan.Calls[3].What, "the default branch") {
			t.Errorf("%+v", plan)
		}
		_, err = g.patient(t.Context(), frozen(t, next))
		must(t, err)
		pulls := g.fake.Pulls("acme", "shop")
		if len(pulls) != 2 || pulls[0].Base != "trunk" || pulls[1].Base != "trunk" {
			t.Errorf("%+v", pulls)
		}
		r := g.reconciler(t)
		if there, err := r.Has(t.Context(), repoName, DefaultBase, "README.md"); err != nil || !there {
			t.Errorf("%v %v", there, err)
		}
		if _, err := r.Missing(t.Context(), repoName, DefaultBase, []string{"pawl"}, []string{"x"}); err != nil {
			t.Error(err)
		}
		if g.fake.Unchanged() == 0 {
			t.Error("nothing was asked conditionally")
		}
	})
}

func (g *rig) reconciler(t *testing.T) *Reconciler {
	t.Helper()
	r, err := New(quiet(), g.opt)
	must(t, err)
	return r
}
