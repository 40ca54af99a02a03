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
// that holds observations), a page of observations ({"data", "meta"}, of either version of the API), or one observation an object. metadata holds what came
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
	o.attrs, o.resource, o.scope = plainObject(o.meta.take("attributes")), o.meta.take("resourceAttributes"), plainObject(o.meta.take("scope"))
	o.asBefore()
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
	x.langfuseScores(o, s)
	return nil
}

// langfuseScores writes what people and evaluators said of a trace, or of the observation itself, as OpenTelemetry's events of evaluations. What they said of
// the trace stands on its root.
func (x *export) langfuseScores(o observation, s ptrace.Span) {
	list := o.trace["scores"]
	if absent(list) || list[0] != '[' {
		return
	}
	_ = elements(list, func(v jsontext.Value) error {
		score, _ := objectOf(v)
		of := score.text("observationId")
		if of != o.text("id") && (of != "" || o.get("parentObservationId") != nil) {
			return nil
		}
		x.evaluation(s, score.text("name"), score["value"], score.text("stringValue"), score.text("comment"), score.get("timestamp"), score.text("dataType") == "CATEGORICAL")
		return nil
	})
}

// evaluation adds an event that tells a score: by its label where that is all that counts.
func (x *export) evaluation(s ptrace.Span, name string, value jsontext.Value, label, comment string, at jsontext.Value, byLabel bool) {
	n, ok := number(value)
	if name == "" || !ok && label == "" {
		return
	}
	e := s.Events().AppendEmpty()
	e.SetName("gen_ai.evaluation.result")
	e.SetTimestamp(x.instant(at))
	e.Attributes().PutStr("gen_ai.evaluation.name", name)
	if ok && !byLabel {
		e.Attributes().PutDouble("gen_ai.evaluation.score.value", n)
	} else if label != "" {
		e.Attributes().PutStr("gen_ai.evaluation.score.label", label)
	}
	if comment != "" {
		e.Attributes().PutStr("gen_ai.evaluation.explanation", comment)
	}
}

// asBefore gives version 2 of the API the names of version 1, and puts into reach what it keeps on the observation and not on its trace.
func (o *observation) asBefore() {
	if v := o.get("providedModelName"); v != nil && o.get("model") == nil {
		o.object["model"] = v
	}
	if len(o.trace) == 0 {
		o.trace = object{"sessionId": o.object["sessionId"], "userId": o.object["userId"]}
	}
}

// take returns a part of the metadata: an object, the text of one, or, in version 2 of the API, its members side by side under dotted names, which become an
// object again. They are no other metadata then.
func (o object) take(part string) jsontext.Value {
	if v := structure(o.get(part)); v != nil && v[0] == '{' {
		return v
	}
	whole := object{}
	for name, v := range o {
		if key, ok := strings.CutPrefix(name, part+"."); ok && !absent(v) {
			whole[key] = v
			delete(o, name)
		}
	}
	if len(whole) == 0 {
		return nil
	}
	return whole.append(nil)
}

// append writes an object, its members sorted.
func (o object) append(out []byte) []byte {
	out = append(out, '{')
	for i, name := range sortedNames(o) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(name)...), ':'), o[name]...)
	}
	return append(out, '}')
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
