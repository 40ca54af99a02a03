package ratchet

import (
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/ghpr"
)

// Status says in words where a group stands: in which pull request, or what keeps it out of one. batches are all batches, by key.
func (p Policy) Status(g *Group, targets []Target, batches map[string]*Batch) string {
	if b := batches[g.Batch]; b != nil {
		state, url, note := b.Status()
		if in := b.Intent; in != nil && in.Receipt.State == ghpr.StateMerged && g.LastSeen.After(in.Receipt.ObservedAt) {
			state = "merged, and the failure was seen again since"
		}
		switch {
		case url != "":
			return fmt.Sprintf("pull request %s: %s", state, url)
		case note != "":
			return state + ": " + note
		}
		return state
	}
	if g.Refused != "" {
		return "no case: " + g.Refused
	}
	due, why := p.Due(g)
	if !due {
		return "waits: " + why
	}
	t, ok := TargetFor(targets, g.service())
	if !ok {
		return fmt.Sprintf("waits: no line of targets in pawl.yaml matches service %q", g.service())
	}
	if held := p.Held[t.Repo]; held != "" && !g.Approved() {
		if rank := p.Ranks[g.Fingerprint.Digest()]; rank > 0 {
			return fmt.Sprintf("waits: %s; rank %d of %d", held, rank, len(p.Ranks))
		}
		return "waits: " + held
	}
	if len(g.Specimens) == 0 {
		return "waits: for the next sighting, whose trace is kept"
	}
	if !slices.ContainsFunc(g.Specimens, func(sp Specimen) bool { return !g.unsettled(sp) }) {
		return "waits: until its session is quiet, for another trace may explain it"
	}
	return "due: " + why
}

// note says what there is to know of a pull request beside its state.
func (b *Batch) note() string {
	r := b.Intent.Receipt
	switch late := len(b.late()); {
	case b.Intent.Waiting != "":
		return b.Intent.Waiting
	case late == 1:
		return "one more case is to join it"
	case late > 0:
		return fmt.Sprintf("%d more cases are to join it", late)
	case len(r.Edited) > 0:
		return fmt.Sprintf("people changed %d of its files first; theirs count", len(r.Edited))
	case r.Base != "":
		return "it goes to " + r.Base + " now"
	}
	return ""
}

// Status says where a batch stands (withdrawn | collecting | full | stuck | preview | waiting | sending | open | closed | merged | absorbed | parked), where its pull request is, and what it
// waits for.
func (b *Batch) Status() (state, url, note string) {
	in := b.Intent
	switch {
	case len(b.Members) == 0:
		return "withdrawn", "", "its cases were taken back before anything was sent"
	case in == nil && b.Fault != "":
		return "stuck", "", b.Fault
	case in == nil && b.Shut:
		return "full", "", "becomes a pull request in the next round"
	case in == nil:
		return "collecting", "", "more cases may join"
	case in.Parked != nil:
		return "parked", in.Receipt.URL, in.Parked.Reason
	case in.Receipt.State != "":
		return string(in.Receipt.State), in.Receipt.URL, b.note()
	case b.Fault != "":
		return "stuck", "", b.Fault
	case b.Preview != "":
		return "preview", "", "ghpr.mode is preview: nothing was sent"
	}
	if in.Waiting != "" {
		return "waiting", "", in.Waiting
	}
	return "sending", "", ""
}
