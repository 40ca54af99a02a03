package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

// Mastra tells one model call by two spans: the inference has names, counts and the finish reason, the step around it the request and the
// answer with its calls. Both are read as calls, which the builder folds into one. What lies around a loop of steps only sums them up.
var _ = add(Dialect{
	Name: "mastra",
	Rank: 31, // younger than the table of dialects; its own keys leave no doubt
	Keys: []string{"mastra.", "agent.generate", "agent.stream"}, Scopes: []string{"@mastra/"},
	Score: scoreMastra,
	Read:  readMastra,
	Remedies: map[Fact]string{
		FactToolSchemas:   "use a provider whose response repeats the tools (OpenAI Responses), or name the tools in the catalog (tools: in pawl.yaml): Mastra sends names only",
		FactToolCalls:     "update @mastra/core (before version 1 it tells of a run's sum only); keep model_step spans in the export (excludeSpanTypes), and remove span output processors that drop their output",
		FactToolExecution: "give the tools an execute function; those that the client runs have only a client_tool_call span",
		FactArguments:     "remove SensitiveDataFilter fields and span output processors that drop tool input",
		FactResults:       "remove SensitiveDataFilter fields and span output processors that drop tool output; of a tool that the agent does not have, or that the client runs, Mastra records no result",
		FactUserMessages:  "remove span output processors that drop the input of agent_run and model_step spans",
		FactReply:         "remove span output processors that drop the output of agent_run and model_step spans",
		FactSession:       "call agent.generate with memory: {thread, resource}, or with tracingOptions: {metadata: {sessionId}}",
		FactUsage:         "use a provider that returns usage; of streams ask it to include usage",
		FactModelCalls:    "update @mastra/core (before version 1 it tells of a run's sum only); keep model_generation and model_step spans in the export (excludeSpanTypes)",
		FactToolsOffered:  "update @mastra/core (before version 1 it tells of a run's sum only); update @mastra/otel-exporter: it lists the tools' names in gen_ai.tool.definitions",
		FactFinishReason:  "keep model_step spans in the export (excludeSpanTypes): they carry the finish reason",
		FactModelName:     keptBy("Mastra", "gen_ai.request.model"),
	},
})

func scoreMastra(s *Span) int {
	score := 0
	if s.Attrs.Has("mastra.span.type") {
		score += 15
	}
	if strings.HasPrefix(s.Scope, "@mastra/") {
		score += 12
	}
	if isFirstMastra(s) {
		score += 12
	}
	return score
}

func readMastra(s *Span) Facts {
	a := s.Attrs
	if isFirstMastra(s) {
		return readFirstMastra(s)
	}
	f := genaiFrame(s)
	f.SessionID = cmp.Or(a.Str("mastra.metadata.sessionId", "mastra.metadata.threadId"), f.SessionID)
	f.UserID = cmp.Or(a.Str("mastra.metadata.userId", "mastra.metadata.resourceId"), f.UserID)
	f.Role = mastraRole(s)
	switch f.Role {
	case RoleModel:
		mastraModel(a, &f)
	case RoleTool:
		genaiTool(a, &f)
		if absent(f.Arguments) {
			f.Arguments, _ = a.value("mastra.metadata.args")
		}
		f.ToolName = cmp.Or(f.ToolName, toolNameOfSpan(s.Name))
	case RoleAgent:
		genaiContent(a, &f)
		f.UserText = askedText(a.jsonText("mastra.agent_run.input", "mastra.workflow_run.input"))
		out := readObject(a.jsonText("mastra.agent_run.output"))
		f.Reply = cmp.Or(out.str("text"), out.get("object"))
	}
	return f
}

// mastraRole folds the span's type; what is left over of an older exporter goes by its operation.
func mastraRole(s *Span) Role {
	switch s.Attrs.Text("mastra.span.type") {
	case "model_inference", "model_step":
		return RoleModel
	case "tool_call", "mcp_tool_call", "client_tool_call":
		return RoleTool
	case "agent_run":
		return RoleAgent
	case "workflow_run":
		if s.ParentID == "" {
			return RoleAgent
		}
		return RoleNone
	case "model_chunk":
		return RoleInner
	case "model_generation", "llm_generation":
		if genaiUsage(s.Attrs).Input != nil {
			return RoleModel // an exporter that has no span for the single call
		}
		return RoleInner // its output lists the calls of the whole loop
	case "":
		return genaiRole(s)
	}
	return RoleNone
}

func mastraModel(a Attrs, f *Facts) {
	genaiContent(a, f)
	input := a.jsonText("mastra.model_step.input", "mastra.model_generation.input")
	if kindOf(input) == '{' {
		input = readObject(input).get("messages")
	}
	if input != "" {
		f.Input = History{Text: input, Parse: mastraMessages}
	}
	if out := readObject(a.jsonText("mastra.model_step.output", "mastra.model_generation.output")); out != nil {
		if m := mastraAnswer(out); len(m.Parts) > 0 {
			f.Output = []Message{m}
		}
	}
	if finishOf(f.FinishRaw) == FinishError && f.Error == nil {
		f.Error = &Error{Type: "model_error"} // the run's own span tells which
	}
	body := readObject(a.jsonText("mastra.metadata.body"))
	f.ResponseID = cmp.Or(f.ResponseID, body.str("id"))
	f.OfferedText = cmp.Or(f.OfferedText, body.get("tools"))
}

func mastraAnswer(out object) Message {
	m := Message{Role: "assistant"}
	for _, p := range contentParts(out.get("reasoning"), 0) {
		m.Parts = append(m.Parts, Part{Kind: PartReasoning, Text: p.Text})
	}
	if text := cmp.Or(out.str("text"), out.get("object")); text != "" {
		m.Parts = append(m.Parts, Part{Kind: PartText, Text: text})
	}
	m.Parts = append(m.Parts, callList(out.get("toolCalls"))...)
	return m
}

// mastraMessages reads the input of a step, in which calls and results are only named: "[tool: search]", "[tool-result: search]".
func mastraMessages(text string) []Message {
	ms := ParseMessages(text)
	for i := range ms {
		m := &ms[i]
		var parts []Part
		for _, p := range m.Parts {
			text := p.Text
			if p.Kind == PartToolResult {
				text = textOfValue(p.Value)
			}
			switch names, kind := mastraNamed(text); kind {
			case "":
				parts = append(parts, p)
			case "tool-result":
				for _, n := range names {
					parts = append(parts, Part{Kind: PartToolResult, Name: n, Unrecorded: true})
				}
			}
		}
		m.Parts = parts
	}
	return slices.DeleteFunc(ms, func(m Message) bool { return len(m.Parts) == 0 })
}

// mastraNamed reads a text that is nothing but placeholders of one kind, "tool" or "tool-result"; the kind of any other is "".
func mastraNamed(text string) (names []string, kind string) {
	rest := strings.TrimSpace(text)
	for rest != "" {
		head, tail, ok := strings.Cut(rest, "]")
		word, name, named := strings.Cut(strings.TrimPrefix(head, "["), ": ")
		if !ok || !named || head[0] != '[' || !isAnyOf(word, "tool", "tool-result") || kind != "" && word != kind {
			return nil, ""
		}
		kind, names, rest = word, append(names, name), strings.TrimLeft(tail, ", \n")
	}
	return names, kind
}
