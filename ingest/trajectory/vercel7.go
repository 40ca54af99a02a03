package trajectory

import "regexp"

// AI SDK 7 through @ai-sdk/otel: the conventions' keys under the scope "gen_ai", as invoke_agent > step N > chat and execute_tool. The
// durations that it puts on spans, which elsewhere are metrics, tell it from others.
var _ = add(Dialect{
	Name:   "vercel-v7",
	Rank:   5,
	Keys:   []string{"gen_ai.client.operation.duration", "gen_ai.execute_tool.duration", "ai.settings."},
	Scopes: []string{"gen_ai"},
	Score:  scoreVercel7,
	Read:   readVercel7,
	Remedies: map[Fact]string{
		FactToolCalls:     "pass recordOutputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactToolExecution: "give the tool an execute function: the SDK opens no span for tools that run on the client",
		FactToolsOffered:  "pass recordInputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactArguments:     "pass recordInputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactResults:       "pass recordOutputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactUserMessages:  "pass recordInputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactReply:         "pass recordOutputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactSession:       "pass runtimeContext: true to the OpenTelemetry integration, and with each call runtimeContext: {sessionId} and telemetry: {includeRuntimeContext: {sessionId: true}}",
		FactModelCalls:    "register the OpenTelemetry integration of @ai-sdk/otel, and do not switch telemetry off for single calls",
		FactToolSchemas:   "pass recordInputs: true to the OpenTelemetry integration of @ai-sdk/otel",
		FactUsage:         "ask the provider to include usage in streams, and read them to their end",
		FactFinishReason:  "read streams to their end: the finish reason comes last",
		FactModelName:     keptBy("the AI SDK", "gen_ai.request.model"),
	},
})

func scoreVercel7(s *Span) int {
	a, score := s.Attrs, 0
	op := a.Text("gen_ai.operation.name")
	if op == "" || a.Has("gen_ai.sdk.version") || a.Text("telemetry.sdk.name") == "openlit" {
		return 0 // OpenLIT puts durations on spans too
	}
	if op == "agent_step" || a.Has("gen_ai.client.operation.duration") || a.Has("gen_ai.execute_tool.duration") || a.HasPrefix("ai.settings.") {
		score += 10
	}
	if s.Scope == "gen_ai" {
		score += 5
		if op == "invoke_agent" || op == "chat" || op == "execute_tool" {
			score += 10 // no other emitter has that scope: these spans may end before their durations are set
		}
	}
	return score
}

func readVercel7(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	if session := a.Str("ai.settings.context.sessionId", "ai.settings.runtimeContext.sessionId"); session != "" {
		f.SessionID = session
	}
	if user := a.Str("ai.settings.context.userId", "ai.settings.runtimeContext.userId"); user != "" {
		f.UserID = user
	}
	switch f.Role {
	case RoleModel:
		genaiContent(a, &f)
		if f.Usage.Reasoning == nil {
			f.Usage.Reasoning = a.Int("ai.usage.outputTokenDetails.reasoningTokens") // supplemental; the conventions' key came later
		}
		if f.Input.Text != "" {
			f.Input.Parse = parseVercel7
		}
		if f.Input.Empty() && f.System == "" {
			f.Hidden = append(f.Hidden, FactUserMessages, FactResults, FactToolsOffered)
		}
		if f.FinishRaw != "" && !a.Has("gen_ai.output.messages") {
			f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
		}
	case RoleTool:
		genaiTool(a, &f)
		f.Denied = deniedResult(f.Result)
		if absent(f.Arguments) && !f.HasResult {
			f.Hidden = append(f.Hidden, FactArguments, FactResults)
		}
	case RoleAgent:
		readVercel7Agent(a, &f)
	}
	return f
}

// readVercel7Agent reads the root. Its output is ONE message, the final text first and then the calls of all steps: taken literally the
// agent would end on a pending call, so only the text counts. Its model name stands where an agent's name would.
func readVercel7Agent(a Attrs, f *Facts) {
	f.Agent = a.Str("gen_ai.agent.name")
	out := a.jsonText("gen_ai.output.messages")
	f.Reply = textOf(ParseMessages(out))
	f.UserText = askedText(a.jsonText("gen_ai.input.messages"))
	f.System = systemText(a.jsonText("gen_ai.system_instructions"))
	f.OfferedText = a.jsonText("gen_ai.tool.definitions")
}

// errorText matches an error that was turned into a result: the class, a colon, the message.
var errorText = regexp.MustCompile(`^(AI_)?[A-Z][A-Za-z0-9_]*(Error|Exception): `)

// parseVercel7 reads an input whose failed results are told only by their text: version 7 dropped the typed error of its predecessors.
func parseVercel7(text string) []Message {
	ms := ParseMessages(text)
	for _, m := range ms {
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Kind == PartToolResult && p.Value.Parsed == ParsedText && errorText.MatchString(p.Value.Raw) {
				p.Failed = true
			}
		}
	}
	return ms
}
