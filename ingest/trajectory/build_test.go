package trajectory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// FuzzBuild feeds spans made of known keys and hostile values: Build must not panic, and its JSON must be JSON, equal for equal input.
func FuzzBuild(f *testing.F) {
	f.Add(uint64(1), `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`, "chat")
	f.Add(uint64(2), "{\"a\":\xff\x00", "execute_tool")
	f.Add(uint64(3), `"[{\"id\":\"c1\",\"name\":\"x\"}]"`, "invoke_agent")
	f.Fuzz(func(t *testing.T, seed uint64, text, op string) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		tds, lds := wildTraces(rnd, text, op)
		first := render(t, FromOTLP(tds, lds))
		if again := render(t, FromOTLP(tds, lds)); first != again {
			t.Fatalf("differs:\n%s\n%s", first, again)
		}
	})
}

func render(t *testing.T, traces []Trace) string {
	var b strings.Builder
	for _, tr := range traces {
		out, err := json.Marshal(Build(tr))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(out)
	}
	return b.String()
}

var wildKeys = []string{
	"gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions", "gen_ai.tool.name", "gen_ai.tool.call.id",
	"gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.response.id",
	"gen_ai.response.finish_reasons", "gen_ai.request.model", "gen_ai.agent.name", "mcp.method.name", "openinference.span.kind", "input.value",
	"output.value", "llm.input_messages.0.message.content", "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
	"traceloop.span.kind", "traceloop.entity.input", "gen_ai.prompt.0.content", "gen_ai.completion.0.tool_calls.0.arguments", "ai.operationId",
	"ai.prompt.messages", "ai.response.toolCalls", "ai.toolCall.args", "ai.prompt.tools", "error.type", "session.id", "gen_ai.system_instructions",
	"genkit:type", "logfire.span_type",
}

var wildWords = []string{"chat", "execute_tool", "invoke_agent", "tools/call", "LLM", "TOOL", "AGENT", "tool", "ai.generateText", "ai.toolCall",
	"pending_span", "-1", "NaN", "", "unknown", "GraphInterrupt", "transfer_to_x", "Error: no"}

func wildTraces(rnd *rand.Rand, text, op string) ([]ptrace.Traces, []plog.Logs) {
	words := append([]string{text, op}, wildWords...)
	value := func(v pcommon.Value) { wildValue(rnd, v, words, 0) }
	td := ptrace.NewTraces()
	for range 1 + rnd.IntN(12) {
		rs := td.ResourceSpans().AppendEmpty()
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(words[rnd.IntN(len(words))])
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(traceID(1 + byte(rnd.IntN(2))))
		s.SetSpanID(idOfSpan(1 + byte(rnd.IntN(12))))
		s.SetParentSpanID(idOfSpan(byte(rnd.IntN(12))))
		s.SetName(words[rnd.IntN(len(words))])
		s.SetStartTimestamp(pcommon.Timestamp(rnd.IntN(1000)))
		s.SetEndTimestamp(pcommon.Timestamp(rnd.IntN(1000)))
		s.Status().SetCode(ptrace.StatusCode(rnd.IntN(5)))
		s.Status().SetMessage(words[rnd.IntN(len(words))])
		for range rnd.IntN(10) {
			value(s.Attributes().PutEmpty(wildKeys[rnd.IntN(len(wildKeys))]))
		}
		for range rnd.IntN(3) {
			e := s.Events().AppendEmpty()
			e.SetName([]string{"exception", "gen_ai.choice", "gen_ai.user.message", detailsEvent}[rnd.IntN(4)])
			value(e.Attributes().PutEmpty([]string{"content", "message", "exception.type", "gen_ai.input.messages"}[rnd.IntN(4)]))
		}
	}
	ld := plog.NewLogs()
	for range rnd.IntN(4) {
		r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		r.SetTraceID(traceID(1))
		r.SetSpanID(idOfSpan(byte(rnd.IntN(20))))
		r.SetEventName([]string{"gen_ai.choice", "gen_ai.tool.message", "gen_ai.evaluation.result"}[rnd.IntN(3)])
		value(r.Body())
	}
	return []ptrace.Traces{td}, []plog.Logs{ld}
}

func wildValue(rnd *rand.Rand, v pcommon.Value, words []string, depth int) {
	switch rnd.IntN(9) {
	case 0:
		v.SetInt(rnd.Int64() - 1<<62)
	case 1:
		v.SetDouble(0 / (rnd.Float64() * float64(rnd.IntN(2))))
	case 2:
		v.SetBool(true)
	case 3:
		if depth < 4 {
			s := v.SetEmptySlice()
			for range rnd.IntN(4) {
				wildValue(rnd, s.AppendEmpty(), words, depth+1)
			}
		}
	case 4:
		if depth < 4 {
			m := v.SetEmptyMap()
			for _, k := range []string{"role", "content", "parts", "tool_calls", "id", "name", "arguments", "type"} {
				if rnd.IntN(2) == 0 {
					wildValue(rnd, m.PutEmpty(k), words, depth+1)
				}
			}
		}
	case 5: // empty
	default:
		v.SetStr(words[rnd.IntN(len(words))])
	}
}

// FuzzBuildProto feeds whatever decodes.
func FuzzBuildProto(f *testing.F) {
	tds, _ := wildTraces(rand.New(rand.NewPCG(4, 4)), "[]", "chat")
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(tds[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(b)
		if err != nil {
			return
		}
		render(t, FromOTLP([]ptrace.Traces{td}, nil))
	})
}

func TestBuildOfNothing(t *testing.T) {
	tr := Build(Trace{ID: "00"})
	if tr.IsAgent() || len(tr.Gaps) != 0 {
		t.Errorf("%+v", tr)
	}
	out, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte(`"steps":null`)) || !bytes.Contains(out, []byte(`"reply":null`)) {
		t.Errorf("got %s", out)
	}
}

// A chain of ten thousand spans, each the child of the next, must not take long nor exhaust the stack.
func TestDeepTree(t *testing.T) {
	tr := Trace{ID: "00"}
	for i := range 10_000 {
		tr.Spans = append(tr.Spans, Span{ID: fmt.Sprintf("%016x", i), ParentID: fmt.Sprintf("%016x", i+1), Name: "chat x", Start: t0.Add(time.Duration(-i)),
			Status: StatusError, Attrs: nil})
	}
	if got := Build(tr); got.Spans != 10_000 {
		t.Errorf("got %d", got.Spans)
	}
}
