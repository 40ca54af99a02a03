// Package triage shows people what pawl found: groups, batches with their pull requests, and single traces, as JSON under /v1 and as one page.
//
// It reads, and records what people decide. Every answer is made from the aggregates at the time of asking.
package triage

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	dto "github.com/prometheus/client_model/go"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// Source is where the pages get what they show. ErrNotFound says that there is no such thing.
type Source struct {
	Groups   func(context.Context) ([]ratchet.Group, error)
	Services func(context.Context) ([]ratchet.Service, error)
	Batches  func(context.Context) ([]ratchet.Batch, error)
	Plan     func(context.Context, ratchet.Batch) (ghpr.Plan, error) // what a batch would write
	Trace    func(context.Context, string) (trajectory.Trace, error)
	Judge    func(*trajectory.Trajectory) classify.Report
	Kept     func(ctx context.Context, f KeptFilter, cursor string, limit int) (KeptPage, error) // ErrCursor; nil where another process keeps the traces
	Spans    func(ctx context.Context, id string, hour time.Time) (Recorded, error)              // hour is zero, or where Kept listed it; nil as Kept
	Merge    func(ctx context.Context, id, into, who, reason string) (ratchet.Group, error)      // *ratchet.Unmergeable says why not
	Open     func(ctx context.Context, repo, who string) error                                   // ends a repository's warm-up, or a stop
	Erase    func(ctx context.Context, subject string, dry bool) (Erasure, error)                // nil as Kept
	Decide   func(ctx context.Context, id, who string, ask ratchet.Ask) (ratchet.Group, error)   // *ratchet.Refused says why not
	Audit    func(context.Context, ratchet.AuditFilter, uint64, int) ([]ratchet.Told, uint64, error)
	Case     func(ctx context.Context, id string) (ratchet.Preview, error)                             // the case of a group as its pull request would bring it
	Edit     func(ctx context.Context, id, who, digest string, expect []byte) (ratchet.Preview, error) // *ratchet.Refused says why it is not to be so
	Group    func(ctx context.Context, digest string) (ratchet.Group, error)                           // with all that it holds
	Redact   func() func(key, text string) string                                                      // a new session of redaction
	Offer    func(ctx context.Context, id, who string, c propose.Candidate, trial string) (ratchet.Offered, error)
	Stopping context.Context // ends when the service stops, and long answers with it; nil: never
	Rules    func() []Rule   // of the engine, by name
	Trust    func([]ratchet.Group, map[string]*ratchet.Batch) func(rule string) ratchet.Trust
	Status   func([]ratchet.Group, map[string]*ratchet.Batch) func(*ratchet.Group) string // of all groups: why one is where it is, in words
	Metrics  func() ([]*dto.MetricFamily, error)                                          // of this process; nil: none are shown
	Jury     func(ctx context.Context) (r ratchet.JuryReport, ok bool, err error)         // nil, or false: no model is asked of anything
	Flags    func(n int) []ratchet.Flagged                                                // the latest flags; nil: none
	Flagged  func(traceID string) *ratchet.Flagged                                        // of a trace, nil for none
	Flag     func(ctx context.Context, who string, body []byte) (flag.Flag, error)        // stores a flag: *Unusable, *Busy
}

// ErrNotFound says that what was asked for is not there.
var ErrNotFound = errors.New("not found")

// Options of New.
type Options struct {
	Tokens []Token // one of which a caller must show; none: not asked for
	Proxy  *Proxy  // that says who asks; nil: none
}

// Token lets a caller in.
type Token struct {
	Name    string // whose it is
	Token   string
	Decides bool // it may merge groups, too; others read
	Admin   bool // it may erase, too

	Services []string // globs of the services that it is limited to; none: all
}

// New returns the handler of /v1 and of the page at /.
func New(lg *slog.Logger, src Source, o Options) http.Handler {
	h := &handler{lg: lg.With("component", "triage"), src: scoped(src), proxy: o.Proxy, logins: newLogins()}
	for _, t := range o.Tokens {
		h.tokens = append(h.tokens, holder{t, sha256.Sum256([]byte(t.Token))})
	}
	mux := http.NewServeMux()
	for _, r := range h.routes() {
		mux.HandleFunc(r.pattern, h.may(r))
	}
	h.pageRoutes(mux)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if wantsPage(r) {
			h.problem(w, r, http.StatusNotFound, "Nothing is here.")
			return
		}
		h.fail(w, http.StatusNotFound, "nothing is here: see /, /v1/groups, /v1/groups/{id}, /v1/batches, /v1/traces and /v1/traces/{id}")
	})
	for _, signal := range []string{"traces", "logs"} {
		mux.HandleFunc("POST /v1/"+signal, func(w http.ResponseWriter, _ *http.Request) {
			h.fail(w, http.StatusNotFound, "OTLP is not received at this address: send it to listen.otlp_http, by default port 4318")
		})
	}
	return guarded(http.NewCrossOriginProtection().Handler(h.guard(mux)))
}

type handler struct {
	lg     *slog.Logger
	src    Source
	tokens []holder
	proxy  *Proxy
	logins *logins

	proposals proposals
}

type holder struct {
	Token
	sum [sha256.Size]byte
}

func (h *handler) answer(w http.ResponseWriter, v any, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		h.fail(w, http.StatusNotFound, "there is no such thing here")
		return
	case errors.Is(err, context.Canceled): // the reader left, or pawl stops
		h.fail(w, http.StatusServiceUnavailable, "the request was given up")
		return
	case err != nil:
		h.lg.Error("answer", "err", err)
		h.fail(w, http.StatusServiceUnavailable, "the store did not answer: try again")
		return
	}
	doc, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		h.lg.Error("answer", "err", err)
		h.fail(w, http.StatusInternalServerError, "the answer could not be written")
		return
	}
	h.write(w, http.StatusOK, doc)
}

// say answers with a status of its own.
func (h *handler) say(w http.ResponseWriter, code int, v any) {
	doc, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		h.lg.Error("answer", "err", err)
		doc = []byte("{}")
	}
	h.write(w, code, doc)
}

func (h *handler) write(w http.ResponseWriter, code int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(doc, '\n')) // a client that is gone needs no answer
}

func (h *handler) fail(w http.ResponseWriter, code int, message string) {
	doc, err := json.Marshal(map[string]string{"error": message})
	if err != nil {
		doc = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(doc, '\n'))
}
