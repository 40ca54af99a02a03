package trajectory

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The shapes of `pawl trajectory`. Every key is always there.
type (
	jsonTrajectory struct {
		TraceID      string          `json:"trace_id"`
		Traces       []string        `json:"traces,omitzero"` // of a session alone, as trace_id is below
		SessionID    *string         `json:"session_id"`
		UserID       *string         `json:"user_id"`
		Service      *string         `json:"service"`
		Version      *string         `json:"version"`
		Route        *string         `json:"route"`
		Dialects     []string        `json:"dialects"`
		Agents       []string        `json:"agents"`
		ModelCalls   []jsonModelCall `json:"model_calls"`
		ToolCalls    []jsonToolCall  `json:"tool_calls"`
		Handoffs     []jsonHandoff   `json:"handoffs"`
		ToolsOffered []jsonToolDef   `json:"tools_offered"`
		SystemPrompt *string         `json:"system_prompt"`
		UserMessages []string        `json:"user_messages"`
		Reply        *string         `json:"reply"`
		Error        *jsonError      `json:"error"`
		Gaps         []Gap           `json:"gaps"`
		Feedback     []jsonFeedback  `json:"feedback"`
		Steps        []jsonStep      `json:"steps"`
		Complete     jsonComplete    `json:"complete"`
		Spans        int             `json:"spans"`
		Start        *string         `json:"start"`
		End          *string         `json:"end"`
	}
	jsonModelCall struct {
		SpanID         string         `json:"span_id"`
		TraceID        string         `json:"trace_id,omitzero"`
		Agent          *string        `json:"agent"`
		Provider       *string        `json:"provider"`
		ModelRequested *string        `json:"model_requested"`
		ModelResponded *string        `json:"model_responded"`
		InputTokens    *int64         `json:"input_tokens"`
		OutputTokens   *int64         `json:"output_tokens"`
		CachedTokens   *int64         `json:"cached_tokens"`
		CacheWrites    *int64         `json:"cache_write_tokens"`
		Reasoning      *int64         `json:"reasoning_tokens"`
		AudioIn        *int64         `json:"input_audio_tokens"`
		AudioOut       *int64         `json:"output_audio_tokens"`
		CostUSD        *float64       `json:"cost_usd"`
		CostFrom       *string        `json:"cost_from"` // span, or the price list it was computed by
		FinishReason   *string        `json:"finish_reason"`
		Text           *string        `json:"text"`
		ToolCalls      []jsonAskedFor `json:"tool_calls"`
		Error          *jsonError     `json:"error"`
		Start          *string        `json:"start"`
		End            *string        `json:"end"`
	}
	jsonAskedFor struct {
		ID        *string        `json:"id"`
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	}
	jsonToolCall struct {
		SpanID          string         `json:"span_id"`
		TraceID         string         `json:"trace_id,omitzero"`
		ID              *string        `json:"id"`
		Name            string         `json:"name"`
		Agent           *string        `json:"agent"`
		Arguments       jsontext.Value `json:"arguments"`
		ArgumentsParsed Parsed         `json:"arguments_parsed"`
		Result          jsontext.Value `json:"result"`
		Outcome         Outcome        `json:"outcome"`
		Error           *jsonError     `json:"error"`
		Requested       bool           `json:"requested"`
		Executed        bool           `json:"executed"`
		Recalled        bool           `json:"recalled"`
		Start           *string        `json:"start"`
		End             *string        `json:"end"`
	}
	jsonHandoff struct {
		SpanID  string  `json:"span_id"`
		TraceID string  `json:"trace_id,omitzero"`
		From    *string `json:"from"`
		To      *string `json:"to"`
	}
	jsonToolDef struct {
		Name   string         `json:"name"`
		Schema jsontext.Value `json:"schema"`
	}
	jsonError struct {
		Type    *string `json:"type"`
		Message *string `json:"message"`
		Code    *int    `json:"code"`
	}
	jsonFeedback struct {
		SpanID      *string  `json:"span_id"`
		Name        *string  `json:"name"`
		Score       *float64 `json:"score"`
		Label       *string  `json:"label"`
		Explanation *string  `json:"explanation"`
	}
	jsonStep struct {
		Kind    StepKind `json:"kind"`
		SpanID  string   `json:"span_id"`
		TraceID string   `json:"trace_id,omitzero"`
		Agent   *string  `json:"agent"`
		Index   *int     `json:"index"`
		Text    *string  `json:"text"`
		Start   *string  `json:"start"`
		End     *string  `json:"end"`
	}
	jsonComplete struct {
		HasRoot       bool `json:"has_root"`
		Truncated     bool `json:"truncated"`
		Dropped       int  `json:"dropped"`
		Unfinished    int  `json:"unfinished"`
		SyntheticTime bool `json:"synthetic_time"`
	}
)

// MarshalJSON gives the object that `pawl trajectory` prints: every key is there, what is absent is null or []. Equal trajectories give equal
// bytes.
func (t *Trajectory) MarshalJSON() ([]byte, error) {
	return json.Marshal(t.shape(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// JSONShape is a value of the type that MarshalJSON writes, for whoever describes it.
func (t *Trajectory) JSONShape() any { return jsonTrajectory{} }

func (t *Trajectory) shape() jsonTrajectory {
	out := jsonTrajectory{
		TraceID: t.TraceID, Traces: t.Traces, SessionID: orNull(t.SessionID), UserID: orNull(t.UserID), Service: orNull(t.Service), Version: orNull(t.Version),
		Route: orNull(t.Route), Dialects: t.Dialects, Agents: t.Agents, SystemPrompt: orNull(t.SystemPrompt), UserMessages: t.UserMessages,
		Reply: t.Reply, Error: errorShape(t.RootError), Gaps: t.Gaps, Spans: t.Spans, Start: timeShape(t.Start), End: timeShape(t.End),
		Complete: jsonComplete(t.Complete),
	}
	for _, m := range t.ModelCalls {
		out.ModelCalls = append(out.ModelCalls, t.modelShape(m))
	}
	for _, c := range t.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolShape(c))
	}
	for _, h := range t.Handoffs {
		out.Handoffs = append(out.Handoffs, jsonHandoff{h.SpanID, h.TraceID, orNull(h.From), orNull(h.To)})
	}
	for _, d := range t.ToolsOffered {
		out.ToolsOffered = append(out.ToolsOffered, jsonToolDef{d.Name, d.Schema})
	}
	for _, f := range t.Feedback {
		out.Feedback = append(out.Feedback, jsonFeedback{orNull(f.SpanID), orNull(f.Name), f.Score, orNull(f.Label), orNull(f.Explanation)})
	}
	for _, s := range t.Steps {
		out.Steps = append(out.Steps, stepShape(s))
	}
	return out
}

func (t *Trajectory) modelShape(m ModelCall) jsonModelCall {
	out := jsonModelCall{
		SpanID: m.SpanID, TraceID: m.TraceID, Agent: orNull(m.Agent), Provider: orNull(m.Provider), ModelRequested: orNull(m.ModelRequested),
		ModelResponded: orNull(m.ModelResponded), InputTokens: m.Usage.Input, OutputTokens: m.Usage.Output, CachedTokens: m.Usage.CacheRead,
		CacheWrites: m.Usage.CacheWrite, Reasoning: m.Usage.Reasoning, AudioIn: m.Usage.AudioIn,
		AudioOut: m.Usage.AudioOut, CostUSD: m.Usage.CostUSD, CostFrom: orNull(string(m.Usage.CostFrom)), FinishReason: orNull(string(m.FinishReason)),
		Text: orNull(m.Text), Error: errorShape(m.Error), Start: timeShape(m.Start), End: timeShape(m.End),
	}
	for _, i := range m.ToolCalls {
		if i >= 0 && i < len(t.ToolCalls) {
			c := t.ToolCalls[i]
			out.ToolCalls = append(out.ToolCalls, jsonAskedFor{orNull(c.ID), c.Name, valueShape(c.Arguments, false)})
		}
	}
	return out
}

func toolShape(c ToolCall) jsonToolCall {
	out := jsonToolCall{
		SpanID: c.SpanID, TraceID: c.TraceID, ID: orNull(c.ID), Name: c.Name, Agent: orNull(c.Agent), Arguments: valueShape(c.Arguments, false),
		ArgumentsParsed: c.Arguments.Parsed, Result: valueShape(c.Result, c.HasResult), Outcome: c.Outcome, Error: errorShape(c.Error),
		Requested: c.Requested, Executed: c.Executed, Recalled: c.Recalled, Start: timeShape(c.Start), End: timeShape(c.End),
	}
	if out.ArgumentsParsed == "" {
		out.ArgumentsParsed = ParsedAbsent
	}
	return out
}

func stepShape(s Step) jsonStep {
	out := jsonStep{
		Kind: s.Kind, SpanID: s.SpanID, TraceID: s.TraceID, Agent: orNull(s.Agent), Text: orNull(s.Text), Start: timeShape(s.Start), End: timeShape(s.End),
	}
	if s.Index >= 0 {
		out.Index = &s.Index
	}
	return out
}

// valueShape is the JSON value, else the raw text as a string, else null. A result that was recorded as nothing is "".
func valueShape(v Value, recorded bool) jsontext.Value {
	switch {
	case v.JSON != nil:
		return v.JSON
	case v.Raw != "" || recorded:
		return appendString(nil, v.Raw)
	}
	return nil
}

func errorShape(e *Error) *jsonError {
	if e == nil {
		return nil
	}
	out := &jsonError{Type: orNull(e.Type), Message: orNull(e.Message)}
	if e.Code != 0 {
		out.Code = &e.Code
	}
	return out
}

func timeShape(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(time.RFC3339Nano))
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
