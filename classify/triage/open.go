package triage

import (
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
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
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, &ask, json.RejectUnknownMembers(true))
	}
	if err != nil || ask.Repo == "" {
		h.fail(w, http.StatusBadRequest, `send {"repo": "owner/name"}, one that a line of targets names`)
		return
	}
	h.answer(w, openAnswer{"open", ask.Repo}, h.src.Open(r.Context(), ask.Repo, callerOf(r.Context()).Name))
}
