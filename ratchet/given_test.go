package ratchet

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/sample"
)

func user(text string) trajectory.Step {
	return trajectory.Step{Kind: trajectory.StepUser, Index: -1, Text: text}
}
func reply(text string) trajectory.Step {
	return trajectory.Step{Kind: trajectory.StepReply, Index: -1, Text: text}
}

func said(role, text string) trajectory.Message {
	return trajectory.Message{Role: role, Parts: []trajectory.Part{{Kind: trajectory.PartText, Text: text}}}
}

// TestTurnsHaveTheirReplies: what the agent answered stands with each turn that another follows, from the run's steps or from what its inputs tell.
func TestTurnsHaveTheirReplies(t *testing.T) {
	stepped := &trajectory.Trajectory{UserMessages: []string{"one", "two", "three"},
		Steps: []trajectory.Step{user("one"), reply("draft"), reply("first"), user("two"), user("three"), reply("last")}}
	told := &trajectory.Trajectory{UserMessages: []string{"one", "two"}, Steps: []trajectory.Step{user("one"), user("two"), reply("last")},
		ModelCalls: []trajectory.ModelCall{{New: []trajectory.Message{said("system", "be kind"), said("user", "one "), said("assistant", "first"), said("user", "two")}}}}
	for name, c := range map[string]struct {
		run  *trajectory.Trajectory
		want []string // "-" for none
	}{
		"steps":   {stepped, []string{"first", "-", "-"}},
		"inputs":  {told, []string{"first", "-"}},
		"nothing": {&trajectory.Trajectory{UserMessages: []string{"one", "two"}}, []string{"-", "-"}},
	} {
		got := []string{}
		for _, turn := range turns(c.run) {
			if turn.Reply == nil {
				got = append(got, "-")
				continue
			}
			got = append(got, *turn.Reply)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestClock(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 0, 0, 5, time.FixedZone("", 3600))
	if c := inputOf(&trajectory.Trajectory{Start: at}).Clock; c == nil || !c.Equal(at.Truncate(time.Second)) || c.Location() != time.UTC {
		t.Errorf("clock %v", c)
	}
	if c := inputOf(&trajectory.Trajectory{Start: at, Complete: trajectory.Completeness{SyntheticTime: true}}).Clock; c != nil {
		t.Errorf("a made-up time became a clock: %v", c)
	}
}

// TestToolsOfTheCatalog: a schema that only the catalog knows is in the case, as is a called tool that no span offers; one that spans bring along is not.
func TestToolsOfTheCatalog(t *testing.T) {
	schema := jsontext.Value(`{"type":"object"}`)
	cat, err := catalog.New([]catalog.Tool{{Name: "get", Schema: schema, Effect: catalog.EffectRead}, {Name: "put", Schema: schema, Effect: catalog.EffectWrite, Idempotent: true}, {Name: "other", Schema: schema}})
	if err != nil {
		t.Fatal(err)
	}
	run := &trajectory.Trajectory{ToolsOffered: []trajectory.ToolDef{{Name: "get"}, {Name: "find", Schema: schema}}, ToolCalls: []trajectory.ToolCall{{Name: "mcp__shop__put"}, {Name: "unheard_of"}, {Name: "get"}}}
	got := (&Maker{Catalog: cat}).tools(run)
	sum := regcase.SHA256(regcase.NewJSON(schema))
	want := []struct {
		name, effect string
		own          bool
	}{{"get", "read", true}, {"find", "unknown", false}, {"put", "write", true}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if g := got[i]; g.Name != w.name || g.Effect != w.effect || (g.Schema != nil) != w.own || g.SchemaSHA256 == nil || *g.SchemaSHA256 != sum {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	if !got[2].Idempotent {
		t.Error("that it may be sent twice is forgotten")
	}
}

// TestHealthyAnswersAreBounded in number and size, and never answer what the recording does.
func TestHealthyAnswersAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	recorded := []regcase.Fixture{{Tool: "a", Arguments: regcase.NewJSON([]byte(`{"n":1}`)), From: "recording"}}
	var runs []*trajectory.Trajectory
	for range 40 {
		run := &trajectory.Trajectory{}
		for range r.IntN(20) {
			text := `"` + string(slices.Repeat([]byte("x"), r.IntN(2*maxResult))) + `"`
			run.ToolCalls = append(run.ToolCalls, trajectory.ToolCall{Name: string(rune('a' + r.IntN(12))), HasResult: r.IntN(5) > 0, Outcome: trajectory.OutcomeOK,
				Arguments: trajectory.ParseValue(`{"n":` + string(rune('0'+r.IntN(10))) + `}`), Result: trajectory.ParseValue(text)})
		}
		runs = append(runs, run)
	}
	of, bytes := map[string]int{}, 0
	got := healthyFixtures(recorded, runs)
	for i, f := range got {
		of[f.Tool]++
		bytes += len(f.Arguments) + len(f.Result)
		if f.From != "healthy" || of[f.Tool] > maxOfTool || f.Tool == "a" && string(f.Arguments) == `{"n":1}` {
			t.Errorf("%+v", f)
		}
		if slices.ContainsFunc(got[:i], func(g regcase.Fixture) bool { return g.Tool == f.Tool && string(g.Arguments) == string(f.Arguments) }) {
			t.Errorf("%s %s is answered twice", f.Tool, f.Arguments)
		}
	}
	if len(got) == 0 || len(got) > maxHealthy || bytes > maxOfHealth {
		t.Errorf("%d answers of %d bytes", len(got), bytes)
	}
}

// TestServedCasesHaveControls: the service takes a case's control from the healthy traces that its assembler keeps.
func TestServedCasesHaveControls(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	d := sample.Dialects[0]
	kept := map[string]trajectory.Trace{}
	w := NewWorker(quiet, q, testMaker(t).Engine, func() *baseline.Snapshot { return nil })
	for seed := range uint64(12) {
		tr, _ := sampled(d, sample.Named("healthy"), seed)
		kept[tr.ID] = tr
		if _, err := w.Judge(t.Context(), tr, "rev", nil, time.Unix(int64(seed), 0)); err != nil {
			t.Fatal(err)
		}
	}
	failures(t, q, 1, 2)
	a := testAbsorber(t, q, f)
	a.opts.Traces = func(_ context.Context, id string) (trajectory.Trace, bool, error) {
		tr, ok := kept[id]
		return tr, ok, nil
	}
	sweep(t, a, time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC))
	batches, err := a.Batches(t.Context())
	if err != nil || len(batches) != 3 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	for _, b := range batches {
		yaml, _, err := a.content(t.Context())(b.Members[0])
		if err != nil {
			t.Fatal(err)
		}
		c, err := regcase.Decode([]byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		if c.Provenance.Control == nil || c.Weak || c.Expect.Liveness.Healthy != 12 {
			t.Errorf("%s: control %v, weak %v, %+v", c.ID, c.Provenance.Control, c.Weak, c.Expect.Liveness)
		}
		if _, ok := kept[*c.Provenance.Control]; !ok {
			t.Errorf("%s: control %s is none of the healthy runs", c.ID, *c.Provenance.Control)
		}
	}
}
