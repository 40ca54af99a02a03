package main

import (
	"encoding/json"
	"maps"
	"strings"
)

// emitter says how one instrumentation marks, in its own raw attributes, the spans of model calls and of tool executions.
type emitter struct {
	model, tool func(rawSpan) bool
	// total marks the spans that alone tell the usage of a whole run.
	total func(rawSpan) bool
	// estimates: the numbers in the data are the emitter's own guess, not the provider's.
	estimates bool
	// thoughts: the output count leaves reasoning out, as the total beside it shows.
	thoughts bool
	// blind: the emitter puts no content of any kind into its data.
	blind bool
	// apart: every model call is a trace of its own that nothing joins, so that no trace shows whether its requests were answered.
	apart bool
	// tools are offered by the framework beside or instead of the agent's own; a nil list takes one away.
	tools map[string][]string
}

// offers is what this emitter's agent was offered: the parameters of each tool.
func (e emitter) offers() map[string][]string {
	all := maps.Clone(offeredTools)
	for name, params := range e.tools {
		if all[name] = params; params == nil {
			delete(all, name)
		}
	}
	return all
}

func named(prefixes ...string) func(rawSpan) bool {
	return func(s rawSpan) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(s.name, p) {
				return true
			}
		}
		return false
	}
}

func with(key string, values ...string) func(rawSpan) bool {
	return func(s rawSpan) bool {
		for _, v := range values {
			if s.text(key) == v {
				return true
			}
		}
		return false
	}
}

func none(rawSpan) bool { return false }

var emitters = map[string]emitter{
	"genkit-js": {model: with("genkit:metadata:subtype", "model"), tool: with("genkit:metadata:subtype", "tool")},
	"google-adk-js": {model: named("call_llm"), tool: func(s rawSpan) bool { return named("execute_tool ")(s) && s.name != "execute_tool (merged)" },
		thoughts: true, tools: map[string][]string{"transfer_to_agent": {"agentName"}, "transfer_to_billing": nil}},
	"laminar-openai":   {model: named("chat "), tool: with("lmnr.span.type", "TOOL")},
	"langfuse-openai":  {model: with("langfuse.observation.type", "generation"), tool: with("langfuse.observation.type", "tool")},
	"langsmith-openai": {model: with("langsmith.span.kind", "llm"), tool: with("langsmith.span.kind", "tool")},
	"langtrace-openai": {model: named("openai.chat."), tool: none},
	"mastra":           {model: named("chat "), tool: named("execute_tool ")},
	"openai-agents-openinference": {model: with("openinference.span.kind", "LLM"), tool: with("openinference.span.kind", "TOOL"),
		tools: map[string][]string{"transfer_to_shipping": {}}},
	"openinference-bedrock":   {model: with("openinference.span.kind", "LLM"), tool: none},
	"openinference-langchain": {model: with("openinference.span.kind", "LLM"), tool: with("openinference.span.kind", "TOOL")},
	"openinference-openai":    {model: with("openinference.span.kind", "LLM"), tool: with("openinference.span.kind", "TOOL")},
	"openinference-tanstack":  {model: with("openinference.span.kind", "LLM"), tool: with("openinference.span.kind", "TOOL")},
	"openinference-vercel":    {model: with("openinference.span.kind", "LLM"), tool: with("openinference.span.kind", "TOOL")},
	"openlit-langchain":       {model: named("chat "), tool: named("execute_tool "), estimates: true},
	"otel-aws-bedrock":        {model: named("chat "), tool: none, blind: true},
	"otel-openai-chat":        {model: named("chat "), tool: none, apart: true},
	"otel-openai-responses":   {model: named("chat "), tool: named("execute_tool ")},
	"sentry-openai":           {model: named("chat "), tool: named("execute_tool ")},
	"strands-ts":              {model: with("gen_ai.operation.name", "chat"), tool: named("execute_tool ")},
	"traceloop-bedrock":       {model: named("bedrock.completion"), tool: none, blind: true},
	"traceloop-langchain":     {model: named("chat "), tool: named("execute_tool ")},
	"traceloop-mcp":           {model: named("chat "), tool: func(s rawSpan) bool { return strings.HasSuffix(s.name, ".tool") }},
	"traceloop-openai":        {model: named("chat ", "openai.chat"), tool: with("traceloop.span.kind", "tool")},
	"vercel-ai":               {model: vercelModel, tool: named("ai.toolCall", "execute_tool ")},
	"vercel-ai-legacyotel":    {model: vercelModel, tool: named("ai.toolCall")},
	"vercel-ai-supplemental":  {model: vercelModel, tool: named("execute_tool ")},
	"voltagent":               {model: named("llm:"), tool: named("tool.execution:"), total: with("entity.type", "agent")},
}

func vercelModel(s rawSpan) bool {
	return strings.HasPrefix(s.name, "chat ") || strings.HasPrefix(s.name, "ai.") && (strings.Contains(s.name, ".doGenerate") || strings.Contains(s.name, ".doStream"))
}

// usage is what one model call cost in tokens; -1 is not in the data.
type usage struct{ in, out, cached, reasoning float64 }

// usageOf reads the counts of a span from whichever of the known keys it has; ok says whether it tells any.
func (e emitter) usageOf(s rawSpan) (u usage, ok bool) {
	first := func(keys ...string) float64 {
		for _, k := range keys {
			if n, ok := s.attrs[k].(float64); ok {
				return n
			}
		}
		return -1
	}
	u.in = first("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens", "ai.usage.promptTokens", "usage.prompt_tokens")
	u.out = first("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.outputTokens", "ai.usage.completionTokens", "usage.completion_tokens")
	var o struct {
		Usage struct{ InputTokens, OutputTokens *float64 }
	}
	if text := s.text("genkit:output"); text != "" && json.Unmarshal([]byte(text), &o) == nil && o.Usage.InputTokens != nil {
		u.in, u.out = *o.Usage.InputTokens, *o.Usage.OutputTokens
	}
	var buckets map[string]float64
	if text := s.text("langfuse.observation.usage_details"); text != "" && json.Unmarshal([]byte(text), &buckets) == nil {
		u.in, u.out = buckets["input"]+buckets["input_cached_tokens"], buckets["output"]+buckets["output_reasoning_tokens"]
	}
	x := newIndex()
	x.add(s.attrs)
	for _, e := range s.events {
		x.add(e.attrs)
	}
	u.cached = x.most("cached_tokens", "cache_read", "cacheReadTokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
		"llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens", "input_cached_tokens", "usage.cached_tokens", "cachedContentTokenCount", "cachedPromptTokens", "cachedContentTokens", "cacheReadInputTokens")
	u.reasoning = x.most("reasoning_tokens", "reasoning", "reasoningTokens", "gen_ai.usage.reasoning_tokens", "llm.token_count.completion_details.reasoning",
		"ai.usage.reasoningTokens", "output_reasoning_tokens", "usage.reasoning_tokens", "thoughtsTokenCount", "thoughtsTokens", "ai.usage.outputTokenDetails.reasoningTokens")
	if e.estimates || s.attrs["langtrace.service.name"] != nil && s.attrs["gen_ai.request.stream"] == true {
		u.in = -1 // counted by a tokenizer of the emitter's own
	}
	if s.attrs["langtrace.service.name"] != nil && u.in < 0 {
		u.out = -1
	}
	if e.thoughts && u.reasoning > 0 {
		u.out += u.reasoning
	}
	return u, u.in >= 0 || u.out >= 0
}
