package trajectory

import (
	"cmp"
	"strings"
)

// Sentry's SDKs write raw messages of the provider under the conventions' keys, and the answer's text and calls apart. The words of an error
// go to Sentry and not into the span: only its status tells, and the HTTP span below.
var _ = add(Dialect{
	Name:  "sentry",
	Rank:  32, // younger than the table of dialects; its own keys leave no doubt
	Keys:  []string{"sentry.op"},
	Score: scoreSentry,
	Read:  readSentry,
	Remedies: map[Fact]string{
		FactToolCalls:     "set recordOutputs: true in Sentry's integration of the provider (sendDefaultPii: true; Python: include_prompts=True and send_default_pii=True)",
		FactToolExecution: `open a span around each tool with op "gen_ai.execute_tool" and gen_ai.tool.name, or use Sentry's integration of the agent framework`,
		FactToolsOffered:  "set recordInputs: true in Sentry's integration of the provider (sendDefaultPii: true; Python: include_prompts=True and send_default_pii=True)",
		FactToolSchemas:   "set recordInputs: true in Sentry's integration of the provider; of LangChain's tools Sentry records no schemas: name them in the catalog (tools: in pawl.yaml)",
		FactArguments:     "set gen_ai.tool.input on the execute_tool span; Sentry's own integrations do so with recordInputs: true",
		FactResults:       "set gen_ai.tool.output on the execute_tool span; Sentry's own integrations do so with recordOutputs: true",
		FactUserMessages:  "set recordInputs: true in Sentry's integration of the provider (sendDefaultPii: true; Python: include_prompts=True and send_default_pii=True)",
		FactReply:         "set recordOutputs: true in Sentry's integration of the provider (sendDefaultPii: true; Python: include_prompts=True and send_default_pii=True)",
		FactSession:       "call Sentry.setConversationId(id) (Python: sentry_sdk.ai.set_conversation_id)",
		FactUsage:         "ask the provider to include usage in streams (OpenAI: stream_options.include_usage = true)",
		FactWhole:         "set enableTruncation: false in Sentry's integration of the provider: long histories lose their first messages",
		FactModelCalls:    "add Sentry's integration of the provider (openAIIntegration, anthropicAIIntegration, vercelAIIntegration and their kin; Python: OpenAIIntegration ...)",
		FactFinishReason:  "read streams to their end: the finish reason comes last; of answers of Anthropic and Google that came in one piece Sentry records none",
		FactModelName:     keptBy("Sentry", "gen_ai.request.model"),
	},
})

const sentryOp = "gen_ai."

func scoreSentry(s *Span) int {
	if strings.HasPrefix(s.Attrs.Text("sentry.op"), sentryOp) {
		return 14
	}
	return 0
}

func readSentry(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.Role = sentryRole(s)
	f.UserID = cmp.Or(f.UserID, a.Str("sentry.user.id", "user.email"))
	f.Usage = f.Usage.or(Usage{
		CacheRead:  a.Int("gen_ai.usage.input_tokens.cached"),
		CacheWrite: a.Int("gen_ai.usage.input_tokens.cache_write"),
		Reasoning:  a.Int("gen_ai.usage.output_tokens.reasoning"),
		CostUSD:    a.Float("gen_ai.cost.total_tokens"),
	})
	f.InputExcludes = cacheApart(a, f.Usage)
	if v, ok := a.Bool("gen_ai.response.streaming"); ok && v {
		f.Streamed = true
	}
	switch f.Role {
	case RoleModel, RoleAgent:
		sentryContent(a, &f)
	case RoleTool:
		genaiTool(a, &f)
		f.ToolName = cmp.Or(f.ToolName, toolNameOfSpan(s.Name))
	case RoleHandoff:
		f.HandoffFrom, f.HandoffTo = sentryHandoff(s)
	}
	return f
}

// sentryRole goes by the span's op, which names the operation in Sentry's own words.
func sentryRole(s *Span) Role {
	switch op := strings.TrimPrefix(s.Attrs.Text("sentry.op"), sentryOp); op {
	case "execute_tool":
		return RoleTool
	case "invoke_agent":
		return RoleAgent
	case "handoff":
		return RoleHandoff
	case "chat", "request", "responses", "messages", "models", "completions", "text_completion", "generate_content", "generate_text", "stream_text",
		"generate_object", "stream_object", "chat_completions":
		return RoleModel
	case "create_agent", "embeddings", "rerank", "pipeline", "run":
		return RoleNone
	}
	return genaiRole(s)
}

func sentryContent(a Attrs, f *Facts) {
	genaiContent(a, f)
	if f.Input.Empty() {
		genaiInput(a.jsonText("gen_ai.request.messages"), f)
	}
	count := a.Int("sentry.sdk_meta.gen_ai.input.messages.original_length", "gen_ai.request.messages.original_length")
	if kept := bodyLength(f.Input.Text); count != nil && kept > 0 && int64(kept) < *count {
		f.Hidden = append(f.Hidden, FactWhole)
	}
}

// sentryHandoff reads "handoff from A to B", the one place where a transfer is told.
func sentryHandoff(s *Span) (from, to string) {
	rest, ok := strings.CutPrefix(s.Name, "handoff from ")
	if !ok {
		return s.Attrs.Str("gen_ai.agent.name"), ""
	}
	from, to, _ = strings.Cut(rest, " to ")
	return from, to
}
