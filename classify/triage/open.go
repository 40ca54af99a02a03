package triage

import (
	"cmp"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
)

// open answers POST /v1/open with {"repo": "owner/name"}: the repository's warm-up ends, or what stopped after too many new failures goes on. It needs a token
// that decides.
func (h *handler) open(w http.ResponseWriter, r *http.Request) {
	caller := callerOf(r.Context())
	if !caller.Decides {
		h.fail(w, http.StatusForbidden, "this token reads: opening needs one whose role in pawl.yaml is triager or admin")
		return
	}
	var ask struct {
		Repo string `json:"repo"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(body, &ask, json.RejectUnknownMembers(true))
	}
	if err != nil || ask.Repo == "" {
		h.fail(w, http.StatusBadRequest, `send {"repo": "owner/name"}, one that a line of targets names`)
		return
	}
	h.answer(w, struct {
		Kind string `json:"kind"` // always "open"
		Repo string `json:"repo"`
	}{"open", ask.Repo}, h.src.Open(r.Context(), ask.Repo, cmp.Or(caller.Name, "somebody without a token")))
}
