package ratchet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ghpr"
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

// maxBegan bounds the sentence that a pull request says of a case's beginning, in bytes.
const maxBegan = 600

// beganLine tells for a pull request what had changed when the group's failure began: names and digests alone, as code. It is "" when there is nothing worth
// telling, or when it holds what must not leave.
func (a *Absorber) beganLine(ctx context.Context, g *Group) (string, error) {
	var s Service
	e, err := a.q.Services.Get(ctx, serviceKey(clip(g.Service, maxRemedy)))
	if err == nil {
		err = json.Unmarshal(e.Value, &s)
	}
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return "", fmt.Errorf("service %q: %w", g.Service, err)
	}
	story := g.Story(&s.History, func(name string) string { return ghpr.Inline(safeVersion(name), 80) })
	switch story.Kind {
	case lineage.Changed, lineage.Unchanged, lineage.SideBySide:
	default:
		return "", nil
	}
	if len(story.Sentence) > maxBegan || a.lastLook(story.Sentence) != nil {
		return "", nil
	}
	return story.Sentence, nil
}

// safeVersion is a version or a model's name as it may appear in a pull request: as it is, ids and all, where it is made of the signs that such names
// have, and else as names are made safe.
func safeVersion(name string) string {
	const signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+/:"
	if len(name) <= 64 && strings.Trim(name, signs) == "" {
		return name
	}
	return classify.SafeName(name)
}

// Story tells what had changed when the group's failure began. h is the history of its service, nil where it is not known; name renders names and digests.
func (g *Group) Story(h *lineage.History, name func(string) string) lineage.Story {
	return g.Began.Tell(g.Spread, h, name)
}
