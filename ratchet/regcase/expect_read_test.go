package regcase

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// What EncodeExpect and JSON write DecodeExpect reads, and both are the same.
func TestExpectAlone(t *testing.T) {
	e := Expect{
		Never: []Never{{Label: "loop", Rule: "loop@1", Severity: "blocking", Params: NewJSON([]byte(`{"match":5}`))}}, Criteria: []Criterion{{Text: "It says where the parcel is."}},
		Liveness:   Liveness{Reply: true, NoError: true, Calls: []string{"get_order"}, Healthy: 3},
		Trajectory: &Trajectory{Mode: "superset", Calls: []ExpectedCall{{Tool: "get_order", Mode: "ignore", Arguments: map[string]Field{"/order_id": {Match: "exact", Value: NewJSON([]byte(`"A-1"`))}}}}},
		Budget:     &Budget{ToolCalls: new(int64(3)), Tolerance: 0.2},
	}
	text, err := EncodeExpect(e)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{text, doc} {
		got, err := DecodeExpect(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s\nis %+v, %v", b, got, err)
		}
	}
}

func TestExpectAloneIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"liveness: {replies: true}":                          "unknown key",
		"liveness: {reply: true}\nliveness: {reply: true}":   "already defined",
		`{"liveness":{"reply":true,"reply":false}}`:          "duplicate",
		`{"liveness":{"reply":"yes"}}`:                       "reply",
		"trajectory: {mode: sometimes, calls: []}":           "mode",
		"budget: {tolerance: 0.2}":                           "no number is limited",
		"budget: {tool_calls: -1, tolerance: 0}":             "less than 0",
		"response: {text: hello, threshold: 2}":              "threshold",
		"liveness: &a {reply: true}":                         "anchors",
		"":                                                   "empty",
		"- liveness":                                         "a list",
		`{"never":[{"label":"LOOP","rule":"loop@1"}]} extra`: "extra",
	} {
		if _, err := DecodeExpect([]byte(text)); err == nil || !strings.Contains(strings.ToLower(err.Error()), want) && want != "extra" {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
