package sample

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	client   = ptrace.SpanKindClient
	internal = ptrace.SpanKindInternal
)

// each walks a run: model writes one model call (past holds the turns before it), exec one executed tool call.
func (w *Writer) each(r Run, model func(past []history, t Turn, ids []string), exec func(c Call, id string)) {
	var past []history
	for i, t := range r.Turns {
		ids := make([]string, len(t.Calls))
		for j := range ids {
			ids[j] = w.idOf(r, i, j)
		}
		if i < r.told {
			past = append(past, history{t, ids})
			continue
		}
		model(past, t, ids)
		for j, c := range t.Calls {
			// A call of a tool that does not exist, and one that was lost, have no execution.
			if !c.Lost && known(c.Tool) {
				exec(c, ids[j])
			}
		}
		past = append(past, history{t, ids})
	}
}

// idOf is the id of a call: the run's own where it has one.
func (w *Writer) idOf(r Run, turn, call int) string {
	if r.ids != nil {
		return r.ids[turn][call]
	}
	return w.callID()
}

func known(name string) bool {
	for _, t := range tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// reply is the agent's last word.
func (r Run) reply() string { return r.Turns[len(r.Turns)-1].Text }

func (r Run) failed() string { return r.Turns[len(r.Turns)-1].Error }

type obj = map[string]any

// --- OpenTelemetry GenAI conventions, messages as attributes

func writeGenAI(r Run, w *Writer) {
	w.scope("opentelemetry.instrumentation.parcel_agent", "1.3.0")
	root := w.span("invoke_agent "+agent, internal, pcommon.SpanID{})
	a := root.Attributes()
	a.PutStr("gen_ai.operation.name", "invoke_agent")
	a.PutStr("gen_ai.agent.name", agent)
	a.PutStr("gen_ai.provider.name", "openai")
	a.PutStr("gen_ai.conversation.id", r.Session)
	w.each(r, func(past []history, t Turn, ids []string) {
		s := w.span("chat "+model, client, root.SpanID())
		a := s.Attributes()
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", "openai")
		a.PutStr("gen_ai.request.model", model)
		a.PutStr("gen_ai.conversation.id", r.Session)
		a.PutStr("gen_ai.system_instructions", js([]obj{{"type": "text", "content": system}}))
		a.PutStr("gen_ai.input.messages", js(genaiInput(r, past)))
		a.PutStr("gen_ai.tool.definitions", js(openAITools(false)))
		if t.Error != "" {
			a.PutStr("error.type", "400")
			w.end(s, 300*time.Millisecond)
			w.fail(s, "BadRequestError", t.Error)
			return
		}
		a.PutStr("gen_ai.response.model", model+"-2025-04-14")
		a.PutStr("gen_ai.response.id", "resp_"+w.callID()[5:])
		a.PutInt("gen_ai.usage.input_tokens", t.Input)
		a.PutInt("gen_ai.usage.output_tokens", t.Output)
		out := genaiOutput(t, ids)
		a.PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr(finish(t, "tool_call"))
		out["finish_reason"] = finish(t, "tool_call")
		a.PutStr("gen_ai.output.messages", js([]obj{out}))
		w.end(s, 700*time.Millisecond)
	}, func(c Call, id string) {
		s := w.span("execute_tool "+c.Tool, internal, root.SpanID())
		a := s.Attributes()
		a.PutStr("gen_ai.operation.name", "execute_tool")
		a.PutStr("gen_ai.tool.name", c.Tool)
		a.PutStr("gen_ai.tool.call.id", id)
		a.PutStr("gen_ai.tool.call.arguments", c.Arguments)
		w.end(s, 60*time.Millisecond)
		if c.Failed {
			a.PutStr("error.type", "ValueError")
			w.fail(s, "ValueError", c.Result)
			return
		}
		a.PutStr("gen_ai.tool.call.result", c.Result)
	})
	w.finishRoot(root, r)
}

func (w *Writer) finishRoot(root ptrace.Span, r Run) {
	w.end(root, time.Millisecond)
	if f := r.failed(); f != "" {
		w.fail(root, "BadRequestError", f)
	}
}

func finish(t Turn, tool string) string {
	if len(t.Calls) > 0 {
		return tool
	}
	return "stop"
}

func genaiInput(r Run, past []history) []obj {
	in := []obj{{"role": "user", "parts": []obj{{"type": "text", "content": r.User}}}}
	if r.Stateful && len(past) > 0 {
		in, past = nil, past[len(past)-1:]
	}
	for _, h := range past {
		if !r.Stateful {
			in = append(in, genaiOutput(h.turn, h.ids))
		}
		for j, c := range h.turn.Calls {
			if !c.Lost {
				in = append(in, obj{"role": "tool", "parts": []obj{{"type": "tool_call_response", "id": h.ids[j], "response": c.Result}}})
			}
		}
	}
	return in
}

func genaiOutput(t Turn, ids []string) obj {
	parts := []obj{}
	if t.Text != "" {
		parts = append(parts, obj{"type": "text", "content": t.Text})
	}
	for j, c := range t.Calls {
		parts = append(parts, obj{"type": "tool_call", "id": ids[j], "name": c.Tool, "arguments": raw(c.Arguments)})
	}
	return obj{"role": "assistant", "parts": parts}
}

func openAITools(nested bool) []obj {
	var out []obj
	for _, t := range tools {
		f := obj{"name": t.Name, "description": t.Description, "parameters": raw(t.Schema)}
		if nested {
			out = append(out, obj{"type": "function", "function": f})
			continue
		}
		f["type"] = "function"
		out = append(out, f)
	}
	return out
}

// raw is JSON text that js puts in as it stands.
type raw string

// MarshalJSON returns the text.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// --- OpenInference

func writeOpenInference(r Run, w *Writer) {
	w.scope("openinference.instrumentation.openai", "0.1.30")
	root := w.span(agent, internal, pcommon.SpanID{})
	a := root.Attributes()
	a.PutStr("openinference.span.kind", "AGENT")
	a.PutStr("agent.name", agent)
	a.PutStr("session.id", r.Session)
	a.PutStr("input.value", r.User)
	a.PutStr("input.mime_type", "text/plain")
	w.each(r, func(past []history, t Turn, ids []string) {
		s := w.span("ChatCompletion", internal, root.SpanID())
		a := s.Attributes()
		a.PutStr("openinference.span.kind", "LLM")
		a.PutStr("session.id", r.Session)
		a.PutStr("llm.system", "openai")
		a.PutStr("llm.invocation_parameters", js(obj{"model": model, "temperature": 0}))
		for i, m := range openAIInput(r, past) {
			putOIMessage(a, fmt.Sprintf("llm.input_messages.%d.message.", i), m)
		}
		for i, t := range openAITools(true) {
			a.PutStr(fmt.Sprintf("llm.tools.%d.tool.json_schema", i), js(t))
		}
		if t.Error != "" {
			w.end(s, 300*time.Millisecond)
			w.fail(s, "BadRequestError", t.Error)
			return
		}
		a.PutStr("llm.model_name", model+"-2025-04-14")
		putOIMessage(a, "llm.output_messages.0.message.", openAIOutput(t, ids))
		a.PutInt("llm.token_count.prompt", t.Input)
		a.PutInt("llm.token_count.completion", t.Output)
		a.PutInt("llm.token_count.total", t.Input+t.Output)
		a.PutStr("output.value", js(obj{"choices": []obj{{"finish_reason": finish(t, "tool_calls"), "index": 0}}}))
		a.PutStr("output.mime_type", "application/json")
		w.end(s, 700*time.Millisecond)
		s.Status().SetCode(ptrace.StatusCodeOk)
	}, func(c Call, id string) {
		s := w.span(c.Tool, internal, root.SpanID())
		a := s.Attributes()
		a.PutStr("openinference.span.kind", "TOOL")
		a.PutStr("tool.name", c.Tool)
		a.PutStr("tool_call.id", id)
		a.PutStr("input.value", c.Arguments)
		a.PutStr("input.mime_type", "application/json")
		w.end(s, 60*time.Millisecond)
		if c.Failed {
			w.fail(s, "ValueError", c.Result)
			return
		}
		a.PutStr("output.value", c.Result)
		a.PutStr("output.mime_type", "application/json")
		s.Status().SetCode(ptrace.StatusCodeOk)
	})
	if r.reply() != "" {
		a.PutStr("output.value", r.reply())
	}
	w.finishRoot(root, r)
}

func openAIInput(r Run, past []history) []obj {
	in := []obj{{"role": "system", "content": system}, {"role": "user", "content": r.User}}
	for _, h := range past {
		in = append(in, openAIOutput(h.turn, h.ids))
		for j, c := range h.turn.Calls {
			if !c.Lost {
				in = append(in, obj{"role": "tool", "tool_call_id": h.ids[j], "content": c.Result})
			}
		}
	}
	return in
}

func openAIOutput(t Turn, ids []string) obj {
	m := obj{"role": "assistant"}
	if t.Text != "" {
		m["content"] = t.Text
	}
	var calls []obj
	for j, c := range t.Calls {
		calls = append(calls, obj{"id": ids[j], "type": "function", "function": obj{"name": c.Tool, "arguments": c.Arguments}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

func putOIMessage(a pcommon.Map, prefix string, m obj) {
	for _, k := range []string{"role", "content", "tool_call_id"} {
		if s, ok := m[k].(string); ok {
			a.PutStr(prefix+k, s)
		}
	}
	calls, _ := m["tool_calls"].([]obj)
	for j, c := range calls {
		p := fmt.Sprintf("%stool_calls.%d.tool_call.", prefix, j)
		f := c["function"].(obj)
		a.PutStr(p+"id", c["id"].(string))
		a.PutStr(p+"function.name", f["name"].(string))
		a.PutStr(p+"function.arguments", f["arguments"].(string))
	}
}

// --- OpenLLMetry, with its older indexed keys

func writeOpenLLMetry(r Run, w *Writer) {
	w.scope("opentelemetry.instrumentation.openai.v1", "0.48.1")
	root := w.span(agent+".workflow", internal, pcommon.SpanID{})
	a := root.Attributes()
	a.PutStr("traceloop.span.kind", "workflow")
	a.PutStr("traceloop.workflow.name", agent)
	a.PutStr("traceloop.entity.name", agent)
	a.PutStr("traceloop.association.properties.session_id", r.Session)
	a.PutStr("traceloop.entity.input", js(obj{"args": []any{r.User}, "kwargs": obj{}}))
	w.each(r, func(past []history, t Turn, ids []string) {
		s := w.span("openai.chat", client, root.SpanID())
		a := s.Attributes()
		a.PutStr("llm.request.type", "chat")
		a.PutStr("gen_ai.system", "OpenAI")
		a.PutStr("gen_ai.request.model", model)
		a.PutStr("traceloop.workflow.name", agent)
		a.PutStr("traceloop.association.properties.session_id", r.Session)
		for i, m := range openAIInput(r, past) {
			putLLMetryMessage(a, fmt.Sprintf("gen_ai.prompt.%d.", i), m)
		}
		for i, t := range tools {
			p := fmt.Sprintf("llm.request.functions.%d.", i)
			a.PutStr(p+"name", t.Name)
			a.PutStr(p+"description", t.Description)
			a.PutStr(p+"parameters", t.Schema)
		}
		if t.Error != "" {
			w.end(s, 300*time.Millisecond)
			w.fail(s, "BadRequestError", t.Error)
			return
		}
		a.PutStr("gen_ai.response.model", model+"-2025-04-14")
		a.PutStr("gen_ai.response.id", "chatcmpl-"+w.callID()[5:])
		putLLMetryMessage(a, "gen_ai.completion.0.", openAIOutput(t, ids))
		a.PutStr("gen_ai.completion.0.finish_reason", finish(t, "tool_calls"))
		a.PutInt("gen_ai.usage.prompt_tokens", t.Input)
		a.PutInt("gen_ai.usage.completion_tokens", t.Output)
		a.PutInt("llm.usage.total_tokens", t.Input+t.Output)
		w.end(s, 700*time.Millisecond)
	}, func(c Call, _ string) {
		s := w.span(c.Tool+".tool", internal, root.SpanID())
		a := s.Attributes()
		a.PutStr("traceloop.span.kind", "tool")
		a.PutStr("traceloop.entity.name", c.Tool)
		a.PutStr("traceloop.workflow.name", agent)
		a.PutStr("traceloop.entity.input", js(obj{"args": []any{}, "kwargs": raw(c.Arguments)}))
		w.end(s, 60*time.Millisecond)
		if c.Failed {
			w.fail(s, "ValueError", c.Result)
			return
		}
		a.PutStr("traceloop.entity.output", c.Result)
	})
	if r.reply() != "" {
		a.PutStr("traceloop.entity.output", js(r.reply()))
	}
	w.finishRoot(root, r)
}

func putLLMetryMessage(a pcommon.Map, prefix string, m obj) {
	for _, k := range []string{"role", "content", "tool_call_id"} {
		if s, ok := m[k].(string); ok {
			a.PutStr(prefix+k, s)
		}
	}
	calls, _ := m["tool_calls"].([]obj)
	for j, c := range calls {
		p := fmt.Sprintf("%stool_calls.%d.", prefix, j)
		f := c["function"].(obj)
		a.PutStr(p+"id", c["id"].(string))
		a.PutStr(p+"name", f["name"].(string))
		a.PutStr(p+"arguments", f["arguments"].(string))
	}
}

// --- Vercel AI SDK 5

func writeVercel(r Run, w *Writer) {
	w.scope("ai", "")
	root := w.span("ai.generateText", internal, pcommon.SpanID{})
	common := func(a pcommon.Map, op string) {
		a.PutStr("operation.name", op+" "+agent)
		a.PutStr("ai.operationId", op)
		a.PutStr("ai.telemetry.functionId", agent)
		a.PutStr("ai.telemetry.metadata.sessionId", r.Session)
		a.PutStr("ai.model.id", model)
		a.PutStr("ai.model.provider", "openai.chat")
	}
	a := root.Attributes()
	common(a, "ai.generateText")
	a.PutStr("ai.prompt", js(obj{"system": system, "messages": []obj{{"role": "user", "content": r.User}}}))
	w.each(r, func(past []history, t Turn, ids []string) {
		s := w.span("ai.generateText.doGenerate", internal, root.SpanID())
		a := s.Attributes()
		common(a, "ai.generateText.doGenerate")
		a.PutStr("gen_ai.system", "openai.chat")
		a.PutStr("gen_ai.request.model", model)
		a.PutStr("ai.prompt.messages", js(vercelInput(r, past)))
		defs := a.PutEmptySlice("ai.prompt.tools")
		for _, t := range tools {
			defs.AppendEmpty().SetStr(js(obj{"type": "function", "name": t.Name, "description": t.Description, "inputSchema": raw(t.Schema)}))
		}
		if t.Error != "" {
			w.end(s, 300*time.Millisecond)
			w.fail(s, "AI_APICallError", t.Error)
			return
		}
		a.PutStr("ai.response.finishReason", strings.ReplaceAll(finish(t, "tool-calls"), "_", "-"))
		if t.Text != "" {
			a.PutStr("ai.response.text", t.Text)
		}
		if len(t.Calls) > 0 {
			var calls []obj
			for j, c := range t.Calls {
				calls = append(calls, obj{"toolCallId": ids[j], "toolName": c.Tool, "input": c.Arguments})
			}
			a.PutStr("ai.response.toolCalls", js(calls))
		}
		a.PutStr("gen_ai.response.model", model+"-2025-04-14")
		a.PutStr("gen_ai.response.id", "chatcmpl-"+w.callID()[5:])
		a.PutInt("ai.usage.promptTokens", t.Input)
		a.PutInt("ai.usage.completionTokens", t.Output)
		a.PutInt("gen_ai.usage.input_tokens", t.Input)
		a.PutInt("gen_ai.usage.output_tokens", t.Output)
		w.end(s, 700*time.Millisecond)
	}, func(c Call, id string) {
		s := w.span("ai.toolCall", internal, root.SpanID())
		a := s.Attributes()
		a.PutStr("operation.name", "ai.toolCall "+agent)
		a.PutStr("ai.operationId", "ai.toolCall")
		a.PutStr("ai.toolCall.name", c.Tool)
		a.PutStr("ai.toolCall.id", id)
		a.PutStr("ai.toolCall.args", c.Arguments)
		w.end(s, 60*time.Millisecond)
		if c.Failed {
			w.fail(s, "AI_InvalidToolInputError", c.Result)
			return
		}
		a.PutStr("ai.toolCall.result", c.Result)
	})
	if r.reply() != "" {
		a.PutStr("ai.response.text", r.reply())
		a.PutStr("ai.response.finishReason", "stop")
	}
	w.finishRoot(root, r)
}

func vercelInput(r Run, past []history) []obj {
	in := []obj{{"role": "system", "content": system}, {"role": "user", "content": []obj{{"type": "text", "text": r.User}}}}
	for _, h := range past {
		var parts []obj
		if h.turn.Text != "" {
			parts = append(parts, obj{"type": "text", "text": h.turn.Text})
		}
		var results []obj
		for j, c := range h.turn.Calls {
			parts = append(parts, obj{"type": "tool-call", "toolCallId": h.ids[j], "toolName": c.Tool, "input": raw(c.Arguments)})
			kind := "json"
			var value any = raw(c.Result)
			if c.Failed {
				kind, value = "error-text", c.Result
			}
			if !c.Lost {
				results = append(results, obj{"type": "tool-result", "toolCallId": h.ids[j], "toolName": c.Tool, "output": obj{"type": kind, "value": value}})
			}
		}
		in = append(in, obj{"role": "assistant", "content": parts})
		if results != nil {
			in = append(in, obj{"role": "tool", "content": results})
		}
	}
	return in
}
