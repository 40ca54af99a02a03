package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// said is what one frozen rule says of a run.
type said struct {
	*engine
	findings []classify.Finding // of all traces and the session, those at the recorded severity or above first
	matched  int                // how many of them are
	blind    *classify.Inapplicable
}

// ask runs one frozen rule over every trace and over the session.
func (b *bench) ask(n regcase.Never) (said, error) {
	s := said{engine: b.o.engineOf(n, b.c.Tools)}
	if s.err != nil {
		return s, s.err
	}
	for _, t := range b.r.parts {
		if !t.IsAgent() {
			continue
		}
		report := s.Classify(t, nil)
		s.findings = append(s.findings, report.Findings...)
		if len(report.Inapplicable) > 0 && s.blind == nil {
			s.blind = &report.Inapplicable[0]
		}
	}
	if b.r.whole.Traces != nil {
		s.findings = append(s.findings, s.ClassifySession(b.r.whole, nil)...)
		s.blindOver(b.r.whole)
	}
	grave := func(f classify.Finding) bool { return f.Severity == classify.Blocking || f.Severity == s.least }
	slices.SortStableFunc(s.findings, func(a, b classify.Finding) int {
		switch {
		case grave(a) == grave(b):
			return 0
		case grave(a):
			return -1
		}
		return 1
	})
	for _, f := range s.findings {
		if grave(f) {
			s.matched++
		}
	}
	return s, nil
}

// blindOver notes what keeps a rule that wants sessions from judging this one.
func (s *said) blindOver(session *trajectory.Trajectory) {
	if !s.rule.Session || s.blind != nil {
		return
	}
	if missing := s.Classify(session, nil).Inapplicable; len(missing) > 0 {
		s.blind = &missing[0]
	}
}

// nevers asks every frozen rule, and of a fault how the agent took it.
func (b *bench) nevers() {
	fault := b.c.Form == string(classify.FormFault)
	for i, n := range b.c.Expect.Never {
		s, err := b.ask(n)
		if err != nil {
			b.broken = append(b.broken, err.Error())
			continue
		}
		if s.note != "" {
			b.note(s.note)
		}
		b.findings = append(b.findings, s.findings...)
		field := fmt.Sprintf("never/%d", i)
		if fault && tellsOfOutside(classify.Label(n.Label)) {
			b.handled(s, field)
			continue
		}
		b.never(s, field)
	}
	if fault {
		b.conduct()
	}
}

// never holds a rule to silence.
func (b *bench) never(s said, field string) {
	for _, f := range s.findings[:s.matched] {
		b.fails(f.Why, found(f, field))
	}
	for _, f := range s.findings[s.matched:] {
		b.note(fmt.Sprintf("%s says, as %s: %s", f.Rule, f.Severity, f.Why))
	}
	if s.matched == 0 && s.blind != nil {
		b.unsure(cannotSee(*s.blind))
	}
}

func found(f classify.Finding, field string) match.Mismatch {
	return match.Mismatch{Step: f.Step, Field: field, Expected: "no " + string(f.Label), Got: shorten(f.Title)}
}

func cannotSee(i classify.Inapplicable) string {
	return fmt.Sprintf("%s cannot judge the run: %s is missing: %s", i.Rule, strings.ReplaceAll(string(i.Missing), "_", " "), i.Remedy)
}

// first is the first of several sentences, and how many more there are.
func first(why []string) string {
	if len(why) == 1 {
		return why[0]
	}
	return fmt.Sprintf("%s (and %d more)", strings.TrimSuffix(why[0], "."), len(why)-1)
}

// maxShown bounds a value in a mismatch, in bytes.
const maxShown = 200

func shorten(s string) string { return match.Shorten(s, maxShown) }
