package trajectory

import "strings"

// Mastra before version 1 traced its own methods: agent.generate and agent.stream with their arguments and result, and a span of each tool
// that ran. The calls of a model have no spans of their own: the run's result has their sum.

// isFirstMastra says whether a span is one of those.
func isFirstMastra(s *Span) bool {
	return firstMastraRun(s) != "" || strings.HasSuffix(s.Attrs.Text("mastra.operationId"), ".toolCall")
}

// firstMastraRun is the name of the method that ran an agent, else "".
func firstMastraRun(s *Span) string {
	if s.Attrs.Has("componentName") && isAnyOf(s.Name, "agent.generate", "agent.stream", "agent.generateVNext", "agent.streamVNext", "agent.generateLegacy", "agent.streamLegacy") {
		return s.Name
	}
	return ""
}

func readFirstMastra(s *Span) Facts {
	a := s.Attrs
	f := Facts{Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent}}
	method := firstMastraRun(s)
	if method == "" {
		firstMastraTool(a, &f)
		return f
	}
	f.Role, f.Agent = RoleAgent, a.Str("componentName")
	asked := a.jsonText(method + ".argument.0")
	if kindOf(asked) == '[' {
		f.Input = textHistory(asked) // earlier turns too
	} else {
		f.UserText = askedText(asked)
	}
	options := readObject(a.jsonText(method + ".argument.1"))
	memory := options.object("memory")
	f.SessionID, f.UserID = options.str("threadId"), options.str("resourceId")
	if f.SessionID == "" {
		f.SessionID, f.UserID = memory.str("thread"), memory.str("resource")
	}
	result := readObject(a.jsonText(method + ".result"))
	f.Reply, f.FinishRaw = result.str("text"), result.str("finishReason")
	f.Usage = usageOf(result.object("usage"))
	return f
}

func firstMastraTool(a Attrs, f *Facts) {
	prefix := strings.TrimPrefix(a.Text("mastra.operationId"), "mastra.") + "."
	f.Role = RoleTool
	f.ToolName, f.CallID = a.Str(prefix+"toolName"), callID(a.Str(prefix+"toolCallId"))
	f.Arguments, _ = a.value(prefix + "args")
	f.Result, f.HasResult = a.value(prefix + "result")
	if o := readObject(string(f.Result.JSON)); o.object("details").str("domain") != "" { // the error that Mastra made of what the tool threw
		f.ToolError = o.str("message")
	}
}
