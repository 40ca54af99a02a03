package ratchet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Service is what was seen of one service: how its traces were judged, which runs no rule explains, and what pawl is blind to. Key in the services
// bucket: serviceKey of the name. A trace counts by its latest verdict; what it shows is taken in again where late spans opened it, and not where people only said something of it.
type Service struct {
	sight.Service
	Verdicts    map[classify.Verdict]int `json:"verdicts"`
	Unexplained []Unexplained            `json:"unexplained"` // the latest
	FirstSeen   time.Time                `json:"first_seen"`
	LastSeen    time.Time                `json:"last_seen"`
	History     lineage.History          `json:"history"` // what its runs were produced by
	Applied     uint64                   `json:"applied"` // last message of FINDINGS that was folded in
}

// Unexplained is a run that went wrong by its own word and that no rule explains.
type Unexplained struct {
	TraceID string    `json:"trace_id"`
	What    string    `json:"what"`
	Seen    time.Time `json:"seen"`
}

// The bounds of a service's value.
const (
	maxUnexplained = 20
	maxRemedy      = sight.MaxRemedy
)

// Traces is how many verdicts were counted.
func (s *Service) Traces() (n int) {
	for _, c := range s.Verdicts {
		n += c
	}
	return n
}

// take counts a verdict.
func (s *Service) take(v sequenced) {
	if s.Verdicts == nil {
		s.Verdicts, s.FirstSeen = map[classify.Verdict]int{}, v.Seen
	}
	s.Verdicts[v.Verdict.Verdict]++
	if p := v.Replaces; p != nil && p.Service == v.Service && s.Verdicts[p.Verdict] > 0 {
		if s.Verdicts[p.Verdict]--; s.Verdicts[p.Verdict] == 0 {
			delete(s.Verdicts, p.Verdict)
		}
	}
	s.FirstSeen, s.LastSeen = earlier(s.FirstSeen, v.Seen), later(s.LastSeen, v.Seen)
	if v.Unexplained != "" {
		s.Unexplained = last(append(s.Unexplained, Unexplained{v.TraceID, clip(v.Unexplained, maxRemedy), v.Seen}), maxUnexplained)
	}
	if v.Replaces == nil || !v.Replaces.Same {
		s.Take(v.Sight, v.Inapplicable)
	}
	produced(&s.History, v.Verdict)
}

// clip bounds a text, in bytes.
func clip(s string, n int) string { return sight.Clip(s, n) }

// countServices folds verdicts into the services, one change each.
func (a *Absorber) countServices(ctx context.Context, vs []sequenced) error {
	byName := map[string][]sequenced{}
	for _, v := range vs {
		if v.onSession() || v.Judged { // the trace was counted by the worker's verdict
			continue
		}
		name := clip(v.Service, maxRemedy)
		byName[name] = append(byName[name], v)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		err := a.q.Services.Update(ctx, serviceKey(name), func(old []byte) ([]byte, error) {
			s := Service{Service: sight.Service{Name: name}}
			if old != nil {
				if err := json.Unmarshal(old, &s); err != nil {
					return nil, err
				}
			}
			before := s.Applied
			for _, v := range byName[name] {
				if v.seq > before {
					s.take(v)
					s.Applied = max(s.Applied, v.seq)
				}
			}
			if s.Applied == before {
				return nil, nil
			}
			return s.encode()
		})
		if err != nil {
			err = fmt.Errorf("service %q: %w", name, err)
		}
		if err := a.lasting(err); err != nil {
			return err
		}
	}
	return nil
}

// encode writes the service's value. Where it would be too large, the history starts again: it is the part that grows with what emitters send.
func (s *Service) encode() ([]byte, error) {
	doc, err := json.Marshal(s, json.Deterministic(true))
	if err != nil || len(doc) <= queue.MaxValue {
		return doc, err
	}
	s.History = lineage.History{}
	return json.Marshal(s, json.Deterministic(true))
}

// noService is the key of traces whose resource names no service.
const noService = "(none)"

// maxPlainKey is the longest name that is its own key, in bytes: a bucket's key escapes what is not plain.
const maxPlainKey = 200

// serviceKey is a service's key in its bucket: its name, or that of no service, or a digest of a name that cannot be a key.
func serviceKey(name string) string {
	if len(name) <= maxPlainKey && name != noService {
		return cmp.Or(name, noService)
	}
	sum := sha256.Sum256([]byte(name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Services reads all services, by name.
func (a *Absorber) Services(ctx context.Context) ([]Service, error) {
	var out []Service
	for e, err := range a.q.Services.All(ctx) {
		if err != nil {
			return out, fmt.Errorf("services: %w", err)
		}
		var s Service
		if err := json.Unmarshal(e.Value, &s); err != nil {
			return out, fmt.Errorf("service %q: %w", e.Key, err)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y Service) int { return cmp.Compare(x.Name, y.Name) })
	return out, nil
}
