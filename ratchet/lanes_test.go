package ratchet

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/sample"
)

// trips is a network made of a function.
type trips func(*http.Request) (*http.Response, error)

func (f trips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOneSlowRepository: a repository whose GitHub hangs for good holds up no other: sweeps go on, and the other's pull request is opened.
func TestOneSlowRepository(t *testing.T) {
	f, q := testFake(t), testQueue(t)
	if err := f.AddRepo("acme", "slow", ""); err != nil {
		t.Fatal(err)
	}
	hung, opened := make(chan string, 1000), make(chan bool, 1000)
	f.Observe(func(x fakegithub.Exchange) {
		if x.Method == http.MethodPost && strings.HasSuffix(x.URL.Path, "/acme/parcels/pulls") && x.Status == 201 {
			opened <- true
		}
	})
	net := trips(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/acme/slow") {
			hung <- r.URL.Path
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return f.Transport().RoundTrip(r)
	})
	a := absorberOver(t, q, net, Options{Mode: ghpr.ModeOpen, Sweep: time.Millisecond, Targets: []Target{
		{Service: "slow-*", Repo: "acme/slow", Base: "main", Set: "regressions"}, {Service: "parcel-*", Repo: "acme/parcels", Base: "main", Set: "regressions"}}})
	say(t, q, ofService(t, a, q, 1, "slow-desk"))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	<-hung // it is under way, and stays so
	say(t, q, variant(t, a, q, 2, "two"))
	<-opened
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := len(f.Pulls("acme", "slow")); n != 0 {
		t.Errorf("%d pull requests of the one that hangs", n)
	}
}

// TestWake: what a webhook tells of is looked at at once, and of nothing else; without one it is looked at when its time has come.
func TestWake(t *testing.T) {
	f, q := testFake(t), testQueue(t)
	net := &counting{RoundTripper: f.Transport()}
	a := absorberOver(t, q, net, Options{Mode: ghpr.ModeOpen, Observe: time.Hour})
	say(t, q, variant(t, a, q, 1, "one"))
	round(t, a, noon)
	round(t, a, noon.Add(time.Minute))
	if err := f.Human("ana").Close("acme/parcels", 1); err != nil {
		t.Fatal(err)
	}
	state := func() ghpr.State { return batchesOf(t, a)[0].Intent.Receipt.State }
	id := batchesOf(t, a)[0].Intent.RepoID
	before := net.n.Load()
	for _, w := range []Woken{{RepoID: id + 1}, {Names: []string{"acme/other"}}} {
		a.Wake(w)
		round(t, a, noon.Add(2*time.Minute))
	}
	if net.n.Load() != before || state() != ghpr.StateOpen {
		t.Errorf("another repository's news: %d requests, %s", net.n.Load()-before, state())
	}
	a.Wake(Woken{Names: []string{"ACME/Parcels"}})
	round(t, a, noon.Add(3*time.Minute))
	if state() != ghpr.StateClosed {
		t.Error("not looked at")
	}
	if err := f.Human("ana").Reopen("acme/parcels", 1); err != nil {
		t.Fatal(err)
	}
	a.Wake(Woken{RepoID: id})
	round(t, a, noon.Add(4*time.Minute))
	if state() != ghpr.StateOpen {
		t.Error("by its number: not looked at")
	}
	before = net.n.Load()
	round(t, a, noon.Add(5*time.Minute))
	if net.n.Load() != before {
		t.Error("woken once, looked at twice")
	}
}

// TestWakeEndsASleep: what waits for a person's change goes on when news come, and not before.
func TestWakeEndsASleep(t *testing.T) {
	f, q := testFake(t), testQueue(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	if err := f.Edit("acme", "parcels", func(r *fakegithub.Repo) { r.Archived = true }); err != nil {
		t.Fatal(err)
	}
	say(t, q, variant(t, a, q, 1, "one"))
	round(t, a, noon)
	if err := f.Edit("acme", "parcels", func(r *fakegithub.Repo) { r.Archived = false }); err != nil {
		t.Fatal(err)
	}
	round(t, a, noon.Add(time.Minute))
	if n := len(f.Pulls("acme", "parcels")); n != 0 {
		t.Fatalf("%d pull requests", n)
	}
	a.Wake(Woken{})
	round(t, a, noon.Add(2*time.Minute))
	if n := len(f.Pulls("acme", "parcels")); n != 1 {
		t.Errorf("%d pull requests", n)
	}
}

// ofService is a verdict on a failing trace of another service.
func ofService(t *testing.T, a *Absorber, q *queue.Queue, seed uint64, service string) Verdict {
	t.Helper()
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), seed)
	for i := range tr.Spans {
		tr.Spans[i].Resource["service.name"] = pcommon.NewValueStr(service)
	}
	f := findingOf(t, a.maker, tr, nil, "loop")
	object, err := NewWorker(quiet, q, a.maker.Engine, nil).keep(t.Context(), tr, []Found{NewFound(f)})
	if err != nil {
		t.Fatal(err)
	}
	return Verdict{TraceID: tr.ID, Revision: "rev", Service: service, Verdict: classify.Failing, Findings: []Found{NewFound(f)}, Object: object, Seen: time.Unix(int64(seed), 0).UTC()}
}
