package main

import (
	"os"
	"slices"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// escape puts a further specimen below a case that is enforced, if its failure was seen after everything that the case was made of: what the case asks
// for let it through. did is Known where it was not, or where that specimen is there already; why says what stood in the way of one.
func escape(root *os.Root, maker *ratchet.Maker, first regcase.Case, g *sighted, healthy *baseline.Snapshot, runs passing) (c regcase.Case, made ratchet.Made, did regcase.Written, why string, err error) {
	back := *g
	back.Specimens = slices.DeleteFunc(slices.Clone(g.Specimens), func(s ratchet.Specimen) bool {
		return !s.Seen.After(first.Provenance.LastSeen) || slices.Contains(first.Provenance.Traces, s.TraceID)
	})
	if first.State.Name != regcase.Enforced || len(back.Specimens) == 0 {
		return first, made, regcase.Known, "", nil
	}
	back.FirstSeen, back.Count, back.traces = g.LastSeen, len(back.Specimens), nil
	for _, s := range back.Specimens {
		if back.traces = append(back.traces, s.TraceID); s.Seen.Before(back.FirstSeen) {
			back.FirstSeen = s.Seen
		}
	}
	made, err = makeCase(maker, &back, healthy, runs)
	if reason, refused := ratchet.AsRefused(err); refused {
		return first, made, regcase.Known, "it came again, and no further specimen can be made of it: " + reason, nil
	}
	if err != nil {
		return first, made, "", "", err
	}
	c, did, err = regcase.WriteSpecimen(root, first, made.Case, made.Trace)
	return c, made, did, "", err
}
