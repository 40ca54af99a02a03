package admit

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// looping is a run that calls a tool n times with the same arguments and answer, and then gives an answer.
func looping(n int) *trajectory.Trajectory {
	t := &trajectory.Trajectory{TraceID: strings.Repeat("b", 32), Service: "shop", UserMessages: []string{"Where is it?"}, Complete: trajectory.Completeness{HasRoot: true}}
	t.Steps = []trajectory.Step{{Kind: trajectory.StepUser, Index: -1, Text: "Where is it?"}}
	for range n {
		change.Insert(t, len(t.Steps), change.Call{Tool: "get_order", Arguments: `{"id":"A-1"}`, Result: `{"status":"open"}`, Agent: "desk"})
	}
	for i := range t.ToolCalls { // each its own span and id
		name := string(rune('a' + i))
		t.ToolCalls[i].SpanID, t.ToolCalls[i].ID, t.ToolCalls[i].ResultSpanID = "c"+name, "c"+name, "c"+name
		t.ModelCalls[i].SpanID, t.ToolCalls[i].RequestSpanID = "m"+name, "m"+name
	}
	for i := range t.Steps {
		switch s := &t.Steps[i]; s.Kind {
		case trajectory.StepTool:
			s.SpanID = t.ToolCalls[s.Index].SpanID
		case trajectory.StepModel:
			s.SpanID = t.ModelCalls[s.Index].SpanID
		}
	}
	change.Reply(t, "It is open.")
	return t
}

// candidate is a case of a loop of six, with the healthy runs given.
func candidate(t *testing.T, controls ...*trajectory.Trajectory) (Judge, Candidate) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	engine, err := classify.New(quiet, []classify.Rule{rule.Loop}, classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := looping(6)
	found := engine.Classify(run, nil).Findings
	if len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	c := &regcase.Case{Form: "never", Labels: []string{"loop"}, Expect: regcase.Expect{
		Never:    []regcase.Never{{Label: "loop", Rule: rule.Loop.ID(), Severity: "blocking"}},
		Liveness: regcase.Liveness{Reply: true, NoError: true},
	}}
	return oracle.New(quiet, rule.All()).Judge, Candidate{Case: c, Finding: found[0], Recorded: run, Rule: rule.Loop, Controls: controls}
}

func TestAdmit(t *testing.T) {
	judge, c := candidate(t, looping(1))
	proof, err := Admit(judge, c)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(proof.Healed, []string{"drop-call", "ask-else"}) || proof.Control != c.Controls[0].TraceID {
		t.Errorf("%+v", proof)
	}
	for _, k := range []string{"twin/other-ids", "twin/other-time", "twin/once-more", "damage/no-reply", "damage/end-in-error", "damage/repeat-call"} {
		if !slices.Contains(proof.Kills, k) {
			t.Errorf("%s is not among %v", k, proof.Kills)
		}
	}
	if slices.Contains(proof.Kills, "damage/hide-error") {
		t.Error("a case of a loop is said to see a hidden error")
	}
	if len(c.Recorded.ToolCalls) != 6 || len(c.Controls[0].ToolCalls) != 1 {
		t.Error("the trial changed what it was given")
	}
}

// refusal is why a candidate is refused, "" when it is not.
func refusal(judge Judge, c Candidate) string {
	if _, err := Admit(judge, c); err != nil {
		return err.Error()
	}
	return ""
}

func TestRefusals(t *testing.T) {
	judge, good := candidate(t)
	always := func(v oracle.Verdict) Judge {
		return func(*regcase.Case, ...*trajectory.Trajectory) oracle.Judgement {
			return oracle.Judgement{Verdict: v, Reason: "always", Findings: []classify.Finding{good.Finding}}
		}
	}
	for name, x := range map[string]struct {
		judge Judge
		edit  func(*Candidate)
		want  string
	}{
		"passes everything":      {always(oracle.Pass), func(*Candidate) {}, "could not fail: it passes what the case asserts"},
		"decides nothing":        {always(oracle.Inconclusive), func(*Candidate) {}, "could not fail: that is not decided: always"},
		"fails everything":       {always(oracle.Fail), func(*Candidate) {}, "the case does not pass where the call was never made"},
		"healthy recording":      {judge, func(c *Candidate) { c.Recorded = looping(1) }, "could not fail: it passes"},
		"fails for another":      {judge, func(c *Candidate) { c.Recorded = looping(1); c.Recorded.RootError = &trajectory.Error{Message: "x"} }, "it fails for another reason than loop"},
		"healthy runs fail":      {judge, func(c *Candidate) { c.Controls = []*trajectory.Trajectory{looping(7)} }, "healthy runs of the same route fail the case too"},
		"nothing passes":         {judge, func(c *Candidate) { c.Rule.Repairs = nil }, "nothing shows that a run can pass the case"},
		"a repair that does not": {judge, func(c *Candidate) { c.Rule.Repairs = []classify.Repair{idle()} }, "the case does not pass where nothing was done"},
		"a guess that does not":  {judge, func(c *Candidate) { c.Rule.Repairs, c.Rule.Params = []classify.Repair{idle()}, custom.Params{} }, "nothing shows that a run can pass"},
		"a twin that is healed": {judge, func(c *Candidate) {
			c.Rule.Twins = []classify.Twin{classify.Twin(change.WithoutCall()), twice()}
		}, "the case sees this one recording alone: where all calls but one were gone"},
		"calls that no repair makes": {judge, func(c *Candidate) {
			c.Case.Expect.Liveness.Calls = []string{"get_order"}
			c.Rule.Repairs = []classify.Repair{change.Repair("none", "no call was made", func(t *trajectory.Trajectory, _ classify.Finding) bool {
				if len(t.ToolCalls) == 0 {
					return false
				}
				for len(t.ToolCalls) > 0 {
					change.DropCall(t, 0)
				}
				return true
			})}
			c.Case.Expect.Never = append(c.Case.Expect.Never, forbids("get_order"))
		}, "no mended run makes all calls"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			copied := *good.Case
			c.Case = &copied
			x.edit(&c)
			if got := refusal(x.judge, c); !strings.Contains(got, x.want) {
				t.Errorf("refused for %q, want %q", got, x.want)
			}
		})
	}
	if why := refusal(judge, good); why != "" {
		t.Errorf("the good one is refused: %s", why)
	}
}

// forbids is a never that the loop's case carries too: the policy forbids a tool.
func forbids(tool string) regcase.Never {
	return regcase.Never{Label: "over_trigger", Rule: rule.OverTrigger.ID(), Severity: "blocking", Policy: regcase.NewJSON([]byte(`{"agent":"*","must_not_call":[{"tool":"` + tool + `"}]}`))}
}

func idle() classify.Repair {
	return change.Repair("idle", "nothing was done", func(*trajectory.Trajectory, classify.Finding) bool { return true })
}

func twice() classify.Twin {
	return change.Twin("less", "all calls but one were gone", func(t *trajectory.Trajectory, _ classify.Finding) bool {
		for len(t.ToolCalls) > 1 {
			change.DropCall(t, 0)
		}
		return true
	})
}

// TestControlIsTheFirstThatPasses, and one that decides nothing is passed over.
func TestControlIsTheFirstThatPasses(t *testing.T) {
	blind := looping(1)
	blind.TraceID, blind.Complete.HasRoot, blind.Reply = "blind", false, nil
	fine := looping(2)
	fine.TraceID = "fine"
	judge, c := candidate(t, looping(7), blind, fine)
	proof, err := Admit(judge, c)
	if err != nil || proof.Control != "fine" {
		t.Errorf("control %q, %v", proof.Control, err)
	}
	judge, c = candidate(t, blind)
	if proof, err = Admit(judge, c); err != nil || proof.Control != "" {
		t.Errorf("control %q, %v", proof.Control, err)
	}
}

// TestAdmitIsBounded: a repair that never heals and always applies does not go on for ever.
func TestAdmitIsBounded(t *testing.T) {
	judge, c := candidate(t)
	asked := 0
	counting := func(k *regcase.Case, runs ...*trajectory.Trajectory) oracle.Judgement {
		asked++
		return judge(k, runs...)
	}
	c.Rule.Repairs = []classify.Repair{change.Repair("more", "there was more of it", func(t *trajectory.Trajectory, _ classify.Finding) bool {
		change.Insert(t, len(t.Steps), change.Call{Tool: "get_order", Arguments: `{"id":"A-1"}`, Result: `{"status":"open"}`})
		return true
	})}
	if why := refusal(counting, c); why == "" || asked > MaxJudged {
		t.Errorf("judged %d times: %s", asked, why)
	}
}
