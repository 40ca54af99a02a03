package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// This file reads the bytes of a capture without any of pawl's own reading: plain JSON, nested JSON texts opened, nothing interpreted. What
// it does not find is not in the data.

// rawSpan is a span as it was exported.
type rawSpan struct {
	trace, id, parent, name string
	attrs                   map[string]any
	events                  []rawEvent
	failed                  bool
	message                 string
}

type rawEvent struct {
	name  string
	attrs map[string]any
	body  any
}

func (s rawSpan) text(key string) string { t, _ := s.attrs[key].(string); return t }

// capture is all that one scenario's files hold.
type capture struct {
	spans []rawSpan
	logs  []rawEvent
}

// otlpRequest is the part of an OTLP JSON request that is looked at.
type otlpRequest struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []struct {
				TraceID      string `json:"traceId"`
				SpanID       string `json:"spanId"`
				ParentSpanID string `json:"parentSpanId"`
				Name         string `json:"name"`
				Attributes   []pair `json:"attributes"`
				Events       []struct {
					Name       string `json:"name"`
					Attributes []pair `json:"attributes"`
				} `json:"events"`
				Status struct {
					Code    any    `json:"code"`
					Message string `json:"message"`
				} `json:"status"`
			} `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
	ResourceLogs []struct {
		ScopeLogs []struct {
			LogRecords []struct {
				EventName  string   `json:"eventName"`
				Attributes []pair   `json:"attributes"`
				Body       anyValue `json:"body"`
			} `json:"logRecords"`
		} `json:"scopeLogs"`
	} `json:"resourceLogs"`
}

type pair struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	String *string                      `json:"stringValue"`
	Int    json.RawMessage              `json:"intValue"` // a number or a decimal string
	Double *float64                     `json:"doubleValue"`
	Bool   *bool                        `json:"boolValue"`
	Array  *struct{ Values []anyValue } `json:"arrayValue"`
	KVList *struct{ Values []pair }     `json:"kvlistValue"`
}

func (v anyValue) plain() any {
	switch {
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		n, _ := strconv.ParseFloat(strings.Trim(string(v.Int), `"`), 64)
		return n
	case v.Double != nil:
		return *v.Double
	case v.Bool != nil:
		return *v.Bool
	case v.Array != nil:
		out := []any{}
		for _, e := range v.Array.Values {
			out = append(out, e.plain())
		}
		return out
	case v.KVList != nil:
		return object(v.KVList.Values)
	}
	return nil
}

func object(pairs []pair) map[string]any {
	out := map[string]any{}
	for _, p := range pairs {
		out[p.Key] = p.Value.plain()
	}
	return out
}

// readCapture reads the span and the log file of a scenario; either may be absent.
func readCapture(paths ...string) (capture, error) {
	var c capture
	for _, path := range paths {
		if err := c.readFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return c, nil
}

func (c *capture) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r otlpRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		c.take(r)
	}
	return lines.Err()
}

func (c *capture) take(r otlpRequest) {
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				out := rawSpan{trace: s.TraceID, id: s.SpanID, parent: s.ParentSpanID, name: s.Name, attrs: object(s.Attributes),
					failed: fmt.Sprint(s.Status.Code) == "2" || fmt.Sprint(s.Status.Code) == "STATUS_CODE_ERROR", message: s.Status.Message}
				for _, e := range s.Events {
					out.events = append(out.events, rawEvent{name: e.Name, attrs: object(e.Attributes)})
				}
				c.spans = append(c.spans, out)
			}
		}
	}
	for _, rl := range r.ResourceLogs {
		for _, sl := range rl.ScopeLogs {
			for _, l := range sl.LogRecords {
				c.logs = append(c.logs, rawEvent{name: l.EventName, attrs: object(l.Attributes), body: l.Body.plain()})
			}
		}
	}
}
