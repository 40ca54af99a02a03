package gate

import (
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// InputSchema is the JSON Schema of [Input].
//
//go:embed input.schema.json
var InputSchema []byte

// Input is what an agent is given: the file that PAWL_INPUT names, or the body of a POST to a service.
type Input struct {
	APIVersion string            `json:"apiVersion"`
	Case       string            `json:"case"`
	Run        int               `json:"run"`      // from 1
	Turn       int               `json:"turn"`     // from 1: the turn that is wanted now
	Turns      int               `json:"turns"`    // how many the case has; 0 where a model plays the user
	Session    string            `json:"session"`  // the same for all turns of one run, another for each run
	Messages   []Message         `json:"messages"` // so far, in order; the last is the user's, to be answered
	Variables  map[string]string `json:"variables"`
	Clock      *time.Time        `json:"clock"`     // the time that it is to be; null: the agent's own
	ToolsURL   string            `json:"tools_url"` // as PAWL_TOOLS_URL
	MCPURL     string            `json:"mcp_url"`   // as PAWL_MCP_URL
}

// Message is one message of the conversation so far. Role is user or assistant.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// InputCase is a case of nothing but an input, in the form that PAWL_INPUT has: that the agent answers, and without an error. It is pending: it has
// proved nothing.
func InputCase(b []byte) (*Case, error) {
	var in Input
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	c := &regcase.Case{APIVersion: regcase.APIVersion, Kind: regcase.Kind, ID: "input", Title: "input", Form: "never", State: regcase.State{Name: regcase.Pending},
		Labels: []string{"input"}, Input: regcase.Input{Mode: "recorded", Variables: in.Variables, Clock: in.Clock},
		Expect: regcase.Expect{Liveness: regcase.Liveness{Reply: true, NoError: true}}, Runs: regcase.Runs{N: 5, Mode: "soft", Rate: 0.8}}
	for _, m := range in.Messages {
		if m.Role == "user" && m.Content != "" {
			c.Input.Turns = append(c.Input.Turns, regcase.Turn{User: m.Content})
		}
	}
	if len(c.Input.Turns) == 0 {
		return nil, errors.New("input: it has no message of the user: {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}]}")
	}
	return NewCase(c, nil)
}

func (in Input) bytes() ([]byte, error) {
	b, err := json.Marshal(in, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("input of %s: %w", in.Case, err)
	}
	return append(b, '\n'), nil
}
