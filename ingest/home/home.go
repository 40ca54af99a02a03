// Package home reads traces where they live: Langfuse, LangSmith, Phoenix, Jaeger and Tempo, by a trace's id and by a window of time.
//
// Invariants:
//   - Address and credential of a home come from the configuration alone. Nothing that an answer or a flag holds leads a request elsewhere: a redirect to
//     another host is an error, and a link to stored content is followed only to hosts that are named, over TLS, at public addresses, without our credential.
//   - It only reads: each request is a GET, or the POST by which LangSmith takes a query.
//   - An answer has a bound, in bytes, pages and traces; what it cuts is said.
//   - Answers become OTLP by package importer, whose ids they get: an id that is no OpenTelemetry id is known by what the importer makes of it.
package home

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ingest/importer"
)

// Kind is what keeps the traces.
type Kind string

// The kinds.
const (
	Langfuse  Kind = "langfuse"
	LangSmith Kind = "langsmith"
	Phoenix   Kind = "phoenix"
	Jaeger    Kind = "jaeger"
	Tempo     Kind = "tempo"
)

// Kinds lists the kinds, sorted.
func Kinds() []string {
	return []string{string(Jaeger), string(Langfuse), string(LangSmith), string(Phoenix), string(Tempo)}
}

// Options of New.
type Options struct {
	Name     string   // how the team calls it
	Kind     Kind     // what it is
	URL      string   // its address; "" is the vendor's cloud, where it has one
	Key      string   // Langfuse: the public key; LangSmith, Phoenix: the API key; Jaeger, Tempo: the user, or without Secret a bearer token
	Secret   string   // Langfuse: the secret key; Jaeger, Tempo: the password
	Project  string   // LangSmith, Phoenix: the project's name or id; Tempo: the tenant
	Services []string // globs of service.name that are looked for in a window; none = all
	Service  string   // service.name of spans that come without one
	Links    []string // hosts from which content is read that LangSmith keeps beside its runs

	MaxBytes  int64             // of one answer: 64 MiB
	Transport http.RoundTripper // nil: the network, as Invariants say
}

// Home is one place where traces live. It is safe for concurrent use. Make it with New.
type Home struct {
	lg *slog.Logger
	o  Options
	c  client
	v  vendor
}

// vendor is how one kind is asked. Its documents are of shapes that package importer reads.
type vendor interface {
	// trace gives the documents of the trace with that id. errNotThere says that there is none.
	trace(ctx context.Context, c client, id string, around time.Time) ([][]byte, error)
	// window gives the documents of the traces in a window, as they come, until take returns false.
	window(ctx context.Context, c client, w Window, take take) error
}

// take receives documents of a window. It returns false once enough is known.
type take func(docs [][]byte) bool

// ErrNotThere says that a home has no such trace, or none yet.
var ErrNotThere = errors.New("the trace is not there")

// clouds are the addresses of those that run their own.
var clouds = map[Kind]string{Langfuse: "https://cloud.langfuse.com", LangSmith: "https://api.smith.langchain.com"}

// locals are the addresses at which the others listen when they run on this machine.
var locals = map[Kind]string{Phoenix: "http://127.0.0.1:6006", Jaeger: "http://127.0.0.1:16686", Tempo: "http://127.0.0.1:3200"}

// New makes a home and checks what can be checked without asking it.
func New(lg *slog.Logger, o Options) (*Home, error) {
	if o.Name == "" {
		o.Name = string(o.Kind)
	}
	if o.URL == "" {
		o.URL = clouds[o.Kind] + locals[o.Kind]
	}
	u, err := url.Parse(o.URL)
	switch {
	case !slices.Contains(Kinds(), string(o.Kind)):
		return nil, fmt.Errorf("home %s: the kind %q is none of %s", o.Name, o.Kind, strings.Join(Kinds(), ", "))
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("home %s: the url is not an address such as https://traces.example.com", o.Name)
	case u.User != nil:
		return nil, fmt.Errorf("home %s: the url holds a password: give it as key and secret", o.Name)
	case o.Kind == Langfuse && (o.Key == "" || o.Secret == ""):
		return nil, fmt.Errorf("home %s: Langfuse needs key (the public key) and secret (the secret key)", o.Name)
	case o.Kind == LangSmith && o.Key == "":
		return nil, fmt.Errorf("home %s: LangSmith needs key (an API key)", o.Name)
	}
	for _, g := range o.Services {
		if _, err := path.Match(g, ""); err != nil {
			return nil, fmt.Errorf("home %s: services: %q is no pattern", o.Name, g)
		}
	}
	h := &Home{lg: lg.With("component", "home", "home", o.Name), o: o, v: vendorOf(o, u)}
	h.c = newClient(o, u)
	return h, nil
}

func vendorOf(o Options, u *url.URL) vendor {
	switch o.Kind {
	case Langfuse:
		return &langfuse{}
	case LangSmith:
		return &langsmith{project: o.Project}
	case Phoenix:
		return phoenix{project: o.Project}
	case Jaeger:
		return &jaeger{services: o.Services}
	}
	return tempo{services: o.Services}
}

// Name is how the team calls it.
func (h *Home) Name() string { return h.o.Name }

// Kind is what it is.
func (h *Home) Kind() Kind { return h.o.Kind }

// Project is the project, or tenant, that is read.
func (h *Home) Project() string { return h.o.Project }

// Serves says whether traces of the service may be there, as far as the configuration says it.
func (h *Home) Serves(service string) bool { return serves(h.o.Services, service) }

// serves says whether a service matches one of the globs, of which none lets all through.
func serves(globs []string, service string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, service)
		return err == nil && ok
	})
}

// Trace reads the trace with that id, in the spelling of whoever named it. around is when it is thought to have been; the zero time is unknown. Errors:
// ErrNotThere; a *BusyError that says when to ask again; a *RefusedError, which will not change by itself; others may.
func (h *Home) Trace(ctx context.Context, id string, around time.Time) (Answer, error) {
	docs, err := h.v.trace(ctx, h.c, id, around)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", h.o.Name, err)
	}
	a, err := h.answer(docs)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", h.o.Name, err)
	}
	return a, nil
}

// read brings documents into OTLP.
func (h *Home) read(docs [][]byte) (items []importer.Item, problems []error) {
	for _, d := range docs {
		for item, err := range importer.Read(h.o.Name, strings.NewReader(string(d)), importer.Options{MaxDocument: int(h.c.maxBytes)}) {
			if err != nil {
				problems = append(problems, err)
				continue
			}
			h.name(item.Data)
			items = append(items, item)
		}
	}
	return items, problems
}
