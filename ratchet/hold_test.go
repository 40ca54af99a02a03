package ratchet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/test/fakegithub"
)

func paced(t *testing.T, o Options) (*Absorber, *fakegithub.Fake, func(n int, step time.Duration)) {
	t.Helper()
	q, f := testQueue(t), testFake(t)
	o.Mode, o.Observe = ghpr.ModeOpen, time.Minute
	a := absorberOver(t, q, f.Transport(), o)
	now := noon
	return a, f, func(n int, step time.Duration) {
		t.Helper()
		for range n {
			now = now.Add(step)
			round(t, a, now)
		}
	}
}

func testOnboard(t Target) []ghpr.File {
	return []ghpr.File{{Path: "pawl.yaml", Content: "enabled: true\n"}, {Path: ".github/workflows/pawl.yml", Content: "name: pawl\n"}, {Path: t.Set + "/README.md", Content: "# Cases\n"}}
}

// TestWarmUp: at first failures are ranked and the onboarding alone is proposed, with one case; when the time is over, or somebody opens it, the rest follows.
func TestWarmUp(t *testing.T) {
	for name, open := range map[string]bool{"over": false, "opened": true} {
		t.Run(name, func(t *testing.T) {
			a, f, rounds := paced(t, Options{WarmUp: 24 * time.Hour, Onboard: testOnboard})
			say(t, a.q, variant(t, a, a.q, 1, "one"), variant(t, a, a.q, 2, "two"))
			rounds(6, 5*time.Minute)
			pulls := f.Pulls("acme", "parcels")
			if len(pulls) != 1 || !strings.Contains(pulls[0].Title, "begin a set") {
				t.Fatalf("%+v", pulls)
			}
			gs, err := a.Groups(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			policy := a.opts.Policy
			policy.Held, policy.Ranks = a.Held(), Ranks(gs, policy)
			batches := map[string]*Batch{}
			for _, b := range batchesOf(t, a) {
				batches[b.Key()] = &b
			}
			told := ""
			for i := range gs {
				told += policy.Status(&gs[i], a.opts.Targets, batches) + "\n"
			}
			if !strings.Contains(told, "waits: warm-up until 2026-12-01 12:05, or until `pawl open acme/parcels`; rank 1 of 1") {
				t.Error(told)
			}
			if open {
				if err := a.Open(t.Context(), noon, "acme/parcels", "ana"); err != nil {
					t.Fatal(err)
				}
				rounds(4, 5*time.Minute)
			} else {
				rounds(25, time.Hour)
			}
			if pulls = f.Pulls("acme", "parcels"); len(pulls) != 2 || strings.Contains(pulls[1].Title, "begin a set") {
				t.Errorf("%+v", pulls)
			}
			if err := a.Open(t.Context(), noon, "acme/other", "ana"); err != ErrNoTarget {
				t.Error(err)
			}
		})
	}
}

// TestOnboardingWithoutTheRight: where GitHub refuses the workflow it is left out, and shown.
func TestOnboardingWithoutTheRight(t *testing.T) {
	a, f, _ := paced(t, Options{WarmUp: 24 * time.Hour, Onboard: testOnboard})
	f.Refuse(".github/workflows/", "refusing to allow a GitHub App to create or update workflow `.github/workflows/pawl.yml` without `workflows` permission")
	judge(t, a.q, "loop", 1)
	for i := range 8 {
		_ = errors.Join(a.CatchUp(t.Context()), a.Sweep(t.Context(), noon.Add(time.Duration(i)*20*time.Minute))) // the refusal is an error once
	}
	pulls := f.Pulls("acme", "parcels")
	if len(pulls) != 1 || !strings.Contains(pulls[0].Body, "name: pawl") {
		b := batchesOf(t, a)[0]
		t.Fatalf("%+v: %q %+v %+v", pulls, b.Fault, b.Onboard, b.Intent)
	}
}

// TestOnboardingClosed is a no for the repository, until somebody opens it.
func TestOnboardingClosed(t *testing.T) {
	a, f, rounds := paced(t, Options{WarmUp: time.Hour, Onboard: testOnboard})
	say(t, a.q, variant(t, a, a.q, 1, "one"), variant(t, a, a.q, 2, "two"))
	rounds(3, 5*time.Minute)
	if err := f.Human("ana").Close("acme/parcels", 1); err != nil {
		t.Fatal(err)
	}
	rounds(3, 5*time.Minute)
	rounds(5, time.Hour)
	if why := a.Held()["acme/parcels"]; len(f.Pulls("acme", "parcels")) != 1 || !strings.Contains(why, "the onboarding (pull request 1) was closed") {
		t.Fatalf("%d pull requests, held: %s", len(f.Pulls("acme", "parcels")), why)
	}
	if err := a.Open(t.Context(), noon.Add(6*time.Hour), "acme/parcels", "ana"); err != nil {
		t.Fatal(err)
	}
	rounds(3, time.Hour)
	if n := len(f.Pulls("acme", "parcels")); n != 2 {
		t.Errorf("%d pull requests", n)
	}
}

// TestOnboardedAlready: a repository that has a pawl.yaml is not onboarded.
func TestOnboardedAlready(t *testing.T) {
	a, f, rounds := paced(t, Options{WarmUp: time.Hour, Onboard: testOnboard})
	if _, err := f.Human("ana").Push("acme/parcels", "main", "pawl.yaml", "enabled: true\n"); err != nil {
		t.Fatal(err)
	}
	judge(t, a.q, "loop", 1)
	rounds(3, 5*time.Minute)
	if n := len(f.Pulls("acme", "parcels")); n != 0 {
		t.Errorf("%d pull requests in the warm-up", n)
	}
	rounds(4, 30*time.Minute)
	if n := len(f.Pulls("acme", "parcels")); n != 1 {
		t.Errorf("%d pull requests after it", n)
	}
}

// TestFlood: too many new failures at once are not believed until somebody says so.
func TestFlood(t *testing.T) {
	a, f, rounds := paced(t, Options{NewGroups: 3})
	rounds(1, time.Minute) // what was there before pawl began is no flood
	now := noon.Add(91 * time.Minute)
	for i := range 5 {
		v := variant(t, a, a.q, uint64(i+1), fmt.Sprintf("agent-%c", 'a'+i))
		v.Seen = now.Add(-time.Minute)
		say(t, a.q, v)
	}
	rounds(1, 90*time.Minute)
	rounds(3, time.Hour) // it does not pass by itself
	if n := len(f.Pulls("acme", "parcels")); n != 0 {
		t.Fatalf("%d pull requests", n)
	}
	if why := a.Held()["acme/parcels"]; !strings.Contains(why, "5 new failures within an hour, 5 of them by loop@") || !strings.Contains(why, "is broken") {
		t.Error(why)
	}
	if err := a.Open(t.Context(), noon.Add(5*time.Hour), "acme/parcels", "ana"); err != nil {
		t.Fatal(err)
	}
	rounds(3, time.Hour)
	if n := len(f.Pulls("acme", "parcels")); n != 1 {
		t.Errorf("%d pull requests after it was opened", n)
	}
}

// TestCoolDown: after a merge the next pull request for the same label and service waits.
func TestCoolDown(t *testing.T) {
	a, f, rounds := paced(t, Options{CoolDown: 48 * time.Hour})
	say(t, a.q, variant(t, a, a.q, 1, "one"))
	rounds(2, time.Minute)
	if err := f.Human("ana").Merge("acme/parcels", 1); err != nil {
		t.Fatal(err)
	}
	rounds(3, time.Minute)
	say(t, a.q, variant(t, a, a.q, 2, "two"))
	rounds(4, 8*time.Hour)
	if n := len(f.Pulls("acme", "parcels")); n != 1 {
		t.Errorf("%d pull requests a day after the merge", n)
	}
	rounds(4, 8*time.Hour)
	if n := len(f.Pulls("acme", "parcels")); n != 2 {
		t.Errorf("%d pull requests two days after the merge", n)
	}
}
