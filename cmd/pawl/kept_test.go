package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/test/sample"
)

// serving runs a whole service with several partitions until the test ends.
func serving(t *testing.T) *server {
	t.Helper()
	a := &app{log: slog.New(slog.DiscardHandler)}
	cfg := config.Default()
	cfg.DataDir, cfg.Queue.Partitions = t.TempDir(), 4
	cfg.Listen = config.Listen{OTLPGRPC: "127.0.0.1:0", OTLPHTTP: "127.0.0.1:0", HTTP: "127.0.0.1:0"}
	cfg.Assemble.RootGrace, cfg.Assemble.IdleTimeout = config.Duration(100*time.Millisecond), config.Duration(time.Second)
	s, err := a.newServer(t.Context(), cfg, allRoles, servicePace)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestKeptTracesByPage sends traces to a service with four partitions and reads them back as a command does: every page size lists all of them once, filters choose,
// and each is what was sent.
func TestKeptTracesByPage(t *testing.T) {
	s := serving(t)
	rng := rand.New(rand.NewPCG(7, 7))
	sent := map[string]string{} // label by trace
	for i := range 20 {
		sc := sample.Scenarios[i%4]
		td := sample.Trace(sample.Dialects[i%len(sample.Dialects)], sc.Make(rng), time.Now().Add(-time.Minute), rng)
		body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post("http://"+s.addresses().HTTP+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		sent[td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID().String()] = sc.Label
	}
	a := &app{log: slog.New(slog.DiscardHandler), stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	r, err := a.runningAt(s.addresses().UI, config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := &backtest{app: a}
	var all []triage.KeptTrace
	err = await(t.Context(), "the verdicts", func(ctx context.Context) (done bool, err error) {
		open := 0
		all, open, err = b.keptTraces(ctx, r, time.Time{})
		return len(all) == len(sent) && open == 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 3, 1000} {
		if got := pages(t, r, url.Values{"limit": {fmt.Sprint(limit)}}); !slices.Equal(got, ids(all)) {
			t.Errorf("by %d: %q, want %q", limit, got, ids(all))
		}
	}
	for label, query := range map[string]url.Values{"loop": {"label": {"loop"}, "limit": {"1"}}, "": {"verdict": {string(classify.Passing)}}} {
		for _, id := range pages(t, r, query) {
			if want, known := sent[id]; !known || want != label {
				t.Errorf("%v lists %s, a trace of %q", query, id, want)
			}
		}
	}
	if got := pages(t, r, url.Values{"q": {all[5].ID[4:20]}}); len(got) != 1 || got[0] != all[5].ID {
		t.Errorf("by a part of its id: %q", got)
	}
	if got := pages(t, r, url.Values{"since": {time.Now().Add(time.Hour).Format(time.RFC3339)}}); len(got) > 0 {
		t.Errorf("from the future: %q", got)
	}
	for _, k := range all {
		if tr, err := r.keptTrace(t.Context(), k); err != nil || len(tr.Spans) == 0 || tr.Truncated {
			t.Errorf("trace %s: %d spans, %v", k.ID, len(tr.Spans), err)
		}
		for p, st := range s.stores { // what an earlier pawl left has no summary
			if _, err := st.Get(t.Context(), k.ID); err != nil {
				continue
			}
			got, err := s.listed(t.Context(), &keptPlace{hour: k.Hour, partition: p}, assemble.Kept{ID: k.ID})
			if err != nil || got.Verdict == nil || got.Service == nil || *got.Service != *k.Service || !got.Start.Equal(*k.Start) {
				t.Errorf("judged again: %+v, %v, want %+v", got, err, k)
			}
		}
	}
}

func ids(all []triage.KeptTrace) (out []string) {
	for _, k := range all {
		out = append(out, k.ID)
	}
	return out
}

// pages follows the list to its end.
func pages(t *testing.T, r *running, query url.Values) (out []string) {
	t.Helper()
	for {
		var page triage.KeptPage
		if err := r.get(t.Context(), "/v1/traces", query, &page); err != nil {
			t.Fatal(err)
		}
		out = append(out, ids(page.Traces)...)
		if page.Next == "" {
			return out
		}
		query.Set("cursor", page.Next)
	}
}

func TestPlacesOfKeptTraces(t *testing.T) {
	p := keptPlace{time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC), 3, "0102030405060708090a0b0c0d0e0f10"}
	if got, err := placeOf(p.cursor()); err != nil || got != p {
		t.Errorf("%+v, %v, want %+v", got, err, p)
	}
	for _, bad := range []string{"!", "YQ", keptPlace{time.Unix(1, 0), -1, ""}.cursor(), keptPlace{time.Unix(1, 0), 0, "xyz"}.cursor()} {
		if _, err := placeOf(bad); err == nil {
			t.Errorf("%q is a cursor", bad)
		}
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{"": {}, "7d": now.AddDate(0, 0, -7), "36h": now.Add(-36 * time.Hour), "1.5d": now.Add(-36 * time.Hour), "2026-11-01T00:00:00Z": now.Add(-29*24*time.Hour - 22*time.Hour)} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"d", "-1d", "0s", "yesterday", "2026-11-01", "NaNd", "1e300d"} {
		if got, err := sinceTime(bad, now); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}
