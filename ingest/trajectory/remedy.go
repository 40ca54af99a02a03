package trajectory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A dialect's remedy is its emitter's setting. Where the trace itself shows that no setting is to blame - the call was never answered, failed, or its
// span never came - it is this file that says so.

const (
	remedyPending = "the trace ends while the call is open, and nothing of its execution came: if the run went on in another trace (an approval, a tool that the client runs, " +
		"a trace for each model call), start one span around the whole run; if it was given up, let the process flush its spans when it stops"
	remedyFailed = "the call of the model failed, and its emitter records nothing of what it was asked: record the user's words on the run's own span as well " +
		"(gen_ai.input.messages, input.value)"
	remedyBare = " (the span of the call came with nothing in it: so come also those of a call that failed, was given up or waits for a person)"
	remedyLogs = "only log records came of this call, and the fact is on its span: export traces to pawl as well as logs"
)

// remedy is what would supply the fact: what the trace shows, else the word of the dialect that wrote the spans concerned, else a general one.
func (b *builder) remedy(f Fact) string {
	switch f {
	case FactDialect:
		return b.unreadRemedy()
	case FactWhole:
		if r := b.cutRemedy(); r != "" {
			return r
		}
	case FactToolCalls:
		if len(b.out.ModelCalls)+len(b.out.ToolCalls) == 0 {
			return b.emitterRemedy(FactModelCalls) // whose answers would ask for them
		}
	case FactUserMessages, FactReply:
		if b.unplaced > 0 {
			return unplacedRemedy(b.unplaced)
		}
		if len(b.out.ModelCalls) == 0 && !slices.ContainsFunc(b.nodes, func(n *node) bool { return n.facts.Role == RoleAgent }) {
			f = FactModelCalls // whose messages they would be
		}
	}
	if r := b.shownRemedy(f); r != "" {
		return r
	}
	switch {
	case f == FactSession && b.nobody != "":
		return fmt.Sprintf("%s (what comes in its place, %s, names no conversation: give each an id of its own)", b.emitterRemedy(f), b.nobody)
	case f == FactSession && b.root == nil:
		return b.emitterRemedy(f) + " (it may be on the root span, which never came)"
	}
	return b.emitterRemedy(f)
}

// shownRemedy is what the trace shows of a fact of its calls that is not there; "" when it shows nothing.
func (b *builder) shownRemedy(f Fact) string {
	switch f {
	case FactResults, FactToolExecution:
		if b.pending() {
			return remedyPending
		}
	case FactToolCalls, FactToolsOffered, FactToolSchemas, FactUsage, FactFinishReason, FactModelName, FactUserMessages, FactReply:
		calls := b.lackingCalls(f)
		switch every := func(so func(*call) bool) bool {
			return len(calls) > 0 && !slices.ContainsFunc(calls, func(c *call) bool { return !so(c) })
		}; {
		case f != FactUserMessages && f != FactReply && every(func(c *call) bool { return c.node.span.ParentID == missingParent }):
			return remedyLogs
		case every(b.bare):
			return cmp.Or(calls[0].node.advice(f), b.emitterRemedy(f)+remedyBare)
		case f == FactUserMessages && every(func(c *call) bool {
			return b.bare(c) || b.out.ModelCalls[c.index].Error != nil && c.node.facts.Input.Empty()
		}):
			return remedyFailed
		}
	}
	return ""
}

// lackingCalls are the model calls that do not tell a fact though they could.
func (b *builder) lackingCalls(f Fact) (out []*call) {
	for i, c := range b.calls {
		m := &b.out.ModelCalls[i]
		lacks := m.Error == nil
		switch f {
		case FactUsage:
			lacks = lacks && (m.Usage.Input == nil || m.Usage.Output == nil)
		case FactFinishReason:
			lacks = lacks && m.FinishReason == ""
		case FactModelName:
			lacks = lacks && m.ModelRequested == "" && m.ModelResponded == ""
		case FactUserMessages:
			lacks = true
		case FactReply:
			lacks = i == len(b.calls)-1
		}
		if lacks {
			out = append(out, c)
		}
	}
	return out
}

// bare says that a call was never answered as far as its span tells, and not even its failure is there.
func (b *builder) bare(c *call) bool {
	m, f := &b.out.ModelCalls[c.index], &c.node.facts
	return m.Error == nil && len(f.Output) == 0 && m.Text == "" && len(m.ToolCalls) == 0 && m.Usage == (Usage{}) && m.FinishReason == ""
}

// pending says that every call of a tool of which neither execution nor result is known was open when the trace ended: no later call of the model
// got through in which the answer would show.
func (b *builder) pending() bool {
	some := false
	for i := range b.out.ToolCalls {
		t := &b.out.ToolCalls[i]
		if t.Executed || t.HasResult || t.Error != nil || t.Outcome == OutcomeMissing {
			continue
		}
		if some = true; !t.Requested || t.Model < 0 || b.answeredAfter(b.calls[t.Model]) {
			return false
		}
	}
	return some
}

func (b *builder) answeredAfter(c *call) bool {
	for _, o := range b.calls[c.index+1:] {
		if o.node.agent == c.node.agent && (o.hasIn || b.out.ModelCalls[o.index].Error == nil) {
			return true
		}
	}
	return false
}

// advice is what the dialect says of this very span, "" when it says nothing.
func (n *node) advice(f Fact) string {
	if n.dialect == nil || n.emitter().Advice == nil {
		return ""
	}
	return n.emitter().Advice(n.span, f)
}

// emitterRemedy is the word of the dialect that wrote the spans concerned, else a general one.
func (b *builder) emitterRemedy(f Fact) string {
	role := RoleModel
	if f == FactResults || f == FactArguments {
		role = RoleTool
	}
	for _, want := range []Role{role, RoleModel, RoleAgent, RoleTool, RoleNone} {
		for _, n := range b.nodes {
			if n.facts.Role != want || n.dialect == nil || n.score < strongScore && want == RoleNone {
				continue
			}
			if n.foreign != "" && strings.HasPrefix(n.dialect.Name, "otel-genai") {
				return remedies[f]
			}
			if r := n.emitter().Remedies[f]; r != "" {
				return r
			}
		}
	}
	return remedies[f]
}

// emitter is the dialect of the library that opened the span: an OpenInference processor only writes on spans of others, whose switches count.
func (n *node) emitter() *Dialect {
	if n.dialect.Name != "openinference" {
		return n.dialect
	}
	for _, d := range dialects {
		if d.Name != n.dialect.Name && d.Rank < genai.Rank && d.mayBe(n.span, n.survey.families) && d.Score(n.span) >= strongScore {
			return d
		}
	}
	return n.dialect
}

// cutRemedy says what to do about a trace that was cut or has content without a place, though the SDK says that it dropped nothing; "" when the
// dialect or the SDK's limits tell.
func (b *builder) cutRemedy() string {
	if b.out.Complete.Dropped > 0 {
		return ""
	}
	switch {
	case b.trace.Truncated:
		return "the trace outgrew pawl's limits: raise assemble.max_bytes, assemble.max_spans or assemble.max_age in pawl.yaml, or let each run be a trace of its own"
	case slices.ContainsFunc(b.nodes, func(n *node) bool { return n.cutByPawl() }):
		return "a span was larger than a message of the stream may be, and pawl cut its longest values: let the instrumentation leave out media and repeated histories (ingest.drop in pawl.yaml takes attributes out before)"
	case b.unplaced > 0:
		return unplacedRemedy(b.unplaced)
	}
	return ""
}

func (n *node) cutByPawl() bool {
	v, _ := n.span.Attrs.Bool("pawl.truncated")
	return n.survey.families&truncatedKey != 0 && v
}

// unreadRemedy names the dialects that are known and not read yet; "" when there is none.
func (b *builder) unreadRemedy() string {
	names := b.unread()
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("spans of %s are not read yet (of them only what they say in gen_ai.* attributes is); pawl needs a dialect for them", strings.Join(names, ", "))
}

// keptBy says of what an emitter always writes that it was lost on the way.
func keptBy(emitter, key string) string {
	return emitter + " writes " + key + " on every call of a model: look for a processor that takes it out on the way, or raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"
}
