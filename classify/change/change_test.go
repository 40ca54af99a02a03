package change

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

const errand = `trace service=shop route=/chat
tools shop
  get_order {"type":"object","properties":{"order_id":{"type":"string","pattern":"^ORD-[0-9]{5}$"}},"required":["order_id"]}
  track
user Where is ORD-10231?
model m1 agent=support tools=shop
call c1 get_order {"order_id":"ORD-10231"}
  ok {"status":"sent"}
model m2 agent=support tools=shop
call c2 track {"id":1}
  ok {"at":"hub"}
call c3 track {"id":2}
  error no such parcel
handoff support billing
model m3 agent=billing tools=shop
reply It is on its way.
`

func read(t *testing.T, text string) *trajectory.Trajectory {
	tr, err := texttraj.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// inOrder checks that everything which points somewhere points to the right thing.
func inOrder(t *testing.T, tr *trajectory.Trajectory) {
	t.Helper()
	seen := map[trajectory.StepKind]int{}
	for _, s := range tr.Steps {
		switch s.Kind {
		case trajectory.StepTool:
			if tr.ToolCalls[s.Index].SpanID != s.SpanID {
				t.Errorf("step of %s points to %s", s.SpanID, tr.ToolCalls[s.Index].SpanID)
			}
		case trajectory.StepModel:
			if tr.ModelCalls[s.Index].SpanID != s.SpanID {
				t.Errorf("step of %s points to %s", s.SpanID, tr.ModelCalls[s.Index].SpanID)
			}
		case trajectory.StepHandoff:
			_ = tr.Handoffs[s.Index]
		}
		seen[s.Kind]++
	}
	if seen[trajectory.StepTool] != len(tr.ToolCalls) || seen[trajectory.StepModel] != len(tr.ModelCalls) || seen[trajectory.StepHandoff] != len(tr.Handoffs) {
		t.Errorf("%v steps for %d tool calls, %d model calls, %d hand-offs", seen, len(tr.ToolCalls), len(tr.ModelCalls), len(tr.Handoffs))
	}
	for i, c := range tr.ToolCalls {
		if c.Model >= 0 && tr.ModelCalls[c.Model].SpanID != c.RequestSpanID {
			t.Errorf("%s was asked for by %s, not by %s", c.SpanID, c.RequestSpanID, tr.ModelCalls[c.Model].SpanID)
		}
		for m := range tr.ModelCalls {
			for _, k := range tr.ModelCalls[m].ToolCalls {
				if k == i && c.Model != m {
					t.Errorf("%s belongs to model call %d and is listed by %d", c.SpanID, c.Model, m)
				}
			}
		}
	}
}

func TestEditsKeepOrder(t *testing.T) {
	for step := range read(t, errand).Steps {
		tr := read(t, errand)
		n := len(tr.Steps)
		DropStep(tr, step)
		inOrder(t, tr)
		if len(tr.Steps) >= n {
			t.Errorf("dropping step %d left %d of %d steps", step, len(tr.Steps), n)
		}
		tr = read(t, errand)
		i := Insert(tr, step, Call{Tool: "validate", Result: `{"ok":true}`, Agent: "support"})
		inOrder(t, tr)
		if c := tr.ToolCalls[i]; c.Name != "validate" || !c.HasResult || string(c.Result.JSON) != `{"ok":true}` {
			t.Errorf("inserted %+v", c)
		}
		if _, ok := tr.ModelCalls[tr.ToolCalls[i].Model].Offered.Tool("validate"); !ok {
			t.Error("what was inserted is not on offer")
		}
	}
}

func TestEditsReachMessages(t *testing.T) {
	tr := read(t, errand)
	tr.ModelCalls[2].New = []trajectory.Message{
		{Role: "assistant", Parts: []trajectory.Part{{Kind: trajectory.PartToolCall, ID: "id-c1", Name: "get_order"}}},
		{Role: "tool", Parts: []trajectory.Part{{Kind: trajectory.PartToolResult, ID: "id-c1", Failed: true}, {Kind: trajectory.PartToolResult, ID: "id-c2"}}},
	}
	Answer(tr, 0, `{"status":"lost"}`)
	Argue(tr, 0, jsontext.Value(`{"order_id":"ORD-1"}`))
	Rename(tr, 0, "find_order")
	if p := tr.ModelCalls[2].New[1].Parts[0]; p.Failed || string(p.Value.JSON) != `{"status":"lost"}` {
		t.Errorf("the result is %+v", p)
	}
	if p := tr.ModelCalls[2].New[0].Parts[0]; p.Name != "find_order" || string(p.Value.JSON) != `{"order_id":"ORD-1"}` {
		t.Errorf("the request is %+v", p)
	}
	DropCall(tr, 0)
	if got := tr.ModelCalls[1].New; len(got) != 1 || len(got[0].Parts) != 1 || got[0].Parts[0].ID != "id-c2" {
		t.Errorf("the messages are %+v", got)
	}
}

func TestFit(t *testing.T) {
	order := `{"type":"object","properties":{"order_id":{"type":"string","pattern":"^ORD-[0-9]{5}$"},"n":{"type":"integer","maximum":20},"cur":{"enum":["EUR"]},` +
		`"to":{"type":"object","properties":{"mail":{"type":"string","format":"email"}},"required":["mail"]},"tags":{"type":"array","items":{"type":"string"}}},` +
		`"required":["order_id"],"additionalProperties":false}`
	for args, want := range map[string]string{
		`{"order_id":"ORD-10231"}`:         `{"order_id":"ORD-10231"}`,
		`{"order_id":"10231","n":"fifty"}`: `{"n":1,"order_id":"ORD-11111"}`,
		`{}`:                               `{"order_id":"ORD-11111"}`,
		`{"order_id":"ORD-10231","cur":"EURO","why":1}`: `{"cur":"EUR","order_id":"ORD-10231"}`,
		`{"order_id":"ORD-10231","to":{}}`:              `{"order_id":"ORD-10231","to":{"mail":"a@example.com"}}`,
		`{"order_id":"ORD-10231","tags":["a",2]}`:       `{"order_id":"ORD-10231","tags":["a","x"]}`,
		``: `{"order_id":"ORD-11111"}`,
	} {
		got, ok := Fit(jsontext.Value(order), jsontext.Value(args))
		if !ok || string(got) != want {
			t.Errorf("%s: got %s (%v), want %s", args, got, ok, want)
		}
	}
	if got, ok := Fit(jsontext.Value(`{"type":"object","properties":{"kind":{"$ref":"#/$defs/k"}},"required":["kind"],"$defs":{"k":{"enum":["a","b"]}}}`), jsontext.Value(`{"kind":"c"}`)); !ok || string(got) != `{"kind":"a"}` {
		t.Errorf("got %s, %v", got, ok)
	}
	if _, ok := Fit(jsontext.Value(`{"not":{}}`), jsontext.Value(`{}`)); ok {
		t.Error("what nothing fits was fitted")
	}
}

func TestPlaces(t *testing.T) {
	tr := read(t, errand)
	for what, f := range map[string]classify.Finding{
		"step": {Step: 5}, "execution": {Step: -1, Evidence: []classify.Evidence{{SpanID: "m9"}, {SpanID: "c3"}}},
	} {
		if i, ok := CallOf(tr, f); !ok || tr.ToolCalls[i].SpanID != "c3" {
			t.Errorf("%s: call %d, %v", what, i, ok)
		}
	}
	if m, ok := ModelOf(tr, classify.Finding{Step: 5}); !ok || m != 1 {
		t.Errorf("model %d, %v", m, ok)
	}
	if _, ok := CallOf(tr, classify.Finding{Step: -1}); ok {
		t.Error("a finding on the whole trace stands on a call")
	}
}
