package trajectory

import (
	"cmp"
	"strings"
)

// OpenLIT writes the conventions' keys with some of its own, and names itself on every span. A chat span that asks for a tool carries the
// tool's name, call id and arguments too; old versions put content into span events as prose.
var _ = add(Dialect{
	Name:     "openlit",
	Rank:     23,
	Keys:     []string{"gen_ai."},
	Score:    scoreOpenLIT,
	Read:     readOpenLIT,
	Includes: overGenAI,
	Remedies: map[Fact]string{
		FactToolCalls:     "call openlit.init with captureMessageContent: true (Python: capture_message_content=True); the LangChain instrumentation leaves out calls whose arguments are not JSON: instrument the provider's client beside it",
		FactToolExecution: "instrument the framework that runs the tools (openlit's LangChain, LangGraph or OpenAI Agents instrumentation): the provider's client alone cannot see them run",
		FactToolsOffered:  "instrument the provider's client with openlit beside the framework: the LangChain instrumentation records no definitions",
		FactToolSchemas:   "instrument the provider's client with openlit beside the framework: the LangChain instrumentation records no definitions",
		FactArguments:     "call openlit.init with captureMessageContent: true (Python: capture_message_content=True)",
		FactResults:       "call openlit.init with captureMessageContent: true (Python: capture_message_content=True)",
		FactUserMessages:  "call openlit.init with captureMessageContent: true (Python: capture_message_content=True)",
		FactReply:         "call openlit.init with captureMessageContent: true (Python: capture_message_content=True)",
		FactUsage:         "instrument the provider's client with openlit: the LangChain instrumentation sends an estimate of the input tokens, which is not used",
		FactCost:          "let openlit fetch its price list, or pass pricingJson (Python: pricing_json): without one it sends a cost of 0",
		FactSession:       "pass configurable.thread_id to the graph, or set gen_ai.conversation.id on the run's span",
		FactModelCalls:    "instrument the provider's client with openlit beside the framework: that of the framework alone may see no calls",
		FactFinishReason:  "instrument the provider's client with openlit beside the framework, and read streams to their end: the finish reason comes last",
		FactModelName:     keptBy("openlit", "gen_ai.request.model"),
	},
})

func scoreOpenLIT(s *Span) int {
	a, score := s.Attrs, 0
	if a.Text("telemetry.sdk.name") == "openlit" {
		score += 10
	}
	if strings.HasPrefix(s.Scope, "@openlit/") || strings.HasPrefix(s.Scope, "openlit") {
		score += 10
	}
	if a.Has("gen_ai.sdk.version") {
		score += 5
	}
	if s.Resource.Text("telemetry.sdk.name") == "openlit" && a.Has("gen_ai.operation.name") {
		score += 10
	}
	return score
}

func readOpenLIT(s *Span) Facts {
	a := s.Attrs
	f := readGenAI(s)
	if withheld(f.System) {
		f.System = ""
	}
	switch f.Role {
	case RoleModel:
		openLITModel(s, &f)
	case RoleTool:
		if callID := a.Str("gen_ai.tool.call.id"); className(f.ToolName) && isUUID(callID) {
			f.CallID = "" // the id of LangChain's run
		}
		f.Agent = ""
	case RoleAgent:
		f.Usage = Usage{} // none of its own
		f.Reply = a.Str("gen_ai.agent.actual_output")
	case RoleHandoff:
		f.HandoffFrom = cmp.Or(f.HandoffFrom, a.Str("gen_ai.agent.source"))
		f.HandoffTo = cmp.Or(f.HandoffTo, a.Str("gen_ai.agent.target"))
	}
	return f
}

func openLITModel(s *Span, f *Facts) {
	a := s.Attrs
	for _, e := range s.Events {
		switch {
		case e.Name == "gen_ai.content.prompt" && f.Input.Empty():
			f.Input = proseHistory(e.Attrs.Text("gen_ai.prompt"))
		case e.Name == "gen_ai.content.completion" && len(f.Output) == 0:
			f.Output = withRole(proseHistory(e.Attrs.Text("gen_ai.completion")).messages(), "assistant")
		}
	}
	if !requests(f.Output) {
		if calls := openLITCalls(a); len(calls) > 0 {
			f.Output = append(f.Output, Message{Role: "assistant", Parts: calls})
		}
	}
	unwrapUnparsed(f.Output)
	f.InputExcludes = isAnyOf(s.Scope, "@openlit/instrumentation-anthropic", "@openlit/instrumentation-bedrock") // the provider's count, as it came
	if cost := f.Usage.CostUSD; cost != nil && *cost == 0 {
		f.Usage.CostUSD = nil // it found no price
	}
	if strings.HasPrefix(s.Scope, "@openlit/instrumentation-lang") && f.Usage.Input != nil {
		f.Usage.Input, f.Usage.CostUSD = nil, nil // an estimate from the text, and a cost that follows from it
		f.Hidden = append(f.Hidden, FactUsage)
	}
}

// unwrapUnparsed gives requested calls the text that the model wrote where OpenLIT, which could not parse it, sends {"raw": text} in its place.
func unwrapUnparsed(output []Message) {
	for _, m := range output {
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Kind != PartToolCall {
				continue
			}
			o := readObject(string(p.Value.JSON))
			if text := strings.TrimSpace(o.str("raw")); len(o) == 1 && strings.HasPrefix(text, "{") && ParseValue(text).Parsed == ParsedBroken {
				p.Value = ParseValue(text)
			}
		}
	}
}

// openLITCalls reads the calls that a chat span asks for out of the attributes beside its messages. Of parallel calls some versions join
// the names and ids with commas and write the arguments one after the other.
func openLITCalls(a Attrs) []Part {
	var out []Part
	args := openLITArguments(a)
	ids := strings.Split(a.Str("gen_ai.tool.call.id"), ",")
	for i, name := range strings.Split(a.Str("gen_ai.tool.name"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		var id, text string
		if i < len(ids) {
			id = strings.TrimSpace(ids[i])
		}
		if i < len(args) {
			text = args[i]
		}
		out = append(out, requestedCall(id, name, text))
	}
	return out
}

func openLITArguments(a Attrs) []string {
	if list := a.Strings("gen_ai.tool.call.arguments"); len(list) > 1 {
		return list
	}
	text := cmp.Or(strings.Join(a.Strings("gen_ai.tool.call.arguments"), ""), a.Str("gen_ai.tool.args"))
	var out []string
	for i := 0; i < len(text); {
		if text[i] != '{' {
			i++
			continue
		}
		end, ok := valueEnd(text, i)
		if !ok {
			return append(out, text[i:])
		}
		out = append(out, text[i:end])
		i = end
	}
	return out
}

// proseHistory reads messages that were written as "role: content", one after the other.
func proseHistory(text string) History {
	if text == "" || isJSON(text) {
		return textHistory(text)
	}
	var out []Message
	for line := range strings.SplitSeq(text, "\n") {
		word, rest, _ := strings.Cut(line, ": ")
		if role := foldRole(word); role != "" {
			out = append(out, Message{Role: role, Parts: []Part{{Kind: PartText, Text: rest}}})
		} else if len(out) > 0 {
			out[len(out)-1].Parts[0].Text += "\n" + line
		} else {
			out = append(out, Message{Parts: []Part{{Kind: PartText, Text: line}}})
		}
	}
	return History{Messages: out}
}

// isUUID says whether an id has the form of a UUID, which no provider gives its tool calls.
func isUUID(id string) bool {
	return len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-'
}
