package gate_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/desk"
)

// Every way in which an agent may be wired, and each wrong one with what is said of it.
func TestRunOnce(t *testing.T) {
	g := newGate(t, gate.Options{Timeout: 20 * time.Second})
	c := loopCase(t)
	for _, x := range []struct {
		mode    string
		verdict gate.Verdict
		says    string
	}{
		{"good", gate.Pass, ""},
		{"loop", gate.Fail, "6 times"},
		{"mcp", gate.Pass, ""},
		{"grpc", gate.Pass, ""},
		{"langfuse", gate.Pass, ""},
		{"langsmith", gate.Pass, ""},
		{"resource", gate.Pass, ""},
		{"silent", gate.Error, "LANGFUSE_BASE_URL"},
		{"crash", gate.Error, "exit code 3; its last words: out of memory"},
		{"live", gate.Error, `- name: "find_parcel"`},
		{"other", gate.Inconclusive, "no fixture for find_parcel: write what it answers to _fixtures/find_parcel.yaml in the set"},
	} {
		t.Run(x.mode, func(t *testing.T) {
			r := g.RunOnce(t.Context(), gate.Version{Agent: agentCommand(x.mode)}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
			if r.Verdict != x.verdict || !strings.Contains(r.Reason, x.says) {
				t.Errorf("%s: %s\n%+v", r.Verdict, r.Reason, r.Notes)
			}
			if x.verdict == gate.Pass && (len(r.Replayed) != 1 || len(r.Calls) != 1 || r.Tokens == nil || *r.Tokens == 0 || r.ResponseSHA256 == "") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What is said of an agent that is wired wrongly goes by what it did.
func TestWrongSetups(t *testing.T) {
	const good = "%DESK% good"
	for _, x := range []struct {
		name, command string
		says, first   string // first: the line that tables show
		never         string
		timeout       time.Duration
	}{
		{"sends elsewhere", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 " + good + " 2>/dev/null || true", "all that is missing is its telemetry", "although the agent asked for find_parcel", "last words", 0},
		{"prints and ends", "echo It is unknown.", "LANGSMITH_OTEL_ENABLED", "no spans came; its last words: It is unknown.", "asked for", 0},
		{"does not start", "exec ./nowhere.sh", "ended before it did anything", "exit code 127", "asked for", 0},
		{"throws", `printf 'file:///app/agent.mjs:3\nif (x) throw new Error("no file")\n   ^\n\nError: no file\n    at file:///app/agent.mjs:3:7\n    at run (node:internal/x:1:2)\n\nNode.js v20\n' >&2; exit 1`, "", "its last words: Error: no file", "at run", 0},
		{"hangs", "sleep 60", "", "did not end within", "tell an answer", 300 * time.Millisecond},
		{"lingers", good + "; sleep 60", "something keeps the process alive", "did not end within", "no spans", 8 * time.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, gate.Options{Timeout: cmp.Or(x.timeout, time.Minute)})
			c := loopCase(t)
			agent := gate.Agent{Command: strings.ReplaceAll(x.command, "%DESK%", agentCommand().Command)}
			r := g.RunOnce(t.Context(), gate.Version{Agent: agent}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
			first, _, _ := strings.Cut(r.Reason, "\n")
			if r.Verdict != gate.Error || !strings.Contains(r.Reason, x.says) || !strings.Contains(first, x.first) || strings.Contains(r.Reason, x.never) {
				t.Errorf("%s: %s", r.Verdict, r.Reason)
			}
		})
	}
	g := newGate(t, gate.Options{Patience: 100 * time.Millisecond})
	c := loopCase(t)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no database", http.StatusBadGateway) }))
	defer broken.Close()
	r := g.RunOnce(t.Context(), gate.Version{Agent: gate.Agent{URL: broken.URL}}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	if r.Verdict != gate.Error || !strings.HasPrefix(r.Reason, "the service answered 502; its last words: no database\n") || !strings.Contains(r.Reason, "--listen") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// What a run cost is known from tokens and prices, too.
func TestPrices(t *testing.T) {
	c := loopCase(t)
	dear := func(tr *trajectory.Trajectory) {
		for i := range tr.ModelCalls {
			tr.ModelCalls[i].Usage.CostUSD = new(0.25)
		}
	}
	r := newGate(t, gate.Options{Price: dear}).RunOnce(t.Context(), gate.Version{Agent: agentCommand("good")}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	if r.CostUSD == nil || *r.CostUSD != 0.5 {
		t.Errorf("%v %+v", r.CostUSD, r)
	}
}

// A tool may run for real where the team says so.
func TestLiveTools(t *testing.T) {
	c := loopCase(t)
	run := func(c *gate.Case, o gate.Options) gate.Run {
		return newGate(t, o).RunOnce(t.Context(), gate.Version{Agent: agentCommand("live")}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	}
	if r := run(c, gate.Options{Live: []string{"find_*"}}); r.Verdict != gate.Pass || len(r.Replayed) != 0 {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
	declared := *c.Case
	declared.Tools = append([]regcase.Tool{}, c.Tools...)
	for i := range declared.Tools {
		declared.Tools[i].Execution = regcase.NewJSON([]byte(`{"llm":"never","external_api":"never"}`))
	}
	d, err := gate.NewCase(&declared, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := run(d, gate.Options{}); r.Verdict != gate.Pass {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

// The team answers where nothing recorded does: by a file, or by a program.
func TestStub(t *testing.T) {
	for name, content := range map[string]string{
		"find_parcel.yaml": "apiVersion: pawl/v1\nkind: Fixtures\ntool: find_parcel\nanswers:\n  - arguments: null\n    result: {status: delivered}\n    fault: null\n",
		"find_parcel":      "#!/bin/sh\ngrep -q PX-11112222 && echo '{\"result\":{\"status\":\"delivered\"}}'\n",
	} {
		set := t.TempDir()
		if err := os.Mkdir(filepath.Join(set, regcase.StubsDir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(set, regcase.StubsDir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(set)
		if err != nil {
			t.Fatal(err)
		}
		_, stubs, bad := gate.Load(root, func(string) bool { return true })
		root.Close()
		if len(stubs) != 1 || len(bad) > 0 {
			t.Fatalf("%v %v", stubs, bad)
		}
		c := loopCase(t)
		g := newGate(t, gate.Options{Stubs: gate.Stubs{Dir: set, Files: stubs}})
		r := g.RunOnce(t.Context(), gate.Version{Agent: agentCommand("other")}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
		if r.Verdict != gate.Pass {
			t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
		}
	}
}

// An agent that does not end is killed, with all that it started.
func TestNothingOutlivesARun(t *testing.T) {
	g := newGate(t, gate.Options{Timeout: 500 * time.Millisecond})
	c := loopCase(t)
	r := g.RunOnce(t.Context(), gate.Version{Agent: agentCommand("hang")}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	if r.Verdict != gate.Error || !strings.Contains(r.Reason, "--timeout") || r.MS > 20_000 {
		t.Errorf("%s %s after %d ms", r.Verdict, r.Reason, r.MS)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := g.RunOnce(ctx, gate.Version{Agent: agentCommand("good")}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1); r.Verdict != gate.NotRun {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}

// Services answer over HTTP and go on with the trace of the request.
func TestService(t *testing.T) {
	c := loopCase(t)
	var g *gate.Gate
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var in desk.Input
		body, _ := io.ReadAll(req.Body)
		if err := json.Unmarshal(body, &in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		run := desk.Converse("good", in)
		parent := strings.Split(req.Header.Get("traceparent"), "-")
		if err := desk.Send(g.OTLP()+"/v1/traces", "application/json", desk.Below(run, parent[1], parent[2])); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	defer service.Close()
	g = newGate(t, gate.Options{})
	r := g.RunOnce(t.Context(), gate.Version{Agent: gate.Agent{URL: service.URL}}, c, gate.Want{Case: c.ID, Side: gate.Head}, 1)
	if r.Verdict != gate.Pass {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
	r = g.RunOnce(t.Context(), gate.Version{Agent: gate.Agent{URL: "http://127.0.0.1:1/"}}, c, gate.Want{Case: c.ID, Side: gate.Head}, 2)
	if r.Verdict != gate.Error || !strings.Contains(r.Reason, "refused") {
		t.Errorf("%s %s", r.Verdict, r.Reason)
	}
}
