package gate_test

import (
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
