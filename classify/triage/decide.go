package triage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// decision is the answer of POST /v1/groups/{id}/decisions.
type decision struct {
	Kind  string `json:"kind"`  // always "decision"
	Group group  `json:"group"` // as it is now: a label or a split leads to another one
}

// decide answers POST /v1/groups/{id}/decisions with a ratchet.Ask.
func (h *handler) decide(w http.ResponseWriter, r *http.Request) {
	var ask ratchet.Ask
	if !h.sent(w, r, maxBody, &ask, `send {"choice": "dismiss", "as": "false_alarm", "reason": "..."}; /v1/openapi.json has the others`) {
		return
	}
	g, err := h.decideOn(r.Context(), r.PathValue("id"), ask)
	if no, ok := errors.AsType[*ratchet.Refused](err); ok {
		h.fail(w, http.StatusConflict, no.Reason)
		return
	}
	h.answer(w, decision{"decision", g}, err)
}

func clipped(s string) string { return s[:min(len(s), 200)] }

// decideOn decides for the caller, and returns the group as it is then. The error is *ratchet.Refused where it cannot be decided so.
func (h *handler) decideOn(ctx context.Context, id string, ask ratchet.Ask) (group, error) {
	caller := callerOf(ctx)
	if h.src.Decide == nil {
		return group{}, ErrNotFound
	}
	g, err := h.src.Decide(ctx, id, caller.Name, ask)
	if err != nil {
		return group{}, err
	}
	h.lg.Info("a decision", "group", id, "choice", ask.Choice, "by", caller.Name, "now", g.ID())
	return h.shown(ctx, &g)
}

// shown is one group as lists show it.
func (h *handler) shown(ctx context.Context, g *ratchet.Group) (group, error) {
	s, err := h.sceneOf(ctx, time.Now())
	if err != nil {
		return group{}, err
	}
	return s.show(g), nil
}

// audit answers GET /v1/audit?group=&who=&limit=&cursor=: what was decided, the latest first.
func (h *handler) audit(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := limitOf(q.Get("limit"), usualPage)
	if err != nil || h.src.Audit == nil {
		h.fail(w, http.StatusBadRequest, fmt.Sprintf("limit is a number from 1 to %d", largestPage))
		return
	}
	var before uint64
	if text := q.Get("cursor"); text != "" {
		if before, err = ratchet.ParseCursor(text); err != nil {
			h.fail(w, http.StatusBadRequest, "cursor is not one that this list gave: begin again without it")
			return
		}
	}
	f, err := h.auditFilter(r.Context(), q.Get("group"), q.Get("who"))
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	told, next, err := h.src.Audit(r.Context(), f, before, limit)
	if next > 0 {
		linkNext(w, r, ratchet.Cursor(next))
	}
	h.answer(w, append([]ratchet.Told{}, told...), err)
}

// auditFilter chooses the entries on a group, under the names that it had too.
func (h *handler) auditFilter(ctx context.Context, id, who string) (ratchet.AuditFilter, error) {
	f := ratchet.AuditFilter{Who: who}
	if id == "" {
		return f, nil
	}
	gs, err := h.src.Groups(ctx)
	if err != nil {
		return f, err
	}
	f.Groups = []string{id}
	i := slices.IndexFunc(gs, func(g ratchet.Group) bool { return g.ID() == id })
	if i < 0 {
		return f, ErrNotFound
	}
	aliases := map[string]bool{}
	for _, d := range gs[i].Fingerprint.Aliases {
		aliases[d] = true
	}
	for j := range gs {
		if aliases[gs[j].Digest()] {
			f.Groups = append(f.Groups, gs[j].ID())
		}
	}
	return f, nil
}

// judgement is what a person said that no rule had: the truth that a judge is measured by.
type judgement struct {
	Kind        string          `json:"kind"`  // always "judgement"
	Group       string          `json:"group"` // id
	Fingerprint string          `json:"fingerprint"`
	Label       *classify.Label `json:"label"` // null: it was dismissed, so it is no failure of the agent
	Was         classify.Label  `json:"was"`   // the label before: unclassified, or the judge's
	As          string          `json:"as"`    // of a dismissal
	Who         string          `json:"who"`
	When        time.Time       `json:"when"`
	Reason      string          `json:"reason"`
	Count       int             `json:"count"`
	Traces      []string        `json:"traces"` // that the group shows
}

// judgements answers GET /v1/judgements: what people say of the groups that no rule explains.
func (h *handler) judgements(w http.ResponseWriter, r *http.Request) {
	gs, err := h.src.Groups(r.Context())
	out := []judgement{}
	for i := range gs {
		if d, ok := gs[i].Judged(); ok && gs[i].Merged == nil {
			out = append(out, judgementOf(&gs[i], d))
		}
	}
	slices.SortFunc(out, func(a, b judgement) int { return b.When.Compare(a.When) })
	h.answer(w, out, err)
}

func judgementOf(g *ratchet.Group, d ratchet.Decision) judgement {
	j := judgement{Kind: "judgement", Group: g.ID(), Fingerprint: g.Digest(), Was: d.Was, As: d.As, Who: d.Who, When: d.When, Reason: d.Reason, Count: g.Count, Traces: tracesOf(g)}
	if d.Choice == ratchet.ChoiceLabel {
		j.Label = &d.Label
	} else {
		j.Was = g.Fingerprint.Label
	}
	return j
}
