package regcase

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// StateName is where a case stands in its life.
type StateName string

// The states. Pending: reported, does not block. Enforced: blocks. Quarantined: runs, does not block until its review date. Retired: a
// tombstone that keeps id, digest and reason.
const (
	Pending     StateName = "pending"
	Enforced    StateName = "enforced"
	Quarantined StateName = "quarantined"
	Retired     StateName = "retired"
)

// State is a state with the details that its name demands. In JSON and YAML it is the bare name, or the name with a mapping below it:
// {quarantined: {owner, reason, review}} and {retired: {reason}}.
type State struct {
	Name   StateName
	Owner  string // of a quarantine
	Reason string // of a quarantine or a retirement
	Review string // of a quarantine: a date, yyyy-mm-dd
}

// DateForm is how dates are written: a day, in UTC.
const DateForm = time.DateOnly

// Overdue says whether a quarantine's review date lies before the day of now: from then on the case blocks again.
func (s State) Overdue(now time.Time) bool {
	return s.Name == Quarantined && s.Review < now.UTC().Format(DateForm)
}

type stateDetail struct {
	Owner  string `json:"owner,omitzero"`
	Reason string `json:"reason"`
	Review string `json:"review,omitzero"`
}

func (s State) bare() bool { return s.Name == Pending || s.Name == Enforced }

func (s State) detail() stateDetail { return stateDetail{s.Owner, s.Reason, s.Review} }

// MarshalJSON writes "pending", or {"quarantined":{"owner","reason","review"}}.
func (s State) MarshalJSON() ([]byte, error) {
	if s.bare() {
		return json.Marshal(string(s.Name))
	}
	return json.Marshal(map[string]stateDetail{string(s.Name): s.detail()})
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses a quarantine without owner, reason and review date or a retirement without a reason.
func (s *State) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var name string
		if err := json.Unmarshal(b, &name); err != nil {
			return err
		}
		*s = State{Name: StateName(name)}
		return s.check()
	}
	var detail map[string]stateDetail
	if err := json.Unmarshal(b, &detail, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("state is neither a name nor {quarantined: {owner, reason, review}} nor {retired: {reason}}: %w", err)
	}
	if len(detail) != 1 {
		return fmt.Errorf("state wants one name, has %d", len(detail))
	}
	for n, d := range detail {
		*s = State{Name: StateName(n), Owner: d.Owner, Reason: d.Reason, Review: d.Review}
	}
	return s.check()
}

func (s State) check() error {
	switch s.Name {
	case Pending, Enforced:
		if s.detail() != (stateDetail{}) {
			return fmt.Errorf("a case that is %s has no owner, reason or review of its state", s.Name)
		}
		return nil
	case Quarantined:
		if blank(s.Owner) || blank(s.Reason) || s.Review == "" {
			return fmt.Errorf("a quarantined case needs owner, reason and review")
		}
		if _, err := time.Parse(DateForm, s.Review); err != nil {
			return fmt.Errorf("the review date %q is not yyyy-mm-dd", s.Review)
		}
		return nil
	case Retired:
		if blank(s.Reason) {
			return fmt.Errorf("a retired case needs a reason")
		}
		if s.Owner != "" || s.Review != "" {
			return fmt.Errorf("a retired case has a reason and nothing else")
		}
		return nil
	}
	return fmt.Errorf("state %q is none of pending, enforced, quarantined, retired", s.Name)
}
