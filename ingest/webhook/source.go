package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Source is a sender that is configured: how it proves itself, and how it is read. Make it with NewSource.
type Source struct {
	name     string
	verifier *Verifier
	read     reader
	forms    bool // it may send forms, too
	events   bool // it may ask first, as CloudEvents do
	foreign  bool // a home knows its ids, of whatever form
}

// SourceOptions of NewSource.
type SourceOptions struct {
	Secrets []string // at least one; several while they are rotated
	// Proof replaces how the sender proves itself where it has no signature of its own: bearer, basic (the secret is user:password), header:NAME, query:NAME or
	// field:/POINTER. "" is the sender's own way, and for one that has none any of bearer, basic and header:X-Pawl-Token.
	Proof string
	// TimeHeader is the header that Grafana's contact point is told to put the signed time into, "" when it signs none.
	TimeHeader string
	// Foreign says that a home can be asked for its traces: ids that are no OpenTelemetry ids are taken, too.
	Foreign bool
	// Fields of a templated sender, in place of those of its template where they are set.
	Fields Fields
}

// own are the senders that have a form of their own.
var own = map[string]reader{
	"alertmanager": alertmanager, "braintrust": braintrust, "cloudevents": cloudevents, "grafana": alertmanager, "langfuse": langfuse, "langsmith": langsmith,
	"mlflow": mlflow, "opik": opik, "pagerduty": pagerduty, "sentry": sentry, "standard": standard,
}

// Names are the sources that there are, sorted. GitHub is not among them: its deliveries are no flags.
func Names() []string {
	return slices.Sorted(maps.Keys(maps.Collect(func(yield func(string, bool) bool) {
		for n := range own {
			if !yield(n, true) {
				return
			}
		}
		for n := range templates {
			if !yield(n, true) {
				return
			}
		}
	})))
}

// NewSource makes a source by its name, one of Names. An empty secret, and a proof that is none, are errors.
func NewSource(name string, o SourceOptions) (*Source, error) {
	s := &Source{name: name, read: own[name], events: name == "cloudevents", foreign: o.Foreign}
	if t, templated := templates[name]; templated {
		fields := t.over(o.Fields)
		if err := fields.check(); err != nil {
			return nil, fmt.Errorf("webhook: %s: fields: %w", name, err)
		}
		s.read, s.forms = generic(fields), true
	}
	if s.read == nil {
		return nil, fmt.Errorf("webhook: there is no source %q: known are %v", name, Names())
	}
	scheme, err := schemeOf(name, o)
	if err != nil {
		return nil, err
	}
	s.verifier, err = NewVerifier(scheme, o.Secrets...)
	return s, err
}

func schemeOf(name string, o SourceOptions) (Scheme, error) {
	signed := map[string]func() Scheme{"langfuse": Langfuse, "mlflow": MLflow, "pagerduty": PagerDuty, "sentry": Sentry, "standard": StandardWebhooks}
	if s := signed[name]; s != nil {
		if o.Proof != "" {
			return Scheme{}, fmt.Errorf("webhook: %s signs what it sends: leave out proof", name)
		}
		return s(), nil
	}
	if name == "grafana" && o.Proof == "" {
		return Grafana(o.TimeHeader), nil
	}
	if o.Proof != "" {
		return proofScheme(name, o.Proof)
	}
	any := []Scheme{Bearer(name), Basic(name), HeaderToken(name, "X-Pawl-Token")}
	switch name {
	case "langsmith":
		any = append(any, QueryToken(name, "token"))
	case "cloudevents":
		any = append(any, QueryToken(name, "access_token"))
	case "honeycomb":
		any = []Scheme{HeaderToken(name, "X-Honeycomb-Webhook-Token"), FieldToken(name, "/shared_secret")}
	}
	return AnyOf(name, any...), nil
}

func proofScheme(source, proof string) (Scheme, error) {
	kind, name, _ := strings.Cut(proof, ":")
	switch {
	case proof == "bearer":
		return Bearer(source), nil
	case proof == "basic":
		return Basic(source), nil
	case kind == "header" && name != "":
		return HeaderToken(source, name), nil
	case kind == "query" && name != "":
		return QueryToken(source, name), nil
	case kind == "field" && isPointer(name):
		return FieldToken(source, jsontext.Pointer(name)), nil
	}
	return Scheme{}, fmt.Errorf("webhook: %s: proof is %q: it is bearer, basic, header:NAME, query:NAME or field:/POINTER", source, proof)
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// takes says whether the source takes a body of that type. A body without a type is taken for JSON.
func (s *Source) takes(h http.Header) bool {
	t := mediaType(h)
	return t == "" && h.Get("Content-Type") == "" || t == "application/json" || strings.HasSuffix(t, "+json") || s.forms && t == "application/x-www-form-urlencoded"
}

// formJSON writes a form as an object: of a field that is sent twice the first counts.
func formJSON(form url.Values) ([]byte, error) {
	var b bytes.Buffer
	e := jsontext.NewEncoder(&b)
	err := e.WriteToken(jsontext.BeginObject)
	for _, k := range slices.Sorted(maps.Keys(form)) {
		err = errors.Join(err, json.MarshalEncode(e, strings.ToValidUTF8(k, "?")), json.MarshalEncode(e, strings.ToValidUTF8(form.Get(k), "?")))
	}
	if err := errors.Join(err, e.WriteToken(jsontext.EndObject)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return b.Bytes(), nil
}
