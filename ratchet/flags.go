package ratchet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/flag"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Flags joins what outsiders say of traces to the traces. A flag goes from the stream FLAGS into the flagged bucket (Gather), where it waits for its trace. A
// trace that is judged later meets it there (Worker.Judge); one that was judged before is judged again (Join), and a window leads to the traces in it. It is
// safe for concurrent use.
type Flags struct {
	lg    *slog.Logger
	q     *queue.Queue
	o     FlagOptions
	seed  maphash.Seed
	turns [64]sync.Mutex // over the judging of one trace, by its id

	mu    sync.Mutex
	byKey map[string]*Flagged // never changed, but replaced
	due   map[string]attempt  // of those that wait: when to look next
}

// FlagOptions of NewFlags.
type FlagOptions struct {
	Wait       time.Duration            // how long a flag waits for its trace before it is said not to be found; default 1 h
	Settle     time.Duration            // how long after its end a window is looked into; default 4 min, in which its traces are complete
	Partition  func(traceID string) int // of a trace
	Partitions int                      // how many there are
}

// attempt is the next look for what a flag is on.
type attempt struct {
	at   time.Time
	wait time.Duration
	all  bool // of all that is kept, not only of what is new
}

const (
	firstLook = time.Second
	longLook  = time.Minute
)

// NewFlags reads what is flagged.
func NewFlags(ctx context.Context, lg *slog.Logger, q *queue.Queue, o FlagOptions) (*Flags, error) {
	o.Wait, o.Settle, o.Partitions = cmp.Or(o.Wait, time.Hour), cmp.Or(o.Settle, 4*time.Minute), max(o.Partitions, 1)
	if o.Partition == nil {
		o.Partition = func(string) int { return 0 }
	}
	fl := &Flags{lg: lg.With("component", "flags"), q: q, o: o, seed: maphash.MakeSeed(), byKey: map[string]*Flagged{}, due: map[string]attempt{}}
	for e, err := range q.Flagged.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("flags: %w", err)
		}
		fl.read(e)
	}
	return fl, nil
}

// read takes over an entry of the bucket.
func (fl *Flags) read(e queue.Entry) {
	if len(e.Value) == 0 { // deleted, or too old
		fl.mu.Lock()
		defer fl.mu.Unlock()
		delete(fl.byKey, e.Key)
		delete(fl.due, e.Key)
		return
	}
	f, err := readFlagged(e.Value)
	if err != nil {
		fl.lg.Error("a flag cannot be read: report this", "key", e.Key, "err", err)
		return
	}
	fl.know(e.Key, f)
}

// know takes over what is flagged under a key.
func (fl *Flags) know(key string, f *Flagged) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	before := fl.byKey[key]
	if before != nil && before.Changes > f.Changes { // the news of it are old
		return
	}
	fl.byKey[key] = f
	switch {
	case f.State != FlagWaiting:
		delete(fl.due, key)
	case before == nil || len(before.Flags) < len(f.Flags):
		fl.due[key] = attempt{wait: firstLook, all: true}
	}
}

// Of is what is flagged of a trace; nil for nothing. It is not to be changed.
func (fl *Flags) Of(traceID string) *Flagged {
	if fl == nil {
		return nil
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.byKey[traceID]
}

// turn holds up others that judge the trace until it is undone.
func (fl *Flags) turn(traceID string) (undo func()) {
	if fl == nil {
		return func() {}
	}
	mu := &fl.turns[maphash.String(fl.seed, traceID)%uint64(len(fl.turns))]
	mu.Lock()
	return mu.Unlock
}

// joined notes the verdict that counted flags of a trace, and its note.
func (fl *Flags) joined(ctx context.Context, f *Flagged, v classify.Verdict, note []byte) error {
	_, err := fl.change(ctx, f.TraceID, func(now *Flagged) bool {
		now.Counted, now.Note, now.Verdict = f.ids(), note, string(v)
		now.State = FlagWaiting
		if len(now.Counted) == len(now.Flags) {
			now.State = FlagJoined
		}
		return true
	})
	return err
}

// flagReader names the cursor in FLAGS.
const flagReader = "flagged"

// Gather takes the flags of the stream into the bucket until ctx ends, and lets go of what it took.
func (fl *Flags) Gather(ctx context.Context) error {
	for {
		next, err := fl.q.Flags.Cursor(ctx, flagReader)
		if err == nil {
			err = fl.gatherFrom(ctx, next)
		}
		if gap, ok := errors.AsType[*queue.GapError](err); ok { // another process took them
			if after, cerr := fl.q.Flags.Cursor(ctx, flagReader); cerr == nil && after > gap.Last {
				continue
			}
		}
		if ctx.Err() != nil || !passing(err) {
			return err
		}
		fl.lg.Warn("taking flags", "err", err)
		if pauseFor(ctx, time.Second) != nil {
			return nil
		}
	}
}

func (fl *Flags) gatherFrom(ctx context.Context, next uint64) error {
	for m, err := range fl.q.Flags.Read(ctx, next) {
		if err != nil {
			return fmt.Errorf("read flags: %w", err)
		}
		if err := fl.gather(ctx, m); err != nil {
			return err
		}
		if err := fl.q.Flags.SetCursor(ctx, flagReader, m.Seq+1); err != nil {
			return err
		}
		if m.Pending > 0 && m.Seq%256 != 0 { // a purge writes the state of the whole stream
			continue
		}
		if err := fl.q.Flags.Purge(ctx, m.Seq+1); err != nil {
			return err
		}
	}
	return nil
}

// gather takes the flags of one message. Taking it again changes nothing.
func (fl *Flags) gather(ctx context.Context, m queue.Message) error {
	for line := range bytes.SplitSeq(m.Data, []byte("\n")) {
		f, err := flag.Decode(line)
		if err != nil {
			if err := fl.q.Quarantine(ctx, "not_a_flag", map[string]string{"error": err.Error()}, line); err != nil {
				return err
			}
			continue
		}
		if err := fl.take(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func (fl *Flags) take(ctx context.Context, f flag.Flag) error {
	_, err := fl.change(ctx, keyOf(f), func(now *Flagged) bool { return now.take(f, fl.o.Wait) })
	return err
}

// Follow keeps what this process knows up with the bucket, which other processes change too, until ctx ends.
func (fl *Flags) Follow(ctx context.Context) error {
	for ctx.Err() == nil {
		for e, err := range fl.q.Flagged.Watch(ctx) {
			if err != nil {
				fl.lg.Debug("following flags", "err", err)
				break
			}
			if e.Key != "" {
				fl.read(e)
			}
		}
		if pauseFor(ctx, time.Second) != nil {
			break
		}
	}
	return nil
}

func pauseFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Looked is a kept trace as Look finds it.
type Looked struct {
	Trace    trajectory.Trace
	Revision string
	Note     []byte // what Judge returned with its latest verdict
	Seen     time.Time
	Open     bool // it is yet to be judged
}

// Kept is where the traces of one partition are. ok is false for a trace that is not there.
type Kept struct {
	// Look finds a trace; with recent set only among those that were touched of late.
	Look func(ctx context.Context, id string, recent bool) (l Looked, ok bool, err error)
	// Within calls each with the kept traces that were touched since then.
	Within func(ctx context.Context, since time.Time, each func(id string, seen time.Time, open bool, note []byte)) error
}

// Join looks for the traces of a partition that flags wait for, until ctx ends.
func (fl *Flags) Join(ctx context.Context, w *Worker, partition int, kept Kept, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := fl.JoinDue(ctx, w, partition, kept, now); err != nil && ctx.Err() == nil {
				fl.lg.Warn("flags could not be joined and are tried again", "err", err)
			}
		}
	}
}

// JoinDue looks once for what is due. One that fails holds up no other.
func (fl *Flags) JoinDue(ctx context.Context, w *Worker, partition int, kept Kept, now time.Time) error {
	var errs []error
	for _, key := range fl.dueBy(now, partition) {
		f := fl.Of(key)
		if f == nil || ctx.Err() != nil {
			continue
		}
		var err error
		switch {
		case f.isWindow():
			err = fl.joinWindow(ctx, f, partition, kept, now)
		case !f.isForeign():
			err = fl.joinTrace(ctx, w, f, kept, now)
		case now.After(f.Until): // no home said which trace it is
			err = fl.end(ctx, key)
		}
		fl.next(key, now, err != nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// dueBy are the keys of what waits and is to be looked for, sorted.
func (fl *Flags) dueBy(now time.Time, partition int) (out []string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for key, a := range fl.due {
		window := strings.HasPrefix(key, windowPrefix)
		if !a.at.After(now) && (window || fl.o.Partition(key) == partition) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// next says when to look again: later and later, and after the first time only for what is new, unless that look failed.
func (fl *Flags) next(key string, now time.Time, failed bool) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if a, waits := fl.due[key]; waits {
		fl.due[key] = attempt{at: now.Add(a.wait), wait: min(2*a.wait, longLook), all: a.all && failed}
	}
}

func (fl *Flags) lookAll(key string) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.due[key].all
}

// joinTrace judges the flagged trace again, if it is there and was judged without all of its flags.
func (fl *Flags) joinTrace(ctx context.Context, w *Worker, f *Flagged, kept Kept, now time.Time) error {
	defer fl.turn(f.TraceID)()
	if f = fl.Of(f.TraceID); f == nil || f.State != FlagWaiting { // it was judged meanwhile
		return nil
	}
	over := now.After(f.Until)
	l, ok, err := kept.Look(ctx, f.TraceID, !over && !fl.lookAll(f.TraceID))
	switch {
	case err != nil:
		return err
	case ok && l.Open:
		return nil // its verdict will meet the flag
	case ok:
		_, err := w.judge(ctx, l.Trace, l.Revision, l.Note, l.Seen)
		if errors.Is(err, ErrNotAgent) {
			return fl.end(ctx, f.TraceID)
		}
		return err
	case over:
		return fl.end(ctx, f.TraceID)
	}
	return nil
}

// end says that the wait is over.
func (fl *Flags) end(ctx context.Context, key string) error {
	f, err := fl.change(ctx, key, func(now *Flagged) bool {
		changed := now.State == FlagWaiting
		now.State = FlagNotFound
		return changed
	})
	if err == nil {
		fl.lg.Info("a flag found no trace", "trace", cmp.Or(f.TraceID, f.Flags[0].RawID), "source", f.Flags[0].Source)
	}
	return err
}
