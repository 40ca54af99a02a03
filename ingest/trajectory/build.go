package trajectory

import (
	"slices"
	"time"
)

// builder holds one trace while it is turned into a trajectory. Its methods run once each, in the order of Reader.Build.
type builder struct {
	reader *Reader
	trace  Trace
	out    *Trajectory
	nodes  []*node // all spans in order: parents before their children, then by time
	root   *node   // the span without a parent, nil when none came

	toolSets map[string]*ToolSet // by digest
	calls    []*call             // the model calls, as out.ModelCalls
	tools    []*node             // the tool executions that count, in order
	asked    []*asked            // the calls that models asked for, in order
	thrown   map[string][]*node  // spans with an exception of their own, by status message; filled at first use
	cut      bool                // texts were cut at one length by a limit of the sender's
	unplaced int                 // content records that fit no call
	foreign  []string            // dialects seen that are not read yet
	nobody   string              // what came in the place of a conversation's id and names none, in words
}

// node is one span in its tree, with what it states.
type node struct {
	span     *Span
	parent   *node
	children []*node
	start    time.Time // the span's, moved to where its parent's clock has it
	end      time.Time // zero when it never ended
	shift    time.Duration
	order    int // from the roots down, earlier children first

	survey  survey
	dialect *Dialect   // the one that won the span, nil when none did
	score   int        // how surely it speaks it
	also    []*Dialect // those that completed what it left open
	foreign string     // the dialect by whose marks the span speaks, when it is not read yet
	facts   Facts
	err     *Error  // what the span itself says went wrong
	folded  *node   // the node that this one describes once more, nil when it stands for itself
	told    []*node // of a loop: descriptions of its state that no call was given

	agent     *node // the nearest agent span, itself included
	agentName string
}

// readSpans lets the dialects read every span.
func (b *builder) readSpans() {
	for _, n := range b.nodes {
		n.read()
		if n.facts.Offered == nil && n.facts.OfferedText != "" {
			n.facts.Offered = b.reader.toolSet(n.facts.OfferedText)
		}
		n.facts.Offered = b.shared(n.facts.Offered)
		if n.err = n.ownError(); n.err != nil && n.noFailure() {
			n.err = nil
		}
		if n.dialect != nil && n.facts.Role != RoleNone {
			for i := range len(n.also) + 1 {
				d := n.dialect
				if i > 0 {
					d = n.also[i-1]
				}
				if !slices.Contains(b.out.Dialects, d.Name) {
					b.out.Dialects = append(b.out.Dialects, d.Name)
				}
			}
		}
		runs := n.span.Attrs.Text("gen_ai.operation.name") != "create_agent" // that makes an agent and runs none
		b.out.agentic = b.out.agentic || runs && (n.score >= strongScore || n.facts.Agent != "")
		if n.facts.Role == RoleNone && n.score >= strongScore {
			continue // known, and nothing of interest
		}
		if n.foreign = foreignDialect(n.span, n.survey.foreign); n.foreign != "" && !slices.Contains(b.foreign, n.foreign) {
			b.foreign = append(b.foreign, n.foreign)
		}
	}
	slices.Sort(b.out.Dialects)
	slices.Sort(b.foreign)
	b.out.agentic = b.out.agentic || len(b.foreign) > 0 || len(b.out.Dialects) > 0 || b.hasContentLogs()
	b.dropPending()
}

// strongScore is the least score of a span that surely speaks a dialect.
const strongScore = 10

// read lets the dialect that scores highest read the span. A second vocabulary that is as surely there fills in what the first left open.
func (n *node) read() {
	var others []*Dialect
	n.survey = surveyOf(n.span.Attrs)
	for _, d := range dialects {
		if !d.mayBe(n.span, n.survey.families) {
			continue
		}
		score := d.Score(n.span)
		switch {
		case score > n.score:
			if n.score >= strongScore {
				others = append(others, n.dialect)
			}
			n.score, n.dialect = score, d
		case score >= strongScore:
			others = append(others, d)
		}
	}
	if n.dialect == nil {
		n.facts.Arguments.Parsed, n.facts.Result.Parsed = ParsedAbsent, ParsedAbsent
		return
	}
	n.facts = n.dialect.facts(n.span)
	for _, d := range others {
		if n.facts.thin() && !slices.Contains(n.dialect.Includes, d.Name) {
			before := n.facts.weight()
			fill(&n.facts, d.facts(n.span))
			if n.facts.weight() > before {
				n.also = append(n.also, d)
			}
		}
	}
	if n.facts.Role == RoleTool {
		n.facts.protocolResult()
	}
}

// thin says whether a span of an interesting role left something open that another vocabulary on it may state.
func (f *Facts) thin() bool {
	switch f.Role {
	case RoleModel:
		return f.Input.Empty() || len(f.Output) == 0 || f.Usage.Input == nil || f.ModelRequested == "" || f.FinishRaw == ""
	case RoleTool:
		return f.ToolName == "" || f.CallID == "" || absent(f.Arguments) || !f.HasResult
	case RoleAgent:
		return f.Agent == "" || f.Input.Empty() && f.UserText == "" || len(f.Output) == 0 && f.Reply == ""
	}
	return f.Role == RoleNone
}

// weight counts the content that a span states.
func (f *Facts) weight() int {
	n := len(f.Output)
	for _, ok := range []bool{!f.Input.Empty(), !absent(f.Arguments), f.HasResult, f.Offered != nil || f.OfferedText != "", f.Usage.Input != nil, f.Reply != "", f.UserText != ""} {
		if ok {
			n++
		}
	}
	return n
}

func absent(v Value) bool { return v.Parsed == ParsedAbsent || v.Parsed == "" }

// shared makes equal sets one.
func (b *builder) shared(s *ToolSet) *ToolSet {
	if s == nil || s.Digest == "" {
		return s
	}
	if have, ok := b.toolSets[s.Digest]; ok {
		return have
	}
	b.toolSets[s.Digest] = s
	return s
}

// hasContentLogs says whether a record of the trace carries content of a model call.
func (b *builder) hasContentLogs() bool {
	return slices.ContainsFunc(b.trace.Logs, func(l Log) bool { return isMessageEvent(l.Name) || isADOTRecord(&l) })
}
