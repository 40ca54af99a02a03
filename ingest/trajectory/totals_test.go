package trajectory

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// An agent's total stands in where no call below it tells its usage, once, and nowhere else.
func TestAgentTotals(t *testing.T) {
	const usage = `"gen_ai.usage.input_tokens":90,"gen_ai.usage.output_tokens":9,`
	span := func(id, parent, op, usage string) string {
		return `{"span":"` + id + `","parent":"` + parent + `","name":"` + op + ` x","at":[1,9],"attrs":{` + usage +
			`"gen_ai.operation.name":"` + op + `","gen_ai.agent.name":"` + id + `"}}` + "\n"
	}
	for _, c := range []struct {
		name, spans string
		totals      []string
		inTotal     []bool // by call
	}{
		{"calls tell", span("a", "", "invoke_agent", usage) + span("m", "a", "chat", usage), nil, []bool{false}},
		{"no call tells", span("a", "", "invoke_agent", usage) + span("m", "a", "chat", "") + span("n", "a", "chat", ""), []string{"a"}, []bool{true, true}},
		{"the outermost counts", span("a", "", "invoke_agent", usage) + span("b", "a", "invoke_agent", usage) + span("m", "b", "chat", ""), []string{"a"}, []bool{true}},
		{"one of two agents' calls tell", span("a", "", "invoke_agent", "") + span("b", "a", "invoke_agent", usage) + span("m", "b", "chat", usage) +
			span("c", "a", "invoke_agent", usage) + span("n", "c", "chat", ""), []string{"c"}, []bool{false, true}},
		{"the inner one's calls tell", span("a", "", "invoke_agent", usage) + span("b", "a", "invoke_agent", usage) + span("m", "b", "chat", usage) + span("n", "a", "chat", ""),
			nil, []bool{false, false}},
		{"a failed run sums up to nothing", span("a", "", "invoke_agent", `"gen_ai.usage.input_tokens":0,"gen_ai.usage.output_tokens":0,`) + span("m", "a", "chat", ""), nil, []bool{false}},
		{"no calls", span("a", "", "invoke_agent", usage), nil, []bool{false}}, // it is a call itself
	} {
		tds, _ := fixture(t, []byte(c.spans))
		x := Build(FromOTLP(tds, nil)[0])
		var totals []string
		for _, a := range x.AgentTotals {
			totals = append(totals, a.Agent)
			if a.Usage.Input == nil || *a.Usage.Input != 90 {
				t.Errorf("%s: %+v", c.name, a)
			}
		}
		if len(totals) != len(c.totals) || len(totals) > 0 && totals[0] != c.totals[0] || len(x.ModelCalls) != len(c.inTotal) {
			t.Errorf("%s: totals %v, %d calls", c.name, totals, len(x.ModelCalls))
			continue
		}
		for i, m := range x.ModelCalls {
			if m.InTotal != c.inTotal[i] {
				t.Errorf("%s: call %d in a total: %v", c.name, i, m.InTotal)
			}
		}
	}
}

// VoltAgent's sum is on the agent's span; cached tokens are within it.
func TestVoltAgentTotal(t *testing.T) {
	data, err := os.ReadFile("testdata/building/loop-span.want")
	if err != nil {
		t.Fatal(err)
	}
	tds, _ := fixture(t, txtar.Parse(data).Files[0].Data)
	x := Build(FromOTLP(tds, nil)[0])
	if len(x.AgentTotals) != 1 || *x.AgentTotals[0].Usage.Input != 700_000 || *x.AgentTotals[0].Usage.CacheRead != 100 {
		t.Errorf("%+v", x.AgentTotals)
	}
}

// Of VoltAgent's captures every executed call is requested by a model call that began before it, and the spike of S12 shows.
func TestCapturesVoltAgent(t *testing.T) {
	const sdk = "voltagent-2.10.0"
	if _, err := os.Stat(capturesDir); err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	for _, scenario := range scenarios(t, sdk) {
		traces, _ := captured(t, sdk, scenario)
		for _, tr := range traces {
			x := Build(tr)
			for _, c := range x.ToolCalls {
				if !c.Requested || c.Model < 0 || c.Start.Before(x.ModelCalls[c.Model].Start) {
					t.Errorf("%s: %s is asked for by no call before it: %+v", scenario, c.Name, c)
				}
			}
			if scenario == "S12" && (len(x.AgentTotals) != 1 || *x.AgentTotals[0].Usage.Input != 720_600) {
				t.Errorf("%s: totals %+v", scenario, x.AgentTotals)
			}
		}
	}
}
