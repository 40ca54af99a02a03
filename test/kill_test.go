package test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/sample"
)

var (
	full = flag.Bool("full", false, "TestKill: 20,000 spans and 10 kills instead of 2,000 and 4")
	seed = flag.Uint64("seed", 1, "TestKill: of the load and of the moments of the kills")
)

// killPlan says how much is sent and when the service is killed.
type killPlan struct {
	spans   int
	loading int      // kills while the load is being sent
	after   int      // kills while traces are completed, judged, folded and absorbed; one more comes when all is done
	creates []create // kills at writes to GitHub
	timeout time.Duration
}

// create is the n-th create of a branch or a pull request that reaches GitHub: the service is killed before its answer, or before it is done.
type create struct {
	n    int
	done bool
}

func newKillPlan(rng *rand.Rand) killPlan {
	if !*full {
		return killPlan{2000, 1, 1, []create{{1 + rng.IntN(8), true}}, 2 * time.Minute}
	}
	// A write that was not done costs a minute: so long must it stay away before it counts as absent.
	return killPlan{20_000, 3, 2, []create{{1, false}, {2 + rng.IntN(3), true}, {5, true}, {6 + rng.IntN(3), false}}, 8 * time.Minute}
}

// TestKill kills `pawl serve` with kill -9 at random moments of a load and of what follows it, and starts it again on the same data. Then every
// acknowledged span is in its trace, every failing trace is counted once, every healthy run was learnt once, and every failure has its case in
// one pull request, for which no write was sent twice.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	t.Logf("seed %d", *seed)
	k := newKillRun(t)
	first := k.makeLoads(k.plan.spans)
	k.sendWithKills(first)
	k.killAfterwards()
	k.awaitBaselines(first)
	k.send(k.spikes())
	k.send(k.lateVersions())
	k.awaitAll()
	k.check(k.svc.restart(func() {}))
	k.kills.Add(1)
	k.send([]load{k.marker()}) // when it is counted, all that was read again after the kill was, too
	k.awaitAll()
	k.checkAPI()
	k.check(k.svc.stop())
	k.checkGitHub()
	k.checkStores()
	t.Logf("%d traces with %d acknowledged spans, %d kills, %d sends repeated, %d pull requests", len(k.all), k.senders.acked.Load(), k.kills.Load(), k.senders.retries.Load(), len(k.gh.Pulls(ghOwner, ghRepo)))
}

type killRun struct {
	t       *testing.T
	ctx     context.Context
	rng     *rand.Rand
	plan    killPlan
	dir     string
	svc     *service
	gh      *github
	senders *senders
	kills   atomic.Int64
	all     []load            // without late versions
	groups  map[string]string // labels by id, as the API showed them last
}

func newKillRun(t *testing.T) *killRun {
	rng := rand.New(rand.NewPCG(*seed, 4))
	k := &killRun{t: t, rng: rng, plan: newKillPlan(rng), dir: t.TempDir(), gh: newGitHub(t)}
	bin := buildPawl(t)
	var cancel context.CancelFunc
	k.ctx, cancel = context.WithTimeout(t.Context(), k.plan.timeout)
	t.Cleanup(cancel)
	k.svc = newService(t, bin, k.dir, serveYAML(k.dir, k.gh))
	k.senders = &senders{svc: k.svc, known: map[string]map[string]bool{}}
	k.gh.hook = k.atCreate
	k.check(k.svc.start())
	return k
}

func (k *killRun) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// atCreate is the stand-in's hook.
func (k *killRun) atCreate(n int, op string, act func()) {
	i := slices.IndexFunc(k.plan.creates, func(c create) bool { return c.n == n })
	if i < 0 {
		act()
		return
	}
	err := k.svc.restart(func() {
		if k.plan.creates[i].done {
			act()
		}
	})
	k.kills.Add(1)
	if err != nil {
		k.t.Errorf("kill at create %d (%s): %v", n, op, err)
	}
}

// makeLoads makes traces of that many spans. First comes one of every kind in every dialect, so that the cases of one label meet in one pull request.
func (k *killRun) makeLoads(spans int) (out []load) {
	kinds := slices.DeleteFunc(slices.Clone(sample.Scenarios), func(s sample.Scenario) bool { return s.Label == "cost_spike" })
	for _, d := range sample.Dialects {
		for _, s := range kinds {
			out = append(out, newLoad(d, s, k.rng))
		}
	}
	for n := countSpans(out); n < spans; n += len(out[len(out)-1].spans) {
		s := sample.Named("healthy")
		if k.rng.IntN(2) == 0 {
			s = kinds[k.rng.IntN(len(kinds))]
		}
		out = append(out, newLoad(sample.Dialects[k.rng.IntN(len(sample.Dialects))], s, k.rng))
	}
	k.all = append(k.all, out...)
	return out
}

func countSpans(ls []load) (n int) {
	for _, l := range ls {
		n += len(l.spans)
	}
	return n
}

func (k *killRun) send(ls []load) { k.senders.send(k.ctx, k.t, ls, k.rng) }

// sendWithKills sends the load and kills when a random part of it is acknowledged.
func (k *killRun) sendWithKills(ls []load) {
	var at []int64
	for range k.plan.loading {
		at = append(at, int64(countSpans(ls))*int64(5+k.rng.IntN(90))/100)
	}
	slices.Sort(at)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.send(ls)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for _, n := range at {
		for k.senders.acked.Load() < n && k.ctx.Err() == nil {
			<-tick.C
		}
		k.check(k.svc.restart(func() {}))
		k.kills.Add(1)
	}
	<-done
}

// killAfterwards kills while the traces that were sent are completed, judged, folded and absorbed.
func (k *killRun) killAfterwards() {
	for range k.plan.after {
		select {
		case <-time.After(time.Duration(k.rng.IntN(2500)) * time.Millisecond):
		case <-k.ctx.Done():
		}
		k.check(k.svc.restart(func() {}))
		k.kills.Add(1)
	}
}

// awaitBaselines waits until the runs that spikes are measured against are known.
func (k *killRun) awaitBaselines(ls []load) {
	i := slices.IndexFunc(ls, func(l load) bool { return l.dialect == spikeDialect && l.scenario.Name == "healthy" })
	until(k.t, k.ctx, "healthy runs to be learnt", func() error {
		var a apiTrace
		if err := k.svc.get(k.ctx, "/v1/traces/"+ls[i].id, &a); err != nil {
			return err
		}
		for _, in := range a.Line.Inapplicable {
			if strings.HasPrefix(in.Rule, "cost_spike@") {
				return fmt.Errorf("cost_spike misses %s", in.Missing)
			}
		}
		return nil
	})
}

const spikeDialect = "otel-genai"

func (k *killRun) spikes() (out []load) {
	for range 5 {
		out = append(out, newLoad(sample.Dialects[0], sample.Named("spike"), k.rng))
	}
	k.all = append(k.all, out...)
	return out
}

// lateVersions are late versions of the roots of some traces, most of which were judged before: they are judged again and must not count twice.
func (k *killRun) lateVersions() (out []load) {
	for _, l := range k.all {
		if k.rng.IntN(15) == 0 {
			out = append(out, l.later())
		}
	}
	return out
}

func (k *killRun) marker() load {
	l := newLoad(sample.Dialects[1], sample.Named("loop"), k.rng)
	k.all = append(k.all, l)
	return l
}

// wantCounts is how many failing traces were sent, by label.
func (k *killRun) wantCounts() map[string]int {
	out := map[string]int{}
	for _, l := range k.all {
		if l.scenario.Label != "" {
			out[l.scenario.Label]++
		}
	}
	return out
}

// awaitAll waits until every failing trace is counted and every label has its pull request.
func (k *killRun) awaitAll() {
	k.t.Helper()
	want := k.wantCounts()
	until(k.t, k.ctx, fmt.Sprintf("the counts %v and as many open pull requests", want), func() error {
		var groups []apiGroup
		var batches []apiBatch
		if err := errors.Join(k.svc.get(k.ctx, "/v1/groups", &groups), k.svc.get(k.ctx, "/v1/batches", &batches)); err != nil {
			return err
		}
		got := map[string]int{}
		for _, g := range groups {
			got[string(g.Label)] += g.Count
		}
		states := map[string]string{}
		for _, b := range batches {
			states[string(b.Label)] += b.State + " " + b.Note + ","
		}
		open := 0
		for _, s := range states {
			if s == "open ," {
				open++
			}
		}
		if !maps.Equal(got, want) || open < len(want) {
			return fmt.Errorf("the counts are %v, the batches %v", got, states)
		}
		return nil
	})
}

// checkAPI holds that the API shows what was sent.
func (k *killRun) checkAPI() {
	var groups []apiGroup
	k.check(k.svc.get(k.ctx, "/v1/groups", &groups))
	k.groups = map[string]string{}
	for _, g := range groups {
		k.groups[g.ID] = string(g.Label)
	}
	for _, i := range k.rng.Perm(len(k.all))[:40] {
		l := k.all[i]
		var a apiTrace
		k.check(k.svc.get(k.ctx, "/v1/traces/"+l.id, &a))
		if a.Line.Stats.Spans != len(l.spans) {
			k.t.Errorf("trace %s has %d spans, %d were acknowledged", l.id, a.Line.Stats.Spans, len(l.spans))
		}
		primary := ""
		if a.Line.Primary != nil {
			primary = string(*a.Line.Primary)
		}
		if primary != l.scenario.Label {
			k.t.Errorf("trace %s (%s, %s) is labelled %q", l.id, l.dialect, l.scenario.Name, primary)
		}
	}
}

// checkGitHub holds that there is one pull request for each label, with the cases of its groups and nothing else.
func (k *killRun) checkGitHub() {
	k.gh.checkLedger(k.t)
	pulls := k.gh.Pulls(ghOwner, ghRepo)
	labels := slices.Sorted(maps.Keys(k.wantCounts()))
	if len(pulls) != len(labels) {
		k.t.Errorf("%d pull requests for the labels %v", len(pulls), labels)
	}
	got := map[string]string{} // label of the pull request by id of the case
	for _, p := range pulls {
		for dir, files := range k.gh.cases(k.t, p, "regressions") {
			label, id, _ := strings.Cut(dir, "/")
			if !strings.Contains(p.Title, " "+label+" ") || p.State != "open" || !slices.Equal(files, []string{regcase.CaseFile, regcase.JSONFile}) {
				k.t.Errorf("pull request %d, %q, %s, has %s with the files %v", p.Number, p.Title, p.State, dir, files)
			}
			if got[id] != "" {
				k.t.Errorf("case %s is in two pull requests", id)
			}
			got[id] = label
		}
	}
	if !maps.Equal(got, k.groups) {
		k.t.Errorf("the pull requests have the cases %v, the groups are %v", got, k.groups)
	}
}

// checkStores holds, on the stopped service's data, that its traces have exactly the spans that were acknowledged, that every healthy run was
// learnt once, and that the counts still are what they were.
func (k *killRun) checkStores() {
	k.checkSpans()
	k.withQueue(func(q *queue.Queue) {
		k.checkBaselines(q)
		groups, err := ratchet.NewAbsorber(slog.New(slog.DiscardHandler), q, nil, nil, ratchet.Options{}).Groups(k.ctx)
		k.check(err)
		got := map[string]int{}
		for _, g := range groups {
			if g.Count > 0 {
				got[string(g.Fingerprint.Label)] += g.Count
			}
		}
		if want := k.wantCounts(); !maps.Equal(got, want) {
			k.t.Errorf("the stored counts are %v, want %v", got, want)
		}
	})
}

func (k *killRun) checkSpans() {
	store, err := assemble.Open(slog.New(slog.DiscardHandler), filepath.Join(k.dir, "data", "traces", "p0"), assemble.Options{
		Done: func(context.Context, trajectory.Trace, assemble.Revision) ([]byte, error) {
			return nil, errors.New("nothing runs here")
		},
		Quarantine: func(_ context.Context, reason string, _ map[string]string, _ []byte) error {
			return errors.New(reason)
		},
	})
	k.check(err)
	defer func() { k.check(store.Close()) }()
	for _, l := range k.all {
		tr, err := store.Get(k.ctx, l.id)
		if err != nil {
			k.t.Errorf("trace %s: %v", l.id, err)
			continue
		}
		acked := slices.Sorted(maps.Keys(k.senders.known[l.id]))
		if got := spanIDs(tr); !slices.Equal(got, acked) || !slices.Equal(got, l.spans) {
			k.t.Errorf("trace %s holds the spans %v; acknowledged are %v", l.id, got, acked)
		}
	}
}

// spanIDs are the ids of a trace's spans, sorted; twice where a span is there twice.
func spanIDs(tr trajectory.Trace) (ids []string) {
	for _, s := range tr.Spans {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids
}

func (k *killRun) checkBaselines(q *queue.Queue) {
	snap, err := ratchet.Snapshot(k.ctx, q)
	k.check(err)
	got, want := map[int]int{}, map[int]int{}
	for _, key := range snap.Keys() {
		got[int(snap.Stats(key, baseline.TotalTokens).N)]++
	}
	runs := map[string]int{}
	for _, l := range k.all {
		if l.scenario.Label == "" {
			runs[l.dialect]++
		}
	}
	for _, n := range runs {
		want[n]++
	}
	if !maps.Equal(got, want) {
		k.t.Errorf("routes by how many runs they learnt: %v, want %v", got, want)
	}
}

func (k *killRun) withQueue(f func(q *queue.Queue)) {
	q, err := queue.Open(k.ctx, slog.New(slog.DiscardHandler), queue.Options{Dir: filepath.Join(k.dir, "data", "stream")})
	k.check(err)
	defer func() { k.check(q.Close()) }()
	f(q)
}
