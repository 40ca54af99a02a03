package trajectory

import (
	"slices"
	"strings"
)

// remedies are what to do where no dialect of the trace says more.
var remedies = map[Fact]string{
	FactRoot:          "the root span of the trace never came: export it too, from the process that starts the agent",
	FactWhole:         "raise the SDK's limits: OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, OTEL_SPAN_EVENT_COUNT_LIMIT, OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
	FactModelCalls:    "instrument the model client, so that each call of the model is a span",
	FactToolCalls:     "record the model's output messages",
	FactToolExecution: "open a span around each tool's execution",
	FactToolsOffered:  "record the tools that each model call was offered",
	FactToolSchemas:   "record the tools' JSON Schemas, or name them in the catalog (tools: in pawl.yaml)",
	FactArguments:     "record the arguments of tool calls",
	FactResults:       "record the results of tool calls",
	FactUsage:         "record token usage on each model call; of streams ask the provider to include usage",
	FactCost:          "no price is in the spans: record gen_ai.usage.cost, or send through a gateway that reports what a call cost",
	FactFinishReason:  "record the finish reason of each model call",
	FactModelName:     "record the model's name on each model call",
	FactSession:       "set session.id on the agent's spans",
	FactUserMessages:  "record the model's input messages",
	FactReply:         "record the model's output messages",
	FactClock:         "the spans' times are made up (pawl.test.synthetic_time): send real ones",
}

// gaps lists the facts that the trace lacks, in a stable order, each with the setting of the emitter that would supply it, and counts how far the
// others are told.
func (b *builder) gaps() {
	if !b.out.IsAgent() {
		return
	}
	s := b.shares()
	lacks := b.hiddenFacts()
	for _, f := range lacks {
		s.withhold(f)
	}
	if remedy := b.unreadRemedy(); remedy != "" {
		lacks = append(lacks, FactDialect)
		s.count(FactDialect, false)
	} else {
		s.count(FactDialect, true)
	}
	for i := range s {
		if s[i].Seen == s[i].Of {
			continue
		}
		s[i].Remedy = b.remedy(s[i].Fact)
		if s[i].Seen == 0 || slices.Contains(lacks, s[i].Fact) {
			b.out.Gaps = append(b.out.Gaps, Gap{s[i].Fact, s[i].Remedy})
		}
	}
	b.out.Facts = slices.DeleteFunc(s, func(s Share) bool { return s.Of == 0 })
}

// facts is a small set of facts.
type facts []Fact

// note adds the fact if it is so.
func (s *facts) note(so bool, f Fact) {
	if so && !slices.Contains(*s, f) {
		*s = append(*s, f)
	}
}

// hiddenFacts are what spans say was withheld. Requested calls that one description of a model call left out are not missing where another
// description of it, or a later history, has them.
func (b *builder) hiddenFacts() (lacks facts) {
	told := func(n *node) bool {
		return slices.ContainsFunc(b.calls, func(c *call) bool { return c.node == n && len(b.out.ModelCalls[c.index].ToolCalls) > 0 })
	}
	for _, n := range b.nodes {
		for _, f := range n.facts.Hidden {
			lacks.note(f != FactToolCalls || !told(n.stands()), f)
		}
	}
	return lacks
}

// stoppedEarly says that the run ended without an answer for a reason that the data shows, so that none is missing.
func (b *builder) stoppedEarly() bool {
	if b.out.RootError != nil {
		return true
	}
	n := len(b.out.ModelCalls)
	return n > 0 && (b.out.ModelCalls[n-1].Error != nil || len(b.out.ModelCalls[n-1].ToolCalls) > 0)
}

// hidden says whether an emitter withheld a value altogether.
func hidden(v Value) bool {
	return v.Truncated && v.Parsed == ParsedText && withheld(strings.TrimSpace(v.Raw))
}

// wantedTools says that a model stopped in order to call tools.
func (b *builder) wantedTools() bool {
	return slices.ContainsFunc(b.out.ModelCalls, func(m ModelCall) bool { return m.FinishReason == FinishToolCalls })
}

// unread are the dialects by whose marks spans speak and which no dialect of ours read in full.
func (b *builder) unread() []string {
	full, partly := map[string]bool{}, map[string]bool{}
	for _, n := range b.nodes {
		if n.foreign == "" || n.dialect == nil || n.facts.Role != RoleModel && n.facts.Role != RoleTool {
			continue
		}
		if b.readInFull(n) {
			full[n.foreign] = true
		} else {
			partly[n.foreign] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(b.foreign), func(name string) bool { return full[name] && !partly[name] })
}

// readInFull says whether the dialect that read a span of another's making found what a span of its role holds.
func (b *builder) readInFull(n *node) bool {
	if n.stands() != n || n.dialect.Rank < genai.Rank {
		return true
	}
	f := &n.facts
	switch f.Role {
	case RoleModel:
		return len(f.Output) > 0 && !f.Input.Empty() || n.err != nil
	case RoleTool:
		return !absent(f.Arguments) && f.HasResult || n.err != nil
	}
	return true
}
