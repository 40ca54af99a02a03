package triage

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet"
)

// caseRoutes are the routes about a group's case, and about rules for what was labelled.
func (h *handler) caseRoutes() []route {
	return []route{
		{pattern: "GET /v1/groups/{id}/case", name: "getCase", role: RoleViewer, summary: "The case of a group as its pull request would bring it: files, what was redacted, what was proven; or why there is none.", serve: h.caseOf,
			answer: ratchet.Preview{}, refuses: []int{http.StatusNotFound}},
		{pattern: "PUT /v1/groups/{id}/case", name: "editCase", role: RoleTriager, doing: "editing a case", person: true, summary: "What the case asserts, as a person wants it: tried like any case, and kept for when it is made.", serve: h.editCase,
			body: caseEdit{}, answer: ratchet.Preview{}, refuses: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}},
		{pattern: "GET /v1/groups/{id}/propose", name: "getProposal", role: RoleViewer, summary: "The rules that were proposed for a group last, or how far that is.", serve: h.proposal, answer: Proposal{}, refuses: []int{http.StatusNotFound}},
		{pattern: "POST /v1/groups/{id}/propose", name: "propose", role: RoleTriager, doing: "having a rule proposed", summary: "Proposes rules for what was labelled, and tries them on the kept traces. The answer comes when that is done; GET tells how far it is, DELETE ends it, and so does leaving.",
			serve: h.propose, answer: Proposal{}, refuses: []int{http.StatusNotFound, http.StatusConflict}},
		{pattern: "DELETE /v1/groups/{id}/propose", name: "stopProposal", role: RoleTriager, doing: "stopping it", summary: "Ends what POST began.", serve: h.stopProposal, answer: Proposal{}, refuses: []int{http.StatusNotFound}},
		{pattern: "POST /v1/groups/{id}/propose/{n}/offer", name: "offerRule", role: RoleTriager, doing: "offering a rule", person: true, summary: "Makes the batch of a proposed rule, counted from 0: its file, its testdata, and cases that it finds.", serve: h.offer,
			answer: offered{}, refuses: []int{http.StatusNotFound, http.StatusConflict}},
	}
}

// maxEditBody bounds the body of an edit, in bytes.
const maxEditBody = 64 << 10

// caseEdit is the body of PUT /v1/groups/{id}/case.
type caseEdit struct {
	Digest string         `json:"digest"`          // of the case that was looked at
	Expect jsontext.Value `json:"expect,omitzero"` // an object, or a text that is YAML; null or absent: an earlier edit is dropped
}

// caseOf answers GET /v1/groups/{id}/case.
func (h *handler) caseOf(w http.ResponseWriter, r *http.Request) {
	if h.src.Case == nil {
		h.fail(w, http.StatusNotFound, "this process makes no cases")
		return
	}
	p, err := h.src.Case(r.Context(), r.PathValue("id"))
	h.answer(w, p, err)
}

// editCase answers PUT /v1/groups/{id}/case.
func (h *handler) editCase(w http.ResponseWriter, r *http.Request) {
	if h.src.Edit == nil {
		h.fail(w, http.StatusNotFound, "this process makes no cases")
		return
	}
	const form = `send {"digest": "of the case that you looked at", "expect": what it is to assert, as JSON or as a text with YAML}`
	var e caseEdit
	if !h.sent(w, r, maxEditBody, &e, form) {
		return
	}
	var text []byte
	var err error
	switch {
	case e.Expect.Kind() == '"':
		var yaml string
		err = json.Unmarshal(e.Expect, &yaml)
		text = []byte(yaml)
		if err == nil && len(text) == 0 {
			err = errors.New("expect is an empty text: null drops an edit")
		}
	case e.Expect.Kind() == '{':
		text = e.Expect
	case len(e.Expect) > 0 && e.Expect.Kind() != 'n':
		err = errors.New("expect is neither an object nor a text")
	}
	if err != nil {
		h.fail(w, http.StatusBadRequest, form+": "+clipped(err.Error()))
		return
	}
	p, err := h.src.Edit(r.Context(), r.PathValue("id"), callerOf(r.Context()).Name, e.Digest, text)
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.fail(w, http.StatusConflict, no.Reason)
		return
	}
	h.answer(w, p, err)
}
