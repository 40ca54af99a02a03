package trajectory

import "cmp"

// fill completes what one description of a span or call left open with what another states.
func fill(f *Facts, o Facts) {
	if f.Role == RoleNone {
		f.Role = o.Role
	}
	for _, p := range []struct{ to, from *string }{
		{&f.Agent, &o.Agent}, {&f.SessionID, &o.SessionID}, {&f.UserID, &o.UserID}, {&f.Provider, &o.Provider},
		{&f.ModelRequested, &o.ModelRequested}, {&f.ModelResponded, &o.ModelResponded}, {&f.ResponseID, &o.ResponseID},
		{&f.FinishRaw, &o.FinishRaw}, {&f.System, &o.System}, {&f.ToolName, &o.ToolName}, {&f.CallID, &o.CallID},
		{&f.ToolError, &o.ToolError}, {&f.HandoffFrom, &o.HandoffFrom}, {&f.HandoffTo, &o.HandoffTo},
		{&f.UserText, &o.UserText}, {&f.Reply, &o.Reply}, {&f.OfferedText, &o.OfferedText},
	} {
		*p.to = cmp.Or(*p.to, *p.from)
	}
	fillUsage(f, o)
	if f.Input.Empty() {
		f.Input = o.Input
	}
	if thinner(f.Output, o.Output) {
		f.Output = o.Output
	}
	if poorer(f.Offered, o.Offered) {
		f.Offered = o.Offered
	}
	if absent(f.Arguments) || f.Arguments.Truncated && !absent(o.Arguments) && !o.Arguments.Truncated {
		f.Arguments = o.Arguments
	}
	if !f.HasResult || absent(f.Result) && !absent(o.Result) || f.Result.Truncated && o.HasResult && !o.Result.Truncated {
		f.Result, f.HasResult = o.Result, f.HasResult || o.HasResult
	}
	if f.Error == nil {
		f.Error = o.Error
	}
	f.Denied, f.ByPolicy, f.Streamed = f.Denied || o.Denied, f.ByPolicy || o.ByPolicy, f.Streamed || o.Streamed
	if len(f.Feedback) == 0 {
		f.Feedback = o.Feedback
	}
}

func fillUsage(f *Facts, o Facts) {
	u := &f.Usage
	if u.Input == nil && u.Output == nil {
		f.InputExcludes, f.OutputExcludes = o.InputExcludes, o.OutputExcludes
		cost := cmp.Or(u.CostUSD, o.Usage.CostUSD)
		*u = o.Usage
		u.CostUSD = cost
		return
	}
	*u = u.or(o.Usage)
}

// thinner says whether an answer tells less than another: fewer requested calls, or no text where the other has some.
func thinner(a, b []Message) bool {
	calls := func(ms []Message) (n int) {
		for _, m := range ms {
			for _, p := range m.Parts {
				if p.Kind == PartToolCall {
					n++
				}
			}
		}
		return n
	}
	if ca, cb := calls(a), calls(b); ca != cb {
		return ca < cb
	}
	return textOf(a) == "" && (textOf(b) != "" || len(a) == 0)
}

// poorer says whether a set of offered tools tells less than another.
func poorer(a, b *ToolSet) bool {
	if a == nil || b == nil {
		return b != nil
	}
	return !a.hasSchema() && b.hasSchema()
}

func (s *ToolSet) hasSchema() bool {
	if s == nil {
		return false
	}
	for _, t := range s.Tools {
		if t.Schema != nil {
			return true
		}
	}
	return false
}
