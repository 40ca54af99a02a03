package ratchet

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/test/sample"
)

// watchtower is a desk that heeds flags, with the traces that it keeps.
type watchtower struct {
	*desk
	q    *queue.Queue
	a    *Absorber
	fl   *Flags
	open map[string]bool // traces that are yet to be judged
	now  time.Time
}

func newWatchtower(t *testing.T) *watchtower {
	q := testQueue(t)
	a := NewAbsorber(quiet, q, testMaker(t), nil, Options{})
	w := &watchtower{desk: newDesk(t, q, a.maker.Engine), q: q, a: a, open: map[string]bool{}, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	w.restart()
	return w
}

// restart forgets all that is not in the store.
func (w *watchtower) restart() {
	w.t.Helper()
	fl, err := NewFlags(w.t.Context(), quiet, w.q, FlagOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.fl = fl
	w.w.Heed(fl)
}

// say flags as a webhook does: through the stream.
func (w *watchtower) say(f flag.Flag, key string) {
	w.t.Helper()
	f, err := flag.New(f, key, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	doc, err := flag.Encode([]flag.Flag{f})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.q.Flags.Append(w.t.Context(), "", doc); err != nil {
		w.t.Fatal(err)
	}
}

// gather takes what the stream holds.
func (w *watchtower) gather() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error)
	go func() { done <- w.fl.Gather(ctx) }()
	for {
		info, err := w.q.Flags.Info(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		next, err := w.q.Flags.Cursor(ctx, flagReader)
		if err != nil {
			w.t.Fatal(err)
		}
		if next > info.Last {
			break
		}
	}
	cancel()
	<-done
}

func (w *watchtower) kept() Kept {
	return Kept{
		Look: func(_ context.Context, id string, _ bool) (Looked, bool, error) {
			t, ok := w.desk.kept[id]
			return Looked{t, "r", w.notes[id], w.now, w.open[id]}, ok, nil
		},
		Within: func(_ context.Context, _ time.Time, each func(string, time.Time, bool, []byte)) error {
			for id, note := range w.notes {
				each(id, w.now, w.open[id], note)
			}
			return nil
		},
	}
}

// join looks once, so much later.
func (w *watchtower) join(later time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(later)
	if err := w.fl.JoinDue(w.t.Context(), w.w, 0, w.kept(), w.now); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watchtower) waiting() *Group {
	w.t.Helper()
	if err := w.a.CatchUp(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return labelled(w.t.(*testing.T), w.a, classify.NoLabel)
}

func (w *watchtower) state(key string) FlagState {
	w.t.Helper()
	f := w.fl.Of(key)
	if f == nil {
		w.t.Fatalf("nothing is flagged under %s", key)
	}
	e, err := w.q.Flagged.Get(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	if stored, err := readFlagged(e.Value); err != nil || stored.State != f.State {
		w.t.Fatalf("known as %s, stored as %+v, %v", f.State, stored, err)
	}
	return f.State
}

func healthy(seed uint64) trajectory.Trace {
	t, _ := sampled(sample.Dialects[0], sample.Named("healthy"), seed)
	return t
}

func complaint(id string) flag.Flag {
	return flag.Flag{Source: "sentry", RawID: id, Reason: "a customer was charged twice"}
}

// A flag meets its trace whether it comes before or after it, whatever is killed in between, and counts once.
func TestFlagMeetsItsTrace(t *testing.T) {
	tr := healthy(1)
	for name, steps := range map[string]string{
		"before":                            "say gather judge",
		"after":                             "judge say gather join",
		"after, and killed at every step":   "judge restart say restart gather restart join restart join",
		"before, and killed at every step":  "say restart gather restart judge restart join",
		"while it is collected":             "open say gather join judge join",
		"and then late spans":               "judge say gather join more",
		"and late spans after a kill":       "judge say gather join restart more restart join",
		"twice the same":                    "say say gather judge say gather join",
		"the second after the first joined": "say gather judge other gather join join",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatchtower(t)
			others := 0
			for step := range strings.FieldsSeq(steps) {
				switch step {
				case "say":
					w.say(complaint(tr.ID), "k")
				case "other":
					others++
					w.say(complaint(tr.ID), fmt.Sprint(others))
				case "gather":
					w.gather()
				case "open":
					w.desk.kept[tr.ID], w.open[tr.ID] = tr, true
				case "judge":
					w.judge(tr, "r", w.now)
					w.open[tr.ID] = false
				case "more":
					w.judge(tr, "r2", w.now)
				case "join":
					w.join(time.Minute)
				case "restart":
					w.restart()
				}
			}
			g := w.waiting()
			if g == nil || g.Count != 1 || !strings.Contains(g.Why, `sentry says of it: "a customer was charged twice"`) {
				t.Fatalf("group %+v", g)
			}
			if due, why := (Policy{Every: true}).Due(g); due || !strings.Contains(why, "person") {
				t.Errorf("due %v: %s", due, why)
			}
			if len(g.Specimens) != 1 || g.Specimens[0].Object == "" {
				t.Errorf("specimens %+v", g.Specimens)
			}
			if got := w.state(tr.ID); got != FlagJoined {
				t.Errorf("the flag is %q", got)
			}
			s, err := w.a.Services(t.Context())
			if err != nil || len(s) != 1 || s[0].Traces() != 1 || s[0].Verdicts[classify.Unclassified] != 1 {
				t.Errorf("services %+v, %v: want the trace counted once, as unclassified", s, err)
			}
			if want := 1 + strings.Count(steps, "more"); err == nil && s[0].Examined != want {
				t.Errorf("its records were examined %d times, want %d", s[0].Examined, want)
			}
			if late := strings.HasPrefix(steps, "judge"); g.Began == nil || g.Began.Late != late {
				t.Errorf("began %+v, want late %v", g.Began, late)
			}
			if f := w.fl.Of(tr.ID); len(f.Flags) != 1+others {
				t.Errorf("%d flags", len(f.Flags))
			}
		})
	}
}

// Without its trace a flag ends visibly; should the trace come all the same, they are joined.
func TestFlagWithoutItsTrace(t *testing.T) {
	w, tr := newWatchtower(t), healthy(1)
	w.say(complaint(tr.ID), "")
	w.gather()
	w.join(time.Minute)
	if got := w.state(tr.ID); got != FlagWaiting {
		t.Fatalf("after a minute: %q", got)
	}
	w.restart()
	w.join(time.Hour)
	if got := w.state(tr.ID); got != FlagNotFound {
		t.Fatalf("after an hour: %q", got)
	}
	if list := w.fl.List(10); len(list) != 1 || list[0].State != FlagNotFound {
		t.Errorf("the list has %+v", list)
	}
	w.judge(tr, "r", w.now)
	if got := w.state(tr.ID); got != FlagJoined || w.waiting() == nil {
		t.Errorf("once it came: %q", got)
	}
}

// What a rule explains is not put to a person because somebody flagged it, nor counted twice.
func TestFlagOnWhatARuleExplains(t *testing.T) {
	w := newWatchtower(t)
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 3)
	w.judge(tr, "r", w.now)
	w.say(complaint(tr.ID), "")
	w.gather()
	w.join(time.Minute)
	if g := w.waiting(); g != nil {
		t.Errorf("it waits for a label: %+v", g)
	}
	if g := labelled(t, w.a, classify.Loop); g == nil || g.Count != 1 {
		t.Errorf("its group is %+v", g)
	}
	if got := w.state(tr.ID); got != FlagJoined {
		t.Errorf("the flag is %q", got)
	}
}

// A window leads to its traces, those that went wrong first, and says how many are left.
func TestWindowFlag(t *testing.T) {
	w := newWatchtower(t)
	bad, _ := sampled(sample.Dialects[0], sample.Named("loop"), 99)
	w.judge(bad, "r", w.now)
	for i := range 24 {
		w.judge(healthy(uint64(i)), "r", w.now)
	}
	start := trajectory.Build(bad).Start
	w.now = start.Add(30 * time.Minute)
	service := trajectory.Build(bad).Service
	for _, c := range []struct {
		name          string
		window        flag.Window
		state         FlagState
		traces, left  int
		before, after time.Duration
	}{
		{"of the service", flag.Window{From: start.Add(-time.Hour), To: start.Add(time.Hour), Service: service}, FlagJoined, maxWindow, 5, time.Minute, 40 * time.Minute},
		{"of another", flag.Window{From: start.Add(-time.Hour), To: start.Add(time.Hour), Service: "none"}, FlagNotFound, 0, 0, 10 * time.Minute, 2 * time.Hour},
	} {
		f, err := flag.New(flag.Flag{Source: "grafana", Window: &c.window, Reason: c.name}, "", w.now)
		if err != nil {
			t.Fatal(err)
		}
		w.say(f, "")
		w.gather()
		w.join(c.before)
		if got := w.state(keyOf(f)); got != FlagWaiting {
			t.Errorf("%s: at first: %q", c.name, got)
		}
		w.join(c.after)
		got := w.fl.Of(keyOf(f))
		if got.State != c.state || len(got.Traces) != c.traces || got.Left != c.left {
			t.Errorf("%s: %q, %d traces, %d left", c.name, got.State, len(got.Traces), got.Left)
		}
		if c.traces > 0 && got.Traces[0] != bad.ID {
			t.Errorf("%s: the one that failed is not the first", c.name)
		}
	}
	w.restart()
	w.join(time.Minute)
	if g := w.waiting(); g == nil || g.Count != maxWindow-1 || !strings.Contains(g.Why, "in the window of: of the service") {
		t.Errorf("group %+v", g)
	}
}

// What is no flag goes to quarantine and holds up nothing.
func TestForeignMessageInFlags(t *testing.T) {
	w, tr := newWatchtower(t), healthy(1)
	if _, err := w.q.Flags.Append(t.Context(), "", []byte("{\"id\":1}\nnonsense")); err != nil {
		t.Fatal(err)
	}
	w.say(complaint(tr.ID), "")
	w.gather()
	if got := w.state(tr.ID); got != FlagWaiting {
		t.Errorf("the flag behind it is %q", got)
	}
}

// The loops do it by themselves, and stop when they are told to.
func TestFlagLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, tr := newWatchtower(t), healthy(1)
		w.judge(tr, "r", time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 3)
		go func() { done <- w.fl.Gather(ctx) }()
		go func() { done <- w.fl.Follow(ctx) }()
		go func() { done <- w.fl.Join(ctx, w.w, 0, w.kept(), time.Second) }()
		w.now = time.Now()
		w.say(complaint(tr.ID), "")
		time.Sleep(5 * time.Second)
		if got := w.state(tr.ID); got != FlagJoined {
			t.Errorf("the flag is %q", got)
		}
		cancel()
		for range 3 {
			if err := <-done; err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
}

// A person's value is erased from what others said, too.
func TestEraseInFlags(t *testing.T) {
	w, tr := newWatchtower(t), healthy(1)
	f := complaint(tr.ID)
	f.Reason = "Rosalind Quimby-Ashworth was charged twice"
	w.say(f, "")
	w.gather()
	w.judge(tr, "r", w.now)
	s, err := redact.NewSubject("Rosalind Quimby-Ashworth")
	if err != nil {
		t.Fatal(err)
	}
	if g := w.waiting(); g == nil || !strings.Contains(g.Why, "Quimby") {
		t.Fatalf("group %+v", g)
	}
	for _, want := range []int{1, 0} {
		got, err := w.a.Erase(t.Context(), s, false)
		if err != nil || got.Flags != want || got.Groups != want {
			t.Errorf("%+v, %v, want %d", got, err, want)
		}
	}
	w.restart()
	if f := w.fl.Of(tr.ID); strings.Contains(f.Flags[0].Reason, "Quimby") || !strings.Contains(f.Flags[0].Reason, "charged twice") {
		t.Errorf("it says %q", f.Flags[0].Reason)
	}
	if g := w.waiting(); strings.Contains(g.Why, "Quimby") {
		t.Errorf("the group says %q", g.Why)
	}
}
