package trajectory

import (
	"cmp"
	"strings"
)

// Logfire's own instrumentations of model clients keep request and answer as bodies, beside a few gen_ai.* keys, and those of the OpenAI
// Agents SDK name what a span is in its message's template. A streamed call is two records: the request, and, when it is over, the answer.
var _ = add(Dialect{
	Name: "logfire",
	Rank: 6,
	Keys: []string{"request_data", "response_data"}, Scopes: []string{"logfire."},
	Score: scoreLogfire,
	Read:  readLogfire,
	Remedies: map[Fact]string{
		FactToolExecution: "open a span around each tool's execution (logfire.span), or instrument the agent framework beside the client",
		FactToolsOffered:  "update logfire: the request's tools are in request_data",
		FactResults:       "instrument the agent framework beside the client: what tools returned shows in the next request only",
		FactUsage:         "ask the provider to include usage in streams (OpenAI: stream_options.include_usage = true)",
		FactSession:       "set session.id with logfire.set_baggage around the run",
		FactFinishReason:  "update logfire, and set version=['latest'] in instrument_openai or instrument_anthropic",
		FactModelCalls:    "call logfire.instrument_openai() or logfire.instrument_anthropic() for the client that is used",
		FactToolCalls:     logfireScrub,
		FactToolSchemas:   logfireScrub,
		FactArguments:     logfireScrub,
		FactUserMessages:  logfireScrub,
		FactReply:         logfireScrub,
		FactModelName:     logfireScrub,
	},
})

func scoreLogfire(s *Span) int {
	a := s.Attrs
	score := 0
	if a.Has("request_data") && (a.Has("response_data") || a.Has("gen_ai.system") || a.Has("gen_ai.provider.name")) {
		score += 12
	}
	for _, client := range []string{"logfire.openai", "logfire.anthropic", "logfire.google_genai"} {
		if strings.HasPrefix(s.Scope, client) {
			return score + 12
		}
	}
	return score
}

func readLogfire(s *Span) Facts {
	a := s.Attrs
	f := genaiFrame(s)
	template := a.Text("logfire.msg_template")
	switch {
	case strings.HasPrefix(template, "Agent run:") || strings.HasPrefix(template, "OpenAI Agents trace"):
		f.Role = RoleAgent
		f.Agent = cmp.Or(f.Agent, a.Str("name"))
	case strings.HasPrefix(template, "Function:"):
		f.Role = RoleTool
		f.ToolName = cmp.Or(a.Str("gen_ai.tool.name"), a.Str("name"))
		f.Arguments, _ = a.value("input")
		f.Result, f.HasResult = a.value("output")
	case strings.HasPrefix(template, "Handoff:"):
		f.Role = RoleHandoff
		f.HandoffFrom, f.HandoffTo = a.Str("from_agent"), a.Str("to_agent")
	case a.Has("request_data") || strings.HasPrefix(template, "Responses API"):
		logfireModel(s, &f)
	}
	return f
}

func logfireModel(s *Span, f *Facts) {
	a := s.Attrs
	f.Role = RoleModel
	genaiContent(a, f)
	request, answer := readObject(a.jsonText("request_data")), readObject(a.jsonText("response_data"))
	f.Streamed = f.Streamed || request.isTrue("stream") || answer.get("chunk_count") != ""
	if answer == nil && f.Streamed && s.Status != StatusError && !s.Attrs.Has("gen_ai.output.messages") {
		f.Role = RoleInner // the answer has a record of its own
		return
	}
	f.ModelRequested = cmp.Or(f.ModelRequested, request.str("model"))
	if f.Input.Empty() && request != nil {
		var system string
		f.Input, system = bodyHistory(a.jsonText("request_data"))
		f.System = cmp.Or(f.System, system)
	}
	if events := a.jsonText("events"); f.Input.Empty() && events != "" {
		in, out := splitEvents(events)
		f.Input, f.Output = textHistory(in), asAssistant(ParseMessages(out))
	}
	f.OfferedText = cmp.Or(f.OfferedText, request.get("tools", "functions"))
	if len(f.Output) == 0 {
		f.Output = logfireAnswer(answer)
	}
	f.Usage = f.Usage.or(usageOf(answer.object("usage")))
	f.FinishRaw = cmp.Or(f.FinishRaw, answer.str("finish_reason"))
}

func logfireAnswer(answer object) []Message {
	if m := answer.get("message"); m != "" {
		return asAssistant(ParseMessages(m))
	}
	if text := answer.str("combined_chunk_content", "text"); text != "" {
		return []Message{{Role: "assistant", Parts: []Part{{Kind: PartText, Text: text}}}}
	}
	return nil
}

const logfireScrub = "let the scrubber pass request_data and response_data (scrubbing= of logfire.configure): what was asked and answered is in them alone"
