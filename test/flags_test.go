package test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/test/fakehomes"
	"github.com/pawl-dev/pawl/test/sample"
)

const hookSecret = "a secret of the tests"

// flagRun is a service that is flagged and killed.
type flagRun struct {
	t    *testing.T
	ctx  context.Context
	svc  *service
	rng  *rand.Rand
	logs *senders
}

func newFlagRun(t *testing.T, extra string) *flagRun {
	t.Setenv("PAWL_TEST_HOOK", hookSecret)
	dir := t.TempDir()
	yaml := fmt.Sprintf("data_dir: %s\nlisten: {otlp_grpc: 127.0.0.1:0, otlp_http: 127.0.0.1:0, http: 127.0.0.1:0, webhooks: 127.0.0.1:0}\n"+
		"assemble: {root_grace: 200ms, idle_timeout: 1s}\nwebhooks: {sentry: {secret: \"${env:PAWL_TEST_HOOK}\"}, alertmanager: {secret: \"${env:PAWL_TEST_HOOK}\"}}\n%s",
		filepath.Join(dir, "data"), extra)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &flagRun{t: t, ctx: ctx, svc: newService(t, buildPawl(t), dir, yaml), rng: rand.New(rand.NewPCG(7, 7))}
	r.logs = &senders{svc: r.svc, known: map[string]map[string]bool{}}
	r.check(r.svc.start())
	return r
}

func (r *flagRun) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// post sends one request, with headers in pairs, and returns the status.
func (r *flagRun) post(url string, body []byte, headers ...string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, http.MethodPost, url, bytes.NewReader(body))
	r.check(err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	r.check(err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	r.check(err)
	return res.StatusCode
}

// sentry sends an event alert on a trace, as Sentry does.
func (r *flagRun) sentry(trace, id string) int {
	body := fmt.Appendf(nil, `{"action":"triggered","data":{"event":{"title":"charged twice","contexts":{"trace":{"trace_id":%q}}},"triggered_rule":"Refunds"}}`, trace)
	h := hmac.New(sha256.New, []byte(hookSecret))
	h.Write(body)
	return r.post("http://"+r.svc.address().Webhooks+"/webhooks/sentry", body, "Sentry-Hook-Resource", "event_alert", "Request-ID", id,
		"Sentry-Hook-Signature", hex.EncodeToString(h.Sum(nil)))
}

func (r *flagRun) send(l load) { r.logs.send(r.ctx, r.t, []load{l}, r.rng) }

type shownFlag struct {
	TraceID string `json:"trace_id"`
	State   string `json:"state"`
	Verdict string `json:"verdict"`
	Said    []struct {
		Source, Reason string
	} `json:"said"`
	Traces  []string `json:"traces"`
	RawID   string   `json:"raw_id"`
	Fetched struct{ Home, Said string }
}

// awaitState waits until the flag on the trace, or the first window for "", has that state.
func (r *flagRun) awaitState(trace, state string) (found shownFlag) {
	r.t.Helper()
	until(r.t, r.ctx, "flag of "+trace+" "+state, func() error {
		var fs []shownFlag
		if err := r.svc.get(r.ctx, "/v1/flags", &fs); err != nil {
			return err
		}
		for _, f := range fs {
			if f.TraceID == trace {
				if found = f; f.State == state {
					return nil
				}
			}
		}
		return fmt.Errorf("flags %+v", fs)
	})
	return found
}

// awaitGroup waits until the group of what no rule explains has that many sightings.
func (r *flagRun) awaitGroup(count int) {
	r.t.Helper()
	until(r.t, r.ctx, "unclassified group", func() error {
		var gs []struct {
			Label, Status, Why string
			Count              int
		}
		if err := r.svc.get(r.ctx, "/v1/groups", &gs); err != nil {
			return err
		}
		for _, g := range gs {
			if g.Label == "unclassified" && g.Count == count && strings.Contains(g.Why, `sentry says of it: "Refunds: charged twice"`) && strings.Contains(g.Status, "waits") {
				return nil
			}
		}
		return fmt.Errorf("groups %+v", gs)
	})
}

// TestFlagsSurviveKills kills the service with kill -9 right behind each 202, and before its trace comes: no flag is lost, each counts once.
func TestFlagsSurviveKills(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	r := newFlagRun(t, "")
	before, after := newLoad(sample.Dialects[0], sample.Named("healthy"), r.rng), newLoad(sample.Dialects[0], sample.Named("healthy"), r.rng)
	r.send(after)
	until(t, r.ctx, "the first trace", func() error { return r.svc.get(r.ctx, "/v1/traces/"+after.id, new(any)) })
	for i, trace := range []string{after.id, before.id} {
		if code := r.sentry(trace, fmt.Sprint("event-", i)); code != http.StatusAccepted {
			t.Fatalf("answered %d", code)
		}
		r.check(r.svc.restart(func() {}))
	}
	if code := r.sentry(after.id, "event-0"); code != http.StatusOK {
		t.Errorf("a duplicate was answered %d", code)
	}
	f := r.awaitState(after.id, "joined")
	if f.Verdict != "unclassified" || len(f.Said) != 1 || f.Said[0].Reason != "Refunds: charged twice" {
		t.Errorf("%+v", f)
	}
	r.awaitState(before.id, "waiting")
	r.send(before)
	r.awaitState(before.id, "joined")
	r.awaitGroup(2)
	if code := r.post("http://"+r.svc.address().UI+"/webhooks/sentry", []byte("{}")); code != http.StatusMethodNotAllowed {
		t.Errorf("listen.webhooks is set, and listen.http answers webhooks with %d", code)
	}
	r.check(r.svc.stop())
}

// TestFlagsEnd: a flag without its trace ends visibly, a window leads to its traces, and the API takes flags too.
func TestFlagsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	r := newFlagRun(t, "flags: {wait: 2s}\n")
	if code := r.sentry("4bf92f3577b34da6a3ce929d0e0e4736", "event-1"); code != http.StatusAccepted {
		t.Fatalf("answered %d", code)
	}
	r.awaitState("4bf92f3577b34da6a3ce929d0e0e4736", "trace not found")
	l := newLoad(sample.Dialects[0], sample.Named("healthy"), r.rng)
	r.send(l)
	until(t, r.ctx, "the trace", func() error {
		var page struct {
			Traces []struct{ Verdict string }
		}
		if err := r.svc.get(r.ctx, "/v1/traces", &page); err != nil || len(page.Traces) != 1 || page.Traces[0].Verdict != "passing" {
			return fmt.Errorf("%+v, %w", page, err)
		}
		return nil
	})
	api := "http://" + r.svc.address().UI + "/v1/flags"
	at := spansOf(l.parts[0]).At(0).StartTimestamp().AsTime()
	window := fmt.Appendf(nil, `{"window":{"from":%q,"to":%q},"source":"desk","reason":"many complaints"}`, at.Add(-time.Hour).Format(time.RFC3339), at.Add(2*time.Second).Format(time.RFC3339))
	for body, want := range map[string]int{string(window): http.StatusAccepted, `{"trace_id":"run-7"}`: http.StatusBadRequest, `{`: http.StatusBadRequest} {
		if code := r.post(api, []byte(body)); code != want {
			t.Errorf("%s: answered %d", body, code)
		}
	}
	if f := r.awaitState("", "joined"); len(f.Traces) != 1 || f.Traces[0] != l.id {
		t.Errorf("the window led to %+v", f)
	}
	r.awaitState(l.id, "joined")
	r.check(r.svc.stop())
}

// TestFeedbackIsHeard: a user's bad score, sent as an OTLP evaluation event after its trace was judged, puts the trace to a person.
func TestFeedbackIsHeard(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	r := newFlagRun(t, "")
	l := newLoad(sample.Dialects[0], sample.Named("healthy"), r.rng)
	r.send(l)
	verdict := func(want string) {
		t.Helper()
		until(t, r.ctx, want, func() error {
			var page struct {
				Traces []struct{ Verdict string }
			}
			if err := r.svc.get(r.ctx, "/v1/traces", &page); err != nil || len(page.Traces) != 1 || page.Traces[0].Verdict != want {
				return fmt.Errorf("%+v, %w", page, err)
			}
			return nil
		})
	}
	verdict("passing")
	event := fmt.Appendf(nil, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"%d","traceId":%q,"spanId":%q,"eventName":"gen_ai.evaluation.result","attributes":[
		{"key":"gen_ai.evaluation.name","value":{"stringValue":"thumbs"}},{"key":"gen_ai.evaluation.score.label","value":{"stringValue":"bad"}},
		{"key":"gen_ai.evaluation.explanation","value":{"stringValue":"my parcel never came"}}]}]}]}]}`, time.Now().UnixNano(), l.id, l.spans[0])
	if code := r.post("http://"+r.svc.address().HTTP+"/v1/logs", event); code != http.StatusOK {
		t.Fatalf("answered %d", code)
	}
	verdict("unclassified")
	until(t, r.ctx, "its group", func() error {
		var gs []struct{ Label, Why, Title string }
		if err := r.svc.get(r.ctx, "/v1/groups", &gs); err != nil || len(gs) != 1 || gs[0].Label != "unclassified" {
			return fmt.Errorf("%+v, %w", gs, err)
		}
		if want := `its feedback is bad: thumbs bad, "my parcel never came"`; gs[0].Why != want {
			t.Errorf("why: %s, want %s", gs[0].Why, want)
		}
		return nil
	})
	r.check(r.svc.stop())
}

// TestFetchesSurviveKills: traces that never come here are fetched from where they live, by an id that is OpenTelemetry's and by one that only their home
// knows, and the service dies behind the 202, before the home has them, and between two looks: nothing is lost, each counts once.
func TestFetchesSurviveKills(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	f := &fakehomes.Home{Kind: "langfuse", Files: os.DirFS(filepath.Join("..", "ingest", "home", "testdata")), Old: true}
	srv := httptest.NewServer(f)
	defer srv.Close()
	t.Setenv("PAWL_TEST_KEY", fakehomes.Key)
	t.Setenv("PAWL_TEST_SECRET", fakehomes.Secret)
	r := newFlagRun(t, fmt.Sprintf("flags: {fetch_after: 1s}\nhomes: [{name: lf, kind: langfuse, url: %q, key: \"${env:PAWL_TEST_KEY}\", secret: \"${env:PAWL_TEST_SECRET}\"}]\n", srv.URL))
	notYet := func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	f.Ahead(notYet)
	api := func(id string) {
		t.Helper()
		body := fmt.Appendf(nil, `{"trace_id":%q,"source":"langfuse","reason":"charged twice"}`, id)
		if code := r.post("http://"+r.svc.address().UI+"/v1/flags", body); code != http.StatusAccepted {
			t.Fatalf("answered %d", code)
		}
		r.check(r.svc.restart(func() {}))
	}
	api(fakehomes.LangfuseOld)
	api(fakehomes.LangfuseTrace)
	until(t, r.ctx, "first looks", func() error {
		if n := len(f.Asked()); n < 4 {
			return fmt.Errorf("asked %d times", n)
		}
		return nil
	})
	r.check(r.svc.restart(func() {}))
	found := r.awaitState("0f2c7a512b1c4a3e9a553c1d7e9b1a01", "joined")
	if found.Verdict != "unclassified" || found.Fetched.Home != "lf" {
		t.Errorf("%+v", found)
	}
	var foreign shownFlag
	until(t, r.ctx, "the id of the home's own", func() error {
		var fs []shownFlag
		if err := r.svc.get(r.ctx, "/v1/flags", &fs); err != nil {
			return err
		}
		for _, x := range fs {
			if x.RawID == fakehomes.LangfuseOld && x.State == "joined" && len(x.Traces) == 1 {
				foreign = x
				return nil
			}
		}
		return fmt.Errorf("%+v", fs)
	})
	joined := r.awaitState(foreign.Traces[0], "joined")
	if len(joined.Said) != 1 || joined.Said[0].Reason != "charged twice" {
		t.Errorf("%+v", joined)
	}
	var page struct {
		Traces []struct{ ID, Service, Verdict string }
	}
	r.check(r.svc.get(r.ctx, "/v1/traces", &page))
	if len(page.Traces) != 2 || page.Traces[0].Service != "shop-agent" {
		t.Errorf("%+v", page)
	}
	r.check(r.svc.stop())
}
