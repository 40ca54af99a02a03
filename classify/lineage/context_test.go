package lineage

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func set(defs ...trajectory.ToolDef) *trajectory.ToolSet { return trajectory.NewToolSet(defs) }

func def(name, words, schema string) trajectory.ToolDef {
	return trajectory.ToolDef{Name: name, Description: words, Schema: []byte(schema)}
}

const orderSchema = `{"properties":{"order_id":{"type":"string"}},"required":["order_id"],"type":"object"}`

func crew(order ...string) *trajectory.Trajectory {
	prompts := map[string]string{"triage": "Route it. Today is Monday, 30 November 2026.", "billing": "You bill.", "orders": "You find orders."}
	t := &trajectory.Trajectory{Version: "1.4.2", Agents: []string{"triage"}, Route: "POST /chat"}
	for i, name := range order {
		tools := set(def("get_order", "Finds an order.", orderSchema))
		if name == "triage" {
			tools = set(def("transfer_to_billing", "", `{"type":"object"}`), def("transfer_to_orders", "", `{"type":"object"}`))
		}
		t.ModelCalls = append(t.ModelCalls, trajectory.ModelCall{Agent: name, System: prompts[name], ModelRequested: "model-" + name, ModelResponded: "model-" + name + "-0806",
			Offered: tools, Start: time.Unix(int64(i), 0)})
	}
	return t
}

func TestContextOf(t *testing.T) {
	c := ContextOf(crew("triage", "billing", "orders", "triage"))
	if len(c.Agents) != 3 || c.Agents[0].Agent != "triage" || c.Version != "1.4.2" {
		t.Fatalf("%+v", c)
	}
	b := c.Of("billing")
	if b.Agent != "billing" || b.Prompts[0] != PromptDigest("You bill.") || b.Models[0] != "model-billing" || b.Tools[0].Name != "get_order" || b.Tools[0].Required != 1 || b.Route != "" {
		t.Errorf("billing ran with %+v", b)
	}
	if got := c.Of("nobody"); got.Agent != "triage" {
		t.Errorf("an agent that called no model has the context of %q, want the first agent's", got.Agent)
	}
}

// In which order sub-agents ran, and how often, does not matter; that one did not run leaves the others as they are.
func TestContextDoesNotFlip(t *testing.T) {
	text := func(c Context) string {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := ContextOf(crew("triage", "billing", "orders"))
	if got := ContextOf(crew("triage", "orders", "orders", "billing", "triage")); text(got) != text(want) {
		t.Errorf("%s\n%s", text(got), text(want))
	}
	if got := ContextOf(crew("orders", "triage", "billing")); text(got) != text(want) { // a helper's call before the first agent's own
		t.Errorf("%s\n%s", text(got), text(want))
	}
	few := ContextOf(crew("triage", "orders"))
	for _, name := range []string{"triage", "orders"} {
		if few.Of(name).ToolsDigest() != want.Of(name).ToolsDigest() || few.Of(name).PromptsDigest() != want.Of(name).PromptsDigest() {
			t.Errorf("%s: another context because billing did not run", name)
		}
	}
}

// A Reader returns what a new one does, whatever it has met, and forgets before it holds too much.
func TestReaderRemembersNothingWrong(t *testing.T) {
	var r Reader
	for i := range 60 {
		tr := crew("triage", "orders")
		tr.ModelCalls[0].System = strings.Repeat(string(rune('a'+i%26)), i*700+1)
		tr.ModelCalls[1].Offered = set(def("get_order", strings.Repeat("x", i), orderSchema))
		got, want := r.ContextOf(tr), ContextOf(tr)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("run %d: %+v, want %+v", i, got, want)
		}
		if r.held > maxHeld {
			t.Fatalf("holds %d bytes", r.held)
		}
	}
}

func TestContextTellsTools(t *testing.T) {
	of := func(s *trajectory.ToolSet) *AgentContext {
		c := ContextOf(&trajectory.Trajectory{ModelCalls: []trajectory.ModelCall{{Offered: s}}})
		return c.Of("")
	}
	base := of(set(def("a", "Words.", orderSchema), def("b", "", `{}`)))
	if again := of(set(def("b", "", `{}`), def("a", "Words.", orderSchema))); again.ToolsDigest() != base.ToolsDigest() {
		t.Error("the order of tools counts")
	}
	if dated := of(set(def("a", "As of 2026-11-30.", orderSchema))).ToolsDigest(); dated != of(set(def("a", "As of 2026-12-01.", orderSchema))).ToolsDigest() {
		t.Error("a date in a description counts")
	}
	for what, s := range map[string]*trajectory.ToolSet{
		"words":  set(def("a", "Other words.", orderSchema), def("b", "", `{}`)),
		"schema": set(def("a", "Words.", strings.Replace(orderSchema, "string", "integer", 1)), def("b", "", `{}`)),
		"fewer":  set(def("a", "Words.", orderSchema)),
		"none":   set(),
	} {
		if of(s).ToolsDigest() == base.ToolsDigest() {
			t.Errorf("%s: not seen", what)
		}
	}
	if of(nil).ToolsDigest() != "" || of(set()).ToolsDigest() == "" {
		t.Error("no tools and untold tools are not told apart")
	}
}

func TestContextModels(t *testing.T) {
	for _, names := range [][2]string{{"gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"}, {"", "gpt-4.1-mini-2025-04-14"}, {"", "gpt-4.1-mini-20250414"}} {
		c := ContextOf(&trajectory.Trajectory{ModelCalls: []trajectory.ModelCall{{ModelRequested: names[0], ModelResponded: names[1]}}})
		if got := c.Agents[0].Models; len(got) != 1 || got[0] != "gpt-4.1-mini" {
			t.Errorf("%v: %v", names, got)
		}
	}
}

func TestContextOfUnnamedAgents(t *testing.T) {
	c := ContextOf(&trajectory.Trajectory{Route: "POST /orders/8271 now", ModelCalls: []trajectory.ModelCall{{System: "a"}, {System: "b"}, {System: "a"}}})
	if a := c.Agents[0]; len(c.Agents) != 1 || len(a.Prompts) != 2 || strings.Contains(a.Route, "8271") || a.Route == "" {
		t.Errorf("%+v", c)
	}
	if c := ContextOf(&trajectory.Trajectory{}); c.Of("x") != nil || c.Agents == nil {
		t.Errorf("%+v", c)
	}
	long := ContextOf(&trajectory.Trajectory{Version: strings.Repeat("é", 200), ModelCalls: []trajectory.ModelCall{{Agent: strings.Repeat("n", 5000), ModelRequested: strings.Repeat("m", 300)}}})
	if len(long.Version) > maxContextName || len(long.Agents[0].Agent) > maxContextName || len(long.Agents[0].Models[0]) > maxContextName {
		t.Errorf("unbounded: %+v", long)
	}
}

// BenchmarkContextOf is one run of three agents with two tools each.
func BenchmarkContextOf(b *testing.B) {
	t := crew("triage", "orders", "orders", "billing", "triage")
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			ContextOf(t)
		}
	})
	b.Run("again", func(b *testing.B) {
		var r Reader
		for b.Loop() {
			r.ContextOf(t)
		}
	})
}
