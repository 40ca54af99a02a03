package ratchet

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// lineages follows, while verdicts are folded, what the runs of their services were produced by: as it was stored before, and the verdicts so far. Groups
// are changed before services, so that what a group notes of its beginning never holds what came after.
type lineages struct {
	byKey   map[string]*lineage.History
	applied map[string]uint64
}

// lineagesOf reads the histories of the services that verdicts are on.
func (a *Absorber) lineagesOf(ctx context.Context, vs []sequenced) (lineages, error) {
	l := lineages{map[string]*lineage.History{}, map[string]uint64{}}
	for _, v := range vs {
		key := serviceKey(clip(v.Service, maxRemedy))
		if l.byKey[key] != nil {
			continue
		}
		var s Service
		e, err := a.q.Services.Get(ctx, key)
		if err == nil {
			err = json.Unmarshal(e.Value, &s)
		}
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			if err = a.lasting(fmt.Errorf("service %q: %w", v.Service, err)); err != nil {
				return l, err
			}
		}
		l.byKey[key], l.applied[key] = &s.History, s.Applied
	}
	return l, nil
}

// history is what came before the verdict that is folded next.
func (l lineages) history(v sequenced) *lineage.History {
	return l.byKey[serviceKey(clip(v.Service, maxRemedy))]
}

// follow takes a verdict in behind those before.
func (l lineages) follow(v sequenced) {
	if v.seq > l.applied[serviceKey(clip(v.Service, maxRemedy))] {
		produced(l.history(v), v.Verdict)
	}
}

// produced adds what produced a run to its service's history. A trace counts once, at its first revision.
func produced(h *lineage.History, v Verdict) {
	if v.Replaces == nil && !v.onSession() {
		h.Take(v.Context, v.failing(), v.Seen)
	}
}

// begin notes what the failure's first sighting was produced by, and how all sightings lie. first says that the group had none.
func (g *Group) begin(o Occurrence, first bool) {
	if first {
		g.Began, g.Spread = o.Began, nil
	}
	if o.Context != nil {
		g.Spread.Add(*o.Context, g.Fingerprint.Agent, 1)
	}
}

// Story tells what had changed when the group's failure began. h is the history of its service, nil where it is not known; name renders names and digests.
func (g *Group) Story(h *lineage.History, name func(string) string) lineage.Story {
	return g.Began.Tell(g.Spread, h, name)
}
