package trajectory

// placed says where an emitter counts a part of its tokens.
type placed string

// included: the part is in the count. beside: it is not, and the builder adds it. bySpan: emitters, versions or providers of one dialect differ,
// and the dialect's Read tells by each span. uncounted: the dialect carries no such counts.
const (
	included  placed = "included"
	beside    placed = "beside"
	bySpan    placed = "by span"
	uncounted placed = "none"
)

// counting says of one dialect whether its input count has the cached tokens in it and its output count the reasoning.
type counting struct {
	dialect           string
	cached, reasoning placed
	source            string // where this is known from: a section of the notes on dialects (4.3, 5.x) or on emitters, the captures, or the emitter's own code
}

// countings is one row for every dialect. Whatever it says, arithmetic has the last word: a part that alone is more than the count, or a
// total that is the sum with the part and not without it, was left out (wholeUsage).
var countings = []counting{
	{"langfuse-sdk", bySpan, bySpan, "emitters, Langfuse: exclusive buckets, which Read joins again; usage passed on from Anthropic as it came leaves cached tokens out"},
	{"mcp", uncounted, uncounted, "5.2: a tool's call, no model's"},
	{"openinference", bySpan, included, "4.3: details are parts; the older instrumentor of Anthropic repeats the provider's count, which the response body beside it shows"},
	{"claude-agent-sdk", beside, included, "4.3, Anthropic's raw counts; 5.3: usage at the root only"},
	{"vercel-legacy", bySpan, included, "4.3: versions 6 and 7 include (12,632 = 3 + 0 + 12,629), 4 and 5 with Anthropic do not"},
	{"vercel-v7", included, included, "4.3; captures of 7.0"},
	{"pydantic-ai", included, included, "4.3"},
	{"logfire", included, included, "5.6: the body of OpenAI's answer, whose details are parts"},
	{"adk", included, bySpan, "4.3: version 2 includes thoughts (51 = 19 + 32), version 1 does not: Read adds the response's own parts"},
	{"strands", bySpan, included, "4.3: Bedrock and Anthropic behind it leave cached tokens out; captures of OpenAI behind it include them"},
	{"livekit", included, included, "5.15: lk.llm_metrics is OpenAI-shaped"},
	{"langsmith", included, included, "5.11: LangChain's usage_metadata, whose details are parts; captures"},
	{"litellm", included, included, "4.3: OpenAI-shaped whatever the provider"},
	{"openllmetry", bySpan, included, "5.4: OpenAI-shaped; JavaScript's instrumentation of Anthropic passes the provider's count on (94 with 16 cached beside, of 110), Python's adds the parts up"},
	{"openai-agents", included, included, "5.10: OpenAI's own counts"},
	{"genkit", included, bySpan, "4.3: Google's thoughts are beside the output; totalTokens tells, since other plugins include them"},
	{"agent-framework", included, included, "5.12: the conventions' keys"},
	{"semantic-kernel", included, included, "5.12: the conventions' keys"},
	{"autogen", uncounted, uncounted, "5.12: no usage at all"},
	{"spring-ai", included, included, "5.14: the conventions' keys"},
	{"haystack", included, included, "5.15: meta.usage is OpenAI-shaped; Anthropic's parts are added by arithmetic"},
	{"gemini-cli", included, beside, "4.3: the output is the candidates alone, thoughts are apart"},
	{"codex", included, included, "4.3: OpenAI-shaped"},
	{"claude-code", bySpan, included, "4.3: input_tokens is the provider's, without cached ones; its gen_ai.* keys follow the conventions"},
	{"copilot", included, included, "5.16: the conventions' keys"},
	{"openlit", bySpan, included, "5.17; captures: the provider's prompt_tokens (of LangChain an estimate, which is dropped); of Anthropic's and Bedrock's clients the provider's count too, which leaves cached tokens out (94 with 16 beside, of 110)"},
	{"langtrace", included, included, "captures: the provider's prompt_tokens"},
	{"sentry", bySpan, included, "captures include; with Anthropic total_tokens is the sum with the cached tokens beside"},
	{"mastra", included, included, "captures: 177,100 with 4,096 cached"},
	{"mlflow", bySpan, included, "5.17: mlflow.chat.tokenUsage; with mlflow.message.format=anthropic the provider's count"},
	{"koog", included, included, "5.15: the conventions' keys"},
	{"braintrust", bySpan, included, "5.17: braintrust.metrics is OpenAI-shaped; an Anthropic body with the same count shows that cached tokens are beside"},
	{"voltagent", included, included, "captures: usage.prompt_tokens with usage.cached_tokens in it"},
	{"agentops", included, included, "5.17: OpenLLMetry's keys"},
	{"crewai-telemetry", uncounted, uncounted, "5.17: no usage"},
	{"a2a", uncounted, uncounted, "5.17: no model's call"},
	{"aws-sdk-bedrock", included, included, "captures: Converse's inputTokens; it sends no cached count"},
	{adotName, included, included, "5.9: a transport; the counts stand on the spans of the dialect that it rewrites"},
	{"otel-genai", included, included, "4.3: the conventions since 1.40"},
	{"otel-genai-events", included, included, "4.3: the conventions since 1.40"},
	{"raw", included, included, "home-made keys; OpenAI-shaped, and arithmetic where the parts exceed the count"},
}

// countingOf is the dialect's row, nil when it has none, which a test forbids.
func countingOf(dialect string) *counting {
	for i := range countings {
		if countings[i].dialect == dialect {
			return &countings[i]
		}
	}
	return nil
}

// facts is what the span states in the dialect, marked with how the dialect counts.
func (d *Dialect) facts(s *Span) Facts {
	f := d.Read(s)
	f.InputExcludes = f.InputExcludes || d.counts != nil && d.counts.cached == beside
	f.OutputExcludes = f.OutputExcludes || d.counts != nil && d.counts.reasoning == beside
	return f
}
