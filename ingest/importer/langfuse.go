package importer

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Langfuse: a trace with its observations as the UI downloads it ({"trace", "observations"}) or the API answers it (a trace
// that holds observations), a page of observations ({"data", "meta"}), or one observation an object. metadata holds what came
// over OTLP: attributes (all values as text), resourceAttributes and scope; it may be JSON text itself. What Langfuse took
// out of the attributes is put back by langfusekeys.go.

func isLangfuse(o object) bool {
	switch {
	case o.has("trace") && o.has("observations"):
		return true
	case o.has("observations"):
		return o.has("projectId", "htmlPath", "userId", "sessionId", "scores")
	case o.has("data"):
		return isObservation(o.inner("data"))
	}
	return isObservation(o)
}

func isObservation(o object) bool {
	return o.all("id", "traceId", "type", "startTime") && o.has("parentObservationId", "usageDetails", "statusMessage", "modelParameters")
}

func readLangfuse(x *export, o object) error {
	switch {
	case o.has("data"):
		return each(o["data"], "data", func(obs object) error { return langfuseObservation(x, object{}, obs) })
	case !o.has("observations"):
		return langfuseObservation(x, object{}, o)
	}
	trace := o
	if v := o.get("trace"); v != nil {
		var err error
		if trace, err = objectOf(v); err != nil {
			return fmt.Errorf("trace: %w", err)
		}
	}
	list := cmpValue(o["observations"], trace["observations"])
	if holdsText(list) {
		return errors.New("the observations are ids only: export each trace by itself (GET /api/public/traces/{id})")
	}
	before := x.spans
	err := each(list, "observations", func(obs object) error {
		err := langfuseObservation(x, trace, obs)
		if obs.get("parentObservationId") == nil { // the trace's input and output are told once
			delete(trace, "input")
			delete(trace, "output")
		}
		return err
	})
	if err == nil && x.spans == before {
		return fmt.Errorf("the trace %.40q has no observations", trace.text("id"))
	}
	return err
}

func holdsText(list jsontext.Value) bool {
	return len(list) > 1 && list[0] == '[' && strings.HasPrefix(strings.TrimLeft(string(list[1:min(len(list), 64)]), " \t\r\n"), `"`)
}

// observation is one observation while it becomes a span.
type observation struct {
	object
	trace    object
	kind     string // type in lower case
	meta     object
	attrs    object
	resource jsontext.Value
	scope    object
	native   bool // recorded by Langfuse's own SDK or API: there is no other dialect to put back
}

func langfuseObservation(x *export, trace, obs object) error {
	o := observation{object: obs, trace: trace, kind: strings.ToLower(obs.text("type")), meta: metadataOf(obs["metadata"])}
	o.attrs, o.resource, o.scope = plainObject(o.meta["attributes"]), o.meta["resourceAttributes"], plainObject(o.meta["scope"])
	o.native = len(o.attrs) == 0 || o.attrs.hasPrefix("langfuse.observation.") || o.scope.text("name") == "langfuse-sdk"
	id := obs.text("id")
	traceID := cmp.Or(obs.text("traceId"), trace.text("id"))
	if id == "" || traceID == "" {
		return fmt.Errorf("the observation %.40q needs id and traceId", obs.text("name"))
	}
	s := x.newSpan(origin{resource: o.resource, scopeName: o.scope.text("name"), scopeVer: o.scope.text("version"), scopeAttrs: o.scope["attributes"]})
	s.SetTraceID(x.traceID(traceID))
	s.SetSpanID(x.spanID(id))
	if parent := obs.text("parentObservationId"); parent != "" && parent != traceID {
		s.SetParentSpanID(x.spanID(parent))
	}
	s.SetName(obs.text("name"))
	s.SetStartTimestamp(x.instant(obs.get("startTime")))
	s.SetEndTimestamp(x.instant(obs.get("endTime")))
	if o.kind == "event" {
		s.SetEndTimestamp(s.StartTimestamp())
	}
	if obs.text("level") == "ERROR" {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(obs.text("statusMessage"))
	}
	restored{x, s.Attributes()}.observation(&o)
	return nil
}

// metadataOf reads metadata that is an object or the text of one.
func metadataOf(v jsontext.Value) object {
	return plainObject(structure(v))
}

// plainObject reads an object as far as it is one; its names stay as they are.
func plainObject(v jsontext.Value) object {
	if absent(v) || v[0] != '{' {
		return object{}
	}
	o, _ := objectOf(v)
	return o
}
