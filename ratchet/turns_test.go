package ratchet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/sample"
)

// saidInTurn makes a trace of each turn of a conversation: the user says something, the agent makes the same call, it is refused, and the agent says sorry.
func saidInTurn(d sample.Dialect, refusal string, words ...string) (out []trajectory.Trace) {
	rng := rand.New(rand.NewPCG(7, 7))
	for i, said := range words {
		call := sample.Call{Tool: "reroute_parcel", Arguments: `{"depot":"north","speed":"fast"}`, Result: refusal, Failed: true}
		run := sample.Run{Name: "turns", Session: "chat-turns", User: said, Turns: []sample.Turn{
			{Calls: []sample.Call{call}, Input: 400, Output: 20},
			{Text: fmt.Sprintf("Sorry, that did not work (%d).", i), Input: 440, Output: 20},
		}}
		td := sample.Trace(d, run, noon.Add(time.Duration(i)*2*time.Minute), rng)
		out = append(out, trajectory.FromOTLP([]ptrace.Traces{td}, nil)...)
	}
	return out
}

// TestLoopOverTurns holds that the service, which keeps of a session no words, sees an agent that does the same in vain however the user pushes; that a case
// can be made of it; and that it sees none where the user asks for news.
func TestLoopOverTurns(t *testing.T) {
	pushing := []string{"My parcel must go through the depot in the north", "That did not help", "It is still not rerouted", "Continue", "No, this is wrong"}
	asking := []string{"My parcel must go through the depot in the north", "Any news?", "Please check again", "And now?", "Try once more"}
	for _, d := range sample.Dialects {
		for name, words := range map[string][]string{"pushing": pushing, "asking": asking} {
			t.Run(d.Name+" "+name, func(t *testing.T) {
				q := testQueue(t)
				a := testAbsorber(t, q, testFake(t))
				desk := newDesk(t, q, a.maker.Engine)
				a.opts.Traces = desk.traces
				traces := saidInTurn(d, `{"error":"the depot takes no parcels of this kind"}`, words...)
				for i, tr := range traces {
					desk.judge(tr, "r", noon.Add(time.Duration(i)*2*time.Minute))
				}
				foldAndSweep(t, a, noon.Add(time.Hour))
				g := labelled(t, a, classify.Loop)
				if name == "asking" {
					if g != nil {
						t.Fatalf("group %+v, want none", g)
					}
					return
				}
				if g == nil || g.Count != 1 || g.Severity != classify.Blocking || len(g.Specimens) != 1 || len(g.Specimens[0].Traces) != len(traces) {
					t.Fatalf("group %+v, want one loop with evidence in %d traces", g, len(traces))
				}
				var parts []*trajectory.Trajectory
				for _, tr := range traces {
					parts = append(parts, trajectory.Build(tr))
				}
				found := a.maker.Engine.ClassifySession(trajectory.Join(parts), nil)
				i := slices.IndexFunc(found, func(f classify.Finding) bool { return f.Fingerprint.Equal(g.Fingerprint) })
				if i < 0 {
					t.Fatalf("the traces themselves show %+v, want what the sketches do", found)
				}
				made, err := a.maker.Make(traces, found[i], Sightings{Count: 1, Traces: []string{found[i].TraceID()}}, nil)
				if err != nil || len(made.Case.Input.Turns) != len(words) {
					t.Errorf("a case of %d turns, %v, want %d", len(made.Case.Input.Turns), err, len(words))
				}
			})
		}
	}
}
