package triage

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/propose"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/test/sample"
)

// keptSource keeps 15 healthy runs and 4 that loop, of which a person labelled 3; the rules of the source know nothing of loops.
func keptSource(t *testing.T) (Source, string) {
	t.Helper()
	traces, kept, labelled := map[string]trajectory.Trace{}, []KeptTrace{}, []string{}
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for i := range 19 {
		name := "healthy"
		if i >= 15 {
			name = "loop"
		}
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		tr := trajectory.FromOTLP([]ptrace.Traces{sample.Trace(sample.Dialects[0], sample.Named(name).Make(rng), at, rng)}, nil)[0]
		traces[tr.ID] = tr
		verdict := classify.Passing
		if i >= 15 && i < 18 {
			labelled, verdict = append(labelled, tr.ID), classify.Unclassified
		}
		kept = append(kept, KeptTrace{Kind: "trace", ID: tr.ID, Verdict: &verdict, Service: new("parcel-desk")})
	}
	src := testSource()
	fp := classify.NewFingerprint("going_round", "parcel-desk", "desk", classify.Word("error", "flag"))
	g := ratchet.Group{Fingerprint: fp, Service: "parcel-desk", Count: 3, Source: classify.SourceHuman, Form: classify.FormNone}
	none := ratchet.Group{Fingerprint: classify.NewFingerprint(classify.NoLabel, "parcel-desk", "desk"), Service: "parcel-desk", Count: 1}
	src.Groups = func(context.Context) ([]ratchet.Group, error) { return []ratchet.Group{g, none}, nil }
	src.Group = func(_ context.Context, digest string) (ratchet.Group, error) {
		whole := g
		for _, id := range labelled {
			whole.Seen = append(whole.Seen, id[20:]+"rev")
		}
		return whole, nil
	}
	src.Kept = func(_ context.Context, f KeptFilter, _ string, _ int) (KeptPage, error) {
		if f.Service != "parcel-desk" {
			t.Errorf("asked for %+v", f)
		}
		return KeptPage{Traces: kept}, nil
	}
	src.Trace = func(ctx context.Context, id string) (trajectory.Trace, error) { return traces[id], ctx.Err() }
	src.Rules = func() []Rule { return []Rule{{ID: "going_round@1"}} }
	src.Offer = func(_ context.Context, id, who string, c propose.Candidate, trial string) (ratchet.Offered, error) {
		if !strings.Contains(trial, "3 of the 3") {
			t.Errorf("the pull request says %q", trial)
		}
		return ratchet.Offered{Rule: c.Rule.Name, Who: who, Batch: "b", Cases: []string{id}, Left: []string{}}, nil
	}
	return src, g.ID()
}

func asked(t *testing.T, h http.Handler, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}

func TestProposedTriedAndOffered(t *testing.T) {
	src, id := keptSource(t)
	h := New(slog.New(slog.DiscardHandler), src, Options{})
	at := "/v1/groups/" + id + "/propose"
	if code, body := asked(t, h, "GET", at, ""); code != http.StatusNotFound {
		t.Errorf("before: %d %s", code, body)
	}
	if code, body := asked(t, h, "POST", at+"/0/offer", "", PersonHeader, "ana"); code != http.StatusConflict || !strings.Contains(body, "proposed first") {
		t.Errorf("offered before: %d %s", code, body)
	}
	code, body := asked(t, h, "POST", at, "")
	var p Proposal
	if err := json.Unmarshal([]byte(body), &p); err != nil || code != http.StatusOK {
		t.Fatal(code, body, err)
	}
	if p.State != "done" || p.Labelled != 3 || p.Healthy != 16 || p.Of != 19 || p.Done != 19 || len(p.Candidates) == 0 {
		t.Fatalf("%s", body)
	}
	c := p.Candidates[0]
	if c.Name != "going_round_2" || c.Label != "going_round" || c.Trial.Found.Count != 3 || c.Trial.Missed.Count != 0 || c.Trial.Collisions.Count != 1 || c.Trial.Judged != 19 {
		t.Errorf("%+v", c)
	}
	if code, again := asked(t, h, "GET", at, ""); code != http.StatusOK || again != body {
		t.Errorf("asked again: %d %s", code, again)
	}
	if code, body := asked(t, h, "POST", at+"/9/offer", "", PersonHeader, "ana"); code != http.StatusConflict || !strings.Contains(body, "counted from 0") {
		t.Errorf("the ninth: %d %s", code, body)
	}
	if code, body := asked(t, h, "POST", at+"/0/offer", ""); code != http.StatusForbidden {
		t.Errorf("by nobody: %d %s", code, body)
	}
	if code, body := asked(t, h, "POST", at+"/0/offer", "", PersonHeader, "ana"); code != http.StatusOK || !strings.Contains(body, `"kind":"offer","rule":"going_round_2","batch":"b","who":"ana"`) {
		t.Errorf("offered: %d %s", code, body)
	}
}

// Who may not see the service, or only reads, has nothing proposed; an unlabelled group neither.
func TestWhoMayHaveRulesProposed(t *testing.T) {
	src, id := keptSource(t)
	h := New(slog.New(slog.DiscardHandler), src, Options{Tokens: []Token{{Name: "vera", Token: "v"}, {Name: "sam", Token: "s", Decides: true, Services: []string{"shop-*"}}, {Name: "ana", Token: "a", Decides: true}}})
	at := "/v1/groups/" + id + "/propose"
	unlabelled := "/v1/groups/" + classify.NewFingerprint(classify.NoLabel, "parcel-desk", "desk").ID() + "/propose"
	for _, x := range []struct {
		path, token string
		code        int
		want        string
	}{{at, "v", 403, "triager"}, {at, "s", 404, "no such thing"}, {unlabelled, "a", 409, "give it a label first"}, {at, "a", 200, `"state":"done"`}} {
		if code, body := asked(t, h, "POST", x.path, "", "Authorization", "Bearer "+x.token); code != x.code || !strings.Contains(body, x.want) {
			t.Errorf("%s by %s: %d %s", x.path, x.token, code, body)
		}
	}
}

// A proposal is ended by another request, by whoever asked leaving, and when the service stops; meanwhile GET tells how far it is, and it is not begun twice.
func TestProposalIsEnded(t *testing.T) {
	src, id := keptSource(t)
	at := "/v1/groups/" + id + "/propose"
	read := src.Trace
	for _, how := range []string{"DELETE", "leaving", "stopping"} {
		n, held := 0, make(chan struct{})
		src.Trace = func(ctx context.Context, id string) (trajectory.Trace, error) { // the third run takes for ever
			if n++; n == 3 {
				close(held)
				<-ctx.Done()
			}
			return read(ctx, id)
		}
		stopping, stop := context.WithCancel(t.Context())
		src.Stopping = stopping
		h := New(slog.New(slog.DiscardHandler), src, Options{})
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan string)
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "http://localhost"+at, nil))
			done <- w.Body.String()
		}()
		select {
		case body := <-done:
			t.Fatalf("%s: it ended by itself: %s", how, body)
		case <-held:
		}
		if code, body := asked(t, h, "GET", at, ""); code != http.StatusOK || !strings.Contains(body, `"state":"running","doing":"reading runs","done":0,"of":19`) {
			t.Errorf("meanwhile: %d %s", code, body)
		}
		if code, body := asked(t, h, "POST", at, ""); code != http.StatusConflict || !strings.Contains(body, "are being proposed") {
			t.Errorf("begun twice: %d %s", code, body)
		}
		switch how {
		case "DELETE":
			asked(t, h, "DELETE", at, "")
		case "leaving":
			leave()
		case "stopping":
			stop()
		}
		if body := <-done; !strings.Contains(body, `"state":"stopped"`) {
			t.Errorf("%s: %s", how, body)
		}
		leave()
		stop()
	}
}

func TestCaseByTheAPI(t *testing.T) {
	src := testSource()
	src.Case = func(_ context.Context, id string) (ratchet.Preview, error) {
		if id != "loop-1" {
			return ratchet.Preview{}, ErrNotFound
		}
		return ratchet.Preview{Kind: "case", Group: id, Digest: "d", Files: []ratchet.CaseFile{}, Redacts: []ratchet.Redact{}}, nil
	}
	var wrote []string
	src.Edit = func(_ context.Context, id, who, digest string, expect []byte) (ratchet.Preview, error) {
		wrote = append(wrote, who+" "+digest+" "+string(expect))
		if digest != "d" {
			return ratchet.Preview{}, &ratchet.Refused{Reason: "the case changed since you looked"}
		}
		return src.Case(t.Context(), id)
	}
	h := New(slog.New(slog.DiscardHandler), src, Options{})
	for _, x := range []struct {
		method, id, body string
		code             int
		want             string
	}{
		{"GET", "loop-1", "", 200, `"kind":"case","group":"loop-1"`},
		{"GET", "loop-2", "", 404, "no such thing"},
		{"PUT", "loop-1", `{"digest":"d","expect":{"liveness":{"reply":true}}}`, 200, `"digest":"d"`},
		{"PUT", "loop-1", `{"digest":"d","expect":"liveness: {reply: true}"}`, 200, `"digest":"d"`},
		{"PUT", "loop-1", `{"digest":"d","expect":null}`, 200, `"digest":"d"`},
		{"PUT", "loop-1", `{"digest":"old","expect":{}}`, 409, "changed since you looked"},
		{"PUT", "loop-1", `{"digest":"d","expect":[]}`, 400, "neither an object nor a text"},
		{"PUT", "loop-1", `{"digest":"d","expect":""}`, 400, "null drops an edit"},
		{"PUT", "loop-1", `{"digest":"d","expects":{}}`, 400, "unknown"},
		{"PUT", "loop-1", `{"digest":"d","expect":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "at most 65536 bytes"},
	} {
		if code, body := asked(t, h, x.method, "/v1/groups/"+x.id+"/case", x.body, PersonHeader, "ana"); code != x.code || !strings.Contains(body, x.want) {
			t.Errorf("%s %.80s: %d %s", x.method, x.body, code, body)
		}
	}
	if want := []string{`ana d {"liveness":{"reply":true}}`, "ana d liveness: {reply: true}", "ana d ", "ana old {}"}; !slices.Equal(wrote, want) {
		t.Errorf("wrote %q", wrote)
	}
}
