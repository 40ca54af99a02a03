package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

// Braintrust writes braintrust.* attributes, JSON in text, often beside gen_ai.*. Its span processor puts braintrust.parent, the project, onto
// spans of any dialect: that alone makes none of them Braintrust's.
var _ = add(Dialect{
	Name:  "braintrust",
	Rank:  26,
	Keys:  []string{"braintrust."},
	Score: scoreBraintrust,
	Read:  readBraintrust,
	Remedies: map[Fact]string{
		FactToolCalls:     "log the model's whole message as the span's output (wrapOpenAI and its kin do)",
		FactToolExecution: `trace tools with wrapTraced(fn, {type: "tool"}) or @traced(type="tool")`,
		FactToolsOffered:  "log tools in the metadata of model spans (wrapOpenAI and its kin do)",
		FactToolSchemas:   "log tools with their parameters in the metadata of model spans",
		FactArguments:     `trace tools with wrapTraced(fn, {type: "tool"}), and do not mask input`,
		FactResults:       `trace tools with wrapTraced(fn, {type: "tool"}), and do not mask output`,
		FactUserMessages:  "do not mask input (setMaskingFunction)",
		FactReply:         "do not mask output (setMaskingFunction)",
		FactSession:       "log metadata.session_id on the root span, or set session.id",
		FactUsage:         "log metrics.prompt_tokens and metrics.completion_tokens; of streams ask the provider to include usage",
		FactFinishReason:  "log the response's choices as the output: they hold finish_reason",
		FactModelName:     "log metadata.model on model spans",
		FactModelCalls:    "wrap the model client (wrapOpenAI, wrapAnthropic, wrapAISDK; Python: wrap_openai and its kin), or log each call as a span of type llm",
	},
})

func scoreBraintrust(s *Span) int {
	score := 0
	for _, key := range []string{"braintrust.span_attributes", "braintrust.input_json", "braintrust.output_json", "braintrust.metrics", "braintrust.scores"} {
		if s.Attrs.Has(key) {
			score += 10
		}
	}
	return score
}

func readBraintrust(s *Span) Facts {
	a := s.Attrs
	own, meta := readObject(a.jsonText("braintrust.span_attributes")), readObject(a.jsonText("braintrust.metadata"))
	f := Facts{
		SessionID: cmp.Or(a.Str("session.id", "gen_ai.conversation.id"), meta.str("session_id", "sessionId", "thread_id", "conversation_id")),
		UserID:    cmp.Or(a.Str("user.id"), meta.str("user_id", "userId", "user")),
		Feedback:  braintrustScores(s),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	in, out := a.jsonText("braintrust.input_json", "braintrust.input"), a.jsonText("braintrust.output_json", "braintrust.output")
	switch own.str("type") {
	case "llm":
		f.Role = RoleModel
		braintrustModel(a, meta, in, out, &f)
	case "tool":
		f.Role = RoleTool
		f.ToolName = cmp.Or(own.str("name"), s.Name)
		args, _ := a.value("braintrust.input_json", "braintrust.input")
		f.Arguments = tracedArguments(args)
		var v Value
		v, f.HasResult = a.value("braintrust.output_json", "braintrust.output")
		tracedResult(out, v, &f)
	case "task", "eval":
		if s.ParentID == "" {
			f.Role = RoleAgent
			f.Agent = cmp.Or(own.str("name"), s.Name)
		}
		f.UserText, f.Reply = langfuseAsked(in), answerText(out)
	case "":
		if s.ParentID == "" {
			f.UserText, f.Reply = langfuseAsked(in), answerText(out)
		}
	}
	return f
}

func braintrustModel(a Attrs, meta object, in, out string, f *Facts) {
	f.Provider = providerOf(cmp.Or(meta.str("provider"), a.Str("gen_ai.provider.name", "gen_ai.system")))
	f.ModelRequested, f.ModelResponded = a.Str("gen_ai.request.model"), a.Str("gen_ai.response.model")
	if f.ModelResponded == "" { // one key for both
		f.ModelRequested = cmp.Or(f.ModelRequested, meta.str("model"))
	}
	f.OfferedText = meta.get("tools", "functions")
	f.FinishRaw = meta.str("finish_reason", "stop_reason")
	f.Streamed = meta.isTrue("stream")
	m := readObject(a.jsonText("braintrust.metrics"))
	f.Usage = Usage{
		Input:      m.count("prompt_tokens", "input_tokens"),
		Output:     m.count("completion_tokens", "output_tokens"),
		CacheRead:  m.count("prompt_cached_tokens"),
		CacheWrite: m.count("prompt_cache_creation_tokens"),
		Reasoning:  m.count("completion_reasoning_tokens"),
		CostUSD:    m.decimal("estimated_cost", "cost"),
	}
	modelBodies(in, out, f)
}

// braintrustScores reads the scores of a span; they may be a span of their own.
func braintrustScores(s *Span) []Feedback {
	scores := readObject(s.Attrs.jsonText("braintrust.scores"))
	var out []Feedback
	for _, m := range scores {
		if n := scores.decimal(m.name); n != nil {
			out = append(out, Feedback{SpanID: s.ID, Name: m.name, Score: n})
		}
	}
	slices.SortStableFunc(out, func(x, y Feedback) int { return strings.Compare(x.Name, y.Name) })
	return out
}
