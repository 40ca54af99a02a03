package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// ErrMalformed says that a delivery is authentic and cannot be read.
var ErrMalformed = errors.New("malformed")

// Reading is what a delivery says.
type Reading struct {
	Key    string  // names the delivery among those of its source, however often it is sent; "" for none
	Claims []Claim // none: nothing to flag
	Why    string  // of none: why not
	Test   bool    // it is a test or a ping
}

// Claim is a flag in the making. Key names it among those of its source, "" where what it says is its name.
type Claim struct {
	Key string
	flag.Flag
}

// reader reads a proven delivery. An error is ErrMalformed.
type reader func(d Delivery, now time.Time) (Reading, error)

// ignored is a delivery that says nothing bad of traces.
func ignored(key, format string, args ...any) Reading {
	return Reading{Key: key, Why: fmt.Sprintf(format, args...)}
}

// parse reads the body as JSON, as leniently as JSON allows.
func parse[T any](body []byte) (v T, err error) {
	if err := json.Unmarshal(body, &v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return v, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return v, nil
}

// before is how far back an alert that names a moment and no window means.
const before = 5 * time.Minute

// leadingTo is the window that led to a moment; that of no moment leads to now.
func leadingTo(at, now time.Time, service string) *flag.Window {
	if at.IsZero() || at.After(now.Add(tolerance)) {
		at = now
	}
	return &flag.Window{From: at.Add(-before), To: at, Service: service}
}

// between is a window, cut from its beginning to what a window may be, or what led to now where an end is missing.
func between(from, to, now time.Time, service string) *flag.Window {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return leadingTo(cmp.Or(to, from), now, service)
	}
	if to.Sub(from) > flag.MaxWindow {
		from = to.Add(-flag.MaxWindow)
	}
	return &flag.Window{From: from, To: to, Service: service}
}

// instant reads a time as senders write it: RFC 3339, with a blank for the T or without a zone (UTC), or Unix seconds or milliseconds. The zero time is for what is none.
func instant(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || n <= 0 || n > 1e14:
		return time.Time{}
	case n > 1e11:
		return time.UnixMilli(int64(n)).UTC()
	}
	return time.UnixMilli(int64(n * 1000)).UTC()
}

// traceKeys are the names under which senders put a trace's id into labels, annotations and details.
var traceKeys = []string{"trace_id", "traceId", "traceID", "TraceId", "trace-id", "trace.id", "dd.trace_id", "otel.trace_id"}

// serviceKeys are the names of the service that an alert is on.
var serviceKeys = []string{"service", "service_name", "service.name", "serviceName"}

func firstOf(m map[string]string, keys []string) string {
	for _, k := range keys {
		if v := strings.TrimSpace(m[k]); v != "" {
			return v
		}
	}
	return ""
}

var mention = regexp.MustCompile(`(?i)trace[ _.-]?id["'\x60]?\s*[:=]?\s*["'\x60]?([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b`)

// mentioned is the id of the trace that a text speaks of, "" when it speaks of none.
func mentioned(texts ...string) string {
	for _, t := range texts {
		if m := mention.FindStringSubmatch(t); m != nil {
			return m[1]
		}
	}
	return ""
}

// on makes the flag one on the trace of that id, or else on the window.
func on(f flag.Flag, id string, w *flag.Window) flag.Flag {
	if f.RawID = id; flag.Normal(id) == "" && w != nil {
		f.Window = w
	}
	return f
}

// joined puts what there is of the parts together.
func joined(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" }), sep)
}

// texts are the fields of a JSON object that are strings, numbers or truth values, written out.
type texts map[string]string

// UnmarshalJSON takes what is an object; anything else holds no fields.
func (t *texts) UnmarshalJSON(b []byte) error {
	var m map[string]jsontext.Value
	if err := json.Unmarshal(b, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil
	}
	*t = texts{}
	for k, v := range m {
		if s := scalar(v); s != "" {
			(*t)[k] = s
		}
	}
	return nil
}

// text is a JSON string, number or truth value, written out; "" for all else.
type text string

// UnmarshalJSON never fails: what is no text is none.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = text(scalar(jsontext.Value(b)))
	return nil
}

func (t text) at() time.Time { return instant(string(t)) }
