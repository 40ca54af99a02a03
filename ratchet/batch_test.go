package ratchet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/sample"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// counting counts the requests that reach the network.
type counting struct {
	http.RoundTripper
	n atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

func absorberOver(t *testing.T, q *queue.Queue, transport http.RoundTripper, o Options) *Absorber {
	t.Helper()
	pr, err := ghpr.New(quiet, ghpr.Options{Mode: o.Mode, BaseURL: "http://127.0.0.1:1/", Token: pawlToken, Transport: transport, Pace: -1, Limits: ghpr.Limits{Open: 50, PerHour: 50, PerDay: 50}})
	if err != nil {
		t.Fatal(err)
	}
	o.Propose = true
	if o.Targets == nil {
		o.Targets = parcels("regressions")
	}
	return NewAbsorber(quiet, q, testMaker(t), pr, o)
}

func parcels(set string) []Target {
	return []Target{{Service: "parcel-*", Repo: "acme/parcels", Base: "main", Set: set}}
}

// judge publishes the verdict on one trace of a scenario.
func judge(t *testing.T, q *queue.Queue, scenario string, seed uint64) (traceID string, note []byte) {
	t.Helper()
	w := NewWorker(quiet, q, testMaker(t).Engine, func() *baseline.Snapshot { return nil })
	tr, _ := sampled(sample.Dialects[0], sample.Named(scenario), seed)
	note, err := w.Judge(t.Context(), tr, "rev", nil, time.Unix(int64(seed), 0))
	if err != nil {
		t.Fatal(err)
	}
	return tr.ID, note
}

// takeBack publishes a later revision of a trace, which is healthy.
func takeBack(t *testing.T, q *queue.Queue, traceID string, note []byte) {
	t.Helper()
	w := NewWorker(quiet, q, testMaker(t).Engine, func() *baseline.Snapshot { return nil })
	tr, _ := sampled(sample.Dialects[0], sample.Named("healthy"), 1)
	tr.ID = traceID
	for i := range tr.Spans {
		tr.Spans[i].TraceID = traceID
	}
	if _, err := w.Judge(t.Context(), tr, "later", note, time.Unix(99, 0)); err != nil {
		t.Fatal(err)
	}
}

func round(t *testing.T, a *Absorber, now time.Time) {
	t.Helper()
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Sweep(t.Context(), now); err != nil {
		t.Fatal(err)
	}
}

func onlyGroup(t *testing.T, a *Absorber) Group {
	t.Helper()
	gs, err := a.Groups(t.Context())
	if err != nil || len(gs) != 1 {
		t.Fatalf("%d groups, %v, want 1", len(gs), err)
	}
	return gs[0]
}

func batchesOf(t *testing.T, a *Absorber) []Batch {
	t.Helper()
	bs, err := a.Batches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return bs
}

func TestOpenPullRequestIsNotAskedForAtEverySweep(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	net := &counting{RoundTripper: f.Transport()}
	a := absorberOver(t, q, net, Options{Mode: ghpr.ModeOpen, Observe: 5 * time.Minute})
	judge(t, q, "loop", 1)
	round(t, a, noon)
	now := noon.Add(6 * time.Minute)
	round(t, a, now)
	before := net.n.Load()
	for range 30 {
		now = now.Add(5 * time.Second)
		round(t, a, now)
	}
	if n := net.n.Load() - before; n != 0 {
		t.Errorf("%d requests in two and a half minutes, half the time between two looks", n)
	}
	round(t, a, now.Add(5*time.Minute))
	if net.n.Load() == before {
		t.Error("it was not looked at again at all")
	}
}

func TestPullRequestThatIsOpenedAgain(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, Observe: 5 * time.Minute})
	judge(t, q, "loop", 1)
	round(t, a, noon)
	ana := f.Human("ana")
	now := noon
	for i, step := range []struct {
		deed   func(string, int) error
		denied bool
	}{{ana.Close, true}, {ana.Reopen, false}, {ana.Close, true}, {ana.Reopen, false}} {
		if err := step.deed("acme/parcels", 1); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Hour)
		round(t, a, now)
		g := onlyGroup(t, a)
		if _, denied := g.Denied(); denied != step.denied {
			t.Errorf("step %d: denied %v, want %v: %+v", i, denied, step.denied, g.Decisions)
		}
	}
	if err := ana.Merge("acme/parcels", 1); err != nil {
		t.Fatal(err)
	}
	round(t, a, now.Add(time.Hour))
	g, bs := onlyGroup(t, a), batchesOf(t, a)
	status := func() string { return a.opts.Policy.Status(&g, a.opts.Targets, map[string]*Batch{bs[0].Key(): &bs[0]}) }
	if s := status(); !strings.HasPrefix(s, "pull request merged: ") {
		t.Errorf("status %q", s)
	}
	if g.LastSeen = now.Add(24 * time.Hour); !strings.Contains(status(), "seen again since") {
		t.Errorf("status %q does not say that the failure came again", status())
	}
}

// TestAnotherSetIsAnotherBatch: a batch's key does not name the set, so a new set must not meet an old one's number.
func TestAnotherSetIsAnotherBatch(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	judge(t, q, "loop", 1)
	round(t, absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen}), noon)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, Targets: parcels("cases")})
	say(t, q, variant(t, a, q, 2, "other"))
	round(t, a, noon.Add(time.Hour))
	sets := []string{}
	for _, b := range batchesOf(t, a) {
		for _, file := range b.Intent.Files {
			sets = append(sets, strings.SplitN(file.Path, "/", 2)[0])
		}
	}
	slices.Sort(sets)
	if want := []string{"cases", "cases", "regressions", "regressions"}; !slices.Equal(sets, want) {
		t.Errorf("files in %v, want %v", sets, want)
	}
}

// variant is the verdict on a loop of another agent: the same trace scenario, another fingerprint.
func variant(t *testing.T, a *Absorber, q *queue.Queue, seed uint64, agent string) Verdict {
	t.Helper()
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), seed)
	for i := range tr.Spans {
		if _, ok := tr.Spans[i].Attrs["gen_ai.agent.name"]; ok {
			tr.Spans[i].Attrs["gen_ai.agent.name"] = pcommon.NewValueStr(agent)
		}
	}
	f := findingOf(t, a.maker, tr, nil, "loop")
	w := NewWorker(quiet, q, a.maker.Engine, nil)
	object, err := w.keep(t.Context(), tr, []Found{NewFound(f)})
	if err != nil {
		t.Fatal(err)
	}
	return Verdict{TraceID: tr.ID, Revision: "rev", Service: "parcel-desk", Verdict: classify.Failing, Findings: []Found{NewFound(f)}, Object: object, Seen: time.Unix(int64(seed), 0).UTC()}
}

func TestLongAndOddNamesInTitles(t *testing.T) {
	for _, service := range []string{"", "gh-12", strings.Repeat("s", 64), "a b/c", "@ana", strings.Repeat("ö", 300)} {
		b := Batch{Repo: "acme/parcels", Base: "main", Set: "regressions", Label: "tool_args_schema_violation", Service: classify.SafeName(service), Number: 1}
		b.Join(Member{Fingerprint: strings.Repeat("a", 64), CaseID: "tool_args_schema_violation-0123456789", CaseDigest: "d", Title: "t", Why: "w", Rule: "r@1"})
		q := testQueue(t)
		a := testAbsorber(t, q, testFake(t))
		for _, to := range []*string{&b.Members[0].YAML, &b.Members[0].Trace} {
			object, err := q.Objects.Put(t.Context(), []byte("a: text\n"))
			if err != nil {
				t.Fatal(err)
			}
			*to = object
		}
		if err := a.changeBatch(t.Context(), b.Key(), func(stored *Batch) error { *stored = b; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := a.drive(t.Context(), noon, &b); err != nil || b.Intent == nil {
			t.Errorf("service %q: not frozen: %v %s", service, err, b.Fault)
		}
	}
}

// TestManyCasesFitTheirBatches holds that a series of cases with long sentences is frozen whatever cases_per_pr says: a batch's value is small.
func TestManyCasesFitTheirBatches(t *testing.T) {
	const cases = 60
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, CasesPerPR: 50})
	object, err := q.Objects.Put(t.Context(), []byte("a: text\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := Group{Fingerprint: classify.NewFingerprint("loop", "parcel-desk", "a")}
	for i := range cases {
		id := fmt.Sprintf("%064x", i+1)
		m := Member{Fingerprint: id, CaseID: "loop-" + id[54:], CaseDigest: id, TraceID: id[:32], Title: "t", Why: clip(strings.Repeat(`"quotes" `, 200), maxText), Rule: "loop@1", YAML: object, Trace: object}
		if _, err := a.join(t.Context(), noon, parcels("regressions")[0], &g, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Sweep(t.Context(), noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, b := range batchesOf(t, a) {
		if b.Intent == nil || b.Intent.Receipt.State != ghpr.StateOpen {
			t.Errorf("%s with %d cases is not open: %s", b.Key(), len(b.Members), b.Fault)
		}
		held += len(b.Members)
	}
	if held != cases {
		t.Errorf("%d cases in batches, want %d", held, cases)
	}
}

func TestClockSetBackHoldsNothing(t *testing.T) {
	a := &Absorber{opts: Options{Hold: time.Minute, Observe: time.Minute}}
	b := Batch{Opened: noon, Members: []Member{{}}}
	for _, c := range []struct {
		now  time.Time
		held bool
	}{{noon, true}, {noon.Add(59 * time.Second), true}, {noon.Add(time.Minute), false}, {noon.Add(-time.Hour), false}} {
		if got := a.held(c.now, &b); got != c.held {
			t.Errorf("at %s: held %v, want %v", c.now.Format(time.TimeOnly), got, c.held)
		}
	}
}

// TestRecordingThatIsGone: another specimen takes its place, now or when it comes, and nothing is tried for ever.
func TestRecordingThatIsGone(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	judge(t, q, "loop", 1)
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := onlyGroup(t, a)
	if err := q.Objects.Delete(t.Context(), g.Specimens[0].Object); err != nil {
		t.Fatal(err)
	}
	round(t, a, noon)
	if g = onlyGroup(t, a); !strings.Contains(g.Refused, "is gone") {
		t.Errorf("refused %q", g.Refused)
	}
	judge(t, q, "loop", 2)
	round(t, a, noon.Add(time.Minute))
	if g = onlyGroup(t, a); g.Batch == "" || g.Refused != "" {
		t.Errorf("with another recording: batch %q, refused %q", g.Batch, g.Refused)
	}
}

// TestRefusedIsNotForEver: a group whose specimens make no case takes others in their place, within bounds, and all are tried again after a start.
func TestRefusedIsNotForEver(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	sound := variant(t, a, q, 7, "desk")
	for i := range maxSpecimens {
		v := sound
		v.TraceID, v.Object = fmt.Sprintf("%032d", i), ""
		object, err := q.Objects.Put(t.Context(), fmt.Appendf(nil, "not a recording %d", i))
		if err != nil {
			t.Fatal(err)
		}
		v.Object = object
		say(t, q, v)
	}
	round(t, a, noon)
	g := onlyGroup(t, a)
	if g.Refused == "" || g.Batch != "" || g.Tried != maxSpecimens {
		t.Fatalf("refused %q, batch %q, tried %d", g.Refused, g.Batch, g.Tried)
	}
	if !g.Wants(classify.Blocking) {
		t.Fatal("five refused specimens, and no other is wanted")
	}
	say(t, q, sound)
	round(t, a, noon.Add(time.Minute))
	if g = onlyGroup(t, a); g.Batch == "" || g.Refused != "" {
		t.Errorf("with a sound specimen: batch %q, refused %q", g.Batch, g.Refused)
	}
	g.Batch, g.Tried = "", maxTried
	for i := range g.Specimens {
		g.Specimens[i].Refused = "no"
	}
	if g.Wants(classify.Blocking) {
		t.Error("a hopeless group wants specimens without end")
	}
	if base, err := Snapshot(t.Context(), q); err != nil {
		t.Fatal(err)
	} else if made, _, err := a.make(t.Context(), noon, &g, true, func() (*baseline.Snapshot, error) { return base, nil }); err != nil || made == nil {
		t.Errorf("after a start nothing was tried anew: %v", err)
	}
}

// TestRetractedCaseIsTakenBack while nothing has left: from a collecting batch, from a previewed one; another specimen then makes the case.
func TestRetractedCaseIsTakenBack(t *testing.T) {
	for name, o := range map[string]Options{"collecting": {Mode: ghpr.ModeOpen, Hold: time.Hour}, "previewed": {Mode: ghpr.ModePreview}} {
		t.Run(name, func(t *testing.T) {
			q, f := testQueue(t), testFake(t)
			a := absorberOver(t, q, f.Transport(), o)
			id, note := judge(t, q, "loop", 1)
			round(t, a, noon)
			if b := batchesOf(t, a)[0]; len(b.Members) != 1 || b.Members[0].TraceID != id {
				t.Fatalf("batch %+v", b)
			}
			takeBack(t, q, id, note)
			round(t, a, noon.Add(time.Minute))
			if b, g := batchesOf(t, a)[0], onlyGroup(t, a); len(b.Members) != 0 || b.Intent != nil || b.Preview != "" || g.Batch != "" {
				t.Errorf("the case is still there: %+v, group in %q", b, g.Batch)
			}
			next, _ := judge(t, q, "loop", 2)
			for i := range 3 {
				round(t, a, noon.Add(time.Duration(2+i)*time.Minute))
			}
			held := []string{}
			for _, b := range batchesOf(t, a) {
				for _, m := range b.Members {
					held = append(held, m.TraceID)
				}
			}
			if !slices.Equal(held, []string{next}) {
				t.Errorf("batches hold cases of %v, want one of %s", held, next)
			}
		})
	}
}

func TestRetractedCaseThatWasSentStays(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	id, note := judge(t, q, "loop", 1)
	round(t, a, noon)
	takeBack(t, q, id, note)
	round(t, a, noon.Add(time.Minute))
	if b := batchesOf(t, a)[0]; len(b.Members) != 1 || b.Intent == nil || b.Intent.Receipt.State != ghpr.StateOpen {
		t.Errorf("a sent pull request was changed: %+v", b)
	}
}

// TestPreviewFollowsTargets: who sees in a preview that the repository is wrong mends the line, and nothing goes to the wrong one.
func TestPreviewFollowsTargets(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	judge(t, q, "loop", 1)
	wrong := []Target{{Service: "*", Repo: "acme/wrong", Base: "main", Set: "regressions"}}
	round(t, absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModePreview, Targets: wrong}), noon)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen})
	if err := a.rederive(t.Context()); err != nil {
		t.Fatal(err)
	}
	round(t, a, noon.Add(time.Hour))
	round(t, a, noon.Add(2*time.Hour))
	if n := len(f.Pulls("acme", "parcels")); n != 1 {
		t.Errorf("%d pull requests in the right repository, want 1", n)
	}
	for _, b := range batchesOf(t, a) {
		if b.Repo == "acme/wrong" && len(b.Members) > 0 {
			t.Errorf("a case still waits to go to the wrong repository: %+v", b)
		}
	}
}

func TestFreezeKeepsACaseThatJoinedMeanwhile(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := absorberOver(t, q, f.Transport(), Options{Mode: ghpr.ModeOpen, Hold: time.Hour})
	say(t, q, variant(t, a, q, 1, "one"), variant(t, a, q, 2, "two"))
	round(t, a, noon)
	stale := batchesOf(t, a)[0]
	if len(stale.Members) != 2 {
		t.Fatalf("%d members", len(stale.Members))
	}
	if err := a.withdraw(t.Context(), stale.Key(), stale.Members[0]); err != nil {
		t.Fatal(err)
	}
	say(t, q, variant(t, a, q, 3, "three"))
	round(t, a, noon.Add(time.Minute))
	if _, err := a.freeze(t.Context(), noon, &stale); !errors.Is(err, errRace) {
		t.Errorf("a stale view of the batch was frozen: %v", err)
	}
}

// TestTwoAbsorbersAtOnce: each case is in one batch, no batch is larger than it may be, each batch with cases has one pull request.
func TestTwoAbsorbersAtOnce(t *testing.T) {
	const groups, perPR = 8, 3
	q, f := testQueue(t), testFake(t)
	o := Options{Mode: ghpr.ModeOpen, CasesPerPR: perPR}
	first := absorberOver(t, q, f.Transport(), o)
	for i := range groups {
		say(t, q, variant(t, first, q, uint64(i+1), fmt.Sprintf("agent-%c", 'a'+i)))
	}
	absorbers := []*Absorber{first, absorberOver(t, q, f.Transport(), o), absorberOver(t, q, f.Transport(), o)}
	var wg sync.WaitGroup
	for _, a := range absorbers {
		wg.Go(func() {
			_ = a.CatchUp(t.Context()) // another may have folded and purged what this one reads
			if err := a.rederive(t.Context()); err != nil {
				t.Error(err)
			}
			for i := range 4 {
				_ = a.Sweep(t.Context(), noon.Add(time.Duration(i)*time.Minute)) // races are errors that say so
			}
		})
	}
	wg.Wait()
	a := absorberOver(t, q, f.Transport(), o)
	settle(t, a)
	wantEachOnce(t, a, f, groups, perPR)
}

// settle starts the absorber anew and lets it finish what there is to do.
func settle(t *testing.T, a *Absorber) {
	t.Helper()
	if err := a.rederive(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		round(t, a, noon.Add(time.Duration(i+1)*time.Hour))
	}
}

func wantEachOnce(t *testing.T, a *Absorber, f *fakegithub.Fake, groups, perPR int) {
	t.Helper()
	in := map[string]string{}
	pulls := 0
	for _, b := range batchesOf(t, a) {
		if len(b.Members) > perPR {
			t.Errorf("%s: %d cases, at most %d", b.Key(), len(b.Members), perPR)
		}
		if b.Intent == nil || b.Intent.Receipt.State != ghpr.StateOpen || len(b.Intent.Files) != 2*len(b.Members) {
			t.Errorf("%s: not opened with all its cases: %+v", b.Key(), b)
		}
		pulls++
		for _, m := range b.Members {
			if in[m.Fingerprint] != "" {
				t.Errorf("%s is in %s and in %s", m.CaseID, in[m.Fingerprint], b.Key())
			}
			in[m.Fingerprint] = b.Key()
		}
	}
	gs, err := a.Groups(t.Context())
	if err != nil || len(gs) != groups || len(in) != groups {
		t.Errorf("%d groups, %d cases, %v, want %d", len(gs), len(in), err, groups)
	}
	for _, g := range gs {
		if g.Batch != in[g.Fingerprint.Digest()] || g.Count != 1 {
			t.Errorf("%s: counted %d, points to %q, is in %q", g.ID(), g.Count, g.Batch, in[g.Fingerprint.Digest()])
		}
	}
	if n := len(f.Pulls("acme", "parcels")); n != pulls {
		t.Errorf("%d pull requests for %d batches", n, pulls)
	}
}

// dying ends after it was asked a number of times, as a process may be killed between any two steps that touch the disk or the network.
type dying struct {
	context.Context
	left atomic.Int64
	end  context.CancelFunc
}

func (d *dying) Done() <-chan struct{} {
	if d.left.Add(-1) < 0 {
		d.end()
	}
	return d.Context.Done()
}

// TestKilledAnywhere stops folding and sweeping at many places and starts anew.
func TestKilledAnywhere(t *testing.T) {
	const groups = 3
	q, f := testQueue(t), testFake(t)
	o := Options{Mode: ghpr.ModePreview, CasesPerPR: 2} // what a kill between two requests to GitHub does is for package ghpr to know
	first := absorberOver(t, q, f.Transport(), o)
	for i := range groups {
		say(t, q, variant(t, first, q, uint64(i+1), fmt.Sprintf("agent-%c", 'a'+i)))
	}
	kills := 0
	for steps := int64(1); steps < 300; steps += 1 + steps/4 {
		ctx, cancel := context.WithCancel(t.Context())
		d := &dying{Context: ctx, end: cancel}
		d.left.Store(steps)
		a := absorberOver(t, q, f.Transport(), o)
		if err := errors.Join(a.rederive(d), a.CatchUp(d), a.Sweep(d, noon.Add(time.Duration(steps)*time.Hour))); err != nil {
			kills++
		}
		cancel()
	}
	if kills < 5 {
		t.Errorf("only %d of the runs were stopped within", kills)
	}
	settle(t, absorberOver(t, q, f.Transport(), o))
	o.Mode = ghpr.ModeOpen
	a := absorberOver(t, q, f.Transport(), o)
	settle(t, a)
	wantEachOnce(t, a, f, groups, 2)
}
