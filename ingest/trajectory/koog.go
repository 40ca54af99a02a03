package trajectory

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Koog builds on the conventions. Its Langfuse and Weave integrations write indexed keys instead, in which a requested call is a message of
// role tool and every call of one answer a completion of its own. The span that creates the agent stands around the one that runs it. Content
// is hidden unless asked for.
var _ = add(Dialect{
	Name: "koog",
	Rank: 25,
	Keys: []string{"koog."}, Scopes: []string{"ai.koog"},
	Score:    scoreKoog,
	Read:     readKoog,
	Includes: overGenAI,
	Remedies: map[Fact]string{
		FactToolCalls:     koogVerbose,
		FactArguments:     koogVerbose,
		FactResults:       koogVerbose,
		FactUserMessages:  koogVerbose,
		FactReply:         koogVerbose,
		FactToolsOffered:  "update Koog: it records gen_ai.tool.definitions since its version 0.6 (with setVerbose(true))",
		FactToolSchemas:   "Koog records names and descriptions of tools alone: name the tools in the catalog (tools: in pawl.yaml)",
		FactUsage:         "update Koog: it records gen_ai.usage.* since its version 0.6",
		FactFinishReason:  "Koog records finish reasons with its Langfuse and Weave integrations only",
		FactSession:       "add session.id as a trace attribute: what Koog calls the conversation is one run",
		FactModelCalls:    "install the OpenTelemetry feature in the agent, and call the model through the agent's own session",
		FactToolExecution: "put the tools into the agent's ToolRegistry: those have an execute_tool span",
		FactModelName:     keptBy("Koog", "gen_ai.request.model"),
	},
})

const (
	koogVerbose = "call setVerbose(true) where the OpenTelemetry feature is installed"
	koogHidden  = "HIDDEN:non-empty"
)

func scoreKoog(s *Span) int {
	score := 0
	if s.Scope == "ai.koog" || strings.HasPrefix(s.Scope, "ai.koog.") {
		score += 20 // its indexed keys are OpenLLMetry's, and its own are the conventions'
	}
	if s.Attrs.Has("koog.event.id") || s.Attrs.Has("koog.node.id") || s.Attrs.Has("koog.node.name") || s.Attrs.Has("koog.strategy.name") {
		score += 20
	}
	return score
}

func readKoog(s *Span) Facts {
	shown, hidden := koogShown(s)
	f := genaiFrame(shown)
	f.Arguments, f.Result = Value{Parsed: ParsedAbsent}, Value{Parsed: ParsedAbsent}
	f.Run = shown.Attrs.Str("gen_ai.conversation.id")
	f.SessionID = shown.Attrs.Str("session.id")
	if f.Error != nil {
		_, code, _ := strings.Cut(f.Error.Type, "httpCode=") // "KoogHttpClientException-OpenAI-httpCode=429"
		f.Error.Code = cmp.Or(f.Error.Code, codeOf(code))
	}
	switch f.Role = koogRole(shown, f.Role); f.Role {
	case RoleModel:
		koogModel(shown, &f)
		hidden.ofModel(&f)
	case RoleTool:
		koogTool(shown, &f)
		hidden.ofTool(&f)
	case RoleAgent:
		genaiContent(shown.Attrs, &f)
		hidden.ofModel(&f)
	}
	return f
}

func koogRole(s *Span, role Role) Role {
	kind, _, _ := strings.Cut(s.Name, ".")
	switch {
	case s.Attrs.Text("gen_ai.operation.name") == "create_agent":
		return RoleNone // the run inside is the agent
	case role != RoleNone:
		return role
	case kind == "tool" && s.Attrs.Has("gen_ai.tool.name"):
		return RoleTool
	case kind == "llm" && s.Attrs.Has("gen_ai.request.model"):
		return RoleModel
	case kind == "run":
		return RoleAgent
	}
	return RoleNone
}

func koogModel(s *Span, f *Facts) {
	a := s.Attrs
	genaiContent(a, f)
	f.System = cmp.Or(f.System, systemText(a.jsonText("system_instructions"))) // without the prefix, by mistake
	if in := koogIndexed(a.indexed("gen_ai.prompt.")); len(in) > 0 {
		f.Input = History{Messages: in}
	}
	completions := a.indexed("gen_ai.completion.")
	if out := koogIndexed(completions); len(out) > 0 {
		f.Output = joinedAnswer(out)
		f.FinishRaw = cmp.Or(f.FinishRaw, completions[0].Str("finish_reason"))
	}
	if scoreEvents(s) > 0 && (f.Input.Empty() || len(f.Output) == 0) {
		e := readEvents(s)
		if f.Input.Empty() {
			f.Input = e.Input
		}
		if len(f.Output) == 0 {
			f.Output = joinedAnswer(e.Output)
		}
		f.FinishRaw = cmp.Or(f.FinishRaw, e.FinishRaw)
	}
}

// koogIndexed reads indexed messages. A message of role tool holds a call or, next to it, an answer without an id: the answer to the last
// call that has none yet.
func koogIndexed(items []Attrs) []Message {
	out := indexedMessages(items)
	var open []string
	for i := range out {
		for j := range out[i].Parts {
			switch p := &out[i].Parts[j]; {
			case p.Kind == PartToolCall && p.ID != "":
				open = append(open, p.ID)
			case p.Kind == PartToolResult && p.ID == "" && len(open) > 0:
				p.ID, open = open[0], open[1:]
			case p.Kind == PartToolResult:
				open = slices.DeleteFunc(open, func(id string) bool { return id == p.ID })
			}
		}
	}
	return out
}

// joinedAnswer makes one message of an answer that came in pieces.
func joinedAnswer(ms []Message) []Message {
	if len(ms) == 0 {
		return nil
	}
	m := Message{Role: "assistant"}
	for _, piece := range ms {
		m.Parts = append(m.Parts, piece.Parts...)
	}
	return []Message{m}
}

func koogTool(s *Span, f *Facts) {
	a := s.Attrs
	genaiTool(a, f)
	f.ToolName = cmp.Or(f.ToolName, strings.TrimPrefix(s.Name, "tool."))
	if absent(f.Arguments) {
		f.Arguments, _ = a.value("input.value")
	}
	if !f.HasResult {
		f.Result, f.HasResult = a.value("output.value")
	}
}

// hiddenKeys are the keys whose values were hidden.
type hiddenKeys []string

func (h hiddenKeys) any(prefixes ...string) bool {
	return slices.ContainsFunc(h, func(k string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(k, p) })
	})
}

// ofModel notes what is hidden of a call.
func (h hiddenKeys) ofModel(f *Facts) {
	if h.any("gen_ai.input.messages", "gen_ai.prompt.", "content") {
		f.Hidden = append(f.Hidden, FactUserMessages, FactResults)
	}
	if h.any("gen_ai.output.messages", "gen_ai.completion.", "content", "message", "tool_calls") {
		f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
	}
	if h.any("gen_ai.tool.definitions") {
		f.Hidden = append(f.Hidden, FactToolsOffered)
	}
}

// ofTool notes what is hidden of an execution.
func (h hiddenKeys) ofTool(f *Facts) {
	if h.any("gen_ai.tool.call.arguments", "input.value") {
		f.Hidden = append(f.Hidden, FactArguments)
	}
	if h.any("gen_ai.tool.call.result", "output.value") {
		f.Hidden = append(f.Hidden, FactResults)
	}
}

// koogShown is a span without its hidden values and events, and the keys of those, in order.
func koogShown(s *Span) (*Span, hiddenKeys) {
	var gone hiddenKeys
	show := func(a Attrs) Attrs {
		out := make(Attrs, len(a))
		for k, v := range a {
			if v.Type() == pcommon.ValueTypeStr && strings.Contains(v.Str(), koogHidden) {
				gone = append(gone, k)
				continue
			}
			out[k] = v
		}
		return out
	}
	if !holdsHidden(s) {
		return s, nil
	}
	shown := *s
	shown.Attrs = show(s.Attrs)
	shown.Events = slices.Clone(s.Events)
	for i := range shown.Events {
		shown.Events[i].Attrs = show(shown.Events[i].Attrs)
	}
	slices.Sort(gone)
	return &shown, slices.Compact(gone)
}

func holdsHidden(s *Span) bool {
	hidden := func(a Attrs) bool {
		for _, v := range a {
			if v.Type() == pcommon.ValueTypeStr && strings.Contains(v.Str(), koogHidden) {
				return true
			}
		}
		return false
	}
	return hidden(s.Attrs) || slices.ContainsFunc(s.Events, func(e Event) bool { return hidden(e.Attrs) })
}
