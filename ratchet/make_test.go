package ratchet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/sample"
)

var quiet = slog.New(slog.DiscardHandler)

func testMaker(t testing.TB) *Maker {
	t.Helper()
	engine, err := classify.New(quiet, rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(quiet, redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Maker{Engine: engine, Oracle: oracle.New(quiet, rule.All()), Redactor: r}
}

func sampled(d sample.Dialect, s sample.Scenario, seed uint64) (trajectory.Trace, sample.Run) {
	h := fnv.New64()
	h.Write([]byte(s.Name)) // never fails; traces of different scenarios must not share an id
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	run := s.Make(rng)
	td := sample.Trace(d, run, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	return trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0], run
}

func healthyBaseline(d sample.Dialect) *baseline.Snapshot {
	b := baseline.New()
	for seed := range uint64(30) {
		t, _ := sampled(d, sample.Named("healthy"), seed)
		b.Learn(baseline.Measure(trajectory.Build(t)))
	}
	return b.Snapshot()
}

func findingOf(t testing.TB, m *Maker, tr trajectory.Trace, base *baseline.Snapshot, label string) classify.Finding {
	t.Helper()
	for _, f := range m.Engine.Classify(trajectory.Build(tr), base).Findings {
		if string(f.Label) == label {
			return f
		}
	}
	t.Fatalf("no finding of %s", label)
	return classify.Finding{}
}

// TestMake holds, for every failure in every dialect: the case decodes, its trace has the digest it names and still shows the failure, and no
// original of what was redacted is left in either file.
func TestMake(t *testing.T) {
	m := testMaker(t)
	for _, d := range sample.Dialects {
		base := healthyBaseline(d)
		for _, s := range sample.Scenarios {
			if s.Label == "" {
				continue
			}
			t.Run(d.Name+"/"+s.Name, func(t *testing.T) {
				tr, run := sampled(d, s, 99)
				f := findingOf(t, m, tr, base, s.Label)
				made, err := m.Make([]trajectory.Trace{tr}, f, Sightings{Count: 1, Traces: []string{tr.ID}}, base)
				if err != nil {
					t.Fatal(err)
				}
				c, err := regcase.Decode(made.YAML)
				if err != nil {
					t.Fatal(err)
				}
				if c.Trace.SHA256 != regcase.SHA256(made.Trace) {
					t.Error("the case names another trace")
				}
				red, err := Reread(made.Trace)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(m.Engine.Classify(red, base).Findings, func(g classify.Finding) bool { return g.Fingerprint.Equal(f.Fingerprint) }) {
					t.Error("the recorded trace is not red")
				}
				if len(c.Input.Turns) != 1 || len(c.Tools) != 4 {
					t.Errorf("%d turns and %d tools, want 1 and 4", len(c.Input.Turns), len(c.Tools))
				}
				if name, _, found := strings.Cut(run.User, "@customers.example"); found {
					name = name[strings.LastIndexByte(name, ' ')+1:]
					for _, b := range [][]byte{made.YAML, made.Trace, []byte(made.Why)} {
						if bytes.Contains(b, []byte(name)) {
							t.Errorf("the customer's address %q is still there", name)
						}
					}
					if c.Provenance.Redactions["email"] == 0 || !strings.Contains(c.Input.Turns[0].User, "email-1@example.com") {
						t.Errorf("no stand-in for the address: %v, %q", c.Provenance.Redactions, c.Input.Turns[0].User)
					}
				}
				if f.Form == classify.FormBudget && (c.Expect.Budget == nil || *c.Expect.Budget.TotalTokens > 2000) {
					t.Errorf("budget %+v is not from the healthy runs", c.Expect.Budget)
				}
			})
		}
	}
}

// TestMakeIsCanonical holds that neither the order nor the doubling of spans reaches the bytes.
func TestMakeIsCanonical(t *testing.T) {
	m := testMaker(t)
	for _, d := range sample.Dialects {
		rng := rand.New(rand.NewPCG(5, 7))
		td := sample.Trace(d, sample.Named("loop").Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
		var first Made
		for round := range 5 {
			shuffled := shuffle(td, rng)
			tr := trajectory.FromOTLP([]ptrace.Traces{shuffled}, nil)[0]
			made, err := m.Make([]trajectory.Trace{tr}, findingOf(t, m, tr, nil, "loop"), Sightings{Count: 1, Traces: []string{tr.ID}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if round == 0 {
				first = made
			}
			if !bytes.Equal(first.YAML, made.YAML) || !bytes.Equal(first.Trace, made.Trace) || first.Digest != made.Digest {
				t.Errorf("%s: another order of spans gave other bytes", d.Name)
			}
		}
	}
}

func shuffle(td ptrace.Traces, rng *rand.Rand) ptrace.Traces {
	out := ptrace.NewTraces()
	in := td.ResourceSpans().At(0).ScopeSpans().At(0)
	order := append(rng.Perm(in.Spans().Len()), rng.IntN(in.Spans().Len())) // one span twice
	for _, i := range order {
		rs := out.ResourceSpans().AppendEmpty()
		td.ResourceSpans().At(0).Resource().CopyTo(rs.Resource())
		ss := rs.ScopeSpans().AppendEmpty()
		in.Scope().CopyTo(ss.Scope())
		in.Spans().At(i).CopyTo(ss.Spans().AppendEmpty())
	}
	return out
}

// TestServedAndOfflineCasesAreEqual holds that a trace gives the same case whether it comes from a file or was kept by a worker.
func TestServedAndOfflineCasesAreEqual(t *testing.T) {
	m := testMaker(t)
	traces := captured(t, "openinference-openai-4.2.7", "otel-openai-responses-0.21.0", "strands-ts-1.16.0")
	for _, d := range sample.Dialects {
		tr, _ := sampled(d, sample.Named("loop"), 3)
		traces = append(traces, tr)
	}
	for _, tr := range traces {
		kept, err := record.Encode(tr, func(string) bool { return true }, func(_, text string) string { return text })
		if err != nil {
			t.Fatal(err)
		}
		td, ld, err := record.Decode(kept)
		if err != nil {
			t.Fatal(err)
		}
		served := trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld})[0]
		for _, f := range m.Engine.Classify(trajectory.Build(tr), nil).Findings {
			a, errA := m.Make([]trajectory.Trace{tr}, f, Sightings{}, nil)
			b, errB := m.Make([]trajectory.Trace{served}, findingOf(t, m, served, nil, string(f.Label)), Sightings{}, nil)
			if fmt.Sprint(errA) != fmt.Sprint(errB) || a.Digest != b.Digest || !bytes.Equal(a.YAML, b.YAML) || !bytes.Equal(a.Trace, b.Trace) {
				t.Errorf("trace %s: %s: the cases differ: %v %v", tr.ID, f.Label, errA, errB)
			}
		}
	}
}

// captured reads recorded telemetry of real SDKs, where it is at hand.
func captured(t *testing.T, sdks ...string) []trajectory.Trace {
	const dir = "../../shared/data/captures/"
	if _, err := os.Stat(dir); err != nil {
		t.Log("without the captures of real SDKs, which are not here")
		return nil
	}
	var traces []ptrace.Traces
	var logs []plog.Logs
	for _, sdk := range sdks {
		for item, err := range importer.Walk(importer.Options{}, dir+sdk) {
			switch {
			case err != nil: // truth files and the like
			case item.Data.Signal == wire.Traces:
				traces = append(traces, item.Data.Traces)
			default:
				logs = append(logs, item.Data.Logs)
			}
		}
	}
	out := trajectory.FromOTLP(traces, logs)
	if len(out) < 10*len(sdks) {
		t.Fatalf("%d traces of %d SDKs", len(out), len(sdks))
	}
	return out
}

func TestBudgetIsOfHealthyRuns(t *testing.T) {
	m := testMaker(t)
	d := sample.Dialects[0]
	spike, _ := sampled(d, sample.Named("spike"), 1)
	all, healthy := baseline.New(), baseline.New()
	for seed := range uint64(40) {
		tr, _ := sampled(d, sample.Named("healthy"), seed)
		run := baseline.Measure(trajectory.Build(tr))
		healthy.Learn(run)
		all.Learn(run)
	}
	for seed := range uint64(6) { // other spikes of the same route
		tr, _ := sampled(d, sample.Named("spike"), seed+2)
		run := baseline.Measure(trajectory.Build(tr))
		run.Values[baseline.FreshTokens] = 1 // they did not hide the spike itself
		all.Learn(run)
	}
	f := findingOf(t, m, spike, all.Snapshot(), "cost_spike")
	made, err := m.Make([]trajectory.Trace{spike}, f, Sightings{Healthy: healthy.Snapshot()}, all.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if c := made.Case; *c.Expect.Budget.TotalTokens > 1500 || c.Expect.Budget.Baseline != healthy.Snapshot().Digest() || c.Weak || !slices.Equal(c.Expect.Liveness.Calls, []string{"find_parcel"}) || c.Expect.Liveness.Healthy != 40 {
		t.Errorf("budget %+v, weak %v, liveness %+v", c.Expect.Budget, c.Weak, c.Expect.Liveness)
	}
	few := baseline.New()
	few.Learn(baseline.Measure(trajectory.Build(spike)))
	if _, err := m.Make([]trajectory.Trace{spike}, f, Sightings{Healthy: few.Snapshot()}, all.Snapshot()); err == nil {
		t.Error("a budget was made of one run")
	}
}

func TestRecordedTraceIsNamedFirst(t *testing.T) {
	m := testMaker(t)
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	made, err := m.Make([]trajectory.Trace{tr}, findingOf(t, m, tr, nil, "loop"), Sightings{Traces: []string{"a", "b", "c", tr.ID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := made.Case.Provenance.Traces, []string{tr.ID, "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("traces %v, want %v", got, want)
	}
}

// TestCaseThatIsTooLarge: the reason is an answer, and no error of the sweep.
func TestCaseThatIsTooLarge(t *testing.T) {
	m := testMaker(t)
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 1)
	made, err := m.Make([]trajectory.Trace{tr}, findingOf(t, m, tr, nil, "loop"), Sightings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = seal(made.Case, "why", make([]byte, maxCase+1), m.Redactor.Session())
	if reason, ok := AsRefused(err); !ok || !strings.Contains(reason, "8 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestMakeRefusesWhatCannotFail(t *testing.T) {
	m := testMaker(t)
	d := sample.Dialects[0]
	tr, _ := sampled(d, sample.Named("loop"), 1)
	healthy, _ := sampled(d, sample.Named("healthy"), 1)
	f := findingOf(t, m, tr, nil, "loop")
	_, err := m.Make([]trajectory.Trace{healthy}, f, Sightings{}, nil)
	if _, ok := errors.AsType[*Refused](err); !ok {
		t.Errorf("a healthy recording made a case: %v", err)
	}
	f.Form = classify.FormNone
	if _, err := m.Make([]trajectory.Trace{tr}, f, Sightings{}, nil); err == nil {
		t.Error("a label without a form made a case")
	}
	spike, _ := sampled(d, sample.Named("spike"), 1)
	f = findingOf(t, m, spike, healthyBaseline(d), "cost_spike")
	if _, err := m.Make([]trajectory.Trace{spike}, f, Sightings{}, nil); err == nil {
		t.Error("a budget was made without healthy runs")
	}
}

// TestBudgetOfMoney: the same tokens of a dearer model are a spike in money alone, and the case holds the agent to what healthy runs cost.
func TestBudgetOfMoney(t *testing.T) {
	prices, err := price.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := testMaker(t)
	if m.Engine, err = classify.New(quiet, rule.All(), classify.Options{Prices: prices}); err != nil {
		t.Fatal(err)
	}
	d := sample.Dialects[0]
	healthy := baseline.New()
	for seed := range uint64(40) {
		tr, _ := sampled(d, sample.Named("healthy"), seed)
		run := trajectory.Build(tr)
		m.Engine.Price(run)
		healthy.Learn(baseline.Measure(run))
	}
	base := healthy.Snapshot()
	tr, _ := sampled(d, sample.Named("healthy"), 3)
	for _, s := range tr.Spans {
		for _, v := range s.Attrs {
			if v.Type() == pcommon.ValueTypeStr && strings.HasPrefix(v.Str(), "gpt-4.1-mini") {
				v.SetStr(strings.Replace(v.Str(), "gpt-4.1-mini", "gpt-4.1", 1))
			}
		}
	}
	made, err := m.Make([]trajectory.Trace{tr}, findingOf(t, m, tr, base, "cost_spike"), Sightings{}, base)
	if err != nil {
		t.Fatal(err)
	}
	b := made.Case.Expect.Budget
	want := base.Stats(baseline.KeyOf(trajectory.Build(tr)), baseline.Cost).P95
	if b.CostUSD == nil || *b.CostUSD < want || *b.CostUSD > want+1e-6 || b.TotalTokens == nil || !strings.Contains(made.Why, "USD") {
		t.Errorf("budget %+v, healthy runs cost up to %v; %s", b, want, made.Why)
	}
}
