package classify

import (
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// FuzzReadSketch: any bytes give a trajectory or an error.
func FuzzReadSketch(f *testing.F) {
	t := &trajectory.Trajectory{
		TraceID: "01", SessionID: "s", Service: "shop", Start: time.Unix(1, 0).UTC(), End: time.Unix(2, 0).UTC(), UserMessages: []string{"hello"},
		ToolCalls: []trajectory.ToolCall{{SpanID: "02", Name: "get", Model: -1, Arguments: trajectory.ParseValue(`{"id":1}`), Outcome: trajectory.OutcomeOK}},
		Steps:     []trajectory.Step{{Kind: trajectory.StepUser, Index: -1, Text: "hello"}, {Kind: trajectory.StepTool, Index: 0}},
	}
	doc, _, err := Sketch(t)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add(s2.Encode(nil, []byte(`{"Steps":[{"Kind":"tool_call","Index":9}]}`)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}) // four gigabytes, it says
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := ReadSketch(doc)
		if (got == nil) != (err != nil) {
			t.Fatalf("%v and %v", got, err)
		}
	})
}
