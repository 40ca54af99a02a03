package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

// Langtrace writes gen_ai.* attributes with the messages in two span events. It has no spans for tools and no finish reasons: what tools
// answered is in the next call's messages.
var _ = add(Dialect{
	Name: "langtrace",
	Rank: 26,
	Keys: []string{"langtrace."}, Scopes: []string{"@langtrase/", "langtrace"},
	Score:    scoreLangtrace,
	Read:     readLangtrace,
	Includes: overGenAI,
	Remedies: map[Fact]string{
		FactToolExecution: "open a span around each tool's execution (execute_tool NAME, with gen_ai.tool.*): Langtrace's client instrumentations see no tools run",
		FactToolsOffered:  "update the Langtrace SDK: it records gen_ai.request.tools",
		FactToolSchemas:   "update the Langtrace SDK: it records gen_ai.request.tools",
		FactToolCalls:     "do not set TRACE_PROMPT_COMPLETION_DATA=false, and do not stream: of streams Langtrace loses the requested calls",
		FactUserMessages:  "do not set TRACE_PROMPT_COMPLETION_DATA=false",
		FactResults:       "do not set TRACE_PROMPT_COMPLETION_DATA=false",
		FactReply:         "do not set TRACE_PROMPT_COMPLETION_DATA=false",
		FactUsage:         "ask the provider to include usage in streams (OpenAI: stream_options.include_usage = true): Langtrace only estimates it",
		FactFinishReason:  "Langtrace records no finish reason: instrument the client with another SDK beside it",
		FactSession:       "add session.id by withAdditionalAttributes (Python: inject_additional_attributes)",
		FactModelCalls:    "call Langtrace.init before the provider's client is imported, or pass the client in instrumentations",
		FactArguments:     "do not set TRACE_PROMPT_COMPLETION_DATA=false, and do not stream: of streams Langtrace loses the requested calls",
		FactModelName:     keptBy("Langtrace", "gen_ai.request.model"),
	},
})

// The same two events, as other SDKs wrote them before the conventions had one event a message.
var _ = add(Dialect{Name: "otel-genai-events", Rank: 29, Score: scoreContentEvents, Read: readContentEvents, Remedies: genaiRemedies})

const (
	promptEvent     = "gen_ai.content.prompt"
	completionEvent = "gen_ai.content.completion"
)

func scoreLangtrace(s *Span) int {
	score := 0
	if s.Attrs.Has("langtrace.service.name") || s.Attrs.Has("langtrace.sdk.name") {
		score += 10
	}
	if strings.HasPrefix(s.Scope, "@langtrase/") || strings.HasPrefix(s.Scope, "langtrace") {
		score += 10
	}
	return score
}

func scoreContentEvents(s *Span) int {
	if hasContentEvent(s) && scoreLangtrace(s) == 0 {
		return 10
	}
	return 0
}

func hasContentEvent(s *Span) bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return e.Name == promptEvent || e.Name == completionEvent })
}

func readLangtrace(s *Span) Facts {
	a := s.Attrs
	f := readContentEvents(s)
	f.UserID = cmp.Or(f.UserID, a.Str("user_id"))
	if f.Role != RoleModel {
		if a.Str("langtrace.service.type") == "vectordb" {
			f.Role = RoleRetrieval
		}
		return f
	}
	f.Provider = cmp.Or(f.Provider, providerOf(strings.ToLower(a.Str("langtrace.service.name"))))
	if f.OfferedText == "" {
		f.OfferedText = a.jsonText("gen_ai.request.tools", "llm.tools")
	}
	f.Streamed = f.Streamed || slices.ContainsFunc(s.Events, func(e Event) bool { return e.Name == "stream.start" })
	if !f.Streamed {
		return f
	}
	if strings.HasPrefix(s.Scope, "@langtrase/") || f.Usage.Input == nil || *f.Usage.Input == 0 { // chunks and words are counted, which is no count
		f.Usage = Usage{CostUSD: f.Usage.CostUSD}
	}
	if textOf(f.Output) == "" && !requests(f.Output) && s.Status != StatusError {
		f.Output = nil
		f.Hidden = append(f.Hidden, FactToolCalls) // the chunks of a call are lost
	}
	return f
}

// readContentEvents reads the conventions' attributes, and the messages in the two events.
func readContentEvents(s *Span) Facts {
	f := genaiFrame(s)
	if f.Role == RoleNone && !s.Attrs.Has("gen_ai.operation.name") && hasContentEvent(s) {
		f.Role = RoleModel
	}
	if f.Role == RoleTool {
		genaiTool(s.Attrs, &f)
		return f
	}
	a := s.Attrs
	for _, e := range s.Events {
		if key := strings.Replace(e.Name, ".content.", ".", 1); e.Name == promptEvent || e.Name == completionEvent {
			if v, ok := e.Attrs[key]; ok {
				a = a.with(key, v)
			}
		}
	}
	genaiContent(a, &f)
	for i := range f.Output {
		f.Output[i].Parts = callsInText(f.Output[i].Parts)
	}
	return f
}

// callsInText reads the calls that some SDKs of Python put into the content as the text of a list.
func callsInText(parts []Part) []Part {
	if len(parts) != 1 || parts[0].Kind != PartText || !strings.HasPrefix(parts[0].Text, "[{") {
		return parts
	}
	v := ParseValue(parts[0].Text)
	if v.Parsed != ParsedRepr {
		return parts
	}
	if calls := contentParts(string(v.JSON), 0); onlyKnownParts(calls) {
		return calls
	}
	return parts
}
