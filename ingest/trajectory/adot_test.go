package trajectory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// cloudWatchRow is a span or a record as CloudWatch keeps it.
type cloudWatchRow struct {
	Raw struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		TraceID string         `json:"traceId"`
		SpanID  string         `json:"spanId"`
		Parent  string         `json:"parentSpanId"`
		Name    string         `json:"name"`
		Start   int64          `json:"startTimeUnixNano"`
		End     int64          `json:"endTimeUnixNano"`
		Time    int64          `json:"timeUnixNano"`
		Attrs   map[string]any `json:"attributes"`
		Body    any            `json:"body"`
	} `json:"raw_otel_json"`
}

func cloudWatch(t *testing.T, files ...string) []Trace {
	var out []Trace
	at := map[string]int{}
	trace := func(id string) *Trace {
		if _, ok := at[id]; !ok {
			at[id] = len(out)
			out = append(out, Trace{ID: id})
		}
		return &out[at[id]]
	}
	var logs []Log
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("../../../shared/data/public", file))
		if err != nil {
			t.Skipf("no public fixtures here: %v", err)
		}
		var rows []cloudWatchRow
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, row := range rows {
			r := row.Raw
			attrs := fixtureSpan{Attrs: r.Attrs}.span(t).Attrs
			switch {
			case r.SpanID == "":
			case r.Start > 0:
				s := Span{TraceID: r.TraceID, ID: r.SpanID, ParentID: r.Parent, Name: r.Name, Scope: r.Scope.Name, Attrs: attrs, Start: time.Unix(0, r.Start), End: time.Unix(0, r.End)}
				tr := trace(r.TraceID)
				tr.Spans = append(tr.Spans, s)
			default:
				body := pcommon.NewValueEmpty()
				if err := body.FromRaw(r.Body); err != nil {
					t.Fatal(err)
				}
				logs = append(logs, Log{TraceID: r.TraceID, SpanID: r.SpanID, Scope: r.Scope.Name,
					Event: Event{Name: attrs.Text("event.name"), Time: time.Unix(0, r.Time), Attrs: attrs, Body: body}})
			}
		}
	}
	slices.SortStableFunc(logs, func(a, b Log) int { return a.Time.Compare(b.Time) })
	for _, l := range logs {
		tr := trace(l.TraceID)
		if i := slices.IndexFunc(tr.Spans, func(s Span) bool { return s.ID == l.SpanID }); i >= 0 {
			tr.Spans[i].Logs = append(tr.Spans[i].Logs, l)
		} else {
			tr.Logs = append(tr.Logs, l)
		}
	}
	return out
}

// What CloudWatch holds of AgentCore's runs: spans without content, and the records that have it.
func TestADOTCloudWatch(t *testing.T) {
	story := storyOf(cloudWatch(t, "aws-adot/raw_otel_langchain_spans.json", "aws-adot/raw_otel_langchain_runtime_logs.json"))
	for text, n := range map[string]int{
		"model us.anthropic.claude-3-5-haiku-20241022-v1:0": 2, // LangChain's span and botocore's below it are one call
		"finish=stop": 2,
		`user ["Hello"] reply "Hello! How can I help you today?`:                                         1,
		`user ["Hello, find everything about me from my memory "] reply "I apologize, but I do not have`: 1,
	} {
		if got := strings.Count(story, text); got != n {
			t.Errorf("%q %d times, want %d, in\n%s", text, got, n, story)
		}
	}
}

// The record of a tool span of LangChain, which is wrapped three times.
func TestADOTToolRecord(t *testing.T) {
	traces := cloudWatch(t, "aws-adot/raw_otel_langchain_tool_runtime_logs.json")
	read := 0
	for _, tr := range traces {
		for _, l := range tr.Logs {
			if !isADOTRecord(&l) || !strings.Contains(structured(l.Body), "input_str") {
				continue
			}
			s := &Span{ID: l.SpanID, Attrs: fixtureSpan{Attrs: map[string]any{"traceloop.span.kind": "tool"}}.span(t).Attrs, Logs: []Log{l}}
			if f := readADOT(s); f.ToolName == "calculator" && string(f.Arguments.JSON) == `{"expression":"1"}` && string(f.Result.JSON) == "1" && f.CallID == "tooluse_8JNfu7pISWq3NaUcG5cVOQ" {
				read++
			} else {
				t.Errorf("%s", factsText(f))
			}
		}
	}
	if read == 0 {
		t.Error("no record of a tool was read")
	}
}
