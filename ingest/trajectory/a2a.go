package trajectory

import (
	"cmp"
	"strings"
)

// The Agent2Agent protocol has no agreed attributes: gateways and SDKs write a2a.* each in their own way, beside other vocabularies. The
// Python SDK decorates its own methods, whose spans tell nothing of an agent; reads of its queues that were cancelled are normal.
var _ = add(Dialect{
	Name: "a2a",
	Rank: 33,
	Keys: []string{"a2a.", "bifrost.a2a.", "gen_ai.a2a."}, Scopes: []string{"a2a-python-sdk"},
	Score: scoreA2A,
	Read:  readA2A,
	Remedies: map[Fact]string{
		FactModelCalls:    a2aBehind,
		FactUserMessages:  "record a2a.message.text (or input.value) on the span of the task",
		FactReply:         "record a2a.message.reply_text (or output.value) on the span of the task",
		FactSession:       "record a2a.context.id on the span of the task",
		FactToolCalls:     a2aBehind,
		FactToolExecution: a2aBehind,
		FactToolsOffered:  a2aBehind,
		FactToolSchemas:   a2aBehind,
		FactArguments:     a2aBehind,
		FactResults:       a2aBehind,
		FactUsage:         a2aBehind,
		FactFinishReason:  a2aBehind,
		FactModelName:     a2aBehind,
	},
})

func scoreA2A(s *Span) int {
	if s.Attrs.HasPrefix("a2a.") || s.Attrs.HasPrefix("bifrost.a2a.") || s.Attrs.HasPrefix("gen_ai.a2a.") {
		return 10
	}
	if s.Scope == "a2a-python-sdk" {
		return 1
	}
	return 0
}

func readA2A(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		SessionID: a.Str("a2a.context.id", "a2a.context_id", "a2a.task.context_id", "gen_ai.conversation.id", "session.id"),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	if s.Scope == "a2a-python-sdk" && scoreA2A(s) < strongScore {
		return f
	}
	method := strings.ToLower(cmp.Or(a.Str("a2a.method.name", "a2a.method", "a2a.operation", "gen_ai.a2a.method", "rpc.method"), s.Name))
	peer := a.Str("a2a.peer.agent.name", "a2a.target.agent.name", "a2a.agent.target")
	agent := a.Str("a2a.agent.name", "gen_ai.agent.name", "agent.name")
	switch {
	case !a2aSends(method):
	case peer != "": // only the caller's side has one
		f.Role, f.HandoffFrom, f.HandoffTo = RoleHandoff, agent, peer
	case s.Kind == KindClient && agent != "":
		f.Role, f.HandoffTo = RoleHandoff, agent
	case s.Kind != KindClient:
		f.Role, f.Agent = RoleAgent, agent
		f.UserText = askedText(a.Text("a2a.message.text"))
		f.Reply = answerText(a.Text("a2a.message.reply_text"))
	}
	// The call that asks for a task may be fine and the task not.
	if state := strings.TrimPrefix(strings.ToLower(a.Str("a2a.task.state", "gen_ai.a2a.task.state")), "task_state_"); isAnyOf(state, "failed", "rejected") {
		f.Error = &Error{Type: "task_" + state, Message: a.Text("a2a.task.status.message")}
	}
	return f
}

// a2aSends says whether a method gives another agent something to do. The others ask after a task, cancel it, or read a card.
func a2aSends(method string) bool {
	for _, m := range []string{"message/send", "message/stream", "tasks/send", "send_message", "sendmessage", "send_task", "task.send", "task.execute", "a2a.task"} {
		if method == m || strings.HasSuffix(method, m) && m != "a2a.task" {
			return true
		}
	}
	return false
}

const a2aBehind = "A2A spans tell of tasks between agents, not of their work: instrument the agent behind the server"
