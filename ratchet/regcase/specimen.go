package regcase

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
)

// Escaped is what WriteSpecimen did: a failure came again although its case held it, and has a further specimen.
const Escaped Written = "escaped"

// MaxSpecimens is how many further specimens a case has at most.
const MaxSpecimens = 3

// WriteSpecimen puts a further recording of a failure below the case that it escaped. One that is there already, by a trace of its provenance or by its
// recording, is left alone; so is the set where there is no place left. The case that comes back is the specimen, or the one that is there.
func WriteSpecimen(root *os.Root, first, c Case, trace []byte) (Case, Written, error) {
	for n := 2; n <= MaxSpecimens+1; n++ {
		old, err := Read(root, path.Join(first.Dir(), strconv.Itoa(n)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.ID = fmt.Sprintf("%s.%d", first.ID, n)
			return c, Escaped, create(root, c, trace)
		case err != nil:
			return c, "", fmt.Errorf("case %s.%d %w: %w", first.ID, n, ErrUnreadable, err)
		case old.Trace.SHA256 == SHA256(trace) || shares(old.Provenance.Traces, c.Provenance.Traces):
			return old, Known, nil
		}
	}
	return first, Known, nil
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
