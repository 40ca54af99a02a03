package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

const pydanticContent = "set include_content=True in InstrumentationSettings"

// Pydantic AI builds on the conventions in six formats of its own: the first has one list of events, the later ones have messages whose
// results come in the user's name. Retry prompts are results that carry no mark of failure but their words.
var _ = add(Dialect{
	Name: "pydantic-ai",
	Rank: 6,
	Keys: []string{"gen_ai.", "model_request_parameters", "all_messages_events", "pydantic_ai."}, Scopes: []string{"pydantic-ai"},
	Score: scorePydantic,
	Read:  readPydantic,
	Remedies: map[Fact]string{
		FactToolCalls:     pydanticContent,
		FactToolExecution: "update pydantic-ai: versions before 0.1 open no span for a tool",
		FactToolsOffered:  "set version=5 (or higher) in InstrumentationSettings",
		FactToolSchemas:   "set version=5 (or higher) in InstrumentationSettings",
		FactArguments:     pydanticContent,
		FactResults:       pydanticContent,
		FactUserMessages:  pydanticContent,
		FactReply:         pydanticContent,
		FactSession:       "pass conversation_id to agent.run, or set session.id with logfire.set_baggage around it",
		FactUsage:         "use a model that returns usage; of streams read the stream to its end",
		FactFinishReason:  "update pydantic-ai: version=2 (or higher) in InstrumentationSettings writes finish reasons",
		FactCost:          "install genai-prices: pydantic-ai then writes operation.cost",
		FactModelCalls:    "call Agent.instrument_all() (or instrument=True on the agent), so that each call of a model is a chat span",
		FactModelName:     keptBy("pydantic-ai", "gen_ai.request.model"),
	},
})

func scorePydantic(s *Span) int {
	a, score := s.Attrs, 0
	if s.Scope == "pydantic-ai" {
		score += 12
	}
	for _, key := range []string{"model_request_parameters", "pydantic_ai.all_messages", "all_messages_events", "gen_ai.agent.call.id", "pydantic_ai.tool.failure_stage"} {
		if a.Has(key) {
			return score + 12
		}
	}
	return score
}

func readPydantic(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	f.Role = pydanticRole(s)
	f.Agent = cmp.Or(a.Str("gen_ai.agent.name", "agent_name"), f.Agent)
	switch f.Role {
	case RoleModel:
		pydanticModel(a, &f)
	case RoleTool:
		pydanticTool(a, &f)
	case RoleAgent:
		pydanticRun(a, &f)
	}
	return f
}

// pydanticRole goes by the operation, which formats before the third leave out of tools and agents.
func pydanticRole(s *Span) Role {
	switch op := s.Attrs.Text("gen_ai.operation.name"); {
	case op != "":
		return genaiRole(s)
	case s.Attrs.Has("gen_ai.tool.name") && !strings.HasSuffix(s.Name, "tools"):
		return RoleTool
	case s.Name == "agent run" || s.Attrs.Has("agent_name") || strings.HasPrefix(s.Name, "invoke_agent"):
		return RoleAgent
	case s.Attrs.Has("model_request_parameters"):
		return RoleModel
	}
	return RoleNone
}

func pydanticModel(a Attrs, f *Facts) {
	genaiContent(a, f)
	if f.Input.Text != "" {
		f.Input.Parse = pydanticMessages
	}
	if events := a.jsonText("events"); events != "" && f.Input.Empty() {
		in, out := splitEvents(events)
		f.Input = textHistory(in)
		if f.Input.Text != "" {
			f.Input.Parse = pydanticMessages
		}
		f.Output = asAssistant(ParseMessages(out))
		f.FinishRaw = cmp.Or(f.FinishRaw, finishInOutput(out))
	}
	if f.OfferedText == "" {
		f.OfferedText = pydanticTools(readObject(a.jsonText("model_request_parameters")))
	}
	in, out := a.jsonText("gen_ai.input.messages", "events"), a.jsonText("gen_ai.output.messages")
	if in != "" && !strings.Contains(in, `"content"`) {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
	if strings.Contains(out, `"parts"`) && !strings.Contains(out, `"content"`) && !strings.Contains(out, `"arguments"`) {
		f.Hidden = append(f.Hidden, FactReply, FactArguments)
	}
}

// pydanticTools joins the tools that run with those that only shape the output, which the model may call as well.
func pydanticTools(params object) string {
	if params == nil {
		return ""
	}
	var list eventMessages
	list.addList(params.get("function_tools"))
	list.addList(params.get("output_tools"))
	return cmp.Or(list.text(), "[]")
}

// pydanticMessages reads messages as ParseMessages does, and knows the prompts that ask the model to correct a call.
func pydanticMessages(text string) []Message {
	ms := ParseMessages(text)
	for i := range ms {
		for j := range ms[i].Parts {
			p := &ms[i].Parts[j]
			if p.Kind == PartToolResult && strings.HasSuffix(strings.TrimSpace(textOfValue(p.Value)), "Fix the errors and try again.") {
				p.Failed = true
			}
		}
	}
	return ms
}

// splitEvents makes lists of messages of a list of events, each of which names its kind: what went in, and what came out.
func splitEvents(events string) (in, out string) {
	var given, answered eventMessages
	for e := range elements(events) {
		o := readObject(e)
		name := o.str("event.name")
		if name == "gen_ai.choice" {
			message := o.get("message")
			if reason := o.get("finish_reason"); reason != "" && kindOf(message) == '{' {
				message = withMember(message, "finish_reason", reason)
			}
			answered.add(message)
			continue
		}
		role := strings.TrimSuffix(strings.TrimPrefix(name, "gen_ai."), ".message")
		if o.get("role") == "" {
			e = withMember(e, "role", string(appendString(nil, role)))
		}
		given.add(e)
	}
	return given.text(), answered.text()
}

// withMember puts a member in front of those of a JSON object.
func withMember(raw, name, value string) string {
	rest := strings.TrimLeft(strings.TrimSpace(raw)[1:], " \t\r\n")
	comma := ","
	if strings.HasPrefix(rest, "}") {
		comma = ""
	}
	return "{" + string(appendString(nil, name)) + ":" + value + comma + rest
}

func pydanticTool(a Attrs, f *Facts) {
	genaiTool(a, f)
	if absent(f.Arguments) {
		f.Arguments, _ = a.value("tool_arguments")
	}
	if !f.HasResult {
		f.Result, f.HasResult = a.value("tool_response")
	}
	if a.Has("pydantic_ai.tool.failure_stage") || slices.ContainsFunc(a.Strings("logfire.tags"), func(t string) bool { return t == "tool_retry" }) {
		f.ToolError = cmp.Or(textOfValue(f.Result), "error")
	}
	if a.Str("pydantic_ai.tool.failure_stage") == "validation" {
		f.Error = &Error{Type: ErrInvalidArguments, Message: textOfValue(f.Result)}
	}
}

func pydanticRun(a Attrs, f *Facts) {
	f.System = systemText(a.jsonText("gen_ai.system_instructions"))
	all := a.jsonText("pydantic_ai.all_messages")
	if events := a.jsonText("all_messages_events"); all == "" && events != "" {
		all, _ = splitEvents(events)
	}
	if all != "" {
		f.UserText = askedText(all)
		if f.UserText == "" && !strings.Contains(all, `"content"`) {
			f.Hidden = append(f.Hidden, FactUserMessages)
		}
	}
	f.Reply = plainText(a.jsonText("final_result"))
	f.Usage.Input = cmp.Or(a.Int("gen_ai.aggregated_usage.input_tokens"), f.Usage.Input)
	f.Usage.Output = cmp.Or(a.Int("gen_ai.aggregated_usage.output_tokens"), f.Usage.Output)
	f.ModelRequested = cmp.Or(f.ModelRequested, a.Str("model_name"))
}
