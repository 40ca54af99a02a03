package ghpr

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const poison = "heron-quill-seven"

func refusesPoison(final []byte) error {
	if bytes.Contains(final, []byte(poison)) {
		return errors.New("a canary")
	}
	return nil
}

// TestLastLookHoldsAll: an intent of which any part must not leave is parked, names the part, and nothing of it is on GitHub.
func TestLastLookHoldsAll(t *testing.T) {
	for name, spoil := range map[string]func(*Change){
		"the title":          func(c *Change) { c.Title += " " + poison },
		"the body":           func(c *Change) { c.Body = append(c.Body, Block{Text: poison}) },
		"the commit message": func(c *Change) { c.CommitMessage = "x\n\n" + poison },
		"the branch":         func(c *Change) { c.Slug = poison },
		"a label":            func(c *Change) { c.Labels = append(c.Labels, poison) },
		"the file":           func(c *Change) { c.Files[1].Content = `{"a":"` + poison + `"}` },
		"the path of a file": func(c *Change) { c.Files[0].Path = "regressions/loop/" + poison + "/case.yaml" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				g.opt.Outgoing = refusesPoison
				c := change()
				spoil(&c)
				in := frozen(t, c)
				g.opt.Content = contentOf(in)
				out, err := g.reconcile(t.Context(), in.Slim())
				must(t, err)
				if name == "a label" {
					name = "the body" // whose marker names the labels
				}
				if out.Parked == nil || !strings.Contains(strings.Join(out.Parked.Evidence, " "), name) {
					t.Fatalf("parked %+v", out.Parked)
				}
				if n := len(g.fake.Ledger()); n > 0 {
					t.Errorf("%d writes", n)
				}
				r, err := New(quiet(), g.opt)
				must(t, err)
				plan, err := r.Preview(t.Context(), time.Now(), in)
				must(t, err)
				if plan.Blocked == "" {
					t.Error("the preview does not say so")
				}
			})
		})
	}
}

// TestLastLookHoldsUpdates: an update that must not leave is parked; the pull request that is there stays as it is.
func TestLastLookHoldsUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, in := opened(t)
		g.opt.Outgoing = func(final []byte) error {
			if bytes.Contains(final, []byte(in.Update.Files[0].Content)) {
				return errors.New("a canary")
			}
			return nil
		}
		before := len(g.fake.Ledger())
		out, err := g.reconcile(t.Context(), in)
		must(t, err)
		if out.Parked == nil || len(g.fake.Ledger()) != before {
			t.Errorf("parked %+v, %d writes", out.Parked, len(g.fake.Ledger())-before)
		}
	})
}

// TestLastLookLeavesPeopleAlone: what people wrote into the body around our part does not hold up anything but that text.
func TestLastLookLeavesPeopleAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, in := opened(t)
		g.opt.Outgoing = refusesPoison
		must(t, g.fake.Human("ana").EditBody(repoName, 1, "Ask "+poison+"\n\n"+in.Body))
		out := g.settle(t.Context(), in)
		if out.Parked != nil || out.Update.State != UpdateDone || out.Update.Text.Outcome != Refused {
			t.Errorf("parked %+v, update %+v", out.Parked, out.Update)
		}
	})
}

// TestCleanPasses: with a last look that refuses nothing all is as without one.
func TestCleanPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		looks := 0
		g.opt.Outgoing = func([]byte) error { looks++; return nil }
		out := g.settle(t.Context(), frozen(t, change()))
		if out.Parked != nil || out.Receipt.Number != 1 || looks < 15 {
			t.Errorf("%+v, %d looks", out.Receipt, looks)
		}
	})
}
