package order_test

import (
	"slices"
	"testing"

	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func read(t *testing.T, text string) *trajectory.Trajectory {
	t.Helper()
	tr, err := texttraj.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestBefore(t *testing.T) {
	tr := read(t, `trace service=s
model m1 agent=a
call c1 one {}
  ok {}
call c2 two {}
  ok {}
model m2 agent=a
call c3 three {}
  ok {}
`)
	calls := order.Calls(tr)
	for _, want := range []struct {
		a, b             int
		before, together bool
	}{{0, 1, false, true}, {1, 0, false, true}, {0, 2, true, false}, {2, 0, false, false}, {1, 2, true, false}} {
		a, b := calls[want.a], calls[want.b]
		if a.Before(b) != want.before || a.Together(b) != want.together {
			t.Errorf("%s and %s: before %v, together %v", a.Tool, b.Tool, a.Before(b), a.Together(b))
		}
	}
}

// A call that only the first input of the agent tells of came before all that the trace did, with the answer that the input has.
func TestHistory(t *testing.T) {
	tr := read(t, `trace service=s
model m1 agent=a
call c1 upsert {"id":"P1"}
  ok {}
`)
	part := func(kind trajectory.PartKind, id, name, value string) trajectory.Part {
		return trajectory.Part{Kind: kind, ID: id, Name: name, Value: trajectory.ParseValue(value)}
	}
	failed := part(trajectory.PartToolResult, "x2", "", `{"error":"no"}`)
	failed.Failed = true
	tr.ModelCalls[0].New = []trajectory.Message{
		{Role: "assistant", Parts: []trajectory.Part{part(trajectory.PartToolCall, "x1", "validate", `{"id":"P1"}`), part(trajectory.PartToolCall, "x2", "validate", `{"id":"P2"}`),
			part(trajectory.PartToolCall, "id-c1", "upsert", `{"id":"P1"}`)}},
		{Role: "tool", Parts: []trajectory.Part{part(trajectory.PartToolResult, "x1", "", `{"valid":true}`), failed}},
	}
	calls := order.Calls(tr)
	if len(calls) != 3 {
		t.Fatalf("%d calls, want the two of the history and the own one once", len(calls))
	}
	if a, b, c := calls[0], calls[1], calls[2]; !a.Before(c) || a.Went() != order.Yes || a.Made() || b.Went() != order.No || !c.Made() {
		t.Errorf("history is read as %+v %+v", a, b)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		args, name string
		want       []string
		told       bool
	}{
		{`{"id":"P1 "}`, "id", []string{"p1"}, true},
		{`{"a":{"b":7}}`, "a.b", []string{"7"}, true},
		{`{"a":{"b":7}}`, "/a/b", []string{"7"}, true},
		{`{"items":[{"productId":"A"},{"productId":"B"}]}`, "product_id", []string{"a", "b"}, true},
		{`{"product_ids":["A","B"]}`, "product_id", []string{"a", "b"}, true},
		{`{"x":1}`, "id", nil, true},
		{`nonsense`, "id", nil, false},
		{`[1]`, "id", nil, false},
	} {
		got, told := order.Values(trajectory.ParseValue(c.args), c.name)
		if !slices.Equal(got, c.want) || told != c.told {
			t.Errorf("Values(%s, %s) = %q, %v", c.args, c.name, got, told)
		}
	}
}

func TestHabits(t *testing.T) {
	tr := read(t, `trace service=s
tools t
  get_order
  cancel_order
  delete_order
model m1 agent=a tools=t
call c1 get_order {"id":"ORD-1","n":1}
  ok {}
model m2 agent=a tools=t
call c2 cancel_order {"order":"ORD-1","n":1}
  ok {}
handoff a b
handoff a b
`)
	var got []string
	for _, h := range order.Habits(tr) {
		for _, l := range h.Laws {
			got = append(got, string(h.Kind)+" "+h.Of+" by "+l.By+" "+l.Arg+"="+l.ByArg)
		}
		if len(h.Laws) == 0 {
			got = append(got, string(h.Kind)+" "+h.Of+" nothing")
		}
	}
	want := []string{"hands a by b =", "precedes cancel_order by get_order =", "precedes cancel_order by get_order order=id", "spares cancel_order nothing", "spares delete_order by  =",
		"uses  by cancel_order =", "uses  by get_order ="}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
