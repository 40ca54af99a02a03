package github

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// renewing carries requests with an installation's token. A token may end before its time, for instance when the App's permissions change: a 401
// gets a new one, once. One that GitHub does not give, for want of a right, gives way to a lesser one. The request that was refused did nothing, so it may be
// sent again.
type renewing struct {
	fresh  func() http.RoundTripper                // with no token yet
	lesser func(context.Context) http.RoundTripper // the same, with the rights that there are; nil if those are not known

	mu  sync.Mutex
	now http.RoundTripper
	cut bool // now is a lesser one
}

// RoundTrip sends the request, and once more with a new token if the one at hand is refused.
func (r *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	used, cut := r.current()
	resp, err := r.send(req, used, cut)
	e, _ := errors.AsType[*Error](err)
	if e == nil || e.Status != http.StatusUnauthorized && !e.ungranted() || req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		body, bodyErr := req.GetBody()
		if bodyErr != nil {
			return nil, err
		}
		again.Body = body
	}
	if !e.ungranted() {
		return r.replace(used, r.fresh(), false).RoundTrip(again)
	}
	lesser := r.lesser(req.Context())
	if lesser == nil {
		return nil, err
	}
	return r.send(again, r.replace(used, lesser, true), true)
}

// send sends the request with a token. A refusal of a lesser one may be for the right that was missing: then the next call asks whether it is there by now.
func (r *renewing) send(req *http.Request, with http.RoundTripper, lesser bool) (*http.Response, error) {
	resp, err := with.RoundTrip(req)
	if e, _ := errors.AsType[*Error](err); lesser && e != nil && (e.Kind == Denied || e.Kind == Absent) && e.Status != http.StatusUnauthorized {
		r.replace(with, r.fresh(), false)
	}
	return resp, err
}

// ungranted says that GitHub gives no token, for a right that the installation has not.
func (e *Error) ungranted() bool {
	return e.Status == http.StatusUnprocessableEntity && e.Says("permissions requested are not granted")
}

func (r *renewing) current() (http.RoundTripper, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now, r.cut
}

// replace puts next in the place of the transport whose token was refused, unless another call did so already.
func (r *renewing) replace(used, next http.RoundTripper, cut bool) http.RoundTripper {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == used {
		r.now, r.cut = next, cut
	}
	return r.now
}
