package ratchet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// storedBaseline is a value of the baselines bucket: the runs of one route, the last message of FINDINGS that it learnt from, and of which traces it
// learnt last, for a verdict may be published twice.
type storedBaseline struct {
	Applied uint64         `json:"applied"`
	Seen    []string       `json:"seen"`
	Recent  []string       `json:"recent,omitempty"` // ids of the traces that it learnt from last, for cases to take a healthy run from
	File    jsontext.Value `json:"file"`             // baseline file form
}

// learnt is a storedBaseline in memory.
type learnt struct {
	runs    *baseline.Baseline
	applied uint64
	seen    []string
	recent  []string
}

func decodeBaseline(b []byte) (l learnt, err error) {
	if b == nil {
		return learnt{runs: baseline.New()}, nil
	}
	var s storedBaseline
	if err := json.Unmarshal(b, &s); err != nil {
		return l, err
	}
	l = learnt{applied: s.Applied, seen: s.Seen, recent: s.Recent}
	l.runs, err = baseline.Read(bytes.NewReader(s.File))
	return l, err
}

func (l learnt) encode() ([]byte, error) {
	var file bytes.Buffer
	if err := l.runs.Snapshot().Write(&file); err != nil {
		return nil, err
	}
	v := jsontext.Value(file.Bytes())
	if err := v.Compact(); err != nil {
		return nil, err
	}
	return json.Marshal(storedBaseline{l.applied, l.seen, l.recent, v})
}

// take learns the runs of messages that it does not have, each trace once. It says whether anything changed.
func (l *learnt) take(vs []sequenced) bool {
	before := l.applied
	for _, v := range vs {
		key := tail(v.TraceID)
		if v.seq <= before {
			continue
		}
		l.applied = max(l.applied, v.seq)
		if !slices.Contains(l.seen, key) {
			l.seen, l.recent = last(append(l.seen, key), maxSeen), last(append(l.recent, v.TraceID), MaxControls)
			l.runs.Learn(*v.Run)
		}
	}
	return l.applied > before
}

// learn adds the runs of passing traces to the baselines of their routes.
func (a *Absorber) learn(ctx context.Context, vs []sequenced) error {
	byRoute := map[string][]sequenced{}
	for _, v := range vs {
		if v.Run != nil && v.Replaces == nil && len(v.Run.Key.Service)+len(v.Run.Key.Agent)+len(v.Run.Key.Route) <= maxRouteName {
			k := routeKey(v.Run.Key)
			byRoute[k] = append(byRoute[k], v)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(byRoute)) {
		if err := a.lasting(a.learnRoute(ctx, k, byRoute[k])); err != nil {
			return err
		}
	}
	return nil
}

// maxRouteName bounds service, agent and route together, in bytes: a name beyond it holds a run's own words and would never be met again.
const maxRouteName = 2048

// routeKey is the bucket's key: a route may be longer than a key can be.
func routeKey(k baseline.Key) string {
	sum := sha256.Sum256([]byte(k.Service + "\x00" + k.Agent + "\x00" + k.Route))
	return hex.EncodeToString(sum[:16])
}

func (a *Absorber) learnRoute(ctx context.Context, key string, vs []sequenced) error {
	err := a.q.Baselines.Update(ctx, key, func(old []byte) ([]byte, error) {
		l, err := decodeBaseline(old)
		if err != nil {
			return nil, err
		}
		if !l.take(vs) {
			return nil, nil
		}
		return l.encode()
	})
	if err != nil {
		return fmt.Errorf("baseline of route %s: %w", key, err)
	}
	return nil
}

// controls are kept traces of healthy runs that a failing one is compared with, the latest first; none where traces are not in this process. What cannot be
// read is left out: a case is made without.
func (a *Absorber) controls(ctx context.Context, k baseline.Key) (out []trajectory.Trace) {
	if a.opts.Traces == nil {
		return nil
	}
	e, err := a.q.Baselines.Get(ctx, routeKey(k))
	if err != nil {
		return nil // the route has no healthy run yet
	}
	l, err := decodeBaseline(e.Value)
	if err != nil {
		a.lg.Warn("a baseline cannot be read", "service", k.Service, "route", k.Route, "err", err)
		return nil
	}
	for _, id := range slices.Backward(l.recent) {
		t, kept, err := a.opts.Traces(ctx, id)
		if err != nil {
			a.lg.Warn("a healthy trace cannot be read", "trace", id, "err", err)
		}
		if kept && err == nil {
			out = append(out, t)
		}
	}
	return out
}

// Snapshot reads all baselines as one.
func Snapshot(ctx context.Context, q *queue.Queue) (*baseline.Snapshot, error) {
	all := baseline.New()
	for e, err := range q.Baselines.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("baselines: %w", err)
		}
		l, err := decodeBaseline(e.Value)
		if err != nil {
			return nil, fmt.Errorf("baseline %s: %w", e.Key, err)
		}
		all.Merge(l.runs)
	}
	return all.Snapshot(), nil
}

// Baselines keeps a snapshot of the baselines fresh for the workers, which must not read the bucket for every trace.
type Baselines struct {
	lg      *slog.Logger
	q       *queue.Queue
	current atomic.Pointer[baseline.Snapshot]
}

// NewBaselines reads the first snapshot.
func NewBaselines(ctx context.Context, lg *slog.Logger, q *queue.Queue) (*Baselines, error) {
	b := &Baselines{lg: lg, q: q}
	return b, b.refresh(ctx)
}

func (b *Baselines) refresh(ctx context.Context) error {
	s, err := Snapshot(ctx, b.q)
	if err != nil {
		return err
	}
	b.current.Store(s)
	return nil
}

// Current is the latest snapshot; it never changes.
func (b *Baselines) Current() *baseline.Snapshot { return b.current.Load() }

// Run reads a new snapshot every so often until ctx ends. One that cannot be read leaves the old one in place.
func (b *Baselines) Run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := b.refresh(ctx); err != nil && ctx.Err() == nil {
				b.lg.Warn("baselines stay as they were", "err", err)
			}
		}
	}
}
