package triage

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-dev/pawl/classify"
)

// KeptTrace is a kept trace as lists show it.
type KeptTrace struct {
	Kind     string            `json:"kind"` // always "trace"
	ID       string            `json:"id"`
	Service  *string           `json:"service"` // null where there is none, and so the session
	Session  *string           `json:"session"`
	Verdict  *classify.Verdict `json:"verdict"` // as it was judged when it was complete, by itself; null before
	Labels   []classify.Label  `json:"labels"`
	Start    *time.Time        `json:"start"`
	LastSeen time.Time         `json:"last_seen"` // when its latest record was received
	Records  int               `json:"records"`   // spans and log records
	Bytes    int64             `json:"bytes"`     // of them
	Open     bool              `json:"open"`      // it is not complete
	Hour     time.Time         `json:"hour"`      // where it is kept: /v1/traces/{id}/spans finds it sooner with it
}

// KeptPage is a part of the list. Next is the cursor of the next one, "" at the end; a page may be empty and not the last one.
type KeptPage struct {
	Traces []KeptTrace `json:"traces"`
	Next   string      `json:"next"`
}

// KeptFilter chooses kept traces; what is zero lets all through. A trace that was not judged yet has no service, verdict or label.
type KeptFilter struct {
	Service string
	Verdict classify.Verdict
	Label   classify.Label
	Since   time.Time // with a record received since then
	Text    string    // in its id or its session's, whatever the case
}

// Recorded is a kept trace as it came in: one document of OTLP JSON. Truncated says that records of it were left out at a limit.
type Recorded struct {
	Document  []byte
	Truncated bool
}

// ErrCursor says that a cursor is none that the list gave.
var ErrCursor = errors.New("not a cursor of this list")

// TruncatedHeader is set on the answer with a trace's spans where records of it were left out.
const TruncatedHeader = "Pawl-Truncated"

const (
	usualPage   = 100
	largestPage = 1000
)

// kept answers GET /v1/traces?service=&verdict=&label=&since=&q=&limit=&cursor=: the kept traces, those of the latest hour first.
func (h *handler) kept(w http.ResponseWriter, r *http.Request) {
	f, limit, err := keptQuery(r.URL.Query())
	switch {
	case err != nil:
		h.fail(w, http.StatusBadRequest, err.Error())
		return
	case h.src.Kept == nil:
		h.fail(w, http.StatusNotFound, keptElsewhere)
		return
	}
	page, err := h.src.Kept(r.Context(), f, r.URL.Query().Get("cursor"), limit)
	if errors.Is(err, ErrCursor) {
		h.fail(w, http.StatusBadRequest, "cursor is not one that this list gave: begin again without it")
		return
	}
	h.answer(w, page, err)
}

const keptElsewhere = "this process keeps no traces: ask the one that plays the role work"

var keptParams = []string{"service", "verdict", "label", "since", "q", "limit", "cursor"}

func keptQuery(q url.Values) (f KeptFilter, limit int, err error) {
	for name := range q {
		if !slices.Contains(keptParams, name) {
			return f, 0, fmt.Errorf("there is no parameter %q: known are %v", name, keptParams)
		}
	}
	f = KeptFilter{Service: q.Get("service"), Verdict: classify.Verdict(q.Get("verdict")), Label: classify.Label(q.Get("label")), Text: q.Get("q")}
	if all := []classify.Verdict{"", classify.Failing, classify.Unclassified, classify.Incomplete, classify.Passing}; !slices.Contains(all, f.Verdict) {
		return f, 0, fmt.Errorf("verdict is one of %v", all[1:])
	}
	if text := q.Get("since"); text != "" {
		if f.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return f, 0, errors.New("since is a time such as 2026-11-30T22:00:00Z")
		}
	}
	limit = usualPage
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > largestPage {
			return f, 0, fmt.Errorf("limit is a number from 1 to %d", largestPage)
		}
	}
	return f, limit, nil
}

// spans answers GET /v1/traces/{id}/spans?hour=: the trace as it was received, as OTLP JSON.
func (h *handler) spans(w http.ResponseWriter, r *http.Request) {
	var hour time.Time
	if text := r.URL.Query().Get("hour"); text != "" {
		var err error
		if hour, err = time.Parse(time.RFC3339, text); err != nil {
			h.fail(w, http.StatusBadRequest, "hour is a time such as 2026-11-30T22:00:00Z, as the list gives it")
			return
		}
	}
	if h.src.Spans == nil {
		h.fail(w, http.StatusNotFound, keptElsewhere)
		return
	}
	rec, err := h.src.Spans(r.Context(), r.PathValue("id"), hour)
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	if rec.Truncated {
		w.Header().Set(TruncatedHeader, "true")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(rec.Document) // a client that is gone needs no answer
}
