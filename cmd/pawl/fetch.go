package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/home"
	"github.com/pawl-dev/pawl/ingest/otlp"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ratchet"
)

// fetching asks the configured homes for flagged traces, and sends what they hold the way of what is sent here.
type fetching struct {
	homes []*home.Home
	after time.Duration
	inlet *otlp.Receiver
	count *prometheus.CounterVec
}

// openHomes prepares the homes of pawl.yaml for whoever works on traces.
func (s *server) openHomes(context.Context) error {
	if len(s.cfg.Homes) == 0 || !s.plays(roleWork) {
		return nil
	}
	f := &fetching{after: time.Duration(s.cfg.Flags.FetchAfter), inlet: s.receiver}
	f.count = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_home_looks_total", Help: "Looks for flagged traces by home and what came of them: found, not_there, busy, failed."}, []string{"home", "outcome"})
	if err := s.reg.Register(f.count); err != nil {
		return fmt.Errorf("homes: counters: %w", err)
	}
	for _, c := range s.cfg.Homes {
		h, err := s.home(c)
		if err != nil {
			return err
		}
		f.homes = append(f.homes, h)
	}
	if f.inlet == nil { // another process listens; this one has an inlet of its own, which does not
		o, err := s.inletOptions()
		if err != nil {
			return err
		}
		if f.inlet, err = otlp.New(s.lg, s.publish, o); err != nil {
			return err
		}
		s.onClose("inlet", f.inlet.Stop)
	}
	s.homes = f
	return nil
}

func (s *server) home(c config.Home) (*home.Home, error) {
	o, err := optionsOfHome(c)
	if err != nil {
		return nil, err
	}
	o.Service = cmp.Or(o.Service, ownService(o))
	h, err := home.New(s.lg, o)
	if err != nil {
		return nil, usageError(err, "homes in pawl.yaml")
	}
	return h, nil
}

// ownService is the service of traces in homes that have no other name for what sent one.
func ownService(o home.Options) string {
	if o.Kind == home.LangSmith || o.Kind == home.Phoenix {
		return o.Project
	}
	return ""
}

// source is how flags ask the homes.
func (f *fetching) source() ratchet.Homes {
	return ratchet.Homes{After: f.after, Of: f.of, Trace: f.trace, Window: f.window}
}

// of are the homes that may have what is flagged: those that its source names, else those that serve the service, or have the project, that it is on, else
// all of them.
func (f *fetching) of(x flag.Flag) []string {
	service := ""
	if x.Window != nil {
		service = x.Window.Service
	}
	project := func(h *home.Home) bool { return x.Project != "" && h.Project() == x.Project }
	for _, choose := range []func(h *home.Home) bool{
		func(h *home.Home) bool { return (h.Name() == x.Source || string(h.Kind()) == x.Source) && project(h) },
		func(h *home.Home) bool { return h.Name() == x.Source || string(h.Kind()) == x.Source },
		func(h *home.Home) bool { return service != "" && h.Serves(service) || project(h) },
	} {
		if found := f.named(choose); len(found) > 0 {
			return found
		}
	}
	if service != "" {
		return nil // each of them says that its services are others
	}
	return f.named(func(*home.Home) bool { return true })
}

func (f *fetching) named(choose func(*home.Home) bool) (out []string) {
	for _, h := range f.homes {
		if choose(h) {
			out = append(out, h.Name())
		}
	}
	return out
}

func (f *fetching) home(name string) *home.Home {
	i := slices.IndexFunc(f.homes, func(h *home.Home) bool { return h.Name() == name })
	return f.homes[i]
}

// trace asks a home for a flagged trace, by the id that the flag came with.
func (f *fetching) trace(ctx context.Context, name string, x flag.Flag) (ratchet.Fetched, error) {
	a, err := f.home(name).Trace(ctx, cmp.Or(x.RawID, x.TraceID), x.Received)
	f.count.WithLabelValues(name, outcomeOf(err)).Inc()
	if errors.Is(err, home.ErrNotThere) {
		return ratchet.Fetched{}, fmt.Errorf("%s: %w", name, ratchet.ErrNoSuchTrace)
	}
	if busy, ok := errors.AsType[*home.BusyError](err); ok {
		return ratchet.Fetched{}, &ratchet.LaterError{After: busy.After, Err: err}
	}
	if err != nil {
		return ratchet.Fetched{}, err
	}
	return ratchet.Fetched{TraceID: a.TraceID, Spans: a.Spans, Digest: a.Digest, Push: func(ctx context.Context) error { return f.push(ctx, a.Data) }}, nil
}

func outcomeOf(err error) string {
	_, busy := errors.AsType[*home.BusyError](err)
	switch {
	case err == nil:
		return "found"
	case errors.Is(err, home.ErrNotThere):
		return "not_there"
	case busy:
		return "busy"
	}
	return "failed"
}

// windowReach is how many times the traces that are wanted are looked at, to find those that went wrong.
const windowReach = 10

// window asks a home for the traces of a window, and sends those that went wrong first, of them the latest.
func (f *fetching) window(ctx context.Context, name string, x flag.Flag, most int) (int, error) {
	var data []wire.Data
	var failed error
	for item, err := range f.home(name).Window(ctx, home.Window{From: x.Window.From, To: x.Window.To, MaxTraces: windowReach * most}) {
		if _, enough := errors.AsType[*home.LimitError](err); err != nil && !enough {
			if failed == nil {
				failed = err
			}
			continue
		}
		if err == nil {
			data = append(data, item.Data)
		}
	}
	f.count.WithLabelValues(name, outcomeOf(failed)).Inc()
	chosen := chooseTraces(data, *x.Window, most)
	if len(chosen) == 0 {
		return 0, failed
	}
	for _, d := range data {
		keepTraces(d, chosen)
	}
	if err := f.push(ctx, data); err != nil {
		return 0, err
	}
	return len(chosen), nil
}

// seenTrace is what is known of a trace before it is judged.
type seenTrace struct {
	id      pcommon.TraceID
	start   time.Time
	whole   bool // its root is there: of a trace whose root is not, a part may have been read
	failed  bool
	service bool // it is of the service that is meant, or does not say
}

// chooseTraces picks, of the traces that began in the window, those that went wrong first, of them the latest.
func chooseTraces(data []wire.Data, w flag.Window, most int) map[pcommon.TraceID]bool {
	by := map[pcommon.TraceID]*seenTrace{}
	for rs, s := range spansIn(data) {
		t := by[s.TraceID()]
		if t == nil {
			t = &seenTrace{id: s.TraceID(), start: s.StartTimestamp().AsTime()}
			by[s.TraceID()] = t
		}
		if at := s.StartTimestamp().AsTime(); at.Before(t.start) {
			t.start = at
		}
		name, said := rs.Resource().Attributes().Get("service.name")
		t.whole = t.whole || s.ParentSpanID().IsEmpty()
		t.failed = t.failed || s.Status().Code() == ptrace.StatusCodeError
		t.service = t.service || !said || w.Service == "" || name.AsString() == w.Service
	}
	var found []*seenTrace
	for _, t := range by {
		if t.whole && t.service && !t.start.Before(w.From) && !t.start.After(w.To) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *seenTrace) int {
		if a.failed != b.failed {
			return cmp.Compare(btoi(b.failed), btoi(a.failed))
		}
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(a.id.String(), b.id.String()))
	})
	out := map[pcommon.TraceID]bool{}
	for _, t := range found[:min(len(found), most)] {
		out[t.id] = true
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// spansIn are all spans with what sent them.
func spansIn(data []wire.Data) iter.Seq2[ptrace.ResourceSpans, ptrace.Span] {
	return func(yield func(ptrace.ResourceSpans, ptrace.Span) bool) {
		for _, d := range data {
			if d.Signal != wire.Traces {
				continue
			}
			for _, rs := range d.Traces.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						if !yield(rs, s) {
							return
						}
					}
				}
			}
		}
	}
}

// keepTraces leaves the spans of these traces, and no logs.
func keepTraces(d wire.Data, ids map[pcommon.TraceID]bool) {
	if d.Signal != wire.Traces {
		for _, l := range d.AllLogs() {
			l.ResourceLogs().RemoveIf(func(plog.ResourceLogs) bool { return true })
		}
		return
	}
	for _, rs := range d.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(s ptrace.Span) bool { return !ids[s.TraceID()] })
		}
	}
}

// push sends telemetry in as a receiver takes it. Sending it again changes nothing.
func (f *fetching) push(ctx context.Context, data []wire.Data) error {
	for _, d := range data {
		body, err := wire.Marshal(d)
		if err != nil {
			return err
		}
		if _, err := f.inlet.Export(ctx, otlp.Request{Signal: d.Signal, Body: body, Via: "fetch"}); err != nil {
			return err
		}
	}
	return nil
}
