package github

import (
	"errors"
	"net/http"
	"sync"
)

// renewing carries requests with an installation's token. A token may end before its time, for instance when the App's permissions change: a 401
// gets a new one, once. The request that was refused did nothing, so it may be sent again.
type renewing struct {
	fresh func() http.RoundTripper // with no token yet

	mu  sync.Mutex
	now http.RoundTripper
}

// RoundTrip sends the request, and once more with a new token if the one at hand is refused.
func (r *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	used := r.current()
	resp, err := used.RoundTrip(req)
	e, _ := errors.AsType[*Error](err)
	if e == nil || e.Status != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
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
	return r.renew(used).RoundTrip(again)
}

func (r *renewing) current() http.RoundTripper {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// renew replaces the transport whose token was refused, unless another call did so already.
func (r *renewing) renew(used http.RoundTripper) http.RoundTripper {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == used {
		r.now = r.fresh()
	}
	return r.now
}
