package triage

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// proposeData is what the page of rules for a labelled group shows.
type proposeData struct {
	Proposal
	Asked   bool // a proposal was made
	GroupID string
	Name    string // the group's title
	Plain   bool   // it has no label yet
	Dialogs dialogs
	Offers  bool
	Bad     *saidOnce
}

func (d proposeData) saying() *saidOnce { return d.Bad }

// proposePage answers GET /groups/{id}/propose: the rules that were proposed last, each with what it would have caught.
func (h *handler) proposePage(w http.ResponseWriter, r *http.Request) {
	h.proposeWith(w, r, http.StatusOK, nil)
}

func (h *handler) proposeWith(w http.ResponseWriter, r *http.Request, code int, bad *saidOnce) {
	g, err := h.labelled(r.Context(), r.PathValue("id"))
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	d := proposeData{GroupID: g.ID(), Name: g.Title, Plain: g.Fingerprint.Label == classify.NoLabel, Dialogs: h.dialogs(r, nil), Offers: h.src.Offer != nil, Bad: bad}
	if p := h.proposals.of(g.ID()); p != nil {
		d.Proposal, d.Asked = p.look(), true
		if d.State == "running" {
			w.Header().Set("Refresh", "2")
		}
	}
	h.pageCode(w, r, code, "propose.html", "Rules for "+string(g.Fingerprint.Label), d)
}

// mayPropose says whether the caller may, and answers if not.
func (h *handler) mayPropose(w http.ResponseWriter, r *http.Request) bool {
	c, here := callerOf(r.Context()), "/groups/"+url.PathEscape(r.PathValue("id"))+"/propose"
	switch {
	case !c.Decides:
		h.proposeWith(w, r, http.StatusForbidden, &saidOnce{Text: fmt.Sprintf("Your role, %s, reads. That needs triager or admin.", c.Role()), Error: true})
	case c.Name == "":
		http.Redirect(w, r, "/name?next="+url.QueryEscape(here), http.StatusSeeOther)
	default:
		return true
	}
	return false
}

// proposeForm answers POST /groups/{id}/propose, when the proposal is done.
func (h *handler) proposeForm(w http.ResponseWriter, r *http.Request) {
	if !h.mayPropose(w, r) {
		return
	}
	p, err := h.proposeOn(r.Context(), r.PathValue("id"))
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.proposeWith(w, r, http.StatusConflict, &saidOnce{Text: sentence(no.Reason), Error: true})
		return
	}
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	http.Redirect(w, r, "/groups/"+url.PathEscape(p.Group)+"/propose", http.StatusSeeOther)
}

// offerForm answers POST /groups/{id}/propose/{n}/offer: the rule goes into a pull request, with its cases.
func (h *handler) offerForm(w http.ResponseWriter, r *http.Request) {
	if !h.mayPropose(w, r) {
		return
	}
	done, err := h.offerOf(r.Context(), r.PathValue("id"), r.PathValue("n"))
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.proposeWith(w, r, http.StatusConflict, &saidOnce{Text: sentence(no.Reason), Error: true})
		return
	}
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	h.sayNext(w, r, saidOnce{Text: fmt.Sprintf("The rule %s goes into a pull request with %d cases.", done.Rule, len(done.Cases))})
	http.Redirect(w, r, "/pulls", http.StatusSeeOther)
}
