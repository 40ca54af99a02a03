package trajectory

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// traceAt is a hand-made trace of a session: it runs from one second to another, and its calls come one after the other.
func traceAt(id string, from, to float64, models ...ModelCall) *Trajectory {
	at := func(s float64) time.Time {
		return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
	}
	t := &Trajectory{TraceID: id, SessionID: "s", Service: "desk", Start: at(from), End: at(to), Spans: 1 + len(models), Complete: Completeness{HasRoot: true}}
	share := (to - from) / float64(len(models)+1)
	for i, m := range models {
		m.SpanID = cmpOr(m.SpanID, fmt.Sprintf("%s-m%d", id, i))
		m.Start, m.End = at(from+share*float64(i)), at(from+share*float64(i)+share/2)
		for _, text := range userTexts(m.New) {
			if !slices.Contains(t.UserMessages, text) {
				t.UserMessages = append(t.UserMessages, text)
			}
		}
		t.ModelCalls = append(t.ModelCalls, m)
	}
	return t
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// asks adds a call that the model asks for, and that is not answered here.
func (t *Trajectory) asks(model int, id, name, args string) *Trajectory {
	m := &t.ModelCalls[model]
	m.ToolCalls = append(m.ToolCalls, len(t.ToolCalls))
	t.ToolCalls = append(t.ToolCalls, ToolCall{
		SpanID: m.SpanID, RequestSpanID: m.SpanID, ID: id, Name: name, Model: model, Requested: true, Arguments: ParseValue(args),
		Result: Value{Parsed: ParsedAbsent}, Outcome: OutcomeUnknown, Start: m.End,
	})
	return t
}

// runs adds an execution that nothing in the trace asked for.
func (t *Trajectory) runs(id, name, args, result string) *Trajectory {
	t.ToolCalls = append(t.ToolCalls, ToolCall{
		SpanID: t.TraceID + "-x", ID: id, Name: name, Model: -1, Executed: true, Arguments: ParseValue(args), Result: ParseValue(result), HasResult: true,
		Outcome: OutcomeOK, Start: t.Start, End: t.End,
	})
	return t
}

func (t *Trajectory) lacks(f Fact) *Trajectory {
	t.Gaps = append(t.Gaps, Gap{f, "remedy of " + t.TraceID})
	return t
}

// recalling is a trace that knows calls of get, with these ids, only from its history.
func recalling(id string, from float64, ids string, ms ...Message) *Trajectory {
	t := traceAt(id, from, from+1, hears(ms...))
	for c := range strings.SplitSeq(ids, ",") {
		t.ToolCalls = append(t.ToolCalls, ToolCall{
			SpanID: id + "-m0", ID: c, Name: "get", Model: -1, Requested: true, Recalled: true, Arguments: ParseValue(`{"n":1}`), Result: ParseValue("9"),
			HasResult: true, Outcome: OutcomeOK,
		})
	}
	return t
}

func hears(ms ...Message) ModelCall { return ModelCall{New: ms} }

func (m ModelCall) says(text string) ModelCall { m.Text = text; return m }

func saidBy(role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

func user(text string) Message { return saidBy("user", text) }

func bot(text string) Message { return saidBy("assistant", text) }

func botCalls(id, name, args string) Message {
	return Message{Role: "assistant", Parts: []Part{{Kind: PartToolCall, ID: id, Name: name, Value: ParseValue(args)}}}
}

func gets(id, result string) Message {
	return Message{Role: "tool", Parts: []Part{{Kind: PartToolResult, ID: id, Value: ParseValue(result)}}}
}

// TestJoinUsersAndTurns holds which of the user's words count as said again, and which traces go on with each other.
func TestJoinUsersAndTurns(t *testing.T) {
	failed := traceAt("b", 2, 3, hears(user("Hi")))
	failed.ModelCalls[0].Error = &Error{Type: "APIError"}
	asked := func(id string, from float64) *Trajectory { // stops as it calls a tool
		return traceAt(id, from, from+1, hears(user("Hi"))).asks(0, "c1", "get", `{}`)
	}
	goesOn := func(id string, from float64, more ...Message) *Trajectory {
		return traceAt(id, from, from+1, hears(append([]Message{user("Hi"), botCalls("c1", "get", `{}`), gets("c1", `1`)}, more...)...)).asks(0, "c-"+id, "get", `{}`)
	}
	for _, tc := range []struct {
		name  string
		parts []*Trajectory
		users []string
		turns []int
	}{
		{"the same asked twice, without a history", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Hi")))}, []string{"Hi", "Hi"}, []int{0, 1}},
		{"the same asked twice, with one", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Hi"), bot("Yes?"), user("Hi")))}, []string{"Hi", "Hi"}, []int{0, 1}},
		{"a history of the user's words alone", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi"))), traceAt("b", 2, 3, hears(user("Hi"), user("Ho")))}, []string{"Hi", "Ho"}, []int{0, 1}},
		{"a history that begins later", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Ho")).says("No.")), traceAt("c", 4, 5, hears(user("Ho"), bot("No."), user("Hi")))}, []string{"Hi", "Ho", "Hi"}, []int{0, 1, 2}},
		{"the same opening of another conversation", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Hi"), bot("No.")))}, []string{"Hi", "Hi"}, []int{0, 1}},
		{"one call with a history, one without", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Hi"), bot("Yes?"), user("Ho")), hears(user("Hi")))}, []string{"Hi", "Ho"}, []int{0, 1}},
		{"recalled without a word", []*Trajectory{asked("a", 0), recalling("b", 2, "c1")}, []string{"Hi"}, []int{0, 0}},
		{"a turn whose beginning did not come", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Hi"), bot("Yes?"), user("Hi"), botCalls("c", "get", "1"), gets("c", "2")))}, []string{"Hi", "Hi"}, []int{0, 1}},
		{"words that the first trace had twice", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi"), bot("Yes?"), user("Hi")).says("No.")), traceAt("b", 2, 3, hears(user("Hi"), bot("Yes?"), user("Hi"), bot("No."), user("Ho")))}, []string{"Hi", "Ho"}, []int{0, 1}},
		{"put to two models at once", []*Trajectory{traceAt("a", 0, 3, hears(user("Hi"))), traceAt("b", 1, 2, hears(saidBy("system", "Guard."), user("Hi")))}, []string{"Hi"}, []int{0, 1}},
		{"again after an error", []*Trajectory{failed, traceAt("c", 4, 5, hears(user("Hi")))}, []string{"Hi"}, []int{0, 1}},
		{"words of the user's that come before an answer that tells nothing", []*Trajectory{traceAt("a", 0, 1, hears()), traceAt("b", 2, 3, hears())}, nil, []int{0, 1}},
		{"a trace goes on", []*Trajectory{asked("a", 0), goesOn("b", 2)}, []string{"Hi"}, []int{0, 0}},
		{"a trace goes on after a word of the user's", []*Trajectory{asked("a", 0), goesOn("b", 2, user("Do it."))}, []string{"Hi", "Do it."}, []int{0, 1}},
		{"two go on from one place", []*Trajectory{asked("a", 0), goesOn("b", 2), goesOn("c", 4)}, []string{"Hi"}, []int{0, 0, 1}},
		{"two go on at once", []*Trajectory{asked("a", 0), goesOn("b", 0.2)}, []string{"Hi"}, []int{0, 1}},
		{"an answer ends a turn", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi")).says("Yes?")), traceAt("b", 2, 3, hears(user("Hi"), bot("Yes?"), bot("A reminder."))), traceAt("c", 4, 5, hears(user("Hi"), bot("Yes?")))}, []string{"Hi"}, []int{0, 1, 2}},
		{"the input is the results alone", []*Trajectory{asked("a", 0), traceAt("b", 2, 3, hears(gets("c1", `1`)))}, []string{"Hi"}, []int{0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Join(tc.parts)
			if !slices.Equal(got.UserMessages, tc.users) || !slices.Equal(got.Turns, tc.turns) {
				t.Errorf("users %q and turns %v, want %q and %v", got.UserMessages, got.Turns, tc.users, tc.turns)
			}
			n := 0
			for _, s := range got.Steps {
				if s.Kind == StepUser {
					n++
				}
			}
			if n != len(tc.users) {
				t.Errorf("%d steps of the user's, want %d", n, len(tc.users))
			}
		})
	}
}

// TestJoinPairs holds that a call asked for here and executed or answered there is one, and that calls which only look alike stay two.
func TestJoinPairs(t *testing.T) {
	asked := func() *Trajectory { return traceAt("a", 0, 1, hears(user("Hi"))).asks(0, "c1", "get", `{"n":1}`) }
	idless := func() *Trajectory { return traceAt("a", 0, 1, hears(user("Hi"))).asks(0, "", "get", `{"n":1}`) }
	recalled := recalling("b", 2, "c1", user("Hi"), botCalls("c1", "get", `{"n":1}`), gets("c1", `9`))
	foretold := traceAt("0", -2, -1, hears(user("Hi")))
	foretold.ToolCalls = slices.Clone(recalled.ToolCalls)
	for _, tc := range []struct {
		name    string
		parts   []*Trajectory
		calls   int
		result  string // of the first
		outcome Outcome
		trace   string // of the first
	}{
		{"executed elsewhere, by id", []*Trajectory{asked(), traceAt("x", 2, 3).runs("c1", "get", `{"n":1}`, `7`)}, 1, "7", OutcomeOK, "x"},
		{"executed elsewhere, by arguments", []*Trajectory{idless(), traceAt("x", 2, 3).runs("", "get", `{"n":1}`, `7`)}, 1, "7", OutcomeOK, "x"},
		{"executed in a trace that began before", []*Trajectory{idless(), traceAt("0", 0.2, 9).runs("", "get", `{"n":1}`, `7`)}, 1, "7", OutcomeOK, "0"},
		{"executed before it was asked for", []*Trajectory{idless(), traceAt("0", -9, -8).runs("", "get", `{"n":1}`, `7`)}, 2, "7", OutcomeOK, "0"},
		{"another call", []*Trajectory{idless(), traceAt("x", 2, 3).runs("", "get", `{"n":2}`, `7`)}, 2, "", OutcomeUnknown, "a"},
		{"answered in the next turn", []*Trajectory{asked(), traceAt("b", 2, 3, hears(user("Hi"), botCalls("c1", "get", `{"n":1}`), gets("c1", `8`), user("And?")))}, 1, "8", OutcomeOK, "a"},
		{"answered in the next turn, without ids", []*Trajectory{idless(), traceAt("b", 2, 3, hears(user("Hi"), botCalls("", "get", `{"n":1}`), gets("", `8`), user("And?")))}, 1, "8", OutcomeOK, "a"},
		{"answered with an error", []*Trajectory{asked(), traceAt("b", 2, 3, hears(gets("c1", `{"error":"no such order"}`)))}, 1, `{"error":"no such order"}`, OutcomeError, "a"},
		{"recalled", []*Trajectory{asked(), recalled}, 1, "9", OutcomeOK, "a"},
		{"two alike, recalled without ids", []*Trajectory{idless().asks(0, "", "get", `{"n":1}`), recalling("b", 2, ","), recalling("c", 4, ",")}, 2, "9", OutcomeOK, "a"},
		{"recalled by two", []*Trajectory{asked(), recalled, func() *Trajectory { c := *recalled; c.TraceID, c.Start = "c", c.Start.Add(time.Minute); return &c }()}, 1, "9", OutcomeOK, "a"},
		{"recalled where nobody made it", []*Trajectory{traceAt("a", 0, 1, hears(user("Hi"))), recalled}, 1, "9", OutcomeOK, "b"},
		{"told of before it was made", []*Trajectory{foretold, asked()}, 1, "9", OutcomeOK, "a"},
		{"one id for two calls", []*Trajectory{asked(), traceAt("b", 2, 3, hears(user("Ho"))).asks(0, "c1", "get", `{"n":1}`)}, 2, "", OutcomeUnknown, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Join(tc.parts)
			if len(got.ToolCalls) != tc.calls {
				t.Fatalf("%d calls, want %d: %+v", len(got.ToolCalls), tc.calls, got.ToolCalls)
			}
			c := got.ToolCalls[0]
			if c.Result.Raw != tc.result || c.HasResult != (tc.result != "") || c.Outcome != tc.outcome || c.TraceID != tc.trace {
				t.Errorf("got %q, %s, in trace %s, want %q, %s, %s", c.Result.Raw, c.Outcome, c.TraceID, tc.result, tc.outcome, tc.trace)
			}
			if got.TraceOf(c.SpanID) != tc.trace {
				t.Errorf("the span is of trace %q, want %q", got.TraceOf(c.SpanID), tc.trace)
			}
		})
	}
}

// TestJoinInTime interleaves traces that run beside each other.
func TestJoinInTime(t *testing.T) {
	a := traceAt("a", 0, 10, hears(user("Hi")), hears()).asks(0, "1", "get", `1`).asks(1, "2", "get", `2`)
	b := traceAt("b", 1, 5, hears(user("Ho"))).asks(0, "3", "get", `3`)
	got := Join([]*Trajectory{b, a})
	var order []string
	for _, c := range got.ToolCalls {
		order = append(order, c.ID+" of "+got.ModelCalls[c.Model].SpanID)
	}
	if want := []string{"1 of a-m0", "3 of b-m0", "2 of a-m1"}; !slices.Equal(order, want) {
		t.Errorf("calls %q, want %q", order, want)
	}
	var steps []string
	for _, s := range got.Steps {
		steps = append(steps, s.TraceID+" "+string(s.Kind))
	}
	if want := []string{"a user_message", "a model_call", "b user_message", "b model_call", "a tool_call", "b tool_call", "a model_call", "a tool_call"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
}

// TestJoinOneCallInTwoTraces holds that a model call which a gateway's trace describes too is counted once.
func TestJoinOneCallInTwoTraces(t *testing.T) {
	in := int64(100)
	one := func(id string, from float64) *Trajectory {
		p := traceAt(id, from, from+1, hears(user("Hi"))).asks(0, "c", "get", `1`)
		p.ModelCalls[0].ResponseID, p.ModelCalls[0].Usage.Input = "resp", &in
		return p
	}
	if got := Join([]*Trajectory{one("a", 0), one("b", 0.1)}); len(got.ModelCalls) != 1 || len(got.ToolCalls) != 1 || len(got.UserMessages) != 1 {
		t.Errorf("%d model calls, %d tool calls, users %q, want one of each", len(got.ModelCalls), len(got.ToolCalls), got.UserMessages)
	}
	if got := Join([]*Trajectory{one("a", 0), one("b", 5)}); len(got.ModelCalls) != 2 || len(got.ToolCalls) != 2 {
		t.Error("calls that only share an id were made one")
	}
}

// TestJoinKeepsBreaks holds that a step at which the user speaks, which nothing else tells of, still parts what is before it from what is after.
func TestJoinKeepsBreaks(t *testing.T) {
	cut := traceAt("a", 0, 3, hears(user("Hi")), hears())
	at := cut.ModelCalls[1].Start
	cut.Steps = []Step{{Kind: StepUser, Index: -1, Text: "something is not known here", Start: at, End: at}}
	got := Join([]*Trajectory{cut, traceAt("b", 4, 5, hears(user("Ho")))})
	var kinds []StepKind
	for _, s := range got.Steps {
		kinds = append(kinds, s.Kind)
	}
	if want := []StepKind{StepUser, StepModel, StepUser, StepModel, StepUser, StepModel}; !slices.Equal(kinds, want) {
		t.Errorf("steps %v, want %v", kinds, want)
	}
}

// TestJoinKeepsWhatIsNew holds that a part's own calls, told again to its next call of the model, are not taken for those of an earlier part.
func TestJoinKeepsWhatIsNew(t *testing.T) {
	a := traceAt("a", 0, 1, hears(user("Hi")), hears(botCalls("", "get", `1`), gets("", `5`)).says("Five.")).asks(0, "", "get", `1`)
	b := traceAt("b", 2, 3, hears(user("Hi"), bot("Five."), user("Ho")), hears(botCalls("", "get", `1`), gets("", `5`))).asks(0, "", "get", `1`)
	for _, p := range []*Trajectory{a, b} {
		p.ToolCalls[0].Result, p.ToolCalls[0].HasResult, p.ToolCalls[0].Outcome = ParseValue(`5`), true, OutcomeOK
	}
	got := Join([]*Trajectory{a, b})
	var left []int
	for _, m := range got.ModelCalls {
		left = append(left, len(m.New))
	}
	if want := []int{1, 2, 1, 2}; !slices.Equal(left, want) || len(got.ToolCalls) != 2 {
		t.Errorf("%v new messages and %d calls, want %v and 2", left, len(got.ToolCalls), want)
	}
}

// TestJoinGaps holds that the session lacks what a part lacks, unless it has it from another.
func TestJoinGaps(t *testing.T) {
	server := traceAt("x", 0.2, 9).runs("", "get", `1`, `7`).lacks(FactModelCalls).lacks(FactUserMessages).lacks(FactReply).lacks(FactSession)
	client := traceAt("a", 0, 1, hears(user("Hi"))).asks(0, "", "get", `1`).lacks(FactToolExecution).lacks(FactResults).lacks(FactUsage).lacks(FactReply)
	last := traceAt("z", 10, 11, hears(user("Ho"))).lacks(FactClock)
	got := Join([]*Trajectory{server, client, last})
	if want := []Gap{{FactUsage, "remedy of a"}, {FactClock, "remedy of z"}}; !reflect.DeepEqual(got.Gaps, want) {
		t.Errorf("gaps %v, want %v", got.Gaps, want)
	}
	got = Join([]*Trajectory{client, traceAt("b", 2, 3, hears()).lacks(FactUserMessages).lacks(FactReply)})
	var facts []Fact
	for _, g := range got.Gaps {
		facts = append(facts, g.Fact)
	}
	if want := []Fact{FactToolExecution, FactResults, FactUsage, FactUserMessages, FactReply}; !slices.Equal(facts, want) {
		t.Errorf("gaps %v, want %v", facts, want)
	}
}

// TestSettle holds that a call which another trace answers is no longer missing its answer, and that nothing else changes.
func TestSettle(t *testing.T) {
	lost := func() *Trajectory {
		p := traceAt("a", 0, 1, hears(user("Hi"))).asks(0, "c1", "get", `1`).asks(0, "c2", "get", `2`)
		p.ToolCalls[0].Outcome, p.ToolCalls[1].Outcome = OutcomeMissing, OutcomeMissing
		return p
	}
	part := lost()
	last := traceAt("b", 2, 3, hears(gets("c1", `5`)))
	session := Join([]*Trajectory{part, last})
	got := session.Settle(part)
	if c := got.ToolCalls; c[0].Outcome != OutcomeUnknown || c[0].Result.Raw != "5" || !c[0].HasResult || c[1].Outcome != OutcomeMissing {
		t.Errorf("settled to %+v", c)
	}
	if !reflect.DeepEqual(part, lost()) {
		t.Error("the part itself was changed")
	}
	if !got.GoesOn || session.Settle(last).GoesOn {
		t.Error("the first trace is gone on with, the last is not")
	}
	if other := traceAt("z", 0, 1); session.Settle(other) != other || part.Settle(part) != part {
		t.Error("a trace that nothing is to be settled in came back as another")
	}
}

// TestSessions holds which traces are one conversation.
func TestSessions(t *testing.T) {
	of := func(id, service, session, user, follows string) *Trajectory {
		return &Trajectory{TraceID: id, Service: service, SessionID: session, UserID: user, follows: follows}
	}
	for _, tc := range []struct {
		name  string
		parts []*Trajectory
		want  string
	}{
		{"one id", []*Trajectory{of("a", "s", "1", "", ""), of("b", "s", "2", "", ""), of("c", "s", "1", "", "")}, "[a c] [b]"},
		{"two services", []*Trajectory{of("a", "s", "1", "", ""), of("b", "t", "1", "", "")}, "[a] [b]"},
		{"no id", []*Trajectory{of("a", "s", "", "", ""), of("b", "s", "", "", "")}, "[a] [b]"},
		{"users known and not", []*Trajectory{of("a", "s", "1", "u", ""), of("b", "s", "1", "", ""), of("c", "s", "1", "u", "")}, "[a b c]"},
		{"two users share an id", []*Trajectory{of("a", "s", "1", "u", ""), of("b", "s", "1", "v", ""), of("c", "s", "1", "u", "")}, "[a] [b] [c]"},
		{"links", []*Trajectory{of("a", "s", "", "", ""), of("b", "s", "", "", "a"), of("c", "s", "", "", "b"), of("d", "t", "", "", "a"), of("e", "s", "", "", "gone")}, "[a b c] [d] [e]"},
		{"links to a trace with an id", []*Trajectory{of("a", "s", "1", "", ""), of("b", "s", "", "", "c"), of("c", "s", "1", "", "")}, "[a b c]"},
		{"an id counts before links", []*Trajectory{of("a", "s", "1", "", ""), of("b", "s", "2", "", "a")}, "[a] [b]"},
		{"links that lead round", []*Trajectory{of("a", "s", "", "", "b"), of("b", "s", "", "", "a")}, ""},
	} {
		var got string
		n := 0
		for i, s := range Sessions(tc.parts) {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprint(idsOf(s))
			n += len(s)
		}
		if n != len(tc.parts) || tc.want != "" && got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestIDsThatAreNoConversation holds that what stands in a session id's place in many traces alike joins none of them.
func TestIDsThatAreNoConversation(t *testing.T) {
	for id, want := range map[string]string{
		"default": "", "DEFAULT": "", "none": "", "null": "", "<unknown>": "", "undefined": "", "0": "", "00000000-0000-0000-0000-000000000000": "", "resp_68ab": "",
		"chatcmpl-1": "", "session": "", "[object Object]": "",
		"1": "1", "default-7f3a": "default-7f3a", "conv_0": "conv_0", "session-41": "session-41",
	} {
		if got := realSession(id); got != want {
			t.Errorf("%q is read as %q, want %q", id, got, want)
		}
	}
}

// TestAWordInPlaceOfASession holds that the remedy does not ask for an id where one came, but says why that one joins nothing.
func TestAWordInPlaceOfASession(t *testing.T) {
	for id, want := range map[string]string{"<Default>": `"default"`, "0000": "zeros", "resp_68ab": "the id of one answer", "": ""} {
		td := request(func(s ptrace.Span) {
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			s.Attributes().PutStr("gen_ai.conversation.id", id)
		})
		got := Build(FromOTLP([]ptrace.Traces{td}, nil)[0]).Remedy(FactSession)
		if told := " (what comes in its place, " + want + ", names no conversation: give each an id of its own)"; (want != "") != strings.HasSuffix(got, told) ||
			!strings.HasPrefix(got, "set gen_ai.conversation.id") {
			t.Errorf("%q: %s", id, got)
		}
	}
}

// TestLinks reads what a span is linked to: one other trace joins, several do not.
func TestLinks(t *testing.T) {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for trace, links := range map[byte][]byte{1: nil, 2: {1, 1, 2}, 3: {1, 2}, 4: {0}} {
		s := spans.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{15: trace})
		s.SetSpanID(pcommon.SpanID{7: trace})
		s.SetStartTimestamp(pcommon.Timestamp(trace) * 1e9)
		for _, l := range links {
			s.Links().AppendEmpty().SetTraceID(pcommon.TraceID{15: l})
		}
	}
	var got []int
	for _, s := range Sessions(built(td)) {
		got = append(got, len(s))
	}
	if want := []int{2, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("sessions of %v traces, want %v", got, want)
	}
}
