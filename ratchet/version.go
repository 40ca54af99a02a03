package ratchet

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
)

const maxStale = 20 // versions that are remembered as older than a case

// commitRE finds what may be the id of a commit in a service.version: 1.4.2+9f31c0a, sha-9f31c0a..., v1.4.2-12-g9f31c0a.
var commitRE = regexp.MustCompile(`(?:^|[^0-9a-zA-Z]g?)([0-9a-f]{7,40})(?:$|[^0-9a-zA-Z])`)

// commitOf is the commit that a version names, "" if it names none. What is all digits is a date or a number, unless it is as long as an id.
func commitOf(version string) string {
	m := commitRE.FindStringSubmatch(version)
	if m == nil || len(m[1]) < 40 && !strings.ContainsAny(m[1], "abcdef") {
		return ""
	}
	return m[1]
}

// stale are the versions that showed the failure before its case was on the base: where one shows it again, it is what ran all along.
func (g *Group) stale(fixed time.Time) (out []string) {
	out = slices.Clone(g.Stale)
	for _, s := range g.Specimens {
		if s.Version != "" && !s.Seen.After(fixed) && !slices.Contains(out, s.Version) && len(out) < maxStale {
			out = append(out, s.Version)
		}
	}
	return out
}

// back are the specimens that may show that a failure came back since its case was merged: those of the versions that showed it before do not, and what names
// no commit may not be judged by its version, but by its time: what was mended may not run everywhere yet.
func (a *Absorber) back(g *Group) []Specimen {
	return slices.DeleteFunc(slices.Clone(g.Specimens), func(s Specimen) bool {
		return !s.Seen.After(g.Fixed) || slices.Contains(g.Stale, s.Version) || commitOf(s.Version) == "" && !s.Seen.After(g.Fixed.Add(a.opts.CoolDown))
	})
}

// escaped keeps the specimens of versions whose case was green: the very commit, or one that holds it. Of a version that does not tell, or that GitHub does
// not know, the time decides.
func (a *Absorber) escaped(ctx context.Context, repo, green string, g *Group) []Specimen {
	return slices.DeleteFunc(a.back(g), func(s Specimen) bool {
		if holds, known := a.holds(ctx, repo, commitOf(s.Version), green); known {
			return !holds
		}
		return !s.Seen.After(g.Fixed.Add(a.opts.CoolDown))
	})
}

// holds says whether a commit is another one or comes after it, if that can be told.
func (a *Absorber) holds(ctx context.Context, repo, commit, other string) (holds, known bool) {
	switch {
	case commit == "" || other == "":
		return false, false
	case strings.HasPrefix(other, commit):
		return true, true
	}
	holds, err := a.pr.Holds(ctx, repo, commit, other)
	if err != nil {
		a.lg.Debug("a version's commit is not known", "repo", repo, "commit", commit, "err", err)
	}
	return holds, err == nil
}
