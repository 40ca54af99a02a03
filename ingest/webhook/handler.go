package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// maxBody is the largest delivery, in bytes. Those of real senders have a few thousand.
const maxBody = 1 << 20

// Inbox is where flags go and how deliveries are known again.
type Inbox struct {
	// Known says whether a delivery was remembered within the last days.
	Known func(ctx context.Context, key string) (bool, error)
	// Put stores flags: once it returns nil they are not lost. A *FullError says that there is no room.
	Put func(ctx context.Context, key string, fs []flag.Flag) error
	// Remember makes a delivery known. It is called after Put: one that is sent again in between is stored twice, which changes nothing.
	Remember func(ctx context.Context, key string) error
}

// FullError says that there is no room for flags now.
type FullError struct{ RetryAfter time.Duration }

func (e *FullError) Error() string { return fmt.Sprintf("full: try again in %s", e.RetryAfter) }

// Handler answers POST /webhooks/{source}.
type Handler struct {
	lg      *slog.Logger
	in      Inbox
	sources map[string]*Source
	count   *prometheus.CounterVec
}

// New makes a handler for the sources.
func New(lg *slog.Logger, in Inbox, sources []*Source, reg prometheus.Registerer) (*Handler, error) {
	h := &Handler{lg: lg.With("component", "webhook"), in: in, sources: map[string]*Source{}}
	for _, s := range sources {
		h.sources[s.name] = s
	}
	h.count = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_webhook_deliveries_total",
		Help: "Deliveries by source and what became of them: stored, duplicate, test, ignored, unproven, malformed, too_large, wrong_type, full, failed."}, []string{"source", "outcome"})
	if reg == nil {
		return h, nil
	}
	if err := reg.Register(h.count); err != nil {
		return nil, fmt.Errorf("webhook: counters: %w", err)
	}
	return h, nil
}

// ServeHTTP answers one delivery: 202 once its flags are stored or it says nothing that pawl acts on, 200 for a test and for one that was here before.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.sources[r.PathValue("source")]
	if s == nil {
		say(w, http.StatusNotFound, answer{Error: "there is no such source: name it with its secret under webhooks in pawl.yaml"})
		return
	}
	if r.Method == http.MethodOptions && s.events {
		handshake(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		say(w, http.StatusMethodNotAllowed, answer{Error: "send it by POST"})
		return
	}
	outcome, status, a := h.take(w, r, s)
	h.count.WithLabelValues(s.name, outcome).Inc()
	if status >= http.StatusBadRequest {
		h.lg.Warn("a delivery was refused", "source", s.name, "outcome", outcome, "why", a.Error)
	}
	say(w, status, a)
}

// answer is the body of an answer.
type answer struct {
	Status string `json:"status,omitzero"`
	Flags  int    `json:"flags,omitzero"`
	Why    string `json:"why,omitzero"`
	Error  string `json:"error,omitzero"`
}

func say(w http.ResponseWriter, status int, a answer) {
	doc, err := json.Marshal(a)
	if err != nil {
		doc = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(doc, '\n')) // a sender that is gone needs no answer
}

// handshake answers a sender of CloudEvents that asks whether it may deliver here: it proves itself with each delivery.
func handshake(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("WebHook-Request-Origin")
	if origin == "" {
		say(w, http.StatusBadRequest, answer{Error: "WebHook-Request-Origin is missing"})
		return
	}
	w.Header().Set("WebHook-Allowed-Origin", origin)
	w.Header().Set("WebHook-Allowed-Rate", "600")
	w.Header().Set("Allow", "POST, OPTIONS")
	w.WriteHeader(http.StatusOK)
}

func (h *Handler) take(w http.ResponseWriter, r *http.Request, s *Source) (outcome string, status int, a answer) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return "too_large", http.StatusRequestEntityTooLarge, answer{Error: fmt.Sprintf("a delivery has at most %d bytes", maxBody)}
	}
	if err != nil {
		return "malformed", http.StatusBadRequest, answer{Error: "the body could not be read"}
	}
	d, now := Delivery{Header: r.Header, Query: r.URL.Query(), Body: body}, time.Now()
	if err := s.verifier.Verify(d, now); err != nil {
		return "unproven", http.StatusUnauthorized, answer{Error: err.Error()}
	}
	if !s.takes(r.Header) && len(body) > 0 {
		return "wrong_type", http.StatusUnsupportedMediaType, answer{Error: "send it as application/json"}
	}
	reading, err := s.read(d, now)
	if err != nil {
		return "malformed", http.StatusBadRequest, answer{Error: err.Error()}
	}
	return h.keep(w, r.Context(), s, body, reading, now)
}

// keep stores the flags of a reading, unless it was here before.
func (h *Handler) keep(w http.ResponseWriter, ctx context.Context, s *Source, body []byte, r Reading, now time.Time) (string, int, answer) {
	source := s.name
	fs, why := flagsOf(s, r, now)
	switch {
	case r.Test:
		return "test", http.StatusOK, answer{Status: "test"}
	case len(fs) == 0:
		return "ignored", http.StatusAccepted, answer{Status: "ignored", Why: why}
	}
	key := flag.Digest(source, r.Key)
	if r.Key == "" {
		key = flag.Digest(source, "", string(body))
	}
	known, err := h.in.Known(ctx, key)
	if err == nil && known {
		return "duplicate", http.StatusOK, answer{Status: "duplicate"}
	}
	if err == nil {
		err = h.in.Put(ctx, key, fs)
	}
	if err == nil {
		err = h.in.Remember(ctx, key)
	}
	if err == nil {
		return "stored", http.StatusAccepted, answer{Status: "stored", Flags: len(fs), Why: why}
	}
	outcome, after := "failed", 5*time.Second
	if full, ok := errors.AsType[*FullError](err); ok {
		outcome, after = "full", full.RetryAfter
	}
	h.lg.Error("a flag could not be stored", "source", source, "err", err)
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(after.Seconds())))))
	return outcome, http.StatusServiceUnavailable, answer{Error: "it cannot be stored now: send it again"}
}

// flagsOf completes the claims; why says of those that are none what is wrong.
func flagsOf(s *Source, r Reading, now time.Time) (fs []flag.Flag, why string) {
	complete := flag.New
	if s.foreign {
		complete = flag.NewForeign
	}
	if len(r.Claims) == 0 {
		why = r.Why
	}
	for _, c := range r.Claims {
		c.Source = s.name
		f, err := complete(c.Flag, c.Key, now)
		if err != nil {
			why = err.Error()
			continue
		}
		fs = append(fs, f)
	}
	return fs, why
}
