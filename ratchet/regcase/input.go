package regcase

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Run is what an agent is told of one turn of one run: the file that PAWL_INPUT names, and the body of a POST. Its schema is published.
type Run struct {
	APIVersion string            `json:"apiVersion" jsonschema:"required"`
	Case       string            `json:"case" jsonschema:"required"`
	Run        int               `json:"run" jsonschema:"required,minimum=1"`  // counted from 1
	Turn       int               `json:"turn" jsonschema:"required,minimum=1"` // counted from 1: that of the last message
	Messages   []Message         `json:"messages" jsonschema:"required,minItems=1"`
	Variables  map[string]string `json:"variables" jsonschema:"required"`
	Clock      *time.Time        `json:"clock" jsonschema:"required"` // what the agent is to take for the present time; null: its own clock
}

// Message is one message of the conversation so far; the last is the user's, to be answered.
type Message struct {
	Role    string `json:"role" jsonschema:"required,enum=user,enum=assistant"` // user | assistant
	Content string `json:"content" jsonschema:"required"`
}

// Run returns what the agent is told at a turn, counted from 1: replies are its own answers to the turns before it in this run.
func (c *Case) Run(run, turn int, replies []string) Run {
	out := Run{APIVersion: APIVersion, Case: c.ID, Run: run, Turn: turn, Messages: []Message{}, Variables: c.Input.Variables, Clock: c.Input.Clock}
	for i, t := range c.Input.Turns[:min(turn, len(c.Input.Turns))] {
		out.Messages = append(out.Messages, Message{"user", t.User})
		if i < turn-1 && i < len(replies) {
			out.Messages = append(out.Messages, Message{"assistant", replies[i]})
		}
	}
	return out
}

// Encode gives the bytes of the file, one JSON object and a line feed.
func (r Run) Encode() ([]byte, error) {
	var b bytes.Buffer
	err := json.MarshalWrite(&b, r, json.Deterministic(true), jsontext.WithIndent("  "))
	b.WriteByte('\n')
	return b.Bytes(), err
}
