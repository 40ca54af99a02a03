package trajectory

import (
	"maps"
	"strings"
)

// LangSmith in JavaScript, where an integration that traces by callbacks (LangChain, the AI SDK's telemetry, OpenAI Agents) meets its OpenTelemetry
// mode: all runs of the trace are written onto the one span of the traceable around them, each over the one before. What is left is the run that
// was written last, under the name of the first; nothing else of the trace was sent.
var _ = add(Dialect{
	Name: "langsmith",
	Rank: 10,
	Keys: []string{"langsmith."},
	Score: func(s *Span) int {
		if overwritten(s) {
			return 60
		}
		return 0
	},
	Read: func(s *Span) Facts {
		f := readLangSmith(s)
		f.Hidden = append(f.Hidden, FactWhole)
		return f
	},
	Includes: append([]string{"langsmith"}, overGenAI...),
	Remedies: overwrittenRemedies(),
})

func overwritten(s *Span) bool {
	a := s.Attrs
	if run := a.Str("langsmith.trace.name"); run == "" || run == s.Name || !a.Has("langsmith.traceable") {
		return false
	}
	by := langSmithMeta(a, "ls_integration")
	return strings.HasPrefix(by, "langchain") || isAnyOf(by, "vercel-ai-sdk-telemetry", "openai-agents-sdk")
}

func overwrittenRemedies() map[Fact]string {
	const remedy = "LangSmith wrote all runs of this trace onto one span, each over the one before, as it does in JavaScript for LangChain, the AI SDK's telemetry and OpenAI Agents: trace these with their OpenInference or OpenLLMetry instrumentation, the AI SDK with its own (experimental_telemetry, @ai-sdk/otel) or wrapAISDK"
	out := maps.Clone(langSmith.Remedies)
	for _, f := range []Fact{FactModelCalls, FactToolCalls, FactToolExecution, FactToolsOffered, FactToolSchemas, FactArguments, FactResults, FactUsage,
		FactFinishReason, FactModelName, FactUserMessages, FactReply, FactWhole} {
		out[f] = remedy
	}
	return out
}
