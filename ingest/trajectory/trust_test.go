package trajectory

import (
	"fmt"
	"maps"
	"testing"
)

// The keys of one fact that several dialects have, the most trusted first. Where a span carries two of them, the earlier one tells.
var trust = []struct {
	fact string
	on   []string // carriers: the fact must be told alike whatever else the span speaks
	keys []string
}{
	{"session", agentCarriers, []string{"session.id", "langfuse.session.id", "gen_ai.conversation.id", "ai.telemetry.metadata.sessionId"}},
	{"session", agentCarriers, []string{"session.id", "langfuse.session.id", "gen_ai.conversation.id", "traceloop.association.properties.session_id"}},
	{"session", agentCarriers, []string{"session.id", "langfuse.session.id", "gen_ai.conversation.id", "langsmith.metadata.session_id"}},
	{"session", []string{"agent"}, []string{"ai.telemetry.metadata.sessionId", "traceloop.association.properties.session_id", "langsmith.metadata.session_id"}},
	{"user", agentCarriers, []string{"user.id", "enduser.id", "langfuse.user.id", "ai.telemetry.metadata.userId"}},
	{"user", agentCarriers, []string{"user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id"}},
	{"user", agentCarriers, []string{"user.id", "enduser.id", "langfuse.user.id", "langsmith.metadata.user_id"}},
	{"user", []string{"agent"}, []string{"ai.telemetry.metadata.userId", "traceloop.association.properties.user_id", "langsmith.metadata.user_id"}},
	{"asked", []string{"openinference chat"}, []string{"gen_ai.request.model", "llm.request.model_name", "llm.model_name"}},
	{"asked", []string{"vercel chat"}, []string{"gen_ai.request.model", "ai.model.id"}},
	{"asked", []string{"litellm chat"}, []string{"gen_ai.request.model", "litellm.provider.model"}},
	{"answered", []string{"openinference chat"}, []string{"gen_ai.response.model", "llm.response.model_name", "llm.model_name"}},
	{"answered", []string{"vercel chat"}, []string{"gen_ai.response.model", "ai.response.model"}},
	{"provider", []string{"chat", "openllmetry chat", "langsmith chat", "pydantic chat", "litellm chat", "openlit chat"}, []string{"gen_ai.provider.name", "gen_ai.system"}},
	{"provider", []string{"openinference chat"}, []string{"gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"}},
	{"provider", []string{"vercel chat"}, []string{"gen_ai.provider.name", "gen_ai.system", "ai.model.provider"}},
	{"agents", []string{"openinference agent"}, []string{"gen_ai.agent.name", "agent.name", "graph.node.id"}},
	{"agents", []string{"openllmetry agent"}, []string{"gen_ai.agent.name", "traceloop.entity.name", "traceloop.workflow.name"}},
	{"agents", []string{"pydantic agent"}, []string{"gen_ai.agent.name", "agent_name"}},
	{"agents", []string{"agent", "strands agent"}, []string{"gen_ai.agent.name", "gen_ai.workflow.name"}},
	{"finish", []string{"chat", "openllmetry chat", "langsmith chat", "pydantic chat", "litellm chat"}, []string{"gen_ai.response.finish_reasons", "gen_ai.response.finish_reason"}},
	{"finish", []string{"openinference chat"}, []string{"gen_ai.response.finish_reasons", "llm.finish_reason"}},
	{"finish", []string{"vercel chat"}, []string{"gen_ai.response.finish_reasons", "ai.response.finishReason"}},
	{"tool", []string{"openinference tool"}, []string{"gen_ai.tool.name", "tool.name"}},
	{"tool", []string{"openllmetry tool"}, []string{"gen_ai.tool.name", "traceloop.entity.name"}},
	{"call", []string{"openinference tool"}, []string{"gen_ai.tool.call.id", "tool_call.id", "tool.id"}},
	{"arguments", []string{"tool", "openinference tool", "openllmetry tool", "v7 tool", "pydantic tool"}, []string{"gen_ai.tool.call.arguments", "input.value"}},
	{"arguments", []string{"openllmetry tool"}, []string{"gen_ai.tool.call.arguments", "traceloop.entity.input"}},
	{"arguments", []string{"vercel tool"}, []string{"ai.toolCall.args", "input.value"}},
	{"arguments", []string{"openlit tool"}, []string{"gen_ai.tool.call.arguments", "gen_ai.tool.args", "gen_ai.tool.input"}},
	{"result", []string{"tool", "openinference tool", "openllmetry tool", "v7 tool", "pydantic tool"}, []string{"gen_ai.tool.call.result", "output.value"}},
	{"result", []string{"openllmetry tool"}, []string{"gen_ai.tool.call.result", "traceloop.entity.output"}},
	{"result", []string{"vercel tool"}, []string{"ai.toolCall.result", "output.value"}},
	{"result", []string{"openlit tool"}, []string{"gen_ai.tool.call.result", "gen_ai.tool.output"}},
	{"text", []string{"openinference chat"}, []string{"llm.output_messages.0.message.content", "output.value"}},
}

// agentCarriers are spans of agents in whatever dialect: the conversation and the user are told alike by all.
var agentCarriers = []string{"agent", "openinference agent", "openllmetry agent", "vercel agent", "v7 agent", "langsmith chain", "pydantic agent",
	"langfuse agent", "strands agent", "mlflow agent", "volt agent", "genkit flow"}

// values are two words that each fact keeps apart and none folds.
func trustValue(fact string, i int) string {
	switch fact {
	case "finish":
		return []string{"stop", "length"}[i]
	case "arguments", "result":
		return fmt.Sprintf(`{"v":%d}`, i)
	}
	return fmt.Sprintf("value%d", i)
}

func TestTrust(t *testing.T) {
	for _, f := range trust {
		for _, on := range f.on {
			for i, first := range f.keys {
				for _, second := range f.keys[i+1:] {
					t.Run(f.fact+"/"+on+"/"+first+"/"+second, func(t *testing.T) {
						base := carriers[on]
						base.Attrs = maps.Clone(base.Attrs)
						if base.Attrs == nil {
							base.Attrs = attrs{}
						}
						base.Attrs[second] = trustValue(f.fact, 1)
						carriers["mixed"] = base
						defer delete(carriers, "mixed")
						tr := Build(pair{"mixed", first, trustValue(f.fact, 0), f.fact, ""}.trace(t))
						if got := factOf(t, tr, f.fact); got != trustValue(f.fact, 0) {
							t.Errorf("%s is %q, want what %s says (read as %v)", f.fact, got, first, tr.Dialects)
						}
					})
				}
			}
		}
	}
}
