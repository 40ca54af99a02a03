// Package sample makes traces of an invented agent, the parcel desk of a shop, in four span dialects: the demo sends them, and end-to-end and
// load tests use them. Everything in them is made up.
//
// A Run says what happened; a dialect writes it down as its SDK would. Equal seeds give equal traces.
package sample

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Call is one tool call of a Turn.
type Call struct {
	Tool      string
	Arguments string // as the model wrote them
	Result    string // JSON; "" with Lost
	Failed    bool   // the tool refused or threw: Result is its message
	Lost      bool   // requested and never answered
}

// Turn is one model call: it asks for tools or it answers.
type Turn struct {
	Text   string
	Calls  []Call
	Input  int64 // tokens
	Output int64
	Error  string // the provider's refusal
}

// Run is one conversation with the agent.
type Run struct {
	Name    string // of the scenario
	User    string
	Turns   []Turn
	Session string
	// Stateful says that the provider keeps the history, so that an input holds only what is new. Only otel-genai is written so.
	Stateful bool

	told int        // the first of Turns, which earlier traces of the session made
	ids  [][]string // the call ids of Turns, when they are settled
}

// Dialect writes a run as one SDK would.
type Dialect struct {
	Name  string
	Write func(Run, *Writer)
}

// Dialects are the four that the sample speaks.
var Dialects = []Dialect{
	{"otel-genai", writeGenAI},
	{"openinference", writeOpenInference},
	{"openllmetry", writeOpenLLMetry},
	{"vercel-legacy", writeVercel},
}

// Trace writes a run in a dialect. The trace begins at start; rng gives its ids.
func Trace(d Dialect, r Run, start time.Time, rng *rand.Rand) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "parcel-desk")
	rs.Resource().Attributes().PutStr("service.version", "2026.11.3")
	w := &Writer{spans: rs.ScopeSpans().AppendEmpty(), rng: rng, now: start}
	binary.BigEndian.PutUint64(w.trace[:8], rng.Uint64())
	binary.BigEndian.PutUint64(w.trace[8:], rng.Uint64()|1)
	d.Write(r, w)
	return td
}

// Session writes a run as a process does that makes a trace of every model call and the tools it asks for: each but the first begins with the history.
func Session(d Dialect, r Run, start time.Time, rng *rand.Rand) ptrace.Traces {
	w := &Writer{rng: rng}
	for _, t := range r.Turns {
		ids := make([]string, len(t.Calls))
		for i := range ids {
			ids[i] = w.callID()
		}
		r.ids = append(r.ids, ids)
	}
	all, turns := ptrace.NewTraces(), r.Turns
	for i := range turns {
		r.Turns, r.told = turns[:i+1], i
		Trace(d, r, start.Add(time.Duration(i)*10*time.Second), rng).ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	return all
}

// Writer appends spans to a trace and keeps its clock.
type Writer struct {
	spans ptrace.ScopeSpans
	rng   *rand.Rand
	trace pcommon.TraceID
	now   time.Time
}

func (w *Writer) scope(name, version string) {
	w.spans.Scope().SetName(name)
	w.spans.Scope().SetVersion(version)
}

// span opens a span below parent (the zero id makes a root) and gives it the time that passes until end is called.
func (w *Writer) span(name string, kind ptrace.SpanKind, parent pcommon.SpanID) ptrace.Span {
	s := w.spans.Spans().AppendEmpty()
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], w.rng.Uint64()|1)
	s.SetTraceID(w.trace)
	s.SetSpanID(id)
	s.SetParentSpanID(parent)
	s.SetName(name)
	s.SetKind(kind)
	w.pass(2 * time.Millisecond)
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(w.now))
	return s
}

func (w *Writer) end(s ptrace.Span, took time.Duration) {
	w.pass(took)
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(w.now))
}

func (w *Writer) pass(d time.Duration) {
	w.now = w.now.Add(d + time.Duration(w.rng.IntN(1000))*time.Microsecond)
}

func (w *Writer) fail(s ptrace.Span, kind, message string) {
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage(message)
	e := s.Events().AppendEmpty()
	e.SetName("exception")
	e.SetTimestamp(pcommon.NewTimestampFromTime(w.now))
	e.Attributes().PutStr("exception.type", kind)
	e.Attributes().PutStr("exception.message", message)
}

// callID invents a provider's call id.
func (w *Writer) callID() string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	b := []byte("call_")
	for range 20 {
		b = append(b, digits[w.rng.IntN(len(digits))])
	}
	return string(b)
}

const (
	model  = "gpt-4.1-mini"
	system = "You are the parcel desk of the Example Shop. Look parcels up before you answer. Refund only what the order shows."
	agent  = "parcel_desk"
)

type tool struct {
	Name, Description, Schema string
}

var tools = []tool{
	{"find_parcel", "Find a parcel by its tracking number.",
		`{"type":"object","properties":{"tracking_number":{"type":"string","pattern":"^PX-[0-9]{8}$"}},"required":["tracking_number"],"additionalProperties":false}`},
	{"get_order", "Read one order.",
		`{"type":"object","properties":{"order_id":{"type":"string","pattern":"^A-[0-9]{6}$"}},"required":["order_id"],"additionalProperties":false}`},
	{"refund", "Refund an order. Not idempotent.",
		`{"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number","exclusiveMinimum":0},"currency":{"type":"string","enum":["EUR","USD","GBP"]}},"required":["order_id","amount","currency"],"additionalProperties":false}`},
	{"send_note", "Send a note to a customer.",
		`{"type":"object","properties":{"to":{"type":"string","format":"email"},"text":{"type":"string"}},"required":["to","text"],"additionalProperties":false}`},
}

// js renders a value as JSON text. The values are this package's own, so they always render.
func js(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// history is what a model call sees: the user's message and all turns before it.
type history struct {
	turn Turn
	ids  []string // call ids of the turn
}
