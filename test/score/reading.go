package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/classify"
)

// readingTSV is what a person who read findings beside the raw traces made of them: label, set, the beginning of the run's id, whether the
// finding holds (yes, no), and one line why.
//
//go:embed reading.tsv
var readingTSV string

type reading struct {
	Label    classify.Label
	Set, Run string
	Holds    bool
	Why      string
}

type readings []reading

func readReadings() (readings, error) {
	var out readings
	for n, line := range strings.Split(strings.TrimRight(readingTSV, "\n"), "\n")[1:] {
		f := strings.Split(line, "\t")
		if len(f) != 5 || (f[3] != "yes" && f[3] != "no") || strings.TrimSpace(f[4]) == "" {
			return nil, fmt.Errorf("reading.tsv:%d: want label, set, run, yes or no, and why, divided by tabs", n+2)
		}
		out = append(out, reading{classify.Label(f[0]), f[1], f[2], f[3] == "yes", f[4]})
	}
	return out, nil
}

// of says whether the label's finding on the run holds, if anybody read it.
func (rs readings) of(l classify.Label, r run) (holds, known bool) {
	for _, x := range rs {
		if x.Label == l && x.Set == r.Set && strings.HasPrefix(r.ID, x.Run) {
			return x.Holds, true
		}
	}
	return false, false
}

// tally counts the findings of a label that were read, and how many of them hold.
func (rs readings) tally(l classify.Label) (holds, read int) {
	for _, x := range rs {
		if x.Label == l {
			read++
			if x.Holds {
				holds++
			}
		}
	}
	return holds, read
}
