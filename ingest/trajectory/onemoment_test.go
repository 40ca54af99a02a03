package trajectory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A fast agent whose exporter has a clock of milliseconds leaves spans that all share one moment. Their ids say nothing of their order, their
// inputs do: the run reads like the same run, told with a finer clock.
func TestOneMoment(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	told := func(attempt int, step time.Duration, withIDs bool) *Trajectory {
		ids := rand.New(rand.NewPCG(1, uint64(attempt))).Perm(6)
		n := 0
		var spans []Span
		span := func(name string, attrs map[string]string) {
			m := pcommon.NewMap()
			for k, v := range attrs {
				m.PutStr(k, v)
			}
			s := Span{TraceID: "a1", ID: fmt.Sprintf("%016x", ids[n]+1), Name: name, Start: at.Add(time.Duration(n) * step), Attrs: AttrsOf(m)}
			if s.End = s.Start.Add(step / 2); n > 0 {
				s.ParentID = spans[0].ID
			}
			spans = append(spans, s)
			n++
		}
		span("invoke_agent desk", map[string]string{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"})
		input := []string{`{"role":"user","parts":[{"type":"text","content":"Where is it?"}]}`}
		for i, tool := range []string{"find_parcel", "ask_depot", ""} {
			id := ""
			if withIDs {
				id = fmt.Sprintf(`"id":"call_%d",`, i)
			}
			said := `{"role":"assistant","parts":[{"type":"text","content":"At the depot."}],"finish_reason":"stop"}`
			if tool != "" {
				said = fmt.Sprintf(`{"role":"assistant","parts":[{"type":"tool_call",%s"name":%q,"arguments":{"n":1}}],"finish_reason":"tool_call"}`, id, tool)
			}
			span("chat m", map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
				"gen_ai.input.messages": "[" + strings.Join(input, ",") + "]", "gen_ai.output.messages": "[" + said + "]"})
			if tool == "" {
				break
			}
			attrs := map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": `{"n":1}`, "gen_ai.tool.call.result": `{"of":"` + tool + `"}`}
			if withIDs {
				attrs["gen_ai.tool.call.id"] = fmt.Sprintf("call_%d", i)
			}
			span("execute_tool "+tool, attrs)
			input = append(input, said, fmt.Sprintf(`{"role":"tool","parts":[{"type":"tool_call_response",%s"response":{"of":%q}}]}`, id, tool))
		}
		return Build(Trace{ID: "a1", Spans: spans})
	}
	tell := func(o *Trajectory) string {
		var b strings.Builder
		for _, s := range o.Steps {
			fmt.Fprintf(&b, "%v %s", s.Kind, s.Text)
			if s.Kind == StepTool {
				c := o.ToolCalls[s.Index]
				fmt.Fprintf(&b, "%s %s after call %d", c.Name, c.Result.JSON, c.Model)
			}
			b.WriteByte('\n')
		}
		for _, m := range o.ModelCalls {
			fmt.Fprintf(&b, "call %v %q new %d back %t\n", m.ToolCalls, m.Text, len(m.New), m.Back)
		}
		if o.Reply != nil {
			b.WriteString("reply " + *o.Reply)
		}
		return b.String()
	}
	for _, withIDs := range []bool{true, false} {
		want := tell(told(0, time.Second, withIDs))
		if !strings.HasSuffix(want, "reply At the depot.") || strings.Contains(want, "back true") {
			t.Fatalf("with a fine clock: %s", want)
		}
		for attempt := range 60 {
			if got := tell(told(attempt, 0, withIDs)); got != want {
				t.Fatalf("ids %t, attempt %d:\n%s\nwant\n%s", withIDs, attempt, got, want)
			}
		}
	}
}
