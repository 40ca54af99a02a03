package sample

import (
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func build(d Dialect, s Scenario, seed uint64) *trajectory.Trajectory {
	rng := rand.New(rand.NewPCG(seed, 7))
	td := Trace(d, s.Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	return trajectory.Build(trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0])
}

// TestEveryDialectTellsTheSame holds that what happened is found whatever SDK wrote it down, and nothing else is.
func TestEveryDialectTellsTheSame(t *testing.T) {
	engine, err := classify.New(slog.New(slog.DiscardHandler), rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Dialects {
		healthy := baseline.New()
		for seed := range uint64(30) {
			healthy.Learn(baseline.Measure(build(d, Named("healthy"), seed)))
		}
		base := healthy.Snapshot()
		for _, s := range Scenarios {
			t.Run(d.Name+"/"+s.Name, func(t *testing.T) {
				tr := build(d, s, 99)
				report := engine.Classify(tr, base)
				var got classify.Label
				if report.Primary != nil {
					got = *report.Primary
				}
				if string(got) != s.Label {
					t.Errorf("primary is %q, want %q\nfindings: %+v\ninapplicable: %+v", got, s.Label, report.Findings, report.Inapplicable)
				}
				if s.Label == "" && len(report.Findings) > 0 {
					t.Errorf("a healthy run has findings: %+v", report.Findings)
				}
				for _, f := range report.Findings {
					if string(f.Label) != s.Label {
						t.Errorf("also found %s: %s", f.Label, f.Why)
					}
				}
				run := s.Make(rand.New(rand.NewPCG(99, 7)))
				calls, tokens := 0, int64(0)
				for _, turn := range run.Turns {
					calls += len(turn.Calls)
					tokens += turn.Input + turn.Output
				}
				if len(tr.ToolCalls) != calls {
					t.Errorf("%d tool calls, want %d", len(tr.ToolCalls), calls)
				}
				if len(tr.ModelCalls) != len(run.Turns) {
					t.Errorf("%d model calls, want %d", len(tr.ModelCalls), len(run.Turns))
				}
				if got := baseline.Measure(tr).Values[baseline.TotalTokens]; got != float64(tokens) {
					t.Errorf("%v tokens, want %d", got, tokens)
				}
				if tr.SessionID != run.Session {
					t.Errorf("session %q, want %q", tr.SessionID, run.Session)
				}
				if len(tr.UserMessages) != 1 || tr.UserMessages[0] != run.User {
					t.Errorf("user messages %q, want %q", tr.UserMessages, run.User)
				}
			})
		}
	}
}

// TestOrderDoesNotMatter holds that any order and any duplication of the same spans, over any number of requests, gives the same findings.
func TestOrderDoesNotMatter(t *testing.T) {
	engine, err := classify.New(slog.New(slog.DiscardHandler), rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, d := range Dialects {
		for _, s := range Scenarios {
			td := Trace(d, s.Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
			var first string
			for round := range 6 {
				requests := []ptrace.Traces{td}
				if round > 0 {
					requests = scatter(td, rng)
				}
				tr := trajectory.Build(trajectory.FromOTLP(requests, nil)[0])
				b, err := json.Marshal(classify.NewLine(tr, engine.Classify(tr, nil)))
				if err != nil {
					t.Fatal(err)
				}
				if round == 0 {
					first = string(b)
				}
				if string(b) != first {
					t.Errorf("%s/%s: another order gave other findings:\n%s\n%s", d.Name, s.Name, first, b)
				}
			}
		}
	}
}

// scatter puts each span into a request of its own, in any order, some of them twice.
func scatter(td ptrace.Traces, rng *rand.Rand) []ptrace.Traces {
	in := td.ResourceSpans().At(0)
	n := in.ScopeSpans().At(0).Spans().Len()
	var out []ptrace.Traces
	for _, i := range append(rng.Perm(n), rng.IntN(n), rng.IntN(n)) {
		one := ptrace.NewTraces()
		rs := one.ResourceSpans().AppendEmpty()
		in.Resource().CopyTo(rs.Resource())
		ss := rs.ScopeSpans().AppendEmpty()
		in.ScopeSpans().At(0).Scope().CopyTo(ss.Scope())
		in.ScopeSpans().At(0).Spans().At(i).CopyTo(ss.Spans().AppendEmpty())
		out = append(out, one)
	}
	return out
}
