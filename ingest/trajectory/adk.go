package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

const adkCapture = "unset ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS, or set it to true"

// Google's Agent Development Kit writes whole Gemini requests and responses as JSON beside a few gen_ai.* keys. A span that it opens and
// then leaves without any attribute is one whose work threw: only its name and place in the tree tell what it was.
var _ = add(Dialect{
	Name: "adk",
	Rank: 7,
	Keys: []string{"gcp.vertex.agent.", "gen_ai."}, Scopes: []string{adkScope, "openinference.instrumentation.google_adk"},
	Score:  scoreADK,
	Read:   readADK,
	Advice: adviceOfBareADK,
	Remedies: map[Fact]string{
		FactToolCalls:     adkCapture,
		FactToolExecution: "run the tools as ADK tools (FunctionTool, AgentTool): only those get an execute_tool span",
		FactToolsOffered:  adkCapture,
		FactToolSchemas:   adkCapture + ", and give the tools typed parameters: a declaration without them has no schema",
		FactArguments:     adkCapture,
		FactResults:       adkCapture,
		FactUserMessages:  adkCapture,
		FactReply:         adkCapture + "; of a model call that failed, or that a callback answered, ADK records nothing: add openinference-instrumentation-google-adk",
		FactUsage:         "update google-adk: versions before 1.5 write no gen_ai.usage.*; models behind LiteLLM must return usage",
		FactFinishReason:  "update google-adk: versions before 1.5 write no gen_ai.response.finish_reasons",
		FactModelName:     "update google-adk: a call_llm span without attributes is a call that failed before its answer",
		FactSession:       "run the agent in a session (Runner with a session service): its id is written as gcp.vertex.agent.session_id",
		FactModelCalls:    "keep the spans of scope gcp.vertex.agent in the export: each call of a model is a call_llm span",
	},
})

const adkScope = "gcp.vertex.agent"

func scoreADK(s *Span) int {
	score := 0
	if s.Scope == adkScope || strings.HasSuffix(s.Scope, "google_adk") { // OpenInference takes ADK's spans for its own, and adds its keys
		score += 16
	}
	for _, key := range []string{"gcp.vertex.agent.event_id", "gcp.vertex.agent.invocation_id", "gcp.vertex.agent.llm_request", "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.session_id"} {
		if s.Attrs.Has(key) {
			return score + 15
		}
	}
	if score == 0 && s.Attrs.Text("gen_ai.system") == adkScope {
		score += 12
	}
	return score
}

func readADK(s *Span) Facts {
	f := genaiFrame(s)
	f.SessionID = cmp.Or(s.Attrs.Str("gcp.vertex.agent.session_id"), f.SessionID)
	f.UserID = cmp.Or(s.Attrs.Str("gcp.vertex.agent.user_id"), f.UserID, s.Attrs.Str("kagent.user_id"))
	f.Role = adkRole(s)
	switch f.Role {
	case RoleModel:
		adkModel(s.Attrs, &f)
	case RoleTool:
		adkTool(s, &f)
	case RoleAgent:
		if name, ok := strings.CutPrefix(s.Name, "agent_run ["); ok {
			f.Agent = cmp.Or(f.Agent, strings.TrimSuffix(name, "]"))
		}
	}
	return f
}

// adkRole goes by the span's name, which is all that a failed span has.
func adkRole(s *Span) Role {
	first, rest, _ := strings.Cut(s.Name, " ")
	switch first {
	case "call_llm", "generate_content":
		return RoleModel
	case "execute_tool":
		if mergedTools(rest) || mergedTools(s.Attrs.Text("gen_ai.tool.name")) {
			return RoleInner
		}
		return RoleTool
	case "invoke_agent", "agent_run":
		return RoleAgent
	case "invocation", "send_data":
		return RoleNone
	}
	return genaiRole(s)
}

func adkModel(a Attrs, f *Facts) {
	request, answer := readObject(a.jsonText("gcp.vertex.agent.llm_request")), readObject(a.jsonText("gcp.vertex.agent.llm_response"))
	f.ModelRequested = cmp.Or(f.ModelRequested, request.str("model"))
	f.ModelResponded = cmp.Or(f.ModelResponded, answer.str("modelVersion", "model_version"))
	f.Provider = adkProvider(f)
	adkRequest(request, f)
	f.Output = asAssistant(ParseMessages(answer.get("content")))
	f.FinishRaw = cmp.Or(f.FinishRaw, answer.str("finishReason", "finish_reason"))
	f.Streamed = answer.isTrue("partial")
	adkUsage(answer.object("usageMetadata", "usage_metadata"), &f.Usage)
	adkFailure(answer, f)
	// Withheld content is written as an empty object; a request that was made is never one.
	if a.Has("gcp.vertex.agent.llm_request") && len(request) == 0 {
		f.Hidden = append(f.Hidden, FactUserMessages, FactToolsOffered, FactToolSchemas)
	}
	if a.Has("gcp.vertex.agent.llm_response") && len(answer) == 0 {
		f.Hidden = append(f.Hidden, FactReply, FactToolCalls)
	}
}

// adkProvider names the provider of Gemini models, and of others as far as LiteLLM's form of the name tells: ADK names itself for all.
func adkProvider(f *Facts) string {
	if strings.Contains(f.ModelRequested, "gemini") {
		return f.Provider
	}
	if vendor, _, ok := strings.Cut(f.ModelRequested, "/"); ok {
		return providerOf(vendor)
	}
	if f.Provider == providerOf(adkScope) {
		return ""
	}
	return f.Provider
}

func adkRequest(request object, f *Facts) {
	if len(request) == 0 {
		return
	}
	if contents := request.get("contents"); kindOf(contents) == '[' {
		f.Input = History{Text: contents, Parse: adkParse}
	}
	f.System = textOf(systemOf(request, 0))
	config := request.object("config")
	f.OfferedText = config.get("tools")
	if f.OfferedText == "" && config != nil {
		f.OfferedText = "[]" // the whole request is here, and offers none
	}
}

// adkUsage prefers the response's own counts: up to version 1 the attribute left thinking out of the output, and the prompts of built-in
// tools out of the input.
func adkUsage(u object, usage *Usage) {
	if u == nil {
		return
	}
	usage.CacheRead = cmp.Or(usage.CacheRead, u.count("cachedContentTokenCount", "cached_content_token_count"))
	usage.Reasoning = cmp.Or(usage.Reasoning, u.count("thoughtsTokenCount", "thoughts_token_count"))
	in, out := u.count("promptTokenCount", "prompt_token_count"), u.count("candidatesTokenCount", "candidates_token_count")
	if n := u.count("toolUsePromptTokenCount", "tool_use_prompt_token_count"); in != nil && n != nil {
		in = new(*in + *n)
	}
	if n := u.count("thoughtsTokenCount", "thoughts_token_count"); out != nil && n != nil {
		out = new(*out + *n)
	}
	usage.Input, usage.Output = cmp.Or(in, usage.Input), cmp.Or(out, usage.Output)
}

// adkFailure reads what ADK puts in the place of an answer. An answer that is empty because of its finish reason has that as its code.
func adkFailure(answer object, f *Facts) {
	code := answer.str("errorCode", "error_code")
	switch {
	case code == "":
	case isAnyOf(string(finishOf(code)), string(FinishStop), string(FinishLength), string(FinishContentFilter)):
		f.FinishRaw = code
	default:
		if finishOf(code) == FinishError {
			f.FinishRaw = code
		}
		f.Error = &Error{Type: code, Message: answer.str("errorMessage", "error_message"), Code: codeOf(code)}
	}
}

const (
	adkNeedsApproval = "This tool call requires confirmation"
	adkRejected      = "This tool call is rejected"
)

func adkTool(s *Span, f *Facts) {
	a := s.Attrs
	genaiTool(a, f)
	f.ToolName = cmp.Or(f.ToolName, toolNameOfSpan(s.Name))
	args, result := a.jsonText("gcp.vertex.agent.tool_call_args"), a.jsonText("gcp.vertex.agent.tool_response")
	if args == "{}" && result == "{}" {
		f.Hidden = append(f.Hidden, FactArguments, FactResults)
		return
	}
	if args != "" && !withheld(args) {
		f.Arguments = ParseValue(args)
	}
	if result == "" || withheld(result) {
		return
	}
	if result == "{}" { // a long-running tool that has not answered; where a tool simply returns nothing, the next request tells so
		f.Role = RoleInner
		return
	}
	v, refusal := ParseValue(result), readObject(result).str("error")
	switch {
	case strings.HasPrefix(refusal, adkNeedsApproval): // the run pauses here: there is no result yet
	case strings.HasPrefix(refusal, adkRejected):
		f.Result, f.HasResult, f.Denied = v, true, true
	default:
		f.Result, f.HasResult = adkResult(v), true
	}
}

// adkResult unwraps {"result": x}, in which ADK puts all that is no object, and the whole functionResponse, which version 1 wrote.
func adkResult(v Value) Value {
	switch o := readObject(string(v.JSON)); {
	case len(o) == 1 && o[0].name == "result":
		return wrapped(v, o[0].raw, 0)
	case len(o) == 3 && o.has("id") && o.has("name") && kindOf(o.get("response")) == '{':
		v.JSON, v.Parsed = canonical(o.get("response")), ParsedWrap
		return adkResult(v)
	}
	return v
}

// adkParse reads contents as ParseMessages does, and tells the user's words from those that ADK writes in the user's name.
func adkParse(text string) []Message {
	ms := ParseMessages(text)
	for i := range ms {
		m := &ms[i]
		m.Role = adkSpeaker(m)
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Kind == PartToolResult {
				adkAnswer(p)
			}
		}
	}
	return ms
}

// adkSpeaker is who really speaks in a message: another agent, whose part of the conversation is told "for context"; the framework, which
// prods a model that would otherwise have nothing to answer.
func adkSpeaker(m *Message) string {
	if m.Role != "user" || len(m.Parts) == 0 || m.Parts[0].Kind != PartText {
		return m.Role
	}
	switch text := m.Parts[0].Text; {
	case text == "For context:":
		return "assistant"
	case slices.ContainsFunc([]string{"Continue processing previous requests as instructed.", "Handle the requests as specified in the System Instruction."},
		func(lead string) bool { return strings.HasPrefix(text, lead) }):
		return "system"
	}
	return m.Role
}

func adkAnswer(p *Part) {
	if p.Value.JSON.Kind() == '{' && strings.HasPrefix(readObject(string(p.Value.JSON)).str("error"), adkNeedsApproval) {
		p.Unrecorded, p.Failed = true, false
		return
	}
	p.Value = adkResult(p.Value)
}

// adviceOfBareADK tells of a span without attributes of ADK's: a call of a model that failed, was given up, or that a callback answered.
func adviceOfBareADK(s *Span, _ Fact) string {
	if s.Attrs.HasPrefix("gcp.vertex.agent.") || s.Attrs.HasPrefix("gen_ai.request.") || s.Name != "call_llm" {
		return ""
	}
	return "of a call of a model that failed, was given up, or that a callback answered, ADK records nothing: add openinference-instrumentation-google-adk"
}
