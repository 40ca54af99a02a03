package ratchet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/flag"
)

// candidate is a trace in a window.
type candidate struct {
	id   string
	rank int
	seen time.Time
}

// joinWindow flags traces of the partition that lie in the window: those that went wrong first, of them the latest, up to a bound over all partitions.
func (fl *Flags) joinWindow(ctx context.Context, f *Flagged, partition int, kept Kept, now time.Time) error {
	flagged := f.Flags[0]
	w := flagged.Window
	if now.Before(later(w.To, flagged.Received.Add(-fl.o.Settle)).Add(fl.o.Settle)) || slices.Contains(f.Looked, partition) && !now.After(f.Until) {
		return nil
	}
	found, left, err := within(ctx, kept, *w)
	if err != nil {
		return err
	}
	over := now.After(f.Until)
	if len(found) == 0 && !over {
		return nil // they may come yet
	}
	chosen, err := fl.change(ctx, f.key(), func(have *Flagged) bool { return have.choose(found) })
	if err != nil {
		return err
	}
	if err := fl.spread(ctx, flagged, chosen.Traces); err != nil { // a kill before this is noted makes it come again, which changes nothing
		return err
	}
	for _, c := range found {
		if !slices.Contains(chosen.Traces, c.id) {
			left++
		}
	}
	_, err = fl.change(ctx, f.key(), func(have *Flagged) bool { return have.looked(partition, left, fl.o.Partitions, over) })
	return err
}

// choose takes traces into a window as far as there is room.
func (f *Flagged) choose(found []candidate) (changed bool) {
	for _, c := range found {
		if !slices.Contains(f.Traces, c.id) && len(f.Traces) < maxWindow {
			f.Traces, changed = append(f.Traces, c.id), true
		}
	}
	return changed
}

// looked notes that a partition was looked through for a window, and what is left out there.
func (f *Flagged) looked(partition, left, partitions int, over bool) bool {
	if !slices.Contains(f.Looked, partition) {
		f.Looked, f.Left = append(f.Looked, partition), f.Left+left
	}
	switch {
	case len(f.Traces) == 0 && over:
		f.State = FlagNotFound
	case len(f.Traces) > 0 && (over || len(f.Looked) >= partitions):
		f.State = FlagJoined
	}
	return true
}

// spread flags the traces that a window led to.
func (fl *Flags) spread(ctx context.Context, of flag.Flag, traces []string) error {
	for _, id := range traces {
		f := flag.Flag{ID: flag.Digest(of.Source, of.ID, id), Source: of.Source, TraceID: id, Project: of.Project, Link: of.Link, Severity: of.Severity,
			Reason: clip("in the window of: "+of.Reason, flag.MaxReason), Received: of.Received, Of: of.ID}
		if err := fl.take(ctx, f); err != nil {
			return fmt.Errorf("flag trace %s: %w", id, err)
		}
	}
	return nil
}

// within are the traces of the window, the first to be flagged first, and how many more there are than can be flagged.
func within(ctx context.Context, kept Kept, w flag.Window) (found []candidate, left int, err error) {
	err = kept.Within(ctx, w.From, func(id string, seen time.Time, open bool, note []byte) {
		s, known := ReadSummary(note)
		if open || !known || s.Start.After(w.To) || w.Service != "" && s.Service != w.Service || w.Session != "" && s.SessionID != sessionName(w.Session) {
			return
		}
		found = append(found, candidate{id, wrong(s.Verdict), seen})
		if len(found) >= 4*maxWindow {
			found, left = best(found, left)
		}
	})
	found, left = best(found, left)
	return found, left, err
}

// best keeps those that are flagged first.
func best(found []candidate, left int) ([]candidate, int) {
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.seen.Compare(a.seen), cmp.Compare(a.id, b.id))
	})
	found = slices.CompactFunc(found, func(a, b candidate) bool { return a.id == b.id })
	n := min(len(found), maxWindow)
	return found[:n], left + len(found) - n
}

// wrong ranks verdicts: what went wrong comes first.
func wrong(v classify.Verdict) int {
	return slices.Index([]classify.Verdict{classify.Failing, classify.Unclassified, classify.Incomplete, classify.Passing}, v)
}
