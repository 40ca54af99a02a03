package trajectory

import (
	"cmp"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// AWS's OpenTelemetry distribution, as Bedrock AgentCore runs agents: a transport. It takes the content out of the spans of whatever dialect
// and sends it as one log record a span, with {"input": {"messages": [...]}, "output": {...}} for a body. What is left of the span
// is read as the dialect that it speaks; the record fills it in.
var _ = add(Dialect{
	Name:  adotName,
	Rank:  32,
	Score: scoreADOT,
	Read:  readADOT,
	Remedies: map[Fact]string{
		FactToolCalls:     adotLogs,
		FactArguments:     adotLogs,
		FactResults:       adotLogs,
		FactUserMessages:  adotLogs,
		FactReply:         adotLogs,
		FactFinishReason:  adotLogs,
		FactToolsOffered:  "the AWS distribution sends no tool definitions: use the plain OpenTelemetry SDK with the framework's instrumentation",
		FactToolSchemas:   "the AWS distribution sends no tool definitions: use the plain OpenTelemetry SDK with the framework's instrumentation",
		FactSession:       "invoke the runtime with a session id (X-Amzn-Bedrock-AgentCore-Runtime-Session-Id), which becomes session.id",
		FactRoot:          "the platform's own span around the invocation goes to CloudWatch only: export aws/spans to pawl too",
		FactModelCalls:    "instrument the framework or the model client beside the AWS distribution: it moves content and opens no spans of its own",
		FactToolExecution: "use the instrumentation of the framework that runs the tools: the AWS distribution moves content and opens no spans of its own",
		FactUsage:         "export traces to pawl as well as logs: token counts stay on the spans (gen_ai.usage.*)",
		FactModelName:     "export traces to pawl as well as logs: the model's name stays on the spans (gen_ai.request.model)",
	},
})

const (
	adotName = "aws-adot"
	adotLogs = "the AWS distribution moves content into log records: send them to pawl too (OTEL_LOGS_EXPORTER=otlp, OTEL_EXPORTER_OTLP_LOGS_ENDPOINT to pawl's /v1/logs), or unset AGENT_OBSERVABILITY_ENABLED"
)

// scoreADOT completes the dialect that the span speaks where records carry its content; where neither the records nor the span do, the
// distribution is the one to say what would help.
func scoreADOT(s *Span) int {
	for i := range s.Logs {
		if isADOTRecord(&s.Logs[i]) {
			if s.Attrs.Has("gen_ai.prompt.0.role") {
				return 60 // messages of which only the roles are left
			}
			return 10
		}
	}
	if !s.Attrs.Has("aws.local.service") {
		return 0
	}
	kind := s.Attrs.Text("aws.genai.span_kind")
	if !isAnyOf(kind, "LLM", "TOOL", "AGENT") && !s.Attrs.Has("traceloop.span.kind") && !s.Attrs.Has("gen_ai.operation.name") && !s.Attrs.Has("llm.request.type") {
		return 0
	}
	for _, key := range []string{"input.value", "output.value", "traceloop.entity.input", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.prompt.0.content"} {
		if s.Attrs.Has(key) {
			return 0
		}
	}
	if scoreEvents(s) > 0 {
		return 0
	}
	return 60
}

func isADOTRecord(l *Log) bool {
	if l.Body == (pcommon.Value{}) || l.Body.Type() != pcommon.ValueTypeMap {
		return false
	}
	for _, side := range []string{"input", "output"} {
		if v, ok := l.Body.Map().Get(side); ok && v.Type() == pcommon.ValueTypeMap {
			if m, ok := v.Map().Get("messages"); ok && m.Type() == pcommon.ValueTypeSlice {
				return true
			}
		}
	}
	return false
}

func readADOT(s *Span) Facts {
	f := readAsOther(s)
	if f.Role == RoleNone {
		f.Role = map[string]Role{"LLM": RoleModel, "TOOL": RoleTool, "AGENT": RoleAgent}[s.Attrs.Text("aws.genai.span_kind")]
	}
	var in, out string
	for i := range s.Logs {
		if l := &s.Logs[i]; isADOTRecord(l) {
			body := readObject(structured(l.Body))
			in = cmp.Or(body.object("input").get("messages"), in)
			out = cmp.Or(body.object("output").get("messages"), out)
			f.SessionID = cmp.Or(f.SessionID, l.Attrs.Str("session.id"))
		}
	}
	if s.ParentID == missingParent {
		f.Role = roleOfADOT(in, out)
	}
	switch f.Role {
	case RoleModel:
		adotModel(in, out, &f)
	case RoleTool:
		adotTool(in, out, &f)
		if s.ParentID == missingParent && f.CallID == "" {
			f.Role = RoleInner // nothing tells which tool it was
		}
	default:
		if in != "" {
			f.UserText = askedText(adotContent(in, "user"))
		}
		if out != "" {
			f.Reply = answerText(adotContent(out, "assistant"))
		}
	}
	return f
}

// roleOfADOT tells by a record alone what the span was that it belongs to: a tool is given what a tool is given; a call of the model is
// given a history, or asks for something. A question and its answer may be either a call or the run: the run tells as much.
func roleOfADOT(in, out string) Role {
	role := func(e string) string { return foldRole(readObject(e).str("role")) }
	if role(firstElement(in)) == "tool" {
		return RoleTool
	}
	if requests(withRole(ParseMessages(out), "assistant")) {
		return RoleModel
	}
	for e := range elements(in) {
		if isAnyOf(role(e), "assistant", "tool") {
			return RoleModel
		}
	}
	return RoleAgent
}

// readAsOther reads a span as the dialect that would win it without this one.
func readAsOther(s *Span) Facts {
	var best *Dialect
	score := 0
	for _, d := range dialects {
		if d.Name == adotName {
			continue
		}
		if n := d.Score(s); n > score {
			best, score = d, n
		}
	}
	if best == nil {
		return Facts{Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent}}
	}
	return best.Read(s)
}

func adotModel(in, out string, f *Facts) {
	if in != "" {
		f.Input = History{Text: in, Parse: parseADOT}
	}
	if answer := ParseMessages(out); len(answer) > 0 && len(f.Output) == 0 {
		f.Output = withRole(answer, "assistant")
		f.FinishRaw = cmp.Or(f.FinishRaw, readObject(firstElement(out)).object("content").str("finish_reason"))
	}
}

// parseADOT reads messages whose roles may all be "unknown": a conversation begins with the user, goes on with the model, and what follows
// requested calls are their results, in order.
func parseADOT(text string) []Message {
	ms := ParseMessages(text)
	if len(ms) > 0 && ms[0].Role == "" {
		ms[0].Role = "user"
		if kindOf(text) == ',' { // the end of a list whose beginning is known
			ms[0].Role = "assistant"
		}
		ms = settleRoles(ms)
	}
	var open []Part
	for i := range ms {
		m := &ms[i]
		if len(open) > 0 && m.Role != "assistant" && m.Role != "tool" && len(m.Parts) == 1 && m.Parts[0].Kind == PartText {
			m.Role = "tool"
			m.Parts = []Part{{Kind: PartToolResult, ID: open[0].ID, Name: open[0].Name, Value: ParseValue(m.Parts[0].Text)}}
			open = open[1:]
			continue
		}
		open = nil
		for _, p := range m.Parts {
			if p.Kind == PartToolCall {
				open = append(open, p)
			}
		}
	}
	return settleRoles(ms)
}

func adotTool(in, out string, f *Facts) {
	f.CallID = cmp.Or(f.CallID, callID(readObject(firstElement(in)).object("content").str("id")))
	if text := adotContent(in, ""); text != "" && absent(f.Arguments) {
		f.Arguments = entityArguments(text)
	}
	if out == "" || f.HasResult {
		return
	}
	text := adotContent(out, "")
	f.HasResult = true
	f.Result, f.ToolError = entityResult(text)
	if m, ok := readToolMessage(text); ok {
		f.CallID = cmp.Or(f.CallID, m.ID)
		f.Result, f.ToolError = m.result(f.Result), cmp.Or(m.Error, f.ToolError)
		f.ToolName = toolNameOf(f.ToolName, m.Name)
	} else if isBlocks(text) {
		f.Result = blockResult(text)
	}
}

// adotContent is the content of the last message of a list that has the role, or of the last one: a text, which often is JSON itself with a
// framework's wrapper around the content.
func adotContent(list, role string) string {
	var last, fitting string
	for e := range elements(list) {
		o := readObject(e)
		last = o.get("content")
		if role != "" && foldRole(o.str("role")) == role {
			fitting = last
		}
	}
	raw := cmp.Or(fitting, last)
	if kindOf(raw) == '{' {
		if inner := readObject(raw).get("content", "message"); inner != "" {
			raw = inner
		}
	}
	text := raw
	if s, ok := unquote(raw); ok {
		text = s
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if inner := readObject(text).get("inputs", "outputs"); inner != "" && !readObject(text).has("input_str") {
			return inner
		}
	}
	return text
}
