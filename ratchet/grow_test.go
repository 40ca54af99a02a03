package ratchet

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ghpr"
)

// TestLaterCaseJoinsTheOpenPullRequest while it is pawl's alone, and goes into the next one when it is not.
func TestLaterCaseJoinsTheOpenPullRequest(t *testing.T) {
	for name, reviewed := range map[string]bool{"ours": false, "reviewed": true} {
		t.Run(name, func(t *testing.T) {
			q, f := testQueue(t), testFake(t)
			a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, Hold: 2 * time.Minute, Observe: time.Minute})
			say(t, q, variant(t, a, q, 1, "one"))
			now := noon
			rounds := func(n int) {
				for range n {
					now = now.Add(time.Minute)
					round(t, a, now)
				}
			}
			rounds(4)
			if reviewed {
				if err := f.Human("ana").Review("acme/parcels", 1); err != nil {
					t.Fatal(err)
				}
			}
			say(t, q, variant(t, a, q, 2, "two"), variant(t, a, q, 3, "three"))
			rounds(1)
			if b := batchesOf(t, a)[0]; len(b.late()) != 2 || b.Intent.Update != nil {
				t.Fatalf("%d cases wait for the hold, update %+v", len(b.late()), b.Intent.Update)
			}
			rounds(9)
			want := []int{3}
			if reviewed {
				want = []int{1, 2}
			}
			pulls := f.Pulls("acme", "parcels")
			if len(pulls) != len(want) {
				t.Fatalf("%d pull requests, want %d: %+v", len(pulls), len(want), batchesOf(t, a))
			}
			for i, p := range pulls {
				m, _, ok := ghpr.ParseMarker(p.Body)
				if !ok || len(m.Identities) != want[i] {
					t.Errorf("pull request %d carries %v, want %d", p.Number, m.Identities, want[i])
				}
			}
			for _, b := range batchesOf(t, a) {
				if len(b.late()) > 0 || !b.Intent.Done() {
					t.Errorf("%+v", b)
				}
			}
			if gs, err := a.Groups(t.Context()); err != nil || len(gs) != 3 || gs[0].Batch == "" || gs[1].Batch == "" || gs[2].Batch == "" {
				t.Errorf("%v %+v", err, gs)
			}
		})
	}
}

// TestTakenBackAfterItWasSent is said in the pull request.
func TestTakenBackAfterItWasSent(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, Observe: time.Minute})
	id, note := judge(t, q, "loop", 1)
	round(t, a, noon)
	takeBack(t, q, id, note)
	for i := range 5 {
		round(t, a, noon.Add(time.Duration(i+2)*time.Minute))
	}
	if p := f.Pulls("acme", "parcels")[0]; !strings.Contains(p.Body, "**Taken back.**") || !strings.Contains(p.Body, "no such failure") {
		t.Errorf("the pull request does not say it:\n%s", p.Body)
	}
}

// TestAdvisoryOnly: the pull request says what keeps the base from holding the set.
func TestAdvisoryOnly(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	judge(t, q, "loop", 1)
	round(t, a, noon)
	if p := f.Pulls("acme", "parcels")[0]; !strings.Contains(p.Body, "**Advisory only**") || !strings.Contains(p.Body, "no check named like pawl or verify is required on main") {
		t.Error(p.Body)
	}
}

// TestCloseReasons: the label on a closed pull request says why, and only a false alarm or what is intended counts against the rule.
func TestCloseReasons(t *testing.T) {
	for label, want := range map[string]Precision{
		"pawl:false-alarm": {Judged: 1}, "pawl:intended": {Judged: 1}, "pawl:duplicate": {Judged: 1, Right: 1}, "": {},
	} {
		q, f := testQueue(t), testFake(t)
		a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, Observe: time.Minute})
		judge(t, q, "loop", 1)
		round(t, a, noon)
		ana := f.Human("ana")
		if label != "" {
			if err := ana.Label("acme/parcels", 1, label); err != nil {
				t.Fatal(err)
			}
		}
		if err := ana.Close("acme/parcels", 1); err != nil {
			t.Fatal(err)
		}
		round(t, a, noon.Add(5*time.Minute))
		g := onlyGroup(t, a)
		bs := batchesOf(t, a)
		got := Own([]Group{g}, map[string]*Batch{bs[0].Key(): &bs[0]})[g.Rule]
		if d, no := g.Denied(); !no || got.Judged != want.Judged || got.Right != want.Right {
			t.Errorf("%q: %+v %+v", label, d, got)
		}
	}
	if as, _ := closeReason([]string{"pawl", "pawl:intended"}); as != AsIntended {
		t.Error(as)
	}
}
