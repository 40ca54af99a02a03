package home_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/home"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/fakehomes"
)

var quiet = slog.New(slog.DiscardHandler)

// serve starts a home of that kind and gives what asks it.
func serve(t *testing.T, kind home.Kind, old bool, change ...func(*home.Options)) (*fakehomes.Home, *home.Home) {
	t.Helper()
	f := &fakehomes.Home{Kind: string(kind), Files: os.DirFS("testdata"), Old: old}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	o := home.Options{Kind: kind, URL: srv.URL, Key: fakehomes.Key, Secret: fakehomes.Secret}
	switch kind {
	case home.LangSmith:
		o.Project, o.Secret = "shop", ""
	case home.Phoenix:
		o.Project, o.Secret = "shop", ""
	case home.Jaeger:
		o.Services = []string{"shop-*"}
	case home.Tempo:
		o.Project = "tenant-1"
	}
	for _, c := range change {
		c(&o)
	}
	h, err := home.New(quiet, o)
	if err != nil {
		t.Fatal(err)
	}
	return f, h
}

func built(data []wire.Data) []*trajectory.Trajectory {
	var traces []ptrace.Traces
	var logs []plog.Logs
	for _, d := range data {
		if d.Signal == wire.Traces {
			traces = append(traces, d.Traces)
		} else {
			logs = append(logs, d.AllLogs()...)
		}
	}
	var out []*trajectory.Trajectory
	for _, t := range trajectory.FromOTLP(traces, logs) {
		out = append(out, trajectory.Build(t))
	}
	return out
}

// checkTalk holds that a trajectory is the conversation that all fixtures tell.
func checkTalk(t *testing.T, x *trajectory.Trajectory) {
	t.Helper()
	if len(x.ModelCalls) != 2 || len(x.ToolCalls) != 1 || x.ToolCalls[0].Name != "get_order" || !strings.Contains(x.ToolCalls[0].Arguments.Raw, "ORD-10001") || !x.ToolCalls[0].HasResult {
		t.Errorf("%d model calls, the tool calls %+v", len(x.ModelCalls), x.ToolCalls)
	}
	if len(x.UserMessages) == 0 || x.UserMessages[0] != "Where is order ORD-10001?" || x.Reply == nil || *x.Reply != "It is on its way." || x.SessionID != "talk-1" {
		t.Errorf("user %+v, reply %v, session %q", x.UserMessages, x.Reply, x.SessionID)
	}
	for _, m := range x.ModelCalls {
		if m.Usage.Input == nil || m.Usage.Output == nil {
			t.Errorf("a call without usage: %+v", m)
		}
	}
}

func TestTrace(t *testing.T) {
	for _, tc := range []struct {
		kind     home.Kind
		old      bool
		id, want string
	}{
		{home.Langfuse, false, fakehomes.LangfuseTrace, "0f2c7a512b1c4a3e9a553c1d7e9b1a01"},
		{home.Langfuse, true, fakehomes.LangfuseTrace, "0f2c7a512b1c4a3e9a553c1d7e9b1a01"},
		{home.Langfuse, false, fakehomes.LangfuseOld, ""}, // an id of its own: what the importer makes of it
		{home.LangSmith, false, fakehomes.LangSmithTrace, "0198f3a0000070008000000000000001"},
		{home.LangSmith, true, "0198f3a0000070008000000000000001", "0198f3a0000070008000000000000001"},
		{home.LangSmith, false, fakehomes.LangSmithRun, "0198f3a0000070008000000000000001"},
		{home.Phoenix, false, fakehomes.Trace, fakehomes.Trace},
		{home.Jaeger, false, fakehomes.Trace, fakehomes.Trace},
		{home.Jaeger, true, strings.ToUpper(fakehomes.Trace), fakehomes.Trace},
		{home.Tempo, false, fakehomes.Trace, fakehomes.Trace},
		{home.Tempo, true, fakehomes.Trace, fakehomes.Trace},
	} {
		t.Run(string(tc.kind)+" "+tc.id, func(t *testing.T) {
			_, h := serve(t, tc.kind, tc.old)
			a, err := h.Trace(t.Context(), tc.id, time.Date(2026, 11, 30, 9, 1, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			if len(a.TraceID) != 32 || tc.want != "" && a.TraceID != tc.want || a.Spans != 4 {
				t.Errorf("trace %s, want %s, %d spans", a.TraceID, tc.want, a.Spans)
			}
			xs := built(a.Data)
			if len(xs) != 1 {
				t.Fatalf("%d traces", len(xs))
			}
			checkTalk(t, xs[0])
			if s := xs[0].Service; s != "shop-agent" && (tc.kind == home.Langfuse || tc.kind == home.Jaeger || tc.kind == home.Tempo) {
				t.Errorf("service %q", s)
			}
			again, err := h.Trace(t.Context(), tc.id, time.Time{})
			if err != nil || again.Digest != a.Digest {
				t.Errorf("the same answer has the digests %s and %s (%v)", a.Digest, again.Digest, err)
			}
		})
	}
}

func TestTraceIsNotThere(t *testing.T) {
	for _, kind := range home.Kinds() {
		for _, old := range []bool{false, true} {
			for _, id := range []string{"ffffffffffffffffffffffffffffffff", "..", "", "a/../../b?c#d", "\x00"} {
				f, h := serve(t, home.Kind(kind), old)
				_, err := h.Trace(t.Context(), id, time.Time{})
				if !errors.Is(err, home.ErrNotThere) {
					t.Errorf("%s %q: %v", kind, id, err)
				}
				for _, a := range f.Asked() {
					if strings.Contains(a, "/../") || strings.Contains(a, "?c") && !strings.Contains(a, "%3Fc") {
						t.Errorf("%s %q: asked %s", kind, id, a)
					}
				}
			}
		}
	}
}

func window(t *testing.T, h *home.Home, most int) (xs []*trajectory.Trajectory, errs []error) {
	t.Helper()
	to := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var data []wire.Data
	for item, err := range h.Window(t.Context(), home.Window{From: to.Add(-7 * 24 * time.Hour), To: to, MaxTraces: most}) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		data = append(data, item.Data)
	}
	return built(data), errs
}

func TestWindow(t *testing.T) {
	for _, kind := range home.Kinds() {
		for _, old := range []bool{false, true} {
			t.Run(kind, func(t *testing.T) {
				f, h := serve(t, home.Kind(kind), old)
				xs, errs := window(t, h, 0)
				want := 1
				if kind == "langfuse" && old {
					want = 2
				}
				if len(errs) > 0 || len(xs) != want {
					t.Fatalf("%d traces, %v; asked %s", len(xs), errs, strings.Join(f.Asked(), "\n"))
				}
				for _, x := range xs {
					checkTalk(t, x)
				}
				if !slices.ContainsFunc(f.Asked(), func(a string) bool { return strings.Contains(a, "2026-11-2") || strings.Contains(a, "179") }) {
					t.Errorf("no window was asked for: %s", strings.Join(f.Asked(), "\n"))
				}
			})
		}
	}
}

func TestWindowStopsAtItsBound(t *testing.T) {
	_, h := serve(t, home.Langfuse, true)
	xs, errs := window(t, h, 1)
	if len(xs) != 1 || len(errs) != 1 {
		t.Fatalf("%d traces, %v", len(xs), errs)
	}
	if _, ok := errors.AsType[*home.LimitError](errs[0]); !ok {
		t.Error(errs[0])
	}
}

func TestFeedbackComesAlong(t *testing.T) {
	_, h := serve(t, home.Langfuse, true)
	a, err := h.Trace(t.Context(), fakehomes.LangfuseTrace, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	fs := built(a.Data)[0].Feedback
	if len(fs) != 1 || fs[0].Name != "user-feedback" || fs[0].Score == nil || *fs[0].Score != 0 || fs[0].Explanation != "wrong parcel" {
		t.Errorf("%+v", fs)
	}
	_, h = serve(t, home.LangSmith, false)
	if a, err = h.Trace(t.Context(), fakehomes.LangSmithTrace, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if fs := built(a.Data)[0].Feedback; len(fs) != 1 || fs[0].Name != "user_score" || *fs[0].Score != 0 {
		t.Errorf("%+v", fs)
	}
}

func TestServiceIsNamedWhereItIsNot(t *testing.T) {
	_, h := serve(t, home.Phoenix, false, func(o *home.Options) { o.Service = "shop" })
	a, err := h.Trace(t.Context(), fakehomes.Trace, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if x := built(a.Data)[0]; x.Service != "shop" {
		t.Errorf("service %q", x.Service)
	}
	_, h = serve(t, home.Tempo, false, func(o *home.Options) { o.Service = "other" })
	if a, err = h.Trace(t.Context(), fakehomes.Trace, time.Time{}); err != nil || built(a.Data)[0].Service != "shop-agent" {
		t.Errorf("service %q, %v", built(a.Data)[0].Service, err)
	}
}

func TestPhoenixProjectWithASlash(t *testing.T) {
	_, h := serve(t, home.Phoenix, false, func(o *home.Options) { o.Project = "team/shop" })
	if _, err := h.Trace(t.Context(), fakehomes.Trace, time.Time{}); err != nil {
		t.Error(err)
	}
	_, h = serve(t, home.Phoenix, false, func(o *home.Options) { o.Project = "shoes" })
	if _, err := h.Trace(t.Context(), fakehomes.Trace, time.Time{}); err == nil || errors.Is(err, home.ErrNotThere) || !strings.Contains(err.Error(), `no project "shoes"`) {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]home.Options{
		"kind":     {Kind: "zipkin", URL: "http://x"},
		"url":      {Kind: home.Tempo, URL: "tempo:3200"},
		"password": {Kind: home.Tempo, URL: "http://a:b@tempo:3200"},
		"keys":     {Kind: home.Langfuse, Key: "pk"},
		"key":      {Kind: home.LangSmith},
		"glob":     {Kind: home.Tempo, Services: []string{"["}},
	} {
		if _, err := home.New(quiet, o); err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "a:b@") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, kind := range home.Kinds() {
		if _, err := home.New(quiet, home.Options{Kind: home.Kind(kind), Key: "k", Secret: "s"}); err != nil {
			t.Errorf("%s without a url: %v", kind, err)
		}
	}
}

func answerWith(status int, header, value, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		f    func(http.ResponseWriter, *http.Request) bool
		want func(error) bool
	}{
		"refused": {answerWith(401, "", "", `{"message":"Invalid credentials"}`), func(err error) bool {
			_, ok := errors.AsType[*home.RefusedError](err)
			return ok && strings.Contains(err.Error(), "Invalid credentials")
		}},
		"busy": {answerWith(429, "Retry-After", "17", `{"detail":"slow down"}`), func(err error) bool {
			b, ok := errors.AsType[*home.BusyError](err)
			return ok && b.After == 17*time.Second
		}},
		"away": {answerWith(503, "", "", ""), func(err error) bool {
			b, ok := errors.AsType[*home.BusyError](err)
			return ok && b.After == 30*time.Second
		}},
		"broken": {answerWith(500, "", "", `{"message":"boom"}`), func(err error) bool {
			s, ok := errors.AsType[*home.StatusError](err)
			return ok && s.Status == 500 && s.Said == "boom"
		}},
		"not JSON at all": {answerWith(200, "", "", `{"data": [`), func(err error) bool { return err != nil && !errors.Is(err, home.ErrNotThere) }},
		"too large": {func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"data":"` + strings.Repeat("x", 1<<16) + `"}`))
			return true
		}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "too large") }},
		"sent elsewhere": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://metadata.example.com/steal", http.StatusTemporaryRedirect)
			return true
		}, func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "sends on to http://metadata.example.com") && !strings.Contains(err.Error(), "steal")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, h := serve(t, home.Phoenix, false, func(o *home.Options) { o.MaxBytes = 1 << 14 })
			f.Ahead(tc.f)
			_, err := h.Trace(t.Context(), fakehomes.Trace, time.Time{})
			if !tc.want(err) {
				t.Error(err)
			}
			if err != nil && strings.Contains(err.Error(), fakehomes.Key) {
				t.Errorf("the key is told: %v", err)
			}
			if n := len(f.Asked()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestARedirectWithinTheHostIsFollowed(t *testing.T) {
	f, h := serve(t, home.Phoenix, false)
	f.Ahead(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, r.URL.RequestURI(), http.StatusTemporaryRedirect)
		return true
	})
	if _, err := h.Trace(t.Context(), fakehomes.Trace, time.Time{}); err != nil {
		t.Error(err)
	}
}

func TestTheSamePageAgainAndAgain(t *testing.T) {
	f, h := serve(t, home.Phoenix, false)
	body, err := os.ReadFile("testdata/phoenix/page-1.json")
	if err != nil {
		t.Fatal(err)
	}
	f.Put("page-2.json", body)
	_, errs := window(t, h, 0)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "again and again") {
		t.Error(errs)
	}
}

func TestAnInterruptedWindowEnds(t *testing.T) {
	_, h := serve(t, home.Langfuse, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range h.Window(ctx, home.Window{From: time.Now().Add(-time.Hour), To: time.Now()}) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
}
