package ratchet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// abroad is a home whose answers a test sets.
type abroad struct {
	w     *watchtower
	find  func(id string, look int) (Fetched, error)
	looks []time.Duration // when it was asked, since the flag
	sent  []string        // traces that were pushed
	begin time.Time
}

func (a *abroad) homes() Homes {
	return Homes{
		After: 2 * time.Minute,
		Of: func(f flag.Flag) []string {
			if f.Source == "nobody" {
				return nil
			}
			return []string{"langfuse"}
		},
		Trace: func(_ context.Context, _ string, f flag.Flag) (Fetched, error) {
			a.looks = append(a.looks, a.w.now.Sub(a.begin))
			id := f.RawID
			if id == "" {
				id = f.TraceID
			}
			return a.find(id, len(a.looks))
		},
		Window: func(_ context.Context, _ string, f flag.Flag, most int) (int, error) {
			a.looks = append(a.looks, a.w.now.Sub(a.begin))
			got, err := a.find("window", len(a.looks))
			if err != nil {
				return 0, err
			}
			return min(got.Spans, most), got.Push(context.Background())
		},
	}
}

// whole is an answer that holds the trace as it is, which comes in and is judged when it is pushed.
func (a *abroad) whole(tr trajectory.Trace, digest string) Fetched {
	return Fetched{TraceID: tr.ID, Spans: len(tr.Spans), Digest: digest, Push: func(context.Context) error {
		a.sent = append(a.sent, tr.ID)
		a.w.judge(tr, "r", a.w.now)
		return nil
	}}
}

// pass lets time go by in steps of a second, as the service's loops look.
func (a *abroad) pass(d time.Duration) {
	a.w.t.Helper()
	for range int(d / time.Second) {
		a.w.join(time.Second)
		if err := a.w.fl.FetchDue(a.w.t.Context(), 0, a.w.kept(), a.homes(), a.w.now); err != nil {
			a.w.t.Log(err)
		}
	}
}

func newAbroad(t *testing.T) *abroad {
	w := newWatchtower(t)
	return &abroad{w: w, begin: w.now}
}

func (w *watchtower) sayForeign(f flag.Flag, key string) {
	w.t.Helper()
	f, err := flag.NewForeign(f, key, w.now)
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

func seconds(ds []time.Duration) (out []int) {
	for _, d := range ds {
		out = append(out, int(d/time.Second))
	}
	return out
}

// TestAFlaggedTraceIsFetched: one that does not come is asked for once it had its time, again while it grows, and taken when two looks agree.
func TestAFlaggedTraceIsFetched(t *testing.T) {
	tr := healthy(1)
	a := newAbroad(t)
	a.find = func(_ string, look int) (Fetched, error) {
		switch look {
		case 1:
			return Fetched{}, fmt.Errorf("langfuse: %w", ErrNoSuchTrace)
		case 2:
			return a.whole(tr, "a part of it"), nil
		}
		return a.whole(tr, "all of it"), nil
	}
	a.w.say(complaint(tr.ID), "k")
	a.w.gather()
	a.pass(10 * time.Minute)
	if got := seconds(a.looks); !slices.Equal(got, []int{120, 130, 190, 490}) {
		t.Errorf("asked at %v", got)
	}
	f := a.w.fl.Of(tr.ID)
	if !slices.Equal(a.sent, []string{tr.ID}) || f.State != FlagJoined || !f.Fetch.Done || !strings.Contains(f.Fetch.Said, "spans came from langfuse") {
		t.Errorf("pushed %v, %s, %+v", a.sent, f.State, f.Fetch)
	}
	if g := a.w.waiting(); g == nil || g.Count != 1 {
		t.Errorf("%+v", g)
	}
}

// TestWhatComesByItselfIsNotFetched, nor what no home may have.
func TestWhatComesByItselfIsNotFetched(t *testing.T) {
	tr, other := healthy(1), healthy(2)
	a := newAbroad(t)
	a.find = func(string, int) (Fetched, error) { return a.whole(tr, "d"), nil }
	a.w.say(complaint(tr.ID), "k")
	a.w.say(flag.Flag{Source: "nobody", RawID: other.ID, Reason: "bad"}, "k")
	a.w.gather()
	a.pass(time.Minute)
	a.w.judge(tr, "r", a.w.now)
	a.pass(10 * time.Minute)
	if len(a.looks) > 0 || a.w.state(tr.ID) != FlagJoined {
		t.Errorf("asked at %v", seconds(a.looks))
	}
	if a.w.state(other.ID) != FlagWaiting {
		t.Error(a.w.state(other.ID))
	}
}

// TestATraceThatIsNowhere ends visibly, with what the home said; what was seen of it at the last look is taken.
func TestATraceThatIsNowhere(t *testing.T) {
	tr := healthy(1)
	for name, tc := range map[string]struct {
		find  func(a *abroad, look int) (Fetched, error)
		state FlagState
		said  string
		sent  int
	}{
		"nowhere":      {func(*abroad, int) (Fetched, error) { return Fetched{}, ErrNoSuchTrace }, FlagNotFound, "not there", 0},
		"refused":      {func(*abroad, int) (Fetched, error) { return Fetched{}, errors.New("it refuses the key") }, FlagNotFound, "refuses", 0},
		"ever growing": {func(a *abroad, n int) (Fetched, error) { return a.whole(tr, fmt.Sprint(n)), nil }, FlagJoined, "came from", 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAbroad(t)
			a.find = func(_ string, n int) (Fetched, error) { return tc.find(a, n) }
			a.w.say(complaint(tr.ID), "k")
			a.w.gather()
			a.pass(70 * time.Minute)
			f := a.w.fl.Of(tr.ID)
			if got := seconds(a.looks); !slices.Equal(got, []int{120, 130, 190, 490, 2290}) {
				t.Errorf("asked at %v", got)
			}
			if f.State != tc.state || !strings.Contains(f.Fetch.Said, tc.said) || len(a.sent) != tc.sent {
				t.Errorf("%s, %+v, pushed %v", f.State, f.Fetch, a.sent)
			}
		})
	}
}

// TestABusyHomeIsLeftAlone for as long as it says, and that is no look.
func TestABusyHomeIsLeftAlone(t *testing.T) {
	tr := healthy(1)
	a := newAbroad(t)
	a.find = func(_ string, look int) (Fetched, error) {
		if look == 1 {
			return Fetched{}, &LaterError{77 * time.Second, errors.New("slow down")}
		}
		return a.whole(tr, "d"), nil
	}
	a.w.say(complaint(tr.ID), "k")
	a.w.gather()
	a.pass(10 * time.Minute)
	if got := seconds(a.looks); !slices.Equal(got, []int{120, 197, 207}) {
		t.Errorf("asked at %v", got)
	}
}

// TestAnIDOfAHomesOwn joins once the home says which trace it is: one that is here already is not fetched, one that is not is fetched by the home's id.
func TestAnIDOfAHomesOwn(t *testing.T) {
	tr := healthy(1)
	for name, tc := range map[string]struct {
		raw  string
		here bool
		sent int
	}{
		"a name, elsewhere":            {"order-talk-7", false, 1},
		"a name, here":                 {"order-talk-7", true, 0},
		"another trace's, as it looks": {"0f2c7a51-2b1c-4a3e-9a55-3c1d7e9b1a01", false, 1}, // a run's id
	} {
		t.Run(name, func(t *testing.T) {
			a := newAbroad(t)
			a.find = func(id string, _ int) (Fetched, error) {
				if id != tc.raw {
					return Fetched{}, ErrNoSuchTrace
				}
				return a.whole(tr, "d"), nil
			}
			if tc.here {
				a.w.judge(tr, "r", a.w.now)
			}
			a.w.sayForeign(flag.Flag{Source: "langfuse", Project: "p", RawID: tc.raw, Reason: "bad"}, "k")
			a.w.gather()
			a.pass(5 * time.Minute)
			if a.w.state(tr.ID) != FlagJoined || len(a.sent) != tc.sent {
				t.Errorf("%s, pushed %v, asked at %v", a.w.state(tr.ID), a.sent, seconds(a.looks))
			}
			for _, f := range a.w.fl.List(9) {
				if f.State != FlagJoined || f.TraceID != tr.ID && !slices.Equal(f.Traces, []string{tr.ID}) {
					t.Errorf("%+v", f)
				}
			}
			if g := a.w.waiting(); g == nil || g.Count != 1 || !strings.Contains(g.Why, `langfuse says of it: "bad"`) {
				t.Errorf("%+v", g)
			}
		})
	}
	t.Run("that nobody knows", func(t *testing.T) {
		a := newAbroad(t)
		a.find = func(string, int) (Fetched, error) { return Fetched{}, ErrNoSuchTrace }
		a.w.sayForeign(flag.Flag{Source: "langfuse", RawID: "gone", Reason: "bad"}, "k")
		a.w.gather()
		a.pass(61 * time.Minute)
		if fs := a.w.fl.List(9); len(fs) != 1 || fs[0].State != FlagNotFound {
			t.Errorf("%+v", fs)
		}
	})
}

// TestKillsLoseNoFetch: a process that dies anywhere goes on where it was, and asks no more often than one that does not.
func TestKillsLoseNoFetch(t *testing.T) {
	tr := healthy(1)
	a := newAbroad(t)
	a.find = func(_ string, look int) (Fetched, error) {
		if look < 3 {
			return Fetched{}, ErrNoSuchTrace
		}
		return a.whole(tr, "d"), nil
	}
	a.w.sayForeign(flag.Flag{Source: "langfuse", RawID: "order-talk-7", Reason: "bad"}, "k")
	a.w.restart()
	a.w.gather()
	for range 60 {
		a.w.restart()
		a.pass(7 * time.Second)
	}
	if a.w.state(tr.ID) != FlagJoined || len(a.sent) != 1 || len(a.looks) > 6 {
		t.Errorf("%s, pushed %v, asked at %v", a.w.state(tr.ID), a.sent, seconds(a.looks))
	}
	if g := a.w.waiting(); g == nil || g.Count != 1 {
		t.Errorf("%+v", g)
	}
}

// TestAPushThatFailsIsMadeAgain: what was fetched and could not be stored is fetched again.
func TestAPushThatFailsIsMadeAgain(t *testing.T) {
	tr := healthy(1)
	a := newAbroad(t)
	failed := 0
	a.find = func(string, int) (Fetched, error) {
		got := a.whole(tr, "d")
		if push := got.Push; failed < 2 {
			got.Push = func(ctx context.Context) error {
				if failed++; failed > 2 {
					return push(ctx)
				}
				return errors.New("the stream is full")
			}
		}
		return got, nil
	}
	a.w.say(complaint(tr.ID), "k")
	a.w.gather()
	a.pass(10 * time.Minute)
	if a.w.state(tr.ID) != FlagJoined || failed != 2 {
		t.Errorf("%s, failed %d times", a.w.state(tr.ID), failed)
	}
}

// TestAWindowIsFetched where nothing of it came by itself.
func TestAWindowIsFetched(t *testing.T) {
	tr := healthy(1)
	for _, here := range []bool{false, true} {
		a := newAbroad(t)
		a.find = func(string, int) (Fetched, error) { return a.whole(tr, "d"), nil }
		at := tr.Spans[0].Start
		a.w.now = at.Add(time.Second)
		a.begin = a.w.now
		if here {
			a.w.judge(tr, "r", a.w.now)
		}
		a.w.say(flag.Flag{Source: "grafana", Reason: "errors", Window: &flag.Window{From: at.Add(-time.Minute), To: at.Add(time.Minute)}}, "k")
		a.w.gather()
		a.pass(12 * time.Minute)
		if a.w.state(tr.ID) != FlagJoined || (len(a.sent) == 1) == here || len(a.looks) > 1 {
			t.Errorf("here %v: %s, pushed %v, asked at %v", here, a.w.state(tr.ID), a.sent, seconds(a.looks))
		}
	}
}

// TestFetchLoops: the loops themselves bring a trace in, by the clock.
func TestFetchLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := healthy(1)
		a := newAbroad(t)
		a.find = func(string, int) (Fetched, error) { return a.whole(tr, "d"), nil }
		a.w.now = time.Now()
		a.w.say(complaint(tr.ID), "k")
		a.w.gather()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- a.w.fl.Join(ctx, a.w.w, 0, a.w.kept(), time.Second) }()
		go func() { done <- a.w.fl.Fetch(ctx, 0, a.w.kept(), a.homes(), time.Second) }()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if a.w.state(tr.ID) != FlagJoined || len(a.looks) != 2 {
			t.Errorf("%s, asked %d times", a.w.state(tr.ID), len(a.looks))
		}
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
		if err := a.w.q.Close(); err != nil {
			t.Error(err)
		}
	})
}
