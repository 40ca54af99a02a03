package trajectory

import (
	"cmp"
	"strconv"
)

// CrewAI's own telemetry: single spans, mostly in traces of their own, without content unless the crew is shared. Other
// instrumentations record the same runs in full, so that only what they lack is taken from here: its word on a tool's use.
var _ = add(Dialect{
	Name:  "crewai-telemetry",
	Rank:  34,
	Score: scoreCrewAI,
	Read:  readCrewAI,
	Remedies: map[Fact]string{
		FactModelCalls:    crewAIInstrument,
		FactToolCalls:     crewAIInstrument,
		FactUserMessages:  crewAIInstrument + ", or share_crew=True on the crew",
		FactReply:         crewAIInstrument + ", or share_crew=True on the crew",
		FactSession:       "wrap kickoff() in using_session(session_id=...) of OpenInference",
		FactToolsOffered:  crewAIInstrument,
		FactToolSchemas:   crewAIInstrument,
		FactUsage:         crewAIInstrument,
		FactFinishReason:  crewAIInstrument,
		FactModelName:     crewAIInstrument,
		FactToolExecution: "CrewAI's own telemetry counts uses of tools and not what they did: add openinference-instrumentation-crewai",
		FactArguments:     "CrewAI's own telemetry leaves arguments out: add openinference-instrumentation-crewai",
		FactResults:       "CrewAI's own telemetry leaves results out: add openinference-instrumentation-crewai",
	},
})

const crewAIInstrument = "CrewAI's own telemetry records no model calls: add openinference-instrumentation-crewai with the instrumentation of the model client (or OpenLLMetry)"

func scoreCrewAI(s *Span) int {
	if s.Scope == "crewai.telemetry" {
		return 10
	}
	return 0
}

func readCrewAI(s *Span) Facts {
	a := s.Attrs
	f := Facts{Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent}}
	switch s.Name {
	case "Crew Execution", "Flow Execution":
		f.Role, f.Agent = RoleAgent, cmp.Or(a.Str("flow_name", "crew_name"), "crew")
		f.UserText, f.Reply = askedText(a.Text("crew_inputs")), answerText(a.Text("crew_output"))
	case "Tool Repeated Usage":
		f.Feedback = []Feedback{crewAIWord(s, "tool_repeated_usage", "repeated")}
	case "Tool Usage Error":
		f.Feedback = []Feedback{crewAIWord(s, "tool_usage_error", "error")}
	case "Crew Individual Test Result":
		f.Feedback = []Feedback{{SpanID: s.ID, Name: "crew_test", Score: a.Float("quality", "score")}}
	}
	return f
}

// crewAIWord is what it says of a tool: a claim, of which rules make what they will.
func crewAIWord(s *Span, name, label string) Feedback {
	text := s.Attrs.Str("tool_name")
	if n := s.Attrs.Int("attempts"); n != nil {
		text += ", attempt " + strconv.FormatInt(*n, 10)
	}
	return Feedback{SpanID: s.ID, Name: name, Label: label, Explanation: text}
}
