package trajectory

import "testing"

// Each strong mark of a dialect tells it alone; what looks like a mark and is none does not.
func TestRecognised(t *testing.T) {
	a := func(k string, v any) fixtureSpan { return fixtureSpan{Name: "x", Attrs: map[string]any{k: v}} }
	scope := func(s string) fixtureSpan {
		return fixtureSpan{Name: "x", Scope: s, Attrs: map[string]any{"gen_ai.operation.name": "chat"}}
	}
	name := func(n string) fixtureSpan { return fixtureSpan{Name: n} }
	for want, spans := range map[string][]fixtureSpan{
		"langfuse-sdk":  {a("langfuse.observation.type", "span"), scope("langfuse-sdk")},
		"mcp":           {a("mcp.method.name", "tools/call")},
		"openinference": {a("openinference.span.kind", "LLM"), a("openinference.span.kind", "unknown")},
		"vercel-legacy": {a("ai.operationId", "ai.toolCall"), a("ai.toolCall.name", "t"), a("operation.name", "ai.generateText shop"),
			{Name: "ai.generateText", Scope: "opencode", Attrs: map[string]any{"ai.operationId": "ai.generateText"}}},
		"vercel-v7": {{Name: "step 1", Scope: "gen_ai", Attrs: map[string]any{"gen_ai.operation.name": "agent_step"}},
			{Name: "chat m", Scope: "other", Attrs: map[string]any{"gen_ai.operation.name": "chat", "ai.settings.context.x": "y"}}},
		"pydantic-ai": {scope("pydantic-ai"), a("model_request_parameters", "{}"), a("pydantic_ai.all_messages", "[]"), a("all_messages_events", "[]")},
		"logfire":     {{Name: "Chat Completion with 'm' [LLM]", Scope: "logfire.openai", Attrs: map[string]any{"request_data": `{"model":"m","messages":[]}`, "logfire.msg": "x"}}},
		"adk":         {scope("gcp.vertex.agent"), a("gcp.vertex.agent.llm_request", "{}"), a("gcp.vertex.agent.event_id", "e"), a("gcp.vertex.agent.invocation_id", "i"), a("gen_ai.system", "gcp.vertex.agent"), a("gcp.vertex.agent.session_id", "s")},
		"strands":     {scope("strands.telemetry.tracer"), a("gen_ai.system", "strands-agents"), a("gen_ai.provider.name", "strands-agents"), a("event_loop.cycle_id", "c")},
		"livekit":     {scope("livekit-agents"), a("lk.anything", "x"), a("lk.pii.chat_ctx", "{}")},
		"langsmith":   {a("langsmith.span.kind", "llm"), scope("langsmith")},
		"litellm":     {scope("litellm"), a("gen_ai.cost.total_cost", 1.5), a("gen_ai.cost.input_cost", 1.5), a("litellm.call_id", "c")},
		"openllmetry": {a("traceloop.span.kind", "tool"), a("traceloop.workflow.name", "w"), a("traceloop.entity.name", "e"), a("traceloop.entity.path", "p"),
			{Name: "x", Scope: "traceloop.tracer", Attrs: map[string]any{"gen_ai.request.model": "m"}}, a("llm.request.type", "chat"),
			{Name: "openai.chat", Scope: "opentelemetry.instrumentation.openai.v1", Attrs: map[string]any{"gen_ai.is_streaming": false, "gen_ai.request.model": "m", "llm.usage.total_tokens": int64(3), "llm.request.type": "chat"}}},
		"genkit":          {a("genkit:type", "action"), a("genkit:metadata:subtype", "model"), {Name: "x", Scope: "genkit-tracer"}},
		"agent-framework": {scope("agent_framework"), scope("Microsoft.Agents.AI"), scope("Experimental.Microsoft.Agents.AI"), a("gen_ai.provider.name", "microsoft.agent_framework")},
		"semantic-kernel": {scope("semantic_kernel.utils.telemetry"), scope("Microsoft.SemanticKernel.Diagnostics"), a("sk.available_functions", "f")},
		"autogen":         {scope("autogen-core"), scope("autogen SingleThreadedAgentRuntime"), a("gen_ai.system", "autogen")},
		"spring-ai":       {a("spring.ai.kind", "chat_client"), a("spring.ai.anything", "x")},
		"haystack":        {name("haystack.pipeline.run"), a("haystack.component.name", "c")},
		"gemini-cli":      {{Name: "x", Scope: "gemini-cli", Attrs: map[string]any{"gen_ai.operation.name": "llm_call"}}, a("gen_ai.operation.name", "llm_call"), a("gen_ai.operation.name", "user_prompt"), a("gen_ai.operation.name", "schedule_tool_calls"), a("gen_ai.operation.name", "agent_call")},
		"codex":           {a("codex.turn.token_usage.input_tokens", int64(1)), {Name: "codex.tool_result", Attrs: map[string]any{"conversation.id": "c"}}, {Name: "session_task.turn", Scope: "codex_cli_rs"}},
		"claude-code":     {name("claude_code.interaction"), name("claude_code.tool")},
		"copilot":         {a("github.copilot.anything", "x"), a("copilot_chat.turn_count", int64(1))},
		"openlit":         {{Name: "chat m", Attrs: map[string]any{"telemetry.sdk.name": "openlit", "gen_ai.operation.name": "chat"}}},
		"mlflow":          {a("mlflow.spanType", `"LLM"`), a("mlflow.spanInputs", "{}")},
		"koog":            {{Name: "x", Scope: "ai.koog", Attrs: map[string]any{"gen_ai.operation.name": "chat"}}, a("koog.node.name", "n")},
		"braintrust":      {a("braintrust.span_attributes", "{}"), a("braintrust.input_json", "{}"), a("braintrust.metrics", "{}"), a("braintrust.scores", "{}")},
		"voltagent":       {{Name: "x", Attrs: map[string]any{"entity.type": "agent", "entity.id": "a", "span.type": "agent"}}, a("voltagent.operation_id", "o")},
		"agentops":        {a("agentops.span.kind", "agent")},
		"otel-genai": {a("gen_ai.input.messages", "[]"), a("gen_ai.provider.name", "openai"), a("gen_ai.tool.call.arguments", "{}"), scope("Experimental.Microsoft.Extensions.AI"),
			scope("opentelemetry.instrumentation.openai_v2"), a("gen_ai.operation.name", "chat"),
			{Name: "x", Attrs: map[string]any{"gen_ai.operation.name": "chat", "langfuse.session.id": "an annotation"}},
			{Name: "x", Scope: "httpx", Attrs: map[string]any{"gen_ai.operation.name": "chat", "ai.custom": "an application's own"}}},
		"raw": {{Name: "call_model", Attrs: map[string]any{"model": "m", "prompt_tokens": int64(3)}}, {Name: "x", Attrs: map[string]any{"llm_model": "m", "tokens.in": int64(3)}}},
		"": {{Name: "GET /v1/models", Attrs: map[string]any{"http.method": "GET", "model": "m"}}, {Name: "x", Scope: "openai", Attrs: map[string]any{"openai.api": "chat"}},
			a("ai.custom", "an application's own"), a("langfuse.session.id", "s"), name("tool"), a("span.type", "web"), a("conversation.id", "c"), a("entity.type", "customer")},
	} {
		for _, f := range spans {
			n := node{span: f.span(t)}
			n.read()
			got := ""
			if n.dialect != nil {
				got = n.dialect.Name
			}
			if got != want {
				t.Errorf("%s %q %v is read as %q, want %q", f.Name, f.Scope, f.Attrs, got, want)
			}
		}
	}
}
