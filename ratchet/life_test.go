package ratchet

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
)

// seenOn is a group that was sighted on days before today, so many times each.
func seenOn(today time.Time, days map[int]int) *Group {
	g := &Group{Fingerprint: classify.NewFingerprint("loop", "shop", "desk")}
	for ago, n := range days {
		at := today.AddDate(0, 0, -ago)
		for range n {
			g.sighted(at, 1)
			g.Count++
		}
		if g.FirstSeen.IsZero() || at.Before(g.FirstSeen) {
			g.FirstSeen = at
		}
		g.LastSeen = later(g.LastSeen, at)
	}
	return g
}

func TestLife(t *testing.T) {
	today := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	fixed := func(g *Group, stale ...string) *Group { g.Fixed, g.Stale = today.AddDate(0, 0, -20), stale; return g }
	again := func(g *Group, version string) *Group {
		g.Specimens = append(g.Specimens, Specimen{TraceID: "a", Seen: today.AddDate(0, 0, -1), Version: version})
		return g
	}
	for _, c := range []struct {
		what     string
		g        *Group
		deployed []string
		want     Life
	}{
		{"six days old", seenOn(today, map[int]int{6: 1}), nil, LifeNew},
		{"seven days old", seenOn(today, map[int]int{7: 1}), nil, LifeOngoing},
		{"as many as before", seenOn(today, map[int]int{9: 4, 2: 4}), nil, LifeOngoing},
		{"a third more", seenOn(today, map[int]int{9: 3, 2: 4}), nil, LifeOngoing}, // exactly a third
		{"more than a third more", seenOn(today, map[int]int{9: 3, 2: 5}), nil, LifeEscalating},
		{"two after one", seenOn(today, map[int]int{9: 1, 2: 2}), nil, LifeOngoing},
		{"thirteen quiet days", seenOn(today, map[int]int{13: 9}), nil, LifeOngoing},
		{"fourteen quiet days", seenOn(today, map[int]int{14: 9}), nil, LifeResolved},
		{"quiet, and what showed it is deployed", fixed(seenOn(today, map[int]int{25: 9}), "1.0"), []string{"1.0", "1.1"}, LifeOngoing},
		{"quiet, and only the fix is deployed", fixed(seenOn(today, map[int]int{25: 9}), "1.0"), []string{"1.1"}, LifeResolved},
		{"back after thirteen days", seenOn(today, map[int]int{19: 1, 6: 1}), nil, LifeOngoing},
		{"back after fourteen days", seenOn(today, map[int]int{20: 1, 6: 1}), nil, LifeRegressed},
		{"back, a week ago", seenOn(today, map[int]int{30: 1, 7: 1}), nil, LifeOngoing},
		{"in the version that has the fix", again(fixed(seenOn(today, map[int]int{25: 1, 20: 1, 15: 1, 8: 1, 1: 1}), "1.0"), "1.1"), nil, LifeRegressed},
		{"in the old version still", again(fixed(seenOn(today, map[int]int{25: 1, 20: 1, 15: 1, 8: 1, 1: 1}), "1.0"), "1.0"), nil, LifeOngoing},
	} {
		if got := c.g.Life(c.deployed, today); got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.what, got, c.want, c.g.Days)
		}
	}
}

// TestLifeOfAnyHistory holds of random histories: what life they are in is one of all, depends on nothing but them, in whatever order they came, and ends.
func TestLifeOfAnyHistory(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	today := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	for range 3000 {
		var at []time.Time
		for range 1 + r.IntN(60) {
			at = append(at, today.Add(-time.Duration(r.Int64N(int64(90*24*time.Hour)))))
		}
		take := func(order []time.Time) *Group {
			g := &Group{Count: len(order), FirstSeen: order[0], LastSeen: order[0]}
			for _, x := range order {
				g.sighted(x, 1)
				g.FirstSeen, g.LastSeen = earlier(g.FirstSeen, x), later(g.LastSeen, x)
			}
			return g
		}
		slices.SortFunc(at, time.Time.Compare)
		g := take(at)
		life := g.Life(nil, today)
		if !slices.Contains(Lives, life) || g.Life(nil, today) != life {
			t.Fatalf("%q of %v", life, g.Days)
		}
		if len(g.Days) > maxDays || !slices.IsSortedFunc(g.Days, func(a, b Day) int { return a.Day - b.Day }) {
			t.Fatalf("the days are %v", g.Days)
		}
		if len(g.Days) < maxDays { // of more days which are kept depends on the order
			r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
			if other := take(at); !slices.Equal(other.Days, g.Days) || other.Life(nil, today) != life {
				t.Fatalf("%v in another order is %v", g.Days, other.Days)
			}
		}
		quiet := DayOf(today)-DayOf(g.LastSeen) >= quietDays
		if (life == LifeResolved) != quiet {
			t.Fatalf("%s, last seen %s", life, g.LastSeen)
		}
		if end := g.Life(nil, today.AddDate(0, 0, quietDays)); end != LifeResolved {
			t.Fatalf("fourteen days without a sighting on it is %s", end)
		}
		g.sighted(today, 1)
		g.LastSeen = today
		if now := g.Life(nil, today); now == LifeResolved || quiet && now != LifeRegressed {
			t.Fatalf("seen again it is %s, after %s", now, life)
		}
		g.Decide(Decision{Who: "ana", Choice: ChoiceDismiss, As: AsIntended})
		if g.Life(nil, today) != LifeIgnored {
			t.Fatal("dismissed it is not ignored")
		}
		for range 5 {
			g.unsighted("")
		}
		for _, d := range g.Days {
			if d.N <= 0 {
				t.Fatalf("a day with %d sightings", d.N)
			}
		}
	}
}

func TestDayOf(t *testing.T) {
	for s, want := range map[string]int{"1970-01-01T00:00:00Z": 0, "1970-01-01T23:59:59Z": 0, "1970-01-02T00:00:00Z": 1, "1969-12-31T23:59:59Z": -1} {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil || DayOf(at) != want {
			t.Errorf("%s is day %d, want %d", s, DayOf(at), want)
		}
	}
}
