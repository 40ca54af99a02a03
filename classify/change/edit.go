package change

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// DropStep takes one step out, and with it what it stands for.
func DropStep(t *trajectory.Trajectory, step int) {
	s := t.Steps[step]
	switch s.Kind {
	case trajectory.StepTool:
		DropCall(t, s.Index)
		return
	case trajectory.StepModel:
		DropModel(t, s.Index)
		return
	case trajectory.StepHandoff:
		t.Handoffs = slices.Delete(t.Handoffs, s.Index, s.Index+1)
		dropIndex(t, trajectory.StepHandoff, s.Index)
		return
	case trajectory.StepUser:
		if i := slices.Index(t.UserMessages, s.Text); i >= 0 {
			t.UserMessages = slices.Delete(t.UserMessages, i, i+1)
		}
	case trajectory.StepReply:
		if t.Reply != nil && *t.Reply == s.Text {
			t.Reply = nil
		}
	}
	t.Steps = slices.Delete(t.Steps, step, step+1)
}

// DropCall takes a tool call out: its request, its execution and its result. A model call that asked for it alone, and said nothing, goes too.
func DropCall(t *trajectory.Trajectory, i int) {
	c := t.ToolCalls[i]
	forget(t, i)
	t.ToolCalls = slices.Delete(t.ToolCalls, i, i+1)
	dropIndex(t, trajectory.StepTool, i)
	for m := range t.ModelCalls {
		t.ModelCalls[m].ToolCalls = without(t.ModelCalls[m].ToolCalls, i)
	}
	if c.Model < 0 {
		return
	}
	if m := &t.ModelCalls[c.Model]; len(m.ToolCalls) == 0 && m.Text == "" && m.Error == nil && len(t.ModelCalls) > 1 {
		DropModel(t, c.Model)
	}
}

// DropModel takes a model call out, and the tool calls that it asked for. What its input brought, the agent's next call brings.
func DropModel(t *trajectory.Trajectory, m int) {
	for {
		i := slices.IndexFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return c.Model == m })
		if i < 0 {
			break
		}
		t.ToolCalls[i].Model = -1
		DropCall(t, i)
	}
	gone := t.ModelCalls[m]
	t.ModelCalls = slices.Delete(t.ModelCalls, m, m+1)
	dropIndex(t, trajectory.StepModel, m)
	for i := range t.ToolCalls {
		if t.ToolCalls[i].Model > m {
			t.ToolCalls[i].Model--
		}
	}
	for i := m; i < len(t.ModelCalls); i++ {
		if n := &t.ModelCalls[i]; n.Agent == gone.Agent {
			n.New = append(slices.Clone(gone.New), n.New...)
			if n.System == "" {
				n.System = gone.System
			}
			return
		}
	}
}

// dropIndex takes the step of one kind and index out, and counts those above it down.
func dropIndex(t *trajectory.Trajectory, kind trajectory.StepKind, index int) {
	t.Steps = slices.DeleteFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == kind && s.Index == index })
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Kind == kind && s.Index > index {
			s.Index--
		}
	}
}

// without returns the indexes without one, and those above it counted down.
func without(list []int, gone int) []int {
	var out []int
	for _, i := range list {
		switch {
		case i < gone:
			out = append(out, i)
		case i > gone:
			out = append(out, i-1)
		}
	}
	return out
}

// forget takes what messages tell of a call out of them.
func forget(t *trajectory.Trajectory, i int) {
	eachPart(t, i, func(*trajectory.Part) bool { return false })
}

// eachPart shows every part of a message that tells of a call, by its id, and drops those for which keep is false. Without an id, or with one
// that two calls share, nothing is certain and nothing is shown.
func eachPart(t *trajectory.Trajectory, call int, keep func(*trajectory.Part) bool) {
	id := t.ToolCalls[call].ID
	for i := range t.ToolCalls {
		if id == "" || i != call && t.ToolCalls[i].ID == id {
			return
		}
	}
	for m := range t.ModelCalls {
		list := t.ModelCalls[m].New
		for i := range list {
			var parts []trajectory.Part
			for _, p := range list[i].Parts {
				mine := p.ID == id && (p.Kind == trajectory.PartToolCall || p.Kind == trajectory.PartToolResult)
				if !mine || keep(&p) {
					parts = append(parts, p)
				}
			}
			list[i].Parts = parts
		}
		t.ModelCalls[m].New = slices.DeleteFunc(list, func(x trajectory.Message) bool { return len(x.Parts) == 0 })
	}
}

// Answer gives a tool call a good result: the text is JSON, or what the tool says.
func Answer(t *trajectory.Trajectory, i int, text string) {
	c := &t.ToolCalls[i]
	v := trajectory.ParseValue(text)
	c.Result, c.HasResult, c.Outcome, c.Error = v, true, trajectory.OutcomeOK, nil
	if c.ResultSpanID == "" {
		c.ResultSpanID = c.SpanID
	}
	eachPart(t, i, func(p *trajectory.Part) bool {
		if p.Kind == trajectory.PartToolResult {
			p.Value, p.Failed, p.Unrecorded, p.Outcome = v, false, false, ""
		}
		return true
	})
}

// Fail makes a tool call fail with a message, which is its result too.
func Fail(t *trajectory.Trajectory, i int, message string) {
	Answer(t, i, message)
	t.ToolCalls[i].Outcome, t.ToolCalls[i].Error = trajectory.OutcomeError, &trajectory.Error{Message: message}
	eachPart(t, i, func(p *trajectory.Part) bool {
		p.Failed = p.Failed || p.Kind == trajectory.PartToolResult
		return true
	})
}

// Argue gives a tool call other arguments, as JSON.
func Argue(t *trajectory.Trajectory, i int, args jsontext.Value) {
	args = slices.Clone(args)
	if args.Canonicalize() != nil {
		return
	}
	v := trajectory.Value{Raw: string(args), JSON: args, Parsed: trajectory.ParsedObject}
	t.ToolCalls[i].Arguments = v
	eachPart(t, i, func(p *trajectory.Part) bool {
		if p.Kind == trajectory.PartToolCall {
			p.Value = v
		}
		return true
	})
}

// Rename gives a tool call another tool.
func Rename(t *trajectory.Trajectory, i int, tool string) {
	t.ToolCalls[i].Name = tool
	eachPart(t, i, func(p *trajectory.Part) bool {
		if p.Name != "" {
			p.Name = tool
		}
		return true
	})
}

// Reply gives the run another answer at its end, be there one or none.
func Reply(t *trajectory.Trajectory, text string) {
	t.Reply = &text
	for i := len(t.Steps) - 1; i >= 0; i-- {
		if t.Steps[i].Kind == trajectory.StepReply {
			t.Steps[i].Text = text
			break
		}
		if t.Steps[i].Kind == trajectory.StepUser || i == 0 {
			t.Steps = append(t.Steps, trajectory.Step{Kind: trajectory.StepReply, Index: -1, Text: text, Start: t.End, End: t.End})
			break
		}
	}
	if n := len(t.ModelCalls); n > 0 && len(t.ModelCalls[n-1].ToolCalls) == 0 {
		t.ModelCalls[n-1].Text = text
	}
}

// Call is a tool call that a repair or a twin puts in.
type Call struct {
	Tool      string
	Arguments string // JSON; "" is {}
	Result    string // JSON or text
	Agent     string
}

// Insert puts a model call that asks for one tool, and its good answer, before a step; step len(t.Steps) is the end. It returns the tool call.
func Insert(t *trajectory.Trajectory, step int, c Call) int {
	if c.Arguments == "" {
		c.Arguments = "{}"
	}
	at, trace := t.End, ""
	if step < len(t.Steps) {
		at, trace = t.Steps[step].Start, t.Steps[step].TraceID
	} else if step > 0 {
		trace = t.Steps[step-1].TraceID
	}
	m, i := before(t, step, trajectory.StepModel, len(t.ModelCalls)), before(t, step, trajectory.StepTool, len(t.ToolCalls))
	makeRoom(t, m, i)
	span := "inserted-" + c.Tool
	model := trajectory.ModelCall{SpanID: span + "-asked", TraceID: trace, Agent: c.Agent, FinishReason: trajectory.FinishToolCalls, ToolCalls: []int{i}, Start: at, End: at}
	like(t, &model, m)
	model.Offered = offering(model.Offered, c.Tool)
	call := trajectory.ToolCall{SpanID: span, TraceID: trace, RequestSpanID: model.SpanID, ResultSpanID: span, ID: span, Name: c.Tool, Agent: c.Agent, Model: m,
		Requested: true, Executed: true, Arguments: trajectory.ParseValue(c.Arguments), Result: trajectory.ParseValue(c.Result), HasResult: true,
		Outcome: trajectory.OutcomeOK, Start: at, End: at}
	t.ModelCalls, t.ToolCalls = slices.Insert(t.ModelCalls, m, model), slices.Insert(t.ToolCalls, i, call)
	t.Steps = slices.Insert(t.Steps, step,
		trajectory.Step{Kind: trajectory.StepModel, SpanID: model.SpanID, TraceID: trace, Agent: c.Agent, Index: m, Start: at, End: at},
		trajectory.Step{Kind: trajectory.StepTool, SpanID: span, TraceID: trace, Agent: c.Agent, Index: i, Start: at, End: at})
	return i
}

// before returns the index of the first call of a kind whose step is not before the given one.
func before(t *trajectory.Trajectory, step int, kind trajectory.StepKind, none int) int {
	low := none
	for _, s := range t.Steps[step:] {
		if s.Kind == kind {
			low = min(low, s.Index)
		}
	}
	return low
}

// makeRoom counts up what points at model call m and tool call i, or beyond.
func makeRoom(t *trajectory.Trajectory, m, i int) {
	for s := range t.Steps {
		switch p := &t.Steps[s]; {
		case p.Kind == trajectory.StepModel && p.Index >= m, p.Kind == trajectory.StepTool && p.Index >= i:
			p.Index++
		}
	}
	for k := range t.ToolCalls {
		if t.ToolCalls[k].Model >= m {
			t.ToolCalls[k].Model++
		}
	}
	for k := range t.ModelCalls {
		for j, n := range t.ModelCalls[k].ToolCalls {
			if n >= i {
				t.ModelCalls[k].ToolCalls[j]++
			}
		}
	}
}

// like makes a new model call look like its neighbour: the same model, the same tools on offer, and one token of each kind that is counted.
func like(t *trajectory.Trajectory, m *trajectory.ModelCall, at int) {
	if len(t.ModelCalls) == 0 {
		return
	}
	n := &t.ModelCalls[min(at, len(t.ModelCalls)-1)]
	m.Provider, m.ModelRequested, m.ModelResponded, m.Offered, m.InTotal = n.Provider, n.ModelRequested, n.ModelResponded, n.Offered, n.InTotal
	if n.Usage.Input != nil {
		m.Usage.Input = new(int64(1))
	}
	if n.Usage.Output != nil {
		m.Usage.Output = new(int64(1))
	}
	if n.Usage.CostUSD != nil {
		m.Usage.CostUSD, m.Usage.CostFrom = new(float64), n.Usage.CostFrom
	}
	if n.FinishReason == "" {
		m.FinishReason = ""
	}
}

// offering returns a tool set that has the tool too; nil stays nil, since then nothing is known of the offer.
func offering(set *trajectory.ToolSet, tool string) *trajectory.ToolSet {
	if _, ok := set.Tool(tool); set == nil || ok {
		return set
	}
	return trajectory.NewToolSet(append(slices.Clone(set.Tools), trajectory.ToolDef{Name: tool}))
}
