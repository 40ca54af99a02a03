// Package embed asks an OpenAI-compatible endpoint for embeddings: POST <url>/embeddings with {"model","input"}, answered by {"data":[{"index",
// "embedding"}]}. Equal texts are asked for once: vectors are kept on disk, by the digest of endpoint, model and text.
//
// What is sent are the texts of cases, which are redacted, and the replies of the agent under test, which are not: Options.Clean redacts what is asked
// together, and Options.Outgoing has a last look at the bytes of a request before any of them leaves. The key stands in no error and no log.
//
// A cached vector is a file <dir>/<2 hex>/<62 hex>: the little-endian float32 values, then four bytes CRC-32 of them. A file that does not add up
// is as good as none.
package embed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Options say where embeddings come from.
type Options struct {
	URL     string            // base, as https://api.openai.com/v1 or http://127.0.0.1:11434/v1
	Model   string            // as the endpoint calls it
	Key     string            // sent as bearer token; "" for none
	Dir     string            // keeps vectors; "" keeps none
	Timeout time.Duration     // of one request; 0 is 30 s
	Tries   int               // of one request, when the endpoint is busy or down; 0 is 3
	Client  http.RoundTripper // nil is http.DefaultTransport
	// Clean gives texts that are compared with each other as they may be sent, or why they may not: equal values must stay equal. Default: as they are.
	Clean func(texts []string) ([]string, error)
	// Outgoing says of the body of a request what in it must not leave; then nothing of it does. Default: nothing.
	Outgoing func(final []byte) error
}

// Client asks for embeddings. It is safe for concurrent use.
type Client struct {
	lg    *slog.Logger
	o     Options
	url   string
	http  *http.Client
	cache *cache
}

// maxBatch is how many texts one request holds, maxAnswer how long its answer may be, in bytes.
const (
	maxBatch  = 64
	maxAnswer = 64 << 20
	maxWait   = 30 * time.Second // between two tries, whatever the endpoint wishes
)

// New checks the options. It sends nothing.
func New(lg *slog.Logger, o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("embeddings url: %w", err)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("embeddings url %q is none: want https://host/v1", u.Redacted())
	case u.User != nil:
		return nil, errors.New("embeddings url holds a password: give the key by itself")
	case o.Model == "":
		return nil, errors.New("embeddings model is not named: set it, for example to text-embedding-3-small")
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Tries <= 0 {
		o.Tries = 3
	}
	c := &Client{lg: lg.With("component", "embed"), o: o, url: strings.TrimRight(o.URL, "/") + "/embeddings"}
	c.http = &http.Client{Transport: o.Client, Timeout: o.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if o.Dir != "" {
		c.cache = &cache{dir: o.Dir}
	}
	return c, nil
}

// Embedder is what match.Matcher and oracle.Oracle take: it embeds under ctx.
func (c *Client) Embedder(ctx context.Context) func(texts ...string) ([][]float32, error) {
	return func(texts ...string) ([][]float32, error) { return c.Embed(ctx, texts...) }
}

// Embed returns one vector for each text, all of one length. It asks only for those that are not kept.
func (c *Client) Embed(ctx context.Context, texts ...string) ([][]float32, error) {
	if c.o.Clean != nil {
		cleaned, err := c.o.Clean(texts)
		if err != nil {
			return nil, fmt.Errorf("not sent: %w", err)
		}
		texts = cleaned
	}
	out := make([][]float32, len(texts))
	var ask []int // of equal texts the first
	for i, t := range texts {
		if v, ok := c.cache.get(c.digest(t)); ok {
			out[i] = v
		} else if slices.Index(texts, t) == i {
			ask = append(ask, i)
		}
	}
	for batch := range slices.Chunk(ask, maxBatch) {
		if err := c.batch(ctx, texts, batch, out); err != nil {
			return nil, err
		}
	}
	for i, t := range texts {
		if out[i] == nil {
			out[i] = out[slices.Index(texts, t)]
		}
		if len(out[i]) != len(out[0]) {
			return nil, fmt.Errorf("embeddings of model %s differ in length: empty the cache in %s", c.o.Model, c.o.Dir)
		}
	}
	return out, nil
}

// batch asks for some of the texts and keeps what came.
func (c *Client) batch(ctx context.Context, texts []string, which []int, out [][]float32) error {
	input := make([]string, len(which))
	for n, i := range which {
		input[n] = texts[i]
	}
	vectors, err := c.request(ctx, input)
	if err != nil {
		return err
	}
	for n, i := range which {
		out[i] = vectors[n]
		if err := c.cache.put(c.digest(texts[i]), vectors[n]); err != nil {
			c.lg.Warn("embedding was not kept, so it will be asked for again", "error", err)
		}
	}
	return nil
}

func (c *Client) digest(text string) string {
	sum := sha256.Sum256([]byte(c.url + "\x00" + c.o.Model + "\x00" + text))
	return hex.EncodeToString(sum[:])
}

// request asks until it is answered, as often as Tries says while the endpoint is busy or down.
func (c *Client) request(ctx context.Context, input []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": c.o.Model, "input": input, "encoding_format": "float"}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("embeddings request: %w", err)
	}
	if c.o.Outgoing != nil {
		if err := c.o.Outgoing(body); err != nil {
			return nil, fmt.Errorf("not sent: %w", err)
		}
	}
	for try := 1; ; try++ {
		vectors, wait, err := c.once(ctx, body, len(input))
		if err == nil || wait < 0 || try >= c.o.Tries {
			return vectors, err
		}
		if wait == 0 {
			wait = time.Second << (try - 1)
		}
		c.lg.Info("embeddings endpoint is busy", "try", try, "wait", min(wait, maxWait), "error", err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("embeddings: %w", ctx.Err())
		case <-time.After(min(wait, maxWait)):
		}
	}
}

// once sends one request. wait says how long to hold off before the next, 0 for no word of it, and is negative where another makes no sense.
func (c *Client) once(ctx context.Context, body []byte, n int) (vectors [][]float32, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, -1, fmt.Errorf("embeddings request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, -1, fmt.Errorf("embeddings: %w", ctx.Err())
		}
		return nil, 0, fmt.Errorf("embeddings endpoint cannot be reached: %w; check its url", err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("embeddings answer: %w", err)
	case len(answer) > maxAnswer:
		return nil, -1, fmt.Errorf("embeddings answer is longer than %d MiB", maxAnswer>>20)
	case res.StatusCode != http.StatusOK:
		return nil, holdOff(res), c.refused(res, answer)
	}
	vectors, err = parse(answer, n)
	return vectors, -1, err
}

// holdOff reads when to try again: never for what is wrong with the request.
func holdOff(res *http.Response) time.Duration {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode < 500 {
		return -1
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		return time.Duration(min(s, 3600)) * time.Second
	}
	return 0
}

// refused says what an endpoint answered, and what to do.
func (c *Client) refused(res *http.Response, answer []byte) error {
	var told struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := string(answer)
	if json.Unmarshal(answer, &told) == nil && told.Error.Message != "" {
		text = told.Error.Message
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if c.o.Key != "" {
		text = strings.ReplaceAll(text, c.o.Key, "***")
	}
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	next := "see what the endpoint says"
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		next = "check the key"
	case res.StatusCode == http.StatusNotFound:
		next = "check that the url ends in /v1, as the endpoint wants it, and that it has model " + c.o.Model
	case res.StatusCode/100 == 3:
		next = "give the url that it leads to: redirects are not followed"
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		next = "try again later"
	}
	return fmt.Errorf("embeddings endpoint answered %s: %s; %s", res.Status, text, next)
}

// parse reads an answer for n texts.
func parse(answer []byte, n int) ([][]float32, error) {
	var a struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("embeddings answer is not what the API promises: %w", err)
	}
	out := make([][]float32, n)
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || out[at] != nil {
			return nil, fmt.Errorf("embeddings answer has index %d for %d texts", at, n)
		}
		out[at] = d.Embedding
	}
	for i, v := range out {
		if len(v) == 0 || len(v) != len(out[0]) || slices.ContainsFunc(v, func(f float32) bool { return math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) }) {
			return nil, fmt.Errorf("embeddings answer has no usable vector for text %d of %d", i+1, n)
		}
	}
	return out, nil
}
