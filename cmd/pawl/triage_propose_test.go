package main

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/classify/triage"
)

// A rule that hits more runs that pass than labelled ones is called doubtful, and one without testdata says why it has none.
func TestProposalText(t *testing.T) {
	told := func(found, passing, files int) string {
		c := triage.Candidate{Trial: propose.Trial{Found: propose.Listed{Count: found}, Collisions: propose.Listed{Count: passing}}, Testdata: make([]propose.File, files)}
		return proposalText(triage.Proposal{Group: "g", Candidates: []triage.Candidate{c}}, 100)
	}
	for _, c := range []struct {
		found, passing, files int
		doubtful              bool
		data                  string
	}{{18, 26, 6, true, "; 6 files of testdata"}, {18, 18, 1, false, "; 1 file of testdata"}, {18, 0, 0, false, "; no testdata, for "}} {
		got := told(c.found, c.passing, c.files)
		if strings.Contains(got, "doubtful: it hits more runs that pass") != c.doubtful || !strings.Contains(got, c.data) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
