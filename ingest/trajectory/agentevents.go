package trajectory

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// agentEvents are the log events of coding agents that say what an agent did, by the program's prefix: Claude Code, Codex and Gemini CLI
// send them whether or not they send spans, and mostly without a trace id.
var agentEvents = []struct {
	prefix  string
	names   []string
	session []string // attributes that hold the conversation
	turn    []string // attributes that hold the turn within it: one trace each
}{
	{"claude_code.", []string{"user_prompt", "api_request", "api_error", "api_response_body", "assistant_response", "tool_result", "tool_decision"},
		[]string{"session.id"}, []string{"prompt.id"}},
	{"codex.", []string{"user_prompt", "api_request", "sse_event", "tool_decision", "tool_result"},
		[]string{"conversation.id"}, []string{"turn.id"}},
	{"gemini_cli.", []string{"user_prompt", "api_response", "api_error", "tool_call"},
		[]string{"session.id"}, []string{"prompt_id"}},
}

// AgentEvents makes spans of the log records by which coding agents tell what they did, one a record, so that they are read like any
// spans. A record that names a span becomes its child. Those without a trace id are one trace a turn of a conversation, with ids that
// follow from the conversation's: the same records always give the same spans. All other records are left out.
func AgentEvents(ld plog.Logs) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, rl := range ld.ResourceLogs().All() {
		rs := ptrace.NewResourceSpans()
		rl.Resource().CopyTo(rs.Resource())
		service := AttrsOf(rl.Resource().Attributes()).Text("service.name")
		for _, sl := range rl.ScopeLogs().All() {
			ss := ptrace.NewScopeSpans()
			sl.Scope().CopyTo(ss.Scope())
			for _, r := range sl.LogRecords().All() {
				if e, ok := agentEventOf(r); ok {
					e.service = service
					e.span(r, ss.Spans().AppendEmpty())
				}
			}
			if ss.Spans().Len() > 0 {
				ss.CopyTo(rs.ScopeSpans().AppendEmpty())
			}
		}
		if rs.ScopeSpans().Len() > 0 {
			rs.CopyTo(td.ResourceSpans().AppendEmpty())
		}
	}
	return td
}

// agentEvent is one such record.
type agentEvent struct {
	name                   string // with the program's prefix
	service, session, turn string
	attrs                  Attrs
}

func agentEventOf(r plog.LogRecord) (agentEvent, bool) {
	for _, name := range eventNames(r) {
		for _, p := range agentEvents {
			bare, ok := strings.CutPrefix(name, p.prefix)
			if !ok || !slices.Contains(p.names, bare) {
				continue
			}
			attrs := AttrsOf(r.Attributes())
			if bare == "sse_event" && (attrs.Text("event.kind") != "response.completed" || !attrs.Has("input_token_count")) {
				return agentEvent{}, false // one of thousands of pieces of an answer, whose end new versions tell twice: once with the counts
			}
			e := agentEvent{name: name, session: attrs.Str(p.session...), turn: attrs.Str(p.turn...), attrs: attrs}
			return e, e.session != "" || !r.TraceID().IsEmpty()
		}
	}
	return agentEvent{}, false
}

// eventNames are the names that a record gives itself. Claude Code leaves its prefix to the body; of Codex the field holds a place in its
// source, and the attribute the event.
func eventNames(r plog.LogRecord) []string {
	out := []string{r.EventName()}
	if v, ok := r.Attributes().Get("event.name"); ok {
		out = append(out, v.AsString())
	}
	if b := r.Body(); b.Type() == pcommon.ValueTypeStr {
		if prefix, bare, ok := strings.Cut(b.Str(), "."); ok && (slices.Contains(out, bare) || len(out) == 1 && out[0] == "") {
			out = append(out, prefix+"."+bare)
		}
	}
	return out
}

// isAgentEvent says whether a span was made of such a record.
func isAgentEvent(s *Span) bool {
	for _, p := range agentEvents {
		if bare, ok := strings.CutPrefix(s.Name, p.prefix); ok && slices.Contains(p.names, bare) {
			return true
		}
	}
	return false
}

// recordOf says whether one of two nodes is a record of a coding agent beside the other, a span of the same agent: the record is written
// while the span is open or right after, so that neither need cover the other.
func recordOf(a, b *node) bool {
	return a.dialect == b.dialect && isAgentEvent(a.span) != isAgentEvent(b.span) && !a.start.After(b.end) && !b.start.After(a.end)
}

// span writes the record as a span that ends when it was written and began as much earlier as it says that the work took.
func (e agentEvent) span(r plog.LogRecord, s ptrace.Span) {
	end := cmp.Or(r.Timestamp(), r.ObservedTimestamp())
	if at, err := time.Parse(time.RFC3339Nano, e.attrs.Text("event.timestamp")); err == nil && r.Timestamp() == 0 {
		end = pcommon.NewTimestampFromTime(at)
	}
	start := end
	if ms := e.attrs.Float("duration_ms"); ms != nil && *ms < 1e9 && pcommon.Timestamp(*ms*1e6) < end {
		start = end - pcommon.Timestamp(*ms*1e6)
	}
	s.SetName(e.name)
	s.SetStartTimestamp(start)
	s.SetEndTimestamp(end)
	s.SetKind(ptrace.SpanKindInternal)
	r.Attributes().CopyTo(s.Attributes())
	s.SetSpanID(e.spanID(end))
	s.SetTraceID(r.TraceID())
	if r.TraceID().IsEmpty() {
		s.SetTraceID(e.traceID())
	} else {
		s.SetParentSpanID(r.SpanID())
	}
	if ok, stated := e.attrs.Bool("success"); stated && ok {
		s.Status().SetCode(ptrace.StatusCodeOk) // what went wrong is in the record's own words: its dialect reads them
	}
}

// traceID is that of the turn, for records that come without one.
func (e agentEvent) traceID() pcommon.TraceID {
	sum := sha256.Sum256([]byte(e.service + "\x00" + e.session + "\x00" + e.turn))
	return pcommon.TraceID(sum[:16])
}

// spanID follows from what the record says, in whatever order.
func (e agentEvent) spanID(at pcommon.Timestamp) pcommon.SpanID {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s", e.name, at, e.service)
	for _, k := range slices.Sorted(maps.Keys(e.attrs)) {
		fmt.Fprintf(h, "\x00%s\x00%s", k, e.attrs.Text(k))
	}
	return pcommon.SpanID(h.Sum(nil)[:8])
}
