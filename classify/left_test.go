package classify

import (
	"log/slog"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// talk is a whole trace of one turn, in which the user says that and the calls of tools have those outcomes.
func talk(said, reply string, outcomes ...trajectory.Outcome) *trajectory.Trajectory {
	t := &trajectory.Trajectory{TraceID: "t", SessionID: "s", UserMessages: []string{said}, Complete: trajectory.Completeness{HasRoot: true},
		ModelCalls: []trajectory.ModelCall{{SpanID: "m", Text: reply, FinishReason: trajectory.FinishStop}}}
	t.Steps = append(t.Steps, trajectory.Step{Kind: trajectory.StepUser, Text: said})
	for i, o := range outcomes {
		t.ToolCalls = append(t.ToolCalls, trajectory.ToolCall{Name: "get_order", Outcome: o, Requested: true, Executed: true, HasResult: true})
		t.Steps = append(t.Steps, trajectory.Step{Kind: trajectory.StepTool, Index: i, SpanID: "c"})
	}
	if reply != "" {
		t.Reply = &reply
		t.Steps = append(t.Steps, trajectory.Step{Kind: trajectory.StepReply, Text: reply, SpanID: "m"})
	}
	return t
}

func TestLeftBy(t *testing.T) {
	const ok, bad = trajectory.OutcomeOK, trajectory.OutcomeError
	for _, tc := range []struct {
		name string
		of   *trajectory.Trajectory
		want Left
	}{
		{"gives up", talk("Forget it, I'll call you.", "Sorry."), GaveUp},
		{"gives up in German", talk("Vergiss es.", "Tut mir leid."), GaveUp},
		{"gives up in Chinese", talk("算了", "好的"), GaveUp},
		{"never mind, it is found", talk("Never mind, I found it. Thanks!", "Great."), NotLeft},
		{"asks for something, in passing", talk("Never mind the first address that I gave you: please send the parcel to the second one, which is the office in the High Street, between nine and five, and tell me when it will come", "It will come on Monday."), NotLeft},
		{"a name with such words", talk("Where is the book Forgetting Itself?", "Here."), NotLeft},
		{"all calls failed", talk("Where is my order?", "I cannot reach the shop.", bad, bad), AfterFault},
		{"one call failed", talk("Where is my order?", "There is no such order.", bad), NotLeft},
		{"one of two failed", talk("Where is my order?", "On its way.", bad, ok), NotLeft},
		{"answered", talk("Where is my order?", "On its way.", ok), NotLeft},
		{"no answer", talk("Where is my order?", ""), Unanswered},
	} {
		if got := leftBy(tc.of); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	for name, change := range map[string]func(*trajectory.Trajectory){
		"no conversation":  func(t *trajectory.Trajectory) { t.SessionID = "" },
		"no user":          func(t *trajectory.Trajectory) { t.UserMessages = nil },
		"not whole":        func(t *trajectory.Trajectory) { t.Complete.HasRoot = false },
		"told by an error": func(t *trajectory.Trajectory) { t.RootError = &trajectory.Error{Type: "E"} },
	} {
		x := talk("I give up", "Sorry.")
		change(x)
		if got := leftBy(x); got != NotLeft {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLeftIsASettingAndOneGroup: without it nobody looks, and all that were left in one way have one fingerprint, which holds no word of the user's.
func TestLeftIsASettingAndOneGroup(t *testing.T) {
	lg := slog.New(slog.DiscardHandler)
	off, err := New(lg, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	on, err := New(lg, nil, Options{LeftAfter: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	a, b := talk("I give up", "Sorry."), talk("This is useless!", "Sorry.")
	if got := off.Left(a, Report{Verdict: Passing}); got != NotLeft {
		t.Error(got)
	}
	if got := on.Left(a, Report{Verdict: Failing}); got != NotLeft {
		t.Error(got)
	}
	if got := on.Left(a, Report{Verdict: Passing}); got != GaveUp {
		t.Error(got)
	}
	x, y := LeftFinding(a, GaveUp), LeftFinding(b, GaveUp)
	if !x.Fingerprint.Equal(y.Fingerprint) || x.Label != NoLabel || x.Form != FormNone || x.TraceID() != "t" {
		t.Errorf("%+v\n%+v", x, y)
	}
	if z := LeftFinding(talk("x", "y"), Unanswered); z.Fingerprint.Equal(x.Fingerprint) {
		t.Error("two ways are one group")
	}
	if x.Why != `the user gave up: "I give up", and did not come back` {
		t.Error(x.Why)
	}
}
