package trajectory

import (
	"maps"
	"slices"
)

// Clone returns a copy that may be changed without the original noticing. Two things are still shared, since nobody changes them in place: tool
// sets and schemas, which are replaced as a whole, and the bytes of JSON values.
func (t *Trajectory) Clone() *Trajectory {
	c := *t
	c.Traces, c.Turns, c.Dialects, c.Agents = slices.Clone(t.Traces), slices.Clone(t.Turns), slices.Clone(t.Dialects), slices.Clone(t.Agents)
	c.UserMessages, c.ToolsOffered = slices.Clone(t.UserMessages), slices.Clone(t.ToolsOffered)
	c.Handoffs, c.Steps, c.Gaps, c.Facts = slices.Clone(t.Handoffs), slices.Clone(t.Steps), slices.Clone(t.Gaps), slices.Clone(t.Facts)
	c.Reply, c.RootError = copied(t.Reply), copied(t.RootError)
	c.ModelCalls = each(t.ModelCalls, ModelCall.clone)
	c.ToolCalls = each(t.ToolCalls, func(x ToolCall) ToolCall { x.Error, x.Beneath = copied(x.Error), slices.Clone(x.Beneath); return x })
	c.AgentTotals = each(t.AgentTotals, func(x AgentTotal) AgentTotal { x.Usage = x.Usage.clone(); return x })
	c.Feedback = each(t.Feedback, func(x Feedback) Feedback { x.Score = copied(x.Score); return x })
	c.Telemetry.Emitters, c.Telemetry.DoubledBy = slices.Clone(t.Telemetry.Emitters), slices.Clone(t.Telemetry.DoubledBy)
	c.of = maps.Clone(t.of)
	return &c
}

func (m ModelCall) clone() ModelCall {
	m.Usage = m.Usage.clone()
	m.New = each(m.New, func(x Message) Message { x.Parts = slices.Clone(x.Parts); return x })
	m.ToolCalls = slices.Clone(m.ToolCalls)
	m.Error = copied(m.Error)
	return m
}

func (u Usage) clone() Usage {
	for _, n := range []**int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning, &u.AudioIn, &u.AudioOut} {
		*n = copied(*n)
	}
	u.CostUSD = copied(u.CostUSD)
	return u
}

// copied returns a pointer to a copy, nil for nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// each copies a list by copying its members; nil stays nil.
func each[T any](list []T, clone func(T) T) []T {
	out := slices.Clone(list)
	for i := range out {
		out[i] = clone(out[i])
	}
	return out
}
