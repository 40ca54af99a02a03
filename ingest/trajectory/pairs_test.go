package trajectory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// pair is one key in which one dialect states one fact, and what is read of it.
type pair struct {
	on    string // the span that carries it, one of carriers
	key   string // an attribute; "name"; "resource K"; "event NAME K" and "log NAME K" for an event and a log record of the span
	value any
	fact  string // one of those of factOf
	want  string // "" where it is the value itself; "-" where nothing may be read
}

// carriers are the least spans that speak a dialect, by dialect and what they stand for.
var carriers = map[string]fixtureLine{
	"agent": {Name: "invoke_agent", Attrs: attrs{"gen_ai.operation.name": "invoke_agent"}},
	"chat":  {Name: "chat", Attrs: attrs{"gen_ai.operation.name": "chat"}},
	"tool":  {Name: "execute_tool", Attrs: attrs{"gen_ai.operation.name": "execute_tool"}},

	"openinference agent": {Name: "run", Attrs: attrs{"openinference.span.kind": "AGENT"}},
	"openinference chain": {Name: "run", Attrs: attrs{"openinference.span.kind": "CHAIN"}},
	"openinference chat":  {Name: "call", Attrs: attrs{"openinference.span.kind": "LLM"}},
	"openinference tool":  {Name: "look_up", Attrs: attrs{"openinference.span.kind": "TOOL"}},

	"openllmetry agent": {Name: "run.agent", Attrs: attrs{"traceloop.span.kind": "agent"}},
	"openllmetry chat":  {Name: "openai.chat", Attrs: attrs{"llm.request.type": "chat"}},
	"openllmetry tool":  {Name: "look_up.tool", Attrs: attrs{"traceloop.span.kind": "tool"}},
	"handoff":           {Name: "hand over", Attrs: attrs{"traceloop.span.kind": "handoff"}},
	"openllmetry":       {Name: "a step", Attrs: attrs{"traceloop.workflow.name": "w"}},

	"vercel agent": {Name: "ai.generateText", Scope: "ai", Attrs: attrs{"ai.operationId": "ai.generateText"}},
	"vercel chat":  {Name: "ai.generateText.doGenerate", Scope: "ai", Attrs: attrs{"ai.operationId": "ai.generateText.doGenerate"}},
	"vercel tool":  {Name: "ai.toolCall", Scope: "ai", Attrs: attrs{"ai.operationId": "ai.toolCall"}},
	"v7 agent":     {Name: "invoke_agent m", Scope: "gen_ai", Attrs: attrs{"gen_ai.operation.name": "invoke_agent"}},
	"v7 chat":      {Name: "chat m", Scope: "gen_ai", Attrs: attrs{"gen_ai.operation.name": "chat"}},
	"v7 tool":      {Name: "execute_tool t", Scope: "gen_ai", Attrs: attrs{"gen_ai.operation.name": "execute_tool"}},

	"pydantic agent": {Name: "agent run", Scope: "pydantic-ai"},
	"pydantic chat":  {Name: "chat m", Scope: "pydantic-ai", Attrs: attrs{"gen_ai.operation.name": "chat"}},
	"pydantic tool":  {Name: "running tool", Scope: "pydantic-ai", Attrs: attrs{"gen_ai.tool.name": "look_up"}},

	"adk agent":     {Name: "invoke_agent", Scope: "gcp.vertex.agent", Attrs: attrs{"gen_ai.operation.name": "invoke_agent"}},
	"adk chat":      {Name: "call_llm", Scope: "gcp.vertex.agent"},
	"adk tool":      {Name: "execute_tool look_up", Scope: "gcp.vertex.agent"},
	"strands agent": {Name: "invoke_agent A", Scope: "strands.telemetry.tracer", Attrs: attrs{"gen_ai.operation.name": "invoke_agent"}},
	"strands chat":  {Name: "chat", Scope: "strands.telemetry.tracer", Attrs: attrs{"gen_ai.operation.name": "chat"}},
	"strands tool":  {Name: "execute_tool look_up", Scope: "strands.telemetry.tracer", Attrs: attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up"}},

	"livekit agent":   {Name: "agent_session", Scope: "livekit-agents"},
	"livekit chat":    {Name: "llm_request", Scope: "livekit-agents"},
	"livekit tool":    {Name: "function_tool", Scope: "livekit-agents"},
	"langsmith chain": {Name: "run", Scope: "langsmith", Attrs: attrs{"langsmith.span.kind": "chain"}},
	"langsmith chat":  {Name: "ChatOpenAI", Scope: "langsmith", Attrs: attrs{"langsmith.span.kind": "llm"}},
	"langsmith tool":  {Name: "look_up", Scope: "langsmith", Attrs: attrs{"langsmith.span.kind": "tool"}},
	"litellm chat":    {Name: "litellm_request", Scope: "litellm"},
	"framework agent": {Name: "invoke_agent A", Scope: "agent_framework", Attrs: attrs{"gen_ai.operation.name": "invoke_agent"}},
	"framework chat":  {Name: "chat m", Scope: "agent_framework", Parent: "root", Attrs: attrs{"gen_ai.operation.name": "chat"}},
	"framework":       {Name: "message.send", Scope: "agent_framework"},
	"executor":        {Name: "executor.process X", Scope: "agent_framework"},
	"kernel chat":     {Name: "chat.completions m", Scope: "semantic_kernel.utils", Attrs: attrs{"gen_ai.operation.name": "chat.completions"}},
	"autogen agent":   {Name: "invoke_agent A", Scope: "autogen-core", Attrs: attrs{"gen_ai.operation.name": "invoke_agent"}},
	"spring agent":    {Name: "spring_ai chat_client", Attrs: attrs{"spring.ai.kind": "chat_client"}},
	"spring chat":     {Name: "chat m", Attrs: attrs{"gen_ai.operation.name": "chat", "spring.ai.model.request.tool.names": "[]"}},
	"spring tool":     {Name: "tool_call", Attrs: attrs{"spring.ai.kind": "tool_call"}},

	"haystack agent": {Name: "haystack.agent.run"},
	"haystack chat":  {Name: "haystack.component.run", Attrs: attrs{"haystack.component.type": "OpenAIChatGenerator"}},
	"haystack step":  {Name: "haystack.agent.step.tool", Attrs: attrs{"haystack.tool.name": "look_up"}},
	"genkit flow":    {Name: "f", Attrs: attrs{"genkit:metadata:subtype": "flow"}},
	"genkit chat":    {Name: "m", Attrs: attrs{"genkit:metadata:subtype": "model"}},
	"genkit tool":    {Name: "look_up", Attrs: attrs{"genkit:metadata:subtype": "tool"}},
	"gemini run":     {Name: "user_prompt", Scope: "gemini-cli", Attrs: attrs{"gen_ai.operation.name": "user_prompt"}},
	"gemini chat":    {Name: "llm_call", Scope: "gemini-cli", Attrs: attrs{"gen_ai.operation.name": "llm_call"}},
	"gemini tool":    {Name: "tool_call", Scope: "gemini-cli", Attrs: attrs{"gen_ai.operation.name": "tool_call"}},
	"gemini event":   {Name: "gemini_cli.tool_call", Attrs: attrs{"function_name": "look_up", "session.id": "s"}},

	"claude run":      {Name: "claude_code.interaction"},
	"claude chat":     {Name: "claude_code.llm_request", Attrs: attrs{"input_tokens": int64(0)}},
	"claude api":      {Name: "claude_code.api_request", Attrs: attrs{"input_tokens": int64(0)}},
	"claude tool":     {Name: "claude_code.tool"},
	"claude result":   {Name: "claude_code.tool_result"},
	"codex run":       {Name: "codex.user_prompt", Attrs: attrs{"conversation.id": "s"}},
	"codex turn":      {Name: "session_task.turn", Scope: "codex_core", Attrs: attrs{"codex.turn.reasoning_effort": "low", "codex.turn.token_usage.input_tokens": int64(9)}},
	"codex chat":      {Name: "codex.sse_event", Attrs: attrs{"conversation.id": "s"}},
	"codex result":    {Name: "codex.tool_result", Attrs: attrs{"conversation.id": "s"}},
	"codex decision":  {Name: "codex.tool_decision", Attrs: attrs{"conversation.id": "s", "tool_name": "look_up", "call_id": "call-1"}},
	"copilot agent":   {Name: "invoke_agent copilot", Attrs: attrs{"gen_ai.operation.name": "invoke_agent", "copilot_chat.turn_count": 1}},
	"openlit agent":   {Name: "invoke_agent A", Attrs: attrs{"gen_ai.operation.name": "invoke_agent", "telemetry.sdk.name": "openlit"}},
	"openlit chat":    {Name: "chat m", Attrs: attrs{"gen_ai.operation.name": "chat", "telemetry.sdk.name": "openlit"}},
	"openlit tool":    {Name: "execute_tool look_up", Attrs: attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "telemetry.sdk.name": "openlit"}},
	"koog chat":       {Name: "llm", Scope: "ai.koog", Attrs: attrs{"gen_ai.operation.name": "chat"}},
	"koog tool":       {Name: "tool.look_up", Scope: "ai.koog", Attrs: attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up"}},
	"mlflow agent":    {Name: "run", Attrs: attrs{"mlflow.spanType": `"AGENT"`}},
	"mlflow chat":     {Name: "call", Attrs: attrs{"mlflow.spanType": `"CHAT_MODEL"`}},
	"mlflow tool":     {Name: "look_up", Attrs: attrs{"mlflow.spanType": `"TOOL"`}},
	"braintrust chat": {Name: "call", Attrs: attrs{"braintrust.span_attributes": `{"type":"llm"}`}},
	"braintrust tool": {Name: "look_up", Attrs: attrs{"braintrust.span_attributes": `{"type":"tool"}`}},
	"braintrust task": {Name: "run", Attrs: attrs{"braintrust.span_attributes": `{"type":"task"}`}},

	"langfuse trace": {Name: "run", Attrs: attrs{"langfuse.observation.type": "span"}},
	"langfuse agent": {Name: "run", Attrs: attrs{"langfuse.observation.type": "agent"}},
	"langfuse chat":  {Name: "call", Attrs: attrs{"langfuse.observation.type": "generation", "langfuse.observation.usage_details": `{"input":1}`}},
	"langfuse tool":  {Name: "look_up", Attrs: attrs{"langfuse.observation.type": "tool"}},
	"laminar":        {Name: "run", Attrs: attrs{"lmnr.span.path": []any{"run"}}},
	"laminar tool":   {Name: "look_up", Attrs: attrs{"lmnr.span.type": "TOOL", "lmnr.span.path": []any{"look_up"}}},
	"laminar chat":   {Name: "call", Attrs: attrs{"lmnr.span.type": "LLM", "lmnr.span.path": []any{"call"}}},
	"volt agent":     {Name: "A", Scope: "@voltagent/core", Attrs: attrs{"span.type": "agent", "entity.type": "agent"}},
	"volt chat":      {Name: "llm", Scope: "@voltagent/core", Attrs: attrs{"span.type": "llm"}},
	"volt tool":      {Name: "tool.execution:look_up", Scope: "@voltagent/core", Attrs: attrs{"span.type": "tool"}},
	"agentops tool":  {Name: "look_up.tool", Attrs: attrs{"agentops.span.kind": "tool"}},
	"agentops agent": {Name: "A.agent", Attrs: attrs{"agentops.span.kind": "agent"}},
	"mcp":            {Name: "tools/call look_up", Attrs: attrs{"mcp.method.name": "tools/call"}},
	"raw":            {Name: "call_model", Attrs: attrs{"model": "m", "prompt": "p"}},
	"raw tool":       {Name: "step", Attrs: attrs{"tool_name": "look_up", "tool_input": `{"a":1}`}},
	"home made":      {Name: "POST /chat"},
}

type attrs = map[string]any

// trace is the pair's span with its key, alone.
func (p pair) trace(t *testing.T) Trace {
	l, ok := carriers[p.on]
	if !ok {
		t.Fatalf("no carrier %q", p.on)
	}
	with := attrs{}
	for k, v := range l.Attrs {
		with[k] = v
	}
	l.Span, l.At, l.Attrs = "span", [2]int64{0, 10}, with
	ld := plog.NewLogs()
	switch kind, rest, _ := strings.Cut(p.key, " "); kind {
	case "name":
		l.Name = fmt.Sprint(p.value)
	case "resource":
		l.Resource = attrs{rest: p.value}
	case "event":
		name, key, _ := strings.Cut(rest, " ")
		l.Events = []fixtureEvent{{Name: name, Attrs: attrs{key: p.value}}}
	case "log":
		name, key, _ := strings.Cut(rest, " ")
		r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		fillLog(t, r, fixtureLine{Log: name, Span: "span", Body: attrs{key: p.value}})
	default:
		with[p.key] = p.value
	}
	tds := []ptrace.Traces{l.traces(t)}
	if p.fact == "offered" && strings.HasSuffix(p.on, "agent") { // what an agent has counts for the calls below it
		tds = append(tds, fixtureLine{Span: "child", Parent: "span", Name: "chat", At: [2]int64{1, 2}, Attrs: carriers["chat"].Attrs}.traces(t))
	}
	traces := FromOTLP(tds, []plog.Logs{ld})
	if len(traces) != 1 {
		t.Fatalf("%d traces", len(traces))
	}
	return traces[0]
}

// rolesOf says what the span counted as: a call of a model, a tool's, an agent's run, a retrieval, a hand-off.
func rolesOf(tr *Trajectory) string {
	var out []string
	for _, r := range []struct {
		is   bool
		word string
	}{
		{len(tr.ModelCalls) > 0, "model"}, {len(tr.ToolCalls) > 0, "tool"}, {len(tr.Handoffs) > 0, "handoff"},
		{slices.ContainsFunc(tr.Steps, func(s Step) bool { return s.Kind == StepRetrieval }), "retrieval"},
	} {
		if r.is {
			out = append(out, r.word)
		}
	}
	return strings.Join(out, " ")
}

// factOf is one fact of a trajectory as text, "" when it has none.
func factOf(t *testing.T, tr *Trajectory, fact string) string {
	var m ModelCall
	if len(tr.ModelCalls) > 0 {
		m = tr.ModelCalls[0]
	}
	var c ToolCall
	if len(tr.ToolCalls) > 0 {
		c = tr.ToolCalls[0]
	}
	count := func(n *int64) string {
		if n == nil {
			return ""
		}
		return fmt.Sprint(*n)
	}
	switch fact {
	case "session":
		return tr.SessionID
	case "user":
		return tr.UserID
	case "version":
		return tr.Version
	case "route":
		return tr.Route
	case "agents":
		return strings.Join(tr.Agents, " ")
	case "dialects":
		return strings.Join(tr.Dialects, " ")
	case "said":
		return strings.Join(tr.UserMessages, "|")
	case "system":
		return tr.SystemPrompt
	case "reply":
		if tr.Reply != nil {
			return *tr.Reply
		}
		return ""
	case "provider":
		return m.Provider
	case "asked":
		return m.ModelRequested
	case "answered":
		return m.ModelResponded
	case "response":
		return m.ResponseID
	case "finish":
		return string(m.FinishReason)
	case "text":
		return m.Text
	case "in":
		return count(m.Usage.Input)
	case "out":
		return count(m.Usage.Output)
	case "read":
		return count(m.Usage.CacheRead)
	case "write":
		return count(m.Usage.CacheWrite)
	case "reasoning":
		return count(m.Usage.Reasoning)
	case "audio in":
		return count(m.Usage.AudioIn)
	case "audio out":
		return count(m.Usage.AudioOut)
	case "role":
		return rolesOf(tr)
	case "cost":
		if m.Usage.CostUSD != nil {
			return fmt.Sprint(*m.Usage.CostUSD)
		}
		return ""
	case "model error":
		if m.Error != nil {
			return strings.TrimSpace(fmt.Sprint(m.Error.Type, " ", m.Error.Message))
		}
		return ""
	case "offered":
		var defs []string
		for _, d := range tr.ToolsOffered {
			defs = append(defs, d.Name+string(d.Schema))
		}
		return strings.Join(defs, " ")
	case "asks":
		var calls []string
		for _, c := range tr.ToolCalls {
			if c.Requested {
				calls = append(calls, strings.TrimSpace(c.ID+" "+c.Name+cmp.Or(string(c.Arguments.JSON), c.Arguments.Raw)))
			}
		}
		return strings.Join(calls, " ")
	case "tool":
		return c.Name
	case "call":
		return c.ID
	case "arguments":
		return cmp.Or(string(c.Arguments.JSON), c.Arguments.Raw)
	case "result":
		if !c.HasResult {
			return ""
		}
		return cmp.Or(string(c.Result.JSON), c.Result.Raw)
	case "outcome":
		return string(c.Outcome)
	case "tool error":
		if c.Error != nil {
			return strings.TrimSpace(fmt.Sprint(c.Error.Type, " ", c.Error.Message))
		}
		return ""
	case "handoff":
		if len(tr.Handoffs) > 0 {
			return tr.Handoffs[0].From + " > " + tr.Handoffs[0].To
		}
		return ""
	case "feedback":
		if len(tr.Feedback) == 0 {
			return ""
		}
		f, score := tr.Feedback[0], ""
		if f.Score != nil {
			score = fmt.Sprint(*f.Score)
		}
		return strings.Join(slices.DeleteFunc([]string{f.Name, score, f.Label, f.Explanation}, func(s string) bool { return s == "" }), " ")
	}
	t.Fatalf("no fact %q", fact)
	return ""
}

// Each key that a dialect is known to use tells its fact, alone on the least span that speaks the dialect.
func TestPairs(t *testing.T) {
	seen := map[string]bool{}
	for _, list := range [][]pair{identityPairs, modelPairs, usagePairs, messagePairs, offerPairs, requestPairs, executionPairs, outcomePairs, agentPairs, rolePairs} {
		for _, p := range list {
			name := p.on + "/" + p.key + "/" + p.fact
			for i := 2; seen[name]; i++ {
				name = fmt.Sprintf("%s/%s/%s#%d", p.on, p.key, p.fact, i)
			}
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				tr := Build(p.trace(t))
				want := p.want
				switch {
				case want == "-":
					want = ""
				case want == "":
					want = fmt.Sprint(p.value)
				}
				if got := factOf(t, tr, p.fact); got != want {
					t.Errorf("%s = %v: %s is %q, want %q (read as %v)", p.key, p.value, p.fact, got, want, tr.Dialects)
				}
			})
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d pairs", len(seen))
	}
}
