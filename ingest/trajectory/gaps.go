package trajectory

import (
	"cmp"
	"fmt"
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

// gaps lists the facts that the trace lacks, in a stable order, each with the setting of the emitter that would supply it.
func (b *builder) gaps() {
	lacks := b.lacking()
	for _, f := range []Fact{FactRoot, FactWhole, FactModelCalls, FactToolCalls, FactToolExecution, FactToolsOffered, FactToolSchemas,
		FactArguments, FactResults, FactUsage, FactCost, FactFinishReason, FactModelName, FactSession, FactUserMessages, FactReply, FactClock} {
		if slices.Contains(lacks, f) {
			b.out.Gaps = append(b.out.Gaps, Gap{f, b.remedy(f)})
		}
	}
	if names := b.unread(); len(names) > 0 && b.out.IsAgent() {
		b.out.Gaps = append(b.out.Gaps, Gap{FactDialect, fmt.Sprintf("spans of %s are not read yet (of them only what they say in gen_ai.* attributes is); pawl needs a dialect for them", strings.Join(names, ", "))})
	}
}

// facts is a small set of facts.
type facts []Fact

// note adds the fact if it is so.
func (s *facts) note(so bool, f Fact) {
	if so && !slices.Contains(*s, f) {
		*s = append(*s, f)
	}
}

func (b *builder) lacking() facts {
	o := b.out
	if !o.IsAgent() {
		return nil
	}
	lacks := make(facts, 0, 16)
	lacks.note(!o.Complete.HasRoot, FactRoot)
	lacks.note(!b.whole(), FactWhole)
	lacks.note(len(o.ModelCalls) == 0, FactModelCalls)
	lacks.note(o.SessionID == "", FactSession)
	lacks.note(o.Reply == nil && !b.stoppedEarly(), FactReply)
	lacks.note(o.Complete.SyntheticTime, FactClock)
	lacks.note(len(o.UserMessages) == 0, FactUserMessages)
	b.lackingOfModels(&lacks)
	b.lackingOfTools(&lacks)
	b.hiddenFacts(&lacks)
	return lacks
}

// hiddenFacts adds what spans say was withheld. Requested calls that one description of a model call left out are not missing where another
// description of it, or a later history, has them.
func (b *builder) hiddenFacts(lacks *facts) {
	told := func(n *node) bool {
		return slices.ContainsFunc(b.calls, func(c *call) bool { return c.node == n && len(b.out.ModelCalls[c.index].ToolCalls) > 0 })
	}
	for _, n := range b.nodes {
		for _, f := range n.facts.Hidden {
			lacks.note(f != FactToolCalls || !told(n.stands()), f)
		}
	}
}

// stoppedEarly says that the run ended without an answer for a reason that the data shows, so that none is missing.
func (b *builder) stoppedEarly() bool {
	if b.out.RootError != nil {
		return true
	}
	n := len(b.out.ModelCalls)
	return n > 0 && (b.out.ModelCalls[n-1].Error != nil || len(b.out.ModelCalls[n-1].ToolCalls) > 0)
}

func (b *builder) lackingOfModels(lacks *facts) {
	good := 0
	var usage, cost, finish, name, calls, offered bool
	for i := range b.out.ModelCalls {
		m := &b.out.ModelCalls[i]
		if m.Error != nil {
			continue
		}
		good++
		c := b.calls[i]
		usage = usage || m.Usage.Input != nil && m.Usage.Output != nil
		cost = cost || m.Usage.CostUSD != nil
		finish = finish || m.FinishReason != ""
		name = name || m.ModelRequested != "" || m.ModelResponded != ""
		calls = calls || len(c.node.facts.Output) > 0 || len(m.ToolCalls) > 0 || c.hasIn && len(b.calls) > 1
		offered = offered || m.Offered != nil
	}
	some := good > 0
	lacks.note(some && !usage, FactUsage)
	lacks.note(some && !cost, FactCost)
	lacks.note(some && !finish, FactFinishReason)
	lacks.note(some && !name, FactModelName)
	lacks.note(some && !calls, FactToolCalls)
	lacks.note(some && !offered, FactToolsOffered)
	schemas, names := 0, 0
	for i := range b.out.ModelCalls {
		m := &b.out.ModelCalls[i]
		if m.Offered == nil {
			continue
		}
		for _, t := range m.Offered.Tools {
			names++
			if t.Schema != nil || t.Builtin {
				schemas++
			}
		}
	}
	lacks.note(names > 0 && schemas == 0 || some && !offered, FactToolSchemas)
}

func (b *builder) lackingOfTools(lacks *facts) {
	executed, args, results, missing, refused := 0, 0, 0, 0, 0
	for i := range b.out.ToolCalls {
		t := &b.out.ToolCalls[i]
		if t.Executed {
			executed++
		}
		if !absent(t.Arguments) && !hidden(t.Arguments) {
			args++
		}
		if t.HasResult && !hidden(t.Result) || t.Error != nil {
			results++
		}
		if t.Outcome == OutcomeMissing {
			missing++ // that it has no execution and no result is known
		}
		if t.Error != nil && (t.Error.Type == ErrUnknownTool || t.Error.Type == ErrInvalidArguments) {
			refused++ // before it could be executed
		}
	}
	n := len(b.out.ToolCalls)
	wanted := n == 0 && b.wantedTools()
	lacks.note(n > 0 && executed+missing+refused == 0 || wanted, FactToolExecution)
	lacks.note(n > 0 && args == 0 || wanted, FactArguments)
	lacks.note(n > 0 && results+missing == 0 || wanted, FactResults)
	lacks.note(wanted, FactToolCalls)
}

// hidden says whether an emitter withheld a value altogether.
func hidden(v Value) bool {
	return v.Truncated && v.Parsed == ParsedText && withheld(strings.TrimSpace(v.Raw))
}

// wantedTools says that a model stopped in order to call tools.
func (b *builder) wantedTools() bool {
	return slices.ContainsFunc(b.out.ModelCalls, func(m ModelCall) bool { return m.FinishReason == FinishToolCalls })
}

// remedy is the word of the dialect that wrote the spans concerned, else a general one.
func (b *builder) remedy(f Fact) string {
	if f == FactWhole && b.unplaced > 0 {
		return unplacedRemedy(b.unplaced)
	}
	role := RoleModel
	if f == FactResults || f == FactArguments {
		role = RoleTool
	}
	for _, want := range []Role{role, RoleModel, RoleAgent, RoleTool} {
		for _, n := range b.nodes {
			if n.facts.Role != want || n.dialect == nil {
				continue
			}
			if n.foreign != "" && strings.HasPrefix(n.dialect.Name, "otel-genai") {
				return remedies[f]
			}
			return cmp.Or(n.dialect.Remedies[f], remedies[f])
		}
	}
	return remedies[f]
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
