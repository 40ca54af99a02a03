package lineage

import (
	"cmp"
	"slices"
)

// Spread is how the sightings of a failure lie over versions, models and prompts, bounded.
type Spread []Share

// Share is how many sightings had a value. Value "" is all that there was no room for.
type Share struct {
	Kind  Kind   `json:"kind"`
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Add counts a sighting, or takes one out with n = -1. agent is the failing agent as fingerprints name it.
func (s *Spread) Add(c Context, agent string, n int) {
	if c.Version != "" {
		s.add(KindVersion, c.Version, n)
	}
	a := c.Of(agent)
	if a == nil {
		return
	}
	for _, m := range a.Models {
		s.add(KindModel, m, n)
	}
	for _, p := range a.Prompts {
		s.add(KindPrompt, p, n)
	}
}

func (s *Spread) add(kind Kind, value string, n int) {
	i := s.index(kind, value)
	if i < 0 && (n < 0 || s.kinds(kind) >= maxValues) {
		value = ""
		i = s.index(kind, value)
	}
	switch {
	case i >= 0:
		if (*s)[i].Count += n; (*s)[i].Count <= 0 {
			*s = slices.Delete(*s, i, i+1)
		}
	case n > 0:
		*s = append(*s, Share{kind, value, n})
		slices.SortFunc(*s, func(x, y Share) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Value, y.Value)) })
	}
}

func (s Spread) index(kind Kind, value string) int {
	return slices.IndexFunc(s, func(h Share) bool { return h.Kind == kind && h.Value == value })
}

func (s Spread) kinds(kind Kind) (n int) {
	for _, h := range s {
		n += bit(h.Kind == kind)
	}
	return n
}

// of is how many sightings had the value, of how many that told any.
func (s Spread) of(kind Kind, value string) (had, all int) {
	for _, h := range s {
		if h.Kind != kind {
			continue
		}
		if all += h.Count; h.Value == value {
			had += h.Count
		}
	}
	return had, all
}

// Join adds what another spread counts: of another agent's failure the versions alone, for models and prompts are the agent's.
func (s *Spread) Join(o Spread, sameAgent bool) {
	for _, h := range o {
		if sameAgent || h.Kind == KindVersion {
			s.add(h.Kind, h.Value, h.Count)
		}
	}
}
