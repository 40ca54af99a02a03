package trajectory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// dumpedSpan is a span as two families of public fixtures write it: flat, or as the JavaScript SDK prints it.
type dumpedSpan struct {
	TraceID  string         `json:"trace_id"`
	SpanID   string         `json:"span_id"`
	ParentID string         `json:"parent_span_id"`
	Name     string         `json:"name"`
	Start    json.Number    `json:"start_time"`
	End      json.Number    `json:"end_time"`
	Attrs    map[string]any `json:"attributes"`
	Scope    struct {
		Name string `json:"name"`
	} `json:"scope"`
	Status  map[string]any `json:"status"`
	Context struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	} `json:"spanContext"`
	JSStart [2]int64 `json:"startTime"`
	JSEnd   [2]int64 `json:"endTime"`
}

func (d dumpedSpan) span(t *testing.T) Span {
	f := fixtureSpan{Name: d.Name, Scope: d.Scope.Name, Parent: d.ParentID, Attrs: d.Attrs}
	if code := fmt.Sprint(d.Status["code"]); code == "ERROR" || code == "2" {
		f.Status = "error"
	}
	s := *f.span(t)
	s.TraceID, s.ID = cmp.Or(d.TraceID, d.Context.TraceID), cmp.Or(d.SpanID, d.Context.SpanID)
	s.Start, s.End = time.Unix(d.JSStart[0], d.JSStart[1]), time.Unix(d.JSEnd[0], d.JSEnd[1])
	if n, err := d.Start.Int64(); err == nil {
		end, _ := d.End.Int64()
		s.Start, s.End = time.Unix(0, n), time.Unix(0, end)
	}
	return s
}

func publicSpans(t *testing.T, file string) []Trace {
	data, err := os.ReadFile(filepath.Join("../../../shared/data/public", file))
	if err != nil {
		t.Skipf("no public fixtures here: %v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var spans []dumpedSpan
	if err := dec.Decode(&spans); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var out []Trace
	at := map[string]int{}
	for _, d := range spans {
		s := d.span(t)
		i, ok := at[s.TraceID]
		if !ok {
			i = len(out)
			at[s.TraceID] = i
			out = append(out, Trace{ID: s.TraceID})
		}
		out[i].Spans = append(out[i].Spans, s)
	}
	return out
}

// publicAttrs reads a fixture that is the attributes of one span.
func publicAttrs(t *testing.T, file string) *Span {
	data, err := os.ReadFile(filepath.Join("../../../shared/data/public", file))
	if err != nil {
		t.Skipf("no public fixtures here: %v", err)
	}
	var attrs map[string]any
	if err := json.Unmarshal(data, &attrs); err != nil {
		t.Fatal(err)
	}
	s := &Span{Name: "chat", Attrs: Attrs{}}
	for k, raw := range attrs {
		v := pcommon.NewValueEmpty()
		if err := v.FromRaw(raw); err != nil {
			t.Fatal(err)
		}
		s.Attrs[k] = v
	}
	return s
}

// storyOf is what a trace tells, one line a call.
func storyOf(traces []Trace) string {
	var b strings.Builder
	for _, tr := range traces {
		x := Build(tr)
		for _, m := range x.ModelCalls {
			offered := 0
			if m.Offered != nil {
				offered = len(m.Offered.Tools)
			}
			fmt.Fprintf(&b, "model %s agent=%s %s finish=%s offered=%d asked=%d\n", cmp.Or(m.ModelResponded, m.ModelRequested), m.Agent, usageText(m.Usage, false), m.FinishReason, offered, len(m.ToolCalls))
		}
		for _, c := range x.ToolCalls {
			fmt.Fprintf(&b, "tool %s agent=%s %s requested=%v executed=%v %s\n", c.Name, c.Agent, valueSketch(c.Arguments), c.Requested, c.Executed, c.Outcome)
		}
		for _, h := range x.Handoffs {
			fmt.Fprintf(&b, "handoff %s > %s\n", h.From, h.To)
		}
		reply := ""
		if x.Reply != nil {
			reply = *x.Reply
		}
		fmt.Fprintf(&b, "user %.60q reply %.60q\n", x.UserMessages, reply)
	}
	return b.String()
}

// Exports found in public: what they tell, and how often.
func TestPublicFixtures(t *testing.T) {
	for _, c := range []struct {
		file  string
		tells map[string]int
	}{
		{"openinference/openai_agents_openinference_live_spans.json", map[string]int{
			"model gpt-4o-mini-2024-07-18 agent=coordinator":     2,
			"model gpt-4o-mini-2024-07-18 agent=math_specialist": 3,
			"offered=3": 3,
			`tool divide_numbers agent=math_specialist {"a":0,"b":3} requested=true executed=true`: 1,
			"requested=true executed=true ok": 4,
			"requested=false":                 0,
		}},
		{"openinference/openinference_live_spans.json", map[string]int{
			`tool finish agent= {"answer":"Taipei is warmer"} requested=true executed=true ok`: 1,
			`reply "Taipei is warmer than Seattle overall."`:                                   1,
		}},
		{"openinference/smolagents_live_spans.json", map[string]int{ // a code agent: executions that no model asked for
			`tool web_search agent=CodeAgent {"query":"population of Tokyo"} requested=false executed=true ok`: 1,
			"tool final_answer agent=CodeAgent": 1,
			"in 2366, out 52":                   1, // of the model call, not of the agent around it
			"\nmodel ":                          1,
		}},
		{"vercel-ai/v6-all-spans.json", map[string]int{
			"model gpt-4o-mini-2024-07-18 agent=test-": 4,
			"finish=stop":                         4,
			"in 15, out 112, read 0, reasoning 0": 1,
			`user ["What is 2 + 2?" "And what is 3 + 3?"] reply "3 + 3 equals 6."`: 2, // of the call, and of the loop around it, each a trace of its own
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			story := storyOf(publicSpans(t, c.file))
			for text, n := range c.tells {
				if got := strings.Count(story, text); got != n {
					t.Errorf("%q %d times, want %d, in\n%s", text, got, n, story)
				}
			}
		})
	}
}

// The same call in OpenInference and in the conventions, new and deprecated, must read the same.
func TestPublicTwins(t *testing.T) {
	read := func(file string) Facts {
		s := publicAttrs(t, file)
		f := winner(s).Read(s)
		f.ResponseID = "" // OpenInference has no place for it
		return f
	}
	want := factsText(read("openinference/openinference_client_span_tool_calls.json"))
	if !strings.Contains(want, `call(1234 get_weather {"location":"Paris"})`) {
		t.Errorf("got\n%s", want)
	}
	for _, file := range []string{"otel-genai/otel_genai_client_span_tool_calls.json", "otel-genai/otel_genai_deprecated_client_span_tool_calls.json"} {
		if got := factsText(read(file)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}
