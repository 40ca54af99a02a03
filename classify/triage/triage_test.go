package triage

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

const hostile = `<script>alert(1)</script>`

func testSource() Source {
	fp := classify.NewFingerprint("loop", "shop", "support", classify.Names("tools", "get_order"))
	b := ratchet.Batch{Repo: "acme/shop", Base: "main", Label: "loop", Service: "shop", Number: 1, Members: []ratchet.Member{{Fingerprint: fp.Digest()}},
		Intent: &ghpr.Intent{Receipt: ghpr.Receipt{State: ghpr.StateOpen, Number: 7, URL: "https://github.example/acme/shop/pull/7"}}}
	g := ratchet.Group{Fingerprint: fp, Severity: classify.Blocking, Title: "get_order called 6 times", Why: hostile, Count: 3, Batch: b.Key(),
		FirstSeen: time.Unix(1, 0), LastSeen: time.Unix(2, 0), Specimens: []ratchet.Specimen{{TraceID: strings.Repeat("ab", 16)}}, Service: "shop"}
	var past lineage.History
	old, now := produced("1.4.1"), produced(hostile)
	for i := range 30 {
		past.Take(old, false, time.Unix(int64(i), 0))
	}
	g.Began = past.Before(now, "support", time.Unix(31, 0))
	g.Spread.Add(now, "support", 1)
	past.Take(now, true, time.Unix(31, 0))
	return Source{
		Groups: func(context.Context) ([]ratchet.Group, error) { return []ratchet.Group{g, {Fingerprint: fp}}, nil }, // the second was retracted
		Services: func(context.Context) ([]ratchet.Service, error) {
			return []ratchet.Service{{Service: sight.Service{Name: "shop", Examined: 3, Blind: []sight.Blind{{Missing: trajectory.FactUsage, Remedy: hostile, Rules: []string{"cost_spike@1"}, Count: 3}}},
				History: past, Verdicts: map[classify.Verdict]int{classify.Passing: 3}, Unexplained: []ratchet.Unexplained{{TraceID: strings.Repeat("ab", 16), What: hostile}}}}, nil
		},
		Batches: func(context.Context) ([]ratchet.Batch, error) { return []ratchet.Batch{b}, nil },
		Plan:    func(_ context.Context, b ratchet.Batch) (ghpr.Plan, error) { return ghpr.Plan{Repo: b.Repo}, nil },
		Trace: func(_ context.Context, id string) (trajectory.Trace, error) {
			if id != strings.Repeat("ab", 16) {
				return trajectory.Trace{}, ErrNotFound
			}
			return trajectory.Trace{ID: id}, nil
		},
		Judge: func(*trajectory.Trajectory) classify.Report {
			return classify.Report{Verdict: classify.Passing, Findings: []classify.Finding{}, Inapplicable: []classify.Inapplicable{}}
		},
		Merge: func(_ context.Context, id, into, who, reason string) (ratchet.Group, error) {
			if into != "loop-0000000001" {
				return g, &ratchet.Unmergeable{Reason: who + ": " + reason}
			}
			return g, nil
		},
		Status: func(_ []ratchet.Group, bs map[string]*ratchet.Batch) func(*ratchet.Group) string {
			return func(g *ratchet.Group) string { return ratchet.Policy{}.Status(g, nil, bs) }
		},
	}
}

// produced is the context of a run of the support agent.
func produced(version string) lineage.Context {
	return lineage.Context{Version: version, Agents: []lineage.AgentContext{{Agent: "support", Models: []string{"gpt-4o"}, Prompts: []string{"0123456789ab"}}}}
}

// groupID is the id of the group of testSource.
func groupID(t *testing.T) string {
	gs, err := testSource().Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return gs[0].ID()
}

func TestGroupTellsWhenItBegan(t *testing.T) {
	_, page := get(t, testSource(), Options{}, "/groups/"+groupID(t))
	for _, want := range []string{"When it began", "in place of 1.4.1", "30 traces of support before", "0123456789ab", `href="/traces/` + strings.Repeat("ab", 16)} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	_, doc := get(t, testSource(), Options{}, "/v1/groups/"+groupID(t))
	var got struct {
		Began  lineage.Story `json:"began"`
		Spread []lineage.Row `json:"spread"`
	}
	if err := json.Unmarshal([]byte(doc), &got); err != nil || got.Began.Kind != lineage.Changed || len(got.Spread) != 4 || got.Spread[0].Failing != 1 || got.Spread[1].Traces != 30 {
		t.Errorf("%v: %+v", err, got)
	}
	if code, _ := get(t, testSource(), Options{}, "/groups/nothing"); code != http.StatusNotFound {
		t.Errorf("a group that is not there: %d", code)
	}
}

func get(t *testing.T, src Source, o Options, path string, header ...string) (int, string) {
	t.Helper()
	srv := httptest.NewServer(New(slog.New(slog.DiscardHandler), src, o))
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	described(t, req, res, body)
	return res.StatusCode, string(body)
}

func TestGroupsAsJSON(t *testing.T) {
	code, body := get(t, testSource(), Options{}, "/v1/groups")
	var got []map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK || len(got) != 1 {
		t.Fatalf("%d %s: %v, want the one group that is not retracted", code, body, err)
	}
	for _, key := range []string{"kind", "id", "label", "status", "count", "services", "first_seen", "last_seen", "why"} {
		if _, ok := got[0][key]; !ok {
			t.Errorf("no %q in %s", key, body)
		}
	}
	if s := got[0]["status"]; s != "pull request open: https://github.example/acme/shop/pull/7" {
		t.Errorf("status %q", s)
	}
	if code, _ := get(t, testSource(), Options{}, "/v1/groups/"+got[0]["id"].(string)); code != http.StatusOK {
		t.Errorf("the group by its id: %d", code)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	for _, path := range []string{"/v1/groups/loop-0000000000", "/v1/traces/" + strings.Repeat("cd", 16), "/v1/batches/1/plan", "/v1/batches/x/plan", "/v1/batches/-1/plan", "/v1/nope", "/v1/traces", "/nope"} {
		if code, body := get(t, testSource(), Options{}, path); code != http.StatusNotFound || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s, want 404 and JSON", path, code, body)
		}
	}
	if code, body := get(t, testSource(), Options{}, "/v1/traces/"+strings.Repeat("ab", 16)); code != http.StatusOK || !strings.Contains(body, `"trajectory"`) {
		t.Errorf("a trace that is there: %d %s", code, body)
	}
	bs, err := testSource().Batches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range bs { // by its id, wherever it stands
		for path, want := range map[string]string{"/v1/batches/" + bs[i].ID(): `"id":"` + bs[i].ID(), "/v1/batches/" + bs[i].ID() + "/plan": "acme/shop", "/batches/" + bs[i].ID(): "acme/shop"} {
			if code, body := get(t, testSource(), Options{}, path); code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	}
	if code, body := get(t, testSource(), Options{}, "/v1/batches/0/plan"); code != http.StatusOK || !strings.Contains(body, "acme/shop") {
		t.Errorf("a plan that is there: %d %s", code, body)
	}
}

func TestPageEscapesWordsOfTraces(t *testing.T) {
	for _, path := range []string{"/", "/batches/0", "/groups/" + groupID(t), "/traces/" + strings.Repeat("ab", 16)} {
		code, body := get(t, testSource(), Options{}, path)
		if code != http.StatusOK || strings.Contains(body, hostile) || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
			t.Errorf("%s: %d: words of a trace are not escaped, or the page ends early:\n%s", path, code, body)
		}
	}
}

func TestTokens(t *testing.T) {
	o := Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true}, {Name: "bo", Token: "two"}}}
	for _, c := range []struct {
		header []string
		want   int
	}{{nil, 401}, {[]string{"Authorization", "Bearer nobody"}, 401}, {[]string{"Authorization", "Bearer two"}, 200}, {[]string{"Authorization", "bearer two"}, 200}, {[]string{"Authorization", "Basic two"}, 401}} {
		if code, _ := get(t, testSource(), o, "/v1/groups", c.header...); code != c.want {
			t.Errorf("%v: %d, want %d", c.header, code, c.want)
		}
	}
}

func TestStoreThatDoesNotAnswer(t *testing.T) {
	src := testSource()
	src.Groups = func(context.Context) ([]ratchet.Group, error) { return nil, errors.New("password=hunter2") }
	for _, path := range []string{"/", "/v1/groups", "/v1/rules"} {
		if code, body := get(t, src, Options{}, path); code != http.StatusServiceUnavailable || strings.Contains(body, "hunter2") {
			t.Errorf("%s: %d %s, want 503 without the cause", path, code, body)
		}
	}
}
