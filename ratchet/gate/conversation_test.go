package gate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// One process answers all turns of a run, if it is said to.
func TestConversation(t *testing.T) {
	c := loopCase(t)
	first, reply := c.Input.Turns[0].User, "I could not find it: its status is unknown."
	c.Input.Turns = []regcase.Turn{{User: first, Reply: &reply}, {User: first + " Please."}}
	for _, x := range []struct {
		mode    []string
		verdict gate.Verdict
		says    string
		turns   int
	}{
		{[]string{"good"}, gate.Pass, "", 2},
		{[]string{"loop"}, gate.Fail, "find_parcel", 12},
		{[]string{"quits", "0"}, gate.Error, "ended with exit code 0 before it had answered turn 1: it is to read a line for each turn", 0},
		{[]string{"quits", "1"}, gate.Error, "before it had answered turn 2", 1},
		{[]string{"lingers"}, gate.Error, "the agent did not end within 2s (--timeout)", 2},
		{[]string{"silent"}, gate.Pass, "", 2}, // of this mode a conversation knows nothing
	} {
		g := newGate(t, gate.Options{Timeout: 2 * time.Second})
		a := agentCommand(x.mode...)
		a.Talks = true
		r := g.RunOnce(t.Context(), gate.Version{Agent: a}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
		if r.Verdict != x.verdict || !strings.Contains(r.Reason, x.says) || len(r.Calls) != x.turns {
			t.Errorf("%v: %s %s, %d calls", x.mode, r.Verdict, r.Reason, len(r.Calls))
		}
	}
	// A program that knows nothing of it, and one that is not there.
	for command, says := range map[string]string{"true": "before it had answered turn 1", "exec ./nowhere": "exit code 127 before it had answered turn 1; its last words:", "sleep 60": "did not end within"} {
		g := newGate(t, gate.Options{Timeout: 500 * time.Millisecond})
		r := g.RunOnce(t.Context(), gate.Version{Agent: gate.Agent{Command: command, Talks: true}}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
		if r.Verdict != gate.Error || !strings.Contains(r.Reason, says) || r.MS > 20_000 {
			t.Errorf("%s: %s %s", command, r.Verdict, r.Reason)
		}
	}
}
