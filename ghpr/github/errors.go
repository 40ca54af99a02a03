package github

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kind says what a failed call tells us about the remote state. It is the only thing a caller should branch on.
type Kind string

const (
	// Invalid: we refused the request ourselves; not a byte left.
	Invalid Kind = "invalid"
	// Limited: GitHub (or our own breaker) asks to wait until Error.NotBefore; the request did nothing.
	Limited Kind = "limited"
	// Denied: 401 or 403, the credential lacks a right; the request did nothing.
	Denied Kind = "denied"
	// Absent: a clean 404. GitHub also says so for what we may not see.
	Absent Kind = "absent"
	// Refused: another clean 4xx (409, 410, 422, ...); the request did nothing, the state it collided with must be read.
	Refused Kind = "refused"
	// Moved: a redirect that we do not follow: of a write, or to another host.
	Moved Kind = "moved"
	// Unknown: time-out, lost connection, 5xx or an answer that makes no sense. The request may have been carried out.
	Unknown Kind = "unknown"
)

// Error is the error of every call of this package. Its text never holds a credential.
type Error struct {
	Op        string    // what was tried, with its key: "create ref acme/shop pawl/x"
	Kind      Kind      // what it means
	Status    int       // HTTP status, 0 if no answer came
	Message   string    // GitHub's own words, or ours
	NotBefore time.Time // for Limited: when the next call may leave
	RequestID string    // X-GitHub-Request-Id, which GitHub's support asks for
	Needs     string    // the rights that the call takes, as GitHub names them: "contents=write; metadata=read"; empty if it does not
	SSO       string    // where a token is authorised for an organisation's single sign-on, if that is what is missing
	cause     error
}

// Error gives operation, meaning, status and GitHub's words in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", cmp.Or(e.Op, "github"), e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if !e.NotBefore.IsZero() {
		fmt.Fprintf(&b, "; not before %s", e.NotBefore.UTC().Format(time.RFC3339))
	}
	return b.String()
}

// Unwrap gives the cause, for instance a context's error.
func (e *Error) Unwrap() error { return e.cause }

// Says reports whether GitHub's words contain one of the texts, ignoring case.
func (e *Error) Says(texts ...string) bool {
	low := strings.ToLower(e.Message)
	for _, t := range texts {
		if strings.Contains(low, strings.ToLower(t)) {
			return true
		}
	}
	return false
}

const (
	secondaryWait  = time.Minute // the first wait when GitHub names none; doubles
	secondaryTries = 5           // after so many in a row the wait is secondaryPark
	secondaryPark  = time.Hour
	resetSkew      = time.Minute // clocks differ: wait a little beyond the reset
)

// refusal turns an answer of status 400 and above into an Error. strikes counts the limits in a row that named no time.
func refusal(status int, h http.Header, message string, now time.Time, strikes int) *Error {
	e := &Error{Status: status, Message: message, RequestID: h.Get("X-GitHub-Request-Id"), Needs: h.Get("X-Accepted-GitHub-Permissions")}
	if url, asked := strings.CutPrefix(h.Get("X-GitHub-SSO"), "required; url="); asked {
		e.SSO = url
	}
	limit := e.Says("secondary rate limit", "abuse detection", "rate limit exceeded", "submitted too quickly")
	switch status {
	case http.StatusTooManyRequests:
		e.Kind = Limited
	case http.StatusForbidden:
		e.Kind = Denied
		if limit || h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0" {
			e.Kind = Limited
		} else if needs := h.Get("X-Accepted-GitHub-Permissions"); needs != "" {
			e.Message += " (the credential needs: " + needs + ")"
		}
	case http.StatusUnprocessableEntity:
		e.Kind = Refused
		if limit {
			e.Kind = Limited
		}
	case http.StatusUnauthorized:
		e.Kind = Denied
	case http.StatusNotFound:
		e.Kind = Absent
	case http.StatusBadRequest, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusMethodNotAllowed, http.StatusUnavailableForLegalReasons:
		e.Kind = Refused
	default:
		e.Kind = Unknown
	}
	if e.Kind == Limited {
		e.NotBefore = notBefore(h, now, strikes)
	}
	return e
}

// notBefore reads the headers in GitHub's order: Retry-After, then the reset if nothing remains, else our own doubling wait.
func notBefore(h http.Header, now time.Time, strikes int) time.Time {
	if after := h.Get("Retry-After"); after != "" {
		if n, err := strconv.Atoi(after); err == nil && n >= 0 {
			return now.Add(time.Duration(n) * time.Second)
		}
		if t, err := http.ParseTime(after); err == nil {
			return now.Add(max(0, t.Sub(remoteNow(h, now))))
		}
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if t, ok := resetTime(h); ok {
			return now.Add(max(0, t.Sub(remoteNow(h, now))) + resetSkew)
		}
	}
	if strikes >= secondaryTries {
		return now.Add(secondaryPark)
	}
	return now.Add(secondaryWait << max(0, strikes))
}

// remoteNow is GitHub's clock: a wait computed from its times must not depend on ours.
func remoteNow(h http.Header, now time.Time) time.Time {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		return t
	}
	return now
}

func resetTime(h http.Header) (time.Time, bool) {
	n, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	return time.Unix(n, 0), err == nil && n > 0
}

// message joins GitHub's message and its list of errors into one line.
func message(body []byte) string {
	var answer struct {
		Message string            `json:"message"`
		Errors  []json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return clip(strings.Join(strings.Fields(string(body)), " "), 200)
	}
	parts := []string{answer.Message}
	for _, raw := range answer.Errors {
		var item struct{ Resource, Field, Code, Message string }
		if json.Unmarshal(raw, &item) != nil {
			parts = append(parts, strings.Trim(string(raw), `"`))
			continue
		}
		parts = append(parts, cmp.Or(item.Message, strings.TrimSpace(item.Resource+" "+item.Field+" "+item.Code)))
	}
	return clip(strings.Join(strings.Fields(strings.Join(parts, "; ")), " "), 1000)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
