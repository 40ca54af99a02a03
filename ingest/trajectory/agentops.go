package trajectory

import (
	"cmp"
	"strings"
)

// AgentOps writes indexed keys like old OpenLLMetry, with kinds and decorators of its own. Its client instrumentation opens a span for every
// call that an answer asks for: it executes nothing and is no call of its own.
var _ = add(Dialect{
	Name: "agentops",
	Rank: 27,
	Keys: []string{"agentops."}, Scopes: []string{"agentops"},
	Score: scoreAgentOps,
	Read:  readAgentOps,
	Remedies: map[Fact]string{
		FactToolCalls:     "do not set TRACELOOP_TRACE_CONTENT=false, which AgentOps heeds too",
		FactToolExecution: "decorate tools with @tool of agentops.sdk.decorators",
		FactToolsOffered:  "update agentops: the client instrumentations record gen_ai.request.functions.N",
		FactToolSchemas:   "update agentops: the client instrumentations record gen_ai.request.functions.N.parameters",
		FactArguments:     "decorate tools with @tool of agentops.sdk.decorators (values over 1 MB are left out)",
		FactResults:       "decorate tools with @tool of agentops.sdk.decorators (values over 1 MB are left out)",
		FactUserMessages:  "do not set TRACELOOP_TRACE_CONTENT=false, which AgentOps heeds too",
		FactReply:         "do not set TRACELOOP_TRACE_CONTENT=false, which AgentOps heeds too",
		FactUsage:         "ask the provider to include usage in streams (OpenAI: stream_options.include_usage = true)",
		FactSession:       "set session.id on the spans: AgentOps's own session is one trace",
		FactModelCalls:    "call agentops.init() before the provider's client is imported, with instrument_llm_calls left on",
		FactFinishReason:  "read streams to their end: the finish reason comes last",
		FactModelName:     keptBy("AgentOps", "gen_ai.request.model"),
	},
})

func scoreAgentOps(s *Span) int {
	a, score := s.Attrs, 0
	for _, key := range []string{"agentops.span.kind", "agentops.entity.input", "agentops.entity.output", "agentops.tool.input", "agentops.agent.input"} {
		if a.Has(key) {
			score += 10
		}
	}
	if s.Scope == "agentops" || strings.HasPrefix(s.Scope, "agentops.") {
		score += 15 // more than the marks that its keys share with OpenLLMetry's
	}
	return score
}

func readAgentOps(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.Arguments, f.Result = Value{Parsed: ParsedAbsent}, Value{Parsed: ParsedAbsent}
	f.SessionID = cmp.Or(f.SessionID, a.Str("workflow.session_id"))
	f.UserID = cmp.Or(f.UserID, a.Str("gen_ai.user", "workflow.user_id"))
	f.Agent = cmp.Or(a.Str("agent.name"), f.Agent)
	f.Role = agentOpsRole(s)
	switch f.Role {
	case RoleModel:
		agentOpsModel(s, &f)
	case RoleTool:
		agentOpsTool(s, &f)
	case RoleHandoff:
		f.HandoffFrom, f.HandoffTo = a.Str("from_agent", "agent.from"), a.Str("to_agent", "agent.to")
	case RoleAgent:
		f.Agent = cmp.Or(f.Agent, agentOpsName(s))
		agentOpsRun(a, &f)
	case RoleNone:
		if state := a.Str("agentops.session.end_state"); state != "" {
			f.Feedback = []Feedback{{SpanID: s.ID, Name: "end_state", Label: state}}
		}
		if s.ParentID == "" {
			agentOpsRun(a, &f)
		}
	}
	return f
}

func agentOpsRole(s *Span) Role {
	a := s.Attrs
	if strings.HasPrefix(s.Name, "tool_call.") && a.Has("tool.call.id") {
		return RoleInner
	}
	if a.Has("from_agent") && a.Has("to_agent") || a.Has("agent.from") && a.Has("agent.to") {
		return RoleHandoff
	}
	switch kind := strings.ToLower(a.Str("agentops.span.kind")); kind {
	case "llm", "llm.call":
		return RoleModel
	case "tool", "tool.usage":
		return RoleTool
	case "agent":
		return RoleAgent
	case "":
	default:
		return RoleNone
	}
	switch {
	case a.Has("gen_ai.completion.0.content") || a.Has("gen_ai.prompt.0.role") || a.Has("gen_ai.request.model") && a.Has("gen_ai.usage.prompt_tokens"):
		return RoleModel
	case a.Has("tool.name") && (a.Has("tool.parameters") || a.Has("tool.result")):
		return RoleTool
	}
	return RoleNone
}

// agentOpsName is the name that a decorator gave: the span's has the kind behind it ("find.tool").
func agentOpsName(s *Span) string {
	name := cmp.Or(s.Attrs.Str("agentops.entity.name", "operation.name"), s.Name)
	return strings.TrimSuffix(name, "."+strings.ToLower(s.Attrs.Str("agentops.span.kind")))
}

func agentOpsModel(s *Span, f *Facts) {
	a := s.Attrs
	openLLMetryModel(s, f)
	if f.Offered == nil && f.OfferedText == "" {
		f.Offered = indexedFunctions(a.indexed("gen_ai.request.functions."))
	}
	if f.Offered == nil && f.OfferedText == "" {
		f.Offered = indexedFunctions(a.indexed("gen_ai.request.tools."))
	}
	f.System = cmp.Or(f.System, a.Text("gen_ai.request.instructions"), a.Text("gen_ai.request.system_instruction"))
	f.FinishRaw = cmp.Or(f.FinishRaw, a.Str("gen_ai.response.stop_reason"))
	if v, ok := a.Bool("gen_ai.request.streaming"); ok && v {
		f.Streamed = true
	}
	if f.Usage.CostUSD == nil {
		f.Usage.CostUSD = a.Float("gen_ai.usage.total_cost")
	}
}

func agentOpsTool(s *Span, f *Facts) {
	a := s.Attrs
	f.ToolName = cmp.Or(a.Str("tool.name", "gen_ai.tool.name"), agentOpsName(s))
	f.CallID = callID(a.Str("tool.call.id", "tool.id"))
	in, _ := a.firstText("agentops.tool.input", "agentops.entity.input", "tool.parameters")
	f.Arguments = entityArguments(in)
	out, ok := a.firstText("agentops.tool.output", "agentops.entity.output", "tool.result")
	f.HasResult = ok
	tracedResult(out, ParseValue(out), f)
	if isAnyOf(strings.ToLower(a.Str("tool.status")), "failed", "error") {
		f.ToolError = cmp.Or(f.ToolError, "error")
	}
}

// agentOpsRun reads what a decorated function, or a framework's workflow, was asked and answered.
func agentOpsRun(a Attrs, f *Facts) {
	for _, key := range []string{"agentops.agent.input", "agentops.entity.input", "agentops.session.input", "agentops.workflow.input", "workflow.input"} {
		f.UserText = cmp.Or(f.UserText, langfuseAsked(a.Text(key)))
	}
	for _, key := range []string{"agentops.agent.output", "agentops.entity.output", "agentops.session.output", "agentops.workflow.output", "workflow.final_output", "workflow.output"} {
		f.Reply = cmp.Or(f.Reply, answerText(a.Text(key)))
	}
}
