package trajectory

import (
	"cmp"
	"slices"
)

// Dialect is one vocabulary that spans are written in. Adding a dialect is one file with a Dialect literal, registered by add, and one
// testdata folder. A trace may hold several dialects, and one span two of them.
type Dialect struct {
	// Name is the dialect's name in output, e.g. "openinference".
	Name string
	// Rank breaks ties between equal scores: the lower wins (the order of the dialect table in the notes).
	Rank int
	// Keys are beginnings of attribute keys, and Scopes of scope names, one of which every span of the dialect has: a span without any of
	// them is not scored. Without Keys every span is.
	Keys, Scopes []string
	// Score says how surely this span speaks the dialect: 0 not at all, 1 to 9 supporting evidence only, 10 and more strong evidence
	// (10 for each strong mark). It must be cheap: it runs for every span.
	Score func(*Span) int
	// Read says what the span states. It runs only for the dialect that won the span.
	Read func(*Span) Facts
	// Includes names the plainer dialects whose keys Read reads as well: what it leaves blank, it leaves blank on purpose, and none of
	// these completes it.
	Includes []string
	// Remedies names, per fact, the emitter's own setting that would supply it.
	Remedies map[Fact]string
	// Advice, if set, says the same of the span of a model call with nothing in it, where its library is known to leave it so; "" where it is not.
	Advice func(*Span, Fact) string

	needs  uint64    // the families of Keys
	counts *counting // how it counts tokens
}

// overGenAI is Includes of the dialects that are built on the conventions' keys.
var overGenAI = []string{"otel-genai", "otel-genai-events"}

// dialects is the table of all dialects by rank, those of one rank by name; files add to it while the package initialises. Several entries of
// one name are the forms in which one dialect is met.
var dialects []*Dialect

func add(d Dialect) *Dialect {
	for _, k := range d.Keys {
		d.needs |= familyOf(k)
	}
	d.counts = countingOf(d.Name)
	dialects = append(dialects, &d)
	slices.SortStableFunc(dialects, func(a, b *Dialect) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name)) })
	return &d
}

// Role is what a span stands for.
type Role string

// The roles. RoleModel: one call of a model (a leaf: usage counts here). RoleTool: one execution of a tool. RoleAgent: an agent's run,
// around its model and tool spans. RoleInner: a span inside a call that must not count again (a retry attempt's HTTP child, an MCP span
// below a tool span, ADK's "(merged tools)"). RoleNone: structure or noise.
const (
	RoleNone      Role = ""
	RoleModel     Role = "model"
	RoleTool      Role = "tool"
	RoleAgent     Role = "agent"
	RoleHandoff   Role = "handoff"
	RoleRetrieval Role = "retrieval"
	RoleInner     Role = "inner"
)

// Facts is what one span says, in any dialect. Only what the span really states is set; nothing is inferred from other spans here: the
// builder pairs, counts and dedupes.
type Facts struct {
	Role      Role
	Agent     string // the agent this span belongs to or is, if it says so
	Frame     bool   // Agent names the run as a whole: it is an agent's name where the span stands around no other agent
	SessionID string
	Run       string // what stands where the conversation's id belongs and is that of one run or answer: it joins no traces
	UserID    string

	// Model calls.
	Provider       string
	ModelRequested string
	ModelResponded string
	ResponseID     string
	Usage          Usage
	InputExcludes  bool // the emitter's input count leaves cached tokens out: the builder adds them
	OutputExcludes bool // the emitter's output count leaves reasoning out: the builder adds it
	FinishRaw      string
	Streamed       bool
	Input          History   // the whole input of the call, history included
	System         string    // system instructions, when apart from Input
	Output         []Message // the answer; also final output on agent spans
	Offered        *ToolSet  // nil: not stated. An empty set: stated as none
	OfferedText    string    // the definitions as one JSON text, when Offered is nil: the builder parses each distinct text of a trace once

	// Loop names the loop of model and tools that the span stands around, or, with Within, the one of which it only tells the state that
	// the loop's next call was given.
	Loop   string
	Within bool

	// MomentOf names the call of which the span tells but a moment, its end or, without Ends, its beginning.
	MomentOf string
	Ends     bool

	// Tool executions.
	ToolName  string
	CallID    string
	Arguments Value // Raw "" and Absent true when not recorded
	Result    Value
	HasResult bool
	ToolError string // an error mark other than span status and exception events (gen_ai.tool.status, is_error, ...): its text, or "error"
	Denied    bool   // the call was refused by a person or a policy
	ByPolicy  bool   // the emitter says that it was a policy: settings, a rule or a hook
	IfAsked   bool   // the span stands for an execution only if a model of the trace asked for a tool of its name

	// Hand-offs.
	HandoffFrom, HandoffTo string

	// Agent and root spans.
	Hired    bool   // another agent called this one: what stands in the user's place is that agent's word
	UserText string // what the user asked, when the span holds it apart from Input
	Reply    string // final text, when the span holds it apart from Output

	Error    *Error // beyond what status and exception events of the span say
	Feedback []Feedback
	// Hidden names facts that the emitter says it withheld (redacted, truncated, capture switched off).
	Hidden []Fact
}

// History is the input of a model call. Dialects that hold it as one JSON text set Text and Parse, so that the builder can parse only what
// is new since the agent's previous call; those that hold it in indexed keys set Flat and Item, likewise; the others set Messages.
type History struct {
	Text     string
	Parse    func(text string) []Message // pure; salvages what it can from a cut text
	Messages []Message
	Flat     flat
	Item     func(Attrs) (Message, bool) // pure; false when the item holds no message
	// Else gives the same input and its instructions as told elsewhere, if that tells more than Flat does, which has holes unless it is whole.
	// It is nil when nothing else tells.
	Else func(whole bool) (in History, system string, more bool)
}

// Empty says that the span stated no input at all.
func (h History) Empty() bool { return h.Text == "" && len(h.Messages) == 0 && len(h.Flat) == 0 }

// length grows with the history, in whatever unit the emitter's form has.
func (h History) length() int { return len(h.Text) + len(h.Messages) + len(h.Flat) }
