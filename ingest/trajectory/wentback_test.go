package trajectory

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// An agent that searches goes back to an input it had before; one that is told of its calls does not, though its emitter may write inputs late.
func TestWentBack(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	chat := func(n int, input, output string) Span {
		start := at.Add(time.Duration(n) * time.Second)
		attrs := pcommon.NewMap()
		for k, v := range map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": input, "gen_ai.output.messages": output} {
			attrs.PutStr(k, v)
		}
		return Span{TraceID: "a1", ID: fmt.Sprintf("%016x", n+1), Name: "chat", Start: start, End: start.Add(time.Second / 2), Attrs: AttrsOf(attrs)}
	}
	user := `[{"role":"user","parts":[{"type":"text","content":"Which room?"}]}`
	asks := `[{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"list_rooms","arguments":{}}]}]`
	told := user + `,{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"list_rooms","arguments":{}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"call_1","response":"north"}]}]`
	for name, c := range map[string]struct {
		first, second string
		want          bool
	}{
		"goes back":    {user + "]", user + "]", true},
		"goes on":      {user + "]", told, false},
		"written late": {told, told, false},
		"was cut":      {user, user, false},
	} {
		got := Build(Trace{ID: "a1", Spans: []Span{chat(0, c.first, asks), chat(1, c.second, asks)}})
		if len(got.ModelCalls) != 2 || got.ModelCalls[1].Back != c.want || got.ModelCalls[0].Back {
			t.Errorf("%s: %d calls, the second went back: %t, want %t", name, len(got.ModelCalls), got.ModelCalls[len(got.ModelCalls)-1].Back, c.want)
		}
	}
}
