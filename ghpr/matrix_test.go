package ghpr

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/test/fakegithub"
)

// restored is the stored intent, which lacks the contents.
func (g *rig) restored(in Intent) Intent {
	out := g.saved
	if out.ID != in.ID {
		g.t.Fatalf("stored intent %q", out.ID)
	}
	return out
}

var (
	kinds = []fakegithub.Kind{fakegithub.DropBefore, fakegithub.DropAfter, fakegithub.BadGatewayAfter, fakegithub.TruncateAfter, fakegithub.EmptyAfter,
		fakegithub.HTMLAfter, fakegithub.Refuse500, fakegithub.Refuse502, fakegithub.Limit403Primary, fakegithub.Limit403Retry, fakegithub.Limit403Bare,
		fakegithub.Limit429Retry, fakegithub.Limit429Bare, fakegithub.Redirect, fakegithub.RedirectAway, fakegithub.DelayAfter, fakegithub.Unauthorized}
)

// kindsOf: for a read, acting first and acting not at all are the same.
func kindsOf(method string) []fakegithub.Kind {
	if method != "GET" {
		return kinds
	}
	return []fakegithub.Kind{fakegithub.DropBefore, fakegithub.TruncateAfter, fakegithub.EmptyAfter, fakegithub.HTMLAfter, fakegithub.Refuse502,
		fakegithub.Limit403Primary, fakegithub.Limit403Bare, fakegithub.Limit429Retry, fakegithub.RedirectAway, fakegithub.DelayAfter, fakegithub.Unauthorized}
}

// story is a run whose every call is spoilt in every way.
type story struct {
	name  string
	begin func(t *testing.T) (*rig, Intent)
	check func(t *testing.T, g *rig, in, out Intent)
}

var stories = []story{
	{"open", func(t *testing.T) (*rig, Intent) {
		g, in := newRig(t), frozen(t, change())
		g.opt.Content, g.saved = contentOf(in), in.Slim()
		return g, in
	}, func(t *testing.T, g *rig, in, out Intent) {
		t.Helper()
		if out.Parked != nil || out.Receipt.State != StateOpen {
			t.Fatalf("parked %+v, %s", out.Parked, out.Receipt.State)
		}
		checkWorld(t, g, in)
	}},
	{"grow", opened, func(t *testing.T, g *rig, in, out Intent) {
		t.Helper()
		if out.Parked != nil || out.Update.State != UpdateDone || out.Update.Text.Outcome != Confirmed {
			t.Fatalf("%+v %+v", out.Parked, out.Update)
		}
		checkGrown(t, g, out, in.ID, out.Update.ID)
	}},
}

// calls are the requests of a run without faults, in order, as "METHOD /path".
func (s story) calls(t *testing.T) (list []string) {
	for _, p := range s.points(t) {
		if call, ok := strings.CutPrefix(p, "before "); ok && call != "save" {
			list = append(list, call)
		}
	}
	return list
}

// points lists the places where a run may be killed: before and after each call, before and after each save.
func (s story) points(t *testing.T) (list []string) {
	synctest.Test(t, func(t *testing.T) {
		g, in := s.begin(t)
		g.die = func(p string) bool { list = append(list, p); return false }
		_, err := g.reconcile(t.Context(), in)
		must(t, err)
	})
	if len(list) < 50 {
		t.Fatalf("only %d points: %v", len(list), list)
	}
	return list
}

// TestEachFaultAtEachCall spoils every call of a story in every way: the world at the end is the one without faults.
func TestEachFaultAtEachCall(t *testing.T) {
	for _, s := range stories {
		for n, call := range s.calls(t) {
			method, path, _ := strings.Cut(call, " ")
			for _, kind := range kindsOf(method) {
				t.Run(fmt.Sprintf("%s %02d %s %s %s", s.name, n, method, strings.ReplaceAll(path, "/", "."), kind), func(t *testing.T) {
					pick(t, 12)
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						g, in := s.begin(t)
						g.fake.Inject(fakegithub.Fault{Kind: kind, Skip: n, Delay: 40 * time.Second})
						s.check(t, g, in, g.settle(t.Context(), in))
						checkQuietUnderLimit(t, g)
					})
				})
			}
		}
	}
}

// afterDeath are the troubles that a process meets when it comes back: none; one that spoils the first looks; stale eyes.
var afterDeath = []struct {
	name   string
	faults []fakegithub.Fault
}{
	{"nothing more", nil},
	{"stale", []fakegithub.Fault{{Op: "create-ref", Kind: fakegithub.StaleRefs, Reads: 4}, {Op: "update-ref", Kind: fakegithub.StaleRefs, Reads: 4},
		{Op: "create-pull", Kind: fakegithub.StalePulls, Reads: 5}}},
	{"bad looks", []fakegithub.Fault{{Op: "get-ref", Skip: 1, Kind: fakegithub.Refuse502, Times: 3}, {Op: "list-pulls", Kind: fakegithub.Refuse502, Times: 3},
		{Op: "pull-commits", Kind: fakegithub.HTMLAfter}}},
	{"bad writes", []fakegithub.Fault{{Op: "create-ref", Kind: fakegithub.DropAfter, Times: 2}, {Op: "update-ref", Kind: fakegithub.BadGatewayAfter, Times: 2},
		{Op: "create-pull", Kind: fakegithub.TruncateAfter, Times: 2}, {Op: "edit-pull", Kind: fakegithub.DropAfter, Times: 2}}},
}

// TestKillAtEveryPoint ends the process before and after each call and each save, and starts it anew with what was stored.
func TestKillAtEveryPoint(t *testing.T) {
	for _, s := range stories {
		for n, p := range s.points(t) {
			for _, more := range afterDeath {
				t.Run(fmt.Sprintf("%s %02d %s %s", s.name, n, strings.ReplaceAll(p, "/", "."), more.name), func(t *testing.T) {
					pick(t, 8)
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						g, in := s.begin(t)
						g.fake.Inject(more.faults...)
						seen, killed := 0, false
						g.die = func(string) bool { seen++; killed = killed || seen == n+1; return killed }
						now := in
						for range 20 {
							out, err := g.patient(t.Context(), now)
							if killed || err == nil {
								break
							}
							now = out
							time.Sleep(max(0, time.Until(out.NotBefore)))
						}
						if !killed {
							t.Fatal("the kill had no effect")
						}
						g.die = nil
						s.check(t, g, in, g.settle(t.Context(), g.restored(in)))
					})
				})
			}
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
