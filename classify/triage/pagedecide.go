package triage

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// decideFields is what a form of a decision is made of.
type decideFields struct {
	Action, Choice, Next, Digest string
	Dialogs                      dialogs
}

// decideForm answers POST /groups/{id}/decide, which a form of a page sends: what is decided is told on the page that it came from.
func (h *handler) decideForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		h.problem(w, r, http.StatusBadRequest, "The form could not be read.")
		return
	}
	c := callerOf(r.Context())
	switch {
	case !c.Decides:
		h.sayNo(w, r, http.StatusForbidden, fmt.Sprintf("Your role, %s, reads. Deciding needs triager or admin.", c.Role()))
		return
	case c.Name == "":
		http.Redirect(w, r, "/name?next="+url.QueryEscape(nextOf(r)), http.StatusSeeOther)
		return
	}
	now := time.Now()
	ask, err := askOf(r, now)
	if err != nil {
		h.sayNo(w, r, http.StatusBadRequest, sentence(err.Error()))
		return
	}
	g, err := h.src.Decide(r.Context(), r.PathValue("id"), c.Name, ask)
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.sayNo(w, r, http.StatusConflict, sentence(no.Reason))
		return
	}
	if err != nil {
		h.failPage(w, r, err)
		return
	}
	s := saidOnce{Text: sentence(decidedWords(ask, &g))}
	if _, ok := g.Undoable(); ok && ask.Choice != ratchet.ChoiceUndo {
		s.Undo = g.ID()
	}
	h.sayNext(w, r, s)
	next := nextOf(r)
	if id := r.PathValue("id"); id != g.ID() { // a label or a split leads to another group
		next = strings.Replace(next, "/groups/"+id, "/groups/"+g.ID(), 1)
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// askOf reads a decision out of a form.
func askOf(r *http.Request, now time.Time) (ratchet.Ask, error) {
	f := r.PostForm
	ask := ratchet.Ask{Choice: f.Get("choice"), Label: classify.Label(strings.TrimSpace(f.Get("label"))), As: f.Get("as"), Reason: strings.TrimSpace(f.Get("reason")),
		Digest: f.Get("digest"), Into: strings.TrimSpace(f.Get("into")), Traces: f["trace"], Decision: f.Get("decision")}
	if text := f.Get("days"); text != "" {
		days, err := strconv.Atoi(text)
		if err != nil || days < 1 {
			return ask, errors.New("days is a number from 1 on")
		}
		ask.Until = now.AddDate(0, 0, days)
	}
	return ask, nil
}

// decidedWords says what was decided.
func decidedWords(ask ratchet.Ask, g *ratchet.Group) string {
	switch ask.Choice {
	case ratchet.ChoiceLabel:
		return fmt.Sprintf("labelled %s: the group is %s now", ask.Label, g.ID())
	case ratchet.ChoiceDismiss:
		return "dismissed" + asWords(ask.As) + ": " + g.Title
	case ratchet.ChoiceSnooze:
		return fmt.Sprintf("snoozed until %s: %s", ask.Until.UTC().Format("2 Jan 2006"), g.Title)
	case ratchet.ChoiceUndo:
		return "taken back: " + g.Title
	case ratchet.ChoiceMerge:
		return "merged into " + g.ID()
	case ratchet.ChoiceSplit:
		return fmt.Sprintf("split off into %s", g.ID())
	}
	return pastTense(ask.Choice) + ": " + g.Title
}

// sentence begins with a capital, unless with a name such as get_order, and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	if first, _, _ := strings.Cut(s, " "); !strings.ContainsAny(first, "_./@0123456789") {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// sayNo shows the page that the form came from again, with why it was not taken.
func (h *handler) sayNo(w http.ResponseWriter, r *http.Request, code int, reason string) {
	bad := &saidOnce{Text: reason, Error: true}
	if next := nextOf(r); strings.HasPrefix(next, "/groups/") {
		h.groupWith(w, r, code, bad)
		return
	} else if at, err := r.URL.Parse(next); err == nil && at.Path == "/" {
		r.URL.RawQuery = at.RawQuery
		h.inbox(w, r, code, bad)
		return
	}
	h.problem(w, r, code, reason)
}
