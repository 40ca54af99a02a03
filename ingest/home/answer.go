package home

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Answer is one trace as its home tells it.
type Answer struct {
	TraceID string      // as pawl knows the trace: 32 hex digits
	Data    []wire.Data // its spans, and log records, as OTLP
	Spans   int
	Digest  string   // the same for two answers that tell the same spans, and as much of each
	Notes   []string // what the answer lacks or what was mended in it
}

// answer makes one of the documents that a home gave of one trace.
func (h *Home) answer(docs [][]byte) (Answer, error) {
	items, problems := h.read(docs)
	a := Answer{}
	for _, p := range problems {
		a.note(p.Error())
	}
	id := mainTrace(items)
	if id.IsEmpty() {
		if len(problems) > 0 {
			return a, fmt.Errorf("its answer cannot be read: %w", problems[0])
		}
		return a, ErrNotThere
	}
	a.TraceID = hex.EncodeToString(id[:])
	var sums []string
	for _, item := range items {
		strangers := only(item.Data, id)
		if strangers > 0 {
			a.note(fmt.Sprintf("%d spans of other traces are left out", strangers))
		}
		for _, w := range item.Report.Warnings {
			a.note(w)
		}
		if len(item.Report.Rejected.Reasons) > 0 {
			a.note(item.Report.Rejected.String())
		}
		sums = append(sums, spanSums(item.Data)...)
		a.Data = append(a.Data, item.Data)
	}
	slices.Sort(sums)
	sums = slices.Compact(sums)
	sum := sha256.Sum256([]byte(strings.Join(sums, "\n")))
	a.Spans, a.Digest = len(sums), hex.EncodeToString(sum[:8])
	if a.Spans == 0 {
		return a, errors.New("its answer holds no span")
	}
	return a, nil
}

const maxNotes = 8

func (a *Answer) note(text string) {
	if text != "" && len(a.Notes) < maxNotes && !slices.Contains(a.Notes, text) {
		a.Notes = append(a.Notes, text)
	}
}

// mainTrace is the trace that most of the spans are of.
func mainTrace(items []importer.Item) (id pcommon.TraceID) {
	count := map[pcommon.TraceID]int{}
	for _, item := range items {
		if item.Data.Signal != wire.Traces {
			continue
		}
		for _, s := range spansOf(item.Data.Traces) {
			if count[s.TraceID()]++; cmp.Or(cmp.Compare(count[s.TraceID()], count[id]), strings.Compare(id.String(), s.TraceID().String())) > 0 {
				id = s.TraceID()
			}
		}
	}
	return id
}

func spansOf(t ptrace.Traces) (out []ptrace.Span) {
	for _, rs := range t.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				out = append(out, s)
			}
		}
	}
	return out
}

// only leaves what is of the trace, and counts the spans that are not.
func only(d wire.Data, id pcommon.TraceID) (strangers int) {
	if d.Signal == wire.Logs {
		for _, l := range d.AllLogs() {
			for _, rl := range l.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					sl.LogRecords().RemoveIf(func(r plog.LogRecord) bool { return r.TraceID() != id })
				}
			}
		}
		return 0
	}
	for _, rs := range d.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(s ptrace.Span) bool {
				if s.TraceID() != id {
					strangers++
				}
				return s.TraceID() != id
			})
		}
	}
	return strangers
}

// spanSums tell each span and how much is known of it.
func spanSums(d wire.Data) (out []string) {
	if d.Signal != wire.Traces {
		return nil
	}
	for _, s := range spansOf(d.Traces) {
		size := 0
		for k, v := range s.Attributes().All() {
			size += len(k) + len(v.AsString())
		}
		out = append(out, fmt.Sprint(s.SpanID(), s.ParentSpanID(), s.StartTimestamp(), s.EndTimestamp(), s.Status().Code(), s.Attributes().Len(), size, s.Events().Len()))
	}
	return out
}

const serviceName = "service.name"

// name gives the configured service's name to what comes without one.
func (h *Home) name(d wire.Data) {
	if h.o.Service == "" {
		return
	}
	fill := func(r pcommon.Resource) {
		if v, ok := r.Attributes().Get(serviceName); !ok || v.Str() == "" {
			r.Attributes().PutStr(serviceName, h.o.Service)
		}
	}
	if d.Signal == wire.Logs {
		for _, l := range d.AllLogs() {
			for _, rl := range l.ResourceLogs().All() {
				fill(rl.Resource())
			}
		}
		return
	}
	for _, rs := range d.Traces.ResourceSpans().All() {
		fill(rs.Resource())
	}
}
