package triage

import (
	"errors"
	"net/http"
)

// Erasure is the answer of POST /v1/erase: what was blanked, or with dry_run would be.
type Erasure struct {
	Kind      string   `json:"kind"` // always "erasure"
	DryRun    bool     `json:"dry_run"`
	Traces    int      `json:"traces"`  // kept traces that held it
	Records   int      `json:"records"` // of them, spans and log records
	Shared    int      `json:"shared"`  // resources and scopes that records share
	Groups    int      `json:"groups"`
	Specimens int      `json:"specimens"`
	Withdrawn []string `json:"withdrawn"` // ids of cases that are made anew without it
	Left      []string `json:"left"`      // what holds it and is out
	Notes     []string `json:"notes"`     // what this does not reach

	Flags int `json:"flags"` // traces and windows of which outsiders said it

	Unexplained int `json:"unexplained"` // runs that said it of themselves and that no rule explains
	Judgements  int `json:"judgements"`  // that a model made of traces
	Messages    int `json:"messages"`    // of streams and of the quarantine that were deleted, or told anew without it
	Unread      int `json:"unread"`      // of streams that hold it and that were not read yet
}

// Unfit says why a value cannot be erased.
type Unfit struct{ Reason string }

// Error gives the reason.
func (u *Unfit) Error() string { return u.Reason }

type eraseAsk struct {
	Subject string `json:"subject"`
	DryRun  bool   `json:"dry_run,omitzero"`
}

// erase answers POST /v1/erase with {"subject": "...", "dry_run": true}. It needs an admin's token. The subject stands in no log and in no answer.
func (h *handler) erase(w http.ResponseWriter, r *http.Request) {
	caller := callerOf(r.Context())
	if h.src.Erase == nil {
		h.fail(w, http.StatusNotImplemented, "another process keeps the traces: ask the one that plays the role work")
		return
	}
	var ask eraseAsk
	const form = `send {"subject": "the value to erase", "dry_run": true}`
	if !h.sent(w, r, maxBody, &ask, form) {
		return
	}
	if ask.Subject == "" {
		h.fail(w, http.StatusBadRequest, form)
		return
	}
	done, err := h.src.Erase(r.Context(), ask.Subject, ask.DryRun)
	if !ask.DryRun {
		h.proposals.forget()
	}
	if unfit, ok := errors.AsType[*Unfit](err); ok {
		h.fail(w, http.StatusBadRequest, unfit.Reason)
		return
	}
	if err == nil {
		done.Kind, done.DryRun = "erasure", ask.DryRun
		h.lg.Info("a person's value was erased", "by", caller.Name, "dry_run", ask.DryRun, "traces", done.Traces, "groups", done.Groups, "specimens", done.Specimens, "left", len(done.Left))
	}
	h.answer(w, done, err)
}
