package trajectory

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

var update = flag.Bool("update", false, "rewrite the trajectories in testdata/*/*.trace")

// fixtureLine is one span or one log record of a testdata/*/*.trace file: one JSON object a line, times in milliseconds.
type fixtureLine struct {
	Span     string         `json:"span"`
	Log      string         `json:"log"` // the event's name; span then says whose it is
	Parent   string         `json:"parent"`
	Name     string         `json:"name"`
	At       [2]int64       `json:"at"` // start and end; an end of 0 is none
	Scope    string         `json:"scope"`
	Status   string         `json:"status"` // "ok", or "error: message"
	Attrs    map[string]any `json:"attrs"`
	Body     any            `json:"body"`
	Events   []fixtureEvent `json:"events"`
	Resource map[string]any `json:"resource"` // beside service.name shop
	Trace    byte           `json:"trace"`    // of several; 0 is 1
	Dropped  uint32         `json:"dropped"`
}

type fixtureEvent struct {
	Name  string         `json:"name"`
	Attrs map[string]any `json:"attrs"`
}

func (l fixtureLine) time(i int) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(t0.Add(time.Duration(l.At[i]) * time.Millisecond))
}

func fixtureID(t testing.TB, name string) (id pcommon.SpanID) {
	if name == "" {
		return id
	}
	if len(name) > 8 {
		t.Fatalf("span name %q is longer than 8 bytes", name)
	}
	copy(id[8-len(name):], name)
	return id
}

func fillMap(t testing.TB, m pcommon.Map, from map[string]any) {
	t.Helper()
	whole := make(map[string]any, len(from))
	for k, v := range from {
		whole[k] = v
	}
	if err := m.FromRaw(numbers(t, whole).(map[string]any)); err != nil {
		t.Fatal(err)
	}
}

// numbers makes whole numbers of JSON integers, all the way down.
func numbers(t testing.TB, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = numbers(t, e)
		}
	case []any:
		for i, e := range v {
			v[i] = numbers(t, e)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return v
}

func (l fixtureLine) traces(t testing.TB) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	fillMap(t, rs.Resource().Attributes(), l.Resource)
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(l.Scope)
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(traceID(max(1, l.Trace)))
	s.SetSpanID(fixtureID(t, l.Span))
	s.SetParentSpanID(fixtureID(t, l.Parent))
	s.SetName(l.Name)
	s.SetStartTimestamp(l.time(0))
	if l.At[1] != 0 {
		s.SetEndTimestamp(l.time(1))
	}
	if msg, ok := strings.CutPrefix(l.Status, "error: "); ok {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(msg)
	} else if l.Status == "ok" {
		s.Status().SetCode(ptrace.StatusCodeOk)
	}
	s.SetDroppedAttributesCount(l.Dropped)
	fillMap(t, s.Attributes(), l.Attrs)
	for _, e := range l.Events {
		ev := s.Events().AppendEmpty()
		ev.SetName(e.Name)
		fillMap(t, ev.Attributes(), e.Attrs)
	}
	return td
}

func fillLog(t testing.TB, r plog.LogRecord, l fixtureLine) {
	r.SetTraceID(traceID(max(1, l.Trace)))
	r.SetSpanID(fixtureID(t, l.Span))
	r.SetTimestamp(l.time(0))
	r.SetEventName(l.Log)
	fillMap(t, r.Attributes(), l.Attrs)
	if l.Body != nil {
		if err := r.Body().FromRaw(numbers(t, l.Body)); err != nil {
			t.Fatal(err)
		}
	}
}

// fixture reads the spans, one a request, and the log records, all in one request: their order there is their order.
func fixture(t testing.TB, data []byte) ([]ptrace.Traces, plog.Logs) {
	t.Helper()
	var tds []ptrace.Traces
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var l fixtureLine
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if l.Log != "" {
			fillLog(t, records.AppendEmpty(), l)
			continue
		}
		tds = append(tds, l.traces(t))
	}
	return tds, ld
}

// jsonOfTraces builds the trajectories of all traces and renders them.
func jsonOfTraces(t testing.TB, traces []Trace) string {
	t.Helper()
	var b strings.Builder
	for _, tr := range traces {
		out, err := json.Marshal(Build(tr))
		if err != nil {
			t.Fatal(err)
		}
		v := jsontext.Value(out)
		if err := v.Indent(jsontext.WithIndent("  "), jsontext.Multiline(true)); err != nil {
			t.Fatal(err)
		}
		b.Write(v)
		b.WriteByte('\n')
	}
	return b.String()
}

func fixtureFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return files
}

// Every trap that the builder must step over is one archive: the spans and records as they arrive, and the trajectory that they make.
func TestTrajectories(t *testing.T) {
	for _, file := range fixtureFiles(t) {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".trace"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tds, ld := fixture(t, ar.Files[0].Data)
			got := jsonOfTraces(t, FromOTLP(tds, []plog.Logs{ld}))
			if *update {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "trajectory.json", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
				t.Errorf("got\n%s\n(go test -run TestTrajectories -update rewrites)", got)
			}
		})
	}
}

// The same spans in any order and with any duplication give the same bytes.
func TestOrderAndDuplicationDoNotMatter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 11))
	for _, file := range fixtureFiles(t) {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tds, ld := fixture(t, ar.Files[0].Data)
		sameInAnyOrder(t, file, rnd, tds, []plog.Logs{ld})
	}
}

func sameInAnyOrder(t *testing.T, name string, rnd *rand.Rand, tds []ptrace.Traces, lds []plog.Logs) {
	t.Helper()
	want := jsonOfTraces(t, FromOTLP(tds, lds))
	for range 10 {
		var in Intake
		steps := make([]func(), 0, 2*len(tds)+2)
		for range 1 + rnd.IntN(2) {
			for _, td := range tds {
				steps = append(steps, func() { in.Add(td) })
			}
			for _, ld := range lds {
				steps = append(steps, func() { in.AddLogs(ld) })
			}
		}
		rnd.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			step()
		}
		if got := jsonOfTraces(t, in.Traces()); got != want {
			t.Fatalf("%s: another order gives\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Build takes the spans of a Trace in any order too.
func TestBuildSortsItself(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/otel-genai/agent.trace")
	if err != nil {
		t.Fatal(err)
	}
	tds, _ := fixture(t, ar.Files[0].Data)
	tr := FromOTLP(tds, nil)[0]
	want := fmt.Sprint(jsonOfTraces(t, []Trace{tr}))
	slices.Reverse(tr.Spans)
	if got := jsonOfTraces(t, []Trace{tr}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
