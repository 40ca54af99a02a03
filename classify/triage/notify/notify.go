// Package notify tells a chat room that there are new failures, or that one grows or came back. It speaks to any address that takes what Slack's incoming
// webhooks take: {"text": ...}.
//
// It is quiet: nothing without an address, one message an hour at most for all that happened since, each group once for each turn of its life. It holds up
// nothing, and what leaves is looked through as everything that leaves.
//
// # What is stored
//
// One value in the cursors bucket, State, changed by compare-and-set: who sends claims the hour first, so that of several processes one speaks. Of a process
// that ends while it sends it is not known whether anybody heard: that message is not said again.
package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ratchet"
)

// Options of New.
type Options struct {
	URL       string // secret: whoever has it may speak in the room
	Min       classify.Severity
	Link      string // address of the web UI as people reach it, "" for no links
	Every     time.Duration
	Look      time.Duration      // how often to look; default a minute
	Verify    func([]byte) error // says no to what must not leave
	Transport http.RoundTripper
}

// Notifier tells of groups.
type Notifier struct {
	lg     *slog.Logger
	bucket *queue.Bucket
	groups func(context.Context) ([]Seen, error)
	o      Options
	client *http.Client
}

// Seen is a group and where it stands now.
type Seen struct {
	*ratchet.Group
	Life ratchet.Life
}

// State is what was told.
type State struct {
	At   time.Time               `json:"at"`   // when something was sent last
	Told map[string]ratchet.Life `json:"told"` // by id: the turns of life that were told, of groups that still are at them
}

const (
	key      = "notify"
	maxLines = 10 // groups that a message names
	maxTold  = 1000
	maxTitle = 120 // runes
	tries    = 3
	timeout  = 10 * time.Second
)

// New makes a notifier; groups gives all groups.
func New(lg *slog.Logger, bucket *queue.Bucket, groups func(context.Context) ([]Seen, error), o Options) *Notifier {
	o.Every, o.Look, o.Min = cmp.Or(o.Every, time.Hour), cmp.Or(o.Look, time.Minute), cmp.Or(o.Min, classify.Blocking)
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the words go to the address that was named
	return &Notifier{lg.With("component", "notify"), bucket, groups, o, &http.Client{Transport: o.Transport, Timeout: timeout, CheckRedirect: noRedirect}}
}

// Run looks for what is to be told until ctx ends.
func (n *Notifier) Run(ctx context.Context) error {
	tick := time.NewTicker(n.o.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := n.Tell(ctx, now); err != nil && ctx.Err() == nil {
				n.lg.Warn("what is new is told later", "err", err)
			}
		}
	}
}

// Tell sends what is to be told, if its time has come.
func (n *Notifier) Tell(ctx context.Context, now time.Time) error {
	gs, err := n.groups(ctx)
	if err != nil {
		return err
	}
	due, err := n.claim(ctx, now, gs)
	if err != nil || len(due) == 0 {
		return err
	}
	if err := n.send(ctx, n.message(due)); err != nil {
		return errors.Join(err, n.unclaim(context.WithoutCancel(ctx), due))
	}
	n.lg.Info("told of groups", "groups", len(due))
	return nil
}

// turns are the lives that are told.
var turns = []ratchet.Life{ratchet.LifeNew, ratchet.LifeEscalating, ratchet.LifeRegressed}

// wants says whether a group is of those that are told.
func (n *Notifier) wants(g *Seen) bool {
	return g.Count > 0 && g.Merged == nil && slices.Contains(turns, g.Life) && rank(g.Severity) >= rank(n.o.Min)
}

func rank(s classify.Severity) int {
	return slices.Index([]classify.Severity{classify.Info, classify.Warning, classify.Blocking}, s)
}

// claim notes what is told now, before it is: the worst and most frequent first. It gives nothing while the hour is not over.
func (n *Notifier) claim(ctx context.Context, now time.Time, gs []Seen) (due []Seen, err error) {
	err = n.change(ctx, func(s *State) bool {
		due = nil
		if ago := now.Sub(s.At); ago >= 0 && ago < n.o.Every {
			return false
		}
		told := map[string]ratchet.Life{}
		for _, g := range gs {
			id := g.ID()
			switch {
			case !n.wants(&g):
			case s.Told[id] == g.Life:
				told[id] = g.Life
			default:
				due = append(due, g)
			}
		}
		slices.SortFunc(due, func(a, b Seen) int {
			return cmp.Or(cmp.Compare(rank(b.Severity), rank(a.Severity)), cmp.Compare(b.Count, a.Count), strings.Compare(a.ID(), b.ID()))
		})
		due = due[:min(len(due), max(0, maxTold-len(told)))]
		for _, g := range due {
			told[g.ID()] = g.Life
		}
		if len(due) == 0 {
			return false
		}
		s.At, s.Told = now.UTC(), told
		return true
	})
	return due, err
}

// unclaim has what was not heard told another time. The hour counts: who does not answer is not asked every minute.
func (n *Notifier) unclaim(ctx context.Context, due []Seen) error {
	return n.change(ctx, func(s *State) bool {
		for _, g := range due {
			delete(s.Told, g.ID())
		}
		return true
	})
}

func (n *Notifier) change(ctx context.Context, change func(*State) bool) error {
	return n.bucket.Update(ctx, key, func(old []byte) ([]byte, error) {
		var s State
		if old != nil {
			if err := json.Unmarshal(old, &s); err != nil {
				return nil, fmt.Errorf("what was told: %w", err)
			}
		}
		if !change(&s) {
			return nil, nil
		}
		return json.Marshal(s, json.Deterministic(true))
	})
}

// message is the body for those groups. A line that must not leave is left out but for its id.
func (n *Notifier) message(due []Seen) []byte {
	lines := []string{headline(due)}
	for i := range due[:min(len(due), maxLines)] {
		line := n.line(&due[i], due[i].Title)
		if n.o.Verify != nil && n.o.Verify([]byte(line)) != nil {
			line = n.line(&due[i], "")
		}
		lines = append(lines, line)
	}
	if rest := len(due) - maxLines; rest > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", rest))
	}
	doc, err := json.Marshal(map[string]string{"text": strings.Join(lines, "\n")})
	if err != nil {
		return []byte(`{"text":"pawl: there are new groups"}`)
	}
	return doc
}

func headline(due []Seen) string {
	of := map[ratchet.Life]int{}
	for i := range due {
		of[due[i].Life]++
	}
	var parts []string
	for _, l := range turns {
		if of[l] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[l], l))
		}
	}
	return "pawl: " + strings.Join(parts, ", ")
}

func (n *Notifier) line(g *Seen, title string) string {
	id := escape(g.ID())
	if n.o.Link != "" {
		id = "<" + strings.TrimSuffix(n.o.Link, "/") + "/groups/" + id + "|" + id + ">"
	}
	line := fmt.Sprintf("• %s: %s, seen %d times in %s", id, g.Life, g.Count, escape(g.Fingerprint.Service))
	if title != "" {
		line += ": " + escape(title)
	}
	return line
}

// escape makes a text one line that cannot be a mention, a link or a mark: what Slack reads as such has <, > or & in it.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		case strings.ContainsRune("*_~`|", r) && r != '_':
			return '\''
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxTitle {
		s = string(runes[:maxTitle]) + "…"
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Join(strings.Fields(s), " "))
}

// send posts a body, a few times where the other end says that it may be better later.
func (n *Notifier) send(ctx context.Context, body []byte) error {
	if n.o.Verify != nil {
		if err := n.o.Verify(body); err != nil {
			return fmt.Errorf("a message must not leave: %w", err)
		}
	}
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Second << (2 * try)):
			}
		}
		again := false
		if again, err = n.post(ctx, body); err == nil || !again {
			return err
		}
	}
	return err
}

func (n *Notifier) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.o.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("notify.url is no address") // the address is a secret: nothing of it is told
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := n.client.Do(req)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return true, fmt.Errorf("the room does not answer: %w", err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		return true, fmt.Errorf("the room answers %s", resp.Status)
	}
	return false, fmt.Errorf("the room answers %s: is notify.url right?", resp.Status)
}
