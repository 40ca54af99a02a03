package triage

import "net/http"

// me is who asks, as pawl knows them.
type me struct {
	Kind     string   `json:"kind"` // always "me"
	Name     string   `json:"name"` // "" where nobody said
	Role     Role     `json:"role"`
	Services []string `json:"services"` // globs of those that may be seen; empty: all
}

// whoami answers GET /v1/me, so that a program can see what its token may do before it uses it.
func (h *handler) whoami(w http.ResponseWriter, r *http.Request) {
	t := callerOf(r.Context())
	h.answer(w, me{"me", t.Name, t.Role(), append([]string{}, t.Services...)}, nil)
}
