package trajectory

import (
	"cmp"
	"strings"
)

// VoltAgent has words of its own. One llm span stands around the whole loop of model and tools, with the counts of its last step; the sum
// is on the agent's span. What the model asked for in between is told only by the spans that write the conversation to memory: each holds
// the answer as far as it has grown, with the calls and what came of them.
var _ = add(Dialect{
	Name: "voltagent",
	Rank: 27,
	Keys: []string{"voltagent.", "entity."}, Scopes: []string{"@voltagent/core"},
	Score: scoreVoltAgent,
	Read:  readVoltAgent,
	Remedies: map[Fact]string{
		FactToolCalls:     "leave the agent's memory on: VoltAgent tells of requested calls only where it writes the conversation to memory",
		FactToolExecution: "give the tool an execute function, and do not hold it back for approval",
		FactToolSchemas:   "VoltAgent records names, and no JSON Schemas: name the tools in the catalog (tools: in pawl.yaml)",
		FactArguments:     "leave the agent's memory on: a call that was refused has no span of its own",
		FactResults:       "leave the agent's memory on: a call that was refused has no span of its own",
		FactUsage:         "VoltAgent records usage of the last step and of the whole run, not of each call: instrument the provider's client beside it",
		FactSession:       "pass conversationId to generateText and streamText (and userId)",
		FactModelCalls:    "keep the llm:* spans in the export: VoltAgent opens one around each loop of a model and its tools",
		FactToolsOffered:  "update @voltagent/core: it lists the tools' names in llm.tools",
		FactFinishReason:  "read streams to their end: the finish reason comes last; of a run that fails VoltAgent records none",
		FactUserMessages:  "do not strip input and output of VoltAgent's spans on their way",
		FactReply:         "do not strip input and output of VoltAgent's spans on their way",
		FactModelName:     keptBy("VoltAgent", "llm.model"),
	},
})

func scoreVoltAgent(s *Span) int {
	score := 0
	if s.Scope == "@voltagent/core" {
		score += 10
	}
	if s.Attrs.Has("voltagent.operation_id") || s.Attrs.Has("entity.type") && s.Attrs.Has("entity.id") {
		score += 10
	}
	return score
}

func readVoltAgent(s *Span) Facts {
	a := s.Attrs
	f := Facts{
		SessionID: a.Str("conversation.id", "voltagent.conversation_id"),
		UserID:    a.Str("user.id"),
		Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent},
	}
	if a.Str("entity.type") == "agent" {
		f.Agent = a.Str("entity.name", "entity.id")
	}
	if t := a.Str("error.type"); t != "" {
		f.Error = &Error{Type: t, Message: a.Text("error.message")}
	}
	switch kind := a.Str("span.type"); {
	case kind == "llm":
		f.Role = RoleModel
		voltAgentModel(s, &f)
	case kind == "tool":
		f.Role = RoleTool
		f.ToolName = cmp.Or(a.Str("tool.name"), strings.TrimPrefix(s.Name, "tool.execution:"))
		f.CallID = callID(a.Str("tool.call.id"))
		f.Arguments, _ = a.value("input")
		f.Result, f.HasResult = a.value("output")
	case kind == "retriever" || kind == "vector":
		f.Role = RoleRetrieval
	case kind == "memory" && a.Str("memory.operation") == "write":
		voltAgentMemory(a, &f)
	case kind == "agent" || kind == "" && a.Str("entity.type") == "agent":
		f.Role = RoleAgent
		voltAgentRun(a, &f)
	case s.ParentID == "":
		f.UserText, f.Reply = askedText(a.Text("input")), answerText(a.Text("output"))
	}
	return f
}

// voltAgentModel reads the span around the loop. Its counts are the last step's alone: no call's, and not their sum.
func voltAgentModel(s *Span, f *Facts) {
	a := s.Attrs
	f.Loop = a.Str("operation.id")
	if s.Status != StatusError && !a.Has("error.type") { // a failed attempt is a call of its own
		f.ResponseID = a.Str("operation.id")
	}
	f.ModelRequested = a.Str("llm.model", "ai.model.name")
	f.Provider = providerOf(a.Str("llm.provider", "ai.model.provider"))
	f.FinishRaw = a.Str("llm.finish_reason")
	f.Streamed, _ = a.Bool("llm.stream")
	f.Input = textHistory(a.jsonText("llm.messages"))
	f.OfferedText = a.Text("llm.tools")
	if finishOf(f.FinishRaw) == FinishToolCalls {
		f.Hidden = append(f.Hidden, FactToolCalls)
	}
}

func voltAgentRun(a Attrs, f *Facts) {
	f.UserText, f.Reply = askedText(a.jsonText("input")), answerText(a.jsonText("output"))
	f.System = a.Text("agent.instructions")
	f.ModelRequested = a.Str("ai.model.name")
	f.FinishRaw = a.Str("ai.response.finish_reason")
	f.Usage = Usage{
		Input:     a.Int("usage.prompt_tokens"),
		Output:    a.Int("usage.completion_tokens"),
		CacheRead: a.Int("usage.cached_tokens"),
		Reasoning: a.Int("usage.reasoning_tokens"),
	}
}

// voltAgentMemory reads an answer that is written to memory while it grows. One that ends in a call and its result is what the next call of
// the model was given, and stands for it. One that ends in text is the end of the run: it completes the span around the loop, which has the
// finish reason of that step, and is joined to it by the operation that both name.
func voltAgentMemory(a Attrs, f *Facts) {
	m := readObject(a.jsonText("input")).object("message")
	if m.str("role") != "assistant" {
		return
	}
	last, text, sawTool := "", "", false
	for e := range elements(m.get("parts")) {
		o := readObject(e)
		typ := o.str("type")
		if name, ok := strings.CutPrefix(typ, "tool-"); ok || typ == "dynamic-tool" {
			sawTool = true
			f.Input.Messages = append(f.Input.Messages, uiCall(o, cmp.Or(o.str("toolName"), name))...)
		}
		if typ != "step-start" {
			last, text = typ, o.str("text")
		}
	}
	if last == "text" {
		f.Input = History{}
		f.ResponseID = a.Str("operation.id")
		f.Output = []Message{{Role: "assistant", Parts: []Part{{Kind: PartText, Text: text}}}}
	}
	if sawTool || last == "text" {
		f.Role = RoleModel
	}
	f.Loop, f.Within = a.Str("operation.id"), last != "text"
}

// uiCall reads a call, and what came of it as far as the framework tells.
func uiCall(o object, name string) []Message {
	id := callID(o.str("toolCallId"))
	call := Message{Role: "assistant", Parts: []Part{{Kind: PartToolCall, ID: id, Name: name, Value: valueOfJSON(o.get("input", "rawInput"))}}}
	raw := o.get("output", "errorText")
	if raw == "" && o.str("state") != "output-available" {
		return []Message{call}
	}
	p := Part{Kind: PartToolResult, ID: id, Name: name}
	p.Value, p.Failed = resultValue(cmp.Or(raw, "null"), 0)
	p.Failed = p.Failed || o.str("state") == "output-error"
	return []Message{call, {Role: "tool", Parts: []Part{p}}}
}
