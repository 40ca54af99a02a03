package trajectory

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// talk is a conversation as it really was, for comparing with what its traces are joined to.
type talk struct {
	turns []turnOf
	// How it is recorded.
	ids      bool // calls have ids
	spans    bool // tools have spans of their own
	history  bool // an input begins with the turns before, not with the user's words
	perCall  bool // a trace holds one call of a model, not a turn
	sameSpan bool // spans of different traces share ids
}

type turnOf struct {
	user  string
	steps [][]callOf // what each call of the model but the last asks for
	reply string
}

type callOf struct{ id, name, arguments, result string }

func randomTalk(r *rand.Rand) talk {
	c := talk{ids: r.IntN(3) > 0, spans: r.IntN(2) > 0, history: r.IntN(3) > 0, sameSpan: r.IntN(2) > 0}
	c.perCall = c.ids && r.IntN(2) > 0
	n := 0
	for range 1 + r.IntN(4) {
		t := turnOf{user: []string{"Where is it?", "And now?", "Thanks, once more.", "Yes"}[r.IntN(4)], reply: fmt.Sprintf("It is at %d.", r.IntN(3))}
		for range r.IntN(4) {
			var calls []callOf
			for range 1 + r.IntN(2) {
				n++
				calls = append(calls, callOf{fmt.Sprintf("call_%d", n), []string{"find", "get"}[r.IntN(2)], fmt.Sprintf(`{"n":%d}`, n/2), fmt.Sprintf(`{"at":%d}`, r.IntN(3))})
			}
			t.steps = append(t.steps, calls)
		}
		c.turns = append(c.turns, t)
	}
	return c
}

func (c talk) calls() (out []callOf) {
	for _, t := range c.turns {
		for _, s := range t.steps {
			out = append(out, s...)
		}
	}
	return out
}

// recorder writes a talk as spans of the OpenTelemetry conventions.
type recorder struct {
	talk
	all   ptrace.Traces
	now   time.Time
	trace byte
	span  uint64
	root  pcommon.SpanID
	open  ptrace.Span
}

func (r *recorder) add(name, op string, took time.Duration) ptrace.Span {
	rs := r.all.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "desk")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{15: r.trace})
	r.span++
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], r.span)
	s.SetSpanID(id)
	s.SetParentSpanID(r.root)
	s.SetName(name)
	s.Attributes().PutStr("gen_ai.operation.name", op)
	s.Attributes().PutStr("gen_ai.conversation.id", "conv-7")
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(r.now))
	r.now = r.now.Add(took)
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(r.now))
	return s
}

// begin opens a trace, whose root ends with what comes next.
func (r *recorder) begin() {
	r.trace++
	if r.sameSpan {
		r.span = 0
	}
	r.root = pcommon.SpanID{}
	r.now = r.now.Add(time.Second)
	r.open = r.add("invoke_agent desk", "invoke_agent", time.Millisecond)
	r.open.Attributes().PutStr("gen_ai.agent.name", "desk")
	r.root = r.open.SpanID()
}

func (r *recorder) end() { r.open.SetEndTimestamp(pcommon.NewTimestampFromTime(r.now)) }

type jsObject = map[string]any

func (r *recorder) called(c callOf) jsObject {
	out := jsObject{"type": "tool_call", "name": c.name, "arguments": json.RawMessage(c.arguments)}
	if r.ids {
		out["id"] = c.id
	}
	return out
}

func (r *recorder) returned(c callOf) jsObject {
	out := jsObject{"type": "tool_call_response", "response": json.RawMessage(c.result)}
	if r.ids {
		out["id"] = c.id
	}
	return out
}

func text(role, words string) jsObject {
	return jsObject{"role": role, "parts": []jsObject{{"type": "text", "content": words}}}
}

func put(s ptrace.Span, key string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.Attributes().PutStr(key, string(b))
}

func (r *recorder) model(input []jsObject, output jsObject) {
	s := r.add("chat m", "chat", 100*time.Millisecond)
	s.Attributes().PutStr("gen_ai.request.model", "m")
	s.Attributes().PutInt("gen_ai.usage.input_tokens", int64(10*len(input)))
	s.Attributes().PutInt("gen_ai.usage.output_tokens", 3)
	put(s, "gen_ai.input.messages", input)
	put(s, "gen_ai.output.messages", []jsObject{output})
}

func (r *recorder) tool(c callOf) {
	s := r.add("execute_tool "+c.name, "execute_tool", 10*time.Millisecond)
	s.Attributes().PutStr("gen_ai.tool.name", c.name)
	s.Attributes().PutStr("gen_ai.tool.call.arguments", c.arguments)
	s.Attributes().PutStr("gen_ai.tool.call.result", c.result)
	if r.ids {
		s.Attributes().PutStr("gen_ai.tool.call.id", c.id)
	}
}

// record writes the talk; whole puts all of it into one trace.
func (c talk) record(whole bool) []*Trajectory {
	r := &recorder{talk: c, all: ptrace.NewTraces(), now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	cut := func(always bool) {
		if r.trace == 0 || !whole && (always || c.perCall) {
			if r.trace > 0 {
				r.end()
			}
			r.begin()
		}
	}
	past := []jsObject{text("system", "Be brief.")}
	for _, t := range c.turns {
		in := past
		if !c.history && !whole {
			in = past[:1]
		}
		in = append(slices.Clip(in), text("user", t.user))
		cut(true)
		for i, step := range t.steps {
			if i > 0 {
				cut(false)
			}
			asked := jsObject{"role": "assistant", "parts": []jsObject{}}
			for _, call := range step {
				asked["parts"] = append(asked["parts"].([]jsObject), r.called(call))
			}
			r.model(in, asked)
			in = append(slices.Clip(in), asked)
			for _, call := range step {
				if c.spans {
					r.tool(call)
				}
				in = append(in, jsObject{"role": "tool", "parts": []jsObject{r.returned(call)}})
			}
		}
		if len(t.steps) > 0 {
			cut(false)
		}
		r.model(in, text("assistant", t.reply))
		if c.history || whole {
			past = append(slices.Clip(in), text("assistant", t.reply))
		}
	}
	r.end()
	return built(r.all)
}

func built(td ptrace.Traces) (out []*Trajectory) {
	for _, t := range FromOTLP([]ptrace.Traces{td}, nil) {
		out = append(out, Build(t))
	}
	return out
}

// TestJoinGivesTheWhole records conversations in pieces, with and without histories, ids and tool spans, by turn and by call, and holds that the pieces
// are joined to what was said and done, in any order, however often each is given, and without being changed.
func TestJoinGivesTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 3))
	joins := 0
	for n := range 400 {
		c := randomTalk(r)
		parts, whole := c.record(false), c.record(true)
		if len(whole) != 1 {
			t.Fatal("a whole in pieces")
		}
		got := Join(parts)
		if len(parts) > 1 {
			joins++
			if !reflect.DeepEqual(got.Traces, idsOf(parts)) {
				t.Errorf("traces %v, want %v", got.Traces, idsOf(parts))
			}
		}
		problems := c.compare(got, whole[0])
		shuffled := append(slices.Clone(parts), parts[r.IntN(len(parts))])
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := Join(shuffled); !reflect.DeepEqual(got, again) {
			problems = append(problems, "another order of the parts gives another session")
		}
		if !reflect.DeepEqual(parts, c.record(false)) {
			problems = append(problems, "the parts were changed")
		}
		if len(problems) > 0 {
			t.Fatalf("conversation %d %+v:\n%s", n, c, strings.Join(problems, "\n"))
		}
	}
	if joins < 200 {
		t.Errorf("only %d were in pieces", joins)
	}
}

func idsOf(parts []*Trajectory) (ids []string) {
	for _, p := range parts {
		ids = append(ids, p.TraceID)
	}
	return ids
}

// compare says where a session differs from what was said and done, and from the same in one trace.
func (c talk) compare(got, whole *Trajectory) (problems []string) {
	differ := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			problems = append(problems, fmt.Sprintf("%s: got %v, want %v", what, got, want))
		}
	}
	var users []string
	for _, t := range c.turns {
		users = append(users, t.user)
	}
	if got.Traces != nil {
		differ("user messages", got.UserMessages, users)
	}
	differ("usage", tokensOf(got), c.usage(got.Traces == nil))
	differ("reply", *got.Reply, c.turns[len(c.turns)-1].reply)
	differ("model calls", len(got.ModelCalls), len(whole.ModelCalls))
	var calls, want []callOf
	for i, call := range got.ToolCalls {
		calls = append(calls, callOf{call.ID, call.Name, call.Arguments.Raw, call.Result.Raw})
		if call.Outcome != OutcomeOK || !call.HasResult || call.Executed != c.spans || !call.Requested || call.Recalled {
			problems = append(problems, fmt.Sprintf("call %d: %+v", i, call))
		}
		if !slices.Contains(got.ModelCalls[call.Model].ToolCalls, i) || got.ModelCalls[call.Model].SpanID != call.RequestSpanID {
			problems = append(problems, fmt.Sprintf("call %d does not belong to model call %d", i, call.Model))
		}
	}
	for _, call := range c.calls() {
		if !c.ids {
			call.id = ""
		}
		want = append(want, call)
	}
	differ("tool calls", calls, want)
	for i, s := range got.Steps {
		if i > 0 && s.Start.Before(got.Steps[i-1].Start) {
			problems = append(problems, fmt.Sprintf("step %d is before step %d", i, i-1))
		}
	}
	return problems
}

func tokensOf(t *Trajectory) (n [2]int64) {
	for _, m := range t.ModelCalls {
		n[0] += *m.Usage.Input
		n[1] += *m.Usage.Output
	}
	return n
}

// usage is what the recorder writes.
func (c talk) usage(whole bool) (n [2]int64) {
	past := 1
	for _, t := range c.turns {
		in := past + 1
		if !c.history && !whole {
			in = 2
		}
		for _, s := range t.steps {
			n[0], n[1] = n[0]+int64(10*in), n[1]+3
			in += 1 + len(s)
		}
		n[0], n[1] = n[0]+int64(10*in), n[1]+3
		past = in + 1
	}
	return n
}

// TestSessionsOfCaptures joins the three turns that every SDK recorded of one conversation, and holds them against what happened.
func TestSessionsOfCaptures(t *testing.T) {
	dirs, err := os.ReadDir(capturesDir)
	if err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		traces, truth := captured(t, d.Name(), "S15")
		var parts []*Trajectory
		told, kept := 0, 0
		for _, tr := range traces {
			p := Build(tr)
			parts = append(parts, p)
			told += countNew(p)
		}
		got := Join(parts)
		kept = countNew(got)
		t.Logf("%-36s %d traces, %d sessions by id; %d user messages, %2d of %2d messages repeated; %d calls; turns %v", d.Name(), len(parts), len(Sessions(parts)),
			len(got.UserMessages), told-kept, told, len(got.ToolCalls), got.Turns)
		if len(truth.Outcome.Turns) != 3 {
			t.Fatalf("%s: the capture has %d turns", d.Name(), len(truth.Outcome.Turns))
		}
		if _, lacks := got.Lacks(FactUserMessages); len(got.UserMessages) != 3 && !lacks {
			t.Errorf("%s: user messages %q", d.Name(), got.UserMessages)
		}
		if _, lacks := got.Lacks(FactToolCalls); len(got.ToolCalls) != len(truth.ToolLog) && !lacks && len(got.ToolCalls) > 0 {
			t.Errorf("%s: %d tool calls, want %d", d.Name(), len(got.ToolCalls), len(truth.ToolLog))
		}
		for i, c := range got.ToolCalls {
			if c.Recalled || c.Name != truth.ToolLog[i].Name || c.Outcome != OutcomeOK {
				t.Errorf("%s: call %d is %s, %s", d.Name(), i, c.Name, c.Outcome)
			}
		}
	}
}

func countNew(t *Trajectory) (n int) {
	for _, m := range t.ModelCalls {
		n += len(m.New)
	}
	return n
}
