package trajectory

import (
	"cmp"
	"strings"
)

const liteLLMContent = "set litellm.turn_off_message_logging to false (proxy: litellm_settings.turn_off_message_logging)"

// LiteLLM writes one call up to three times: the proxy's span, the request, and the provider's raw exchange inside it. Its messages may lack
// the calls that its indexed keys have, its metadata is Python text, and its cost is its own.
var _ = add(Dialect{
	Name: "litellm",
	Rank: 11,
	Keys: []string{"gen_ai.", "litellm.", "hidden_params", "metadata."}, Scopes: []string{"litellm"},
	Score: scoreLiteLLM,
	Read:  readLiteLLM,
	Remedies: map[Fact]string{
		FactToolCalls:     liteLLMContent,
		FactToolExecution: "LiteLLM calls models and runs no tools: open an execute_tool span around each tool in the application, in the same trace (traceparent header)",
		FactToolsOffered:  "pass the tools in the request: LiteLLM writes those as llm.request.functions.*",
		FactArguments:     liteLLMContent,
		FactResults:       "open an execute_tool span around each tool in the application, in the same trace (traceparent header)",
		FactUserMessages:  liteLLMContent,
		FactReply:         liteLLMContent,
		FactSession:       "pass litellm_session_id (or metadata.session_id) with each request",
		FactUsage:         "set stream_options.include_usage = true in streamed requests (proxy: always_include_stream_usage)",
		FactModelCalls:    `set litellm.callbacks = ["otel"] (proxy: litellm_settings.callbacks)`,
		FactToolSchemas:   "pass the tools with their parameters in the request: LiteLLM writes them as llm.request.functions.N.parameters",
		FactFinishReason:  "read streams to their end: the finish reason comes last",
		FactModelName:     keptBy("LiteLLM", "gen_ai.request.model"),
	},
})

const liteLLMRedacted = "redacted-by-litellm"

func scoreLiteLLM(s *Span) int {
	a, score := s.Attrs, 0
	if s.Scope == "litellm" {
		score += 15
	}
	if a.Has("gen_ai.cost.total_cost") || a.Has("gen_ai.cost.input_cost") || a.Has("litellm.call_id") || a.Has("litellm.provider.model") {
		score += 15
	}
	if a.Has("hidden_params") || a.Has("metadata.user_api_key_hash") {
		score += 8
	}
	if isAnyOf(s.Name, "litellm_request", "raw_gen_ai_request") {
		score += 8
	}
	return score
}

func readLiteLLM(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.SessionID = cmp.Or(a.Str("metadata.session_id", "metadata.litellm_session_id", "metadata.trace_session_id"), f.SessionID)
	f.UserID = cmp.Or(a.Str("metadata.user_api_key_end_user_id", "metadata.user_id", "llm.user"), f.UserID)
	f.Usage.CostUSD = cmp.Or(a.Float("gen_ai.cost.total_cost"), f.Usage.CostUSD, hiddenCost(a))
	switch f.Role = liteLLMRole(s); f.Role {
	case RoleModel:
		liteLLMModel(s, &f)
	case RoleTool:
		genaiTool(a, &f)
	}
	return f
}

// liteLLMRole takes for a call what has a model: the request, and the proxy's span where that has taken the request's attributes.
func liteLLMRole(s *Span) Role {
	switch {
	case s.Name == "raw_gen_ai_request":
		return RoleInner
	case isAnyOf(s.Attrs.Text("gen_ai.operation.name"), "embedding", "aembedding", "embeddings", "rerank", "moderation", "image_generation"):
		return RoleNone
	case s.Name == "litellm_request":
		return RoleModel
	case s.Name == "Received Proxy Server Request" && !s.Attrs.Has("gen_ai.request.model"):
		return RoleNone
	}
	if role := genaiRole(s); role != RoleNone {
		return role
	}
	if s.Attrs.Has("gen_ai.request.model") {
		return RoleModel
	}
	return RoleNone
}

// hiddenCost reads the response's cost out of the hidden parameters, which are JSON or Python text.
func hiddenCost(a Attrs) *float64 {
	text := a.Text("hidden_params")
	if !strings.Contains(text, "response_cost") {
		return nil
	}
	o := readObject(string(ParseValue(text).JSON))
	return floatOf(o.get("response_cost"))
}

// liteLLMModel reads the messages, and what they lack from the indexed keys.
func liteLLMModel(s *Span, f *Facts) {
	a := s.Attrs
	genaiContent(a, f)
	if in := indexedMessages(a.indexed("gen_ai.prompt.")); f.Input.Empty() && len(in) > 0 {
		f.Input = History{Messages: in}
	}
	completions := a.indexed("gen_ai.completion.")
	if out := asAssistant(indexedMessages(completions)); thinner(f.Output, out) {
		f.Output = out
	}
	if len(completions) > 0 {
		f.FinishRaw = cmp.Or(f.FinishRaw, completions[0].Str("finish_reason"))
	}
	if f.OfferedText == "" {
		f.Offered = indexedFunctions(a.indexed("llm.request.functions."))
	}
	f.Provider = cmp.Or(f.Provider, providerOf(a.Str("llm.provider", "litellm.provider")))
	f.ModelRequested = cmp.Or(f.ModelRequested, a.Str("litellm.provider.model"))
	if strings.Contains(f.Input.Text, liteLLMRedacted) || strings.Contains(textOf(f.Input.Messages), liteLLMRedacted) {
		f.Input = History{}
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
	if textOf(f.Output) == liteLLMRedacted {
		f.Output = nil
		f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
	}
}
