package triage

import (
	"errors"
	"net/http"
	"strings"

	"github.com/pawl-dev/pawl/ratchet"
)

type mergeAsk struct {
	Into   string `json:"into"`
	Reason string `json:"reason"`
}

// merge answers POST /v1/groups/{id}/merge with {"into": ID, "reason": TEXT}: the group becomes an alias of the other, for good. It needs a token that decides.
func (h *handler) merge(w http.ResponseWriter, r *http.Request) {
	var ask mergeAsk
	const form = `send {"into": "the id of a group", "reason": "why both are one failure"}`
	if !h.sent(w, r, maxBody, &ask, form) {
		return
	}
	if ask.Into == "" || strings.TrimSpace(ask.Reason) == "" {
		h.fail(w, http.StatusBadRequest, form)
		return
	}
	g, err := h.src.Merge(r.Context(), r.PathValue("id"), ask.Into, callerOf(r.Context()).Name, ask.Reason)
	if no, ok := errors.AsType[*ratchet.Unmergeable](err); ok {
		h.fail(w, http.StatusConflict, no.Reason)
		return
	}
	h.answer(w, mergeAnswer{"merge", g.ID(), g.Count, append([]string{}, g.Fingerprint.Aliases...)}, err)
}

type mergeAnswer struct {
	Kind    string   `json:"kind"` // always "merge"
	Into    string   `json:"into"`
	Count   int      `json:"count"`
	Aliases []string `json:"aliases"`
}

// nameOf is the id of the group of a digest.
func nameOf(gs []ratchet.Group, digest string) string {
	for i := range gs {
		if gs[i].Fingerprint.Digest() == digest {
			return gs[i].ID()
		}
	}
	return shortID(digest)
}
