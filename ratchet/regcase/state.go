package regcase

import (
	"fmt"

	"github.com/goccy/go-yaml"
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

// State is a state with the details that its name demands. In YAML it is the bare name, or the name with a mapping below it.
type State struct {
	Name   StateName `json:"name"`
	Owner  string    `json:"owner,omitempty"`  // of a quarantine
	Reason string    `json:"reason,omitempty"` // of a quarantine or a retirement
	Review string    `json:"review,omitempty"` // of a quarantine: a date, yyyy-mm-dd
}

type stateDetail struct {
	Owner  string `yaml:"owner,omitempty"`
	Reason string `yaml:"reason"`
	Review string `yaml:"review,omitempty"`
}

// MarshalYAML writes `pending`, or `quarantined: {owner, reason, review}`.
func (s State) MarshalYAML() (any, error) {
	switch s.Name {
	case Pending, Enforced:
		return string(s.Name), nil
	case Quarantined, Retired:
		return map[string]stateDetail{string(s.Name): {s.Owner, s.Reason, s.Review}}, nil
	}
	return nil, fmt.Errorf("state %q is none of pending, enforced, quarantined, retired", s.Name)
}

// UnmarshalYAML reads both forms and refuses a quarantine without owner, reason and review date or a retirement without a reason.
func (s *State) UnmarshalYAML(b []byte) error {
	var name string
	if err := yaml.Unmarshal(b, &name); err == nil {
		*s = State{Name: StateName(name)}
		return s.check()
	}
	var detail map[string]stateDetail
	if err := yaml.UnmarshalWithOptions(b, &detail, yaml.Strict()); err != nil {
		return err
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
		return nil
	case Quarantined:
		if s.Owner == "" || s.Reason == "" || s.Review == "" {
			return fmt.Errorf("a quarantined case needs owner, reason and review")
		}
		return nil
	case Retired:
		if s.Reason == "" {
			return fmt.Errorf("a retired case needs a reason")
		}
		return nil
	}
	return fmt.Errorf("state %q is none of pending, enforced, quarantined, retired", s.Name)
}
