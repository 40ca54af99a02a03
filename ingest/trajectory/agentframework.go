package trajectory

import (
	"cmp"
	"strings"
)

const agentFrameworkContent = "set ENABLE_SENSITIVE_DATA=true beside ENABLE_INSTRUMENTATION=true (.NET: EnableSensitiveData = true on the OpenTelemetry agent and chat client)"

// Microsoft's Agent Framework follows the conventions closely. Its own are the workflow: executors, which process messages, and the messages
// between them, which are its hand-offs.
var _ = add(Dialect{
	Name: "agent-framework",
	Rank: 14,
	Keys: []string{"gen_ai.", "workflow.", "executor.", "message."}, Scopes: agentFrameworkScopes,
	Score:    scoreAgentFramework,
	Read:     readAgentFramework,
	Includes: overGenAI,
	Remedies: map[Fact]string{
		FactToolCalls:     agentFrameworkContent,
		FactToolExecution: "let the framework invoke the functions (FunctionInvokingChatClient, @ai_function): those that the caller runs have no span",
		FactToolsOffered:  agentFrameworkContent,
		FactToolSchemas:   agentFrameworkContent,
		FactArguments:     agentFrameworkContent,
		FactResults:       agentFrameworkContent,
		FactUserMessages:  agentFrameworkContent,
		FactReply:         agentFrameworkContent,
		FactSession:       "run the agent with a thread that the service keeps, or set session.id on a span around the run: the chat spans' gen_ai.conversation.id may be the previous response's id",
		FactUsage:         "ask the provider to include usage in streams",
		FactModelCalls:    "set ENABLE_INSTRUMENTATION=true before the agent is made (.NET: UseOpenTelemetry on the chat client): each call of a model is a chat span then",
		FactFinishReason:  "read streams to their end: the finish reason comes last",
		FactModelName:     "name the model on the chat client (model_id, or the deployment's name)",
	},
})

var agentFrameworkScopes = []string{"agent_framework", "Microsoft.Agents.AI", "Experimental.Microsoft.Agents.AI"}

const agentFrameworkProvider = "microsoft.agent_framework"

func scoreAgentFramework(s *Span) int {
	a, score := s.Attrs, 0
	for _, scope := range agentFrameworkScopes {
		if strings.HasPrefix(s.Scope, scope) {
			score = 12
		}
	}
	if a.Text("gen_ai.provider.name") == agentFrameworkProvider {
		score += 12
	}
	if a.Has("message.source_id") && a.Has("message.target_id") || a.Has("executor.id") && a.Has("executor.type") {
		score += 12
	}
	return score
}

func readAgentFramework(s *Span) Facts {
	a := s.Attrs
	f := readGenAI(s)
	switch first, _, _ := strings.Cut(s.Name, " "); first {
	case "message.send":
		f.Role = RoleHandoff
		f.HandoffFrom, f.HandoffTo = a.Str("message.source_id"), a.Str("message.target_id")
		if f.HandoffTo == "" || f.HandoffFrom == f.HandoffTo {
			f.Role = RoleNone // to all, or to itself
		}
	case "executor.process":
		f.Agent = cmp.Or(f.Agent, a.Str("executor.id"))
	case "workflow.run", "workflow_invoke":
		f.Agent = cmp.Or(a.Str("workflow.name"), f.Agent)
	}
	if f.Role == RoleModel && s.ParentID != "" { // the conversation's id is another with each response
		f.SessionID, f.Run = a.Str("session.id"), a.Str("gen_ai.conversation.id")
	}
	if f.Role == RoleAgent && isUUID(f.Agent) {
		f.Agent = "agent" // one without a name has a new id with each run
	}
	return f
}
