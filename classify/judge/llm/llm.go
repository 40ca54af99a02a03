// Package llm asks a language model one thing: a thin client over the official SDKs of OpenAI (chat completions, which many other servers speak too)
// and Anthropic (messages).
//
// What it holds:
//   - Nothing is read from the environment: key, base URL and model are those of Options.
//   - One request an Ask. It is sent anew only when the endpoint refuses a field that can be done without (temperature, seed, the form of the answer,
//     the name of the token limit), once for each; the client remembers, and no later request has the field. A refused request costs nothing.
//   - No redirect is followed, no answer over 4 MiB is read, and the key stands in no error.
//   - The SDKs' own retries and tracing are off: how often to ask is the caller's to say, since every question costs.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// The protocols.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
)

// Where the protocols are spoken when Options name no other place.
const (
	OpenAIURL    = "https://api.openai.com/v1"
	AnthropicURL = "https://api.anthropic.com"
)

// Options say which model is asked, and how.
type Options struct {
	API         string            // OpenAI or Anthropic
	BaseURL     string            // "" is the vendor's own: https://api.openai.com/v1, https://api.anthropic.com
	Model       string            // as the endpoint calls it, with its version
	Key         string            // "" where the endpoint wants none
	Transport   http.RoundTripper // nil is http.DefaultTransport
	Price       *Price            // nil: Answer.USD is nil
	Timeout     time.Duration     // of one request; 0 is 2 minutes
	MaxTokens   int               // of an answer; 0 is 2048
	Temperature *float64          // nil: not sent; left out where the model refuses it
}

// Price is what tokens cost, in USD per million.
type Price struct{ In, Out float64 }

// USD is what so many tokens cost.
func (p Price) USD(in, out int) float64 {
	return (float64(in)*p.In + float64(out)*p.Out) / 1e6
}

// Turn is one message of a conversation.
type Turn struct {
	Role string // RoleUser or RoleAssistant
	Text string
}

// The roles of a turn.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Request is one question.
type Request struct {
	System string
	Turns  []Turn
	Schema []byte // JSON Schema of the answer, an object; nil: free text. The endpoint is asked to hold to it; the caller checks
	Name   string // of the schema, [A-Za-z0-9_-]{1,64}; "" is "answer"
	Seed   *int64 // sent where the protocol has it (OpenAI)
}

// Answer is what the model said and what it cost.
type Answer struct {
	Text                      string
	Model                     string // as the endpoint says that it answered
	Cut                       bool   // the limit of tokens was reached: the text is not whole
	InputTokens, OutputTokens int    // as the endpoint counts them, caches included
	USD                       *float64
}

// Refused says that the endpoint or the model said no: asking the same again changes nothing.
type Refused struct {
	Status int    // of HTTP; 200 if the model itself declined
	Why    string // the endpoint's own words, shortened
	Answer Answer // what it cost, where the model itself declined
	field  string // the field that was refused, "" if none is named
}

// Error implements error.
func (r *Refused) Error() string {
	if r.Status == http.StatusOK {
		return "the model declined to answer: " + r.Why
	}
	return fmt.Sprintf("the model's endpoint refused (HTTP %d): %s", r.Status, r.Why)
}

// Unavailable says that no answer came, and that asking later may bring one. Whether the question was answered and billed is then unknown.
type Unavailable struct {
	Status     int           // of HTTP; 0 if there was no answer at all
	RetryAfter time.Duration // as the endpoint wished; 0 if it named none
	Err        error
}

// Error implements error.
func (u *Unavailable) Error() string {
	if u.Status == 0 {
		return fmt.Sprintf("the model's endpoint does not answer: %v", u.Err)
	}
	return fmt.Sprintf("the model's endpoint cannot answer now (HTTP %d): %v", u.Status, u.Err)
}

// Unwrap gives what happened.
func (u *Unavailable) Unwrap() error { return u.Err }

// Client asks one model. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
	send func(context.Context, Request, map[string]bool) (Answer, error)

	mu      sync.Mutex
	without map[string]bool // fields that this model refused
}

const (
	maxAnswer      = 4 << 20
	defaultTimeout = 2 * time.Minute
	defaultTokens  = 2048
)

// New checks the options. It sends nothing.
func New(o Options) (*Client, error) {
	o.BaseURL = cmp.Or(o.BaseURL, map[string]string{OpenAI: OpenAIURL, Anthropic: AnthropicURL}[o.API])
	u, err := url.Parse(o.BaseURL)
	switch {
	case o.API != OpenAI && o.API != Anthropic:
		return nil, fmt.Errorf("model api %q is none: want %s or %s", o.API, OpenAI, Anthropic)
	case err != nil:
		return nil, fmt.Errorf("model base url: %w", err)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("model base url %q is none: want https://host/v1", u.Redacted())
	case u.User != nil:
		return nil, errors.New("model base url holds a password: give the key by itself")
	case o.Model == "":
		return nil, errors.New("the model is not named: name it with its version")
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = defaultTokens
	}
	c := &Client{o: o, without: map[string]bool{}}
	c.http = &http.Client{Transport: bounded{o.Transport}, CheckRedirect: noRedirect}
	c.send = c.openAI()
	if o.API == Anthropic {
		c.send = c.anthropic()
	}
	return c, nil
}

// Model is the model that is asked, as Options name it.
func (c *Client) Model() string { return c.o.Model }

// Host is where it is asked, without path or key.
func (c *Client) Host() string {
	u, err := url.Parse(c.o.BaseURL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Ask sends r and waits for the answer. Errors are *Refused, *Unavailable, or of ctx.
func (c *Client) Ask(ctx context.Context, r Request) (Answer, error) {
	if len(r.Turns) == 0 {
		return Answer{}, errors.New("ask a model: the request has no turn")
	}
	r.Name = cmp.Or(r.Name, "answer")
	without := c.refusedFields()
	for {
		a, err := c.send(ctx, r, without)
		if ctx.Err() != nil && err != nil {
			return Answer{}, fmt.Errorf("ask a model: %w", context.Cause(ctx))
		}
		refused, ok := errors.AsType[*Refused](err)
		if !ok || refused.field == "" || without[refused.field] {
			c.leaveOut(without, err)
			return c.priced(a), err
		}
		without[refused.field] = true
	}
}

func (c *Client) refusedFields() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.without)
}

// leaveOut remembers what a request had to do without, once it went well: else the blame may lie elsewhere.
func (c *Client) leaveOut(fields map[string]bool, err error) {
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.without, fields)
}

func (c *Client) priced(a Answer) Answer {
	if c.o.Price != nil && a.InputTokens+a.OutputTokens > 0 {
		a.USD = new(c.o.Price.USD(a.InputTokens, a.OutputTokens))
	}
	return a
}

// declined is the model's own no.
func (c *Client) declined(why string, a Answer) error {
	return &Refused{Status: http.StatusOK, Why: c.said(why), Answer: c.priced(a)}
}

// failed turns an HTTP status of 400 or more, with the endpoint's words, into an error. field is what the endpoint blames, if it says so.
func (c *Client) failed(res *http.Response, status int, words, field string) error {
	words = c.said(cmp.Or(words, http.StatusText(status)))
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		return &Unavailable{Status: status, RetryAfter: retryAfter(res, time.Now()), Err: errors.New(words)}
	}
	return &Refused{Status: status, Why: words, field: optional(field, words, status)}
}

// unreached turns what is no answer of HTTP into an error.
func (c *Client) unreached(err error) error {
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused
	}
	return &Unavailable{Err: errors.New(c.said(err.Error()))}
}

// said shortens what an endpoint wrote and takes the key out.
func (c *Client) said(words string) string {
	if c.o.Key != "" {
		words = strings.ReplaceAll(words, c.o.Key, "[key]")
	}
	words = strings.Join(strings.Fields(words), " ")
	if r := []rune(words); len(r) > 300 {
		words = string(r[:300]) + "..."
	}
	return words
}

// The fields that can be done without.
const (
	fieldTemperature = "temperature"
	fieldSeed        = "seed"
	fieldFormat      = "response_format"
	fieldLimit       = "max_completion_tokens"
)

// optional says which field that can be done without a refusal is about, "" if none.
func optional(field, words string, status int) string {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return ""
	}
	text := strings.ToLower(field + " " + words)
	for _, c := range []struct{ sign, field string }{
		{"temperature", fieldTemperature}, {"seed", fieldSeed},
		{"response_format", fieldFormat}, {"output_config", fieldFormat}, {"output_format", fieldFormat}, {"json_schema", fieldFormat}, {"output format", fieldFormat}, {"structured output", fieldFormat},
	} {
		if strings.Contains(text, c.sign) {
			return c.field
		}
	}
	if strings.Contains(text, "max_tokens") || strings.Contains(text, "max_completion_tokens") {
		for _, sign := range []string{"support", "unrecognized", "unknown", "unexpected", "permitted", "extra"} { // and not: too large, or the context is full
			if strings.Contains(text, sign) {
				return fieldLimit
			}
		}
	}
	return ""
}

// retryAfter reads what an answer says of when to come again: seconds or a date. At most an hour is believed.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	if res == nil {
		return 0
	}
	v := res.Header.Get("Retry-After")
	d, err := time.ParseDuration(v + "s")
	if at, dated := http.ParseTime(v); err != nil && dated == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), time.Hour)
}

func noRedirect(req *http.Request, _ []*http.Request) error {
	return &Refused{Status: http.StatusFound, Why: "it redirects to " + req.URL.Host + ", and the key goes to no other place: set the base url"}
}

// bounded reads no more of an answer than maxAnswer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}
