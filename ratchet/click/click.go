package click

import (
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify"
)

// Standing is where a case stands after its evidence was weighed.
type Standing struct {
	Case    regcase.Case // as it is to be
	Changed bool         // it differs from what it was, and is no looser
	Has     string       // what was seen, in words
	Lacks   string       // what is still needed for it to be enforced, "" for nothing
}

// Turn gives the case as the evidence lets it be: live and green as they were measured, and enforced if they suffice. A retired case, and one that is
// enforced already, stays as it is. now says which quarantines are over.
func Turn(c regcase.Case, e Evidence, now time.Time) Standing {
	s := Standing{Case: c, Has: seen(c, e)}
	switch c.State.Name {
	case regcase.Retired:
		s.Has = "retired: " + c.State.Reason
		return s
	case regcase.Enforced:
		s.Has = "enforced already"
		return s
	}
	if l := e.Live; l != nil && c.State.Name == regcase.Pending && (c.Live == nil || c.Live.Red == 0) { // what fails later may be half mended, or flaky
		s.take(func(c *regcase.Case) { c.Live = &regcase.Live{Commit: l.id(), Red: l.Failed, Of: l.Valid()} }, now)
	}
	measured := func(c *regcase.Case) {
		if g := e.Green; g != nil {
			c.Green = &regcase.Green{Commit: g.id(), Passed: g.Passed, Of: g.Valid()}
		}
	}
	if s.Lacks = lacks(e); s.Lacks != "" {
		s.take(measured, now)
		return s
	}
	enforced := func(c *regcase.Case) { c.State = regcase.State{Name: regcase.Enforced} }
	s.take(func(c *regcase.Case) { measured(c); enforced(c) }, now)
	s.take(enforced, now) // where it records more green runs already
	return s
}

// take changes the case if that makes it stricter, or gives a quarantine that is over, and so blocks, its right name.
func (s *Standing) take(change func(*regcase.Case), now time.Time) {
	next := s.Case
	change(&next)
	ds := verify.Compare(&s.Case, &next, now)
	if next.Check() == nil && verify.Holds(ds) && (len(ds) > 0 || next.State.Name != s.Case.State.Name) {
		s.Case, s.Changed = next, true
	}
}

// seen says what there is.
func seen(c regcase.Case, e Evidence) string {
	text := "not reproduced"
	switch {
	case e.Live != nil:
		text = fmt.Sprintf("red in %d of %d runs at %.12s", e.Live.Failed, e.Live.Valid(), e.Live.id())
	case c.Live != nil && c.Live.Red > 0:
		text = fmt.Sprintf("red in %d of %d runs at %.12s, as recorded", c.Live.Red, c.Live.Of, c.Live.Commit)
	}
	if e.Green != nil {
		text += fmt.Sprintf("; green in %d of %d at %.12s", e.Green.Passed, e.Green.Valid(), e.Green.id())
	}
	return text
}

// lacks says what is needed before the case can be enforced.
func lacks(e Evidence) string {
	switch {
	case e.Rate == 0 && e.Valid == 0:
		return "a run of it that counts; there is none yet"
	case e.Rate == 0:
		return "a run of the live agent that shows the failure; run it at a version that still has it"
	case e.Broken != nil:
		return fmt.Sprintf("it still fails on the default branch: %d of %d runs at %.12s; mend the agent, then %s", e.Broken.Failed, e.Broken.Valid(), e.Broken.id(), greens(e.Need, false))
	case e.Unsteady != "":
		return "steady the agent first: " + e.Unsteady
	case e.Need > 0:
		return greens(e.Need, e.Green != nil)
	}
	return ""
}

func greens(n int, more bool) string {
	text := fmt.Sprintf("%d ", n)
	if more {
		text += "more "
	}
	if n == 1 {
		return text + "green run on the default branch"
	}
	return text + "green runs on the default branch"
}
