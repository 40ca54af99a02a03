package importer

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is what a JSON object is: OTLP of one or both signals, another tool's export with what reads it, or something else
// and why it is not read.
type shape struct {
	traces, logs bool
	inner        jsontext.Value // the OTLP part, where the document wraps it
	notes        []string       // what the wrapper says of it
	name         string
	read         func(x *export, doc object) error
	other        error
}

// recognise tells by the marks of a JSON object what it is, and returns its members. An object that is no JSON counts as
// OTLP where it begins like it, so that its decoder says what is wrong, and else as nothing.
func recognise(doc []byte) (shape, object, error) {
	if len(doc) < len(`{"batches":[]}`) {
		return shape{other: ErrNotTelemetry}, nil, nil
	}
	o, err := objectOf(doc)
	s := shape{traces: o.has("resourceSpans", "resource_spans", "batches"), logs: o.has("resourceLogs", "resource_logs")}
	if s.traces || s.logs {
		return s, o, nil
	}
	if inner := nested(o); inner != nil {
		return shape{traces: true, inner: inner, notes: partial(o)}, o, nil
	}
	for i := range shapes {
		if shapes[i].is(o) {
			return shape{name: shapes[i].name, read: shapes[i].read}, o, err
		}
	}
	if name := unsupported(o); name != "" {
		return shape{other: &Unsupported{name}}, o, nil
	}
	return shape{other: ErrNotTelemetry}, o, err
}

// shapes are the exports that are read, the more specific marks first.
var shapes = []struct {
	name string
	is   func(object) bool
	read func(*export, object) error
}{
	{"a Langfuse export", isLangfuse, readLangfuse},
	{"a CloudWatch export", isCloudWatch, readCloudWatch},
	{"a Jaeger export", isJaeger, readJaeger},
	{"a LangSmith export", isLangSmith, readLangSmith},
	{"a TRAIL trace", isTrail, readTrail},
	{"a dump of the Go stdout exporter", isGoStdout, readGoStdout},
	{"a Phoenix export", isPhoenix, readPhoenix},
	{"a span dump", isFlat, readFlat},
	{"the attributes of a single span", isBare, readBare},
}

// unsupported names a known export that is not read, or returns nothing.
func unsupported(o object) string {
	switch {
	case o.has("resourceMetrics", "resource_metrics"):
		return "OTLP metrics"
	case o.has("resourceProfiles"):
		return "OTLP profiles"
	case o.has("localEndpoint") && o.has("traceId"):
		return "a Zipkin export"
	}
	return ""
}

// each calls read with the members of every element of a list of objects. What is no list, or holds something else than
// objects, is an error that names the list.
func each(list jsontext.Value, what string, read func(object) error) error {
	if absent(list) {
		return nil
	}
	if list[0] != '[' {
		return errors.New(what + ": " + notA("list", list).Error())
	}
	n := 0
	err := elements(list, func(v jsontext.Value) error {
		n++
		if absent(v) {
			return nil
		}
		if v[0] != '{' {
			return notA("object", v)
		}
		o, err := objectOf(v)
		if err != nil {
			return err
		}
		return read(o)
	})
	if err != nil {
		return &elementError{what, n, err}
	}
	return nil
}

// elementError says which element of a list is broken.
type elementError struct {
	list string
	n    int
	err  error
}

// Error counts elements from 1.
func (e *elementError) Error() string {
	return e.list + ", element " + strconv.Itoa(e.n) + ": " + e.err.Error()
}

// Unwrap returns the fault itself.
func (e *elementError) Unwrap() error { return e.err }

// fold brings the names of an object that is already read to the form that folded gives.
func (o object) fold() object {
	out := make(object, len(o))
	for _, name := range sortedNames(o) {
		if v, folded := o[name], fold(name); !absent(v) || out[folded] == nil {
			out[folded] = v
		}
	}
	return out
}

func sortedNames(o object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// hasPrefix tells whether any member's name begins with one of these.
func (o object) hasPrefix(prefixes ...string) bool {
	for name := range o {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
	}
	return false
}
