package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/test/fakehomes"
)

// fixtureAge is how long ago the traces of the fixtures are, and some more: the window reaches back to them whatever the day is.
func fixtureAge() string {
	return fmt.Sprintf("%dh", max(24, int(time.Since(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)).Hours())+1))
}

// fixtures is where the answers are, from wherever the test goes on.
func fixtures(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "ingest", "home", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func serveHome(t *testing.T, kind string, old bool) (*fakehomes.Home, string) {
	t.Helper()
	f := &fakehomes.Home{Kind: kind, Files: os.DirFS(fixtures(t)), Old: old}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return f, srv.URL
}

// pawl runs a command in an empty directory and gives what it printed.
func pawl(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// TestClassifyFromNeedsNoConfiguration: a kind, an address and the vendor's own environment variables are enough, and nothing is written.
func TestClassifyFromNeedsNoConfiguration(t *testing.T) {
	f, at := serveHome(t, "langfuse", true)
	t.Chdir(t.TempDir())
	t.Setenv("LANGFUSE_PUBLIC_KEY", fakehomes.Key)
	t.Setenv("LANGFUSE_SECRET_KEY", fakehomes.Secret)
	code, stdout, stderr := pawl(t, "classify", "--from", "langfuse", "--url", at, "--since", fixtureAge())
	if code != exitFinding {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"2 traces of agents in langfuse", "1 unclassified", "1 failure in the inbox", "minutes (an estimate", "1. unclassified", `"wrong parcel"`, "-> the inbox", "Nothing was written."} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout+stderr, fakehomes.Secret) || strings.Contains(stdout+stderr, fakehomes.Key) {
		t.Error("a key is told")
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v (%v)", entries, err)
	}
	for _, a := range f.Asked() {
		if !strings.HasPrefix(a, "GET ") {
			t.Errorf("it asked %s", a)
		}
	}
	if code, _, stderr := pawl(t, "classify", "--from", "langfuse", "--url", at, "--key-env", "NOT_SET"); code != exitUsage || !strings.Contains(stderr, "NOT_SET is not set") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := pawl(t, "classify", "--from", "langfusion"); code != exitUsage || !strings.Contains(stderr, "did you mean `langfuse`") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr := pawl(t, "classify", "traces.jsonl", "--url", at); code != exitUsage || !strings.Contains(stderr, "goes with --from") {
		t.Errorf("%d %s", code, stderr)
	}
}

type fromLine struct {
	Kind, ID, Label, Did, Reason, Service, Remedy string
	Rank, Count                                   int
	Repo                                          *string
	Cases, Waiting, Refused                       int
	Pulls                                         int `json:"pull_requests"`
	Minutes                                       int `json:"reviewer_minutes"`
	Partial, Written                              bool
}

func jsonLines(t *testing.T, out string) (lines []fromLine) {
	t.Helper()
	for line := range strings.Lines(out) {
		var l fromLine
		var raw map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &raw); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		delete(raw, "traces") // of another type in each
		rest, _ := json.Marshal(raw)
		if err := json.Unmarshal(rest, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestClassifyFromAHome: a line of homes is used with its secrets, of which others of the file may be missing; a loop would have become a case.
func TestClassifyFromAHome(t *testing.T) {
	f, at := serveHome(t, "tempo", false)
	f.Put("v2.json", looping(t))
	t.Chdir(t.TempDir())
	yaml := fmt.Sprintf("homes: [{name: prod, kind: tempo, url: %q, key: \"${env:PAWL_T_USER}\", secret: \"${env:PAWL_T_PASS}\", project: tenant-1, services: [\"shop-*\"]}]\n"+
		"targets: [{service: \"shop-*\", repo: acme/shop}]\nghpr: {token: \"${env:PAWL_T_NOT_SET}\"}\n", at)
	if err := os.WriteFile("pawl.yaml", []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAWL_T_USER", fakehomes.Key)
	t.Setenv("PAWL_T_PASS", fakehomes.Secret)
	code, stdout, stderr := pawl(t, "classify", "--from", "prod", "--since", fixtureAge(), "--json")
	lines := jsonLines(t, stdout)
	if code != exitFinding || len(lines) < 2 {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	first, last := lines[0], lines[len(lines)-1]
	if first.Kind != "failure" || first.Label != "loop" || first.Did != "case" || first.Rank != 1 || first.Repo == nil || *first.Repo != "acme/shop" || first.Service != "shop-agent" {
		t.Errorf("%+v", first)
	}
	if last.Kind != "summary" || last.Cases != 1 || last.Pulls != 1 || last.Minutes != 5 || last.Partial || last.Written {
		t.Errorf("%+v", last)
	}
}

// looping is the fixture's trace with its tool called six times.
func looping(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "ingest", "home", "testdata", "tempo", "v2.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(content, &doc); err != nil {
		t.Fatal(err)
	}
	scope := doc["trace"].(map[string]any)["resourceSpans"].([]any)[0].(map[string]any)["scopeSpans"].([]any)[0].(map[string]any)
	spans := scope["spans"].([]any)
	out := []any{spans[0]}
	for i := range 6 {
		for n, s := range spans[1:3] {
			text, _ := json.Marshal(s)
			text = bytes.ReplaceAll(text, []byte(`"c1"`), fmt.Appendf(nil, `"c%d"`, i))
			text = bytes.ReplaceAll(text, []byte(`\"c1\"`), fmt.Appendf(nil, `\"c%d\"`, i))
			var c map[string]any
			_ = json.Unmarshal(text, &c)
			c["spanId"] = fmt.Sprintf("%016x", 0x100+10*i+n)
			at := 1795942801 + int64(i)
			c["startTimeUnixNano"], c["endTimeUnixNano"] = fmt.Sprint(at*1e9+int64(n)*3e8), fmt.Sprint(at*1e9+int64(n)*3e8+2e8)
			out = append(out, c)
		}
	}
	last := spans[3].(map[string]any)
	last["startTimeUnixNano"], last["endTimeUnixNano"] = fmt.Sprint(int64(1795942808e9)), fmt.Sprint(int64(1795942809e9))
	scope["spans"] = append(out, last)
	content, err = json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestClassifyFromInPart: what a home fails to give is told, the rest is judged, and the exit code says that it is not all.
func TestClassifyFromInPart(t *testing.T) {
	f, at := serveHome(t, "langfuse", true)
	t.Setenv("LANGFUSE_PUBLIC_KEY", fakehomes.Key)
	t.Setenv("LANGFUSE_SECRET_KEY", fakehomes.Secret)
	t.Chdir(t.TempDir())
	f.Put("old-list-2.json", []byte(`{"data": 5}`))
	code, stdout, stderr := pawl(t, "classify", "--from", "langfuse", "--url", at, "--since", fixtureAge(), "--json")
	lines := jsonLines(t, stdout)
	if code != exitUndecided || len(lines) == 0 || !lines[len(lines)-1].Partial || !strings.Contains(stderr, "cannot be read") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = pawl(t, "classify", "--from", "langfuse", "--url", at, "--since", fixtureAge(), "--max-traces", "1")
	if code != exitUndecided || !strings.Contains(stderr, "more than 1 traces") || !strings.Contains(stdout, "A part could not be read") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	f.Ahead(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true })
	code, stdout, stderr = pawl(t, "classify", "--from", "langfuse", "--url", at, "--since", fixtureAge())
	if code != exitUndecided || stdout != "" || !strings.Contains(stderr, "refuses the key") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}
