package triage

import (
	"net/http"
)

type openAsk struct {
	Repo string `json:"repo"`
}

type openAnswer struct {
	Kind string `json:"kind"` // always "open"
	Repo string `json:"repo"`
}

// open answers POST /v1/open with {"repo": "owner/name"}: the repository's warm-up ends, or what stopped after too many new failures goes on. It needs a token
// that decides.
func (h *handler) open(w http.ResponseWriter, r *http.Request) {
	var ask openAsk
	const form = `send {"repo": "owner/name"}, one that a line of targets names`
	if !h.sent(w, r, maxBody, &ask, form) {
		return
	}
	if ask.Repo == "" {
		h.fail(w, http.StatusBadRequest, form)
		return
	}
	h.answer(w, openAnswer{"open", ask.Repo}, h.src.Open(r.Context(), ask.Repo, callerOf(r.Context()).Name))
}
