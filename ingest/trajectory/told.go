package trajectory

// Text is what the message says: its texts, one below the other.
func (m *Message) Text() string { return textOf([]Message{*m}) }

// Told is what a tool result by itself tells of its call; OutcomeUnknown when it only tells that there was an answer.
func (p *Part) Told() Outcome {
	if p.Outcome != "" {
		return p.Outcome
	}
	c := ToolCall{Outcome: OutcomeUnknown}
	c.answer(p, "")
	c.timedOut()
	return c.Outcome
}

// tell gives a call the result whose words are not known: what answer makes of the words of others.
func (t *ToolCall) tell(r *Part, span string) {
	t.answered = true
	if r.Unrecorded && !r.Failed {
		return
	}
	if !t.HasResult && !r.Unrecorded || absent(t.Result) && t.Result.Raw == "" && r.Value.Raw != "" || t.Result.Truncated && !r.Value.Truncated {
		t.Result, t.HasResult, t.ResultSpanID = r.Value, true, span
	}
	if t.Outcome == OutcomeError || t.Outcome == OutcomeDenied || t.Outcome == OutcomeOK && !r.Failed && r.Value.Raw == t.Result.Raw {
		return
	}
	if t.Outcome = r.Outcome; t.Outcome != OutcomeOK {
		t.Error = &Error{Type: "tool_error"}
	}
}
