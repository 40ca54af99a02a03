package trajectory

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TestACallThatAnEarlierTraceMadeLacksNoExecution holds that what a history tells of an earlier trace's call is no call that should have a span here.
func TestACallThatAnEarlierTraceMadeLacksNoExecution(t *testing.T) {
	td := request(func(s ptrace.Span) {
		s.Attributes().PutStr("gen_ai.operation.name", "chat")
		s.Attributes().PutStr("gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"go"}]},
			{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"get","arguments":{}}]},
			{"role":"tool","parts":[{"type":"tool_call_response","id":"a","response":1}]}]`)
		s.Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"b","name":"get","arguments":{}}]}]`)
	})
	run := request(func(s ptrace.Span) {
		s.SetSpanID(idOfSpan(2))
		s.SetParentSpanID(idOfSpan(1))
		s.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
		s.Attributes().PutStr("gen_ai.tool.name", "get")
		s.Attributes().PutStr("gen_ai.tool.call.id", "b")
	})
	got := Build(FromOTLP([]ptrace.Traces{td, run}, nil)[0])
	if len(got.ToolCalls) != 2 || !got.ToolCalls[0].Recalled || !got.ToolCalls[1].Executed {
		t.Fatalf("%+v", got.ToolCalls)
	}
	if !slices.Contains(got.Facts, Share{Fact: FactToolExecution, Seen: 1, Of: 1}) {
		t.Errorf("%+v", got.Facts)
	}
}
