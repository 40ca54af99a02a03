package home

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// client asks one home. It is a value: a copy of it may be made patient.
type client struct {
	base     *url.URL
	head     http.Header
	user     *url.Userinfo
	http     *http.Client // to the home itself
	links    *http.Client // to the hosts that hold content for it
	hosts    []string     // those hosts
	maxBytes int64
	patient  bool // asks again, and waits as long as it is told to, within reason
}

const (
	answerTimeout = time.Minute
	maxBytes      = 64 << 20
	maxRedirects  = 5
	tries         = 5
	maxPause      = 2 * time.Minute // a home that asks for more has failed
)

func newClient(o Options, base *url.URL) client {
	c := client{base: base, head: http.Header{"Accept": {"application/json"}, "User-Agent": {"pawl"}}, maxBytes: cmp.Or(o.MaxBytes, maxBytes), hosts: o.Links}
	switch {
	case o.Kind == LangSmith:
		c.head.Set("X-Api-Key", o.Key)
	case o.Secret != "":
		c.user = url.UserPassword(o.Key, o.Secret)
	case o.Key != "":
		c.head.Set("Authorization", "Bearer "+o.Key)
	}
	if o.Kind == Tempo && o.Project != "" {
		c.head.Set("X-Scope-OrgID", o.Project)
	}
	near, far := o.Transport, o.Transport
	if near == nil {
		near, far = toHome(base), outside()
	}
	c.http = &http.Client{Transport: near, Timeout: answerTimeout, CheckRedirect: sameHost}
	c.links = &http.Client{Transport: far, Timeout: answerTimeout, CheckRedirect: sameHost}
	return c
}

// sameHost lets a request be sent on only within its host, and never from TLS to plain text.
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case next.URL.Host != first.Host || first.Scheme == "https" && next.URL.Scheme != "https":
		return &redirectError{next.URL.Scheme + "://" + next.URL.Host}
	case len(via) >= maxRedirects:
		return errors.New("it sends from one page to the next without end")
	}
	return nil
}

type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("it sends on to %s, where pawl does not follow: if that is the home's address, write it as its url", e.to)
}

// StatusError is an answer that is none.
type StatusError struct {
	Status int
	Said   string // in the home's words, cut
}

func (e *StatusError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("it answers %d", e.Status)
	}
	return fmt.Sprintf("it answers %d: %s", e.Status, e.Said)
}

// RefusedError says that the home lets us not in, or not to this.
type RefusedError struct{ StatusError }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("it refuses the key (%s): check url, key, secret and project", (&e.StatusError).Error())
}

// BusyError says when to ask again.
type BusyError struct {
	After time.Duration
	Said  string
}

func (e *BusyError) Error() string { return fmt.Sprintf("%s; ask again in %s", e.Said, e.After) }

// notJSON is an answer in another form: the page for people, mostly.
type notJSON struct{ kind string }

func (e *notJSON) Error() string {
	return fmt.Sprintf("it answers %s and not JSON: is the url the API's?", cmp.Or(e.kind, "something"))
}

// get asks by GET. The answer is JSON.
func (c client) get(ctx context.Context, path string, q url.Values) ([]byte, error) {
	return c.ask(ctx, http.MethodGet, path, q, nil)
}

// post sends a query as JSON.
func (c client) post(ctx context.Context, path string, body any) ([]byte, error) {
	doc, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, http.MethodPost, path, nil, doc)
}

// ask asks once, or as often as a patient client does.
func (c client) ask(ctx context.Context, method, path string, q url.Values, body []byte) ([]byte, error) {
	for n := 1; ; n++ {
		got, err := c.once(ctx, method, path, q, body)
		pause, again := pauseAfter(err, n)
		if err == nil || !c.patient || !again || n == tries || pause > maxPause {
			return got, err
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		case <-t.C:
		}
	}
}

// pauseAfter says whether the n-th try may be followed by another, and when.
func pauseAfter(err error, n int) (time.Duration, bool) {
	if busy, ok := errors.AsType[*BusyError](err); ok {
		return busy.After, true
	}
	if s, ok := errors.AsType[*StatusError](err); ok {
		return time.Second << n, s.Status >= 500 && s.Status != http.StatusNotImplemented
	}
	_, off := errors.AsType[*redirectError](err)
	_, page := errors.AsType[*notJSON](err)
	_, no := errors.AsType[*RefusedError](err)
	return time.Second << n, !off && !page && !no && !errors.Is(err, errTooLarge) && !errors.Is(err, errUnreachable)
}

func (c client) once(ctx context.Context, method, path string, q url.Values, body []byte) ([]byte, error) {
	at := c.base.JoinPath(path) // it keeps what is escaped in path
	at.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = c.head.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.user != nil {
		secret, _ := c.user.Password()
		req.SetBasicAuth(c.user.Username(), secret)
	}
	return c.exchange(c.http, req)
}

// exchange sends a request and reads its answer.
func (c client) exchange(by *http.Client, req *http.Request) ([]byte, error) {
	res, err := by.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok { // it repeats the address, whose query is no business of a log's
			err = e.Err
		}
		return nil, fmt.Errorf("ask %s: %w", req.URL.Host, err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(io.LimitReader(res.Body, c.maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", req.URL.Host, err)
	case int64(len(got)) > c.maxBytes:
		return nil, fmt.Errorf("%w: an answer of more than %d bytes", errTooLarge, c.maxBytes)
	case res.StatusCode != http.StatusOK:
		return nil, failed(res, got)
	}
	if first := bytes.TrimLeft(got, " \t\r\n"); len(first) == 0 || first[0] != '{' && first[0] != '[' {
		kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
		return nil, &notJSON{kind}
	}
	return got, nil
}

var errTooLarge = errors.New("too large")

// failed tells what an answer that is none means.
func failed(res *http.Response, body []byte) error {
	s := StatusError{res.StatusCode, words(body)}
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &RefusedError{s}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &BusyError{cmp.Or(retryAfter(res.Header, time.Now()), 30*time.Second), s.Error()}
	}
	return &s
}

// retryAfter reads seconds, whole or not, or a date. 0 is for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1e6 {
		return time.Duration(math.Ceil(n)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now).Round(time.Second)
	}
	return 0
}

const maxWords = 200

// words are what an answer says went wrong, by the names that the vendors use, on one line.
func words(body []byte) string {
	var said struct {
		Message, Detail, Msg, Error jsontext.Value
		Errors                      []struct{ Msg, Message string }
	}
	_ = json.Unmarshal(body, &said, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	text := ""
	for _, v := range []jsontext.Value{said.Message, said.Detail, said.Msg, said.Error} {
		if text = cmp.Or(text, plain(v)); text != "" {
			break
		}
	}
	if text == "" && len(said.Errors) > 0 {
		text = cmp.Or(said.Errors[0].Msg, said.Errors[0].Message)
	}
	if text == "" && bytes.IndexByte(body, '<') < 0 {
		text = string(body)
	}
	return cut(strings.Join(strings.Fields(text), " "))
}

func plain(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		s, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return ""
		}
		return string(s)
	case '{', '[':
		var inner struct{ Message string }
		if json.Unmarshal(v, &inner) == nil && inner.Message != "" {
			return inner.Message
		}
		return string(v)
	}
	return ""
}

func cut(s string) string {
	if s = strings.ToValidUTF8(s, "?"); len(s) <= maxWords {
		return s
	}
	return strings.ToValidUTF8(s[:maxWords], "") + "..."
}

// missing says that the answer is no answer of the endpoint, so that an older or a newer one may be there.
func missing(err error) bool {
	if _, page := errors.AsType[*notJSON](err); page {
		return true
	}
	s, ok := errors.AsType[*StatusError](err)
	return ok && (s.Status == http.StatusNotFound || s.Status == http.StatusGone || s.Status == http.StatusMethodNotAllowed || s.Status == http.StatusNotImplemented)
}

// statusOf is the status of an answer that is none.
func statusOf(err error) (int, bool) {
	s, ok := errors.AsType[*StatusError](err)
	if !ok {
		return 0, false
	}
	return s.Status, true
}
