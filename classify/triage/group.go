package triage

import (
	"context"
	"net/http"
	"slices"

	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ratchet"
)

// histories reads what the runs of each service were produced by, by the service's name.
func (h *handler) histories(ctx context.Context) (map[string]*lineage.History, error) {
	ss, err := h.src.Services(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*lineage.History, len(ss))
	for i := range ss {
		out[ss[i].Name] = &ss[i].History
	}
	return out, nil
}

// groupPage answers GET /groups/{id}: a failure with what had changed when it began, and its specimens.
func (h *handler) groupPage(w http.ResponseWriter, r *http.Request) {
	past, err := h.histories(r.Context())
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	gs, err := h.src.Groups(r.Context())
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	i := slices.IndexFunc(gs, func(g ratchet.Group) bool { return g.Count > 0 && g.ID() == r.PathValue("id") })
	if i < 0 {
		h.answer(w, nil, ErrNotFound)
		return
	}
	bs, err := h.src.Batches(r.Context())
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	byKey := map[string]*ratchet.Batch{}
	for i := range bs {
		byKey[bs[i].Key()] = &bs[i]
	}
	h.render(w, "group.html", showGroup(&gs[i], h.show(&gs[i], h.src.Status(gs, byKey), byKey, past), past[gs[i].Service]))
}

// shownGroup is a group as its page shows it.
type shownGroup struct {
	group
	Agent     string
	Table     []shownRow
	Specimens []shownSpecimen
}

// shownRow is a row of the table of what produced the runs.
type shownRow struct {
	lineage.Row
	Word  string
	Width int // percent of the sightings
}

type shownSpecimen struct {
	ratchet.Specimen
	Shown []string // the traces to look at
}

func showGroup(g *ratchet.Group, listed group, past *lineage.History) shownGroup {
	out := shownGroup{group: listed, Agent: g.Fingerprint.Agent}
	words := map[lineage.Kind]string{lineage.KindVersion: "version", lineage.KindModel: "model", lineage.KindPrompt: "prompt"}
	for _, row := range g.Began.Table(g.Spread, past) {
		out.Table = append(out.Table, shownRow{row, words[row.Kind], min(100, 100*row.Sightings/max(1, g.Count))})
	}
	for _, s := range g.Candidates() {
		traces := s.Traces
		if len(traces) == 0 {
			traces = []string{s.TraceID}
		}
		out.Specimens = append(out.Specimens, shownSpecimen{s, traces})
	}
	return out
}

// shortID is the beginning of an id.
func shortID(id string) string { return id[:min(len(id), 8)] }
