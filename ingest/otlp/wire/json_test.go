package wire

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	hexTrace = "5b8efff798038103d269b633813fc60c"
	hexSpan  = "eee19b7ec3c1b174"
)

// oneSpan wraps the JSON of span fields and attributes into a request.
func oneSpan(fields string) string {
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"` + hexTrace + `","spanId":"` + hexSpan + `",` + fields + `"name":"n"}]}]}]}`
}

func decodeSpan(t *testing.T, text string) (ptrace.Span, Report) {
	t.Helper()
	d, report, err := DecodeJSON(Traces, []byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	spans := spansOf(d)
	if len(spans) != 1 {
		t.Fatalf("%d spans from %s, report %+v", len(spans), text, report)
	}
	return spans[0], report
}

func TestJSONIDs(t *testing.T) {
	for _, tc := range []struct{ name, trace, span, wantTrace, wantSpan string }{
		{"hex", hexTrace, hexSpan, hexTrace, hexSpan},
		{"upper case", strings.ToUpper(hexTrace), strings.ToUpper(hexSpan), hexTrace, hexSpan},
		{"uuid", "5b8efff7-9803-8103-d269-b633813fc60c", hexSpan, hexTrace, hexSpan},
		{"base64", "W47/95gDgQPSabYzgT/GDA==", "7uGbfsPBsXQ=", hexTrace, hexSpan},
		{"base64 without padding, URL alphabet", "W47_95gDgQPSabYzgT_GDA", "7uGbfsPBsXQ", hexTrace, hexSpan},
		{"zero-stripped", "ff798038103d269b633813fc60c", "1b174", "00000ff798038103d269b633813fc60c", "000000000001b174"},
		{"64-bit trace id", "d269b633813fc60c", hexSpan, "0000000000000000d269b633813fc60c", hexSpan},
	} {
		t.Run(tc.name, func(t *testing.T) {
			span, _ := decodeSpan(t, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"`+tc.trace+`","spanId":"`+tc.span+`"}]}]}]}`)
			if span.TraceID().String() != tc.wantTrace || span.SpanID().String() != tc.wantSpan {
				t.Errorf("got %s/%s, want %s/%s", span.TraceID(), span.SpanID(), tc.wantTrace, tc.wantSpan)
			}
		})
	}
}

func TestJSONRejectsUnusableIDs(t *testing.T) {
	for _, tc := range []struct{ trace, span, code string }{
		{strings.Repeat("0", 32), hexSpan, "zero_id"},
		{hexTrace, strings.Repeat("0", 16), "zero_id"},
		{"", hexSpan, "zero_id"},
		{"live-trace-1", hexSpan, "bad_id"},
		{hexTrace + "00", hexSpan, "bad_id"},
		{hexTrace, "llm-1", "bad_id"},
	} {
		text := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"` + tc.trace + `","spanId":"` + tc.span + `"},{"traceId":"` + hexTrace + `","spanId":"` + hexSpan + `"}]}]}]}`
		span, report := decodeSpan(t, text)
		if span.SpanID().String() != hexSpan || report.Spans != 1 {
			t.Errorf("%v: the good span is lost: %+v", tc, report)
		}
		if report.Rejected.Count != 1 || report.Rejected.Reasons[0].Code != tc.code || report.Rejected.String() == "" {
			t.Errorf("%v: rejected %+v, want one %s", tc, report.Rejected, tc.code)
		}
	}
}

func TestJSONShapesOfSenders(t *testing.T) {
	for name, text := range map[string]string{
		"snake case":      `{"resource_spans":[{"scope_spans":[{"spans":[{"trace_id":"%s","span_id":"%s","name":"n","start_time_unix_nano":7}]}]}]}`,
		"old library":     `{"resourceSpans":[{"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"lib"},"spans":[{"traceId":"%s","spanId":"%s","name":"n","startTimeUnixNano":"7"}]}]}]}`,
		"batches":         `{"batches":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","name":"n","startTimeUnixNano":7}]}]}]}`,
		"unknown fields":  `{"x":{"y":[1]},"resourceSpans":[{"z":null,"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","name":"n","startTimeUnixNano":{"high":0,"low":7},"new":[{}]}]}]}]}`,
		"nulls":           `{"resourceSpans":[{"resource":null,"scopeSpans":[{"scope":null,"spans":[{"traceId":"%s","spanId":"%s","parentSpanId":null,"events":null,"links":null,"attributes":null,"status":null,"name":"n","startTimeUnixNano":7}]}]}]}`,
		"not a span here": `{"resourceSpans":[{"scopeSpans":[{"spans":[null,3,{"traceId":"%s","spanId":"%s","name":"n","startTimeUnixNano":7}]}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			span, _ := decodeSpan(t, fmt.Sprintf(text, hexTrace, hexSpan))
			if span.Name() != "n" || span.StartTimestamp() != 7 {
				t.Errorf("name %q start %d", span.Name(), span.StartTimestamp())
			}
		})
	}
}

func TestJSONNumbersAndEnums(t *testing.T) {
	const big = 1796048523575000001 // beyond what a float holds
	for _, tc := range []struct {
		fields string
		kind   ptrace.SpanKind
		status ptrace.StatusCode
		start  pcommon.Timestamp
	}{
		{`"kind":3,"status":{"code":2},"startTimeUnixNano":"1796048523575000001",`, 3, 2, big},
		{`"kind":"SPAN_KIND_CLIENT","status":{"code":"STATUS_CODE_ERROR"},"startTimeUnixNano":1796048523575000001,`, 3, 2, big},
		{`"kind":"CLIENT","status":"OK","startTimeUnixNano":{"high":418178003,"low":-1370554303},`, 3, 1, 418178003<<32 | 2924412993},
		{`"kind":"3","status":{},"startTimeUnixNano":"1e3",`, 3, 0, 1000},
		{`"kind":"telepathic","status":{"code":null},"startTimeUnixNano":"1970-01-01T00:00:01Z",`, 0, 0, 1e9},
		{`"kind":null,"status":{"code":1,"message":"m"},"startTimeUnixNano":-5,`, 0, 1, 0},
		{`"kind":1.5,"startTimeUnixNano":"soon",`, 0, 0, 0},
	} {
		span, _ := decodeSpan(t, oneSpan(tc.fields))
		if span.Kind() != tc.kind || span.Status().Code() != tc.status || span.StartTimestamp() != tc.start {
			t.Errorf("%s: kind %d status %d start %d", tc.fields, span.Kind(), span.Status().Code(), span.StartTimestamp())
		}
	}
}

func TestJSONValues(t *testing.T) {
	deep := strings.Repeat(`{"arrayValue":{"values":[`, 60) + `{"stringValue":"bottom"}` + strings.Repeat(`]}}`, 60)
	for _, tc := range []struct {
		value string
		want  any
	}{
		{`{"stringValue":"a\u00e9"}`, "aé"},
		{`{"stringValue":5}`, "5"},
		{`{"stringValue":null}`, nil},
		{`{"string_value":"snake"}`, "snake"},
		{`{"intValue":"9007199254740993"}`, int64(9007199254740993)},
		{`{"intValue":9007199254740993}`, int64(9007199254740993)},
		{`{"intValue":{"low":1,"high":1,"unsigned":false}}`, int64(1<<32 + 1)},
		{`{"intValue":12.0}`, int64(12)},
		{`{"intValue":1.5}`, 1.5},
		{`{"intValue":"many"}`, "many"},
		{`{"boolValue":"true"}`, true},
		{`{"boolValue":false}`, false},
		{`{"doubleValue":"Infinity"}`, math.Inf(1)},
		{`{"doubleValue":null}`, nil},
		{`{"doubleValue":-Infinity}`, nil},
		{`{"doubleValue":NaN}`, nil},
		{`{"doubleValue":3}`, 3.0},
		{`{"bytesValue":"AQI="}`, []byte{1, 2}},
		{`{"bytesValue":"!"}`, "!"},
		{`{}`, nil},
		{`null`, nil},
		{`"bare"`, "bare"},
		{`7`, int64(7)},
		{`{"mapOfTheFuture":{"a":1}}`, nil},
		{`{"arrayValue":{"values":[{"intValue":1},{"newCase":1},{}]}}`, []any{int64(1), nil, nil}},
		{`{"arrayValue":{}}`, []any{}},
		{`{"kvlistValue":{"values":[{"key":"k","value":{"stringValue":"v"}}]}}`, map[string]any{"k": "v"}},
		{`{"kvlistValue":{"k":"v"}}`, map[string]any{"k": "v"}},
		{`{"stringValue":"lone \ud800 half"}`, "lone \uFFFD half"},
		{`{"stringValue":"a\u0000b"}`, "a\uFFFDb"},
		{"{\"stringValue\":\"a\x00b\nc\"}", "a\uFFFDb\nc"},
		{"{\"stringValue\":\"a\xffb\"}", "a\uFFFDb"},
		{deep, nil},
	} {
		span, _ := decodeSpan(t, oneSpan(`"attributes":[{"key":"before","value":{"intValue":1}},{"key":"k","value":`+tc.value+`},{"key":"after","value":{"intValue":2}}],`))
		attrs := span.Attributes()
		if attrs.Len() != 3 {
			t.Errorf("%s: %d attributes, want 3", tc.value, attrs.Len())
			continue
		}
		got, _ := attrs.Get("k")
		if tc.value == deep {
			if !strings.Contains(got.AsString(), "bottom") {
				t.Errorf("the deep value lost its text: %.80s", got.AsString())
			}
			continue
		}
		if raw := got.AsRaw(); fmt.Sprintf("%T %v", raw, raw) != fmt.Sprintf("%T %v", tc.want, tc.want) {
			t.Errorf("%s: got %T %v, want %T %v", tc.value, raw, raw, tc.want, tc.want)
		}
	}
	nan, _ := decodeSpan(t, oneSpan(`"attributes":[{"key":"k","value":{"doubleValue":"NaN"}}],`))
	if v, _ := nan.Attributes().Get("k"); v.Type() != pcommon.ValueTypeDouble || !math.IsNaN(v.Double()) {
		t.Errorf("NaN became %v", v.AsRaw())
	}
}

func TestJSONAttributesAsObject(t *testing.T) {
	span, _ := decodeSpan(t, oneSpan(`"attributes":{"s":"x","n":5,"f":0.5,"b":true,"z":null,"l":[1,"a"],"m":{"x":{"y":1}},"typed":{"intValue":"3"},"e":{}},`))
	want := map[string]any{"s": "x", "n": int64(5), "f": 0.5, "b": true, "z": nil, "l": []any{int64(1), "a"},
		"m": map[string]any{"x": map[string]any{"y": int64(1)}}, "typed": int64(3), "e": map[string]any{}}
	if got := span.Attributes().AsRaw(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestJSONWarnsOfWhatItMended(t *testing.T) {
	_, report := decodeSpan(t, oneSpan(`"attributes":[{"key":"k","value":{"future":1}},{"value":{"intValue":1}},"junk"],"kind":"X",`))
	all := strings.Join(report.Warnings, "\n")
	for _, part := range []string{"unknown kind", "did not fit", "enum names"} {
		if !strings.Contains(all, part) {
			t.Errorf("no warning of %q in\n%s", part, all)
		}
	}
}

func TestJSONErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "EOF",
		`[]`:                                     "want an object",
		`{"resourceSpans":[{"scopeSpans":`:       "",
		`{"resourceSpans":{}}`:                   "/resourceSpans",
		`{"resourceSpans":[{"scopeSpans":"x"}]}`: "/resourceSpans/0/scopeSpans",
		`{"resourceSpans":[]} x`:                 "byte 20",
		`{"resourceSpans":[}`:                    "offset 18",
	} {
		_, _, err := DecodeJSON(Traces, []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func TestJSONEqualsProtobuf(t *testing.T) {
	for seed := range uint64(40) {
		td := sampleTraces(seeded(seed), int(seed))
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		sameAs(t, Traces, text, tracesBody(t, td))
		ld := sampleLogs(seeded(seed), int(seed))
		text, err = (&plog.JSONMarshaler{}).MarshalLogs(ld)
		if err != nil {
			t.Fatal(err)
		}
		sameAs(t, Logs, text, marshal(t, Data{Signal: Logs, Logs: ld}))
	}
}

func sameAs(t *testing.T, s Signal, text, body []byte) {
	t.Helper()
	fromJSON, report, err := DecodeJSON(s, text)
	if err != nil || len(report.Warnings) > 0 || report.Rejected.Count > 0 {
		t.Fatalf("%v %+v", err, report)
	}
	fromProto, other := decoded(t, s, body)
	if report.Spans != other.Spans || !bytes.Equal(marshal(t, fromJSON), marshal(t, fromProto)) {
		t.Fatalf("JSON and protobuf of the same %s decode unequal: %d and %d", s, report.Spans, other.Spans)
	}
}

func TestLogsJSONJoinByAttributes(t *testing.T) {
	text := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[
		{"body":{"stringValue":"no trace"}},
		{"body":{"stringValue":"ids in attributes"},"attributes":[{"key":"trace_id","value":{"stringValue":"` + hexTrace + `"}},{"key":"span_id","value":{"stringValue":"` + hexSpan + `"}}]},
		{"traceId":"` + hexTrace + `","severityNumber":"SEVERITY_NUMBER_WARN","body":{"stringValue":"plain"}}]}]}]}`
	d, report, err := DecodeJSON(Logs, []byte(text))
	if err != nil || report.Spans != 2 || report.Untraced != 1 || report.Rejected.Count != 0 {
		t.Fatalf("%v %+v", err, report)
	}
	records := d.Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	if l := records.At(0); l.TraceID().String() != hexTrace || l.SpanID().String() != hexSpan {
		t.Errorf("adopted ids %s/%s", l.TraceID(), l.SpanID())
	}
	if l := records.At(1); l.SeverityNumber() != plog.SeverityNumberWarn {
		t.Errorf("severity %v", l.SeverityNumber())
	}
}
