// Package trajectory holds pawl's domain type, the Trajectory: one trace of an LLM agent in one normal form, whatever instrumentation
// emitted it. It also holds the dialects, one file each, that fill it from spans.
//
// The package is pure: it does no I/O, starts no goroutine, never looks at the clock, and imports nothing else of pawl. The same spans
// and log records in any order and with any duplication give the same Trajectory.
//
// A fact that is not in the data is absent here too: numbers are nil, never 0; texts that were not recorded are told apart from empty
// ones by a Gap, which names the fact and the setting of the emitter that would supply it.
package trajectory

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Trajectory is one whole trace in normal form. Steps holds everything in order; the other slices are views of the same facts by kind.
type Trajectory struct {
	TraceID   string   // of a session: the first of Traces
	Traces    []string // of a session: the ids of its traces in order of start; nil for a single trace
	Turns     []int    // of a session, for each of Traces: the turn that it works for, counted from 0; see Join
	SessionID string   // "" when the emitter names no conversation
	UserID    string
	Service   string // resource attribute service.name
	Version   string // resource attribute service.version
	Route     string // http.route, else the scrubbed name of the root span: the key under which runs are compared
	Dialects  []string
	Agents    []string // names, in order of first appearance

	ModelCalls   []ModelCall
	AgentTotals  []AgentTotal // usage that is known of an agent's whole run alone: beside that of ModelCalls, never part of it
	ToolCalls    []ToolCall
	Handoffs     []Handoff
	ToolsOffered []ToolDef // union over all model calls, by name, first definition wins
	UserMessages []string
	SystemPrompt string  // first system instruction seen
	Reply        *string // what the agent answered at the end; nil when none is in the data. The answers of earlier turns are steps
	Steps        []Step
	Gaps         []Gap
	Facts        []Share // how far the trace tells each fact that it could; nil of a session, as Telemetry is empty
	Feedback     []Feedback
	Telemetry    Telemetry

	Start, End time.Time
	Spans      int // spans that the trace holds, of any kind
	Complete   Completeness
	RootError  *Error // error status on the root, or on the last agent span
	GoesOn     bool   // the run did not end here: another trace of its session goes on with it; see Settle

	agentic bool            // some span or record speaks of an agent, though no fact of it could be read
	follows string          // the trace that its spans link to, when it is one alone
	of      map[string]fate // of a session, by trace: what that part has become
}

// IsAgent says whether the trace has anything to do with an agent: a model call, a tool call, an agent, or spans and records of a dialect
// that is known to be one of agents but is not read yet.
func (t *Trajectory) IsAgent() bool {
	return t.agentic || len(t.ModelCalls)+len(t.ToolCalls)+len(t.Agents)+len(t.Handoffs) > 0
}

// Completeness tells what may be missing from a trace as a whole.
type Completeness struct {
	HasRoot    bool // the span that has no parent is here
	Truncated  bool // cut at a limit of pawl's (size, spans, age) or by a sender's limit on a value
	Dropped    int  // attributes, events and links that the sender's SDK says it dropped
	Unfinished int  // spans that never ended
	// SyntheticTime says that the times are not a real clock's (resource pawl.test.synthetic_time): no rule may judge time.
	SyntheticTime bool
}

// StepKind says what happened in a step.
type StepKind string

// The kinds of step.
const (
	StepUser      StepKind = "user_message"
	StepModel     StepKind = "model_call"
	StepTool      StepKind = "tool_call"
	StepHandoff   StepKind = "handoff"
	StepRetrieval StepKind = "retrieval"
	StepReply     StepKind = "reply"
	StepError     StepKind = "error"
)

// Step is one thing that happened, in order. Index points into ModelCalls, ToolCalls or Handoffs by Kind and is -1 for the others,
// whose words are in Text.
type Step struct {
	Kind       StepKind
	SpanID     string
	TraceID    string // "" in a single trace
	Agent      string
	Index      int
	Text       string
	Start, End time.Time
}

// ModelCall is one request to a model and its answer.
type ModelCall struct {
	SpanID         string
	TraceID        string // "" in a single trace
	Agent          string
	Provider       string
	ModelRequested string
	ModelResponded string
	ResponseID     string
	Usage          Usage
	FinishReason   FinishReason // "" when not in the data
	FinishRaw      string       // as the emitter spelled it
	Offered        *ToolSet     // the tools this very call could choose from; nil when the data does not say
	New            []Message    // messages of the input that no earlier call of the same agent had
	Wanted         Wanted       // the shape that the request wants the answer to have
	System         string       // the instructions that the call brings, or that its agent states; "" when an earlier call of the agent told them
	Text           string       // assistant text of the answer
	ToolCalls      []int        // requested calls, as indexes into Trajectory.ToolCalls
	Error          *Error
	Start, End     time.Time // End is zero when the call never ended
	Streamed       bool
	InTotal        bool // its usage is not told, and is part of one of Trajectory.AgentTotals
	Sum            bool // it stands for all calls of an agent that tells nothing but their total
	Back           bool // its input is an earlier one: it was never told of what the agent's call before it asked for
}

// Usage counts tokens of one model call. A nil number is not in the data. Input includes cached tokens and AudioIn, Output includes Reasoning
// and AudioOut, whatever the emitter's own count includes (see countings).
type Usage struct {
	Input      *int64
	Output     *int64
	CacheRead  *int64
	CacheWrite *int64
	Reasoning  *int64
	AudioIn    *int64
	AudioOut   *int64
	CostUSD    *float64   // as the span reports it, else as a price list has it
	CostFrom   CostSource // which of both; "" when CostUSD is nil
}

// CostSource says where a cost comes from: CostSpan, or the name of the price list that it was computed by.
type CostSource string

// CostSpan is the source of a cost that the span itself reports.
const CostSpan CostSource = "span"

// FinishReason is why a model stopped, in one spelling.
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishLength        FinishReason = "length"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishContentFilter FinishReason = "content_filter"
	FinishError         FinishReason = "error"
	FinishOther         FinishReason = "other"
)

// ToolSet is what a model call was offered. Sets are shared between the calls that were offered the same.
type ToolSet struct {
	Digest string // sha256 hex over the canonical definitions
	Tools  []ToolDef
}

// Tool returns the definition of that name.
func (s *ToolSet) Tool(name string) (ToolDef, bool) {
	if s == nil {
		return ToolDef{}, false
	}
	for _, t := range s.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return ToolDef{}, false
}

// ToolDef is one tool as it was offered. Schema is the JSON Schema of its arguments, nil when only the name was sent.
type ToolDef struct {
	Name        string
	Description string
	Schema      jsontext.Value
	Builtin     bool // the provider runs it (web search, code execution, ...)

	// What the tool's server says of it: MCP's annotations readOnlyHint and idempotentHint.
	ReadOnly, Idempotent Hint
}

// Hint is what a server says of its tool, "" when it says nothing.
type Hint string

// The hints.
const (
	HintYes Hint = "true"
	HintNo  Hint = "false"
)

// Outcome is what became of a tool call, as far as the data tells.
type Outcome string

// The outcomes. OutcomeMissing: requested and provably never executed or answered. OutcomeUnknown: the data does not say.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeError   Outcome = "error"
	OutcomeDenied  Outcome = "denied"
	OutcomeTimeout Outcome = "timeout"
	OutcomeMissing Outcome = "missing"
	OutcomeUnknown Outcome = "unknown"
)

// ToolCall is one call of a tool: the model's request and its execution, paired. One call described by several spans is one ToolCall.
type ToolCall struct {
	SpanID        string // the execution's span; the requesting model call's when there is none
	TraceID       string // that span's trace; "" in a single trace
	RequestSpanID string // span of the model call that asked for it, "" when unknown
	ResultSpanID  string // where the result was read, "" when there is none
	ID            string // the provider's call id, "" when absent
	Name          string
	Agent         string
	Model         int // index of the requesting ModelCall, -1 when none
	Requested     bool
	Executed      bool // a span of its execution exists
	Recalled      bool // known only from the history that the trace began with: an earlier trace of the same turn made the call
	Arguments     Value
	Result        Value
	HasResult     bool // a result was recorded, on the span or in a later input
	Outcome       Outcome
	Error         *Error
	Beneath       []Beneath // what was seen to run below its execution, in order; nil also when the emitter shows nothing there
	Start, End    time.Time

	answered bool // a later input tells of an answer, be it one whose content was not recorded
}

// Handoff is a transfer of the conversation from one agent to another, or a question of one to another that works as a tool: SpanID is then the tool's.
type Handoff struct {
	SpanID   string
	TraceID  string // "" in a single trace
	From, To string
	Start    time.Time
}

// Error is what went wrong in a span, as the emitter tells it.
type Error struct {
	Type    string // class or code: error.type, exception.type, a status code as text
	Message string
	Code    int // HTTP status where known, else 0
}

// Feedback is a score that came with the telemetry (gen_ai.evaluation.*, annotations): a claim, never a finding.
type Feedback struct {
	SpanID      string
	Name        string
	Score       *float64
	Label       string
	Explanation string
}

// Message is one message of a model call's input or output.
type Message struct {
	Role  string // system, user, assistant, tool
	Parts []Part
}

// PartKind says what a Part holds.
type PartKind string

// The kinds of part.
const (
	PartText       PartKind = "text"
	PartReasoning  PartKind = "reasoning"
	PartToolCall   PartKind = "tool_call"
	PartToolResult PartKind = "tool_result"
	PartOther      PartKind = "other" // media and whatever a rule does not read
)

// Part is one piece of a message. For a tool call, ID, Name and Value (the arguments) are set; for a tool result ID, perhaps Name, Value
// (the result), Failed when the emitter marks it so, and Unrecorded when the message tells that the call was answered but not with what.
type Part struct {
	Kind       PartKind
	Text       string
	ID         string
	Name       string
	Value      Value
	Failed     bool
	Unrecorded bool
	Outcome    Outcome // what a tool result tells, where Value is a digest that does not; else ""
}

// Fact names something that a rule may need.
type Fact string

// The facts.
const (
	FactRoot          Fact = "root_span"
	FactWhole         Fact = "whole_trace" // nothing truncated or dropped
	FactModelCalls    Fact = "model_calls"
	FactToolCalls     Fact = "tool_calls" // requested calls are visible
	FactToolExecution Fact = "tool_execution"
	FactToolsOffered  Fact = "tools_offered"
	FactToolSchemas   Fact = "tool_schemas"
	FactArguments     Fact = "tool_arguments"
	FactResults       Fact = "tool_results"
	FactUsage         Fact = "usage"
	FactCost          Fact = "cost"
	FactFinishReason  Fact = "finish_reason"
	FactModelName     Fact = "model_name"
	FactSession       Fact = "session_id"
	FactUserMessages  Fact = "user_messages"
	FactReply         Fact = "reply"
	FactClock         Fact = "real_clock"
	FactBaseline      Fact = "baseline" // enough earlier runs of the route; supplied by pawl, never by a span
	FactDialect       Fact = "known_dialect"
	FactOutputSchema  Fact = "output_schema"         // the shape that a request wants the answer to have
	FactDeclaration   Fact = "execution_declaration" // what the team says of a tool's execution; supplied by config, never by a span
	FactPinned        Fact = "pinned_tools"          // tools as they were when somebody looked at them; supplied by a catalog, never by a span
	FactPolicy        Fact = "policy"                // what an agent must and must not do; written in pawl.yaml, or learnt from enough healthy runs
)

// Optional says that a fact is there only where a team wants what hangs on it: that it is absent is no want of the telemetry.
func (f Fact) Optional() bool {
	return f == FactOutputSchema || f == FactDeclaration || f == FactPinned || f == FactPolicy
}

// Gap is a fact that the trace lacks, and what would supply it.
type Gap struct {
	Fact   Fact   `json:"fact"`
	Remedy string `json:"remedy"`
}

// Lacks returns the gap for a fact, if the trajectory has it.
func (t *Trajectory) Lacks(f Fact) (Gap, bool) {
	for _, g := range t.Gaps {
		if g.Fact == f {
			return g, true
		}
	}
	return Gap{}, false
}
