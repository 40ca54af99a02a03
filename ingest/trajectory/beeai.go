package trajectory

import (
	"cmp"
	"slices"
	"strings"
)

// BeeAI's framework for JavaScript through OpenInference: no span of a call, but one for each moment of it ("backend.openai.chat.start-1",
// "...success-1"), below the turn of the agent. The builder joins the moments of a call.
var _ = add(Dialect{
	Name: "openinference",
	Rank: 3,
	Keys: []string{"openinference."},
	Score: func(s *Span) int {
		if strings.Contains(s.Scope, "openinference") && strings.HasSuffix(s.Scope, "beeai") {
			return 30
		}
		return 0
	},
	Read:     readBeeAI,
	Includes: []string{"openinference"},
	Remedies: openInference.Remedies,
})

func readBeeAI(s *Span) Facts {
	f := readOpenInference(s)
	a := s.Attrs
	subject, moment, _ := cutLast(a.Str("target"), ".")
	switch {
	case f.Role == RoleAgent && subject == "":
		f.Agent = cmp.Or(a.Str("source"), f.Agent)
	case f.Role == RoleAgent, moment == "finish":
		return Facts{Arguments: Value{Parsed: ParsedAbsent}, Result: Value{Parsed: ParsedAbsent}}
	case f.Role == RoleModel:
		f.MomentOf, f.Ends = subject, moment != "start"
		f.ModelRequested, f.ModelResponded = cmp.Or(f.ModelRequested, a.Str("llm.model_name")), ""
		f.Input = eachMessage(f.Input, ownWords)
		if ms := asAssistant(ParseMessages(a.Text("output.value"))); thinner(f.Output, ms) {
			f.Output = ms // the flattened messages leave calls out
		}
	case f.Role == RoleTool:
		f.MomentOf, f.Ends = subject, moment != "start"
		f.ToolName = strings.TrimPrefix(strings.TrimPrefix(subject, "tool."), "dynamic.")
		if inner := soleMember(a.Text("output.value"), "result"); inner != "" {
			f.Result = inWrapper(f.Result.Raw, inner)
		}
	}
	if class := a.Str("exception.type"); class != "" && moment == "error" {
		f.Error = &Error{Type: class, Message: a.Text("exception.message")}
	}
	return f
}

// ownWords takes the framework's words off what the user asked.
func ownWords(ms []Message) []Message {
	for _, m := range ms {
		for i, p := range m.Parts {
			if text, ok := strings.CutPrefix(p.Text, "Your task: "); ok && m.Role == "user" && p.Kind == PartText {
				m.Parts[i].Text = strings.TrimSpace(text)
			}
		}
	}
	return ms
}

// joinMoments makes one of the spans that tell of the moments of one call: an end belongs to the first beginning of the same thing below the same
// span that has none yet, of parallel ones to that with the same arguments. A tool's name, which such spans spell in their own way, becomes that
// by which a model asked for it.
func (b *builder) joinMoments() {
	var open, ends []*node
	for _, n := range b.nodes {
		switch f := &n.facts; {
		case f.MomentOf != "" && f.Ends:
			ends = append(ends, n)
		case f.MomentOf != "":
			open = append(open, n)
		}
	}
	if len(open)+len(ends) == 0 {
		return
	}
	for _, early := range []bool{false, true} { // an end without a true time comes last
		ends = slices.DeleteFunc(ends, func(n *node) bool {
			i := beginning(open, n, early)
			if i >= 0 {
				open[i].join(n)
				open = slices.Delete(open, i, i+1)
			}
			return i >= 0
		})
	}
	b.properToolNames()
}

// beginning is the index of the beginning that an end belongs to, -1 when there is none. Only an early end may lie before it.
func beginning(open []*node, end *node, early bool) int {
	at := -1
	for i, o := range open {
		if o.parent != end.parent || o.facts.MomentOf != end.facts.MomentOf || !early && end.start.Before(o.start) {
			continue
		}
		if at < 0 || end.facts.Role == RoleTool && o.facts.Arguments.equal(end.facts.Arguments) && !open[at].facts.Arguments.equal(end.facts.Arguments) {
			at = i
		}
	}
	return at
}

func (n *node) join(end *node) {
	fill(&n.facts, end.facts)
	n.end, end.facts.Role = laterOf(end.ended(), n.end), RoleInner
	if n.err == nil {
		n.err = end.err
	}
	end.folded = n
}

func (b *builder) properToolNames() {
	var names map[string]bool
	for _, n := range b.nodes {
		if n.facts.MomentOf == "" || n.facts.Role != RoleTool {
			continue
		}
		if names == nil {
			names = b.requestedNames()
		}
		for name := range names {
			if sameName(name, n.facts.ToolName) {
				n.facts.ToolName = name
			}
		}
	}
}
