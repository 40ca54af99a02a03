package ratchet

import (
	"cmp"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify/lineage"
)

// Day is how many sightings a day had.
type Day struct {
	Day int `json:"day"` // since 1 January 1970, in UTC
	N   int `json:"n"`
}

// DayOf is the number of a time's day.
func DayOf(t time.Time) int { return int(floorDiv(t.Unix(), 24*60*60)) }

func floorDiv(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// maxDays bounds the days of a group: the latest that had sightings are kept.
const maxDays = 40

// sighted counts n sightings more on a time's day. The days are sorted.
func (g *Group) sighted(at time.Time, n int) { g.Days = addDay(g.Days, Day{DayOf(at), n}) }

func addDay(days []Day, d Day) []Day {
	i, has := slices.BinarySearchFunc(days, d.Day, func(x Day, day int) int { return cmp.Compare(x.Day, day) })
	if !has {
		days = slices.Insert(slices.Clone(days), i, d)
		return last(days, maxDays)
	}
	days = slices.Clone(days)
	if days[i].N += d.N; days[i].N <= 0 {
		days = slices.Delete(days, i, i+1)
	}
	return days
}

// unsighted takes a sighting back: from its day, where the group knows that by a specimen, else from the latest one.
func (g *Group) unsighted(subject string) {
	if len(g.Days) == 0 {
		return
	}
	day := g.Days[len(g.Days)-1].Day
	if i := slices.IndexFunc(g.Specimens, func(s Specimen) bool { return s.subject() == subject }); i >= 0 {
		seen := DayOf(g.Specimens[i].Seen)
		if slices.ContainsFunc(g.Days, func(d Day) bool { return d.Day == seen }) {
			day = seen
		}
	}
	g.Days = addDay(g.Days, Day{day, -1})
}

// Life says where a failure stands in its life.
type Life string

// The lives of a group, in the order in which the first that fits is taken.
const (
	LifeIgnored    Life = "ignored"    // a person dismissed it, said no to its case, or put it off
	LifeResolved   Life = "resolved"   // 14 quiet days, and no version is deployed that showed it before its case was merged
	LifeRegressed  Life = "regressed"  // it came back: after 14 quiet days, or in a version that has what mended it
	LifeNew        Life = "new"        // first seen less than 7 days ago
	LifeEscalating Life = "escalating" // a third more in 7 days than in the 7 before
	LifeOngoing    Life = "ongoing"
)

// Lives are all of them.
var Lives = []Life{LifeNew, LifeEscalating, LifeOngoing, LifeRegressed, LifeResolved, LifeIgnored}

const (
	newDays   = 7
	quietDays = 14
	fewest    = 3 // sightings in a week below which nothing escalates
)

// Life is a function of what the group holds, the versions that are deployed (nil where that is not known) and now.
func (g *Group) Life(deployed []string, now time.Time) Life {
	today := DayOf(now)
	recent, before := g.week(today), g.week(today-newDays)
	switch _, denied := g.Denied(); {
	case denied || now.Before(g.SnoozedUntil(now)):
		return LifeIgnored
	case today-DayOf(g.LastSeen) >= quietDays && !slices.ContainsFunc(deployed, func(v string) bool { return slices.Contains(g.Stale, v) }):
		return LifeResolved
	case g.cameBack(today):
		return LifeRegressed
	case today-DayOf(g.FirstSeen) < newDays:
		return LifeNew
	case recent >= fewest && 3*recent > 4*before:
		return LifeEscalating
	}
	return LifeOngoing
}

// week counts the sightings of the seven days that end with a day.
func (g *Group) week(end int) (n int) {
	for _, d := range g.Days {
		if d.Day > end-newDays && d.Day <= end {
			n += d.N
		}
	}
	return n
}

// Growth is how many sightings more the last seven days had than the seven before.
func (g *Group) Growth(now time.Time) int {
	return g.week(DayOf(now)) - g.week(DayOf(now)-newDays)
}

// cameBack says that the failure was away and is back since less than a week, or that a specimen of a version that has the fix shows it.
func (g *Group) cameBack(today int) bool {
	for i, d := range slices.Backward(g.Days) {
		if today-d.Day >= newDays {
			break
		}
		if i > 0 && d.Day-g.Days[i-1].Day >= quietDays {
			return true
		}
	}
	return !g.Fixed.IsZero() && slices.ContainsFunc(g.Specimens, func(s Specimen) bool {
		return s.Seen.After(g.Fixed) && s.Version != "" && !slices.Contains(g.Stale, s.Version)
	})
}

// SnoozedUntil is until when a person put the group off, zero when nobody did or that is over.
func (g *Group) SnoozedUntil(now time.Time) time.Time {
	d, ok := g.latest(ChoiceSnooze, ChoiceWake)
	if !ok || d.Choice == ChoiceWake || !now.Before(d.Until) {
		return time.Time{}
	}
	return d.Until
}

// deployedFor is how long ago a version may have been seen last to be taken as deployed.
const deployedFor = 3 * 24 * time.Hour

// Deployed are the versions of a service that ran lately, sorted: those seen within three days of the service's last run.
func Deployed(h *lineage.History) (out []string) {
	if h == nil {
		return nil
	}
	var end time.Time
	for _, a := range h.Agents {
		end = later(end, a.Last)
	}
	for _, a := range h.Agents {
		for _, f := range a.Facets {
			for _, v := range f.Seen {
				if f.Kind == lineage.KindVersion && end.Sub(v.Last) < deployedFor && !slices.Contains(out, v.Value) {
					out = append(out, v.Value)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
