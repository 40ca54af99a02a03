package triage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ratchet"
)

// Unusable says what is wrong with what a caller sent.
type Unusable struct{ Reason string }

func (e *Unusable) Error() string { return e.Reason }

// Busy says that there is no room now.
type Busy struct{ RetryAfter time.Duration }

func (e *Busy) Error() string { return fmt.Sprintf("no room: try again in %s", e.RetryAfter) }

// maxFlagsShown bounds the list of flags.
const maxFlagsShown = 200

// fetched is what came of asking the trace's home.
type fetched struct {
	Home  string     `json:"home"`
	Tries int        `json:"tries"`
	Next  *time.Time `json:"next"` // null when nothing more is asked
	Said  string     `json:"said"` // what came of the last look
}

// flagged is a flag as lists show it: on a trace, on a window with the traces that it led to, or on what only its home knows. The words of its reasons are quotations.
type flagged struct {
	Kind    string            `json:"kind"`     // always "flag"
	TraceID *string           `json:"trace_id"` // null of a window, and of what only its home knows
	RawID   *string           `json:"raw_id"`   // the trace's id as the sender wrote it, where that is no OpenTelemetry id; null elsewhere
	Window  *flag.Window      `json:"window"`   // null of a trace
	State   ratchet.FlagState `json:"state"`    // waiting | joined | trace not found
	Until   time.Time         `json:"until"`    // when the wait ends
	Verdict *string           `json:"verdict"`  // of the trace, once it is joined
	Said    []said            `json:"said"`
	More    int               `json:"more"`    // flags on the same trace that are not kept
	Traces  []string          `json:"traces"`  // of a window, and of an id of a home's own
	Left    int               `json:"left"`    // of a window: further traces in it, which are not flagged
	Fetched *fetched          `json:"fetched"` // null: no home was asked
}

type said struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	Reason   string    `json:"reason"`
	Link     string    `json:"link"`
	Severity string    `json:"severity"`
	Received time.Time `json:"received"`
}

func showFlagged(f *ratchet.Flagged) flagged {
	out := flagged{Kind: "flag", State: f.State, Until: f.Until, Said: []said{}, More: f.More, Traces: append([]string{}, f.Traces...), Left: f.Left}
	if f.TraceID != "" {
		out.TraceID = &f.TraceID
	}
	if f.Flags[0].Foreign() {
		out.RawID = &f.Flags[0].RawID
	}
	if x := f.Fetch; x != nil {
		out.Fetched = &fetched{Home: x.Home, Tries: x.Tries, Said: x.Said}
		if !x.Done {
			out.Fetched.Next = &x.Next
		}
	}
	if f.Verdict != "" {
		out.Verdict = &f.Verdict
	}
	for _, x := range f.Flags {
		out.Window = x.Window
		out.Said = append(out.Said, said{x.ID, x.Source, x.Reason, x.Link, x.Severity, x.Received})
	}
	return out
}

// flags answers GET /v1/flags: the latest ones.
func (h *handler) flags(w http.ResponseWriter, r *http.Request) {
	h.answer(w, h.flagsFor(callerOf(r.Context())), nil)
}

// flagsFor are the flags that a caller may see: one that is limited to services sees those on windows of them. What is said of a trace stands with the trace.
func (h *handler) flagsFor(t Token) []flagged {
	all := h.flagList()
	if !t.limited() {
		return all
	}
	return slices.DeleteFunc(all, func(f flagged) bool { return f.Window == nil || f.Window.Service == "" || !t.Sees(f.Window.Service) })
}

func (h *handler) flagList() []flagged {
	out := []flagged{}
	if h.src.Flags == nil {
		return out
	}
	for _, f := range h.src.Flags(maxFlagsShown) {
		out = append(out, showFlagged(&f))
	}
	return out
}

// flagsOf is what outsiders said of a trace, nil for nothing.
func (h *handler) flagsOf(traceID string) []said {
	if h.src.Flagged == nil {
		return nil
	}
	f := h.src.Flagged(traceID)
	if f == nil {
		return nil
	}
	return showFlagged(f).Said
}

// flag answers POST /v1/flags: 202 once the flag is stored.
func (h *handler) flag(w http.ResponseWriter, r *http.Request) {
	caller := callerOf(r.Context())
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		h.fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a flag has at most %d bytes", maxBody))
		return
	}
	f, err := h.src.Flag(r.Context(), cmp.Or(caller.Name, "api"), body)
	if bad, ok := errors.AsType[*Unusable](err); ok {
		h.fail(w, http.StatusBadRequest, bad.Reason+`: send {"trace_id": "32 hex digits", "source": "who says so", "reason": "what is wrong"}, or "window": {"from", "to", "service"} in place of trace_id`)
		return
	}
	if full, ok := errors.AsType[*Busy](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(full.RetryAfter.Seconds())))))
		h.fail(w, http.StatusServiceUnavailable, full.Error())
		return
	}
	if err != nil {
		h.answer(w, nil, err)
		return
	}
	h.say(w, http.StatusAccepted, flagAnswer{"flag", f.ID})
}

type flagAnswer struct {
	Kind string `json:"kind"` // always "flag"
	ID   string `json:"id"`
}
