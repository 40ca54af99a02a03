package turn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Health is what stands in a set and waits for somebody. Lists are sorted, the most urgent first.
type Health struct {
	Cases         int            `json:"cases"` // without further specimens
	States        map[string]int `json:"states"`
	Labels        map[string]int `json:"labels"`
	Forms         map[string]int `json:"forms"`
	Weak          []string       `json:"weak"`           // ids: an agent that refuses everything passes them
	NotReproduced []Waiting      `json:"not_reproduced"` // pending, never seen red on the live agent
	Ready         []Waiting      `json:"ready"`          // pending, seen red on the live agent: they wait for green runs and the click
	Quarantines   []Quarantined  `json:"quarantines"`    // soonest review first
	Overdue       int            `json:"overdue"`        // quarantines past their date: they block
	Escapes       []Escape       `json:"escapes"`        // failures that came again though a case held them
	Retired       []Tombstone    `json:"retired"`
	Old           []string       `json:"old"` // ids of cases in an older format, or not in canonical bytes
}

// Waiting is one pending case.
type Waiting struct {
	ID    string  `json:"id"`
	Owner *string `json:"owner"`
	Days  int     `json:"days"` // since its failure was first seen
	Count int     `json:"count"`
	Title string  `json:"title"`
}

// Quarantined is one case in quarantine.
type Quarantined struct {
	ID      string `json:"id"`
	Owner   string `json:"owner"`
	Reason  string `json:"reason"`
	Review  string `json:"review"`
	Overdue bool   `json:"overdue"`
}

// Escape is a case with further specimens.
type Escape struct {
	ID        string   `json:"id"`
	Specimens []string `json:"specimens"`
}

// Tombstone is one retired case.
type Tombstone struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// HealthOf looks at a set as of now.
func HealthOf(set regcase.Set, now time.Time) Health {
	h := Health{States: map[string]int{}, Labels: map[string]int{}, Forms: map[string]int{}, Weak: []string{}, NotReproduced: []Waiting{}, Ready: []Waiting{},
		Quarantines: []Quarantined{}, Escapes: []Escape{}, Retired: []Tombstone{}, Old: []string{}}
	specimens := map[string][]string{}
	for _, e := range set.All() {
		if !e.Canonical {
			h.Old = append(h.Old, e.Case.ID)
		}
		if first, _, further := strings.Cut(e.Case.ID, "."); further {
			specimens[first] = append(specimens[first], e.Case.ID)
			continue
		}
		h.count(&e.Case, now)
	}
	for _, id := range set.IDs() {
		if s := specimens[id]; s != nil {
			h.Escapes = append(h.Escapes, Escape{id, s})
		}
	}
	oldest := func(a, b Waiting) int { return cmp.Or(cmp.Compare(b.Days, a.Days), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(h.NotReproduced, oldest)
	slices.SortFunc(h.Ready, oldest)
	slices.SortFunc(h.Quarantines, func(a, b Quarantined) int { return cmp.Or(cmp.Compare(a.Review, b.Review), cmp.Compare(a.ID, b.ID)) })
	return h
}

func (h *Health) count(c *regcase.Case, now time.Time) {
	h.Cases++
	h.States[string(c.State.Name)]++
	h.Labels[c.Labels[0]]++
	h.Forms[c.Form]++
	if c.Weak && c.State.Name != regcase.Retired {
		h.Weak = append(h.Weak, c.ID)
	}
	w := Waiting{ID: c.ID, Owner: c.Owner, Days: max(0, int(now.Sub(c.Provenance.FirstSeen).Hours()/24)), Count: c.Provenance.Count, Title: c.Title}
	switch c.State.Name {
	case regcase.Pending:
		if c.Live == nil || c.Live.Red == 0 {
			h.NotReproduced = append(h.NotReproduced, w)
		} else {
			h.Ready = append(h.Ready, w)
		}
	case regcase.Quarantined:
		late := c.State.Overdue(now)
		if late {
			h.Overdue++
		}
		h.Quarantines = append(h.Quarantines, Quarantined{c.ID, c.State.Owner, c.State.Reason, c.State.Review, late})
	case regcase.Retired:
		h.Retired = append(h.Retired, Tombstone{c.ID, c.State.Reason})
	}
}
