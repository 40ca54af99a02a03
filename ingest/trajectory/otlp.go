package trajectory

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Intake gathers decoded OTLP requests and sorts them into traces. The requests may come in any order and any number of times. The zero
// Intake is ready for use. What it returns points into the requests: they must stay unchanged.
type Intake struct {
	traces map[string]*gathered
}

// gathered is one trace while it is being collected.
type gathered struct {
	spans   []Span
	sources []source           // of the spans
	at      map[string]int     // by span id: where it is in spans
	logs    map[string][]place // by the record's bytes: where each copy of it stood
}

// source is what a span was read from.
type source struct {
	span     ptrace.Span
	resource pcommon.Resource
	scope    pcommon.InstrumentationScope
}

// place is a log record and its position in its request. Records of one call often carry one time, and only their order in the request tells
// their order: keep it when records are stored in between.
type place struct {
	log Log
	pos int
}

// wentOn is added to the positions of records that may go on with those of another request, more than any request holds.
const wentOn = 1 << 40

// FromOTLP sorts requests into traces, ordered by their first start, then by id.
func FromOTLP(traces []ptrace.Traces, logs []plog.Logs) []Trace {
	var in Intake
	for _, td := range traces {
		in.Add(td)
	}
	for _, ld := range logs {
		in.AddLogs(ld)
	}
	return in.Traces()
}

// Add takes the spans of one request. Spans without a trace id or span id are left out.
func (in *Intake) Add(td ptrace.Traces) {
	var ids idTexts
	for _, rs := range td.ResourceSpans().All() {
		resource := AttrsOf(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() {
					continue
				}
				span := spanOf(s, ss.Scope(), resource, &ids)
				in.trace(span.TraceID, ss.Spans().Len()).add(span, source{s, rs.Resource(), ss.Scope()})
			}
		}
	}
}

// trace is where a trace is collected; room is for how many spans at first.
func (in *Intake) trace(id string, room int) *gathered {
	if g, ok := in.traces[id]; ok {
		return g
	}
	if in.traces == nil {
		in.traces = map[string]*gathered{}
	}
	g := &gathered{spans: make([]Span, 0, room), sources: make([]source, 0, room), at: make(map[string]int, room)}
	in.traces[id] = g
	return g
}

// add keeps the better of two versions of one span.
func (g *gathered) add(s Span, from source) {
	i, ok := g.at[s.ID]
	if !ok {
		g.at[s.ID] = len(g.spans)
		g.spans, g.sources = append(g.spans, s), append(g.sources, from)
		return
	}
	old := &g.spans[i]
	// Ended over unended, the later end, more attributes, the greater bytes.
	c := cmp.Or(s.End.Compare(old.End), cmp.Compare(len(s.Attrs), len(old.Attrs)))
	if c == 0 {
		c = bytes.Compare(from.bytes(), g.sources[i].bytes())
	}
	if c > 0 {
		g.spans[i], g.sources[i] = s, from
	}
}

// bytes are the span's own encoding with its containers.
func (s source) bytes() []byte {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	s.resource.CopyTo(rs.Resource())
	ss := rs.ScopeSpans().AppendEmpty()
	s.scope.CopyTo(ss.Scope())
	span := ss.Spans().AppendEmpty()
	s.span.CopyTo(span)
	for _, m := range []pcommon.Map{rs.Resource().Attributes(), ss.Scope().Attributes(), span.Attributes()} {
		m.RemoveIf(func(key string, _ pcommon.Value) bool { return key == "" }) // JSON leaves them out
	}
	// Marshalling a well-formed message into memory cannot fail; should it, both versions compare equal and the first is kept.
	out, _ := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	return out
}

// AddLogs takes the log records of one request. Those by which coding agents tell what they did become spans: see AgentEvents. Others without
// a trace id are left out. Of records that carry one time the order in the request is their order, so a store in between must keep it. Where an
// exporter's full batch parted such records, those that a request begins with go on where another one ended.
func (in *Intake) AddLogs(ld plog.Logs) {
	in.Add(AgentEvents(ld))
	copies := map[string]int{} // how often this very request holds a record
	pos := 0
	var head place
	for _, rl := range ld.ResourceLogs().All() {
		resource := AttrsOf(rl.Resource().Attributes())
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				if pos++; r.TraceID().IsEmpty() {
					continue
				}
				key := recordKey(r)
				at := place{logOf(r, sl.Scope(), resource), pos}
				if head.pos == 0 {
					head = at
				}
				if at.log.SpanID == head.log.SpanID && at.log.Time.Equal(head.log.Time) {
					at.pos += wentOn
				}
				in.addLog(key, copies[key], at)
				copies[key]++
			}
		}
	}
}

// addLog keeps the n-th copy of a record once, however often requests repeat it, at the earliest position that it had.
func (in *Intake) addLog(key string, n int, p place) {
	g := in.trace(p.log.TraceID, 0)
	if g.logs == nil {
		g.logs = map[string][]place{}
	}
	have := g.logs[key]
	if n == len(have) {
		g.logs[key] = append(have, p)
		return
	}
	have[n].pos = min(have[n].pos, p.pos)
}

func recordKey(r plog.LogRecord) string {
	ld := plog.NewLogs()
	r.CopyTo(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
	out, _ := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	return string(out)
}

// Traces returns what has come so far, ordered by first start, then by id.
func (in *Intake) Traces() []Trace {
	out := make([]Trace, 0, len(in.traces))
	for id, g := range in.traces {
		out = append(out, g.trace(id))
	}
	slices.SortFunc(out, CompareTraces)
	return out
}

// CompareTraces orders traces by first start, then by id.
func CompareTraces(a, b Trace) int {
	return cmp.Or(a.start().Compare(b.start()), strings.Compare(a.ID, b.ID))
}

func (t Trace) start() time.Time {
	for i := range t.Spans { // those that state none come first
		if s := t.Spans[i].Start; !s.IsZero() {
			return s
		}
	}
	if len(t.Logs) > 0 {
		return t.Logs[0].Time
	}
	return time.Time{}
}

func (g *gathered) trace(id string) Trace {
	t := Trace{ID: id, Spans: make([]Span, 0, len(g.spans))}
	order := make([]int, len(g.spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareSpans(&g.spans[a], &g.spans[b]) })
	for _, i := range order {
		t.Spans = append(t.Spans, g.spans[i])
	}
	if len(g.logs) == 0 {
		return t
	}
	at := make(map[string]int, len(t.Spans))
	for i := range t.Spans {
		at[t.Spans[i].ID] = i
	}
	for _, l := range g.sortedLogs() {
		if i, ok := at[l.SpanID]; ok {
			t.Spans[i].Logs = append(t.Spans[i].Logs, l)
			continue
		}
		t.Logs = append(t.Logs, l)
	}
	return t
}

func compareSpans(a, b *Span) int {
	return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.ID, b.ID))
}

func (g *gathered) sortedLogs() []Log {
	type keyed struct {
		place
		key string
	}
	var all []keyed
	for _, key := range slices.Sorted(maps.Keys(g.logs)) {
		for _, p := range g.logs[key] {
			all = append(all, keyed{p, key})
		}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		return cmp.Or(a.log.Time.Compare(b.log.Time), cmp.Compare(a.pos, b.pos), cmp.Compare(messageRank(a.log.Name), messageRank(b.log.Name)),
			strings.Compare(a.key, b.key))
	})
	out := make([]Log, len(all))
	for i, k := range all {
		out[i] = k.log
	}
	return out
}

// idTexts are the ids met last: neighbours share their trace and mostly their parent.
type idTexts struct {
	trace  pcommon.TraceID
	parent pcommon.SpanID
	texts  [2]string
}

func (t *idTexts) of(s ptrace.Span) (trace, parent string) {
	if id := s.TraceID(); id != t.trace {
		t.trace, t.texts[0] = id, hexID(id)
	}
	if id := s.ParentSpanID(); id != t.parent {
		t.parent, t.texts[1] = id, spanID(id)
	}
	return t.texts[0], t.texts[1]
}

func spanOf(s ptrace.Span, scope pcommon.InstrumentationScope, resource Attrs, ids *idTexts) Span {
	trace, parent := ids.of(s)
	out := Span{
		TraceID: trace, ID: spanID(s.SpanID()), ParentID: parent,
		Name: s.Name(), Kind: kindOfSpan(s.Kind()), Start: instant(s.StartTimestamp()),
		Status: statusOf(s.Status().Code()), StatusMessage: s.Status().Message(),
		Attrs: AttrsOf(s.Attributes()), Resource: resource, Scope: scope.Name(), ScopeVersion: scope.Version(),
		TraceState: s.TraceState().AsRaw(), Dropped: dropped(s),
	}
	if end := instant(s.EndTimestamp()); !end.Before(out.Start) {
		out.End = end
	} else {
		out.Backward = !end.IsZero()
	}
	for _, e := range s.Events().All() {
		out.Events = append(out.Events, Event{Name: e.Name(), Time: instant(e.Timestamp()), Attrs: AttrsOf(e.Attributes())})
	}
	for _, l := range s.Links().All() {
		if !l.TraceID().IsEmpty() {
			out.Links = append(out.Links, hexID(l.TraceID()))
		}
	}
	return out
}

func dropped(s ptrace.Span) int {
	n := int(s.DroppedAttributesCount()) + int(s.DroppedEventsCount()) + int(s.DroppedLinksCount())
	for _, e := range s.Events().All() {
		n += int(e.DroppedAttributesCount())
	}
	return n
}

func logOf(r plog.LogRecord, scope pcommon.InstrumentationScope, resource Attrs) Log {
	attrs := AttrsOf(r.Attributes())
	return Log{
		TraceID: hexID(r.TraceID()), SpanID: spanID(r.SpanID()), Resource: resource, Scope: scope.Name(),
		Event: Event{
			Name:  cmp.Or(r.EventName(), attrs.Text("event.name")),
			Time:  instant(cmp.Or(r.Timestamp(), r.ObservedTimestamp())),
			Attrs: attrs, Body: r.Body(),
		},
	}
}

// instant is a time stamp; 0 is the zero Time, and so is one beyond what 64 bits with a sign hold, which no clock shows.
func instant(ts pcommon.Timestamp) time.Time {
	if ts == 0 || ts > math.MaxInt64 {
		return time.Time{}
	}
	return ts.AsTime()
}

func hexID(id pcommon.TraceID) string {
	var text [32]byte
	hex.Encode(text[:], id[:])
	return string(text[:])
}

func spanID(id pcommon.SpanID) string {
	if id.IsEmpty() {
		return ""
	}
	var text [16]byte
	hex.Encode(text[:], id[:])
	return string(text[:])
}

func kindOfSpan(k ptrace.SpanKind) Kind {
	if k < 0 || k > ptrace.SpanKindConsumer {
		return KindUnspecified
	}
	return Kind(k)
}

func statusOf(c ptrace.StatusCode) Status {
	switch c {
	case ptrace.StatusCodeOk:
		return StatusOK
	case ptrace.StatusCodeError:
		return StatusError
	}
	return StatusUnset
}
