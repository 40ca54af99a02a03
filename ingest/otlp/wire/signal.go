// Package wire reads, checks, mends and cuts OTLP bodies.
//
// It is pure: values in, values out, no I/O, no clock, no goroutines, and it imports nothing of ours. There is one form
// inside, the protobuf encoding of an export request: JSON is transcoded to it, so that every rule about ids, text, sizes
// and secrets is stated once, on the wire, and holds for both encodings.
//
// Invariants:
//   - A body that [Walk] accepts is accepted by pdata's decoder too, so a checked body never spoils those it is
//     concatenated with. [Walk] is the stricter of the two (field numbers and groups by the protobuf rules).
//   - A body that [Filter.Apply] returned is clean: every span has a trace id and a span id, every log record has a
//     trace id, all text is valid UTF-8 without NUL, no value is nested deeper than the decoder follows, and no span is
//     larger than a message may be.
//   - One bad attribute never drops its span, and one bad span never drops its request. What is left out is counted.
//   - [Partition] is stable for ever: streams are named by it.
package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Signal is the kind of telemetry a body carries.
type Signal uint8

// The signals that are understood. Metrics and profiles are not.
const (
	Traces Signal = iota + 1
	Logs
)

// String returns "traces" or "logs".
func (s Signal) String() string {
	switch s {
	case Traces:
		return "traces"
	case Logs:
		return "logs"
	}
	return fmt.Sprintf("signal(%d)", uint8(s))
}

// item is the word for one thing of the signal, in the plural where n is not 1.
func (s Signal) item(n int) string {
	word := "span"
	if s == Logs {
		word = "log record"
	}
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// member is the name of the list in an export request in JSON.
func (s Signal) member() string {
	if s == Logs {
		return "resourceLogs"
	}
	return "resourceSpans"
}

func (s Signal) root() kind {
	if s == Logs {
		return kindLogsData
	}
	return kindTracesData
}

// Reason says why some spans or log records were left out: Code is a short constant word, fit for a metric label
// (zero_id, bad_id, too_large), Text a sentence for a person.
type Reason struct {
	Code  string
	Text  string
	Count int
}

// Rejected counts what can never be stored. Count is the sum over Reasons, which are ordered by code.
type Rejected struct {
	Count   int
	Reasons []Reason
}

// String returns the reasons as one short line, empty where nothing was rejected.
func (r Rejected) String() string {
	texts := make([]string, len(r.Reasons))
	for i, why := range r.Reasons {
		texts[i] = why.Text
	}
	return strings.Join(texts, "; ")
}

// Report tells what became of one body. Spans counts the spans (or log records) kept. Untraced counts log records that
// carry no trace id and so can join no trace; they are dropped and are not Rejected, for a sender of ordinary logs did
// nothing wrong. Adopted counts those that carry none and were stored as spans. Truncated counts spans whose longest values were cut. Warnings are sentences about what was mended, one
// for each kind of fault, at most a dozen.
type Report struct {
	Spans     int
	Rejected  Rejected
	Untraced  int
	Adopted   int
	Truncated int
	Warnings  []string
}

// Merge adds other to r.
func (r *Report) Merge(other Report) {
	r.Spans += other.Spans
	r.Untraced += other.Untraced
	r.Adopted += other.Adopted
	r.Truncated += other.Truncated
	for _, why := range other.Rejected.Reasons {
		r.reject(why.Code, why.Text, why.Count)
	}
	for _, w := range other.Warnings {
		if !slices.Contains(r.Warnings, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
}

func (r *Report) reject(code, text string, n int) {
	if n == 0 {
		return
	}
	r.Rejected.Count += n
	why := Reason{Code: code, Text: text, Count: n}
	at, found := slices.BinarySearchFunc(r.Rejected.Reasons, why, func(a, b Reason) int { return cmp.Compare(a.Code, b.Code) })
	if found {
		r.Rejected.Reasons[at].Count += n
		return
	}
	r.Rejected.Reasons = slices.Insert(r.Rejected.Reasons, at, why)
}

// faults counts, by kind, what was mended; render makes sentences of it in a fixed order.
type faults struct {
	text, id, deep, unknown, old, link int
	dropped, masked                    int
	value, enum, number                int
}

func (f *faults) render(into *Report) {
	for _, w := range []struct {
		n    int
		text string
	}{
		{f.text, "%d strings held invalid UTF-8 or NUL; replaced by U+FFFD"},
		{f.id, "%d ids came as text or in an odd length; converted, or left empty where they could not be"},
		{f.link, "%d links had unusable ids; the ids were left out"},
		{f.deep, "%d values were nested too deeply; kept as text or left empty"},
		{f.unknown, "%d attribute values were of an unknown kind; kept as null"},
		{f.old, "%d groups of spans used the deprecated instrumentation library field; read as scopes"},
		{f.value, "%d attribute values did not fit their declared type; kept as text or null"},
		{f.enum, "%d enum names are unknown; left unset"},
		{f.number, "%d numbers or times could not be read; left unset"},
		{f.dropped, "%d attributes were dropped by ingest.drop or because they hold credentials"},
		{f.masked, "%d values were masked by ingest.mask"},
	} {
		if w.n > 0 {
			into.Warnings = append(into.Warnings, fmt.Sprintf(w.text, w.n))
		}
	}
}
