package trajectory

import (
	"strings"
)

// graphNode reads the nodes that LangGraph runs under the OpenLLMetry instrumentation for LangChain. All its spans are flat siblings, and
// the model span has lost the calls that the answer asked for: the node around it still has the whole answer, serialised, under the same
// response id and with the same counts, so that the two become one call. It is a table entry of its own since both describe one call.
var _ = add(Dialect{Name: "openllmetry", Rank: 12, Keys: []string{"traceloop."}, Score: scoreGraphNode, Read: readGraphNode, Remedies: openLLMetryRemedies})

func scoreGraphNode(s *Span) int {
	if s.ParentID == "" || s.Attrs.Text("traceloop.span.kind") != "workflow" {
		return 0
	}
	if _, ok := soleAnswer(s.Attrs.Text("traceloop.entity.output")); ok || refusedByGraph(s.Attrs) {
		return 50
	}
	return 0
}

func readGraphNode(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		SessionID: associated(a, "session_id", "sessionId", "thread_id", "chat_id", "conversation_id"),
		UserID:    associated(a, "user_id", "userId"),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	if refusedByGraph(a) {
		f.Role = RoleTool
		graphCall(a, &f)
		return f
	}
	answer, _ := soleAnswer(a.Text("traceloop.entity.output"))
	readSoleAnswer(answer, &f)
	return f
}

// readSoleAnswer reads the model's message in a node's output as one more description of the call that made it.
func readSoleAnswer(answer object, f *Facts) {
	meta := answer.object("response_metadata")
	f.Role = RoleModel
	f.ResponseID = answer.str("id")
	f.ModelResponded = meta.str("model_name", "model")
	f.FinishRaw = meta.str("finish_reason", "stop_reason", "stopReason")
	f.Usage = usageOf(answer.object("usage_metadata"))
	f.Output = appendMessage(nil, answer, "assistant", 0)
}

// soleAnswer is the model's message in the output of a node that asked the model: that message alone, as it is or as the update of a
// command. Nodes without counts are left alone: nothing would tell that their call is the one that the model span describes.
func soleAnswer(text string) (object, bool) {
	if !strings.Contains(text, `"AIMessage`) {
		return nil, false
	}
	o := readObject(text)
	if command := readObject(soleElement(o.get("output"))); command != nil {
		o = command.object("update")
	}
	if list := o.get("messages"); list != "" {
		o = readObject(soleElement(list))
	}
	answer := o.object("kwargs")
	usage := usageOf(answer.object("usage_metadata"))
	return answer, strings.Contains(o.get("id"), `"AIMessage`) && usage.Input != nil && usage.Output != nil
}

// soleElement is the one element of a list, nil when it has none or more.
func soleElement(list string) string {
	sole := ""
	n := 0
	for e := range elements(list) {
		sole = e
		if n++; n > 1 {
			return ""
		}
	}
	return sole
}

// refusedByGraph says whether a span is LangGraph's node around a call that it refused itself: an unknown tool, arguments that the schema
// does not allow. Such a call gets no span of its own. Around calls that ran there is one, and this one must not count again.
func refusedByGraph(a Attrs) bool {
	if !strings.Contains(a.Text("traceloop.entity.input"), `"lg_tool_call"`) {
		return false
	}
	m, ok := graphAnswer(a)
	return ok && m.Error != "" && frameworkVerdict(m.Error) != ""
}

// graphAnswer is the one message in the output of a node that runs tools.
func graphAnswer(a Attrs) (toolMessage, bool) {
	o := readObject(a.Text("traceloop.entity.output"))
	return readToolMessage(firstElement(o.get("messages")))
}

func graphCall(a Attrs, f *Facts) {
	call := callPart(readObject(a.Text("traceloop.entity.input")).object("lg_tool_call"))
	f.ToolName, f.CallID, f.Arguments = call.Name, call.ID, call.Value
	if m, ok := graphAnswer(a); ok {
		f.HasResult, f.ToolError = true, m.Error
		f.Result, _ = resultValue(m.Content, 0)
	}
}
