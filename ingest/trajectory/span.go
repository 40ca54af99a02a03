package trajectory

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Trace is what the assembler hands over: every span and log record that carries one trace id.
type Trace struct {
	ID        string // 32 lower-case hex digits
	Spans     []Span
	Logs      []Log
	Truncated bool // pawl stopped collecting at a limit
}

// Span is one span as it arrived, with what its containers say of it. It points into the decoded request: read it, never change it.
type Span struct {
	TraceID, ID, ParentID string // lower-case hex; ParentID is "" at a root
	Name                  string
	Kind                  Kind
	Start, End            time.Time // End is zero when the span never ended or ends before it starts
	Status                Status
	StatusMessage         string
	Attrs                 Attrs
	Events                []Event
	Links                 []string // the trace ids of the spans that it is linked to
	Resource              Attrs
	Scope, ScopeVersion   string
	TraceState            string
	Backward              bool  // it states an end that is before its start
	Dropped               int   // attributes, events and links that the SDK dropped
	Logs                  []Log // log records that name this span, in time order
}

// Kind is the span kind.
type Kind uint8

// The span kinds.
const (
	KindUnspecified Kind = iota
	KindInternal
	KindServer
	KindClient
	KindProducer
	KindConsumer
)

// Status is the status code of a span.
type Status uint8

// The status codes.
const (
	StatusUnset Status = iota
	StatusOK
	StatusError
)

// Event is one event of a span, or a log record in the same clothes.
type Event struct {
	Name  string
	Time  time.Time
	Attrs Attrs
	Body  pcommon.Value // of a log record; the zero Value for span events
}

// Log is one log record that names a span or a trace.
type Log struct {
	TraceID, SpanID string
	Event
	Resource Attrs
	Scope    string
}
