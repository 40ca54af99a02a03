package trajectory

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// counted is one call of a model as an emitter of a dialect tells it. The call is the same everywhere: 100 tokens in, 40 of them from the
// cache, and 20 out, 5 of them thought; in and out are how the emitter counts them.
type countedCall struct {
	dialect     string
	in, out     placed
	name, scope string
	attrs       map[string]any
	event       string // a span event that the dialect is known by
}

// conventions are the attributes of a call in the conventions' keys.
func conventions(in, out int64, more map[string]any) map[string]any {
	a := map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": in, "gen_ai.usage.output_tokens": out,
		"gen_ai.usage.cache_read.input_tokens": int64(40), "gen_ai.usage.reasoning.output_tokens": int64(5)}
	maps.Copy(a, more)
	return a
}

type attributes = map[string]any

var countedCalls = []countedCall{
	{"langfuse-sdk", beside, beside, "call", "langfuse-sdk", attributes{"langfuse.observation.type": "generation",
		"langfuse.observation.usage_details": `{"input":60,"input_cached_tokens":40,"output":15,"output_reasoning_tokens":5,"total":120}`}, ""},
	{"langfuse-sdk", included, included, "call", "langfuse-sdk", attributes{"langfuse.observation.type": "generation",
		"langfuse.observation.usage_details": `{"input":100,"input_cached_tokens":40,"output":20,"output_reasoning_tokens":5,"total":120}`}, ""},
	{"openinference", included, included, "ChatCompletion", "", attributes{"openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.token_count.prompt": int64(100),
		"llm.token_count.completion": int64(20), "llm.token_count.prompt_details.cache_read": int64(40), "llm.token_count.completion_details.reasoning": int64(5)}, ""},
	{"openinference", beside, included, "Messages", "", attributes{"openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.token_count.prompt": int64(60),
		"llm.token_count.completion": int64(20), "llm.token_count.completion_details.reasoning": int64(5), "llm.token_count.prompt_details.cache_read": int64(40),
		"output.value": `{"id":"r","type":"message","role":"assistant","content":[],"usage":{"input_tokens":60,"output_tokens":20,"cache_read_input_tokens":40}}`}, ""},
	{"claude-agent-sdk", beside, included, "ClaudeAgentSDK.query", "openinference.instrumentation.claude_agent_sdk", attributes{"openinference.span.kind": "AGENT", "llm.model_name": "m-1",
		"llm.token_count.prompt": int64(60), "llm.token_count.completion": int64(20), "llm.token_count.prompt_details.cache_read": int64(40),
		"llm.token_count.completion_details.reasoning": int64(5)}, ""},
	{"vercel-legacy", included, included, "ai.generateText.doGenerate", "ai", attributes{"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m-1", "ai.usage.inputTokens": int64(100),
		"ai.usage.outputTokens": int64(20), "ai.usage.inputTokenDetails.cacheReadTokens": int64(40), "ai.usage.outputTokenDetails.reasoningTokens": int64(5)}, ""},
	{"vercel-legacy", beside, included, "ai.generateText.doGenerate", "ai", attributes{"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m-1", "ai.usage.promptTokens": int64(60),
		"ai.usage.completionTokens": int64(20), "ai.usage.reasoningTokens": int64(5), "ai.response.providerMetadata": `{"anthropic":{"cacheReadInputTokens":40}}`}, ""},
	{"vercel-v7", included, included, "chat m-1", "gen_ai", conventions(100, 20, attributes{"ai.settings.context.sessionId": "s"}), ""},
	{"pydantic-ai", included, included, "chat m-1", "pydantic-ai", conventions(100, 20, attributes{"model_request_parameters": "{}"}), ""},
	{"logfire", included, included, "Chat Completion with 'm-1'", "logfire.openai", attributes{"request_data": `{"model":"m-1","messages":[{"role":"user","content":"hi"}]}`,
		"response_data": `{"message":{"role":"assistant","content":"yo"},"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":5}}}`}, ""},
	{"adk", included, included, "call_llm", "gcp.vertex.agent", conventions(100, 20, attributes{"gen_ai.system": "gcp.vertex.agent", "gen_ai.operation.name": "generate_content"}), ""},
	{"adk", included, beside, "call_llm", "gcp.vertex.agent", conventions(100, 15, attributes{"gen_ai.system": "gcp.vertex.agent", "gcp.vertex.agent.llm_request": `{"model":"m-1"}`,
		"gcp.vertex.agent.llm_response": `{"usage_metadata":{"prompt_token_count":100,"candidates_token_count":15,"thoughts_token_count":5,"cached_content_token_count":40}}`}), ""},
	{"strands", included, included, "chat", "strands.telemetry.tracer", conventions(100, 20, attributes{"gen_ai.system": "strands-agents", "gen_ai.request.model": "gpt-x"}), "gen_ai.choice"},
	{"strands", beside, included, "chat", "strands.telemetry.tracer", conventions(60, 20, attributes{"gen_ai.system": "strands-agents", "gen_ai.request.model": "anthropic.claude-x"}), "gen_ai.choice"},
	{"livekit", included, included, "llm_request", "livekit-agents", attributes{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "lk.llm_metrics": `{"prompt_tokens":100,"completion_tokens":20,"prompt_cached_tokens":40}`,
		"gen_ai.usage.reasoning_tokens": int64(5)}, ""},
	{"langsmith", included, included, "ChatOpenAI", "langsmith", attributes{"langsmith.span.kind": "llm", "gen_ai.request.model": "m-1",
		"langsmith.usage_metadata": `{"input_tokens":100,"output_tokens":20,"input_token_details":{"cache_read":40},"output_token_details":{"reasoning":5}}`}, ""},
	{"litellm", included, included, "litellm_request", "litellm", conventions(100, 20, nil), ""},
	{"openllmetry", included, included, "openai.chat", "@traceloop/instrumentation-openai", conventions(100, 20, attributes{"traceloop.workflow.name": "w", "llm.request.type": "chat"}), ""},
	{"openllmetry", beside, included, "chat m-1", "@traceloop/instrumentation-anthropic", conventions(60, 20, attributes{"gen_ai.provider.name": "anthropic"}), ""},
	{"openllmetry", beside, included, "anthropic.chat", "@traceloop/instrumentation-anthropic", conventions(60, 20, attributes{"traceloop.workflow.name": "w", "llm.request.type": "chat"}), ""},
	{"openai-agents", included, included, "chat", "opentelemetry.instrumentation.openai_agents", conventions(100, 20, attributes{"gen_ai.agent.description": "OpenAI Agents instrumentation"}), ""},
	{"genkit", included, beside, "m-1", "genkit-tracer", attributes{"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "googleai/m-1",
		"genkit:output": `{"usage":{"inputTokens":100,"outputTokens":15,"thoughtsTokens":5,"cachedContentTokens":40,"totalTokens":120}}`}, ""},
	{"genkit", included, included, "m-1", "genkit-tracer", attributes{"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:name": "openai/m-1",
		"genkit:output": `{"usage":{"inputTokens":100,"outputTokens":20,"thoughtsTokens":5,"cachedContentTokens":40,"totalTokens":120}}`}, ""},
	{"agent-framework", included, included, "chat m-1", "agent_framework", conventions(100, 20, nil), ""},
	{"semantic-kernel", included, included, "chat.completions m-1", "semantic_kernel.utils.telemetry", conventions(100, 20, nil), ""},
	{"spring-ai", included, included, "chat m-1", "org.springframework.boot", conventions(100, 20, attributes{"spring.ai.kind": "chat_model"}), ""},
	{"haystack", included, included, "haystack.component.run", "haystack", attributes{"haystack.component.name": "llm", "haystack.component.type": "OpenAIChatGenerator",
		"haystack.component.input": `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
		"haystack.component.output": `{"replies":[{"role":"assistant","content":[{"text":"yo"}],"meta":{"model":"m-1","usage":{"prompt_tokens":100,"completion_tokens":20,` +
			`"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":5}}}}]}`}, ""},
	{"gemini-cli", included, beside, "llm_call", "gemini-cli", conventions(100, 15, attributes{"gen_ai.operation.name": "llm_call"}), ""},
	{"codex", included, included, "session_task.turn", "codex_cli_rs", attributes{"codex.turn.token_usage.input_tokens": int64(100), "codex.turn.token_usage.output_tokens": int64(20),
		"codex.turn.token_usage.cached_input_tokens": int64(40), "codex.turn.token_usage.reasoning_output_tokens": int64(5), "model": "m-1"}, ""},
	{"claude-code", beside, included, "claude_code.llm_request", "com.anthropic.claude_code.tracing", attributes{"span.type": "llm_request", "model": "m-1", "input_tokens": int64(60), "output_tokens": int64(20),
		"cache_read_tokens": int64(40)}, ""},
	{"claude-code", included, included, "claude_code.llm_request", "com.anthropic.claude_code.tracing", conventions(100, 20, attributes{"span.type": "llm_request"}), ""},
	{"copilot", included, included, "chat m-1", "copilot-chat", conventions(100, 20, attributes{"github.copilot.turn": "1", "copilot_chat.turn": "1"}), ""},
	{"openlit", included, included, "chat m-1", "@openlit/instrumentation-openai", conventions(100, 20, attributes{"telemetry.sdk.name": "openlit"}), ""},
	{"openlit", beside, included, "chat m-1", "@openlit/instrumentation-anthropic", conventions(60, 20, attributes{"telemetry.sdk.name": "openlit"}), ""},
	{"langtrace", included, included, "openai.chat.completions.create", "@langtrase/typescript-sdk", conventions(100, 20, attributes{"langtrace.service.name": "OpenAI", "langtrace.service.type": "llm", "langtrace.sdk.name": "@langtrase/typescript-sdk"}), ""},
	{"sentry", included, included, "chat m-1", "@sentry/node", conventions(100, 20, attributes{"sentry.op": "gen_ai.chat"}), ""},
	{"sentry", beside, included, "chat m-1", "@sentry/node", conventions(60, 20, attributes{"sentry.op": "gen_ai.chat", "gen_ai.usage.total_tokens": int64(120)}), ""},
	{"mastra", included, included, "chat m-1", "@mastra/otel-exporter", conventions(100, 20, attributes{"mastra.span.type": "model_step"}), ""},
	{"mlflow", included, included, "Completions", "mlflow", attributes{"mlflow.spanType": `"CHAT_MODEL"`, "mlflow.spanInputs": `{"model":"m-1"}`,
		"mlflow.chat.tokenUsage": `{"input_tokens":100,"output_tokens":20,"total_tokens":120,"input_token_details":{"cache_read":40},"output_token_details":{"reasoning":5}}`}, ""},
	{"mlflow", beside, included, "Messages.create", "mlflow", attributes{"mlflow.spanType": `"CHAT_MODEL"`, "mlflow.spanInputs": `{"model":"m-1"}`, "mlflow.message.format": `"anthropic"`,
		"mlflow.chat.tokenUsage": `{"input_tokens":60,"output_tokens":20,"cache_read_input_tokens":40,"output_token_details":{"reasoning":5}}`}, ""},
	{"koog", included, included, "llm.m-1", "ai.koog", conventions(100, 20, attributes{"koog.node.name": "n"}), ""},
	{"braintrust", included, included, "Chat Completion", "braintrust", attributes{"braintrust.span_attributes": `{"type":"llm"}`, "braintrust.metadata": `{"model":"m-1"}`,
		"braintrust.metrics": `{"prompt_tokens":100,"completion_tokens":20,"prompt_cached_tokens":40,"completion_reasoning_tokens":5}`}, ""},
	{"braintrust", beside, included, "Messages", "braintrust", attributes{"braintrust.span_attributes": `{"type":"llm"}`, "braintrust.metadata": `{"model":"m-1"}`,
		"braintrust.metrics":     `{"prompt_tokens":60,"completion_tokens":20,"prompt_cached_tokens":40,"completion_reasoning_tokens":5}`,
		"braintrust.output_json": `{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":60,"output_tokens":20,"cache_read_input_tokens":40}}`}, ""},
	{"voltagent", included, included, "agent", "@voltagent/core", attributes{"entity.type": "agent", "span.type": "agent", "voltagent.label": "a", "ai.model.name": "m-1", "usage.prompt_tokens": int64(100),
		"usage.completion_tokens": int64(20), "usage.cached_tokens": int64(40), "usage.reasoning_tokens": int64(5)}, ""},
	{"agentops", included, included, "openai.chat.completion", "agentops", conventions(100, 20, attributes{"agentops.span.kind": "llm"}), ""},
	{"aws-sdk-bedrock", included, included, "chat m-1", "@opentelemetry/instrumentation-aws-sdk", conventions(100, 20, attributes{"gen_ai.system": "aws.bedrock", "rpc.system": "aws-api", "rpc.service": "BedrockRuntime"}), ""},
	{"otel-genai", included, included, "chat m-1", "", conventions(100, 20, attributes{"gen_ai.provider.name": "openai"}), ""},
	{"otel-genai-events", included, included, "chat m-1", "", conventions(100, 20, attributes{"gen_ai.system": "openai"}), "gen_ai.choice"},
	{"raw", included, included, "call_model", "", attributes{"model": "m-1", "prompt_tokens": int64(100), "completion_tokens": int64(20), "cached_tokens": int64(40), "reasoning_tokens": int64(5), "prompt": "hi"}, ""},
}

func (c countedCall) build(t *testing.T) *Trajectory {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(c.scope)
	s := ss.Spans().AppendEmpty()
	s.SetName(c.name)
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{1})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Second)))
	if err := s.Attributes().FromRaw(c.attrs); err != nil {
		t.Fatal(err)
	}
	if c.event != "" {
		e := s.Events().AppendEmpty()
		e.SetName(c.event)
		e.Attributes().PutStr("message", `{"role":"assistant","content":"yo"}`)
	}
	return Build(FromOTLP([]ptrace.Traces{td}, nil)[0])
}

// Every dialect has one row and every row a dialect; each way of counting that a row knows is met, and comes out as the same counts.
func TestCountings(t *testing.T) {
	rows, met := map[string]*counting{}, map[string]bool{}
	for i := range countings {
		c := &countings[i]
		if rows[c.dialect] != nil || c.source == "" {
			t.Errorf("%s: two rows, or no source", c.dialect)
		}
		rows[c.dialect] = c
	}
	for _, d := range dialects {
		if rows[d.Name] == nil {
			t.Errorf("%s: no row says how it counts tokens", d.Name)
		}
	}
	for name := range rows {
		if !slices.ContainsFunc(dialects, func(d *Dialect) bool { return d.Name == name }) {
			t.Errorf("%s: a row without a dialect", name)
		}
	}
	for i, c := range countedCalls {
		t.Run(fmt.Sprintf("%d %s", i, c.dialect), func(t *testing.T) {
			met[c.dialect+" in "+string(c.in)], met[c.dialect+" out "+string(c.out)] = true, true
			tr := c.build(t)
			if !slices.Contains(tr.Dialects, c.dialect) {
				t.Errorf("read as %v", tr.Dialects)
			}
			if len(tr.ModelCalls) != 1 {
				t.Fatalf("%d calls", len(tr.ModelCalls))
			}
			u := tr.ModelCalls[0].Usage
			if tokens(u.Input) != 100 || tokens(u.Output) != 20 || tokens(u.CacheRead) != 40 || u.Reasoning != nil && *u.Reasoning != 5 {
				t.Errorf("in %d out %d read %d thought %d, want 100 20 40 5", tokens(u.Input), tokens(u.Output), tokens(u.CacheRead), tokens(u.Reasoning))
			}
			row := rows[c.dialect]
			if row.cached != bySpan && row.cached != c.in || row.reasoning != bySpan && row.reasoning != c.out {
				t.Errorf("the row says %s, %s; this call is counted %s, %s", row.cached, row.reasoning, c.in, c.out)
			}
		})
	}
	for _, c := range countings {
		for side, where := range map[string]placed{"in": c.cached, "out": c.reasoning} {
			ways := []placed{where}
			switch {
			case where == uncounted, c.dialect == adotName: // the one has no counts, the other's stand on spans of others
				continue
			case where == bySpan:
				ways = []placed{included, beside}
			}
			for _, way := range ways {
				if !met[c.dialect+" "+side+" "+string(way)] {
					t.Errorf("%s: no call has its %s counted %s", c.dialect, side, way)
				}
			}
		}
	}
}
