package ratchet

import (
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/admit"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// MaxControls is how many healthy runs of a route are looked at for one case.
const MaxControls = 8

// maxControl bounds the text of a healthy run that is looked at, in bytes.
const maxControl = 256 << 10

// lookedAt are the first of the controls that are not too large.
func lookedAt(controls []trajectory.Trace) (out []trajectory.Trace) {
	for _, t := range controls {
		if len(out) < MaxControls && admit.Size(t) <= maxControl {
			out = append(out, t)
		}
	}
	return out
}

// healthy redacts the controls as the recording was and keeps those that still pass.
func (m *Maker) healthy(controls []trajectory.Trace, base *baseline.Snapshot, redacted record.Redact) (out []*trajectory.Trajectory, err error) {
	for _, t := range controls {
		doc, err := record.Encode(t, func(string) bool { return true }, redacted)
		if err != nil {
			return nil, err
		}
		traces, err := recordedIn(doc)
		if err != nil {
			return nil, err
		}
		if run := m.runOf(traces); run.Traces == nil && m.Engine.Classify(run, base).Verdict == classify.Passing {
			out = append(out, run)
		}
	}
	return out, nil
}

// admit tries the case and trims its recording, which must then do all that the whole one did. Where what healthy runs call and what a mended run does
// exclude each other, such as the failure being the call of a tool, the case does without the calls, unless a person wrote them.
func (m *Maker) admit(c *regcase.Case, r *recording, controls []*trajectory.Trajectory, base *baseline.Snapshot, edited bool) (admit.Proof, error) {
	try := func(c *regcase.Case, r recording) (admit.Proof, error) {
		return admit.Admit(m.Oracle.Judge, admit.Candidate{Case: c, Finding: r.found, Recorded: r.run, Rule: m.ruleOf(r.found), Controls: controls, Edited: edited})
	}
	proof, err := try(c, *r)
	if err != nil && len(c.Expect.Liveness.Calls) > 0 && !edited {
		bare := *c
		bare.Expect.Liveness.Calls, bare.Expect.Liveness.Healthy = []string{}, 0
		bare.Weak = weak(&bare.Expect)
		if second, again := try(&bare, *r); again == nil {
			*c, proof, err = bare, second, nil
		}
	}
	if err != nil {
		return proof, &Refused{err.Error()}
	}
	red := func(t recording) bool {
		ok, _ := admit.Red(m.Oracle.Judge, c, t.found, t.run)
		return ok
	}
	equal := func(t recording) bool {
		p, err := try(c, t)
		return err == nil && slices.Equal(p.Healed, proof.Healed)
	}
	for _, holds := range []func(recording) bool{red, equal} {
		small, ok := m.shrink(*r, base, holds)
		if p, err := try(c, small); ok && err == nil && slices.Equal(p.Healed, proof.Healed) {
			*r = small
			return p, nil
		}
	}
	return proof, nil
}

// shrink returns the smallest part of a recording of which holds is true, read back from its bytes; false where that is none.
func (m *Maker) shrink(r recording, base *baseline.Snapshot, holds func(recording) bool) (recording, bool) {
	shown := func(traces []trajectory.Trace) (recording, bool) {
		t := recording{traces: traces, run: m.runOf(traces)}
		for _, f := range m.findings(t.run, base) {
			if f.Fingerprint.Equal(r.found.Fingerprint) {
				t.found = f
				return t, true
			}
		}
		return t, false
	}
	traces := admit.Shrink(r.traces, func(traces []trajectory.Trace) bool {
		t, ok := shown(traces)
		return ok && holds(t)
	}, admit.Limits{})
	doc, err := record.EncodeSession(traces, everything, func(_, text string) string { return text })
	if err != nil {
		return r, false
	}
	small, ok, err := m.reread(doc, r.found, base)
	return small, ok && err == nil && holds(small)
}

// ruleOf is the rule that made the finding, as the engine has it.
func (m *Maker) ruleOf(f classify.Finding) classify.Rule {
	rules := m.Engine.Rules()
	if i := slices.IndexFunc(rules, func(r classify.Rule) bool { return r.ID() == f.Rule }); i >= 0 {
		return rules[i]
	}
	return classify.Rule{}
}
