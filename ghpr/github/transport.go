package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxAnswer      = 32 << 20 // bytes of a good answer
	maxErrorAnswer = 64 << 10 // bytes of an error's answer
	reserve        = 100      // requests kept back for reading: an intent in doubt must always be able to look
)

// wire is the lowest layer of the client, below authentication. It sees what really goes out and comes back: it keeps
// requests on the one host, reads the whole capped answer, turns every answer that is no success into an Error, and
// remembers the limits. go-github above it sees sound JSON successes only, and no rate headers: it would else refuse calls by itself.
type wire struct {
	base     *url.URL
	next     http.RoundTripper
	kept     kept
	outgoing func(final []byte) error

	mu        sync.Mutex
	notBefore time.Time // no call before
	noWrites  time.Time // no write before: the reserve is reached
	strikes   int
}

// RoundTrip sends one request, once.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != w.base.Scheme || req.URL.Host != w.base.Host {
		drain(req.Body)
		return nil, &Error{Kind: Moved, Message: fmt.Sprintf("refused to leave %s for %s", w.base.Host, req.URL.Host)}
	}
	out := once(req)
	if err := w.inspect(out); err != nil {
		drain(req.Body)
		return nil, err
	}
	known, asked := w.kept.ask(out)
	resp, err := w.next.RoundTrip(out)
	if err != nil {
		return nil, &Error{Kind: Unknown, Message: hide(err.Error(), req), cause: context.Cause(req.Context())} // err itself may hold the credential
	}
	if asked && resp.StatusCode == http.StatusNotModified {
		drain(resp.Body)
		known.again(resp)
	}
	if err := w.judge(req, resp); err != nil {
		err.Message = hide(err.Message, req)
		return nil, err
	}
	return resp, nil
}

// inspect is the one place that every byte of ours passes on its way to GitHub. What is refused here has not left. A read's address is made of names that were
// written before, and passes without a look; a read that carries a body does not.
func (w *wire) inspect(req *http.Request) error {
	if w.outgoing == nil || !isWrite(req) && req.Body == nil {
		return nil
	}
	var body []byte
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return &Error{Kind: Invalid, Message: "not sent: its body cannot be read: " + err.Error(), cause: err}
		}
		body = b
		req.Body = io.NopCloser(bytes.NewReader(b))
	}
	for _, final := range [][]byte{[]byte(req.URL.RequestURI()), body} {
		if err := w.outgoing(final); err != nil {
			return &Error{Kind: Invalid, Message: "not sent: " + err.Error(), cause: err}
		}
	}
	return nil
}

// once makes a request that net/http will not send a second time by itself.
func once(req *http.Request) *http.Request {
	out := req.Clone(req.Context())
	out.Header.Del("Idempotency-Key")
	out.Header.Del("X-Idempotency-Key")
	if isWrite(out) {
		out.GetBody = nil
	}
	return out
}

func isWrite(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead
}

// judge reads the answer to its end and leaves a replayed body in place of a good one.
func (w *wire) judge(req *http.Request, resp *http.Response) *Error {
	defer drain(resp.Body)
	cap := maxAnswer
	if resp.StatusCode >= 300 {
		cap = maxErrorAnswer
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(cap)+1))
	odd := func(text string, cause error) *Error {
		return &Error{Kind: Unknown, Status: resp.StatusCode, Message: text, RequestID: resp.Header.Get("X-GitHub-Request-Id"), cause: cause}
	}
	switch code := resp.StatusCode; {
	case code >= 400:
		return w.refused(code, resp.Header, message(body[:min(len(body), cap)]))
	case code == http.StatusNotModified:
		return odd("not modified, and nothing was known", nil)
	case code >= 300 && !isWrite(req):
		resp.Body = http.NoBody // the client follows it, on this host only
		return nil
	case code >= 300:
		return &Error{Kind: Moved, Status: code, Message: "a write was redirected: the repository was renamed or moved"}
	case code == http.StatusAccepted:
		return odd("accepted, not done", nil)
	case err != nil:
		return odd("answer cut short: "+err.Error(), err)
	case len(body) > cap:
		return odd(fmt.Sprintf("answer larger than %d bytes", cap), nil)
	case !json.Valid(body):
		return odd("answer is not JSON", nil)
	}
	w.kept.keep(req, resp, body)
	w.passed(resp.Header, isWrite(req))
	for _, h := range []string{"Limit", "Remaining", "Reset", "Used"} {
		resp.Header.Del("X-RateLimit-" + h)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

func (w *wire) refused(code int, h http.Header, text string) *Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := refusal(code, h, text, time.Now(), w.strikes)
	if e.Kind == Limited {
		w.strikes++
		if e.NotBefore.After(w.notBefore) {
			w.notBefore = e.NotBefore
		}
	}
	return e
}

// passed notes the budget that is left. Only a write that passes clears the strikes: reads pass under a limit on writes.
func (w *wire) passed(h http.Header, write bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if write {
		w.strikes = 0
	}
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil || left > reserve {
		return
	}
	if limit, err := strconv.Atoi(h.Get("X-RateLimit-Limit")); err == nil && limit <= 2*reserve {
		return // a server with a budget this small leaves no room for a reserve
	}
	if t, ok := resetTime(h); ok {
		now := time.Now()
		w.noWrites = now.Add(max(0, t.Sub(remoteNow(h, now))) + resetSkew)
	}
}

// open reports whether a call may leave now; if not, the Error says when.
func (w *wire) open(write bool) *Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	until, why := w.notBefore, "waiting as GitHub asked"
	if write && w.noWrites.After(until) {
		until, why = w.noWrites, fmt.Sprintf("fewer than %d requests left, kept for reading", reserve)
	}
	if time.Now().Before(until) {
		return &Error{Kind: Limited, Message: why, NotBefore: until}
	}
	return nil
}

// follow is the http.Client's redirect rule: reads only, this host only, three hops.
func (w *wire) follow(req *http.Request, via []*http.Request) error {
	switch {
	case isWrite(via[0]):
		return &Error{Kind: Moved, Message: "a write was redirected"}
	case req.URL.Scheme != w.base.Scheme || req.URL.Host != w.base.Host:
		return &Error{Kind: Moved, Message: "redirected to another host: " + req.URL.Host}
	case len(via) > 3:
		return &Error{Kind: Moved, Message: "redirected too often"}
	}
	return nil
}

// hide takes the request's own credential out of a text, by value: formats of tokens change.
func hide(text string, req *http.Request) string {
	_, cred, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if cred == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, cred, "[credential]"), url.QueryEscape(cred), "[credential]")
}

func drain(body io.ReadCloser) {
	if body != nil {
		body.Close()
	}
}

// asError finds our Error in a chain, or makes an Unknown one: an error that nothing explains proves nothing.
func asError(op string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		out := *e
		out.Op = op
		return &out
	}
	return &Error{Op: op, Kind: Unknown, Message: err.Error(), cause: err}
}
