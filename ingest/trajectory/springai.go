package trajectory

import "cmp"

// Spring AI's observations write all values as text. The chat client is the agent, its advisors are structure; prompts go to the log and not
// into spans, save in early versions, which had them in events.
var _ = add(Dialect{
	Name:  "spring-ai",
	Rank:  17,
	Keys:  []string{"spring.ai."},
	Score: scoreSpringAI,
	Read:  readSpringAI,
	Remedies: map[Fact]string{
		FactToolCalls:     "Spring AI writes answers to the application's log only (spring.ai.chat.observations.log-completion=true): record gen_ai.output.messages with an ObservationHandler or filter",
		FactToolExecution: "let Spring AI execute the tools (internalToolExecutionEnabled): those that the caller runs have no span",
		FactToolsOffered:  "update spring-ai: versions from 1.0 write spring.ai.model.request.tool.names",
		FactToolSchemas:   "name the tools in the catalog (tools: in pawl.yaml): Spring AI writes the schema on the spans of tools that ran only",
		FactArguments:     "set spring.ai.tools.observations.include-content=true",
		FactResults:       "set spring.ai.tools.observations.include-content=true",
		FactUserMessages:  "Spring AI writes prompts to the application's log only (spring.ai.chat.observations.log-prompt=true): record gen_ai.input.messages with an ObservationHandler or filter",
		FactReply:         "Spring AI writes answers to the application's log only (spring.ai.chat.observations.log-completion=true): record gen_ai.output.messages with an ObservationHandler or filter",
		FactSession:       "give the chat client a conversation: .advisors(a -> a.param(ChatMemory.CONVERSATION_ID, id))",
		FactUsage:         "ask the provider to include usage in streams (spring.ai.openai.chat.options.stream-usage=true)",
		FactModelCalls:    "call the model through Spring AI's ChatModel or ChatClient, with an ObservationRegistry and a tracing bridge (spring-boot-starter-actuator)",
		FactFinishReason:  "update spring-ai: newer versions write gen_ai.response.finish_reasons",
		FactModelName:     keptBy("Spring AI", "gen_ai.request.model"),
	},
})

func scoreSpringAI(s *Span) int {
	a := s.Attrs
	if a.Has("spring.ai.kind") || a.Has("spring.ai.tool.definition.name") || a.Has("spring.ai.model.request.tool.names") {
		return 14
	}
	if a.HasPrefix("spring.ai.") {
		return 11
	}
	return 0
}

func readSpringAI(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.SessionID = cmp.Or(a.Str("spring.ai.chat.client.conversation.id", "spring.ai.chat.memory.conversation.id"), f.SessionID)
	f.Role = springRole(a, s)
	if f.Provider == "spring_ai" {
		f.Provider = ""
	}
	switch f.Role {
	case RoleModel:
		genaiContent(a, &f)
		springEvents(s, &f)
		f.OfferedText = cmp.Or(f.OfferedText, a.jsonText("spring.ai.model.request.tool.names"))
	case RoleAgent:
		f.OfferedText = a.jsonText("spring.ai.chat.client.tool.names", "spring.ai.chat.client.tool.function.names")
		f.UserText = a.Str("spring.ai.chat.client.user.text")
		f.System = a.Str("spring.ai.chat.client.system.text")
	case RoleTool:
		genaiTool(a, &f)
		f.ToolName = cmp.Or(a.Str("spring.ai.tool.definition.name"), f.ToolName, toolNameOfSpan(s.Name))
		f.CallID = cmp.Or(callID(a.Str("spring.ai.tool.call.id")), f.CallID)
		if v, ok := a.value("spring.ai.tool.call.arguments"); ok {
			f.Arguments = v
		}
		if v, ok := a.value("spring.ai.tool.call.result"); ok {
			f.Result, f.HasResult = v, true
		}
	}
	return f
}

func springRole(a Attrs, s *Span) Role {
	switch a.Text("spring.ai.kind") {
	case "chat_client":
		return RoleAgent
	case "tool_call":
		return RoleTool
	case "vector_store":
		return RoleRetrieval
	case "advisor":
		return RoleNone
	}
	if a.Has("spring.ai.tool.definition.name") {
		return RoleTool
	}
	return genaiRole(s)
}

// springEvents reads the events of early versions, whose texts are lists of JSON texts or plain.
func springEvents(s *Span, f *Facts) {
	for _, e := range s.Events {
		switch e.Name {
		case "gen_ai.content.prompt":
			if f.Input.Empty() {
				f.Input.Messages = withRole(ParseMessages(e.Attrs.jsonText("gen_ai.prompt")), "user")
			}
		case "gen_ai.content.completion":
			if len(f.Output) == 0 {
				f.Output = asAssistant(ParseMessages(e.Attrs.jsonText("gen_ai.completion")))
			}
		}
	}
}
