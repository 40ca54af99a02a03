package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func caseWith(t testing.TB, form string, fixtures ...regcase.Fixture) *gate.Case {
	t.Helper()
	c := *loopCase(t).Case
	c.Form, c.Fixtures = form, fixtures
	c.Tools = []regcase.Tool{{Name: "get"}, {Name: "put"}}
	out, err := gate.NewCase(&c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func fixture(tool, args, result, fault, from string) regcase.Fixture {
	f := regcase.Fixture{Tool: tool, Arguments: regcase.NewJSON([]byte(args)), Result: regcase.NewJSON([]byte(result)), From: from}
	if fault != "" {
		f.Fault = &fault
	}
	return f
}

// TestReplayOrder holds the order in which answers are looked for.
func TestReplayOrder(t *testing.T) {
	c := caseWith(t, "never",
		fixture("get", `{"id":1}`, `"first"`, "", "recording"), fixture("get", `{"id":1}`, `"second"`, "", "recording"),
		fixture("get", `{"id":2}`, ``, "timeout", "recording"),
		fixture("get", `{"id":7,"full":true}`, `"healthy full"`, "", "healthy"), fixture("get", `{"id":7,"full":false}`, `"healthy"`, "", "healthy"),
		fixture("put", `{"id":1,"request_id":"a"}`, `"ok"`, "", "recording"))
	r := gate.NewReplay(c, gate.Stubs{})
	for i, x := range []struct {
		tool, args string
		source     gate.Source
		result     string
		fault      string
	}{
		{"get", `{"id": 1}`, gate.SourceRecorded, `"first"`, ""},
		{"functions.get", `{"id":1}`, gate.SourceRecorded, `"second"`, ""},
		{"get", `{"id":1}`, gate.SourceRecorded, `"second"`, ""}, // the last repeats
		{"get", `{"id":2}`, gate.SourceRecorded, ``, "timeout"},
		{"get", `{"id":9,"full":false}`, gate.SourceHealthy, `"healthy"`, ""},
		{"put", `{"id":1,"request_id":"b"}`, gate.SourceRecorded, `"ok"`, ""}, // a request id is another each time
		{"put", `{"id":2}`, gate.SourceNone, ``, "error"},
		{"delete", `{"id":2}`, gate.SourceUnknown, ``, "error"},
	} {
		a := r.Answer(t.Context(), x.tool, []byte(x.args))
		if a.Source != x.source || string(a.Result) != x.result || a.Fault != x.fault {
			t.Errorf("%d: %s %s: %s %s %q", i, x.tool, x.args, a.Source, a.Result, a.Fault)
		}
	}
	if l := r.Ledger(); len(l) != 8 || fmt.Sprint(gate.Missing(l)) != "[put]" {
		t.Errorf("%+v", l)
	}

	// The recorded outside error meets the agent whatever the arguments, in a case about it.
	f := gate.NewReplay(caseWith(t, "fault", fixture("get", `{"id":1}`, ``, "error", "recording"), fixture("get", `{"id":3}`, `"x"`, "", "healthy")), gate.Stubs{})
	if a := f.Answer(t.Context(), "get", []byte(`{"id":5}`)); a.Source != gate.SourceFault || a.Fault != "error" {
		t.Errorf("%+v", a)
	}
}

// Faults and results as an MCP client meets them.
func TestReplayMCP(t *testing.T) {
	c := caseWith(t, "never", fixture("get", `{"id":1}`, `{"state":"open"}`, "", "recording"), fixture("get", `{"id":2}`, `"no such order"`, "error", "recording"),
		fixture("get", `{"id":3}`, ``, "denied", "recording"), fixture("get", `{"id":4}`, ``, "missing", "recording"), fixture("get", `{"id":5}`, ``, "timeout", "recording"),
		fixture("get", `{"id":6}`, `[{"type":"text","text":"as MCP has it"}]`, "", "recording"))
	c.Schemas["get"] = regcase.JSON(`{"type":"object","properties":{"id":{"type":"integer"}}}`)
	c.Schemas["put"] = regcase.JSON(`["no schema"]`)
	shut, over := context.WithCancel(t.Context())
	server, client := mcp.NewInMemoryTransports()
	if _, err := gate.MCPServer(gate.NewReplay(c, gate.Stubs{}), shut).Connect(t.Context(), server, nil); err != nil {
		t.Fatal(err)
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "t"}, nil).Connect(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 2 || !strings.Contains(fmt.Sprint(list.Tools[0].InputSchema), "integer") {
		t.Fatalf("%+v %v", list, err)
	}
	call := func(args string) (*mcp.CallToolResult, error) {
		return s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(args)})
	}
	for args, want := range map[string]string{`{"id":1}`: `{"state":"open"}`, `{"id":2}`: "no such order", `{"id":3}`: "permission denied", `{"id":6}`: "as MCP has it"} {
		r, err := call(args)
		if err != nil || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != want || r.IsError != (args == `{"id":2}` || args == `{"id":3}`) {
			t.Errorf("%s: %+v %v", args, r, err)
		}
	}
	if _, err := call(`{"id":4}`); err == nil {
		t.Error("a lost call was answered")
	}
	over()
	if _, err := call(`{"id":5}`); err == nil {
		t.Error("a call that hangs was answered")
	}
}

// What an agent starts and leaves behind is ended with the run.
func TestNoOrphans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "alive")
	c := loopCase(t)
	g := newGate(t, gate.Options{})
	run := func(mode string) gate.Run {
		return g.RunOnce(t.Context(), gate.Version{Agent: gate.Agent{Command: "sh -c 'sleep 3; echo > " + file + "' & echo $! >> " + file + ".pid; " + agentCommand(mode).Command}},
			c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	}
	if r := run("good"); r.Verdict != gate.Pass {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
	pids, err := os.ReadFile(file + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pids)) + "/stat")
	if err == nil && !strings.Contains(string(status), ") Z ") {
		t.Errorf("the process lives on: %s", status)
	}
}

// Turns go on from what the agent itself answered, and not where a recorded turn would answer what was never asked.
func TestTurns(t *testing.T) {
	c := *loopCase(t).Case
	first := c.Input.Turns[0].User
	g := newGate(t, gate.Options{})
	run := func(reply string) gate.Run {
		c.Input.Turns = []regcase.Turn{{User: first, Reply: &reply}, {User: first + " Please."}}
		k, err := gate.NewCase(&c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return g.RunOnce(t.Context(), gate.Version{Agent: agentCommand("good")}, k, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	}
	if r := run("I am looking."); r.Verdict != gate.Pass || len(r.Calls) != 2 {
		t.Errorf("%s %s %v", r.Verdict, r.Reason, r.Calls)
	}
	if r := run("Which parcel do you mean?"); r.Verdict != gate.Inconclusive || !strings.Contains(r.Reason, "diverged at turn 1") {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

// A tool that hangs, as recorded, and an agent that waits for it for ever: that is the agent's failure.
func TestWaitsForEver(t *testing.T) {
	c := *loopCase(t).Case
	c.Fixtures = append([]regcase.Fixture{}, c.Fixtures...)
	hang := "timeout"
	for i := range c.Fixtures {
		c.Fixtures[i].Fault, c.Fixtures[i].Result = &hang, nil
	}
	k, err := gate.NewCase(&c, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate(t, gate.Options{Timeout: 2 * time.Second})
	if r := g.RunOnce(t.Context(), gate.Version{Agent: agentCommand("good")}, k, gate.Want{Case: c.ID, Side: gate.Head}, 1); r.Verdict != gate.Fail {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}
