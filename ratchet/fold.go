package ratchet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// reader names the absorber's cursor.
const reader = "absorb"

// Every change of a group, of a baseline and of the cursor is written to disk by itself, and a purge writes the state of the whole stream: verdicts are
// gathered for a moment and folded together, and what was folded is let go of now and then.
const (
	foldLimit = 256 // verdicts
	foldEvery = 200 * time.Millisecond
	letGo     = 5 * time.Second
)

// Fold reads FINDINGS from the cursor on and folds verdicts into groups, until ctx ends. Where another absorber has folded and let go of what this one
// was about to read, it goes on behind that.
func (a *Absorber) Fold(ctx context.Context) error {
	for {
		next, err := a.q.Findings.Cursor(ctx, reader)
		if err != nil {
			return err
		}
		err = a.foldFrom(ctx, next)
		gap, ok := errors.AsType[*queue.GapError](err)
		if !ok || !a.folded(ctx, gap.Last) {
			return err
		}
		a.lg.Info("another absorber has folded what was to be read", "from", next, "to", gap.Last)
	}
}

// folded says whether the shared cursor is behind a message: somebody has folded it.
func (a *Absorber) folded(ctx context.Context, seq uint64) bool {
	next, err := a.q.Findings.Cursor(ctx, reader)
	return err == nil && next > seq
}

func (a *Absorber) foldFrom(ctx context.Context, next uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	messages := make(chan received)
	go func() {
		defer close(messages)
		for m, err := range a.q.Findings.Read(ctx, next) {
			select {
			case messages <- received{m, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	f := folding{Absorber: a, next: next, last: max(next, 1) - 1}
	err := f.loop(ctx, messages)
	cancel()
	for range messages { // the reader has gone when Fold returns
	}
	return err
}

// CatchUp folds what FINDINGS holds now, and returns.
func (a *Absorber) CatchUp(ctx context.Context) error {
	info, err := a.q.Findings.Info(ctx)
	if err != nil {
		return err
	}
	next, err := a.q.Findings.Cursor(ctx, reader)
	if err != nil || info.Messages == 0 || next > info.Last {
		return err
	}
	f := folding{Absorber: a, next: next}
	for m, err := range a.q.Findings.Read(ctx, next) {
		if err != nil {
			return fmt.Errorf("read findings: %w", err)
		}
		if err := f.take(ctx, m); err != nil {
			return err
		}
		if m.Seq >= info.Last {
			break
		}
	}
	if err := f.flush(ctx); err != nil {
		return err
	}
	return f.purge(ctx)
}

// sequenced is a verdict with the sequence of its message in FINDINGS.
type sequenced struct {
	seq uint64
	Verdict
}

type received struct {
	queue.Message
	err error
}

// folding is one reader of FINDINGS.
type folding struct {
	*Absorber
	pending []sequenced
	next    uint64 // the cursor
	last    uint64 // sequence of the last message taken
	purged  uint64 // what is below is gone
	away    bool   // the store did not answer the last time
}

func (f *folding) loop(ctx context.Context, messages <-chan received) error {
	fold, purge := time.NewTicker(foldEvery), time.NewTicker(letGo)
	defer fold.Stop()
	defer purge.Stop()
	for {
		in := messages
		if len(f.pending) >= foldLimit { // the store is away: what is read meanwhile would only grow
			in = nil
		}
		var err error
		select {
		case <-ctx.Done():
		case <-fold.C:
			err = f.patient(f.flush(ctx))
		case <-purge.C:
			err = f.patient(f.purge(ctx))
		case m, open := <-in:
			switch {
			case !open:
				return nil
			case m.err != nil:
				err = fmt.Errorf("read findings: %w", m.err)
			default:
				err = f.take(ctx, m.Message)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// patient takes a store that does not answer for one that will: what waits stays, and the next beat tries again.
func (f *folding) patient(err error) error {
	if err != nil && !passing(err) {
		return err
	}
	if away := err != nil; away != f.away {
		f.away = away
		f.lg.Warn("folding verdicts", "store_answers", !away, "err", err)
	}
	return nil
}

// passing says that the store did not do it this time and may the next: it is away, full, or others were quicker at every try.
func passing(err error) bool {
	_, unavailable := errors.AsType[*queue.UnavailableError](err)
	_, full := errors.AsType[*queue.FullError](err)
	return unavailable || full || errors.Is(err, queue.ErrConflict)
}

// take adds a message's verdicts to those that wait, and folds them when they are many. A message is never folded in part: groups know by its
// sequence that they have it.
func (f *folding) take(ctx context.Context, m queue.Message) error {
	for line := range bytes.SplitSeq(m.Data, []byte("\n")) {
		var v Verdict
		if err := json.Unmarshal(line, &v); err != nil {
			if err := f.q.Quarantine(ctx, "not_a_verdict", map[string]string{"error": err.Error()}, line); err != nil {
				return err
			}
			continue
		}
		f.pending = append(f.pending, sequenced{m.Seq, v})
	}
	f.last = m.Seq
	if len(f.pending) < foldLimit {
		return nil
	}
	return f.patient(f.flush(ctx))
}

// flush folds what waits and moves the cursor behind it.
func (f *folding) flush(ctx context.Context) error {
	if f.last < f.next || f.last == 0 {
		return nil
	}
	if err := f.fold(ctx, f.pending); err != nil {
		return err
	}
	f.pending, f.next = f.pending[:0], f.last+1
	return f.q.Findings.SetCursor(ctx, reader, f.next)
}

// purge lets go of what was folded.
func (f *folding) purge(ctx context.Context) error {
	if f.next <= f.purged {
		return nil
	}
	if err := f.q.Findings.Purge(ctx, f.next); err != nil {
		return err
	}
	f.purged = f.next
	return nil
}
