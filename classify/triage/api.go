package triage

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// group is a group as lists show it.
type group struct {
	Kind        string               `json:"kind"` // always "group"
	ID          string               `json:"id"`
	Fingerprint classify.Fingerprint `json:"fingerprint"`
	Label       classify.Label       `json:"label"`
	Severity    classify.Severity    `json:"severity"`
	Status      string               `json:"status"`
	Count       int                  `json:"count"`
	Services    []string             `json:"services"`
	FirstSeen   time.Time            `json:"first_seen"`
	LastSeen    time.Time            `json:"last_seen"`
	Title       string               `json:"title"`
	Why         string               `json:"why"`
	Traces      []string             `json:"traces"`
	Batch       string               `json:"batch"`
	URL         string               `json:"pull_request"` // "" when there is none
	Decisions   []ratchet.Decision   `json:"decisions"`
	Follow      []string             `json:"follow"`  // ids of failures that were seen to follow from this one: they have no group for that
	Began       lineage.Story        `json:"began"`   // what had changed when it began
	Merged      string               `json:"merged"`  // of an alias: into which group, by whom, when and why; "" of others, and lists hold those alone
	Into        string               `json:"into"`    // of an alias: the id of that group
	Merge       *ratchet.Merge       `json:"merge"`   // of an alias: the same for programs; null of others
	Aliases     []string             `json:"aliases"` // digests of the fingerprints that were merged into this group
	Spread      []lineage.Row        `json:"spread"`  // how the sightings lie over versions, models and prompts, against all runs of the agent
	Life        ratchet.Life         `json:"life"`
	Source      classify.Source      `json:"source"`        // who gave the label: rule, judge or human
	Days        []ratchet.Day        `json:"days"`          // sightings by day, the latest days that had any
	Growth      int                  `json:"growth"`        // sightings of the last seven days less those of the seven before
	Snoozed     *time.Time           `json:"snoozed_until"` // null unless a person put it off
	Digest      string               `json:"digest"`        // of the proposed case: approve and deny are on that one; "" when there is none
	Undo        *string              `json:"undo"`          // id of the latest decision, if that can be taken back
}

// batchesBy reads all batches, the latest first.
func (h *handler) batchesBy(ctx context.Context) ([]ratchet.Batch, error) {
	bs, err := h.src.Batches(ctx)
	slices.SortFunc(bs, func(a, b ratchet.Batch) int { return cmp.Or(b.Opened.Compare(a.Opened), cmp.Compare(a.Key(), b.Key())) })
	return bs, err
}

func (h *handler) show(g *ratchet.Group, status func(*ratchet.Group) string, batches map[string]*ratchet.Batch, past map[string]*lineage.History) group {
	out := group{Kind: "group", ID: g.ID(), Fingerprint: g.Fingerprint, Merge: g.Merged, Label: g.Fingerprint.Label, Severity: g.Severity, Status: status(g), Source: cmp.Or(g.Source, classify.SourceRule), Count: g.Count,
		Services: []string{g.Fingerprint.Service}, FirstSeen: g.FirstSeen, LastSeen: g.LastSeen, Title: g.Title, Why: g.Why, Traces: tracesOf(g), Days: append([]ratchet.Day{}, g.Days...),
		Batch: g.Batch, Decisions: append([]ratchet.Decision{}, g.Decisions...), Follow: append([]string{}, g.Follow...),
		Began: g.Story(past[g.Service], func(name string) string { return name }), Spread: g.Began.Table(g.Spread, past[g.Service]), Aliases: append([]string{}, g.Fingerprint.Aliases...)}
	if b := batches[g.Batch]; b != nil {
		_, out.URL, _ = b.Status()
	}
	now := time.Now()
	out.Life, out.Growth = g.Life(ratchet.Deployed(past[g.Service]), now), g.Growth(now)
	if until := g.SnoozedUntil(now); !until.IsZero() {
		out.Snoozed = &until
	}
	if b := batches[g.Batch]; b != nil {
		out.Digest = b.Digest(g.Digest())
	}
	if d, ok := g.Undoable(); ok {
		out.Undo = &d.ID
	}
	return out
}

// tracesOf are the traces that show the group; of a session's finding all of the session.
func tracesOf(g *ratchet.Group) []string {
	out := []string{}
	for _, s := range g.Specimens {
		for _, id := range append(slices.Clone(s.Traces), s.TraceID) {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

func (h *handler) group(w http.ResponseWriter, r *http.Request) {
	g, err := h.find(r)
	h.answer(w, g.group, err)
}

// batch is a batch as lists show it.
type batch struct {
	Kind    string           `json:"kind"` // always "batch"
	ID      string           `json:"id"`   // lasting, as /v1/batches/{id} takes it
	Key     string           `json:"key"`
	Repo    string           `json:"repo"`
	Base    string           `json:"base"`
	Label   classify.Label   `json:"label"`
	Service string           `json:"service"`
	State   string           `json:"state"` // withdrawn | collecting | full | stuck | preview | waiting | sending | open | closed | merged | absorbed | parked
	URL     string           `json:"url"`
	Note    string           `json:"note"`
	Frozen  bool             `json:"frozen"` // its pull request is fixed: /v1/batches/{id}/plan shows it
	Members []ratchet.Member `json:"members"`
}

func showBatch(b *ratchet.Batch) batch {
	state, url, note := b.Status()
	return batch{"batch", b.ID(), b.Key(), b.Repo, b.Base, b.Label, b.Service, state, url, note, !b.Collecting(), append([]ratchet.Member{}, b.Members...)}
}

func (h *handler) batches(w http.ResponseWriter, r *http.Request) {
	bs, err := h.batchesBy(r.Context())
	out := []batch{}
	for i := range bs {
		out = append(out, showBatch(&bs[i]))
	}
	h.answer(w, out, err)
}

// batch answers GET /v1/batches/{id}.
func (h *handler) batch(w http.ResponseWriter, r *http.Request) {
	b, err := h.batchOf(r)
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	h.answer(w, showBatch(&b), nil)
}

// batchOf finds the batch that a path names: by its id, or by its number in the order of /v1/batches, from 0, which others shift.
func (h *handler) batchOf(r *http.Request) (ratchet.Batch, error) {
	bs, err := h.batchesBy(r.Context())
	if err != nil {
		return ratchet.Batch{}, err
	}
	name := r.PathValue("id")
	for i := range bs {
		if bs[i].ID() == name {
			return bs[i], nil
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(bs) {
		return bs[n], nil
	}
	return ratchet.Batch{}, ErrNotFound
}

// plan answers GET /v1/batches/{id}/plan.
func (h *handler) plan(w http.ResponseWriter, r *http.Request) {
	p, err := h.planOf(r)
	h.answer(w, p, err)
}

func (h *handler) planOf(r *http.Request) (ghpr.Plan, error) {
	b, err := h.batchOf(r)
	if err != nil {
		return ghpr.Plan{}, err
	}
	if b.Intent == nil {
		return ghpr.Plan{}, ErrNotFound
	}
	return h.src.Plan(r.Context(), b)
}

// services answers with what was seen of each service.
func (h *handler) services(w http.ResponseWriter, r *http.Request) {
	ss, err := h.src.Services(r.Context())
	h.answer(w, append([]ratchet.Service{}, ss...), err)
}

// traceAnswer is a trace with what the rules say of it.
type traceAnswer struct {
	Line       classify.Line          `json:"line"`
	Trajectory *trajectory.Trajectory `json:"trajectory"`
	Said       []said                 `json:"said"` // what outsiders say of it, a quotation each
}

func (h *handler) trace(w http.ResponseWriter, r *http.Request) {
	t, err := h.src.Trace(r.Context(), r.PathValue("id"))
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	tr := trajectory.Build(t)
	h.answer(w, traceAnswer{classify.NewLine(tr, h.src.Judge(tr)), tr, append([]said{}, h.flagsOf(tr.TraceID)...)}, nil)
}
