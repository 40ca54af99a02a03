package trajectory

import (
	"cmp"
	"strings"
)

// The AI SDK, versions 3 to 6 and 7 with its legacy exporter: ai.* keys under the scope "ai" or the host application's own. The outer span
// (ai.generateText) is the agent, doGenerate and doStream are the model calls: usage is on both and counts at the inner ones only.
var _ = add(Dialect{
	Name:  "vercel-legacy",
	Rank:  4,
	Keys:  []string{"ai.", "operation."},
	Score: scoreVercel,
	Read:  readVercel,
	Remedies: map[Fact]string{
		FactToolCalls:     "set experimental_telemetry.recordOutputs = true",
		FactToolExecution: "give the tool an execute function: the SDK opens no span for tools that run on the client",
		FactToolsOffered:  "set experimental_telemetry.recordInputs = true",
		FactToolSchemas:   "update the ai package: version 3 records no schemas",
		FactArguments:     "set experimental_telemetry.recordInputs = true",
		FactResults:       "set experimental_telemetry.recordOutputs = true",
		FactUserMessages:  "set experimental_telemetry.recordInputs = true",
		FactReply:         "set experimental_telemetry.recordOutputs = true",
		FactSession:       "set experimental_telemetry.metadata.sessionId (version 7: runtimeContext with sessionId)",
		FactUsage:         "ask the provider to include usage in streams",
		FactModelCalls:    "set experimental_telemetry.isEnabled = true on each generateText, streamText, generateObject and streamObject",
		FactFinishReason:  "read streams to their end: the finish reason comes last",
		FactModelName:     keptBy("the AI SDK", "ai.model.id"),
	},
})

func scoreVercel(s *Span) int {
	a, score := s.Attrs, 0
	if a.Has("ai.operationId") {
		score += 10
	}
	if a.Has("ai.toolCall.name") || a.Has("ai.prompt.messages") || a.Has("ai.prompt") || a.Has("ai.model.id") {
		score += 10
	}
	if strings.HasPrefix(a.Text("operation.name"), "ai.") {
		score += 5
	}
	if s.Scope == "ai" {
		score += 3
	}
	return score
}

func readVercel(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		Agent: a.Str("ai.telemetry.functionId", "resource.name"),
		SessionID: a.Str("gen_ai.conversation.id", "ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id", "ai.settings.context.sessionId",
			"ai.settings.runtimeContext.sessionId", "ai.telemetry.metadata.threadId", "ai.telemetry.metadata.conversationId",
			"ai.telemetry.metadata.chatId", "session.id", "langfuse.session.id", "metadata.sessionId"),
		UserID: a.Str("ai.telemetry.metadata.userId", "ai.telemetry.metadata.user_id", "ai.settings.context.userId",
			"ai.settings.runtimeContext.userId", "user.id", "metadata.userId"),
	}
	switch op := vercelOperation(s); {
	case op == "ai.toolCall" || op == "ai.tool" && a.Has("ai.toolCall.name"): // the latter is Laminar's
		readVercelTool(a, &f)
	case strings.HasSuffix(op, ".doGenerate") || strings.HasSuffix(op, ".doStream"):
		readVercelModel(a, op, &f)
	case strings.HasPrefix(op, "ai.generate") || strings.HasPrefix(op, "ai.stream"):
		readVercelAgent(a, &f)
	}
	return f
}

// vercelOperation is the SDK's name for what the span does, without the application's function id.
func vercelOperation(s *Span) string {
	if op := s.Attrs.Str("ai.operationId"); op != "" {
		return op
	}
	op, _, _ := strings.Cut(cmp.Or(s.Attrs.Str("operation.name"), s.Name), " ")
	return op
}

func readVercelTool(a Attrs, f *Facts) {
	f.Role = RoleTool
	f.ToolName = a.Str("ai.toolCall.name")
	f.CallID = callID(a.Str("ai.toolCall.id"))
	f.Arguments, _ = a.value("ai.toolCall.args", "ai.toolCall.input")
	f.Result, f.HasResult = a.value("ai.toolCall.result", "ai.toolCall.output")
	f.Denied = deniedResult(f.Result)
	f.ToolError = a.Text("ai.toolCall.error")
	if absent(f.Arguments) && !f.HasResult {
		f.Hidden = append(f.Hidden, FactArguments, FactResults)
	}
}

func readVercelModel(a Attrs, op string, f *Facts) {
	f.Role = RoleModel
	f.Provider = providerOf(a.Str("gen_ai.provider.name", "gen_ai.system", "ai.model.provider"))
	f.ModelRequested = a.Str("gen_ai.request.model", "ai.model.id")
	f.ModelResponded = a.Str("gen_ai.response.model", "ai.response.model")
	f.ResponseID = a.Str("gen_ai.response.id", "ai.response.id")
	f.FinishRaw = cmp.Or(finishRaw(a, "gen_ai.response.finish_reasons"), a.Str("ai.response.finishReason", "ai.finishReason"))
	f.Streamed = strings.Contains(op, "tream")
	f.Input = textHistory(a.jsonText("ai.prompt.messages", "ai.prompt"))
	f.System = systemText(a.jsonText("gen_ai.system_instructions")) // Sentry moves them there, out of the messages
	f.Output = vercelOutput(a)
	f.OfferedText = a.jsonText("ai.prompt.tools")
	vercelUsage(a, f)
	if f.Input.Empty() {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults, FactToolsOffered)
	}
	if f.FinishRaw != "" && len(f.Output) == 0 && !a.Has("ai.response.text") {
		f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
	}
}

// vercelUsage reads the counts under all the names that the versions gave them. Up to version 5 Anthropic's input count came through raw,
// without the cached tokens, which stood in the provider's metadata only.
func vercelUsage(a Attrs, f *Facts) {
	meta := readObject(a.jsonText("ai.response.providerMetadata"))
	openai, anthropic := meta.object("openai", "azure"), meta.object("anthropic", "bedrock")
	f.Usage = Usage{
		Input:  a.Int("ai.usage.inputTokens", "gen_ai.usage.input_tokens", "ai.usage.promptTokens", "gen_ai.usage.prompt_tokens"),
		Output: a.Int("ai.usage.outputTokens", "gen_ai.usage.output_tokens", "ai.usage.completionTokens", "gen_ai.usage.completion_tokens"),
		CacheRead: cmp.Or(a.Int("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens", "gen_ai.usage.cache_read.input_tokens"),
			openai.count("cachedPromptTokens"), anthropic.count("cacheReadInputTokens"), anthropic.object("usage").count("cache_read_input_tokens", "cacheReadInputTokens")),
		CacheWrite: cmp.Or(a.Int("ai.usage.inputTokenDetails.cacheWriteTokens"),
			anthropic.count("cacheCreationInputTokens"), anthropic.object("usage").count("cache_creation_input_tokens", "cacheWriteInputTokens")),
		Reasoning: cmp.Or(a.Int("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"), openai.count("reasoningTokens")),
	}
	raw := !a.Has("ai.usage.inputTokenDetails.noCacheTokens") && !a.Has("ai.usage.inputTokenDetails.cacheReadTokens")
	f.InputExcludes = raw && anthropic != nil
}

// vercelOutput puts the answer together from its text, reasoning, object and calls.
func vercelOutput(a Attrs) []Message {
	m := Message{Role: "assistant"}
	if r := a.Text("ai.response.reasoning"); r != "" {
		m.Parts = append(m.Parts, Part{Kind: PartReasoning, Text: joinedReasoning(r)})
	}
	for _, key := range []string{"ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"} {
		if t := a.Text(key); t != "" && t != "undefined" {
			m.Parts = append(m.Parts, Part{Kind: PartText, Text: t})
			break
		}
	}
	m.Parts = append(m.Parts, vercelCalls(a.jsonText("ai.response.toolCalls", "ai.result.toolCalls"))...)
	if len(m.Parts) == 0 {
		return nil
	}
	return []Message{m}
}

// joinedReasoning reads reasoning that is prose or, since version 5, a list of parts.
func joinedReasoning(r string) string {
	if parts := contentParts(r, 0); isJSON(r) && len(parts) > 0 {
		return joinedText(parts)
	}
	return r
}

func vercelCalls(text string) []Part {
	var out []Part
	for e := range elements(text) {
		o := readObject(e)
		if p := callPart(o); p.Name == "" && p.ID == "" {
			continue
		} else if o.isTrue("providerExecuted") {
			out = append(out, otherPart(o, "tool-call"))
		} else {
			out = append(out, p)
		}
	}
	return out
}

// readVercelAgent reads the outer span. Its usage is the last step's up to version 5 and the sum since: only the sum is worth having.
func readVercelAgent(a Attrs, f *Facts) {
	f.Role = RoleAgent
	prompt := a.jsonText("ai.prompt", "ai.prompt.messages")
	o := readObject(prompt)
	if o.get("messages") != "" {
		f.Input = textHistory(prompt) // earlier turns too: the calls inside may be traced elsewhere
	} else {
		f.UserText = askedText(prompt)
	}
	if o != nil {
		f.System = textOf(systemOf(o, 0))
	}
	f.Reply = a.Text("ai.response.text")
	for _, key := range []string{"ai.result.text", "ai.response.object", "ai.result.object"} {
		f.Reply = cmp.Or(f.Reply, a.Text(key))
	}
	f.FinishRaw = a.Str("ai.response.finishReason", "ai.finishReason")
	if a.Has("ai.usage.inputTokenDetails.cacheReadTokens") || a.Has("ai.usage.inputTokenDetails.noCacheTokens") {
		vercelUsage(a, f)
	}
	if prompt == "" {
		f.Hidden = append(f.Hidden, FactUserMessages)
	}
}
