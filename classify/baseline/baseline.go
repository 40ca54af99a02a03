// Package baseline learns the normal range of an agent's runs and compares one run with it.
//
// Runs are comparable when they share service, agent and route (Key). Per key and metric a mergeable sample is kept: exact up to 256 values,
// after that one count per bin of a logarithmic mapping whose bins are one percent wide, so that medians are within one percent. What a
// baseline holds depends on the multiset of runs alone: learning and merging commute and associate, bit for bit.
//
// As a file it is one JSON object:
//
//	{"version": 1, "accuracy": 0.01, "routes": [{"service": "shop", "agent": "", "route": "POST /chat", "runs": 31,
//	  "metrics": {"fresh_tokens": {"n": 31, "values": [812, 900, ...]},            exact
//	              "tool_calls":   {"n": 400, "zeros": 3, "bins": [[35, 200], ...]}},     bin index and count
//	  "habits": [{"kind": "precedes", "of": "upsert", "runs": 84, "laws": [{"by": "validate", "arg": "id", "by_arg": "id", "values": [7, ...]}]}]}]}
//
// Habits are what the order of the runs' calls shows (package order): of each subject the laws that held in all runs but one at most, misses being
// how many they did not hold in. What always held, an Invariant, is read off them.
//
// sorted by key, so that equal baselines are equal bytes; its digest is the sha256 of them. The package does no I/O of its own beyond the
// reader and writer that it is handed.
package baseline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch/mapping"
)

// Baseline gathers runs. It is not safe for concurrent use; take a Snapshot to share.
type Baseline struct {
	binning mapping.IndexMapping
	routes  map[Key]*route
}

type route struct {
	runs    int
	metrics map[Metric]*sample
	habits  map[subject]habit
}

// New returns an empty baseline.
func New() *Baseline { return &Baseline{binning: binning(), routes: map[Key]*route{}} }

// Learn adds one run.
func (b *Baseline) Learn(r Run) {
	at := b.route(r.Key)
	at.runs++
	for _, m := range Metrics() {
		if v, ok := r.Values[m]; ok {
			at.sample(m).add(b.binning, v)
		}
	}
	at.learn(r.Habits)
}

// Merge adds all runs of another baseline, which stays as it is.
func (b *Baseline) Merge(o *Baseline) {
	for k, from := range o.routes {
		at := b.route(k)
		at.runs += from.runs
		for m, s := range from.metrics {
			at.sample(m).merge(b.binning, s.clone())
		}
		for s, h := range from.habits {
			at.take(s, h)
		}
	}
}

// Keys returns the keys that have runs, sorted.
func (b *Baseline) Keys() []Key { return slices.SortedFunc(maps.Keys(b.routes), compareKeys) }

// Snapshot returns an immutable copy.
func (b *Baseline) Snapshot() *Snapshot {
	c := New()
	c.Merge(b)
	return &Snapshot{base: c, digest: c.digest()}
}

func (b *Baseline) route(k Key) *route {
	r, ok := b.routes[k]
	if !ok {
		r = &route{metrics: map[Metric]*sample{}}
		b.routes[k] = r
	}
	return r
}

func (r *route) sample(m Metric) *sample {
	s, ok := r.metrics[m]
	if !ok {
		s = &sample{}
		r.metrics[m] = s
	}
	return s
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Route, b.Route))
}

// Snapshot is a baseline that no longer changes; it may be read by many at once. A nil Snapshot knows no runs.
type Snapshot struct {
	base   *Baseline
	digest string
	except *Run
}

// Stats are what is known of one metric under one key. N counts the runs that tell the metric; Median, MAD (median absolute deviation) and
// P95 (95th percentile) are in its unit.
type Stats struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	MAD    float64 `json:"mad"`
	P95    float64 `json:"p95"`
}

// Stats returns what is known of the metric; N is 0 when nothing is.
func (s *Snapshot) Stats(k Key, m Metric) Stats {
	if s == nil {
		return Stats{}
	}
	r, ok := s.base.routes[k]
	if !ok || r.metrics[m] == nil {
		return Stats{}
	}
	n, ps := r.metrics[m].n, []point(nil)
	if s.leavesOut(k, m) {
		v := s.except.Values[m]
		n, ps = n-1, r.metrics[m].points(s.base.binning, &v)
	} else {
		ps = r.metrics[m].points(s.base.binning, nil)
	}
	if n == 0 {
		return Stats{}
	}
	med := median(ps)
	return Stats{N: n, Median: med, MAD: mad(ps, med), P95: rank(ps, min(n*95/100, n-1))}
}

func (s *Snapshot) leavesOut(k Key, m Metric) bool {
	if s.except == nil || s.except.Key != k {
		return false
	}
	_, told := s.except.Values[m]
	return told
}

// Without returns the snapshot as if the run, which it holds, had never been learnt: the leave-one-out view for judging a run by the others
// of the same batch. Handing it a run that it does not hold gives wrong numbers.
func (s *Snapshot) Without(r Run) *Snapshot {
	if s == nil {
		return nil
	}
	return &Snapshot{base: s.base, digest: s.digest, except: &r}
}

// LeftOneOut says whether the snapshot is a leave-one-out view, so that a report can say where its numbers came from.
func (s *Snapshot) LeftOneOut() bool { return s != nil && s.except != nil }

// Digest is the sha256, in hex, of the baseline's file form; "" for a nil Snapshot. A leave-one-out view has the digest of the whole.
func (s *Snapshot) Digest() string {
	if s == nil {
		return ""
	}
	return s.digest
}

// Keys returns the keys that have runs, sorted.
func (s *Snapshot) Keys() []Key {
	if s == nil {
		return nil
	}
	return s.base.Keys()
}
