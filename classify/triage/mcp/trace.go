package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// GetTrace are the arguments of get_trace.
type GetTrace struct {
	ID     string `json:"id" jsonschema:"of a trace, 32 hexadecimal digits"`
	Limit  int    `json:"limit,omitempty" jsonschema:"steps to show, 1 to 50; 20 if not given"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the page before"`
	Step   *int   `json:"step,omitempty" jsonschema:"show this one step alone, with its texts whole"`
	From   int    `json:"from,omitempty" jsonschema:"with step: the character of its texts to begin at"`
}

// Trace is a run of an agent with what the rules say of it.
type Trace struct {
	ID           string         `json:"id"`
	Service      string         `json:"service"`
	Session      string         `json:"session"`
	Version      string         `json:"version"`
	Route        string         `json:"route"`
	Agents       []string       `json:"agents"`
	Verdict      string         `json:"verdict" jsonschema:"passing, failing, incomplete or unclassified"`
	Primary      string         `json:"primary" jsonschema:"label of the root cause; empty for none"`
	Findings     []Finding      `json:"findings"`
	Inapplicable []Inapplicable `json:"inapplicable" jsonschema:"rules that could not judge it, and the setting that would let them"`
	Said         []Outside      `json:"said" jsonschema:"what monitoring tools and users say of it"`
	Stats        Stats          `json:"stats"`
	Start        string         `json:"start"`
	End          string         `json:"end"`
	Error        *Outside       `json:"error"`
	Reply        *Outside       `json:"reply" jsonschema:"what the agent answered at the end"`
	Steps        []Step         `json:"steps"`
	Page
}

// Finding is one failure that a rule saw.
type Finding struct {
	Label      string     `json:"label"`
	Rule       string     `json:"rule"`
	Severity   string     `json:"severity"`
	Confidence float64    `json:"confidence"`
	Group      string     `json:"group" jsonschema:"id for get_group"`
	Because    string     `json:"because_of" jsonschema:"id of the failure that it follows from; empty for none"`
	Why        Outside    `json:"why"`
	Evidence   []Evidence `json:"evidence"`
}

// Evidence is what a finding stands on.
type Evidence struct {
	Span string  `json:"span_id"`
	What Outside `json:"what"`
}

// Inapplicable is a rule that could not judge.
type Inapplicable struct {
	Rule    string `json:"rule"`
	Missing string `json:"missing"`
	Remedy  string `json:"remedy"`
}

// Stats counts what a trace holds; null is not told.
type Stats struct {
	Spans        int      `json:"spans"`
	Steps        int      `json:"steps"`
	ModelCalls   int      `json:"model_calls"`
	ToolCalls    int      `json:"tool_calls"`
	InputTokens  *int64   `json:"input_tokens"`
	OutputTokens *int64   `json:"output_tokens"`
	CachedTokens *int64   `json:"cached_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// Step is a message, a call of a model or of a tool, or a hand-over.
type Step struct {
	N         int      `json:"n" jsonschema:"its number, for step"`
	Kind      string   `json:"kind"`
	Span      string   `json:"span_id"`
	Agent     string   `json:"agent"`
	Text      *Outside `json:"text"`
	Model     string   `json:"model" jsonschema:"that answered, or was asked for"`
	Finish    string   `json:"finish_reason"`
	Tool      string   `json:"tool"`
	Arguments *Outside `json:"arguments"`
	Result    *Outside `json:"result"`
	Outcome   string   `json:"outcome"`
	Error     *Outside `json:"error"`
	Start     string   `json:"start"`
}

// toldTrace is a trace as the service tells it.
type toldTrace struct {
	Line struct {
		SessionID *string `json:"session_id"`
		Service   *string `json:"service"`
		Verdict   string  `json:"verdict"`
		Primary   *string `json:"primary"`
		Findings  []struct {
			Label       string  `json:"label"`
			Rule        string  `json:"rule"`
			Severity    string  `json:"severity"`
			Confidence  float64 `json:"confidence"`
			Fingerprint struct {
				ID string `json:"id"`
			} `json:"fingerprint"`
			Because  *string `json:"because_of"`
			Why      string  `json:"why"`
			Evidence []struct {
				SpanID string `json:"span_id"`
				What   string `json:"what"`
			} `json:"evidence"`
		} `json:"findings"`
		Inapplicable []Inapplicable `json:"inapplicable"`
		Stats        Stats          `json:"stats"`
	} `json:"line"`
	Trajectory struct {
		TraceID    string      `json:"trace_id"`
		Version    *string     `json:"version"`
		Route      *string     `json:"route"`
		Agents     []string    `json:"agents"`
		ModelCalls []toldModel `json:"model_calls"`
		ToolCalls  []toldTool  `json:"tool_calls"`
		Reply      *string     `json:"reply"`
		Error      *toldError  `json:"error"`
		Steps      []toldStep  `json:"steps"`
		Start      *string     `json:"start"`
		End        *string     `json:"end"`
	} `json:"trajectory"`
	Said []struct {
		Source   string    `json:"source"`
		Reason   string    `json:"reason"`
		Received time.Time `json:"received"`
	} `json:"said"`
}

type toldModel struct {
	Requested *string    `json:"model_requested"`
	Responded *string    `json:"model_responded"`
	Finish    *string    `json:"finish_reason"`
	Text      *string    `json:"text"`
	Error     *toldError `json:"error"`
}

type toldTool struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Outcome   string          `json:"outcome"`
	Error     *toldError      `json:"error"`
}

type toldError struct {
	Type    *string `json:"type"`
	Message *string `json:"message"`
	Code    *int    `json:"code"`
}

type toldStep struct {
	Kind   string  `json:"kind"`
	SpanID string  `json:"span_id"`
	Agent  *string `json:"agent"`
	Index  *int    `json:"index"`
	Text   *string `json:"text"`
	Start  *string `json:"start"`
}

// Characters of one text of a step, in a list and alone.
const (
	stepText  = 600
	wholeText = 2200
)

func (r reader) getTrace(ctx context.Context, in GetTrace) (Trace, error) {
	limit, err := pageSize(in.Limit)
	if err != nil {
		return Trace{}, err
	}
	from, err := placeOf(in.Cursor)
	if err != nil {
		return Trace{}, err
	}
	var t toldTrace
	_, err = r.api.get(ctx, "/v1/traces/"+url.PathEscape(in.ID), nil, &t)
	if none, ok := errors.AsType[*absent](err); ok {
		return Trace{}, fmt.Errorf("the service keeps no trace %q: %w", name(in.ID), none)
	}
	if err != nil {
		return Trace{}, err
	}
	n := len(t.Trajectory.Steps)
	if in.Step != nil {
		if *in.Step < 0 || *in.Step >= n {
			return Trace{}, fmt.Errorf("there is no step %d: they are 0 to %d", *in.Step, n-1)
		}
		out := t.head(60, 3)
		out.Steps = []Step{t.step(*in.Step, in.From, wholeText)}
		out.Note = fmt.Sprintf("step %d alone, the rest in short; where cut is true, from %d reads on", *in.Step, in.From+wholeText)
		return out, nil
	}
	out, used, err := t.bounded()
	if err != nil {
		return Trace{}, err
	}
	skip := min(from.skip, n)
	var done int
	out.Steps, done = fill(n-skip, limit, MaxAnswer-2048-used, func(i int) Step { return t.step(skip+i, 0, stepText) })
	left := out.Note
	out.Page = goesOn(place{skip: skip}, done, n-skip, "")
	out.Note = strings.TrimSpace(left + " " + out.Note)
	return out, nil
}

// bounded is the trace without its steps, in at most half an answer, and its length in bytes.
func (t *toldTrace) bounded() (out Trace, used int, err error) {
	for _, size := range [][2]int{{600, 10}, {300, 6}, {100, 4}, {40, 3}} {
		out = t.head(size[0], size[1])
		text, err := encode(out)
		if err != nil {
			return out, 0, err
		}
		if used = len(text); used <= MaxAnswer/2 {
			break
		}
	}
	return out, used, nil
}

// head is the trace without its steps; its texts have at most n characters, its lists so many members.
func (t *toldTrace) head(n, members int) Trace {
	l, tr := t.Line, t.Trajectory
	out := Trace{ID: name(tr.TraceID), Service: nameOr(l.Service), Session: nameOr(l.SessionID), Version: nameOr(tr.Version), Route: nameOr(tr.Route), Agents: names(tr.Agents, members),
		Verdict: name(l.Verdict), Primary: nameOr(l.Primary), Findings: []Finding{}, Inapplicable: []Inapplicable{}, Said: []Outside{}, Stats: l.Stats,
		Start: nameOr(tr.Start), End: nameOr(tr.End), Error: tr.Error.shown(0, n), Reply: outsideOf(tr.Reply, n), Steps: []Step{}}
	for _, f := range l.Findings[:min(len(l.Findings), members)] {
		x := Finding{name(f.Label), name(f.Rule), name(f.Severity), f.Confidence, name(f.Fingerprint.ID), nameOr(f.Because), outside(f.Why, n), []Evidence{}}
		for _, e := range f.Evidence[:min(len(f.Evidence), members)] {
			x.Evidence = append(x.Evidence, Evidence{name(e.SpanID), outside(e.What, n/4)})
		}
		out.Findings = append(out.Findings, x)
	}
	for _, x := range l.Inapplicable[:min(len(l.Inapplicable), members)] {
		out.Inapplicable = append(out.Inapplicable, Inapplicable{name(x.Rule), name(x.Missing), cutRunes(clean(x.Remedy), n/3)})
	}
	for _, s := range t.Said[:min(len(t.Said), members)] {
		out.Said = append(out.Said, outside(s.Source+": "+s.Reason, n/2))
	}
	if left := max(0, len(l.Findings)-members) + max(0, len(l.Inapplicable)-members) + max(0, len(t.Said)-members); left > 0 {
		out.Note = fmt.Sprintf("cut: %d further findings, inapplicable rules and sayings are not shown.", left)
	}
	return out
}

func nameOr(text *string) string {
	if text == nil {
		return ""
	}
	return name(*text)
}

// step is a step with n characters of each of its texts, from the given one on.
func (t *toldTrace) step(i, from, n int) Step {
	s := t.Trajectory.Steps[i]
	out := Step{N: i, Kind: name(s.Kind), Span: name(s.SpanID), Agent: nameOr(s.Agent), Start: nameOr(s.Start), Text: windowOf(s.Text, from, n)}
	if s.Index == nil || *s.Index < 0 {
		return out
	}
	switch models, tools := t.Trajectory.ModelCalls, t.Trajectory.ToolCalls; {
	case s.Kind == "model_call" && *s.Index < len(models):
		m := models[*s.Index]
		out.Model, out.Finish, out.Error = nameOr(cmp.Or(m.Responded, m.Requested)), nameOr(m.Finish), m.Error.shown(from, n)
		if out.Text == nil {
			out.Text = windowOf(m.Text, from, n)
		}
	case s.Kind == "tool_call" && *s.Index < len(tools):
		c := tools[*s.Index]
		out.Tool, out.Outcome, out.Error = name(c.Name), name(c.Outcome), c.Error.shown(from, n)
		out.Arguments, out.Result = valueOf(c.Arguments, from, n), valueOf(c.Result, from, n)
	}
	return out
}

func windowOf(text *string, from, n int) *Outside {
	if text == nil {
		return nil
	}
	return new(window(*text, from, n))
}

// valueOf shows a JSON value as text: a string as it is, anything else as JSON; nil where there is none.
func valueOf(v json.RawMessage, from, n int) *Outside {
	if len(v) == 0 || string(v) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	return new(window(text, from, n))
}

func (e *toldError) shown(from, n int) *Outside {
	if e == nil {
		return nil
	}
	text := ""
	if e.Type != nil {
		text = *e.Type
	}
	if e.Code != nil {
		text += fmt.Sprintf(" (%d)", *e.Code)
	}
	if e.Message != nil {
		text += ": " + *e.Message
	}
	return new(window(text, from, n))
}
