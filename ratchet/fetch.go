package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// Fetch is what came of asking a home for a flagged trace. It is kept with the flags, so that a process that dies goes on where it was.
type Fetch struct {
	Home   string    `json:"home"`            // that was asked last
	Tries  int       `json:"tries"`           // looks so far
	Next   time.Time `json:"next"`            // when the next one is due
	Digest string    `json:"digest,omitzero"` // of what the last look found: equal to the one before it says that the trace is whole
	Spans  int       `json:"spans"`           // that the last look found
	Said   string    `json:"said"`            // what came of the last look
	Done   bool      `json:"done"`            // nothing more is asked
}

// again is when to look again after so many looks: what flags a trace often overtakes it.
var again = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute}

// Fetched is a trace as its home told it.
type Fetched struct {
	TraceID string // as pawl knows it
	Spans   int
	Digest  string
	Push    func(ctx context.Context) error // sends its spans the way of those that are sent here; sending them twice changes nothing
}

// ErrNoSuchTrace is wrapped where a home has no such trace, or not yet.
var ErrNoSuchTrace = errors.New("the trace is not there")

// LaterError says when a home may be asked again.
type LaterError struct {
	After time.Duration
	Err   error
}

func (e *LaterError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LaterError) Unwrap() error { return e.Err }

// Homes are where flagged traces may live.
type Homes struct {
	After time.Duration // how long a trace may take to come by itself
	// Of names the homes that may have what is flagged, the first to be asked first.
	Of func(f flag.Flag) []string
	// Trace asks a home for the trace that a flag is on. The error wraps ErrNoSuchTrace or a *LaterError, or is the fault.
	Trace func(ctx context.Context, home string, f flag.Flag) (Fetched, error)
	// Window asks a home for the traces of a window, at most so many, and sends them. It says how many there were.
	Window func(ctx context.Context, home string, f flag.Flag, most int) (int, error)
}

// fetchedTogether is how many flags are asked for at a time.
const fetchedTogether = 4

// Fetch asks homes for the flagged traces of a partition that do not come by themselves, until ctx ends.
func (fl *Flags) Fetch(ctx context.Context, partition int, kept Kept, h Homes, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := fl.FetchDue(ctx, partition, kept, h, now); err != nil && ctx.Err() == nil {
				fl.lg.Warn("flagged traces could not be asked for, and are asked for again", "err", err)
			}
		}
	}
}

// FetchDue asks once for what is due. One that fails holds up no other.
func (fl *Flags) FetchDue(ctx context.Context, partition int, kept Kept, h Homes, now time.Time) error {
	g := errgroup.Group{}
	g.SetLimit(fetchedTogether)
	var errs []error
	for _, key := range fl.fetchBy(now, partition, h) {
		g.Go(func() error {
			if err := fl.fetch(ctx, key, kept, h, now); err != nil {
				fl.mu.Lock()
				defer fl.mu.Unlock()
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
			return nil
		})
	}
	_ = g.Wait() // each keeps its error
	return errors.Join(errs...)
}

// fetchBy are the keys of what waits and is to be asked for. Windows, which lie in all partitions, are the first one's.
func (fl *Flags) fetchBy(now time.Time, partition int, h Homes) (out []string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for key, a := range fl.due {
		f := fl.byKey[key]
		mine := fl.o.Partition(key) == partition
		if strings.HasPrefix(key, windowPrefix) {
			mine = partition == 0
		}
		if mine && !a.at.IsZero() && !fl.fetchAt(f, h.After).After(now) && len(h.Of(f.Flags[0])) > 0 { // it was looked for here first
			out = append(out, key)
		}
	}
	return out
}

// far is never.
var far = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// fetchAt is when to ask for what is flagged: at first when it had its time to come by itself, which what only its home knows does not need.
func (fl *Flags) fetchAt(f *Flagged, after time.Duration) time.Time {
	switch last := f.last(); {
	case f.Fetch != nil && f.Fetch.Done:
		return far
	case f.Fetch != nil:
		return f.Fetch.Next
	case f.isWindow():
		return later(f.Flags[0].Window.To, last).Add(fl.o.Settle + after)
	case f.isForeign() || f.ofForeign():
		return last
	default:
		return last.Add(after)
	}
}

// ofForeign says whether the first flag on a trace came by an id that only its home knows.
func (f *Flagged) ofForeign() bool {
	raw := f.Flags[0].RawID
	return raw != "" && f.TraceID != "" && flag.Normal(raw) != f.TraceID
}

// fetch asks for one trace, or window.
func (fl *Flags) fetch(ctx context.Context, key string, kept Kept, h Homes, now time.Time) error {
	f := fl.Of(key)
	if f == nil || f.State != FlagWaiting {
		return nil
	}
	if f.isWindow() {
		return fl.fetchWindow(ctx, f, h, now)
	}
	if !f.isForeign() {
		if _, here, err := kept.Look(ctx, f.TraceID, false); err != nil || here { // it came by itself, and is joined soon
			fl.lookAgain(key)
			return err
		}
	}
	got, home, err := ask(ctx, f.Flags[0], h)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	next := f.tried(home, got, err, now)
	switch {
	case err != nil:
	case got.TraceID != f.TraceID:
		return fl.foundAs(ctx, f, got, next)
	case next.Done || f.Fetch != nil && f.Fetch.Digest == got.Digest:
		if err := got.Push(ctx); err != nil {
			next.Done, next.Next, next.Said = false, now.Add(again[0]), "fetched, and could not be stored: "+err.Error()
			return errors.Join(err, fl.asked(ctx, key, next))
		}
		next.Done, next.Said = true, fmt.Sprintf("%d spans came from %s", got.Spans, home)
		fl.lg.Info("a flagged trace was fetched", "trace", f.TraceID, "home", home, "spans", got.Spans)
	}
	return fl.asked(ctx, key, next)
}

// ask asks the homes in turn, until one has the trace. The first fault is told, rather than that another has no such trace.
func ask(ctx context.Context, f flag.Flag, h Homes) (got Fetched, home string, err error) {
	for _, name := range h.Of(f) {
		one, oneErr := h.Trace(ctx, name, f)
		if oneErr == nil {
			return one, name, nil
		}
		if err == nil || errors.Is(err, ErrNoSuchTrace) && !errors.Is(oneErr, ErrNoSuchTrace) {
			home, err = name, oneErr
		}
	}
	return got, home, err
}

// tried is the state after a look, which got or err came of.
func (f *Flagged) tried(home string, got Fetched, err error, now time.Time) Fetch {
	next := Fetch{Home: home, Tries: 1, Digest: got.Digest, Spans: got.Spans, Said: fmt.Sprintf("%d spans so far", got.Spans)}
	if f.Fetch != nil {
		next.Tries = f.Fetch.Tries + 1
	}
	if err != nil {
		next.Said = clip(err.Error(), maxText)
	}
	if busy, ok := errors.AsType[*LaterError](err); ok { // this was no look
		next.Tries, next.Next = next.Tries-1, now.Add(busy.After)
		if f.Fetch != nil {
			next.Digest, next.Spans = f.Fetch.Digest, f.Fetch.Spans
		}
		return next
	}
	if next.Tries > len(again) {
		next.Done = true
		return next
	}
	next.Next = now.Add(again[next.Tries-1])
	return next
}

// foundAs hands what was said on to the trace that a home says it is on. That trace is looked for here before it is fetched.
func (fl *Flags) foundAs(ctx context.Context, f *Flagged, got Fetched, next Fetch) error {
	for _, of := range f.Flags {
		to := flag.Flag{ID: flag.Digest(of.Source, of.ID, got.TraceID), Source: of.Source, TraceID: got.TraceID, RawID: cmp.Or(of.RawID, of.TraceID), Project: of.Project,
			Link: of.Link, Severity: of.Severity, Reason: of.Reason, Received: of.Received, Of: of.ID}
		if err := fl.take(ctx, to); err != nil {
			return fmt.Errorf("flag trace %s: %w", got.TraceID, err)
		}
	}
	next.Done, next.Said = true, fmt.Sprintf("%s knows it as the trace %s", next.Home, got.TraceID)
	_, err := fl.change(ctx, f.key(), func(now *Flagged) bool {
		now.Fetch, now.Traces = &next, []string{got.TraceID}
		if now.State = FlagJoined; len(now.Flags) > len(f.Flags) { // more was said meanwhile
			now.State, now.Fetch = FlagWaiting, nil
		}
		return true
	})
	return err
}

// fetchWindow asks every home for the traces of a window, once each look, until there are some.
func (fl *Flags) fetchWindow(ctx context.Context, f *Flagged, h Homes, now time.Time) error {
	of := f.Flags[0]
	var first error
	total, last := 0, ""
	for _, name := range h.Of(of) {
		n, err := h.Window(ctx, name, of, maxWindow)
		if total, last = total+n, name; first == nil {
			first = err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	next := f.tried(last, Fetched{}, first, now)
	switch {
	case total > 0:
		next.Done, next.Said = true, fmt.Sprintf("%d traces came from %s", total, last)
	case first == nil:
		next.Said = "it has no trace in the window"
	}
	return fl.asked(ctx, f.key(), next)
}

// asked notes what came of a look.
func (fl *Flags) asked(ctx context.Context, key string, next Fetch) error {
	_, err := fl.change(ctx, key, func(now *Flagged) bool {
		now.Fetch = &next
		return now.State == FlagWaiting
	})
	if next.Done {
		fl.lookAgain(key)
	}
	return err
}

// lookAgain has what is flagged looked for soon, among all that is kept.
func (fl *Flags) lookAgain(key string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if _, waits := fl.due[key]; waits {
		fl.due[key] = attempt{wait: firstLook, all: true}
	}
}
