package ghpr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/ghpr/github"
)

// doubling is a write that GitHub would carry out twice, or refuse the second time, if it were sent twice.
type doubling struct {
	name    string
	step    *Step
	look    func(context.Context) (bool, error)        // finds our object; parks what is not ours
	prepare func(context.Context) error                // harmless work before the write
	send    func(context.Context) error                // the write
	refused func(context.Context, *github.Error) error // what a refusal means once reading shows nothing of ours; nil: try again
}

const maxSends = 3 // of one write in one run, each after proof that the one before did nothing

// patience is how long a thing must stay away before it is absent: GitHub's reads may be half a minute old. The short waits are sat out; for the
// long ones the run ends, so that one write in doubt does not hold up all others, and the next run goes on with the looking (Intent.Search).
var patience = []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second}

const satOut = 2 * time.Second

// ensure carries out a doubling write at most once in effect: look; if it is provably absent, store Sent, send, and look again,
// whatever the answer was. Only an object that was read back confirms.
func (w *run) ensure(ctx context.Context, d doubling) error {
	var refusal *github.Error
	if d.step.Outcome == Refused { // the run before ended while it looked
		refusal = &github.Error{Op: d.name, Kind: github.Refused, Message: d.step.Note}
	}
	for sends := 0; ; sends++ {
		found, err := w.poll(ctx, d.name, d.step.Outcome, d.look)
		if err != nil {
			return err
		}
		if found {
			return w.confirm(ctx, d.step)
		}
		if d.step.Outcome == Confirmed {
			return w.park(d.name+": it was there and is gone: somebody deleted it before its pull request", "our commit "+orNone(w.in.Commit))
		}
		if d.step.Outcome = Planned; refusal != nil {
			if err := d.refused(ctx, refusal); err != nil {
				return err
			}
		}
		if sends == maxSends {
			return fmt.Errorf("%s: %d sends came to nothing: %s", d.name, sends, d.step.Note)
		}
		if refusal, err = w.sendOnce(ctx, d); err != nil {
			return err
		}
	}
}

// sendOnce stores Sent and sends. The error ends the run; a refusal leads back to reading.
func (w *run) sendOnce(ctx context.Context, d doubling) (*github.Error, error) {
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	delete(w.absent, d.name)
	d.step.Outcome, d.step.Note = Sent, ""
	d.step.Sends++
	if err := w.store(ctx); err != nil {
		return nil, err
	}
	err := d.send(ctx)
	if ctx.Err() != nil {
		d.step.Outcome = Unknown
		return nil, err
	}
	e, _ := errors.AsType[*github.Error](err)
	switch {
	case err == nil:
		d.step.Outcome = Unknown // until it is read back
		return nil, nil
	case e == nil || e.Kind == github.Unknown:
		d.step.Outcome, d.step.Note = Unknown, err.Error()
		return nil, w.store(ctx)
	case e.Kind == github.Refused:
		d.step.Outcome, d.step.Note = Refused, e.Error()
		return e, w.store(ctx)
	default: // limited, denied, hidden, moved, invalid: it did nothing
		d.step.Outcome, d.step.Note = Planned, e.Error()
		return nil, err
	}
}

// poll looks once if nothing can be there yet, else patiently: absent is only what stayed away for a minute of clean looks. A failed read proves
// nothing. Where the next look is far off the run is settled until then.
// What one run found to be absent it looks for once after that.
func (w *run) poll(ctx context.Context, what string, known Outcome, look func(context.Context) (bool, error)) (bool, error) {
	if known == Planned || w.absent[what] {
		return look(ctx)
	}
	for failed := 0; ; {
		found, err := look(ctx)
		pause := satOut
		switch looks := w.in.Search[what]; {
		case err == nil && (found || looks == len(patience)):
			if delete(w.in.Search, what); len(w.in.Search) == 0 {
				w.in.Search = nil // as it comes back from a store
			}
			w.absent[what] = !found
			return found, nil
		case err == nil:
			if w.in.Search == nil {
				w.in.Search = map[string]int{}
			}
			w.in.Search[what]++
			if pause = patience[looks]; pause > satOut {
				return false, w.wait(what+" does not show yet: looks again", w.now().Add(pause))
			}
		case !isUnknown(err) || failed == 2:
			return false, err
		default:
			failed++
		}
		if err := github.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

func isUnknown(err error) bool {
	e, ok := errors.AsType[*github.Error](err)
	return ok && e.Kind == github.Unknown
}

func isAbsent(err error) bool {
	e, ok := errors.AsType[*github.Error](err)
	return ok && e.Kind == github.Absent
}
