package ratchet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/flag"
)

// Flagged is what outsiders said of one trace, or a window that one of them named, or a trace that only its home knows by the id that they gave. Key in the
// flagged bucket: the trace's id, or windowPrefix and the flag's ID, or foreignPrefix and a digest of source, project and id. It is changed by compare-and-set alone, and a flag that it has is not taken again.
type Flagged struct {
	TraceID string      `json:"trace_id,omitzero"`
	Flags   []flag.Flag `json:"flags"` // the first few; of a window that one
	More    int         `json:"more"`  // flags that found no room, each counted as often as it came
	State   FlagState   `json:"state"`
	Until   time.Time   `json:"until"`           // when the wait ends
	Counted []string    `json:"counted"`         // ids of the flags that the trace's latest verdict counted
	Note    []byte      `json:"note,omitzero"`   // what Worker.Judge returned with that verdict
	Verdict string      `json:"verdict"`         // of the trace, by that
	Traces  []string    `json:"traces,omitzero"` // of a window, and of an id of a home's own: the traces that it led to
	Left    int         `json:"left,omitzero"`   // of a window: further traces in it, which were too many
	Looked  []int       `json:"looked,omitzero"` // of a window: the partitions that were looked through
	Fetch   *Fetch      `json:"fetch,omitzero"`  // what came of asking the trace's home; nil: nobody asked
	Changes int         `json:"changes"`         // so many changes made it what it is
}

// FlagState says where a flag stands.
type FlagState string

// The states. One that was not found is joined still, should its trace come while it is kept.
const (
	FlagWaiting  FlagState = "waiting"
	FlagJoined   FlagState = "joined"
	FlagNotFound FlagState = "trace not found"
)

// The bounds of a Flagged, so that its value stays small.
const (
	maxFlags  = 20 // of one trace
	maxWindow = 20 // traces of one window
)

const (
	windowPrefix  = "window/"
	foreignPrefix = "id/"
)

// key is the value's key in its bucket.
func (f *Flagged) key() string {
	if f.TraceID != "" {
		return f.TraceID
	}
	return keyOf(f.Flags[0])
}

func keyOf(f flag.Flag) string {
	switch {
	case f.TraceID != "":
		return f.TraceID
	case f.Foreign():
		return foreignPrefix + flag.Digest(f.Source, f.Project, f.RawID)
	}
	return windowPrefix + f.ID
}

// take adds a flag. It says whether anything changed.
func (f *Flagged) take(in flag.Flag, wait time.Duration) bool {
	if slices.ContainsFunc(f.Flags, func(have flag.Flag) bool { return have.ID == in.ID }) {
		return false
	}
	if len(f.Flags) >= maxFlags {
		f.More++
		return true
	}
	f.TraceID, f.Flags, f.State = in.TraceID, append(f.Flags, in), FlagWaiting
	if f.Fetch != nil && f.Fetch.Done { // there is a new reason to ask
		f.Fetch = nil
	}
	f.Until = later(f.Until, in.Received.Add(wait))
	if w := in.Window; w != nil {
		f.Until = later(f.Until, w.To.Add(wait))
	}
	return true
}

// ids are those of its flags.
func (f *Flagged) ids() (out []string) {
	for _, x := range f.Flags {
		out = append(out, x.ID)
	}
	return out
}

// claims are its flags as the verdict quotes them.
func (f *Flagged) claims() (out []classify.Claim) {
	for _, x := range f.Flags {
		out = append(out, classify.Claim{Source: x.Source, Reason: x.Reason})
	}
	return out
}

// revision tells the verdict with these flags from that on the same records without them.
func (f *Flagged) revision(of string) string {
	return flag.Digest(append([]string{of}, f.ids()...)...)
}

// isWindow says whether it is a window and not a trace.
func (f *Flagged) isWindow() bool { return f.Flags[0].Window != nil }

// isForeign says whether it is a trace that only its home knows by that id.
func (f *Flagged) isForeign() bool { return f.Flags[0].Foreign() }

func readFlagged(value []byte) (*Flagged, error) {
	f := new(Flagged)
	if err := json.Unmarshal(value, f, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("read what was flagged: %w", err)
	}
	if len(f.Flags) == 0 {
		return nil, errors.New("read what was flagged: it has no flag")
	}
	return f, nil
}

// change applies a change to what is flagged under a key, by compare-and-set; one that says false writes nothing. It returns what is there now.
func (fl *Flags) change(ctx context.Context, key string, change func(*Flagged) bool) (now *Flagged, err error) {
	err = fl.q.Flagged.Update(ctx, key, func(old []byte) ([]byte, error) {
		now = new(Flagged)
		if old != nil {
			if now, err = readFlagged(old); err != nil {
				return nil, err
			}
		}
		if !change(now) {
			return nil, nil
		}
		now.Changes++
		return json.Marshal(now, jsontext.AllowInvalidUTF8(true))
	})
	if err != nil {
		return nil, fmt.Errorf("flags of %s: %w", key, err)
	}
	if len(now.Flags) > 0 {
		fl.know(key, now)
	}
	return now, nil
}

// List are the flags, the latest first: traces and windows, at most n.
func (fl *Flags) List(n int) []Flagged {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	out := make([]Flagged, 0, len(fl.byKey))
	for _, f := range fl.byKey {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b Flagged) int {
		if c := b.last().Compare(a.last()); c != 0 {
			return c
		}
		return strings.Compare(a.key(), b.key())
	})
	return out[:min(n, len(out))]
}

// last is when it was flagged last.
func (f *Flagged) last() time.Time { return f.Flags[len(f.Flags)-1].Received }
