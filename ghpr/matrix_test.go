package ghpr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

// points lists the places where a run may be killed: before and after each call, before and after each save.
func points(t *testing.T) []string {
	var list []string
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.die = func(p string) bool { list = append(list, p); return false }
		_, err := g.reconcile(t.Context(), frozen(t, change()))
		must(t, err)
	})
	return list
}

// restart is a process that dies at the nth point and comes back with what was stored.
func restart(t *testing.T, g *rig, n int) {
	in := frozen(t, change())
	seen, killed := 0, false
	g.die = func(string) bool { seen++; killed = killed || seen == n+1; return killed }
	g.saved = in.Slim()
	g.opt.Content = contentOf(in)
	if _, err := g.patient(t.Context(), in); err == nil {
		t.Fatal("the kill had no effect")
	}
	g.die = nil
	out := g.settle(t.Context(), g.restored(in))
	if out.Parked != nil {
		t.Fatalf("parked: %+v", out.Parked)
	}
	if got := out.Receipt.State; got != StateOpen {
		t.Errorf("state %s", got)
	}
	checkWorld(t, g, in)
}

// restored is the stored intent, which lacks the contents.
func (g *rig) restored(in Intent) Intent {
	out := g.saved
	if out.ID != in.ID {
		g.t.Fatalf("stored intent %q", out.ID)
	}
	return out
}

func TestKillAtEveryPoint(t *testing.T) {
	list := points(t)
	if len(list) < 50 {
		t.Fatalf("only %d points: %v", len(list), list)
	}
	for n, p := range list {
		t.Run(fmt.Sprintf("%02d %s", n, strings.ReplaceAll(p, "/", ".")), func(t *testing.T) {
			pick(t, 4)
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { restart(t, newRig(t), n) })
		})
	}
}

// After a kill the world may also be seen stale: what was made is not visible for some reads.
func TestKillThenStaleReads(t *testing.T) {
	for n, p := range points(t) {
		if !strings.HasPrefix(p, "after POST") || !strings.HasSuffix(p, "/git/refs") && !strings.HasSuffix(p, "/pulls") {
			continue
		}
		for _, reads := range []int{1, 5} {
			t.Run(fmt.Sprintf("%d stale reads %s", reads, strings.ReplaceAll(p, "/", ".")), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t)
					g.fake.Inject(fakegithub.Fault{Op: "create-ref", Kind: fakegithub.StaleRefs, Reads: reads},
						fakegithub.Fault{Op: "create-pull", Kind: fakegithub.StalePulls, Reads: reads})
					restart(t, g, n)
				})
			})
		}
	}
}

var (
	writeOps = []string{"create-tree", "create-commit", "create-ref", "create-pull", "create-label", "add-labels"}
	readOps  = []string{"get-repo", "get-user", "get-ref", "get-commit", "get-contents", "list-pulls", "commit-pulls", "compare", "get-pull", "get-label"}
	kinds    = []fakegithub.Kind{fakegithub.DropBefore, fakegithub.DropAfter, fakegithub.BadGatewayAfter, fakegithub.TruncateAfter, fakegithub.EmptyAfter,
		fakegithub.HTMLAfter, fakegithub.Refuse500, fakegithub.Refuse502, fakegithub.Limit403Primary, fakegithub.Limit403Retry, fakegithub.Limit403Bare,
		fakegithub.Limit429Retry, fakegithub.Limit429Bare, fakegithub.Redirect, fakegithub.RedirectAway, fakegithub.DelayAfter}
)

// kindsOf: for a read, acting first and acting not at all are the same.
func kindsOf(op string) []fakegithub.Kind {
	if slices.Contains(writeOps, op) {
		return kinds
	}
	return []fakegithub.Kind{fakegithub.DropBefore, fakegithub.TruncateAfter, fakegithub.EmptyAfter, fakegithub.HTMLAfter, fakegithub.Refuse502,
		fakegithub.Limit403Primary, fakegithub.Limit403Bare, fakegithub.Limit429Retry, fakegithub.RedirectAway, fakegithub.DelayAfter}
}

func TestEachFaultAtEachStep(t *testing.T) {
	for _, op := range append(writeOps, readOps...) {
		for _, kind := range kindsOf(op) {
			t.Run(op+" "+string(kind), func(t *testing.T) {
				pick(t, 4)
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t)
					g.fake.Inject(fakegithub.Fault{Op: op, Kind: kind, Delay: 40 * time.Second})
					in := frozen(t, change())
					out := g.settle(t.Context(), in)
					if out.Parked != nil {
						t.Fatalf("parked: %+v", out.Parked)
					}
					checkWorld(t, g, in)
					checkQuietUnderLimit(t, g)
				})
			})
		}
	}
}

// checkQuietUnderLimit: after GitHub asked for a pause, no write came before it was over.
func checkQuietUnderLimit(t *testing.T, g *rig) {
	t.Helper()
	var until time.Time
	for _, w := range g.fake.Ledger() {
		if w.At.Before(until) {
			t.Errorf("%s at %v, not before %v", w.Op, w.At, until)
		}
		if strings.HasPrefix(string(w.Fault), "403") || strings.HasPrefix(string(w.Fault), "429") {
			until = w.At.Add(30 * time.Second)
		}
	}
}

// Three bad answers in a row at each doubling write, and then a good one.
func TestFaultsInARow(t *testing.T) {
	for _, op := range []string{"create-ref", "create-pull"} {
		for _, kind := range []fakegithub.Kind{fakegithub.DropBefore, fakegithub.Refuse502, fakegithub.Limit403Bare} {
			t.Run(op+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t)
					g.fake.Inject(fakegithub.Fault{Op: op, Kind: kind, Times: 4})
					in := frozen(t, change())
					out := g.settle(t.Context(), in)
					if out.Parked != nil {
						t.Fatalf("parked: %+v", out.Parked)
					}
					checkWorld(t, g, in)
				})
			})
		}
	}
}

// A pull request that was just made may be absent for the next reads, by number too.
func TestStaleAfterConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.fake.Inject(fakegithub.Fault{Op: "get-pull", Kind: fakegithub.StalePulls, Reads: 2}, fakegithub.Fault{Op: "get-pull", Skip: 4, Kind: fakegithub.StalePulls, Reads: 3})
		in := frozen(t, change())
		out, err := g.patient(t.Context(), in)
		must(t, err)
		if !out.Done() || out.Receipt.State != StateOpen {
			t.Fatalf("%+v", out)
		}
		checkWorld(t, g, in)
	})
}

func (g *rig) count(op string) (n int) {
	for _, w := range g.fake.Ledger() {
		if w.Op == op {
			n++
		}
	}
	return n
}

// A failed read is not "absent": while nobody can look, nothing that may have happened is sent again.
func TestFailedReadIsNotAbsent(t *testing.T) {
	for _, c := range []struct{ write, read string }{{"create-ref", "get-ref"}, {"create-pull", "list-pulls"}} {
		t.Run(c.write, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t)
				in := frozen(t, change())
				blind := fakegithub.Fault{Op: c.read, Kind: fakegithub.Refuse502, Times: 200}
				g.fake.Inject(fakegithub.Fault{Op: c.write, Kind: fakegithub.DropAfter, Times: 9})
				seen := 0
				g.die = func(p string) bool { // not a kill: from the write on, every look fails
					if strings.HasPrefix(p, "after POST") && strings.HasSuffix(p, map[string]string{"create-ref": "/git/refs", "create-pull": "/pulls"}[c.write]) {
						if seen++; seen == 1 {
							g.fake.Inject(blind)
						}
					}
					return false
				}
				out, err := g.reconcile(t.Context(), in)
				if err == nil || !out.InDoubt() || out.NotBefore.IsZero() || g.count(c.write) != 1 {
					t.Fatalf("%v, in doubt %v, %d sends", err, out.InDoubt(), g.count(c.write))
				}
			})
		})
	}
}

// A success whose object is not visible yet is waited for, not sent again.
func TestSuccessIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.fake.Inject(fakegithub.Fault{Op: "create-ref", Kind: fakegithub.StaleRefs, Reads: 4}, fakegithub.Fault{Op: "create-pull", Kind: fakegithub.StalePulls, Reads: 9})
		in := frozen(t, change())
		out, err := g.patient(t.Context(), in)
		must(t, err)
		checkWorld(t, g, in)
		if g.count("create-ref") != 1 || g.count("create-pull") != 1 || out.Steps.PR.Sends != 1 {
			t.Errorf("%d refs and %d pulls were sent", g.count("create-ref"), g.count("create-pull"))
		}
	})
}
