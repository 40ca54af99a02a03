// Package hook answers GitHub's webhooks. They only wake: what they say is a hint that something happened in a repository, and whoever is woken reads what
// from GitHub itself. So a delivery that is lost, doubled, late or a lie costs at most a look; GitHub never delivers again by itself.
//
// Invariants: nothing of a delivery is read before one of the secrets has signed its very bytes; the secrets are compared in constant time, and all of them;
// there is no door without a secret. A known delivery, one that means nothing here and one of an unknown kind are answered 202 like any other.
package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	maxBody = 4 << 20 // bytes of a delivery; one about a pull request has some 30 KiB
	// Deliveries are known again for as long as GitHub lets a person press "redeliver", and some days more.
	knownFor = 7 * 24 * time.Hour
	maxKnown = 20_000
)

// Event says in which repository something happened: its number, 0 if it is not known, and the names that it has or had. The zero value is every repository.
type Event struct {
	RepoID int64
	Names  []string
}

// Options of a Door.
type Options struct {
	// Secrets are those that a delivery may be signed with: more than one while they are changed.
	Secrets []string
	// Prefix begins the names of our branches: what happens to others is none of our business. Empty: all are ours.
	Prefix string
	// Wake is called once for each delivery that means something; it must not block.
	Wake func(Event)
}

// Door is the handler of POST /webhooks/github.
type Door struct {
	lg    *slog.Logger
	o     Options
	known *lru.Cache[string, time.Time] // deliveries, with when they came
}

// New refuses to make a door that anybody could open: without a secret, or with an empty one.
func New(lg *slog.Logger, o Options) (*Door, error) {
	if len(o.Secrets) == 0 {
		return nil, errors.New("hook: no secret: anybody could knock")
	}
	for _, s := range o.Secrets {
		if s == "" {
			return nil, errors.New("hook: a secret is empty, and anybody can sign with that")
		}
	}
	known, err := lru.New[string, time.Time](maxKnown)
	return &Door{lg: lg.With("component", "hook"), o: o, known: known}, err
}

// ServeHTTP answers 202 to what is signed, 401 to what is not, 413 to what is too long, 400 to what is no delivery.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		http.Error(w, "longer than 4 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body was cut short", http.StatusBadRequest)
		return
	}
	if !signed(d.o.Secrets, body, r.Header.Get("X-Hub-Signature-256")) {
		d.lg.Warn("a delivery that none of the secrets has signed", "from", r.RemoteAddr)
		http.Error(w, "X-Hub-Signature-256 does not fit: set the webhook's secret to one of ghpr.webhook_secrets", http.StatusUnauthorized)
		return
	}
	kind, id := r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery")
	if kind == "" || !json.Valid(body) {
		http.Error(w, "want X-GitHub-Event and a JSON body: choose the content type application/json", http.StatusBadRequest)
		return
	}
	d.take(kind, id, body)
	w.WriteHeader(http.StatusAccepted)
}

func (d *Door) take(kind, id string, body []byte) {
	if id != "" && len(id) <= 100 {
		if at, ok := d.known.Get(id); ok && time.Since(at) < knownFor {
			return
		}
		d.known.Add(id, time.Now())
	}
	e, ok := Read(kind, body, d.o.Prefix)
	d.lg.Debug("delivery", "kind", kind, "id", id, "wakes", ok)
	if ok {
		d.o.Wake(e)
	}
}

// signed says whether one of the secrets made the signature. All are tried, so that the time tells nothing.
func signed(secrets []string, body []byte, header string) bool {
	text, ok := strings.CutPrefix(header, "sha256=")
	given, err := hex.DecodeString(text)
	if !ok || err != nil {
		return false
	}
	fits := false
	for _, s := range secrets {
		mac := hmac.New(sha256.New, []byte(s))
		mac.Write(body)
		fits = hmac.Equal(mac.Sum(nil), given) || fits
	}
	return fits
}
