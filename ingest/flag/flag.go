// Package flag is the claim of an outsider that a trace, or a window of traces, is bad. It says nothing of why: the words that come with it are a
// quotation, never a label.
//
// # What is stored
//
// A message of the stream FLAGS is one or more Flags as JSON, one a line. A Flag's ID is the same however often its sender repeats it, so that taking one
// twice changes nothing.
package flag

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Flag is one claim. It is on the trace TraceID, or on a Window where that is "", or on the trace that a home knows as RawID and OpenTelemetry does not.
type Flag struct {
	ID       string    `json:"id"`                // 32 hex digits; see New
	Source   string    `json:"source"`            // who says so: the name of a webhook's source, or what POST /v1/flags was told
	TraceID  string    `json:"trace_id,omitzero"` // 32 lower-case hex digits
	RawID    string    `json:"raw_id,omitzero"`   // the trace's id as the sender wrote it
	Project  string    `json:"project,omitzero"`  // as the sender names it
	Window   *Window   `json:"window,omitzero"`
	Reason   string    `json:"reason"`            // the sender's own words
	Link     string    `json:"link,omitzero"`     // to the sender's page
	Severity string    `json:"severity,omitzero"` // in the sender's words
	Received time.Time `json:"received"`
	Of       string    `json:"of,omitzero"` // of a trace that a window led to: the window flag's ID
}

// Window is a time in which traces were bad. What is "" lets all through.
type Window struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Service string    `json:"service,omitzero"` // service.name
	Session string    `json:"session,omitzero"`
}

// The bounds of a flag's texts, in bytes: it names a failure and is no place for content.
const (
	MaxReason = 1000
	maxName   = 200
	maxLink   = 1000
)

// MaxWindow is the longest window: nobody means a month of traces.
const MaxWindow = 24 * time.Hour

// New completes a flag: it bounds its texts, derives its ID from source and key, which names the claim among those of its source, and says what is
// wrong with it. Without a key the claim is named by what it says.
func New(f Flag, key string, now time.Time) (Flag, error) { return complete(f, key, now, false) }

// NewForeign is New for a source whose traces live in a home that can be asked: an id that is no OpenTelemetry id is taken as it is.
func NewForeign(f Flag, key string, now time.Time) (Flag, error) { return complete(f, key, now, true) }

func complete(f Flag, key string, now time.Time, foreign bool) (Flag, error) {
	f.Source, f.Project, f.Severity, f.RawID = clip(f.Source, maxName), clip(f.Project, maxName), clip(f.Severity, maxName), clip(f.RawID, maxName)
	f.Reason, f.Link, f.Received = clip(strings.Join(strings.Fields(f.Reason), " "), MaxReason), clip(f.Link, maxLink), now.UTC()
	if f.TraceID == "" {
		f.TraceID = Normal(f.RawID)
	}
	switch w := f.Window; {
	case f.Source == "":
		return f, errors.New("a flag without a source")
	case f.TraceID == "" && w == nil && f.RawID != "" && foreign:
	case f.TraceID == "" && w == nil && f.RawID != "":
		return f, fmt.Errorf("%q is no trace id: it has 32 hex digits, with dashes or without", f.RawID)
	case f.TraceID == "" && w == nil:
		return f, errors.New("a flag needs trace_id or window")
	case f.TraceID != "" && w != nil:
		return f, errors.New("a flag has trace_id or window, not both")
	case w != nil && (w.From.IsZero() || w.To.Before(w.From)):
		return f, errors.New("a window needs from and to, in this order")
	case w != nil && w.To.Sub(w.From) > MaxWindow:
		return f, fmt.Errorf("a window is at most %s long", MaxWindow)
	case w != nil:
		f.Window = &Window{w.From.UTC(), w.To.UTC(), clip(w.Service, maxName), clip(w.Session, maxName)}
	}
	if key == "" {
		key = strings.Join([]string{f.trace(), f.Reason, f.Link, windowKey(f.Window)}, "\x00")
	}
	f.ID = Digest(f.Source, key, f.trace())
	return f, nil
}

// trace is the trace's id, as far as it is one.
func (f Flag) trace() string {
	if f.Window != nil {
		return ""
	}
	return cmp.Or(f.TraceID, f.RawID)
}

// Foreign says whether the flag is on a trace that only its home knows by that id.
func (f Flag) Foreign() bool { return f.TraceID == "" && f.Window == nil && f.RawID != "" }

func windowKey(w *Window) string {
	if w == nil {
		return ""
	}
	return strings.Join([]string{w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano), w.Service, w.Session}, " ")
}

// Digest names what the parts say together, in 32 hex digits.
func Digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Normal brings a trace's id into OpenTelemetry's form: 32 hex digits in any case, with dashes as a UUID has them or without. "" is returned for what is
// no such id, and for the one of zeros alone. Some tools have ids of their own that look like one: such a flag finds no trace.
func Normal(id string) string {
	id = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(id), "-", ""))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" || strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// Encode writes flags as a message of FLAGS.
func Encode(fs []Flag) ([]byte, error) {
	var b bytes.Buffer
	for i, f := range fs {
		doc, err := json.Marshal(f, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, fmt.Errorf("flag %s: %w", f.ID, err)
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.Write(doc)
	}
	return b.Bytes(), nil
}

// Decode reads one line of a message of FLAGS.
func Decode(line []byte) (f Flag, err error) {
	if err := json.Unmarshal(line, &f); err != nil {
		return f, fmt.Errorf("read flag: %w", err)
	}
	shapes := 0
	for _, is := range []bool{f.TraceID != "", f.Window != nil, f.Foreign()} {
		if is {
			shapes++
		}
	}
	if f.ID == "" || f.Source == "" || shapes != 1 || f.TraceID != "" && Normal(f.TraceID) != f.TraceID {
		return f, errors.New("read flag: not one that pawl wrote")
	}
	return f, nil
}

// clip bounds a text, in bytes, and mends what is no UTF-8.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}
