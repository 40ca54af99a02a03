package main

import (
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
)

// histories are what the traces of an offline run were produced by, by service. The traces of the call are all there is: what came before them is not known.
type histories map[string]*lineage.History

// before is the history of a trace's service as far as it was taken.
func (h histories) before(j judged) *lineage.History {
	if h[j.trajectory.Service] == nil {
		h[j.trajectory.Service] = &lineage.History{}
	}
	return h[j.trajectory.Service]
}

// take adds a trace.
func (h histories) take(j judged, c lineage.Context) {
	h.before(j).Take(c, j.report.Verdict == classify.Failing, seen(j.trajectory))
}

// story tells what had changed when the group's failure began.
func (g *sighted) story() lineage.Story { return g.Story(g.history, shown) }

// worthTelling says that a story is more than that nothing is known.
func worthTelling(s lineage.Story) bool {
	return s.Kind == lineage.Changed || s.Kind == lineage.Unchanged || s.Kind == lineage.SideBySide
}

// beginnings tells, of the failures for which something was new when they began, what that was.
func beginnings(all []judged, width int) string {
	var b strings.Builder
	for _, g := range groupsOf(all) {
		s := g.story()
		if s.Kind != lineage.Changed && s.Kind != lineage.SideBySide {
			continue
		}
		fmt.Fprintf(&b, "  %s %s\n%s", g.Fingerprint.Label, shown(g.Title), indent(s.Sentence, "    ", width))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nWhat had changed when it began:\n" + b.String()
}
