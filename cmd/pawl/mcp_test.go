package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/classify/triage/mcp"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/test/desk"
	"github.com/pawl-dev/pawl/test/sample"
)

const viewerToken = "viewer-token-0123456789abcdef"

// fullServer is a service that has found failures in traces and takes no more: its API is served, and nothing else runs. It returns the API's address, the data directory, and a trace.
func fullServer(t *testing.T) (base, dir string) {
	a := &app{log: slog.New(slog.DiscardHandler)}
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Listen = config.Listen{OTLPGRPC: "127.0.0.1:0", OTLPHTTP: "127.0.0.1:0", HTTP: "127.0.0.1:0"}
	cfg.Assemble.RootGrace, cfg.Assemble.IdleTimeout = config.Duration(50*time.Millisecond), config.Duration(200*time.Millisecond)
	cfg.Auth.Tokens = []config.Token{{Name: "bot", Role: config.RoleViewer, Token: config.NewSecret(viewerToken)}}
	fed(t, a, cfg)

	s, err := a.newServer(t.Context(), cfg, allRoles, servicePace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	s.ready.Store(true)
	srv := httptest.NewServer(s.routes())
	t.Cleanup(srv.Close)
	return srv.URL, cfg.DataDir
}

// fed runs the service until it has judged some traces, and stops it.
func fed(t *testing.T, a *app, cfg config.Config) {
	s, err := a.newServer(t.Context(), cfg, allRoles, servicePace)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, scenario := range []string{"loop", "unknown-tool", "healthy"} {
		td := sample.Trace(sample.Dialects[0], sample.Named(scenario).Make(rng), time.Now(), rng)
		if err := desk.Send("http://"+s.addresses().HTTP+"/v1/traces", "application/x-protobuf", td); err != nil {
			t.Fatal(err)
		}
	}
	err = await(ctx, "two groups and their service", func(ctx context.Context) (bool, error) {
		gs, err := s.absorber.Groups(ctx)
		services, noServices := s.absorber.Services(ctx)
		return len(gs) >= 2 && len(services) > 0, errors.Join(err, noServices)
	})
	stop()
	if err := errors.Join(err, <-ended, s.close()); err != nil {
		t.Fatal(err)
	}
}

// bytesOf are the digests of all files below a directory, by path.
func bytesOf(t *testing.T, dir string) map[string][sha256.Size]byte {
	out := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		out[path] = [sha256.Size]byte(sum.Sum(nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pawlCommand is pawl as a process of its own.
func pawlCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Args = append([]string{"pawl"}, args...) // TestMain tells by it
	return cmd
}

func answerOf(t *testing.T, r *sdk.CallToolResult, into any) {
	t.Helper()
	if r.IsError {
		t.Fatalf("an error: %s", r.Content[0].(*sdk.TextContent).Text)
	}
	b, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > mcp.MaxAnswer*2 {
		t.Errorf("an answer of %d bytes", len(b))
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// TestMCPReads: over stdio, by the official client, in both versions of the protocol, each tool answers, and the bytes of the store are the same after each call.
func TestMCPReads(t *testing.T) {
	base, dir := fullServer(t)
	for _, version := range mcp.Versions {
		t.Run(version, func(t *testing.T) {
			cmd := pawlCommand(t.Context(), "mcp", "serve", "--server", base)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PAWL_TOKEN="+viewerToken)
			var told bytes.Buffer
			cmd.Stderr = &told
			s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatalf("%v: %s", err, told.String())
			}
			defer s.Close()
			readAll(t, s, dir)
		})
	}
}

// readAll calls each tool.
func readAll(t *testing.T, s *sdk.ClientSession, dir string) {
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var offered []string
	for _, tool := range list.Tools {
		offered = append(offered, tool.Name)
		if a := tool.Annotations; a == nil || !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint || tool.OutputSchema == nil {
			t.Errorf("tool %s: annotations %+v, output schema %v", tool.Name, tool.Annotations, tool.OutputSchema != nil)
		}
	}
	called := map[string]bool{}
	before := bytesOf(t, dir)
	call := func(tool string, args map[string]any) *sdk.CallToolResult {
		t.Helper()
		called[tool] = true
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		after := bytesOf(t, dir)
		for path := range after {
			if before[path] != after[path] {
				t.Errorf("%s %v changed %s", tool, args, path)
			}
		}
		if len(before) != len(after) {
			t.Errorf("%s %v: %d files, before %d", tool, args, len(after), len(before))
		}
		before = after
		return r
	}

	var status mcp.Status
	answerOf(t, call("status", nil), &status)
	if status.Groups < 2 || status.ByLabel["loop"] != 1 || len(status.Services) == 0 {
		t.Errorf("status %+v", status)
	}
	var groups mcp.Groups
	answerOf(t, call("list_groups", map[string]any{"label": "loop"}), &groups)
	if len(groups.Groups) != 1 || groups.Groups[0].Label != "loop" || groups.Groups[0].Why.Text == "" {
		t.Fatalf("groups %+v", groups)
	}
	id := groups.Groups[0].ID
	var seen []string
	for page := (mcp.Page{}); ; {
		var one mcp.Groups
		answerOf(t, call("list_groups", map[string]any{"limit": 1, "cursor": page.Next}), &one)
		for _, g := range one.Groups {
			seen = append(seen, g.ID)
		}
		if page = one.Page; page.Next == "" {
			break
		}
	}
	if slices.Sort(seen); len(seen) != status.Groups || len(slices.Compact(seen)) != status.Groups {
		t.Errorf("by pages of one: %v", seen)
	}
	var group mcp.Group
	answerOf(t, call("get_group", map[string]any{"id": id}), &group)
	if group.ID != id || len(group.Traces) == 0 {
		t.Fatalf("group %+v", group)
	}
	var trace mcp.Trace
	answerOf(t, call("get_trace", map[string]any{"id": group.Traces[0]}), &trace)
	if trace.Primary != "loop" || len(trace.Steps) < 6 || trace.Findings[0].Group != id {
		t.Errorf("trace %+v", trace)
	}
	tool := slices.IndexFunc(trace.Steps, func(s mcp.Step) bool { return s.Tool != "" })
	if tool < 0 || trace.Steps[tool].Arguments == nil || trace.Steps[tool].Result == nil {
		t.Errorf("steps %+v", trace.Steps)
	}
	answerOf(t, call("get_trace", map[string]any{"id": group.Traces[0], "step": 1}), &trace)
	if len(trace.Steps) != 1 || trace.Steps[0].N != 1 {
		t.Errorf("step %+v", trace.Steps)
	}
	var kase mcp.Case
	answerOf(t, call("get_case", map[string]any{"id": id}), &kase)
	if doc, ok := kase.Document.(map[string]any); !ok || len(doc["files"].([]any)) == 0 {
		t.Errorf("case %+v", kase)
	}
	answerOf(t, call("get_case", map[string]any{"id": id, "pointer": "/files/0/content"}), &kase)
	if kase.Text == nil || !strings.Contains(kase.Text.Text, "kind: Case") {
		t.Errorf("case %+v", kase)
	}
	var intents mcp.Intents
	answerOf(t, call("list_intents", nil), &intents)
	var rule mcp.Explained
	answerOf(t, call("explain_rule", map[string]any{"rule": "loop"}), &rule)
	if rule.Label != "loop" || rule.Why == "" || rule.Measured == nil {
		t.Errorf("rule %+v", rule)
	}
	for tool, args := range map[string]map[string]any{"get_group": {"id": "loop-0000000000"}, "get_trace": {"id": "ffffffffffffffffffffffffffffffff"}, "get_case": {"id": "../../healthz"}, "explain_rule": {"rule": "lop"}, "list_groups": {"limit": 51}, "list_intents": {"cursor": "x"}} {
		if r := call(tool, args); !r.IsError {
			t.Errorf("%s %v: no error", tool, args)
		}
	}
	if want := slices.Sorted(maps.Keys(called)); !slices.Equal(want, slices.Sorted(slices.Values(offered))) {
		t.Errorf("offered %v, called %v", offered, want)
	}
}

// TestMCPOverHTTP: the same over streamable HTTP; and it never asks by anything but GET.
func TestMCPOverHTTP(t *testing.T) {
	base, dir := fullServer(t)
	var asked atomic.Int64
	api, err := mcp.Open(t.Context(), base, mcp.APIOptions{Token: viewerToken, Transport: watched(func(r *http.Request) (*http.Response, error) {
		asked.Add(1)
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer "+viewerToken {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		return http.DefaultTransport.RoundTrip(r)
	})})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{log: slog.New(slog.DiscardHandler)}
	server := mcp.New(a.log, api, mcp.Options{Name: "pawl", Version: "1", Explain: func(_ context.Context, word string) (mcp.Rule, error) { return a.mcpRule(config.Default(), word) }})
	srv := httptest.NewServer(mcp.Handler(server, mcp.HTTPOptions{}))
	defer srv.Close()
	for _, version := range mcp.Versions {
		t.Run(version, func(t *testing.T) {
			s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL}, &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			readAll(t, s, dir)
		})
	}
	if asked.Load() == 0 {
		t.Error("it asked nothing")
	}
}

type watched func(*http.Request) (*http.Response, error)

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// TestMCPRefusesForeignStores: what is not a pawl with this API is refused at the start, with a sentence.
func TestMCPRefusesForeignStores(t *testing.T) {
	base, _ := fullServer(t)
	doc := func(text string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, text) }))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	elsewhere := httptest.NewServer(http.RedirectHandler(base, http.StatusFound))
	t.Cleanup(elsewhere.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	absent := gone.URL
	gone.Close()
	nothing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nothing.Close)
	for _, c := range []struct{ server, token, want string }{
		{absent, viewerToken, "no pawl answers"},
		{nothing.URL, viewerToken, "has no API of version 1"},
		{elsewhere.URL, viewerToken, "is it pawl?"},
		{doc("hello"), viewerToken, "does not answer"},
		{doc(`{"openapi":"3.1.0","info":{"title":"petstore","version":"1"}}`), viewerToken, `describes itself as "petstore"`},
		{doc(`{"openapi":"3.1.0","info":{"title":"pawl","version":"2.0"}}`), viewerToken, `speaks version "2.0"`},
		{base, "wrong", "asks for another token"},
		{"ftp://x", viewerToken, "no address"},
	} {
		cmd := pawlCommand(t.Context(), "mcp", "serve", "--server", c.server)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PAWL_TOKEN="+c.token)
		out, err := cmd.CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v: %s, want %q", c.server, err, out, c.want)
		}
	}
}
