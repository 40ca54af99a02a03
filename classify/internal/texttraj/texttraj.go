// Package texttraj reads trajectories from a small text form, for the fixtures of rules. One line is one thing that happened, a second after
// the one before it; lines that are indented say more about the call or the tool set above them.
//
//	trace service=shop route=/chat session=s1 [noroot] [truncated] [dropped=3] [synthetic] [error="429 too many requests"]
//	tools NAME                      a tool set, to be offered by name
//	  get_order {"type":"object"}   one tool, its schema optional, perhaps after its description in quotes; "web_search builtin" for one that the provider runs
//	system You are a shop's assistant.
//	user Where is my order?
//	model m1 [agent=a] [tools=NAME] [model=gpt-4.1] [responded=x] [in=10] [out=5] [reasoning=3] [cached=2] [cost=0.1] [finish=stop] [raw=x] [error="text"] [type=T] [code=429] [text="answer"] [takes=70s | unended] [wants=json|SCHEMA] [hears=c1 | back]   hears: its input holds that call's answer, as new; back: an earlier input again
//	total a1 [agent=a] [in=10] [out=5] [cached=2]   an agent's total, which stands for the calls above that tell no usage
//	call c1 get_order {"id":1}      requested by the model call above it, executed, without a result unless said below
//	  ok {"status":"sent"}          result and outcome: ok, error or denied, then the result
//	  error {"error":"no such id"}
//	  partly {"rows":[1,2           an ok result that was cut
//	  fails some message            the span's error, which is no result; "type T" and "code 429" below it say more of it
//	  missing | unknown | timeout   outcome without a result
//	  beneath model NAME | beneath host NAME    what was seen to run below it
//	  noargs | cut | unrequested | unexecuted | recalled
//	  takes 70s | around 9s         how long it took; the same, and what follows for so long happens inside of it
//	  unended                       its span never ended
//	wait 90s                        nothing happens; what comes after comes so much later
//	handoff a b
//	reply It was sent.
//	feedback NAME LABEL
//	gap tool_schemas set X=1
//
// Arguments and results that are not JSON are kept as text; arguments that begin with { or [ and do not parse are broken.
package texttraj

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Parse reads one trajectory. Errors name the line.
func Parse(text string) (*trajectory.Trajectory, error) {
	r := &reader{
		t:    &trajectory.Trajectory{TraceID: "00000000000000000000000000000001", Complete: trajectory.Completeness{HasRoot: true}},
		sets: map[string]*trajectory.ToolSet{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), model: -1,
	}
	r.t.Start = r.now
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := r.line(strings.TrimRight(line, "\r\n ")); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	r.finish()
	return r.t, nil
}

type reader struct {
	t     *trajectory.Trajectory
	sets  map[string]*trajectory.ToolSet
	set   *trajectory.ToolSet // being filled
	now   time.Time
	model int   // the last model call
	call  int   // the last call
	in    bool  // indented lines belong to a call
	bad   error // of the line: a number that is none
}

func (r *reader) line(line string) error {
	err := r.read(line)
	err, r.bad = cmp.Or(err, r.bad), nil
	return err
}

func (r *reader) read(line string) error {
	body := strings.TrimSpace(line)
	if body == "" || strings.HasPrefix(body, "#") {
		return nil
	}
	word, rest, _ := strings.Cut(body, " ")
	rest = strings.TrimSpace(rest)
	if line[0] == ' ' || line[0] == '\t' {
		return r.more(word, rest)
	}
	r.now = r.now.Add(time.Second)
	switch word {
	case "wait":
		return r.wait(rest)
	case "trace":
		return r.trace(rest)
	case "tools":
		r.set, r.in = &trajectory.ToolSet{}, false
		r.sets[rest] = r.set
	case "user":
		r.t.UserMessages = append(r.t.UserMessages, rest)
		r.step(trajectory.StepUser, "", "", -1, rest)
	case "system":
		r.t.SystemPrompt = rest
	case "model":
		return r.modelCall(rest)
	case "total":
		return r.total(rest)
	case "call":
		return r.toolCall(rest)
	case "handoff":
		from, to, _ := strings.Cut(rest, " ")
		r.t.Handoffs = append(r.t.Handoffs, trajectory.Handoff{From: from, To: to, Start: r.now})
		r.step(trajectory.StepHandoff, "", from, len(r.t.Handoffs)-1, "")
	case "reply":
		r.t.Reply = &rest
		r.step(trajectory.StepReply, "", "", -1, rest)
	case "feedback":
		name, label, _ := strings.Cut(rest, " ")
		r.t.Feedback = append(r.t.Feedback, trajectory.Feedback{Name: name, Label: label})
	case "gap":
		fact, remedy, _ := strings.Cut(rest, " ")
		r.t.Gaps = append(r.t.Gaps, trajectory.Gap{Fact: trajectory.Fact(fact), Remedy: remedy})
	default:
		return fmt.Errorf("unknown word %q", word)
	}
	return nil
}

// wait lets time pass.
func (r *reader) wait(text string) error {
	d, err := time.ParseDuration(text)
	r.now = r.now.Add(d)
	return err
}

// takes ends a call so long after its start, and what comes after comes after that.
func (r *reader) takes(end *time.Time, start time.Time, text string) error {
	d, err := time.ParseDuration(text)
	*end = start.Add(d)
	if end.After(r.now) {
		r.now = *end
	}
	return err
}

func (r *reader) trace(rest string) error {
	return options(rest, func(k, v string) error {
		c := &r.t.Complete
		switch k {
		case "id":
			r.t.TraceID = v
		case "service":
			r.t.Service = v
		case "session":
			r.t.SessionID = v
		case "route":
			r.t.Route = v
		case "noroot":
			c.HasRoot = false
		case "truncated":
			c.Truncated = true
		case "synthetic":
			c.SyntheticTime = true
		case "dropped":
			c.Dropped = r.number(v)
		case "unfinished":
			c.Unfinished = r.number(v)
		case "error":
			r.t.RootError = &trajectory.Error{Message: v}
		default:
			return fmt.Errorf("unknown option %q of trace", k)
		}
		return nil
	})
}

func (r *reader) modelCall(rest string) error {
	id, rest, _ := strings.Cut(rest, " ")
	m := trajectory.ModelCall{SpanID: id, Start: r.now, End: r.now.Add(500 * time.Millisecond)}
	err := options(rest, func(k, v string) error {
		switch k {
		case "agent":
			m.Agent = v
		case "tools":
			set, ok := r.sets[v]
			if !ok {
				return fmt.Errorf("no tool set %q above", v)
			}
			m.Offered = set
		case "model":
			m.ModelRequested, m.ModelResponded = v, v
		case "responded":
			m.ModelResponded = v
		case "provider":
			m.Provider = v
		case "in":
			m.Usage.Input = new(int64(r.number(v)))
		case "out":
			m.Usage.Output = new(int64(r.number(v)))
		case "reasoning":
			m.Usage.Reasoning = new(int64(r.number(v)))
		case "cached":
			m.Usage.CacheRead = new(int64(r.number(v)))
		case "cost":
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return fmt.Errorf("%q is no number", v)
			}
			m.Usage.CostUSD = &f
		case "finish":
			m.FinishReason, m.FinishRaw = trajectory.FinishReason(v), v
		case "raw":
			m.FinishRaw = v
		case "text":
			m.Text = v
		case "back":
			m.Back = true
		case "hears":
			m.New = append(m.New, trajectory.Message{Role: "tool", Parts: []trajectory.Part{{Kind: trajectory.PartToolResult, ID: "id-" + v}}})
		case "wants":
			m.Wanted.JSON = true
			if v != "json" {
				m.Wanted.Schema = jsontext.Value(v)
			}
		case "error", "type", "code":
			m.Error = cmp.Or(m.Error, &trajectory.Error{})
			switch k {
			case "error":
				m.Error.Message = v
			case "type":
				m.Error.Type = v
			default:
				m.Error.Code = r.number(v)
			}
		case "takes":
			return r.takes(&m.End, m.Start, v)
		case "unended":
			m.End = time.Time{}
		default:
			return fmt.Errorf("unknown option %q of model", k)
		}
		return nil
	})
	r.t.ModelCalls = append(r.t.ModelCalls, m)
	r.model = len(r.t.ModelCalls) - 1
	r.step(trajectory.StepModel, id, m.Agent, r.model, "")
	return err
}

func (r *reader) total(rest string) error {
	id, rest, _ := strings.Cut(rest, " ")
	a := trajectory.AgentTotal{SpanID: id}
	err := options(rest, func(k, v string) error {
		switch k {
		case "agent":
			a.Agent = v
		case "in":
			a.Usage.Input = new(int64(r.number(v)))
		case "out":
			a.Usage.Output = new(int64(r.number(v)))
		case "cached":
			a.Usage.CacheRead = new(int64(r.number(v)))
		default:
			return fmt.Errorf("unknown option %q of total", k)
		}
		return nil
	})
	r.t.AgentTotals = append(r.t.AgentTotals, a)
	for i := range r.t.ModelCalls {
		m := &r.t.ModelCalls[i]
		m.InTotal = m.InTotal || m.Usage.Input == nil && m.Usage.Output == nil
	}
	return err
}

func (r *reader) toolCall(rest string) error {
	id, rest, _ := strings.Cut(rest, " ")
	name, args, _ := strings.Cut(rest, " ")
	if name == "" {
		return fmt.Errorf("call wants a span and a name")
	}
	c := trajectory.ToolCall{SpanID: id, ID: "id-" + id, Name: name, Model: r.model, Requested: r.model >= 0, Executed: true,
		Arguments: value(args), Outcome: trajectory.OutcomeUnknown, Start: r.now, End: r.now.Add(500 * time.Millisecond)}
	if r.model >= 0 {
		m := &r.t.ModelCalls[r.model]
		c.Agent, c.RequestSpanID = m.Agent, m.SpanID
		m.ToolCalls = append(m.ToolCalls, len(r.t.ToolCalls))
	}
	r.t.ToolCalls = append(r.t.ToolCalls, c)
	r.call, r.in = len(r.t.ToolCalls)-1, true
	r.step(trajectory.StepTool, id, c.Agent, r.call, "")
	return nil
}

func (r *reader) more(word, rest string) error {
	if !r.in {
		return r.tool(word, rest)
	}
	c := &r.t.ToolCalls[r.call]
	switch word {
	case "ok", "error", "denied":
		c.Outcome, c.Result, c.HasResult, c.ResultSpanID = trajectory.Outcome(word), value(rest), true, c.SpanID
		if word != "ok" {
			c.Error = &trajectory.Error{Message: rest}
		}
	case "partly":
		c.Outcome, c.Result, c.HasResult, c.ResultSpanID = trajectory.OutcomeOK, trajectory.Value{Raw: rest, Parsed: trajectory.ParsedText, Truncated: true}, true, c.SpanID
	case "result":
		c.Result, c.HasResult = value(rest), true
	case "fails":
		c.Outcome, c.Error = trajectory.OutcomeError, &trajectory.Error{Message: rest}
	case "missing", "unknown", "timeout":
		c.Outcome = trajectory.Outcome(word)
		c.Executed = word == "timeout"
	case "noargs":
		c.Arguments = trajectory.Value{Parsed: trajectory.ParsedAbsent}
	case "cut":
		c.Arguments = trajectory.Value{Raw: c.Arguments.Raw, Parsed: trajectory.ParsedBroken, Truncated: true}
	case "unrequested":
		c.Requested, c.Model, c.RequestSpanID = false, -1, ""
	case "recalled":
		c.Requested, c.Executed, c.Recalled, c.Model = true, false, true, -1
	case "beneath":
		kind, name, _ := strings.Cut(rest, " ")
		b := trajectory.Beneath{SpanID: fmt.Sprintf("%s-%d", c.SpanID, len(c.Beneath)+1), Model: name}
		if kind == "host" {
			b.Model, b.Host = "", name
		}
		c.Beneath = append(c.Beneath, b)
	case "unexecuted":
		c.Executed = false
	case "takes":
		return r.takes(&c.End, c.Start, rest)
	case "around":
		now := r.now
		err := r.takes(&c.End, c.Start, rest)
		r.now = now
		return err
	case "unended":
		c.End = time.Time{}
	case "type", "code": // of the error
		c.Error = cmp.Or(c.Error, &trajectory.Error{})
		if word == "type" {
			c.Error.Type = rest
		} else {
			c.Error.Code = r.number(rest)
		}
	default:
		return fmt.Errorf("unknown word %q below a call", word)
	}
	return nil
}

func (r *reader) tool(name, rest string) error {
	if r.set == nil {
		return fmt.Errorf("%q belongs to nothing", name)
	}
	d := trajectory.ToolDef{Name: name, Builtin: rest == "builtin"}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		d.Description, _ = strconv.Unquote(quoted)
		rest = strings.TrimSpace(rest[len(quoted):])
	}
	if rest != "" && !d.Builtin {
		d.Schema = jsontext.Value(rest)
	}
	r.set.Tools = append(r.set.Tools, d)
	return nil
}

func (r *reader) step(kind trajectory.StepKind, span, agent string, index int, text string) {
	r.t.Steps = append(r.t.Steps, trajectory.Step{Kind: kind, SpanID: span, Agent: agent, Index: index, Text: text, Start: r.now, End: r.now})
	if agent != "" && !slices.Contains(r.t.Agents, agent) {
		r.t.Agents = append(r.t.Agents, agent)
	}
}

func (r *reader) finish() {
	r.t.End, r.t.Spans = r.now, 1+len(r.t.ModelCalls)+len(r.t.ToolCalls)
	for i := range r.t.Steps {
		switch s := &r.t.Steps[i]; s.Kind {
		case trajectory.StepModel:
			s.Start, s.End = r.t.ModelCalls[s.Index].Start, r.t.ModelCalls[s.Index].End
		case trajectory.StepTool:
			s.End = r.t.ToolCalls[s.Index].End
		}
	}
	for _, m := range r.t.ModelCalls {
		if m.Offered == nil {
			continue
		}
		sum := sha256.New()
		for _, d := range m.Offered.Tools {
			fmt.Fprintf(sum, "%s %s\n", d.Name, d.Schema)
			if !slices.ContainsFunc(r.t.ToolsOffered, func(o trajectory.ToolDef) bool { return o.Name == d.Name }) {
				r.t.ToolsOffered = append(r.t.ToolsOffered, d)
			}
		}
		m.Offered.Digest = hex.EncodeToString(sum.Sum(nil))
	}
}

func value(raw string) trajectory.Value {
	v := trajectory.Value{Raw: raw, Parsed: trajectory.ParsedText}
	j := jsontext.Value(raw)
	switch {
	case raw == "":
		return trajectory.Value{Parsed: trajectory.ParsedAbsent}
	case j.IsValid():
		j = slices.Clone(j)
		_ = j.Canonicalize()
		v.JSON, v.Parsed = j, trajectory.ParsedObject
	case raw[0] == '{' || raw[0] == '[':
		v.Parsed = trajectory.ParsedBroken
	}
	return v
}

// options reads key=value, key="value with blanks", and bare keys.
func options(s string, set func(k, v string) error) error {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexAny(s, " =")
		if end < 0 {
			end = len(s)
		}
		if end == len(s) || s[end] == ' ' {
			if err := set(s[:end], ""); err != nil {
				return err
			}
			s = s[end:]
			continue
		}
		k, rest := s[:end], s[end+1:]
		v, err := strconv.QuotedPrefix(rest)
		n := len(v)
		if err != nil {
			v, _, _ = strings.Cut(rest, " ")
			n = len(v)
		} else if v, err = strconv.Unquote(v); err != nil {
			return err
		}
		if err := set(k, v); err != nil {
			return err
		}
		s = rest[n:]
	}
	return nil
}

// number reads a whole number; what is none is an error of the line.
func (r *reader) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		r.bad = cmp.Or(r.bad, fmt.Errorf("%q is no whole number", s))
	}
	return n
}
