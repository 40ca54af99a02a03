package trajectory

import (
	"cmp"
	"strings"
)

// Strands Agents keeps all content in span events, of either form of the conventions, and names itself or the service where the provider
// belongs; in TypeScript its scope is the service's name too. The spans of its loop repeat what the spans inside them tell.
var _ = add(Dialect{
	Name: "strands",
	Rank: 8,
	Keys: []string{"gen_ai.", "event_loop.", "agent_loop."}, Scopes: []string{"strands.telemetry"},
	Score:    scoreStrands,
	Read:     readStrands,
	Includes: overGenAI,
	Remedies: map[Fact]string{
		FactToolsOffered:  "update strands-agents: newer versions list the tools' names in gen_ai.agent.tools",
		FactToolSchemas:   "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_tool_definitions (Python; the TypeScript SDK sends names only), or name the tools in the catalog (tools: in pawl.yaml)",
		FactToolCalls:     "raise OTEL_SPAN_EVENT_COUNT_LIMIT (128 by default), and keep span events in the export: Strands records calls nowhere else",
		FactArguments:     "keep span events in the export: Strands records arguments nowhere else",
		FactResults:       "keep span events in the export: Strands records results nowhere else",
		FactUserMessages:  "keep span events in the export: Strands records messages nowhere else",
		FactReply:         "keep span events in the export: Strands records answers nowhere else",
		FactFinishReason:  "keep span events in the export: the finish reason is in the event of the answer",
		FactSession:       `give the agent trace attributes: trace_attributes={"session.id": ...} (TypeScript: traceAttributes)`,
		FactUsage:         "use a model provider that returns usage; of streams ask it to include usage",
		FactToolExecution: "update strands-agents: each executed tool has an execute_tool span",
		FactModelCalls:    "keep the chat spans in the export: Strands opens one around each call of a model",
		FactModelName:     keptBy("Strands", "gen_ai.request.model"),
	},
})

func scoreStrands(s *Span) int {
	a, score := s.Attrs, 0
	if strings.HasPrefix(s.Scope, "strands.telemetry") {
		score += 12
	}
	if a.Has("gen_ai.event.start_time") || a.Has("event_loop.cycle_id") || a.Has("agent_loop.cycle_id") {
		score += 12
	}
	if isAnyOf(a.Text("gen_ai.system"), "strands-agents") || isAnyOf(a.Text("gen_ai.provider.name"), "strands-agents") {
		score += 12
	}
	return score
}

func readStrands(s *Span) Facts {
	a := s.Attrs
	f := readEvents(s)
	if isStrandsLoop(s) {
		return Facts{Role: RoleInner, SessionID: f.SessionID, UserID: f.UserID, Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent}}
	}
	f.Provider = strandsProvider(s)
	switch f.Role {
	case RoleModel:
		f.InputExcludes = strandsExcludes(a, &f)
		if hitTokenLimit(s) {
			f.FinishRaw = cmp.Or(f.FinishRaw, "max_tokens") // the partial answer is lost: the SDK throws instead
		}
	case RoleTool:
		if v, ok := blockText(f.Result.Raw, 0); ok { // with the newest conventions: the attribute holds Bedrock's content blocks
			f.Result = v
		}
	case RoleAgent:
		f.System = cmp.Or(f.System, systemText(plainText(a.Text("system_prompt"))))
		f.OfferedText = cmp.Or(f.OfferedText, a.jsonText("gen_ai.agent.tools"))
		f.InputExcludes = strandsExcludes(a, &f)
	}
	return f
}

// isStrandsLoop says whether a span is a turn of the agent's loop, whose events repeat those of its model call and its tools.
func isStrandsLoop(s *Span) bool {
	return s.Attrs.Has("event_loop.cycle_id") || s.Attrs.Has("agent_loop.cycle_id") || strings.HasPrefix(s.Name, "execute_event_loop_cycle")
}

// strandsProvider is what stands in the provider's place unless it is the SDK's name, the service's or the scope's.
func strandsProvider(s *Span) string {
	name := s.Attrs.Str("gen_ai.provider.name", "gen_ai.system")
	if name == s.Scope || name == s.Resource.Text("service.name") {
		return ""
	}
	return providerOf(name)
}

// strandsExcludes says whether cached tokens are counted beside the input: so do Bedrock and Anthropic, whose numbers Strands passes on, and
// so says the total where it has them in it.
func strandsExcludes(a Attrs, f *Facts) bool {
	model := strings.ToLower(f.ModelRequested)
	return cacheApart(a, f.Usage) || strings.Contains(model, "claude") || strings.Contains(model, "amazon.nova")
}

// cacheApart says whether the total tells that cached tokens lie beside the input rather than in it.
func cacheApart(a Attrs, u Usage) bool {
	total := a.Int("gen_ai.usage.total_tokens")
	if total == nil || u.Input == nil || u.Output == nil {
		return false
	}
	var cached int64
	for _, n := range []*int64{u.CacheRead, u.CacheWrite} {
		if n != nil {
			cached += *n
		}
	}
	return cached > 0 && *total == *u.Input+*u.Output+cached
}

// hitTokenLimit says whether the model stopped at its limit of tokens, which Strands reports as an exception.
func hitTokenLimit(s *Span) bool {
	for _, e := range s.Events {
		if e.Name == "exception" && isAnyOf(e.Attrs.Text("exception.type"), "MaxTokensError", "MaxTokensReachedException", "strands.types.exceptions.MaxTokensReachedException") {
			return true
		}
	}
	return false
}
