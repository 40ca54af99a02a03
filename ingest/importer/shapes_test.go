package importer_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

var update = flag.Bool("update", false, "write the .want files of testdata anew")

// TestShapes reads every file of testdata and compares what it says, as OTLP and as trajectories, with the file beside it.
func TestShapes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json*"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".want") {
			continue
		}
		t.Run(filepath.ToSlash(file), func(t *testing.T) {
			got := readFile(t, file).sketch()
			name := file + ".want"
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil || got != string(want) {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// read is what a file held.
type read struct {
	traces   []ptrace.Traces
	logs     []plog.Logs
	reports  []wire.Report
	problems []string
}

func readFile(t *testing.T, path string) (r read) {
	t.Helper()
	for item, err := range importer.Walk(importer.Options{}, path) {
		if err != nil {
			r.problems = append(r.problems, err.Error())
			continue
		}
		r.reports = append(r.reports, item.Report)
		if item.Data.Signal == wire.Traces {
			r.traces = append(r.traces, item.Data.Traces)
		} else {
			r.logs = append(r.logs, item.Data.Logs)
		}
	}
	return r
}

func (r read) sketch() string {
	var b strings.Builder
	for _, text := range r.problems {
		fmt.Fprintf(&b, "problem %s\n", text)
	}
	for _, rep := range r.reports {
		fmt.Fprintf(&b, "report: %d kept, %d rejected, %d untraced\n", rep.Spans, rep.Rejected.Count, rep.Untraced)
		for _, w := range rep.Warnings {
			fmt.Fprintf(&b, "  %s\n", w)
		}
	}
	for _, td := range r.traces {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				fmt.Fprintf(&b, "\nresource%s\nscope %s %s%s\n", attrs(rs.Resource().Attributes()), ss.Scope().Name(), ss.Scope().Version(), attrs(ss.Scope().Attributes()))
				for _, s := range ss.Spans().All() {
					spanSketch(&b, s)
				}
			}
		}
	}
	for _, ld := range r.logs {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, l := range sl.LogRecords().All() {
					fmt.Fprintf(&b, "\nlog of %s in %s, at %s, seen %s%s\n  body %s %s\n", l.SpanID(), sl.Scope().Name(), at(l.Timestamp()), at(l.ObservedTimestamp()), attrs(l.Attributes()), l.Body().Type(), l.Body().AsString())
				}
			}
		}
	}
	return b.String() + "\n" + story(trajectory.FromOTLP(r.traces, r.logs))
}

func spanSketch(b *strings.Builder, s ptrace.Span) {
	fmt.Fprintf(b, "span %s/%s below %q: %s, %s, %s %q, dropped %d\n  %s to %s%s\n", s.TraceID(), s.SpanID(), s.ParentSpanID(), s.Name(), s.Kind(), s.Status().Code(), s.Status().Message(),
		s.DroppedAttributesCount(), at(s.StartTimestamp()), at(s.EndTimestamp()), attrs(s.Attributes()))
	for _, e := range s.Events().All() {
		fmt.Fprintf(b, "  event %s at %s, dropped %d%s\n", e.Name(), at(e.Timestamp()), e.DroppedAttributesCount(), attrs(e.Attributes()))
	}
	for _, l := range s.Links().All() {
		fmt.Fprintf(b, "  link %s/%s\n", l.TraceID(), l.SpanID())
	}
}

func at(ts pcommon.Timestamp) string {
	if ts == 0 {
		return "-"
	}
	return ts.AsTime().UTC().Format(time.RFC3339Nano)
}

func attrs(m pcommon.Map) string {
	var lines []string
	for k, v := range m.All() {
		lines = append(lines, fmt.Sprintf("\n    %s = %s %s", k, v.Type(), v.AsString()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// story is what the traces tell, one line a fact.
func story(traces []trajectory.Trace) string {
	var b strings.Builder
	for _, tr := range traces {
		x := trajectory.Build(tr)
		fmt.Fprintf(&b, "trace of %q, session %q, user %q, dialects %v, agents %v, root %v\n", x.Service, x.SessionID, x.UserID, x.Dialects, x.Agents, x.Complete.HasRoot)
		for _, m := range x.ModelCalls {
			offered := "?"
			if m.Offered != nil {
				offered = fmt.Sprint(len(m.Offered.Tools))
			}
			fmt.Fprintf(&b, "  model %s, in %s out %s read %s cost %s, finish %q, offered %s, asked %d, says %.60q\n", cmp.Or(m.ModelResponded, m.ModelRequested), number(m.Usage.Input), number(m.Usage.Output), number(m.Usage.CacheRead), number(m.Usage.CostUSD),
				m.FinishReason, offered, len(m.ToolCalls), m.Text)
		}
		for _, c := range x.ToolCalls {
			fmt.Fprintf(&b, "  tool %s %s(%s) = %s, requested %v, executed %v, %s\n", c.ID, c.Name, c.Arguments.JSON, cmp.Or(string(c.Result.JSON), c.Result.Raw), c.Requested, c.Executed, c.Outcome)
		}
		reply := "none"
		if x.Reply != nil {
			reply = fmt.Sprintf("%.80q", *x.Reply)
		}
		fmt.Fprintf(&b, "  user %.80q, reply %s\n", x.UserMessages, reply)
	}
	return b.String()
}

func number[N int64 | float64](n *N) string {
	if n == nil {
		return "?"
	}
	return fmt.Sprint(*n)
}

// TestBrokenShapesSayWhatIsWrong: each is recognised, and names its line and its fault.
func TestBrokenShapesSayWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		`{"traceID":"a","spans":{"operationName":"x"}}`:                                                             `f:2: a Jaeger export: spans: want a JSON list`,
		`{"traceID":"a","spans":[{"spanID":"b"},5]}`:                                                                `f:2: a Jaeger export: spans, element 2: want a JSON object, got "5"`,
		`{"traceID":"a","spans":[{"spanID":"b","startTime":"noon"}]}`:                                               `f:2: a Jaeger export: spans, element 1: span "b": startTime: want microseconds, got "noon"`,
		`{"data":[{"traceID":"a","spans":[]},{"traceID":"b","spans":7}],"total":1}`:                                 `f:2: a Jaeger export: spans: want a JSON list, got "7"`,
		`{"trace":{"resourceSpans":7}}`:                                                                             `f:2: traces JSON: /resourceSpans: want an array`,
		`{"timestamp":"t","raw_otel_json":[1]}`:                                                                     `f:2: a CloudWatch export: the row's OpenTelemetry part: want a JSON object, got "[1]"`,
		`{"timestamp":"t","raw_otel_json":"{\"traceId\":"}`:                                                         `f:2: a CloudWatch export: the row's OpenTelemetry part: `,
		`{"trace":{"id":"x"},"observations":[]}`:                                                                    `f:2: a Langfuse export: the trace "x" has no observations`,
		`{"id":"x","projectId":"p","observations":["o1","o2"]}`:                                                     `f:2: a Langfuse export: the observations are ids only: export each trace by itself`,
		`{"trace":{"id":"x"},"observations":[{"name":"n"}]}`:                                                        `f:2: a Langfuse export: observations, element 1: the observation "n" needs id and traceId`,
		`{"id":"","run_type":"llm","name":"n","inputs":{}}`:                                                         `f:2: a LangSmith export: the run "n" has no id`,
		`{"id":"a","run_type":"llm","parent_run_id":"b","inputs":{}}`:                                               `f:2: a LangSmith export: run "a" has a parent and no trace_id`,
		`{"trace_id":"a","spans":[{"span_id":"b","child_spans":[{"span_name":"n","child_spans":[]}]}]}`:             `f:2: a TRAIL trace: spans, element 1: child_spans, element 1: the span "n" has no span_id`,
		`{"trace_id":"a","spans":[{"span_id":"b","name":"n","attributes":{},"trace_id":"a"},{"name":"m"}]}`:         `f:2: a span dump: spans, element 2: the span "m" has no span id`,
		`{"spans":[{"span_id":"b","name":"n","attributes":{},"trace_id":"a"},{"span_id":"c","name":"m"}]}`:          `f:2: a span dump: spans, element 2: the span "m" has no trace id`,
		`{"Name":"n","SpanContext":{"TraceID":"a","SpanID":"b"},"Attributes":[1 2]}`:                                `f:2: a dump of the Go stdout exporter: `,
		`{"name":"n","context":{"trace_id":"a","span_id":"b"},"span_kind":"LLM","parent_id":null,"attributes":{x}}`: `f:2: a Phoenix export: `,
	} {
		var problems []string
		for _, err := range importer.Read("f", strings.NewReader("\n"+in), importer.Options{}) {
			if err != nil {
				problems = append(problems, err.Error())
			}
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
			t.Errorf("%s: %q, want %q", in, problems, want)
		}
	}
}

// TestSpansWithoutIdsAreRejected: the span is counted, not lost in silence, and the others stay.
func TestSpansWithoutIdsAreRejected(t *testing.T) {
	in := `{"data":[{"traceID":"a","spans":[{"spanID":"1","operationName":"x"},{"operationName":"y"},{"spanID":"0","operationName":"z"}]}]}`
	for item, err := range importer.Read("f", strings.NewReader(in), importer.Options{}) {
		if err != nil || item.Report.Spans != 1 || item.Report.Rejected.Count != 2 {
			t.Errorf("%v %+v", err, item.Report)
		}
	}
}

// TestManyDocumentsMakeFewItems: dumps of one span a line are given out together, in the order of the file.
func TestManyDocumentsMakeFewItems(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `{"trace_id":"%032x","span_id":"%016x","name":"s","start_time":%d,"attributes":{"k":%d}}`+"\n", i/10+1, i+1, 1784995767000000000+i, i)
		if i == 1499 {
			b.WriteString("oops\n")
		}
	}
	spans, items, lines := 0, 0, []int{}
	for item, err := range importer.Read("f", strings.NewReader(b.String()), importer.Options{}) {
		if err != nil {
			lines = append(lines, -err.(*importer.Problem).Line)
			continue
		}
		items++
		spans += item.Report.Spans
		lines = append(lines, item.Line)
	}
	if spans != 3000 || items > 4 || !slices.Equal(lines, []int{1, -1501, 1502}) {
		t.Errorf("%d spans in %d items at %v", spans, items, lines)
	}
}

// TestWrappedListsAreReadElementByElement: a file is not held as a whole for beginning with {"data": [.
func TestWrappedListsAreReadElementByElement(t *testing.T) {
	trace := func(i int) string {
		return fmt.Sprintf(`{"traceID":"%032x","spans":[{"spanID":"%016x","operationName":"%s"}]}`, i+1, i+1, strings.Repeat("x", 500))
	}
	for name, in := range map[string]string{
		"whole":   "\n { \"data\" :\n[ " + trace(0) + ",\n" + trace(1) + " ],\"errors\":[{\"a\":[1]}], \"total\": 0}\n" + trace(2),
		"cut off": `{"data":[` + trace(0) + "," + trace(1) + "," + trace(2) + ",",
		"no list": `{"data":{"a":1}}` + trace(0) + `{"dates":[1]}` + trace(1) + `{"data":[1,2]}` + trace(2),
	} {
		spans, problems := 0, []string{}
		for item, err := range importer.Read("f", strings.NewReader(in), importer.Options{MaxDocument: 800}) {
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			spans += item.Report.Spans
		}
		want := map[string]string{"cut off": "f:1: the JSON object is not closed", "no list": "f:1: 3 documents: no telemetry here"}[name]
		if spans != 3 || len(problems) > 1 || (want == "") != (len(problems) == 0) || want != "" && !strings.HasPrefix(problems[0], want) {
			t.Errorf("%s: %d spans, %q", name, spans, problems)
		}
	}
}

// TestIDsOfOneTextAreOne: an id that had to be derived is the same wherever it stands, and two texts never share one.
func TestIDsOfOneTextAreOne(t *testing.T) {
	in := `[{"trace_id":"t","span_id":"root","name":"a","attributes":{}},{"trace_id":"t","span_id":"leaf","parent_span_id":"root","name":"b","attributes":{}}]`
	seen := map[string]string{}
	for range 2 {
		for item, err := range importer.Read("f", strings.NewReader(in), importer.Options{}) {
			if err != nil || len(item.Report.Warnings) != 2 {
				t.Fatalf("%v %q", err, item.Report.Warnings)
			}
			for _, rs := range item.Data.Traces.ResourceSpans().All() {
				for _, s := range rs.ScopeSpans().At(0).Spans().All() {
					id := s.SpanID().String()
					if before, ok := seen[s.Name()]; ok && before != id {
						t.Errorf("%s: %s and %s", s.Name(), before, id)
					}
					seen[s.Name()] = id
					if s.Name() == "b" && s.ParentSpanID().String() != seen["a"] {
						t.Errorf("parent %s, root %s", s.ParentSpanID(), seen["a"])
					}
				}
			}
		}
	}
	if len(slices.Compact(slices.Sorted(maps.Values(seen)))) != 2 {
		t.Errorf("%v", seen)
	}
}
