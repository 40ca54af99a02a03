package trajectory

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// judge finds the result and the outcome of a tool call: from its execution, else from what the model was told later.
func (b *builder) judge(t *ToolCall, a *asked, exec *node) {
	t.Outcome = OutcomeUnknown
	t.Result.Parsed = ParsedAbsent
	if exec != nil {
		b.judgeExecution(t, exec)
	}
	if a != nil && a.result != nil {
		t.answer(a.result, a.resultIn.node.span.ID)
	}
	t.timedOut()
}

func (t *ToolCall) timedOut() {
	if t.Error != nil && t.Outcome == OutcomeError && isTimeout(t.Error) {
		t.Outcome = OutcomeTimeout
	}
}

func (b *builder) judgeExecution(t *ToolCall, n *node) {
	f := &n.facts
	if f.HasResult {
		t.Result, t.HasResult, t.ResultSpanID = f.Result, true, n.span.ID
	}
	switch e := b.executionError(n); {
	case f.Denied || deniedResult(f.Result):
		t.Outcome = OutcomeDenied
		t.Error = e
		if f.ByPolicy {
			t.Error = cmp.Or(e, &Error{})
			t.Error.Type = ErrDeniedByPolicy
		}
	case e != nil:
		n.deeper(e, 0)
		e.Type = cmp.Or(frameworkVerdict(e.Type+" "+e.Message), e.Type)
		t.Outcome, t.Error = OutcomeError, e
	case f.HasResult || n.span.Status == StatusOK && !n.end.IsZero() && !n.clientSide() && !b.recordsResults():
		t.Outcome = OutcomeOK
	}
}

// clientSide says whether a span only tells that the call was passed to the client, who may or may not have a tool of that name.
func (n *node) clientSide() bool {
	return n.span.Attrs.Text("gen_ai.operation.name") == "client_tool_call"
}

// recordsResults says whether any tool of the trace has its result on its span: then a span without one proves nothing.
func (b *builder) recordsResults() bool {
	return slices.ContainsFunc(b.tools, func(n *node) bool { return n.facts.HasResult })
}

// executionError is what the execution's span and result say went wrong. An exception that the tool got over, and a status that was copied
// from elsewhere, are no error where a good result is there.
func (b *builder) executionError(n *node) *Error {
	f := &n.facts
	result := resultError(f.Result)
	if n.err != nil {
		good := f.HasResult && result == nil && f.ToolError == "" && len(f.Result.JSON) > 0 && string(f.Result.JSON) != "null"
		if !good || n.span.Status == StatusError && !b.smeared(n) {
			return new(*n.err)
		}
	}
	switch {
	case f.ToolError != "":
		e := &Error{Type: "tool_error", Message: f.ToolError}
		if f.ToolError == "error" || f.ToolError == "tool_error" {
			e.Message = ""
		}
		if result != nil {
			e.Type, e.Message = result.Type, cmp.Or(e.Message, result.Message)
		}
		e.Message = cmp.Or(e.Message, textOfValue(f.Result))
		return e
	case f.HasResult:
		return result
	}
	return nil
}

// answer takes the result that a later input, on that span, told the model. It completes what the execution's span says and never overrules it.
func (t *ToolCall) answer(r *Part, span string) {
	t.answered = true
	if r.Unrecorded && !r.Failed {
		return
	}
	if !t.HasResult && !r.Unrecorded || absent(t.Result) && t.Result.Raw == "" && r.Value.Raw != "" || t.Result.Truncated && !r.Value.Truncated {
		t.Result, t.HasResult, t.ResultSpanID = r.Value, true, span
	}
	if t.Outcome == OutcomeError || t.Outcome == OutcomeDenied {
		return
	}
	if t.Outcome == OutcomeOK && !r.Failed && r.Value.JSON != nil && bytes.Equal(r.Value.JSON, t.Result.JSON) {
		return // the execution's own, which was judged
	}
	e := resultError(r.Value)
	if e == nil && r.Failed {
		text := textOfValue(r.Value)
		e = &Error{Type: "tool_error", Message: text}
	}
	switch {
	case deniedResult(r.Value):
		t.Outcome = OutcomeDenied
	case e != nil:
		e.Type = cmp.Or(frameworkVerdict(e.Message), e.Type)
		e.Code = cmp.Or(e.Code, codeInMessage(e.Message))
		t.Outcome, t.Error = OutcomeError, e
		t.quoted()
	default:
		t.Outcome = OutcomeOK
	}
}

// quoted takes the arguments out of the words with which the AI SDK refuses them, where the request tells only what was made of them: none.
func (t *ToolCall) quoted() {
	_, rest, ok := strings.Cut(t.Error.Message, "JSON parsing failed: Text: ")
	text, _, ends := strings.Cut(rest, ".\nError message:")
	if ok && ends && (absent(t.Arguments) || string(t.Arguments.JSON) == "{}") {
		t.Arguments = ParseValue(text)
	}
}

// deniedResult says whether a result is a framework's word that a person or a policy refused the call.
func deniedResult(v Value) bool {
	if v.JSON.Kind() != '{' || !bytes.Contains(v.JSON, []byte("denied")) {
		return false
	}
	o := readObject(string(v.JSON))
	return o.isTrue("denied") || o.str("type") == "execution-denied" || o.str("status") == "denied"
}

// outcomes decides about the requests that nothing answered.
func (b *builder) outcomes() {
	b.completeness()
	for i := range b.out.ToolCalls {
		t := &b.out.ToolCalls[i]
		if t.Executed || t.HasResult || t.answered || t.Recalled || t.Model < 0 || t.Outcome != OutcomeUnknown {
			continue
		}
		m := &b.out.ModelCalls[t.Model]
		if def, ok := m.Offered.Tool(t.Name); ok && def.Builtin {
			continue
		}
		if outputTool(t.Name) {
			t.Outcome = OutcomeOK // its arguments are the answer: nothing is executed
			continue
		}
		c := b.calls[t.Model]
		if e := b.refusal(c, t.Name); e != nil {
			t.Outcome, t.Error = OutcomeError, e
			continue
		}
		if target, ok := transferTarget(t.Name, t.Arguments); ok && b.worked(target) {
			t.Outcome = OutcomeOK
			continue
		}
		if t.Arguments.Parsed == ParsedBroken {
			if !cut(t.Arguments) { // nobody could execute that: the arguments are the failure
				t.Outcome, t.Error = OutcomeError, &Error{Type: ErrInvalidArguments, Message: "the arguments are not JSON"}
			}
			continue
		}
		if b.whole() && b.wentOn(c) {
			t.Outcome = OutcomeMissing
		}
	}
}

// outputTool says whether a tool is a framework's way to end the run with a typed answer.
func outputTool(name string) bool { return name == "final_answer" || name == "final_result" }

// refusal is the error with which a framework ended the run because of this very request: it names a tool that does not exist, or its
// arguments do not fit.
func (b *builder) refusal(c *call, tool string) *Error {
	if b.later(c) != nil {
		return nil
	}
	look := func(n *node) *Error {
		if n.err == nil || frameworkVerdict(n.err.Type+" "+n.err.Message) == "" {
			return nil
		}
		if tool != "" && !strings.Contains(n.err.Message, tool) && len(b.out.ModelCalls[c.index].ToolCalls) > 1 {
			return nil
		}
		e := *n.err
		e.Type = frameworkVerdict(e.Type + " " + e.Message)
		return &e
	}
	if e := look(c.node); e != nil {
		return e
	}
	for p := range c.node.above {
		if e := look(p); e != nil {
			return e
		}
	}
	return nil
}

// later is the next call of the same agent.
func (b *builder) later(c *call) *call {
	for _, o := range b.calls[c.index+1:] {
		if o.node.agent == c.node.agent {
			return o
		}
	}
	return nil
}

// whole says that nothing was cut off or dropped, so that what is not there did not happen.
func (b *builder) whole() bool {
	return !b.out.Complete.Truncated && b.out.Complete.Dropped == 0 && b.unplaced == 0
}

// wentOn says that the agent got past a call whose request was never answered: it called the model again, with an input in which the answer
// would show, or it ended well. A run that ended in an error or waits for a person did not get past it.
func (b *builder) wentOn(c *call) bool {
	if next := b.later(c); next != nil {
		return next.hasIn
	}
	top := c.node.agent
	if top == nil {
		top = b.root
	}
	if top == nil || top == c.node || top.end.IsZero() || top.err != nil || b.paused() {
		return false
	}
	for p := range top.above {
		if p.err != nil {
			return false
		}
	}
	return true
}

// paused says whether the run stopped to wait for a person.
func (b *builder) paused() bool { return slices.ContainsFunc(b.nodes, (*node).waits) }

// truncatedKey is the family of the mark that pawl leaves on a span which it cut.
var truncatedKey = familyOf("pawl.truncated")

// completeness tells what may be missing from the trace as a whole.
func (b *builder) completeness() {
	c := &b.out.Complete
	c.HasRoot, c.Truncated = b.root != nil, b.trace.Truncated || b.cut
	for _, n := range b.nodes {
		c.Dropped += n.span.Dropped
		if n.end.IsZero() && n.span.ParentID != missingParent && n.facts.Role != RoleInner {
			c.Unfinished++
		}
		if n.survey.families&truncatedKey != 0 {
			v, _ := n.span.Attrs.Bool("pawl.truncated")
			c.Truncated = c.Truncated || v
		}
		if v, ok := n.span.Resource.Bool("pawl.test.synthetic_time"); ok && v {
			c.SyntheticTime = true
		}
	}
	for _, n := range b.nodes {
		if n.facts.Role == RoleModel && cutText(n.facts.Input.Text) {
			c.Truncated = true
		}
	}
	for _, t := range b.out.ToolCalls {
		if cut(t.Arguments) || cut(t.Result) {
			c.Truncated = true
		}
	}
}

// cutText says whether a JSON list ends before its end.
func cutText(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "[{") && !strings.HasSuffix(text, "]")
}

// cut says whether a limit took the end of a value; what was withheld on purpose is not cut.
func cut(v Value) bool { return v.Truncated && v.Parsed == ParsedBroken }
