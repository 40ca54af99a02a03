package trajectory

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// mergeTools finds the executions that count. A tool span right inside another of the same call is that call once more (a protocol's client
// and server below the framework's own span); so is a second span with the same call id at the same time.
func (b *builder) mergeTools() {
	byID := map[string]*node{}
	for _, n := range b.nodes {
		if n.facts.Role != RoleTool {
			continue
		}
		if mergedTools(n.facts.ToolName) {
			n.facts.Role = RoleInner
			continue
		}
		if n.facts.ToolName == "" {
			n.facts.ToolName = toolNameOfSpan(n.span.Name)
		}
		outer := toolAbove(n)
		if outer != nil && sameTool(outer, n) {
			foldTool(outer.stands(), n)
			continue
		}
		if id := n.facts.CallID; id != "" {
			if twin := byID[id]; twin != nil && !n.end.IsZero() && !twin.end.IsZero() && (within(twin, n) && sameArguments(twin, n) || recordOf(twin, n)) {
				foldTool(twin, n)
				continue
			}
			byID[id] = n
		}
		if twin := b.toolTwin(n); twin != nil {
			foldTool(twin, n)
			continue
		}
		b.tools = append(b.tools, n)
	}
}

// doubtful makes spans that may stand for the run of a tool into structure, unless a model asked for a tool of that name.
func (b *builder) doubtful() {
	var names map[string]bool
	for _, n := range b.nodes {
		if !n.facts.IfAsked {
			continue
		}
		if names == nil {
			names = b.requestedNames()
		}
		if !names[n.facts.ToolName] {
			n.facts.Role = RoleNone
		}
	}
}

// requestedNames are the names of the tools that models asked for.
func (b *builder) requestedNames() map[string]bool {
	names := map[string]bool{}
	for _, n := range b.nodes {
		for _, m := range n.facts.Output {
			for _, p := range m.Parts {
				if p.Kind == PartToolCall {
					names[p.Name] = true
				}
			}
		}
	}
	return names
}

// toolTwin finds an execution that another instrumentation described beside this one: same name and arguments, one within the other in time.
func (b *builder) toolTwin(n *node) *node {
	for _, o := range slices.Backward(b.tools) {
		if !o.end.IsZero() && o.end.Before(n.start) {
			continue
		}
		apart := o.span.Scope != n.span.Scope && o.dialect != n.dialect && within(o, n) || recordOf(o, n)
		if apart && o.facts.ToolName == n.facts.ToolName && !absent(n.facts.Arguments) &&
			o.facts.Arguments.equal(n.facts.Arguments) && !o.end.IsZero() && !n.end.IsZero() &&
			(o.facts.CallID == "" || n.facts.CallID == "" || o.facts.CallID == n.facts.CallID) {
			return o
		}
	}
	return nil
}

// mergedTools says whether a name is ADK's for the span that repeats parallel calls.
func mergedTools(name string) bool { return name == "(merged tools)" || name == "(merged)" }

// toolNameOfSpan takes the operation's word off a span's name.
func toolNameOfSpan(name string) string {
	for _, prefix := range []string{"execute_tool ", "tools/call ", "tool_call ", "client_tool_call ", "tool."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return strings.TrimSuffix(name, ".tool")
}

// toolAbove is the nearest tool span around a node, unless a model or an agent works between the two.
func toolAbove(n *node) *node {
	for p := range n.above {
		switch p.facts.Role {
		case RoleTool:
			return p
		case RoleModel, RoleAgent:
			return nil
		}
	}
	return nil
}

func sameTool(outer, inner *node) bool {
	return inner.span.Attrs.Has("mcp.method.name") || outer.facts.ToolName == inner.facts.ToolName ||
		outer.facts.CallID != "" && outer.facts.CallID == inner.facts.CallID || className(outer.facts.ToolName)
}

func sameArguments(a, b *node) bool {
	x, y := a.facts.Arguments, b.facts.Arguments
	return absent(x) || absent(y) || x.equal(y)
}

// equal says whether two values are the same, however they are spelled.
func (v Value) equal(o Value) bool {
	if v.JSON != nil || o.JSON != nil {
		return string(v.JSON) == string(o.JSON)
	}
	return v.Raw == o.Raw
}

func foldTool(outer, inner *node) {
	inner.folded = outer
	if className(outer.facts.ToolName) && !className(inner.facts.ToolName) {
		outer.facts.ToolName = inner.facts.ToolName
	}
	fill(&outer.facts, inner.facts)
	if outer.err == nil {
		outer.err = inner.err
	}
}

// className says whether a tool's name is only the class that a framework wraps tools in.
func className(name string) bool {
	switch name {
	case "", "DynamicStructuredTool", "DynamicTool", "StructuredTool", "Tool", "FunctionTool", "BaseTool", "FunctionInvocation":
		return true
	}
	return false
}

// asked is one call that a model asked for.
type asked struct {
	part     Part
	agent    *node
	call     *call // the call that asked, nil when only a history tells of it
	seenIn   *call // the call whose history told of it first, when call is nil
	recalled bool
	echoed   bool // its own message was met in a later history
	exec     *node
	result   *Part
	resultIn *call // the call in whose input the result was
}

// toolCalls pairs what was asked for with what was executed and answered.
func (b *builder) toolCalls() {
	b.collect()
	b.pair()
	b.emit()
}

// collect walks the calls in order: what their inputs tell of earlier calls, then what they ask for.
func (b *builder) collect() {
	repeated := b.repeatedIDs()
	last := map[*node]*call{}
	for _, c := range b.calls {
		agent := c.node.agent
		recallFrom := c.lastUser()
		for i, m := range c.fresh {
			for _, p := range m.Parts {
				if repeated[p.ID] {
					p.ID = ""
				}
				switch p.Kind {
				case PartToolCall:
					b.echo(p, c, last[agent], c.first && i < recallFrom)
				case PartToolResult:
					b.answer(p, c, last[agent], c.first && i < recallFrom)
				}
			}
		}
		splitJoined(c.node.facts.Output)
		for _, m := range c.node.facts.Output {
			for _, p := range m.Parts {
				if p.Kind != PartToolCall {
					continue
				}
				if repeated[p.ID] {
					p.ID = ""
				}
				b.ask(p, c)
			}
		}
		last[agent] = c
	}
	b.hindsight(last)
}

// ask notes a request. Some emitters write a call's input later, when its answer or all of the run has been added to it: a request that such
// a history already told of is this one.
func (b *builder) ask(p Part, c *call) {
	if p.ID != "" {
		for _, a := range b.asked {
			if a.seenIn != nil && a.part.ID == p.ID {
				a.call, a.recalled, a.agent, a.part = c, false, c.node.agent, p
				return
			}
		}
	}
	// Unreadable arguments are told twice by some: among the calls, and once more among the invalid ones.
	if p.ID == "" && p.Value.Parsed == ParsedBroken && slices.ContainsFunc(b.asked, func(a *asked) bool {
		return a.call == c && a.part.Name == p.Name && a.part.Value.Raw == p.Value.Raw
	}) {
		return
	}
	b.asked = append(b.asked, &asked{part: p, agent: c.node.agent, call: c})
}

// repeatedIDs are the call ids that more than one request carries: they identify nothing.
func (b *builder) repeatedIDs() map[string]bool {
	count := map[string]int{}
	for _, c := range b.calls {
		for _, m := range c.node.facts.Output {
			for _, p := range m.Parts {
				if p.Kind == PartToolCall && p.ID != "" {
					count[p.ID]++
				}
			}
		}
	}
	out := map[string]bool{}
	for id, n := range count {
		if n > 1 {
			out[id] = true
		}
	}
	return out
}

// lastUser is the index, among the new messages, of the last one from the user: what lies before it belongs to earlier turns.
func (c *call) lastUser() int {
	at := 0
	for i, m := range c.fresh {
		if m.Role == "user" && len(userTexts([]Message{m})) > 0 {
			at = i
		}
	}
	return at
}

// echo takes a request that a history tells of. Most were seen when the model made them; some emitters show them only here.
func (b *builder) echo(p Part, in, prev *call, past bool) {
	if a := b.askedBefore(p, in.node.agent); a != nil {
		a.echoed = true
		a.part.ID = cmp.Or(a.part.ID, p.ID)
		return
	}
	if past {
		return
	}
	a := &asked{part: p, agent: in.node.agent, call: prev, seenIn: in, recalled: prev == nil, echoed: true}
	b.asked = append(b.asked, a)
}

// askedBefore is the request that a history's message repeats: the one with its id, else, where one of the two has none, the first of equal
// name and arguments that no other message repeated.
func (b *builder) askedBefore(p Part, agent *node) *asked {
	if p.ID != "" {
		for _, a := range b.asked {
			if a.part.ID == p.ID {
				return a
			}
		}
	}
	for _, a := range b.asked {
		if !a.echoed && (p.ID == "" || a.part.ID == "") && a.agent == agent && a.part.Name == p.Name && a.part.Value.equal(p.Value) {
			return a
		}
	}
	return nil
}

// answer gives a result out of a history to the request that it belongs to: by id, by name, else to the oldest that has none.
func (b *builder) answer(p Part, in, prev *call, past bool) {
	if past {
		return
	}
	a := b.questionOf(p, in.node.agent)
	if a == nil || a.result != nil {
		return
	}
	a.result, a.resultIn = new(p), in
}

func (b *builder) questionOf(p Part, agent *node) *asked {
	if p.ID != "" {
		for _, a := range b.asked {
			if a.part.ID == p.ID {
				return a
			}
		}
		// An id that no request has: some emitters give requests and results ids of different kinds.
		if i := slices.IndexFunc(b.asked, func(a *asked) bool { return a.agent == agent && a.part.ID == "" && a.result == nil }); i < 0 {
			return nil
		}
	}
	for _, a := range b.asked {
		if a.result == nil && a.agent == agent && (p.Name == "" || a.part.Name == p.Name) && (p.ID == "" || a.part.ID == "") {
			return a
		}
	}
	return nil
}

// pair joins executions with requests: by id, by name and arguments, by name and order; within one agent, save for ids. An execution whose
// clock was off may seem earlier than its request. Requests that are recalled were executed elsewhere.
func (b *builder) pair() {
	free := slices.Clone(b.tools)
	for _, match := range []func(*asked, *node) bool{
		func(a *asked, n *node) bool { return a.before(n) && a.part.ID != "" && a.part.ID == n.facts.CallID },
		func(a *asked, n *node) bool { return n.shift != 0 && a.part.ID != "" && a.part.ID == n.facts.CallID },
		func(a *asked, n *node) bool {
			return a.before(n) && a.agent == n.agent && a.part.Name == n.facts.ToolName && a.part.Value.equal(n.facts.Arguments)
		},
		func(a *asked, n *node) bool {
			return a.before(n) && a.agent == n.agent && a.part.Name == n.facts.ToolName
		},
		func(a *asked, n *node) bool {
			return a.before(n) && className(n.facts.ToolName) && !absent(n.facts.Arguments) && a.part.Value.equal(n.facts.Arguments)
		},
		func(a *asked, n *node) bool {
			return a.before(n) && a.part.Name == n.facts.ToolName && a.part.Value.equal(n.facts.Arguments)
		},
	} {
		free = slices.DeleteFunc(free, func(n *node) bool {
			for _, a := range b.asked {
				if a.exec == nil && !a.recalled && match(a, n) {
					a.exec = n
					return true
				}
			}
			return false
		})
	}
}

// before says whether a request can have led to an execution.
func (a *asked) before(n *node) bool {
	return a.call == nil || !n.start.Before(a.call.node.start)
}

// emit makes the tool calls, in the order in which they happened.
func (b *builder) emit() {
	type entry struct {
		at   time.Time // when it was asked for, or began; requests of one answer stay in their order
		ask  *asked
		exec *node
	}
	all := make([]entry, 0, len(b.asked)+len(b.tools))
	paired := make(map[*node]bool, len(b.asked))
	at := b.dated()
	for i, a := range b.asked {
		paired[a.exec] = true
		all = append(all, entry{at[i], a, a.exec})
	}
	for _, n := range b.tools {
		if !paired[n] {
			all = append(all, entry{n.start, nil, n})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(x, y entry) int { return x.at.Compare(y.at) })
	b.out.ToolCalls = make([]ToolCall, len(all))
	for i, e := range all {
		t := &b.out.ToolCalls[i]
		if e.ask != nil {
			b.requested(e.ask, e.at, t)
		} else {
			b.executed(e.exec, t)
		}
		b.judge(t, e.ask, e.exec)
		if t.Model >= 0 {
			m := &b.out.ModelCalls[t.Model]
			m.ToolCalls = append(m.ToolCalls, i)
		}
	}
}

// at is when a call was asked for: when the answer of the model was complete, but before the call whose history tells of it, and before it
// was executed; a span around a whole run ends long after.
func (a *asked) at() time.Time {
	if a.call == nil {
		return a.seenIn.node.start
	}
	at := a.call.node.ended()
	if a.seenIn != nil && a.seenIn.node.start.After(a.call.node.start) {
		at = earlierOf(at, a.seenIn.node.start)
	}
	if a.exec != nil && a.before(a.exec) {
		at = earlierOf(at, a.exec.start)
	}
	return at
}

// dated gives every request its time. One that was not executed comes before the next of the same answer that was.
func (b *builder) dated() []time.Time {
	out := make([]time.Time, len(b.asked))
	next := map[*call]time.Time{}
	for i, a := range slices.Backward(b.asked) {
		out[i] = a.at()
		if at, ok := next[a.call]; ok && a.call != nil {
			out[i] = earlierOf(out[i], at)
		}
		if a.exec != nil {
			next[a.call] = out[i]
		}
	}
	return out
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// requested fills the tool call of a request, with its execution when there is one.
func (b *builder) requested(a *asked, at time.Time, t *ToolCall) {
	from := cmp.Or(a.call, a.seenIn)
	if a.exec != nil {
		b.executed(a.exec, t)
		if !a.before(a.exec) { // where its clock was set to is only a guess
			late := at.Sub(t.Start)
			t.Start = t.Start.Add(late)
			if !t.End.IsZero() {
				t.End = t.End.Add(late)
			}
		}
		t.ID, t.Name = cmp.Or(a.part.ID, t.ID), cmp.Or(a.part.Name, t.Name)
		unread := a.part.Value.Parsed == ParsedBroken && !cut(a.part.Value) && string(t.Arguments.JSON) == "{}" // what a framework makes of no JSON
		if absent(t.Arguments) || t.Arguments.JSON == nil && a.part.Value.JSON != nil || unread {
			t.Arguments = a.part.Value
		}
	} else {
		*t = ToolCall{
			SpanID: from.node.span.ID, ID: a.part.ID, Name: a.part.Name, Agent: from.node.agentName, Model: -1, Recalled: a.recalled,
			Arguments: a.part.Value, Start: at,
		}
	}
	t.RequestSpanID, t.Requested = from.node.span.ID, true
	if a.call != nil {
		t.Model = a.call.index
	}
}

func (b *builder) executed(n *node, t *ToolCall) {
	*t = ToolCall{
		SpanID: n.span.ID, ID: n.facts.CallID, Name: n.facts.ToolName, Agent: n.agentName, Model: -1, Executed: true,
		Arguments: n.facts.Arguments, Beneath: n.beneath(), Start: n.start, End: n.end,
	}
}
