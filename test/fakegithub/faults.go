package fakegithub

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"time"
)

// Kind is a way to misbehave.
type Kind string

const (
	// DropBefore closes the connection before anything happens.
	DropBefore Kind = "drop-before"
	// DropAfter acts, then closes the connection.
	DropAfter Kind = "drop-after"
	// BadGatewayAfter acts, then answers 502.
	BadGatewayAfter Kind = "502-after"
	// TruncateAfter acts, then answers with half of the body.
	TruncateAfter Kind = "truncate-after"
	// EmptyAfter acts, then answers with the right status and no body.
	EmptyAfter Kind = "empty-after"
	// HTMLAfter acts, then answers 200 with a web page.
	HTMLAfter Kind = "html-after"
	// Refuse500 and Refuse502 answer before anything happens.
	Refuse500 Kind = "500-before"
	// Refuse502 answers 502 before anything happens.
	Refuse502 Kind = "502-before"
	// Limit403Primary: nothing remains, with a reset time.
	Limit403Primary Kind = "403-primary"
	// Limit403Retry: a secondary limit with Retry-After.
	Limit403Retry Kind = "403-retry-after"
	// Limit403Bare: a secondary limit with no header that names a time.
	Limit403Bare Kind = "403-secondary"
	// Limit429Retry is 429 with Retry-After.
	Limit429Retry Kind = "429-retry-after"
	// Limit429Bare is 429 with nothing.
	Limit429Bare Kind = "429"
	// Redirect answers 307 to another path of this host.
	Redirect Kind = "307"
	// RedirectAway answers 301 to another host.
	RedirectAway Kind = "301-away"
	// Unauthorized answers 401: the credential ended before its time.
	Unauthorized Kind = "401"
	// DelayAfter acts, then keeps silent for Fault.Delay.
	DelayAfter Kind = "delay-after"
	// Act runs Fault.Do first and then answers as usual: a person's deed between two calls.
	Act Kind = "act"
	// StaleRefs acts, and the next Fault.Reads reads do not see the last change of a branch.
	StaleRefs Kind = "stale-refs"
	// StalePulls acts, and the next Fault.Reads reads do not see the newest pull request.
	StalePulls Kind = "stale-pulls"
)

// Fault makes one operation misbehave: after Skip calls of Op, for Times calls (0 means once).
type Fault struct {
	Op    string // create-ref, create-tree, create-commit, create-pull, get-ref, list-pulls, ...; "" = every one
	Kind  Kind
	Skip  int
	Times int
	Retry time.Duration // for the kinds with Retry-After; default 30 s
	Delay time.Duration // for DelayAfter
	Reads int           // for the stale kinds
	Do    func()        // for Act

	done int
}

// Inject adds faults.
func (f *Fake) Inject(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range faults {
		x.Times = max(1, x.Times)
		f.faults = append(f.faults, &x)
	}
}

// take gives the first fault that is due for an operation.
func (f *Fake) take(op string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var due *Fault
	for _, x := range f.faults {
		if x.Op != "" && x.Op != op || x.done >= x.Skip+x.Times {
			continue
		}
		if x.done++; due == nil && x.done > x.Skip {
			due = x
		}
	}
	return due
}

// refuses reports whether the fault answers instead of acting.
func (x *Fault) refuses() bool {
	return slices.Contains([]Kind{DropBefore, Refuse500, Refuse502, Limit403Primary, Limit403Retry, Limit403Bare, Limit429Retry, Limit429Bare, Redirect, RedirectAway, Unauthorized}, x.Kind)
}

// before does what a fault does instead of acting. It reports whether the request is answered.
func (x *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	retry := strconv.Itoa(int(max(x.Retry, 0).Seconds()))
	if x.Retry == 0 {
		retry = "30"
	}
	const secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	h := w.Header()
	switch x.Kind {
	case DropBefore:
		panic(http.ErrAbortHandler)
	case Refuse500:
		write(w, fail(500, "Server Error"))
	case Refuse502:
		write(w, fail(502, "Bad Gateway"))
	case Limit403Primary:
		h.Set("X-RateLimit-Limit", "5000")
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(10*time.Minute).Unix(), 10))
		write(w, fail(403, "API rate limit exceeded for user."))
	case Limit403Retry:
		h.Set("Retry-After", retry)
		write(w, fail(403, secondary))
	case Limit403Bare:
		write(w, fail(403, secondary))
	case Limit429Retry:
		h.Set("Retry-After", retry)
		write(w, fail(429, secondary))
	case Limit429Bare:
		write(w, fail(429, "Too many requests"))
	case Redirect:
		h.Set("Location", r.URL.Path+"-elsewhere")
		write(w, fail(307, "Moved"))
	case RedirectAway:
		h.Set("Location", "http://elsewhere.invalid"+r.URL.Path)
		write(w, fail(301, "Moved"))
	case Unauthorized:
		write(w, fail(401, "Bad credentials"))
	case Act:
		x.Do()
		return false
	default:
		return false
	}
	return true
}

// after spoils the answer of what was done.
func (x *Fault) after(w http.ResponseWriter, r *http.Request, out reply) {
	switch x.Kind {
	case DropAfter:
		panic(http.ErrAbortHandler)
	case BadGatewayAfter:
		write(w, fail(502, "Bad Gateway"))
	case TruncateAfter:
		raw := out.encode()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
		w.WriteHeader(out.status)
		_, _ = w.Write(raw[:len(raw)/2])
		panic(http.ErrAbortHandler)
	case EmptyAfter:
		w.WriteHeader(out.status)
	case HTMLAfter:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
	case DelayAfter:
		t := time.NewTimer(x.Delay)
		defer t.Stop()
		select {
		case <-t.C:
			write(w, out)
		case <-r.Context().Done():
		}
	default:
		write(w, out)
	}
}

// Transport carries requests to the handler without a socket, so that a test inside synctest can use it: a dropped connection is an
// error, a cut answer a body that ends too early, and a caller's deadline ends the wait.
func (f *Fake) Transport() http.RoundTripper { return inProcess{f} }

type inProcess struct{ h http.Handler }

type served struct {
	resp *http.Response
	err  error
}

// RoundTrip serves the request in a goroutine of its own.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	done := make(chan served, 1)
	go func() { done <- t.serve(req) }()
	select {
	case s := <-done:
		return s.resp, s.err
	case <-req.Context().Done():
		<-done // the handler sees the same context and ends; nothing outlives the call
		return nil, req.Context().Err()
	}
}

func (t inProcess) serve(req *http.Request) (out served) {
	in := req.Clone(req.Context())
	in.RequestURI = req.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			out = aborted(rec, req)
		}
	}()
	t.h.ServeHTTP(rec, in)
	resp := rec.Result()
	resp.Request = req
	return served{resp: resp}
}

// aborted is what a client sees of a handler that gave up: nothing, or a head and a part of the body.
func aborted(rec *httptest.ResponseRecorder, req *http.Request) served {
	if rec.Body.Len() == 0 {
		return served{err: io.ErrUnexpectedEOF}
	}
	resp := rec.Result()
	resp.Request = req
	resp.Body = io.NopCloser(io.MultiReader(resp.Body, errReader{io.ErrUnexpectedEOF}))
	return served{resp: resp}
}

type errReader struct{ err error }

// Read gives the error.
func (e errReader) Read([]byte) (int, error) { return 0, e.err }
