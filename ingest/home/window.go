package home

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Window says which traces to read.
type Window struct {
	From, To  time.Time // by the start of a trace
	MaxTraces int       // then it stops, with a *LimitError; 0 is no bound
}

// Margin is how much before the window spans are read where a home knows spans and no traces: of a trace that began before the window a part is read, and
// the caller leaves it out by its first start.
const Margin = time.Hour

// LimitError says that a window holds more traces than were asked for. Of the last ones only a part may have been read.
type LimitError struct{ Traces int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the window holds more than %d traces: the rest is not read", e.Traces)
}

// Window reads the traces of a window, page by page. An error is told between items; unless it is the last, what follows was read nonetheless.
func (h *Home) Window(ctx context.Context, w Window) iter.Seq2[importer.Item, error] {
	return func(yield func(importer.Item, error) bool) {
		c := h.c
		c.patient = true
		seen := map[pcommon.TraceID]bool{}
		over, stopped := false, false
		err := h.v.window(ctx, c, w, func(docs [][]byte) bool {
			items, problems := h.read(docs)
			for _, item := range items {
				if stopped = !yield(item, nil); stopped {
					return false
				}
				note(seen, item.Data)
			}
			for _, p := range problems {
				if stopped = !yield(importer.Item{}, fmt.Errorf("%s: its answer cannot be read: %w", h.o.Name, p)); stopped {
					return false
				}
			}
			over = w.MaxTraces > 0 && len(seen) >= w.MaxTraces
			return !over && ctx.Err() == nil
		})
		switch {
		case stopped:
		case ctx.Err() != nil:
			yield(importer.Item{}, context.Cause(ctx))
		case err != nil:
			yield(importer.Item{}, fmt.Errorf("%s: %w", h.o.Name, err))
		case over:
			yield(importer.Item{}, fmt.Errorf("%s: %w", h.o.Name, &LimitError{w.MaxTraces}))
		}
	}
}

func note(seen map[pcommon.TraceID]bool, d wire.Data) {
	if d.Signal != wire.Traces {
		return
	}
	for _, s := range spansOf(d.Traces) {
		seen[s.TraceID()] = true
	}
}

// maxPages bounds how far one question is followed.
const maxPages = 10_000

// pages follows cursors: ask gives a page and the cursor of the next one, "" at the end, and whether to go on.
func pages(ask func(cursor string) (next string, goOn bool, err error)) error {
	cursor := ""
	for range maxPages {
		next, goOn, err := ask(cursor)
		if err != nil || !goOn || next == "" {
			return err
		}
		if next == cursor {
			return errors.New("it gives the same page again and again: the rest is not read")
		}
		cursor = next
	}
	return fmt.Errorf("it has more than %d pages: the rest is not read", maxPages)
}

// errCrowded says that so many traces began at once that a home without pages does not give all of them.
var errCrowded = errors.New("more traces began within one second than it gives at once: the rest of them is not read")

// halves asks about a span of time of a home that knows no pages: one that gives as many as were asked for is asked about both halves instead, the later
// one first. ask says how many there were, and takes what it got unless there are too many.
func halves(from, to time.Time, most int, ask func(from, to time.Time, last bool) (n int, goOn bool, err error)) (goOn bool, err error) {
	last := to.Sub(from) <= time.Second
	n, goOn, err := ask(from, to, last)
	if err != nil || !goOn || n < most || last {
		return goOn, err
	}
	middle := from.Add(to.Sub(from) / 2).Truncate(time.Second)
	if !middle.After(from) {
		middle = from.Add(time.Second)
	}
	for _, half := range [][2]time.Time{{middle, to}, {from, middle}} {
		if goOn, err = halves(half[0], half[1], most, ask); err != nil || !goOn {
			return goOn, err
		}
	}
	return true, nil
}
