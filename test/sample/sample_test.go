package sample

import (
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
