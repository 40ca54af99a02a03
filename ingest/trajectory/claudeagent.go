package trajectory

import "strings"

// Claude Agent SDK through OpenInference: no span of a model call. The span of the query carries all that the model said, one message a
// content block, with the usage of the whole run; sub-agents are spans below the tool that started them, all with one name.
var _ = add(Dialect{
	Name:     "claude-agent-sdk",
	Rank:     3,
	Keys:     []string{"openinference."},
	Score:    scoreClaudeAgent,
	Read:     readClaudeAgent,
	Includes: []string{"openinference"},
	Remedies: map[Fact]string{
		FactModelCalls:    "openinference-instrumentation-claude-agent-sdk sees the run, not each call: set CLAUDE_CODE_ENABLE_TELEMETRY=1 with OTEL_LOGS_EXPORTER=otlp for the process that it starts",
		FactToolCalls:     "update openinference-instrumentation-claude-agent-sdk to 0.1.8: it records requested calls and usage on the query",
		FactToolsOffered:  "the SDK's instrumentation records no tool definitions: name the tools in the catalog (tools: in pawl.yaml)",
		FactToolSchemas:   "the SDK's instrumentation records no tool definitions: name the tools in the catalog (tools: in pawl.yaml)",
		FactArguments:     "unset OPENINFERENCE_HIDE_INPUTS",
		FactResults:       "unset OPENINFERENCE_HIDE_OUTPUTS",
		FactUserMessages:  "unset OPENINFERENCE_HIDE_INPUTS",
		FactReply:         "unset OPENINFERENCE_HIDE_OUTPUTS",
		FactUsage:         "update openinference-instrumentation-claude-agent-sdk to 0.1.8: it records usage on the query",
		FactFinishReason:  "the SDK's instrumentation records no finish reason: set CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1 with OTEL_TRACES_EXPORTER=otlp for the process that it starts, whose spans carry stop_reason",
		FactSession:       "wrap the run in using_session(session_id=...)",
		FactToolExecution: "update openinference-instrumentation-claude-agent-sdk: it opens a TOOL span around each tool that the SDK runs",
		FactModelName:     "set CLAUDE_CODE_ENABLE_TELEMETRY=1 with OTEL_LOGS_EXPORTER=otlp for the process that the SDK starts: its api_request events name the model",
	},
})

func scoreClaudeAgent(s *Span) int {
	if isAnyOf(s.Scope, "openinference.instrumentation.claude_agent_sdk", "@arizeai/openinference-instrumentation-claude-agent-sdk") && s.Attrs.Has("openinference.span.kind") {
		return 30
	}
	return 0
}

func readClaudeAgent(s *Span) Facts {
	f := readOpenInference(s)
	if f.Role != RoleAgent {
		return f
	}
	a := s.Attrs
	f.Provider = providerOf(a.Str("llm.provider", "llm.system", "gen_ai.provider.name"))
	f.ModelRequested = a.Str("llm.model_name", "gen_ai.request.model")
	f.Usage = openInferenceUsage(a)
	f.FinishRaw = a.Str("llm.finish_reason") // of the last answer
	f.Output = withRole(flatMessages(a.indexed("llm.output_messages.")), "assistant")
	if s.Status == StatusError && strings.Contains(s.StatusMessage, f.Reply) {
		f.Reply = "" // what went wrong is no answer
	}
	if !strings.HasSuffix(s.Name, ".query") && len(f.Output) == 0 {
		f.Usage = Usage{} // a sub-agent's are in the query's
	}
	return f
}
