package triage

import (
	"context"
	"fmt"
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

// shownOn says whether there is anything to show of a group: one whose sightings were all taken back is gone, an alias stays.
func shownOn(g *ratchet.Group) bool { return g.Count > 0 || g.Merged != nil }

// find is the group that a request names, an alias too.
func (h *handler) find(r *http.Request) (shownGroup, error) {
	past, err := h.histories(r.Context())
	if err != nil {
		return shownGroup{}, err
	}
	gs, err := h.src.Groups(r.Context())
	if err != nil {
		return shownGroup{}, err
	}
	i := slices.IndexFunc(gs, func(g ratchet.Group) bool { return shownOn(&g) && g.ID() == r.PathValue("id") })
	if i < 0 {
		return shownGroup{}, ErrNotFound
	}
	bs, err := h.src.Batches(r.Context())
	if err != nil {
		return shownGroup{}, err
	}
	byKey := map[string]*ratchet.Batch{}
	for i := range bs {
		byKey[bs[i].Key()] = &bs[i]
	}
	listed := h.show(&gs[i], h.src.Status(gs, byKey), byKey, past)
	if m := gs[i].Merged; m != nil {
		listed.Into = nameOf(gs, m.Into)
		listed.Merged = fmt.Sprintf("merged into %s by %s at %s because %s", listed.Into, m.Who, m.When.UTC().Format("2006-01-02 15:04:05"), m.Reason)
		listed.Status = listed.Merged
	}
	return showGroup(&gs[i], listed, past[gs[i].Service]), nil
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
