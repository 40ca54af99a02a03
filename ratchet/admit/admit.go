// Package admit decides whether a case may enter the set, and trims its recording to what shows the failure.
//
// A case that passes whatever the agent does protects nothing, and one that fails whatever it does is soon switched off. So before a case is written it is
// tried on runs of which it is known what it has to say:
//
//   - the recording itself must fail it, by what its form asserts: a run that merely gave no reply does not show a loop;
//   - twins of the recording (package change: other ids, other times, another order of parallel calls, ...) must fail it, and so must the rule's own;
//   - the rule's repairs must make it pass. What the case asks of any run besides, a reply and no error, a repaired run is given: whether a run can have
//     these is for the control to show;
//   - a healthy run of the same route, the control, must pass it where one is known, and must fail it once what the case asserts is damaged.
//
// Everything is pure: trajectories in, a proof or a refusal out. Work is bounded by how many runs are judged, so that the answer does not depend on the
// machine.
package admit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Judge says what a case says of a run: oracle.Oracle's Judge. A session is given as the join of its traces.
type Judge func(c *regcase.Case, runs ...*trajectory.Trajectory) oracle.Judgement

// Candidate is a case that asks to be let in.
type Candidate struct {
	Case     *regcase.Case
	Finding  classify.Finding         // as it stands on Recorded
	Recorded *trajectory.Trajectory   // the failing run, as the case's trace.json holds it
	Rule     classify.Rule            // the rule that found it: its repairs and twins
	Controls []*trajectory.Trajectory // passing runs of the same route, redacted like the recording; the first that passes the case becomes its control
	Edited   bool                     // a person wrote what the case asserts: it may ask for more than a repair gives, if a healthy run has it
}

// Proof is what was shown of a case that may enter.
type Proof struct {
	Kills   []string // the twins and damages that turn red: twin/other-ids, damage/drop-call/get_order
	Healed  []string // the rule's repairs that turn green
	Control string   // trace id of the healthy run that passes; "" where none is known
	Judged  int      // how many runs were judged
}

// Refused says why a case may not enter.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// MaxJudged bounds how many runs are judged for one case.
const MaxJudged = 1000

// Admit tries a case. The error is a *Refused.
func Admit(judge Judge, c Candidate) (Proof, error) {
	x := &exam{Candidate: c, judge: judge}
	for _, part := range []func() error{x.recording, x.twins, x.repairs, x.control} {
		if err := part(); err != nil {
			return Proof{}, err
		}
	}
	if len(x.proof.Healed) == 0 && x.proof.Control == "" {
		return Proof{}, refuse("nothing shows that a run can pass the case: no repair of %s mends this failure, and no passing run of the same route is known; "+
			"give traces of healthy runs with it", c.Finding.Rule)
	}
	return x.proof, nil
}

// Red says whether the case fails a run as the finding does; else why not.
func Red(judge Judge, c *regcase.Case, f classify.Finding, t *trajectory.Trajectory) (bool, string) {
	j := judge(c, t)
	switch {
	case j.Verdict == oracle.Fail && (!byRule(c, f) || shows(failing(c, j.Findings), f)):
		return true, ""
	case j.Verdict == oracle.Fail:
		return false, "it fails for another reason than " + string(f.Label) + ": " + reasonOf(j)
	case j.Verdict == oracle.Pass && c.Form == string(classify.FormFault):
		return false, "the agent took the fault as it should: it got over it, or told of it, and claimed nothing false"
	case j.Verdict == oracle.Pass:
		return false, "it passes what the case asserts"
	}
	return false, "that is not decided: " + reasonOf(j)
}

// byRule says that the finding's rule is what decides the case. A budget is decided by numbers, and where the rule tells what the outside did, by how the
// agent took it.
func byRule(c *regcase.Case, f classify.Finding) bool {
	switch {
	case c.Form == string(classify.FormBudget):
		return false
	case c.Form == string(classify.FormFault):
		return f.Label == classify.FabricatedSuccess || f.Label == classify.UnsafeRetry || f.Label == classify.MissingReadback || f.Label == classify.MissingToolResult
	}
	return true
}

// failing are those of the findings that are grave enough to fail a run.
func failing(c *regcase.Case, fs []classify.Finding) (out []classify.Finding) {
	for _, f := range fs {
		least := classify.Blocking
		for _, n := range c.Expect.Never {
			if n.Label == string(f.Label) {
				least = cmp.Or(classify.Severity(n.Severity), classify.Warning)
			}
		}
		if f.Severity == classify.Blocking || f.Severity == least {
			out = append(out, f)
		}
	}
	return out
}

func shows(fs []classify.Finding, f classify.Finding) bool {
	return slices.ContainsFunc(fs, func(g classify.Finding) bool { return g.Fingerprint.Equal(f.Fingerprint) })
}

// reasonOf is a judgement's reason, or its first mismatch.
func reasonOf(j oracle.Judgement) string {
	if j.Reason == "" && len(j.Mismatches) > 0 {
		m := j.Mismatches[0]
		return fmt.Sprintf("%s: expected %s, got %s", m.Field, m.Expected, m.Got)
	}
	return j.Reason
}

func refuse(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// exam is one trial.
type exam struct {
	Candidate
	judge Judge
	proof Proof
}

// ask judges a run. Once too many were judged nothing is decided any more, which proves nothing and ends every search.
func (x *exam) ask(t *trajectory.Trajectory) oracle.Judgement {
	if x.proof.Judged++; x.proof.Judged > MaxJudged {
		return oracle.Judgement{Verdict: oracle.Inconclusive, Reason: fmt.Sprintf("more than %d runs were judged", MaxJudged)}
	}
	return x.judge(x.Case, t)
}

func (x *exam) recording() error {
	if ok, why := Red(x.counted(), x.Case, x.Finding, x.Recorded); !ok {
		return refuse("a case made of the recording could not fail: %s", why)
	}
	return nil
}

func (x *exam) counted() Judge {
	return func(_ *regcase.Case, runs ...*trajectory.Trajectory) oracle.Judgement { return x.ask(runs[0]) }
}

func (x *exam) twins() error {
	for _, w := range append(change.Twins(), x.Rule.Twins...) {
		t, made := w.Apply(x.Recorded, x.Finding)
		if !made {
			continue
		}
		if ok, why := Red(x.counted(), x.Case, x.Finding, t); !ok {
			return refuse("the case sees this one recording alone: where %s, %s", w.Does, why)
		}
		x.proof.Kills = append(x.proof.Kills, "twin/"+w.Name)
	}
	return nil
}

// repairs applies each of the rule's repairs until the case has nothing more to say. Those of a team's own rule are guesses, of which not all need help. A
// repair may do without a call that all healthy runs make, such as the one that went wrong; but if all do, no run can be had that is mended and makes it.
func (x *exam) repairs() error {
	_, guess := x.Rule.Params.(custom.Params)
	guess = guess || x.Edited
	whole := false
	for _, r := range x.Rule.Repairs {
		healed, applied := x.heal(r)
		if !applied {
			continue
		}
		j := x.ask(x.completed(healed))
		whole = whole || j.Verdict == oracle.Pass
		if j.Verdict != oracle.Pass && len(x.Case.Expect.Liveness.Calls) > 0 {
			j = x.withoutCalls().ask(x.withoutCalls().completed(healed))
		}
		switch {
		case j.Verdict == oracle.Pass:
			x.proof.Healed = append(x.proof.Healed, r.Name)
		case guess:
		case j.Verdict == oracle.Fail:
			return refuse("the case does not pass where %s: %s", r.Does, reasonOf(j))
		default:
			return refuse("no run could pass the case, however good: %s", reasonOf(j))
		}
	}
	if len(x.proof.Healed) > 0 && !whole {
		return refuse("no mended run makes all calls that healthy runs of the route make: %s", strings.Join(x.Case.Expect.Liveness.Calls, ", "))
	}
	return nil
}

// withoutCalls is the same trial of a case that asks for no calls.
func (x *exam) withoutCalls() *exam {
	bare := *x.Case
	bare.Expect.Liveness.Calls = nil
	y := *x
	y.Case = &bare
	return &y
}

// heal repairs the finding, and every other one by which the case fails: of the rule's repairs the given one first, then whichever works.
func (x *exam) heal(r classify.Repair) (*trajectory.Trajectory, bool) {
	t, n, _ := change.Until(x.Recorded, r, x.Finding, x.found)
	if n == 0 {
		return nil, false
	}
	for range len(x.Recorded.Steps) {
		rest := x.found(t)
		if len(rest) == 0 {
			break
		}
		next, ok := x.healOther(t, r, rest[0])
		if !ok {
			break
		}
		t = next
	}
	return t, true
}

func (x *exam) healOther(t *trajectory.Trajectory, first classify.Repair, f classify.Finding) (*trajectory.Trajectory, bool) {
	for _, r := range append([]classify.Repair{first}, x.Rule.Repairs...) {
		if next, _, gone := change.Until(t, r, f, x.found); gone {
			return next, true
		}
	}
	return nil, false
}

// found are the findings by which the case fails a run. Where no rule decides and it fails without one, by a budget, the candidate's own stands for them,
// unless all that is missing is what completing the run gives it.
func (x *exam) found(t *trajectory.Trajectory) []classify.Finding {
	j := x.ask(t)
	if j.Verdict != oracle.Fail {
		return nil
	}
	if fs := failing(x.Case, j.Findings); len(fs) > 0 || byRule(x.Case, x.Finding) {
		return fs
	}
	if x.ask(x.completed(t)).Verdict != oracle.Fail {
		return nil
	}
	return []classify.Finding{x.Finding}
}

// answer is what a completed run says where it said nothing: true of any run, for it claims nothing.
const answer = "I could not do that."

// completed is a copy of the run that has what the case asks of every run: no error, a reply, the calls that all healthy runs make.
func (x *exam) completed(t *trajectory.Trajectory) *trajectory.Trajectory {
	f := x.Finding
	f.Step = -1
	if calm, ok := change.Untroubled().Apply(t, f); ok && x.Case.Expect.Liveness.NoError {
		t = calm
	} else {
		t = t.Clone()
	}
	if x.Case.Expect.Liveness.Reply && (t.Reply == nil || strings.TrimSpace(*t.Reply) == "") {
		change.Reply(t, answer)
	}
	for _, tool := range x.Case.Expect.Liveness.Calls {
		if !calls(t, tool) {
			x.call(t, tool)
		}
	}
	return t
}

// call has the run call a tool before its reply, with what the case's fixtures hold of it.
func (x *exam) call(t *trajectory.Trajectory, tool string) {
	c := change.Call{Tool: tool, Result: `{"status":"ok"}`}
	for _, f := range x.Case.Fixtures {
		if sameTool(f.Tool, tool) && f.Fault == nil {
			c = change.Call{Tool: f.Tool, Arguments: string(f.Arguments), Result: string(f.Result)}
		}
	}
	step := len(t.Steps)
	for step > 0 && t.Steps[step-1].Kind == trajectory.StepReply {
		step--
	}
	if len(t.ModelCalls) > 0 {
		c.Agent = t.ModelCalls[len(t.ModelCalls)-1].Agent
	}
	change.Insert(t, step, c)
}
