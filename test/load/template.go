package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const (
	modelCalls    = 6
	spansPerTrace = 1 + modelCalls + modelCalls - 1
)

// template is an HTTP request with one trace, and where in it the trace's id stands.
type template struct {
	request []byte
	body    []byte // the end of request
	ids     []int  // in request
}

var placeholder = pcommon.TraceID{0xA5, 0x5A, 0xC3, 0x3C, 0x96, 0x69, 0xF0, 0x0F, 0xA5, 0x5A, 0xC3, 0x3C, 0x96, 0x69, 0xF0, 0x0F}

// newTemplate makes a run of an agent with six model calls and five tool calls, messages as JSON in attributes, some 37 KB. In a looping one all the
// tool calls are the same and get the same answer.
func newTemplate(looping bool) template {
	w := &writer{rng: rand.New(rand.NewPCG(2026, 1)), td: ptrace.NewTraces(), now: time.Now().Add(-time.Minute)}
	w.trace(looping)
	body, err := ptraceotlp.NewExportRequestFromTraces(w.td).MarshalProto()
	if err != nil {
		panic(err) // of what this program has made itself
	}
	head := fmt.Sprintf("POST /v1/traces HTTP/1.1\r\nHost: pawl\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n", len(body))
	t := template{request: append([]byte(head), body...)}
	t.body = t.request[len(head):]
	for at := 0; ; {
		i := bytes.Index(t.request[at:], placeholder[:])
		if i < 0 {
			return t
		}
		t.ids = append(t.ids, at+i)
		at += i + len(placeholder)
	}
}

func (t template) copy() template {
	t.request = slices.Clone(t.request)
	return t
}

// stamp gives the trace another id.
func (t template) stamp(rng *rand.Rand) {
	a, b := rng.Uint64(), rng.Uint64()|1
	for _, i := range t.ids {
		binary.BigEndian.PutUint64(t.request[i:], a)
		binary.BigEndian.PutUint64(t.request[i+8:], b)
	}
}

type writer struct {
	rng   *rand.Rand
	td    ptrace.Traces
	spans ptrace.SpanSlice
	now   time.Time
	next  uint64
}

type object = map[string]any

func (w *writer) trace(looping bool) {
	rs := w.td.ResourceSpans().AppendEmpty()
	for i := range 8 {
		rs.Resource().Attributes().PutStr(fmt.Sprintf("k8s.label.%d", i), w.words(20))
	}
	rs.Resource().Attributes().PutStr("service.name", "load-agent")
	rs.Resource().Attributes().PutStr("service.version", "1.2.3")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.load")
	w.spans = ss.Spans()
	root := w.id()
	begin := w.now
	system := text([]object{{"type": "text", "content": w.words(500)}})
	history := []object{{"role": "user", "parts": []object{{"type": "text", "content": w.words(400)}}}}
	arguments, result := w.arguments(), w.result()
	for i := range modelCalls {
		ask := object{"role": "assistant", "parts": []object{{"type": "text", "content": w.words(300)}}, "finish_reason": "stop"}
		id := fmt.Sprintf("call_%016x", w.rng.Uint64())
		if i < modelCalls-1 {
			if !looping {
				arguments, result = w.arguments(), w.result()
			}
			ask = object{"role": "assistant", "parts": []object{{"type": "text", "content": w.words(100)},
				{"type": "tool_call", "id": id, "name": "tool_0", "arguments": json.RawMessage(arguments)}}, "finish_reason": "tool_call"}
		}
		w.chat(root, history, ask)
		if i < modelCalls-1 {
			w.tool(root, id, arguments, result)
			history = append(history, ask, object{"role": "tool", "parts": []object{{"type": "tool_call_response", "id": id, "response": result}}})
		}
	}
	s := w.span("invoke_agent load_agent", root, pcommon.SpanID{}, begin, 5*time.Millisecond)
	a := s.Attributes()
	a.PutStr("gen_ai.operation.name", "invoke_agent")
	a.PutStr("gen_ai.agent.name", "load_agent")
	a.PutStr("gen_ai.agent.id", "asst_1")
	a.PutStr("gen_ai.conversation.id", "conversation-1")
	a.PutStr("gen_ai.system_instructions", system)
	a.PutStr("gen_ai.tool.definitions", w.tools())
}

func (w *writer) id() (id pcommon.SpanID) {
	w.next++
	binary.BigEndian.PutUint64(id[:], w.next)
	return id
}

func (w *writer) span(name string, id, parent pcommon.SpanID, begin time.Time, took time.Duration) ptrace.Span {
	s := w.spans.AppendEmpty()
	s.SetTraceID(placeholder)
	s.SetSpanID(id)
	s.SetParentSpanID(parent)
	s.SetName(name)
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(begin))
	w.now = w.now.Add(took)
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(w.now))
	return s
}

func (w *writer) chat(parent pcommon.SpanID, in []object, out object) {
	s := w.span("chat small-model", w.id(), parent, w.now, 600*time.Millisecond)
	s.SetKind(ptrace.SpanKindClient)
	a := s.Attributes()
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.provider.name", "example")
	a.PutStr("gen_ai.request.model", "small-model")
	a.PutStr("gen_ai.response.model", "small-model-1")
	a.PutStr("gen_ai.response.id", fmt.Sprintf("resp_%016x", w.rng.Uint64()))
	a.PutDouble("gen_ai.request.temperature", 0.2)
	a.PutInt("gen_ai.usage.input_tokens", int64(400+100*len(in)))
	a.PutInt("gen_ai.usage.output_tokens", 60)
	a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr(out["finish_reason"].(string))
	a.PutStr("gen_ai.input.messages", text(in))
	a.PutStr("gen_ai.output.messages", text([]object{out}))
}

func (w *writer) tool(parent pcommon.SpanID, id, arguments, result string) {
	s := w.span("execute_tool tool_0", w.id(), parent, w.now, 40*time.Millisecond)
	a := s.Attributes()
	a.PutStr("gen_ai.operation.name", "execute_tool")
	a.PutStr("gen_ai.tool.name", "tool_0")
	a.PutStr("gen_ai.tool.call.id", id)
	a.PutStr("gen_ai.tool.call.arguments", arguments)
	a.PutStr("gen_ai.tool.call.result", result)
}

func (w *writer) arguments() string {
	return text(object{"query": w.words(120), "filter": object{"tenant": w.words(12), "limit": w.rng.IntN(100)}, "tags": []string{w.words(10), w.words(10)}})
}

func (w *writer) result() string {
	return text(object{"rows": []object{{"id": w.rng.IntN(1e6), "note": w.words(160)}, {"id": w.rng.IntN(1e6), "note": w.words(160)}}, "total": 2})
}

// tools are eight definitions, some 4 KB.
func (w *writer) tools() string {
	var out []object
	for i := range 8 {
		out = append(out, object{"type": "function", "name": fmt.Sprintf("tool_%d", i), "description": w.words(120), "parameters": object{"type": "object",
			"required": []string{"query"}, "properties": object{"query": object{"type": "string", "description": w.words(60)},
				"filter": object{"type": "object", "properties": object{"tenant": object{"type": "string"}, "limit": object{"type": "integer"}}},
				"tags":   object{"type": "array", "items": object{"type": "string"}}}}})
	}
	return text(out)
}

var vocabulary = strings.Fields(`the a of to in and order service status error time user request response server queue retry timeout deploy version region
	cluster node pod metric latency budget invoice parcel address refund policy schedule window alert incident owner team review ticket label group result`)

// words are some n bytes of text, common words more often than rare ones.
func (w *writer) words(n int) string {
	var b strings.Builder
	for b.Len() < n {
		f := w.rng.Float64()
		b.WriteString(vocabulary[int(f*f*float64(len(vocabulary)))])
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of what this program has made itself
	}
	return string(b)
}
