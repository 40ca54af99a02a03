// Package judge asks a language model what failed in a run that no rule explains. It is a fallback: what it says is an opinion for people to look at.
//
// What holds:
//   - The model chooses a label of the taxonomy, or none. Several votes are asked for, each with the taxonomy in another fixed order; a label needs more than
//     half of all votes, void ones counted. Every vote is kept.
//   - An answer is one JSON object of exactly the form asked for; one that is not is asked for once more, and then void. A label must be shown: spans that
//     exist, with words that stand there, at least once the agent's own (or an error's). Else the vote is void.
//   - What a run says is data. It is redacted before it comes here, shown between two lines that are made of its own digest, and looked through a second
//     time as it is about to leave: where that look disagrees nothing is sent.
//   - Equal questions are equal bytes: they can be kept under their Digest.
//   - No question is asked that could cost more than what is left (Purse).
package judge

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/judge/llm"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Rubric is what the model is told about judging, unless the team writes its own.
//
//go:embed rubric.md
var Rubric string

// promptVersion is part of the judge's id: raise it with every change of what is sent beside the rubric, or of how answers are counted.
const promptVersion = "1"

// None is what the model answers where no label fits.
const None classify.Label = "none"

// Choice is a label that the model may choose, with what it means.
type Choice struct {
	Label classify.Label
	Means string
}

// Judge says what failed in a run.
type Judge interface {
	Judge(ctx context.Context, q Question) (Opinion, error)
}

// Question is one run to be judged.
type Question struct {
	Run    *trajectory.Trajectory // redacted
	Signs  string                 // what says that it went wrong, redacted
	Verify func(final []byte) error
	Pay    Purse                                           // nil: no bound
	Have   []Vote                                          // that were given before: they are not asked for again
	Keep   func(ctx context.Context, votes []Vote) error   // nil: nothing is kept before the end
	Cached func(ctx context.Context, digest string) []Vote // nil: none
}

// Cost is what questions take.
type Cost struct {
	Tokens int     `json:"tokens"`
	USD    float64 `json:"usd"`
}

// Purse takes out what a question may cost at most, or says *Spent. The function that it returns gives back what was not needed; where it is never called,
// as after a kill, or where nobody knows what was billed, all of it stays spent.
type Purse func(ctx context.Context, most Cost) (settle func(ctx context.Context, real Cost) error, err error)

// Spent says that a budget does not hold out for a question.
type Spent struct{ What string } // in words: 200000 tokens a day

// Error implements error.
func (s *Spent) Error() string { return "the judge's budget is spent: " + s.What }

// Outcome is what became of a question.
type Outcome string

// The outcomes.
const (
	Labelled   Outcome = "label"       // more than half of the votes name one label
	NoneFits   Outcome = "none"        // more than half of the votes say that no label fits
	Split      Outcome = "split"       // no majority
	NotDecided Outcome = "not_decided" // nothing was asked, or no answer came: Why says it
)

// Opinion is what the model says of one run.
type Opinion struct {
	Outcome    Outcome        `json:"outcome"`
	Label      classify.Label `json:"label"`      // "" unless Labelled
	Why        string         `json:"why"`        // the sentence of the first vote for it; of NotDecided the reason
	Confidence float64        `json:"confidence"` // share of all votes that say so
	Votes      []Vote         `json:"votes"`
	Judge      string         `json:"judge"`  // Panel.ID
	Digest     string         `json:"digest"` // of the question
	Cut        string         `json:"cut"`    // what of the run was not shown; "" for nothing

	Finding *classify.Finding `json:"-"` // of Labelled
}

// Vote is one answer.
type Vote struct {
	Label    classify.Label `json:"label"` // "" of a void one
	Why      string         `json:"why"`
	Evidence []Cited        `json:"evidence"`
	Void     string         `json:"void"`  // why it does not count; "" when it does
	Asked    int            `json:"asked"` // requests that it took
	Model    string         `json:"model"` // as it says that it answered
	Cost
}

// Cited is what a vote points to.
type Cited struct {
	SpanID string `json:"span_id"`
	Quote  string `json:"quote"`
}

// Options of a Panel.
type Options struct {
	Rubric    string     // "" is Rubric
	Taxonomy  []Choice   // pawl's labels and the team's
	Votes     int        // 0 is 3
	MaxBytes  int        // of a run as it is shown; 0 is 48 KiB
	MaxTokens int        // of an answer, as the client has it; 0 is 2048
	Price     *llm.Price // nil: unknown, and no question costs any USD
}

// Panel is a model that is asked several times. It is safe for concurrent use.
type Panel struct {
	lg *slog.Logger
	c  *llm.Client
	o  Options
}

// New checks the options. It sends nothing.
func New(lg *slog.Logger, c *llm.Client, o Options) (*Panel, error) {
	o.Rubric = strings.TrimSpace(cmp.Or(strings.TrimSpace(o.Rubric), Rubric))
	o.Votes, o.MaxBytes, o.MaxTokens = cmp.Or(o.Votes, 3), cmp.Or(o.MaxBytes, 48<<10), cmp.Or(o.MaxTokens, 2048)
	o.Taxonomy = slices.SortedFunc(slices.Values(o.Taxonomy), func(a, b Choice) int { return cmp.Compare(a.Label, b.Label) })
	o.Taxonomy = slices.CompactFunc(o.Taxonomy, func(a, b Choice) bool { return a.Label == b.Label })
	switch {
	case len(o.Taxonomy) == 0:
		return nil, errors.New("judge: the taxonomy is empty")
	case slices.ContainsFunc(o.Taxonomy, func(c Choice) bool { return c.Label == None || c.Label == classify.NoLabel || c.Label == "" }):
		return nil, fmt.Errorf("judge: %s and %s are no labels", None, classify.NoLabel)
	case len(o.Rubric) > 64<<10:
		return nil, fmt.Errorf("judge: the rubric has %d bytes, at most 64 KiB are sent", len(o.Rubric))
	case o.Votes < 1 || o.Votes > 9:
		return nil, fmt.Errorf("judge: %d votes, want 1 to 9", o.Votes)
	}
	return &Panel{lg: lg.With("component", "judge"), c: c, o: o}, nil
}

// ID names what judges: the model, where it is asked, the rubric and how the question is put. What is known of one is not known of another.
func (p *Panel) ID() string {
	return "judge@" + digest(promptVersion, p.c.Host(), p.c.Model(), p.o.Rubric)[:12]
}

// RubricDigest is the version of the panel's rubric.
func (p *Panel) RubricDigest() string { return RubricDigest(p.o.Rubric) }

// RubricDigest is a rubric's version: the sha256 of its text, without blanks around it.
func RubricDigest(rubric string) string { return digest(strings.TrimSpace(rubric)) }

// Model is the model that is asked.
func (p *Panel) Model() string { return p.c.Model() }

// Votes is how many votes a question takes.
func (p *Panel) Votes() int { return p.o.Votes }

// digest is the sha256, in hex, over texts: one of them is what it is asked for, several are told apart by their lengths.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		if len(texts) > 1 {
			fmt.Fprintf(h, "%d ", len(t))
		}
		h.Write([]byte(t))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Judge implements Judge. An error says that no opinion was come to, and that asking later may bring one: *Spent, *llm.Unavailable, *llm.Refused (of the
// endpoint: a wrong key, a model that is not there), or of ctx. The votes that were given until then went to Keep.
func (p *Panel) Judge(ctx context.Context, q Question) (Opinion, error) {
	shown := show(q.Run, q.Signs, p.o.MaxBytes)
	op := Opinion{Outcome: NotDecided, Votes: slices.Clone(q.Have), Judge: p.ID(), Digest: p.digest(shown), Cut: shown.cut}
	if q.Cached != nil && len(op.Votes) < p.o.Votes {
		if votes := q.Cached(ctx, op.Digest); len(votes) >= p.o.Votes {
			op.Votes = votes
		}
	}
	if err := p.verify(q, shown); err != nil && len(op.Votes) < p.o.Votes {
		op.Why = "it is not sent: the second look at what redaction left says " + err.Error()
		return op, nil
	}
	for len(op.Votes) < p.o.Votes {
		v, err := p.vote(ctx, q, shown, len(op.Votes))
		if refused, ok := errors.AsType[*llm.Refused](err); ok && refused.Status == 0 { // by whoever looks at what is sent
			op.Why = refused.Why
			return op, nil
		}
		if err != nil {
			return op, err
		}
		op.Votes = append(op.Votes, v)
		if q.Keep != nil {
			if err := q.Keep(ctx, op.Votes); err != nil {
				return op, err
			}
		}
	}
	op.Votes = op.Votes[:p.o.Votes]
	p.count(&op, q.Run)
	return op, nil
}

// digest names the question: who judges, what may be answered, and the run as it is shown.
func (p *Panel) digest(s shown) string {
	texts := []string{p.ID(), s.text}
	for _, c := range p.o.Taxonomy {
		texts = append(texts, string(c.Label), c.Means)
	}
	return digest(texts...)
}

func (p *Panel) verify(q Question, s shown) error {
	if q.Verify == nil {
		return errors.New("nobody redacted it")
	}
	return q.Verify([]byte(s.text))
}
