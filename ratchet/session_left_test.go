package ratchet

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// turn is a whole trace of one turn of a conversation.
func turnOf(t *testing.T, n int, user, reply string) trajectory.Trace {
	t.Helper()
	said := func(role, text string) string {
		doc, err := json.Marshal([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}})
		if err != nil {
			t.Fatal(err)
		}
		quoted, _ := json.Marshal(string(doc))
		return string(quoted)
	}
	at := time.Date(2026, 11, 30, 9, n, 0, 0, time.UTC).UnixNano()
	doc := fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"chat m",
		"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.request.model","value":{"stringValue":"m"}},
		{"key":"gen_ai.conversation.id","value":{"stringValue":"talk-1"}},{"key":"gen_ai.response.finish_reasons","value":{"arrayValue":{"values":[{"stringValue":"stop"}]}}},
		{"key":"gen_ai.input.messages","value":{"stringValue":%s}},{"key":"gen_ai.output.messages","value":{"stringValue":%s}}]}]}]}]}`, n+1, n+1, at, at+int64(time.Second), said("user", user), said("assistant", reply))
	data, _, err := wire.DecodeJSON(wire.Traces, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return trajectory.FromOTLP([]ptrace.Traces{data.Traces}, nil)[0]
}

// TestAnAbandonedConversationWaitsForAPerson once nothing came after it for long enough, and is taken back when the user comes back after all.
func TestAnAbandonedConversationWaitsForAPerson(t *testing.T) {
	ask, leave, back := turnOf(t, 0, "Where is my order?", "I do not know."), turnOf(t, 1, "This is useless.", "I am sorry."), turnOf(t, 2, "One more question: where are you?", "In the High Street.")
	for name, tc := range map[string]struct {
		after time.Duration
		come  []trajectory.Trace
		want  int
		late  bool // the last one comes after the conversation was judged
	}{
		"left":                    {30 * time.Minute, []trajectory.Trace{ask, leave}, 1, false},
		"left at once":            {30 * time.Minute, []trajectory.Trace{leave}, 1, false},
		"nobody looks":            {0, []trajectory.Trace{ask, leave}, 0, false},
		"not left":                {30 * time.Minute, []trajectory.Trace{ask, leave, back}, 0, false},
		"came back after all":     {30 * time.Minute, []trajectory.Trace{ask, leave, back}, 0, true},
		"what came before counts": {30 * time.Minute, []trajectory.Trace{leave, ask}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			engine, err := classify.New(quiet, rule.All(), classify.Options{LeftAfter: tc.after})
			if err != nil {
				t.Fatal(err)
			}
			q := testQueue(t)
			m := testMaker(t)
			m.Engine = engine
			a := NewAbsorber(quiet, q, m, nil, Options{})
			d := newDesk(t, q, engine)
			now := noon
			for i, tr := range tc.come {
				if tc.late && i == len(tc.come)-1 {
					now = now.Add(31 * time.Minute)
					foldAndSweep(t, a, now)
					if g := labelled(t, a, classify.NoLabel); g == nil || g.Count != 1 {
						t.Fatalf("before the user came back: %+v", g)
					}
				}
				now = now.Add(time.Minute)
				d.judge(tr, "r", now)
			}
			foldAndSweep(t, a, now.Add(29*time.Minute))
			if g := labelled(t, a, classify.NoLabel); g != nil && !tc.late {
				t.Errorf("29 minutes after its last trace it was judged: %+v", g)
			}
			foldAndSweep(t, a, now.Add(31*time.Minute))
			g := labelled(t, a, classify.NoLabel)
			switch {
			case tc.want == 0 && g != nil:
				t.Errorf("%+v", g)
			case tc.want == 1 && (g == nil || g.Count != 1 || g.Why != `the user gave up: "This is useless.", and did not come back` || g.Service != "shop"):
				t.Errorf("%+v", g)
			}
			again := NewAbsorber(quiet, q, m, nil, Options{}) // what was judged is not judged anew by the next process
			foldAndSweep(t, again, now.Add(32*time.Minute))
			if h := labelled(t, again, classify.NoLabel); (h == nil) != (g == nil) || h != nil && h.Count != g.Count {
				t.Errorf("after a restart: %+v", h)
			}
		})
	}
}
