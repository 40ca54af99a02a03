package ratchet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/test/sample"
)

// say publishes verdicts as a worker does.
func say(t *testing.T, q *queue.Queue, vs ...Verdict) {
	t.Helper()
	for _, v := range vs {
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Findings.Append(t.Context(), "", doc); err != nil {
			t.Fatal(err)
		}
	}
}

func failing(traceID, service, session, why string) Verdict {
	f := classify.Finding{Label: "loop", Severity: classify.Blocking, Confidence: 0.9, Why: why, Fingerprint: classify.NewFingerprint("loop", service, "a"), Evidence: []classify.Evidence{}}
	return Verdict{TraceID: traceID, Revision: "r", SessionID: session, Service: service, Verdict: classify.Failing, Seen: time.Unix(1, 0).UTC(),
		Findings: []Found{{Finding: f, Form: classify.FormNever, Title: "get_order called 6 times"}}, Object: "sha256:none"}
}

// TestOddVerdictsAreFolded holds that no name or text of a trace, however long or strange, stops the absorber: at the next start it would stop again.
func TestOddVerdictsAreFolded(t *testing.T) {
	long := strings.Repeat("ä/ \x00", 40_000)
	route := failing("05", "router", "s", "why")
	route.Verdict, route.Findings = classify.Passing, []Found{}
	route.Run = &baseline.Run{Key: baseline.Key{Service: "router", Agent: "a", Route: long}, Values: map[baseline.Metric]float64{baseline.TotalTokens: 1}}
	for name, v := range map[string]Verdict{
		"service without a name":    failing("01", "", "s", "why"),
		"service of 300 odd bytes":  failing("02", strings.Repeat("ö", 150), "s", "why"),
		"service of 500 odd bytes":  failing("03", strings.Repeat("/ ", 250), "s", "why"),
		"service of 200 KB":         failing("04", long, "s", "why"),
		"route of 200 KB":           route,
		"session of 200 KB":         failing("06", "shop", long, "why"),
		"sentence of 200 KB":        failing("07", "shop", "s", long),
		"service called as no name": failing("08", noService, "s", "why"),
	} {
		t.Run(name, func(t *testing.T) {
			q := testQueue(t)
			a := testAbsorber(t, q, testFake(t))
			say(t, q, v, failing("99", "parcel-desk", "s", "why"))
			for range 2 {
				if err := a.CatchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			gs, err := a.Groups(t.Context())
			if want := 1 + len(v.Findings); err != nil || len(gs) != want {
				t.Errorf("%d groups, %v, want %d", len(gs), err, want)
			}
			ss, err := a.Services(t.Context())
			if err != nil || len(ss) != 2 || ss[0].Traces()+ss[1].Traces() != 2 {
				t.Errorf("services %+v, %v, want two with a trace each", ss, err)
			}
			if err := a.Sweep(t.Context(), time.Now()); err != nil {
				t.Errorf("sweep: %v", err)
			}
		})
	}
}

func TestTextThatIsNone(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	w := NewWorker(quiet, q, a.maker.Engine, func() *baseline.Snapshot { return nil })
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	for i := range tr.Spans {
		tr.Spans[i].Resource["service.name"] = pcommon.NewValueStr("shop\xff")
		tr.Spans[i].Attrs["session.id"] = pcommon.NewValueStr("\xff")
	}
	if _, err := w.Judge(t.Context(), tr, "rev", nil, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := onlyGroup(t, a); g.Count != 1 {
		t.Errorf("count %d", g.Count)
	}
}

func TestTargetsSeeTheServiceAsItIsNamed(t *testing.T) {
	targets := []Target{{Service: "Shop Support *", Repo: "acme/shop"}, {Service: "team/*", Repo: "acme/team"}, {Service: "*", Repo: "acme/rest"}}
	for service, want := range map[string]string{"Shop Support EU": "acme/shop", "team/orders": "acme/team", "a/b/c": "acme/rest", "": "acme/rest"} {
		if got, ok := TargetFor(targets, service); !ok || got.Repo != want {
			t.Errorf("%q goes to %q, want %q", service, got.Repo, want)
		}
	}
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	a.opts.Targets = targets
	say(t, q, failing("01", "Shop Support EU", "s", "why"))
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	gs, err := a.Groups(t.Context())
	if err != nil || len(gs) != 1 {
		t.Fatal(gs, err)
	}
	if s := a.opts.Policy.Status(&gs[0], targets[:2], nil); strings.Contains(s, "no line of targets") {
		t.Errorf("status %q though the first line of targets names the service", s)
	}
}

func TestMinCountBeyondTheSessionsThatAreKept(t *testing.T) {
	var g Group
	for i := range 30 {
		o := occurrence(i + 1)
		o.Finding.Severity = classify.Warning
		g.Take(o)
	}
	if due, why := (Policy{MinCount: 20, Labels: []classify.Label{"loop"}}).Due(&g); !due {
		t.Errorf("seen in 30 sessions and not due: %s", why)
	}
}

// TestFoldGoesOnBehindAnother: what another absorber folded and let go of is no loss; what nobody folded is.
func TestFoldGoesOnBehindAnother(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	say(t, q, failing("01", "shop", "s", "why"), failing("02", "shop", "s", "why"))
	if err := a.CatchUp(t.Context()); err != nil { // folds and purges
		t.Fatal(err)
	}
	say(t, q, failing("03", "shop", "s", "why"))
	late := testAbsorber(t, q, testFake(t))
	gap, ok := errors.AsType[*queue.GapError](late.foldFrom(t.Context(), 1))
	if !ok || !late.folded(t.Context(), gap.Last) {
		t.Fatalf("gap %+v, folded by another %v", gap, ok && late.folded(t.Context(), gap.Last))
	}
	if err := q.Findings.Purge(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	say(t, q, failing("04", "shop", "s", "why"))
	if _, ok := errors.AsType[*queue.GapError](late.Fold(t.Context())); !ok {
		t.Error("a message that nobody folded is gone, and Fold says nothing")
	}
}

// TestStopping: the absorber ends without an error and without a word when its time is over, in the middle of a pull request.
func TestStopping(t *testing.T) {
	for _, after := range []int64{0, 2, 4, 7} {
		q, f := testQueue(t), testFake(t)
		judge(t, q, "loop", 1)
		ctx, cancel := context.WithCancel(t.Context())
		net := &ending{counting: counting{RoundTripper: f.Transport()}, after: after + 1, end: cancel}
		a := absorberOver(t, q, net, Options{Mode: ghpr.ModeOpen, Sweep: time.Millisecond})
		var said lockedBuffer
		a.lg = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		if err := a.Run(ctx); err != nil {
			t.Errorf("stopped at request %d: %v", after+1, err)
		}
		if s := said.String(); s != "" {
			t.Errorf("said when stopped at request %d:\n%s", after+1, s)
		}
	}
}

// ending ends a context at a request.
type ending struct {
	counting
	after int64
	end   context.CancelFunc
}

func (e *ending) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.n.Load()+1 >= e.after {
		e.end()
	}
	return e.counting.RoundTrip(r)
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}
