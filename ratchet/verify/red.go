package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// RedField is the field that stands for the red proof: from the verdict that base knew of to the one that this pawl gives.
const RedField = "/red"

// red judges the recording of every case of head by what the case was made for: this pawl must still see the failure. A case of which base has accepted before that it does not,
// by a waiver, may stay as it is.
func (r *Report) red(o *oracle.Oracle, base, head *Set, step func()) {
	for _, dir := range slices.Sorted(maps.Keys(head.Cases)) {
		e := head.Cases[dir]
		step()
		if e.Case.State.Name == regcase.Retired || e.TraceSHA != e.Case.Trace.SHA256 {
			continue // a tombstone; or the recording is another one, which is said already
		}
		was, is, why := known(base.Cases[dir]), oracle.Fail, ""
		if j, err := head.judge(o, made(base.Cases[dir], e), e); err != nil {
			is, why = oracle.Error, err.Error()
		} else {
			is, why = j.Verdict, j.Reason
		}
		if is == oracle.Fail || is == was {
			continue
		}
		if why == "" {
			why = "it passes"
		}
		r.Findings = append(r.Findings, &Finding{Kind: Blind, Case: e.Case.ID, Path: head.caseFile(dir), Waivable: base.Cases[dir] != nil,
			Difference: Difference{Field: RedField, Base: canonical(was), Head: canonical(is), Relation: Looser},
			Why:        fmt.Sprintf("this pawl no longer sees the recorded failure in the case's own trace (%s): %s", is, why)})
	}
}

// BlindTo says how this pawl judges the recording of a case of base otherwise than base knew of, if it does.
func BlindTo(o *oracle.Oracle, base *Entry, trace []byte) (Difference, bool) {
	was, is := known(base), oracle.Error
	if j, err := Red(o, &base.Case, trace); err == nil {
		is = j.Verdict
	}
	return Difference{Field: RedField, Base: canonical(was), Head: canonical(is), Relation: Looser}, is != oracle.Fail && is != was
}

// known is the verdict on its own recording that base has accepted of a case.
func known(e *Entry) oracle.Verdict {
	was := oracle.Fail
	if e == nil {
		return was
	}
	for _, w := range e.Waivers {
		if w.Field != RedField {
			continue
		}
		for _, v := range []oracle.Verdict{oracle.Fail, oracle.Pass, oracle.Error, oracle.Inconclusive} {
			if string(canonical(v)) == string(w.Head) {
				was = v
			}
		}
	}
	return was
}

// made is the case as it was made: that of base, so that an oracle which was added later cannot speak for the one that has gone blind.
func made(base, head *Entry) *regcase.Case {
	if base != nil {
		return &base.Case
	}
	return &head.Case
}

func (s *Set) judge(o *oracle.Oracle, c *regcase.Case, e *Entry) (oracle.Judgement, error) {
	trace, err := s.trace(e)
	if err != nil {
		return oracle.Judgement{}, err
	}
	return Red(o, c, trace)
}

// Red judges a case by its recorded trace.json: whoever can see the failure answers fail. It asks what the case was made for alone: that the recording
// also misses what was added to the case later shows nothing of the rule.
func Red(o *oracle.Oracle, c *regcase.Case, trace []byte) (oracle.Judgement, error) {
	td, ld, err := record.Decode(trace)
	if err != nil {
		return oracle.Judgement{}, err
	}
	var runs []*trajectory.Trajectory
	for _, t := range trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld}) {
		runs = append(runs, trajectory.Build(t))
	}
	if len(runs) == 0 {
		return oracle.Judgement{}, errors.New("the recording holds no trace")
	}
	core := *c
	core.Expect = coreOf(c)
	return o.Judge(&core, runs...), nil
}

// coreOf is what a case was made for: the rule of its first label, or its budget; of one that a person wrote, all.
func coreOf(c *regcase.Case) regcase.Expect {
	var never []regcase.Never
	for _, n := range c.Expect.Never {
		if n.Label == c.Labels[0] {
			never = append(never, n)
		}
	}
	switch {
	case len(never) > 0:
		return regcase.Expect{Never: never}
	case c.Expect.Budget != nil:
		return regcase.Expect{Budget: c.Expect.Budget}
	}
	return c.Expect
}
