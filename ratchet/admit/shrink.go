package admit

import (
	"slices"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Limits bound a shrinking by what it does, not by time, so that it gives the same on every machine.
type Limits struct {
	Probes int   // smaller recordings that are tried in each of the three rounds; 0: 300
	Bytes  int64 // text in all of them together; 0: 64 MiB
}

// Shrink returns the smallest part of a recording for which holds stays true, as far as its limits allow: spans are left out first (never a root, nor
// the parent of one that stays) and records of the log, then attributes and events, then messages of lists that are JSON. The traces given are not changed,
// and holds is asked for the outcome of every removal, so that what is returned holds if they do.
func Shrink(traces []trajectory.Trace, holds func([]trajectory.Trace) bool, l Limits) []trajectory.Trace {
	if l.Probes == 0 {
		l.Probes = 300
	}
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	work := l.Bytes
	for _, round := range []func([]trajectory.Trace) []piece{spanPieces, attributePieces, messagePieces} {
		parts := round(traces)
		s := &search{probes: l.Probes, work: &work}
		kept := s.fewest(parts, func(kept []piece) (bool, int) {
			smaller := without(traces, parts, kept)
			return holds(smaller), sizeOf(smaller)
		})
		traces = without(traces, parts, kept)
	}
	return traces
}

// search is delta debugging over the parts of something.
type search struct {
	probes int
	work   *int64
}

// fewest returns a part of the list without any chunk of which holds stays true, chunks growing smaller until they are single pieces. It first tries to do
// with none at all.
func (s *search) fewest(list []piece, holds func([]piece) (ok bool, cost int)) []piece {
	try := func(kept []piece) bool {
		if s.probes <= 0 || *s.work <= 0 {
			return false
		}
		ok, cost := holds(kept)
		s.probes--
		*s.work -= int64(cost)
		return ok
	}
	if len(list) == 0 || try(nil) {
		return nil
	}
	for n := 2; len(list) > 0 && s.probes > 0 && *s.work > 0; {
		n = min(n, len(list))
		smaller, ok := s.withoutOne(list, n, try)
		switch {
		case ok:
			list, n = smaller, max(n-1, 2)
		case n == len(list):
			return list
		default:
			n *= 2
		}
	}
	return list
}

// withoutOne leaves out the first of n chunks that can be spared, the last ones tried first: what came late is more often an aftermath.
func (s *search) withoutOne(list []piece, n int, try func([]piece) bool) ([]piece, bool) {
	for i := n - 1; i >= 0; i-- {
		from, to := i*len(list)/n, (i+1)*len(list)/n
		rest := slices.Concat(list[:from], list[to:])
		if to > from && try(rest) {
			return rest, true
		}
	}
	return nil, false
}
