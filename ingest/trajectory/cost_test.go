package trajectory

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Audio tokens are told apart under every name that emitters have for them.
func TestAudioTokens(t *testing.T) {
	chat := func(more attributes) attributes { return conventions(100, 20, more) }
	for _, c := range []countedCall{
		{name: "chat m-1", attrs: chat(attributes{"gen_ai.usage.audio.input_tokens": int64(7), "gen_ai.usage.audio.output_tokens": int64(3)})},
		{name: "chat m-1", attrs: chat(attributes{"gen_ai.usage.input_audio_tokens": int64(7), "gen_ai.usage.output_audio_tokens": int64(3)})},
		{name: "chat m-1", attrs: chat(attributes{"gen_ai.usage.details.input_audio_tokens": 7.0, "gen_ai.usage.details.output_audio_tokens": "3"})},
		{name: "ChatCompletion", attrs: attributes{"openinference.span.kind": "LLM", "llm.token_count.prompt": int64(100), "llm.token_count.completion": int64(20),
			"llm.token_count.prompt_details.audio": int64(7), "llm.token_count.completion_details.audio": int64(3)}},
		{name: "ChatCompletion", attrs: attributes{"openinference.span.kind": "LLM", "output.value": `{"id":"r","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,` +
			`"prompt_tokens_details":{"audio_tokens":7},"completion_tokens_details":{"audio_tokens":3}}}`}},
		{name: "call", scope: "langfuse-sdk", attrs: attributes{"langfuse.observation.type": "generation",
			"langfuse.observation.usage_details": `{"input":93,"input_audio_tokens":7,"output":17,"output_audio_tokens":3,"total":120}`}},
		{name: "Chat", scope: "langsmith", attrs: attributes{"langsmith.span.kind": "llm",
			"langsmith.usage_metadata": `{"input_tokens":100,"output_tokens":20,"input_token_details":{"audio":7},"output_token_details":{"audio":3}}`}},
		{name: "Chat", scope: "langsmith", attrs: attributes{"langsmith.span.kind": "llm", "gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(20),
			"gen_ai.usage.input_token_details": `{'audio': 7}`, "gen_ai.usage.output_token_details": `{'audio': 3}`}},
		{name: "call", scope: "openinference.instrumentation.google_genai", attrs: attributes{"openinference.span.kind": "LLM", "output.value": `{"usageMetadata":{"promptTokenCount":100,` +
			`"candidatesTokenCount":20,"promptTokensDetails":[{"modality":"TEXT","tokenCount":93},{"modality":"AUDIO","tokenCount":7}],"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":3}]}}`}},
	} {
		tr := c.build(t)
		if len(tr.ModelCalls) != 1 {
			t.Fatalf("%v: %d calls", c.attrs, len(tr.ModelCalls))
		}
		if u := tr.ModelCalls[0].Usage; tokens(u.Input) != 100 || tokens(u.Output) != 20 || tokens(u.AudioIn) != 7 || tokens(u.AudioOut) != 3 {
			t.Errorf("%v: in %d out %d heard %d spoken %d", c.attrs, tokens(u.Input), tokens(u.Output), tokens(u.AudioIn), tokens(u.AudioOut))
		}
	}
}

// A cost that a span reports says so; 0 for tokens that were used is no price, and for none it is one.
func TestReportedCost(t *testing.T) {
	for _, c := range []struct {
		in   int64
		cost any
		want any
	}{{100, 0.25, 0.25}, {100, "0.25", 0.25}, {100, 0.0, nil}, {100, -1.0, nil}, {0, 0.0, 0.0}, {100, nil, nil}} {
		a := conventions(c.in, 0, attributes{"gen_ai.usage.cache_read.input_tokens": int64(0), "gen_ai.usage.reasoning.output_tokens": int64(0)})
		if c.cost != nil {
			a["gen_ai.usage.cost"] = c.cost
		}
		tr := countedCall{name: "chat m-1", attrs: a}.build(t)
		u := tr.ModelCalls[0].Usage
		if got := u.CostUSD; (got == nil) != (c.want == nil) || got != nil && *got != c.want || (u.CostFrom == CostSpan) != (got != nil) {
			t.Errorf("%v for %d tokens: %v from %q, want %v", c.cost, c.in, got, u.CostFrom, c.want)
		}
		if _, lacks := tr.Lacks(FactCost); lacks != (c.want == nil) {
			t.Errorf("%v for %d tokens: gap %v", c.cost, c.in, lacks)
		}
	}
}

// The run's cost is known if that of every call that answered is; what an agent tells in one sum is paid there.
func TestCost(t *testing.T) {
	usd := func(v float64) Usage { return Usage{CostUSD: &v} }
	counts := Usage{Input: new(int64(5)), Output: new(int64(5))}
	failed := &Error{Message: "503"}
	for name, c := range map[string]struct {
		t    Trajectory
		want float64 // -1: not known
	}{
		"sum":            {Trajectory{ModelCalls: []ModelCall{{Usage: usd(0.1)}, {Usage: usd(0.2)}}}, 0.3},
		"one unknown":    {Trajectory{ModelCalls: []ModelCall{{Usage: usd(0.1)}, {Usage: counts}}}, -1},
		"nothing told":   {Trajectory{ModelCalls: []ModelCall{{Usage: usd(0.1)}, {}}}, -1},
		"failed":         {Trajectory{ModelCalls: []ModelCall{{Usage: usd(0.1)}, {Error: failed}}}, 0.1},
		"failed, billed": {Trajectory{ModelCalls: []ModelCall{{Usage: usd(0.1)}, {Error: failed, Usage: counts}}}, -1},
		"in a total":     {Trajectory{ModelCalls: []ModelCall{{InTotal: true}}, AgentTotals: []AgentTotal{{Usage: usd(0.4)}}}, 0.4},
		"total unknown":  {Trajectory{ModelCalls: []ModelCall{{InTotal: true}}, AgentTotals: []AgentTotal{{Usage: counts}}}, -1},
		"no calls":       {Trajectory{}, -1},
	} {
		if got, known := c.t.Cost(); known != (c.want >= 0) || known && got != c.want {
			t.Errorf("%s: %v %v, want %v", name, got, known, c.want)
		}
	}
}

// The gap of the cost goes when all is known, keeps its place in the list, and the share counts anew.
func TestTellCost(t *testing.T) {
	tr := countedCall{name: "chat m-1", attrs: conventions(100, 20, nil)}.build(t)
	before := len(tr.Gaps)
	tr.TellCost("price m-1")
	gap, lacks := tr.Lacks(FactCost)
	if !lacks || gap.Remedy != "price m-1" || len(tr.Gaps) != before || tr.Remedy(FactCost) != "price m-1" {
		t.Errorf("gap %+v of %d, was %d", gap, len(tr.Gaps), before)
	}
	for i := range tr.Gaps[1:] {
		if tr.Gaps[i].Fact.order() >= tr.Gaps[i+1].Fact.order() {
			t.Errorf("%s before %s", tr.Gaps[i].Fact, tr.Gaps[i+1].Fact)
		}
	}
	tr.ModelCalls[0].Usage.CostUSD = new(0.5)
	tr.TellCost("")
	if _, lacks := tr.Lacks(FactCost); lacks || len(tr.Gaps) != before-1 {
		t.Errorf("the gap stays: %+v", tr.Gaps)
	}
	for _, s := range tr.Facts {
		if s.Fact == FactCost && (s.Seen != 1 || s.Of != 1 || s.Remedy != "") {
			t.Errorf("share %+v", s)
		}
	}
}

// An agent's total names the model of the calls that it is of, if that is one, else what the agent itself says.
func TestModelOfTotals(t *testing.T) {
	for _, c := range []struct {
		calls []string
		want  string
	}{{[]string{"m-1", "m-1"}, "m-1"}, {[]string{"m-1", "m-2"}, ""}, {[]string{""}, "m-0"}} {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range len(c.calls) + 1 {
			s := spans.AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{byte(i + 1)})
			s.SetStartTimestamp(pcommon.Timestamp(1e18 + int64(i)))
			s.SetEndTimestamp(pcommon.Timestamp(1e18 + 100))
			a := attributes{"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m-0", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
			if i > 0 {
				s.SetParentSpanID(pcommon.SpanID{1})
				a = attributes{"gen_ai.operation.name": "chat", "gen_ai.request.model": c.calls[i-1]}
			}
			if err := s.Attributes().FromRaw(a); err != nil {
				t.Fatal(err)
			}
		}
		tr := Build(FromOTLP([]ptrace.Traces{td}, nil)[0])
		if len(tr.AgentTotals) != 1 || tr.AgentTotals[0].Model != c.want {
			t.Errorf("%v: %+v, want %q", c.calls, tr.AgentTotals, c.want)
		}
	}
}
