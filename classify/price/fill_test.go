package price

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func reported(usd float64) trajectory.Usage {
	u := usage(1000, 100)
	u.CostUSD, u.CostFrom = &usd, trajectory.CostSpan
	return u
}

func TestFill(t *testing.T) {
	tb := table(t, Own{Model: "house-*", Rate: Rate{Input: 1, Output: 1}})
	tr := &trajectory.Trajectory{Gaps: []trajectory.Gap{{Fact: trajectory.FactUsage, Remedy: "u"}, {Fact: trajectory.FactCost, Remedy: "c"}},
		ModelCalls: []trajectory.ModelCall{
			{Provider: "openai", ModelRequested: "gpt-4o-mini", Usage: usage(1000, 100), Start: today(tb)},
			{Provider: "openai", ModelRequested: "gpt-4o-mini", Usage: reported(0.5)},
			{Provider: "openai", ModelRequested: "house-7b", Usage: usage(1000, 100)},
			{Error: &trajectory.Error{Message: "503"}},
			{ModelRequested: "gpt-4o-mini", InTotal: true},
		},
		AgentTotals: []trajectory.AgentTotal{{Model: "gpt-4o", Usage: usage(10_000, 1_000)}},
	}
	tb.Fill(tr)
	for i, want := range []struct {
		usd  float64
		from trajectory.CostSource
	}{{0.00021, tb.Source()}, {0.5, trajectory.CostSpan}, {0.0011, OwnSource}} {
		if u := tr.ModelCalls[i].Usage; u.CostUSD == nil || *u.CostUSD != want.usd || u.CostFrom != want.from {
			t.Errorf("call %d: %v from %q, want %v", i, u.CostUSD, u.CostFrom, want)
		}
	}
	if tr.ModelCalls[3].Usage.CostUSD != nil || tr.ModelCalls[4].Usage.CostUSD != nil {
		t.Error("a call without tokens has a cost")
	}
	if usd, known := tr.Cost(); !known || usd != 0.00021+0.5+0.0011+0.035 {
		t.Errorf("the run cost %v, %v", usd, known)
	}
	if _, lacks := tr.Lacks(trajectory.FactCost); lacks {
		t.Error("the gap stays")
	}
	again := *tr
	again.ModelCalls = append([]trajectory.ModelCall{}, tr.ModelCalls...)
	tb.Fill(&again)
	if !reflect.DeepEqual(&again, tr) {
		t.Error("filling twice changes something")
	}
	(*Table)(nil).Fill(tr)
}

// The gap names what has no price, and the key that prices it; where counts or names are missing it says so instead.
func TestGap(t *testing.T) {
	tb := table(t)
	unknown := func(n int) (ms []trajectory.ModelCall) {
		for i := range n {
			ms = append(ms, trajectory.ModelCall{ModelRequested: "acme-" + strings.Repeat("x", i+1), Usage: usage(1, 1)})
		}
		return ms
	}
	for name, c := range map[string]struct {
		calls []trajectory.ModelCall
		gaps  []trajectory.Gap
		want  []string
		not   string
	}{
		"one":   {append(unknown(1), unknown(1)...), nil, []string{`no price of "acme-x":`, "prices: [{model: NAME"}, ","},
		"many":  {unknown(8), nil, []string{`"acme-x", "acme-xx"`, "3 more"}, "acme-xxxxxx"},
		"azure": {[]trajectory.ModelCall{{Provider: "azure.ai.openai", ModelRequested: "prod", Usage: usage(1, 1)}}, nil, []string{`"prod" of azure.ai.openai (` + whyAzure + ")"}, ""},
		"hostile": {[]trajectory.ModelCall{{Provider: strings.Repeat("p", 1000), ModelRequested: "a\n\x1b[31m" + strings.Repeat("b", 1000), Usage: usage(1, 1)}}, nil,
			[]string{`"a\n\x1b[31mbbb`}, "\x1b"},
		"no tokens": {[]trajectory.ModelCall{{ModelRequested: "gpt-4o"}}, []trajectory.Gap{{Fact: trajectory.FactUsage, Remedy: "include_usage"}}, []string{"from the tokens: include_usage"}, "price of"},
		"no model":  {[]trajectory.ModelCall{{Usage: usage(1, 1)}}, nil, []string{"from the model: record the model's name"}, ""},
	} {
		tr := &trajectory.Trajectory{ModelCalls: c.calls, Gaps: c.gaps}
		tb.Fill(tr)
		gap, lacks := tr.Lacks(trajectory.FactCost)
		if !lacks || c.not != "" && strings.Contains(strings.Split(gap.Remedy, ": give")[0], c.not) || len(gap.Remedy) > 700 {
			t.Errorf("%s: %q", name, gap.Remedy)
		}
		for _, w := range c.want {
			if !strings.Contains(gap.Remedy, w) {
				t.Errorf("%s: %q lacks %q", name, gap.Remedy, w)
			}
		}
	}
}

// A run whose clock is made up is priced as on the date of the list.
func TestMadeUpTimes(t *testing.T) {
	tb := table(t)
	at := func(synthetic bool) float64 {
		tr := &trajectory.Trajectory{Complete: trajectory.Completeness{SyntheticTime: synthetic},
			ModelCalls: []trajectory.ModelCall{{Provider: "openai", ModelRequested: "o3", Start: today(tb), Usage: usage(1e6, 0)}}}
		tb.Fill(tr)
		return *tr.ModelCalls[0].Usage.CostUSD
	}
	if at(false) != 2 || at(true) != 2 {
		t.Errorf("%v with a clock, %v without", at(false), at(true))
	}
}
