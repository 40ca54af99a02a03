package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// The resource attributes by which telemetry names its run. AttrCase alone is what recorded traces are found by.
const (
	AttrCase = "pawl.case"
	AttrRun  = "pawl.run"
)

// telemetry is what came of one run so far.
type telemetry struct {
	name    string
	parents map[pcommon.SpanID]bool // that we gave as parents: they never come, and what hangs below them is a root

	traces []ptrace.Traces
	logs   []plog.Logs
	spans  int
	last   time.Time // of arrival
	rooted bool      // since the last turn began, a span came that has no parent but ours
}

// collector sorts what arrives by run. A run is found by, in this order: the address that it was sent to, or the header; the resource attribute
// pawl.run; the trace id that we gave it or that its telemetry had before; and what names nothing is the single run's that is under way.
type collector struct {
	mu      sync.Mutex
	runs    map[string]*telemetry
	byTrace map[pcommon.TraceID]*telemetry
	over    map[pcommon.TraceID]bool // traces of runs that are over: what comes late must not join another run
	stray   int                      // spans and records of no run
	news    chan struct{}
}

func newCollector() *collector {
	return &collector{runs: map[string]*telemetry{}, byTrace: map[pcommon.TraceID]*telemetry{}, over: map[pcommon.TraceID]bool{}, news: make(chan struct{})}
}

type runKey struct{}

// open begins to collect for a run.
func (c *collector) open(name string) *telemetry {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &telemetry{name: name, parents: map[pcommon.SpanID]bool{}}
	c.runs[name] = t
	return t
}

// expect says that a turn begins whose telemetry may go on with this trace below this span.
func (c *collector) expect(t *telemetry, trace pcommon.TraceID, parent pcommon.SpanID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byTrace[trace], t.parents[parent], t.rooted = t, true, false
}

// close ends it. What comes later for it is stray.
func (c *collector) close(t *telemetry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, t.name)
	for id, of := range c.byTrace {
		if of == t {
			delete(c.byTrace, id)
			c.over[id] = true
		}
	}
}

// publish is the receiver's [otlp.Publish].
func (c *collector) publish(ctx context.Context, b wire.Batch) error {
	data, _, err := wire.Decode(b.Signal, b.Body)
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	said, _ := ctx.Value(runKey{}).(string)
	if data.Signal == wire.Traces {
		c.takeTraces(said, data.Traces)
	} else {
		c.takeLogs(said, data.Logs)
	}
	close(c.news)
	c.news = make(chan struct{})
	return nil
}

// takeTraces divides spans by run. Traces of one resource may be of several runs where a service answers them all.
func (c *collector) takeTraces(said string, td ptrace.Traces) {
	parts := map[*telemetry]ptrace.Traces{}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				t := c.find(said, rs.Resource(), span.TraceID())
				if t == nil {
					c.stray++
					continue
				}
				if _, ok := parts[t]; !ok {
					parts[t] = ptrace.NewTraces()
				}
				t.span(span)
				into := parts[t].ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(into.Resource())
				scope := into.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(scope.Scope())
				span.CopyTo(scope.Spans().AppendEmpty())
			}
		}
	}
	now := time.Now()
	for t, part := range parts {
		t.traces, t.last = append(t.traces, part), now
	}
}

func (c *collector) takeLogs(said string, ld plog.Logs) {
	parts := map[*telemetry]plog.Logs{}
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				t := c.find(said, rl.Resource(), record.TraceID())
				if t == nil {
					c.stray++
					continue
				}
				if _, ok := parts[t]; !ok {
					parts[t] = plog.NewLogs()
				}
				into := parts[t].ResourceLogs().AppendEmpty()
				rl.Resource().CopyTo(into.Resource())
				scope := into.ScopeLogs().AppendEmpty()
				sl.Scope().CopyTo(scope.Scope())
				record.CopyTo(scope.LogRecords().AppendEmpty())
			}
		}
	}
	now := time.Now()
	for t, part := range parts {
		t.logs, t.last = append(t.logs, part), now
	}
}

// find is the run that telemetry is of, nil for none. What names a run that there is not is of no other.
func (c *collector) find(said string, resource pcommon.Resource, trace pcommon.TraceID) *telemetry {
	if v, ok := resource.Attributes().Get(AttrRun); said == "" && ok {
		said = v.AsString()
	}
	t := c.runs[said]
	if said == "" {
		t = c.byTrace[trace]
	}
	if t == nil && said == "" && len(c.runs) == 1 && !c.over[trace] {
		for _, only := range c.runs {
			t = only
		}
	}
	if t != nil && !trace.IsEmpty() {
		c.byTrace[trace] = t
	}
	return t
}

// span notes one span, and makes it a root where its parent is the one that we gave.
func (t *telemetry) span(s ptrace.Span) {
	t.spans++
	if t.parents[s.ParentSpanID()] {
		s.SetParentSpanID(pcommon.SpanID{})
	}
	t.rooted = t.rooted || s.ParentSpanID().IsEmpty()
}

// settle waits until the run's telemetry has been quiet for that long. Until the first root span came it waits for as long as patience.
func (c *collector) settle(ctx context.Context, t *telemetry, quiet, patience time.Duration) {
	began := time.Now()
	for {
		c.mu.Lock()
		news, rooted, last := c.news, t.rooted, t.last
		c.mu.Unlock()
		now := time.Now()
		if last.Before(began) {
			last = began
		}
		wait := last.Add(quiet).Sub(now)
		if !rooted {
			wait = max(wait, began.Add(patience).Sub(now))
		}
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-news:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// trajectories are what came of the run, in normal form, by start. Traces without anything of an agent are left out. spans counts them all.
func (c *collector) trajectories(t *telemetry) (out []*trajectory.Trajectory, spans, stray int) {
	c.mu.Lock()
	traces, logs, spans, stray := t.traces, t.logs, t.spans, c.stray
	c.mu.Unlock()
	for _, trace := range trajectory.FromOTLP(traces, logs) {
		if built := trajectory.Build(trace); built.IsAgent() {
			out = append(out, built)
		}
	}
	return out, spans, stray
}
