package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Model is a language model that judges criteria and plays users. The zero value is none.
type Model struct {
	Name  string                                         // pinned: what runs are stamped with
	Ask   func(context.Context, Question) (Reply, error) // one request
	Clean func(text string) (string, error)              // takes secrets and personal data out of what is sent; an error: nothing is sent
}

// Is says whether there is a model to ask.
func (m Model) Is() bool { return m.Ask != nil }

// Question is one request to a model. Its answer must be JSON of the schema.
type Question struct {
	System string
	Turns  []Message
	Name   string // of the schema
	Schema []byte
	Seed   int64
}

// Reply is what a model answered.
type Reply struct {
	Text   string
	Model  string // as it says itself
	Tokens int64
	USD    *float64 // nil when unknown
}

// Spent is what a run's questions to the model took, apart from what the agent itself took.
type Spent struct {
	Asked  int      `json:"asked"` // requests
	Tokens int64    `json:"tokens"`
	USD    *float64 `json:"cost_usd"`
}

func (s *Spent) add(r Reply) {
	s.Asked++
	s.Tokens += r.Tokens
	if r.USD != nil {
		s.USD = new(*r.USD + value(s.USD))
	}
}

// errForm is an answer that is not in the form that was asked for.
var errForm = errors.New("the model answered outside the form")

// ask has the model fill in out, whose fit decides whether the answer is taken. One that does not fit is asked for once more.
func (m Model) ask(ctx context.Context, q Question, spent *Spent, out any, fit func() error) error {
	var err error
	for range 2 {
		var r Reply
		if r, err = m.Ask(ctx, q); err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		spent.add(r)
		if err = json.Unmarshal(bare(r.Text), out, json.RejectUnknownMembers(true)); err == nil {
			if err = fit(); err == nil {
				return nil
			}
		}
		q.Turns = append(q.Turns[:len(q.Turns):len(q.Turns)], Message{"assistant", r.Text},
			Message{"user", "That is not in the form that was asked for: " + shortLine(err.Error()) + ". Answer again, with the JSON object alone."})
	}
	return fmt.Errorf("%w: %w", errForm, err)
}

// bare is the JSON of an answer that some models set in a fence of Markdown.
func bare(text string) []byte {
	text = strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(text, "```"); ok {
		_, inside, _ = strings.Cut(inside, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inside), "```"))
	}
	return []byte(text)
}

// clean is a text that may be sent.
func (m Model) clean(text string) (string, error) {
	if m.Clean == nil {
		return text, nil
	}
	out, err := m.Clean(text)
	if err != nil {
		return "", fmt.Errorf("nothing is sent to the model: %w", err)
	}
	return out, nil
}

// fenced is data from outside between two lines that it does not hold itself, so that no word in it can end it.
func fenced(data []byte) string {
	line := "=====" + regcase.SHA256(data)[:16] + "====="
	return line + "\n" + string(bytes.TrimSpace(data)) + "\n" + line
}

// shortLine is a text as one line of a bounded length.
func shortLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200]) + "…"
	}
	return s
}
