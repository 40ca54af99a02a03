package ratchet

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/sample"
)

// shipped publishes the verdicts on runs that a version of the sample agent made, one a minute from minute on.
func shipped(t *testing.T, q *queue.Queue, scenario, version string, minute, count int) {
	t.Helper()
	w := NewWorker(quiet, q, testMaker(t).Engine, func() *baseline.Snapshot { return nil })
	for i := range count {
		rng := rand.New(rand.NewPCG(uint64(minute+i), uint64(len(scenario)*100+len(version))))
		td := sample.Trace(sample.Dialects[0], sample.Named(scenario).Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("service.version", version)
		tr := trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs(nil))[0]
		if _, err := w.Judge(t.Context(), tr, "rev", nil, time.Date(2026, 11, 30, 9, minute+i, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
	}
}

func historyOf(t *testing.T, a *Absorber) *lineage.History {
	t.Helper()
	ss, err := a.Services(t.Context())
	if err != nil || len(ss) != 1 {
		t.Fatalf("%d services, %v", len(ss), err)
	}
	return &ss[0].History
}

func same(s string) string { return s }

// What came before is what came before in the stream, whether it was folded together with the failure or long before; the pull request says it.
func TestGroupsKnowWhenTheyBegan(t *testing.T) {
	for name, folds := range map[string]bool{"all at once": false, "one after the other": true} {
		t.Run(name, func(t *testing.T) {
			q, f := testQueue(t), testFake(t)
			a := testAbsorber(t, q, f)
			step := func(scenario, version string, minute, count int) {
				shipped(t, q, scenario, version, minute, count)
				if folds {
					if err := a.CatchUp(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			step("healthy", "1.4.1", 0, 30)
			step("healthy", "1.4.2", 30, 5)
			step("loop", "1.4.2", 35, 2)
			step("healthy", "1.4.2", 37, 4)
			sweep(t, a, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))

			g := onlyGroup(t, a)
			want := "service.version 1.4.2 in place of 1.4.1, first seen 5 minutes before (5 traces); 30 traces"
			if s := g.Story(historyOf(t, a), same); s.Kind != lineage.Changed || !strings.Contains(s.Sentence, want) || !strings.Contains(s.Sentence, "All 2 sightings") {
				t.Errorf("%s: %s", s.Kind, s.Sentence)
			}
			pulls := f.Pulls("acme", "parcels")
			if len(pulls) != 1 || !strings.Contains(pulls[0].Body, "**When it began**") || !strings.Contains(pulls[0].Body, "service.version ` 1.4.2 ` in place of ` 1.4.1 `") {
				t.Errorf("the pull request does not say it: %+v", pulls)
			}
		})
	}
}

// A kill between the groups' change and the services' has the verdicts folded again: nothing counts twice, and the beginning stays.
func TestBeginningSurvivesAKill(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := testAbsorber(t, q, f)
	shipped(t, q, "healthy", "1", 0, 25)
	shipped(t, q, "loop", "2", 25, 1)
	var vs []sequenced
	for m, err := range q.Findings.Read(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		fold := folding{Absorber: a}
		if err := fold.take(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if vs = append(vs, fold.pending...); len(vs) == 26 {
			break
		}
	}
	for range 2 {
		if err := a.fold(t.Context(), vs); err != nil {
			t.Fatal(err)
		}
	}
	g, h := onlyGroup(t, a), historyOf(t, a)
	if g.Count != 1 || g.Began == nil || g.Began.Traces != 25 || len(h.Agents) != 1 || h.Agents[0].Traces != 26 {
		t.Errorf("count %d, began %+v, history %+v", g.Count, g.Began, h)
	}
	if _, spread := g.Story(h, same), g.Began.Table(g.Spread, h); spread[0].Value != "2" || spread[0].Sightings != 1 || spread[0].Failing != 1 || spread[1].Traces != 25 {
		t.Errorf("spread %+v", spread)
	}
}

// A retraction takes its sighting out of the spread, and a group that begins anew notes a new beginning.
func TestRetractionLeavesTheSpread(t *testing.T) {
	var g Group
	c := lineage.Context{Version: "1", Agents: []lineage.AgentContext{{Models: []string{"m"}}}}
	o := Occurrence{Finding: occurrence(1).Finding, TraceID: strings.Repeat("a", 32), Revision: "r1", Context: &c, Began: &lineage.Began{Traces: 7}, Sequence: 1}
	g.Take(o)
	if g.Began.Traces != 7 || len(g.Spread) != 2 {
		t.Fatalf("%+v %+v", g.Began, g.Spread)
	}
	if !g.Retract(o.TraceID, "r2", &c, 2) || len(g.Spread) != 0 {
		t.Errorf("the spread keeps a retracted sighting: %+v", g.Spread)
	}
	o.TraceID, o.Revision, o.Sequence, o.Began = strings.Repeat("b", 32), "r1", 3, &lineage.Began{Traces: 9}
	if g.Take(o); g.Began.Traces != 9 {
		t.Errorf("began %+v, want the new beginning", g.Began)
	}
}
