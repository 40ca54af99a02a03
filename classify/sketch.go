package classify

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/s2"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// MaxSketch bounds a sketch, in bytes.
const MaxSketch = 8 << 10

// Sketch writes a trajectory such that what is equal stays equal and nothing that anybody said is left: of words, arguments and results it holds
// digests, beside names, ids, outcomes, usage and times. Rules over sessions find in what ReadSketch makes of it what they find in the trajectory,
// as long as they ask of content only whether it is the same (Steady, Answer, Unpaged of both), of answers whether they are vain (VainOf), and of what the
// user says what Said holds. For that the words of users and of short arguments have marks of twelve bits, in no order. The tools offered, system prompts, feedback and remedies
// are not in it. It is S2-compressed JSON.
//
// One that would be greater than MaxSketch loses steps from its middle, cut of them. There the user seems to speak: nothing goes on across what is
// not known.
func Sketch(t *trajectory.Trajectory) (doc []byte, cut int, err error) {
	d := digested(t)
	for keep := len(d.Steps); ; {
		text, err := json.Marshal((*fields)(shortened(d, keep)), json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return nil, 0, fmt.Errorf("sketch of trace %s: %w", t.TraceID, err)
		}
		doc = s2.EncodeBetter(nil, text)
		if len(doc) <= MaxSketch || keep == 0 {
			return doc, len(d.Steps) - keep, nil
		}
		keep = keep * MaxSketch / len(doc) * 9 / 10
	}
}

// Continues says whether a trace may go on from another one of its session, or into one: it tells of calls that it did not make, it leaves calls open, or
// it stops as the model asks for tools; or whether it called a tool in vain, which the next may do again. Any other, a question with its answer, shows all
// of itself: of those no sketch is needed as long as rules over sessions look for what goes on, and what is done in vain.
func Continues(t *trajectory.Trajectory) bool {
	own := map[string]bool{}
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		if c.Recalled || !c.Requested || !c.Executed && !c.HasResult || VainOf(c) != NotVain {
			return true
		}
		own[c.ID] = true
	}
	for i := range t.ModelCalls {
		for _, m := range t.ModelCalls[i].New {
			if slices.ContainsFunc(m.Parts, func(p trajectory.Part) bool { return p.Kind == trajectory.PartToolResult && !own[p.ID] }) {
				return true
			}
		}
	}
	for i := range slices.Backward(t.ModelCalls) {
		if m := &t.ModelCalls[i]; m.Text != "" || len(m.ToolCalls) > 0 {
			return len(m.ToolCalls) > 0
		}
	}
	return false
}

// maxSketchText bounds the JSON of a sketch, in bytes: repetitive text takes little space.
const maxSketchText = 4 << 20

// ReadSketch reads what Sketch wrote.
func ReadSketch(doc []byte) (*trajectory.Trajectory, error) {
	if n, err := s2.DecodedLen(doc); err != nil || n > maxSketchText {
		return nil, fmt.Errorf("read sketch: %d bytes of JSON are said to be in it: %w", n, cmp.Or(err, errors.New("it is damaged")))
	}
	text, err := s2.Decode(nil, doc)
	if err != nil {
		return nil, fmt.Errorf("read sketch: %w", err)
	}
	var t fields
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("read sketch: %w", err)
	}
	return (*trajectory.Trajectory)(&t), nil
}

// fields is a trajectory that is written as it is, not in the form that people read.
type fields trajectory.Trajectory

// digested copies what a sketch holds. Whatever is not named here does not get into one.
func digested(t *trajectory.Trajectory) *trajectory.Trajectory {
	out := &trajectory.Trajectory{
		TraceID: t.TraceID, SessionID: name(t.SessionID), UserID: digest(t.UserID), Service: name(t.Service), Version: name(t.Version), Route: name(t.Route),
		Start: t.Start, End: t.End, Spans: t.Spans, Complete: t.Complete, RootError: errorOf(t.RootError),
	}
	for _, u := range t.UserMessages {
		out.UserMessages = append(out.UserMessages, spoken(u))
	}
	if t.Reply != nil {
		out.Reply = new(digest(*t.Reply))
	}
	for i := range t.ModelCalls {
		out.ModelCalls = append(out.ModelCalls, modelCall(&t.ModelCalls[i]))
	}
	for i := range t.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolCall(&t.ToolCalls[i]))
	}
	for _, a := range t.AgentTotals {
		out.AgentTotals = append(out.AgentTotals, trajectory.AgentTotal{SpanID: a.SpanID, Agent: name(a.Agent), Model: name(a.Model), Usage: a.Usage})
	}
	for _, h := range t.Handoffs {
		out.Handoffs = append(out.Handoffs, trajectory.Handoff{SpanID: h.SpanID, From: name(h.From), To: name(h.To), Start: h.Start})
	}
	for _, s := range t.Steps {
		text := digest
		if s.Kind == trajectory.StepUser {
			text = spoken
		}
		out.Steps = append(out.Steps, trajectory.Step{Kind: s.Kind, SpanID: s.SpanID, Agent: name(s.Agent), Index: s.Index, Text: text(s.Text), Start: s.Start, End: s.End})
	}
	for _, g := range t.Gaps {
		out.Gaps = append(out.Gaps, trajectory.Gap{Fact: g.Fact})
	}
	return out
}

func modelCall(m *trajectory.ModelCall) trajectory.ModelCall {
	out := trajectory.ModelCall{
		SpanID: m.SpanID, Agent: name(m.Agent), Provider: name(m.Provider), ModelRequested: name(m.ModelRequested), ModelResponded: name(m.ModelResponded),
		ResponseID: name(m.ResponseID), Usage: m.Usage, FinishReason: m.FinishReason, Text: digest(m.Text), ToolCalls: m.ToolCalls,
		Error: errorOf(m.Error), Start: m.Start, End: m.End, Streamed: m.Streamed, InTotal: m.InTotal, Back: m.Back,
	}
	for _, n := range m.New {
		out.New = append(out.New, message(&n))
	}
	return out
}

// message holds one digest of all that the message says, and its calls and results as those of the trajectory are held.
func message(m *trajectory.Message) trajectory.Message {
	out := trajectory.Message{Role: m.Role}
	if text := m.Text(); text != "" {
		words := digest
		if m.Role == "user" {
			words = spoken
		}
		out.Parts = append(out.Parts, trajectory.Part{Kind: trajectory.PartText, Text: words(text)})
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		d := trajectory.Part{Kind: p.Kind, ID: name(p.ID), Name: toolName(p.Name), Failed: p.Failed, Unrecorded: p.Unrecorded}
		switch p.Kind {
		case trajectory.PartToolCall:
			d.Value = arguments(p.Value)
		case trajectory.PartToolResult:
			d.Outcome = p.Told()
			d.Value = result(&trajectory.ToolCall{Result: p.Value, HasResult: !p.Unrecorded, Outcome: d.Outcome})
		default:
			continue
		}
		out.Parts = append(out.Parts, d)
	}
	return out
}

func toolCall(c *trajectory.ToolCall) trajectory.ToolCall {
	return trajectory.ToolCall{
		SpanID: c.SpanID, RequestSpanID: c.RequestSpanID, ResultSpanID: c.ResultSpanID, ID: name(c.ID), Name: toolName(c.Name), Agent: name(c.Agent),
		Model: c.Model, Requested: c.Requested, Executed: c.Executed, Recalled: c.Recalled, HasResult: c.HasResult, Outcome: c.Outcome,
		Arguments: arguments(c.Arguments), Result: result(c), Error: errorOf(c.Error), Start: c.Start, End: c.End,
	}
}

// arguments keeps both how rules compare them, and what they are to the letter, under a key that rules leave out of account.
func arguments(v trajectory.Value) trajectory.Value {
	if v.JSON == nil || v.Truncated {
		return plain(v)
	}
	out := trajectory.Value{Parsed: v.Parsed}
	same := Steady(v.JSON, false)
	if same == "{}" { // also what absent arguments are
		out.JSON = jsontext.Value(same)
		return out
	}
	rest, paging := Unpaged(same)
	switch {
	case paging && rest == "{}":
		out.JSON = jsontext.Value(`{"page":"` + digest(same) + `"}`)
	case paging:
		out.JSON = jsontext.Value(`{"call_id":"` + digest(string(v.JSON)) + names(v) + `","page":"` + digest(same) + `","same":"` + digest(rest) + `"}`)
	default:
		out.JSON = jsontext.Value(`{"call_id":"` + digest(string(v.JSON)) + names(v) + `","same":"` + digest(same) + `"}`)
	}
	return out
}

// result is the answer as rules compare it.
func result(c *trajectory.ToolCall) trajectory.Value {
	out := plain(c.Result)
	text, known := Answer(c)
	if !known {
		return out
	}
	out.Raw, out.JSON = digest(text), nil
	if rest, paging := Unpaged(text); paging && !Failed(c) {
		out.JSON = jsontext.Value(`{"page":"` + out.Raw + `","same":"` + digest(rest) + `"}`)
	}
	switch vain := VainOf(c); {
	case text == "" || Failed(c): // its outcome says so
	case vain == Error:
		out.Raw += errorMark
	case vain == Empty:
		out.Raw += emptyMark
	}
	return out
}

// plain is a value of which only the text's digest is left.
func plain(v trajectory.Value) trajectory.Value {
	text := v.Raw
	if v.JSON != nil {
		text = string(v.JSON)
	}
	return trajectory.Value{Raw: digest(text), Parsed: v.Parsed, Truncated: v.Truncated}
}

func errorOf(e *trajectory.Error) *trajectory.Error {
	if e == nil {
		return nil
	}
	return &trajectory.Error{Type: name(e.Type), Message: digest(e.Message), Code: e.Code}
}

// digest stands for a text: sixteen letters, so that no scrubbing of ids and times touches it. "" is "".
func digest(s string) string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s))
	return letters(sum[:8])
}

// maxSketched is the longest name that a sketch holds as it is, in bytes.
const maxSketched = 200

// name keeps what names something, unless it is too long to be a name.
func name(s string) string {
	if len(s) > maxSketched {
		return digest(s)
	}
	return strings.ToValidUTF8(s, "?")
}

// toolName keeps a tool's name such that it has the same part in a fingerprint.
func toolName(s string) string {
	if len(s) > maxSketched {
		return SafeName(catalog.Normalise(s))
	}
	return name(s)
}
