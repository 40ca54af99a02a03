package trajectory

import (
	"fmt"
	"slices"
	"time"
)

// placeRecords gives the content records that name no span to the one call that they fit, and counts those that fit none or several. The
// trace's own spans stay as they are: a span that gets records is copied.
func (b *builder) placeRecords(spans []*Span) {
	var bare []int // the calls without content of their own, once they are asked for
	for i := range b.trace.Logs {
		l := &b.trace.Logs[i]
		if l.SpanID != "" || !isMessageEvent(l.Name) {
			continue
		}
		if bare == nil {
			bare = bareCalls(spans)
		}
		at := fitting(spans, bare, l.Time)
		if at < 0 {
			b.unplaced++
			continue
		}
		s := *spans[at]
		s.Logs = append(slices.Clip(s.Logs), *l)
		spans[at] = &s
	}
}

// bareCalls are the spans of model calls that carry no messages themselves.
func bareCalls(spans []*Span) []int {
	out := []int{}
	for i, s := range spans {
		if genaiRole(s) == RoleModel && scoreEvents(s) == 0 && !s.Attrs.Has("gen_ai.input.messages") && !s.Attrs.Has("gen_ai.output.messages") {
			out = append(out, i)
		}
	}
	return out
}

// fitting is the only call at work at that moment; else the only call there is; else -1.
func fitting(spans []*Span, calls []int, at time.Time) int {
	found := -1
	for _, i := range calls {
		s := spans[i]
		if at.Before(s.Start) || !s.End.IsZero() && at.After(s.End) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	if found < 0 && len(calls) == 1 {
		return calls[0]
	}
	return found
}

// unplacedRemedy says what to do about records that could not be given to a call.
func unplacedRemedy(n int) string {
	return fmt.Sprintf("content records that name no span and fit no single call: %d; emit them while the model call's span is the active one, so that they carry its id", n)
}
