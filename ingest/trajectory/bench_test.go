package trajectory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// agentTrace is the load shape "agent": a root with instructions and eight tools, six model calls whose input is the whole growing history,
// five tool executions; about 37 KB.
func agentTrace(tb testing.TB) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	prose := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%s ", []string{"order", "the", "parcel", "hub", "was", "sent", "to", "customer", "42", "status", "delayed."}[rnd.IntN(11)])
		}
		return b.String()[:n]
	}
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for i := range 9 {
		rs.Resource().Attributes().PutStr(fmt.Sprintf("host.key%d", i), "some value")
	}
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("bench")
	at := t0
	add := func(name string, n byte) pcommon.Map {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(traceID(1))
		s.SetSpanID(idOfSpan(n))
		if n != 1 {
			s.SetParentSpanID(idOfSpan(1))
		}
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		at = at.Add(time.Second)
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
		return s.Attributes()
	}
	system := prose(500)
	var defs []string
	for i := range 8 {
		defs = append(defs, fmt.Sprintf(`{"type":"function","name":"tool_%d","description":"%s","parameters":{"type":"object","properties":{"query":{"type":"string","description":"%s"},"limit":{"type":"integer"}},"required":["query"]}}`, i, prose(200), prose(120)))
	}
	history := []string{fmt.Sprintf(`{"role":"user","parts":[{"type":"text","content":"%s"}]}`, prose(300))}
	for i := range 6 {
		a := add("chat gpt-x", byte(10+i))
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", "openai")
		a.PutStr("gen_ai.request.model", "gpt-x")
		a.PutStr("gen_ai.response.model", "gpt-x-2026")
		a.PutStr("gen_ai.response.id", fmt.Sprintf("resp-%d", i))
		a.PutInt("gen_ai.usage.input_tokens", 1000)
		a.PutInt("gen_ai.usage.output_tokens", 100)
		a.PutDouble("gen_ai.request.temperature", 0.2)
		a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr("tool_calls")
		a.PutStr("gen_ai.input.messages", "["+strings.Join(history, ",")+"]")
		if i == 5 {
			a.PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"`+prose(200)+`"}],"finish_reason":"stop"}]`)
			break
		}
		args := fmt.Sprintf(`{"query":"%s","limit":%d}`, prose(200), i)
		result := fmt.Sprintf(`{"rows":[{"id":"%d","text":"%s"}],"total":1}`, i, prose(440))
		call := fmt.Sprintf(`{"role":"assistant","parts":[{"type":"tool_call","id":"call_%d","name":"tool_%d","arguments":%s}],"finish_reason":"tool_call"}`, i, i, args)
		a.PutStr("gen_ai.output.messages", "["+call+"]")
		history = append(history, call, fmt.Sprintf(`{"role":"tool","parts":[{"type":"tool_call_response","id":"call_%d","response":%s}]}`, i, result))
		a = add(fmt.Sprintf("execute_tool tool_%d", i), byte(20+i))
		a.PutStr("gen_ai.operation.name", "execute_tool")
		a.PutStr("gen_ai.tool.name", fmt.Sprintf("tool_%d", i))
		a.PutStr("gen_ai.tool.call.id", fmt.Sprintf("call_%d", i))
		a.PutStr("gen_ai.tool.call.arguments", args)
		a.PutStr("gen_ai.tool.call.result", result)
	}
	a := add("invoke_agent shop", 1)
	ss.Spans().At(ss.Spans().Len() - 1).SetStartTimestamp(pcommon.NewTimestampFromTime(t0))
	a.PutStr("gen_ai.operation.name", "invoke_agent")
	a.PutStr("gen_ai.agent.name", "shop")
	a.PutStr("gen_ai.conversation.id", "conv-1")
	a.PutStr("gen_ai.system_instructions", system)
	a.PutStr("gen_ai.tool.definitions", "["+strings.Join(defs, ",")+"]")
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// BenchmarkBuild prints what FromOTLP and Build cost beside the decoding that must come first, in CPU time of the process: x-decode is the
// whole divided by the decode of the same trace, by a Reader that has met the service before and by one that has not. All alternate within
// one run, so that whatever else the machine does hits each.
func BenchmarkBuild(b *testing.B) {
	data := agentTrace(b)
	const batch = 100
	decode := func() ptrace.Traces {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data)
		if err != nil {
			b.Fatal(err)
		}
		return td
	}
	build := func(r *Reader) {
		for _, tr := range FromOTLP([]ptrace.Traces{decode()}, nil) {
			if t := r.Build(tr); len(t.ToolCalls) != 5 {
				b.Fatalf("%d tool calls", len(t.ToolCalls))
			}
		}
	}
	var kept Reader
	kinds := []func(){func() { decode() }, func() { build(&kept) }, func() { build(new(Reader)) }}
	spent := make([]time.Duration, len(kinds))
	n := 0
	for b.Loop() {
		for i, run := range kinds {
			start := cpuTime(b)
			for range batch {
				run()
			}
			spent[i] += cpuTime(b) - start
		}
		n += batch
	}
	b.ReportMetric(float64(spent[0].Nanoseconds())/float64(n), "decode-cpu-ns")
	b.ReportMetric(float64(spent[1].Nanoseconds())/float64(n), "build-cpu-ns")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-decode")
	b.ReportMetric(float64(spent[2])/float64(spent[0]), "x-decode-first-time")
}

// cpuTime is what the process has used so far, garbage collection included.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Skip(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
