package classify

import (
	"path"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Policy is what a team says that some of its agents must and must not do: an entry of policy in pawl.yaml. As JSON it has the same names there, and
// so it is frozen into cases.
type Policy struct {
	Agent       string        `json:"agent"` // pattern of path.Match, for the agent or the service; * is every one
	MustPrecede []MustPrecede `json:"must_precede,omitempty"`
	MustNotCall []MustNotCall `json:"must_not_call,omitempty"`
	NoToolWhen  []NoToolWhen  `json:"no_tool_when,omitempty"`
	Route       []Routing     `json:"route,omitempty"`
}

// MustPrecede demands that Before went well before Tool is called, with an equal argument Same unless that is "". BeforeArg is how Before calls the
// argument, where it has another name there; no file sets it, what pawl learnt does.
type MustPrecede struct {
	Tool      string `json:"tool"`
	Before    string `json:"before"`
	Same      string `json:"same,omitzero"`
	BeforeArg string `json:"before_arg,omitzero"`
}

// MustNotCall forbids a tool, unless a message of the user before the call matches. A nil pattern matches nothing.
type MustNotCall struct {
	Tool           string         `json:"tool"`
	UnlessUserSaid *regexp.Regexp `json:"unless_user_said,omitzero"`
}

// NoToolWhen names messages of the user that need no tool.
type NoToolWhen struct {
	User *regexp.Regexp `json:"user"`
}

// Routing names the agents that may (Allow; none: any) and may not (Deny) take a message of the user.
type Routing struct {
	User  *regexp.Regexp `json:"user"`
	Allow []string       `json:"allow,omitempty"`
	Deny  []string       `json:"deny,omitempty"`
}

// Concerns says whether the policy is for an agent of a service.
func (p *Policy) Concerns(agent, service string) bool {
	if p.Agent == "*" || p.Agent == "**" {
		return true
	}
	for _, name := range []string{agent, service} {
		if ok, err := path.Match(p.Agent, name); ok && err == nil && name != "" {
			return true
		}
	}
	return false
}

// JSON is the policy as it is frozen into a case; nil for no policy.
func (p *Policy) JSON() jsontext.Value {
	if p == nil {
		return nil
	}
	b, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil // cannot happen: it is texts and patterns
	}
	return b
}
