package rule

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// sketched is what is left of a trajectory once it was written as a sketch and read back.
func sketched(t testing.TB, tr *trajectory.Trajectory) *trajectory.Trajectory {
	t.Helper()
	doc, cut, err := classify.Sketch(tr)
	if err != nil || cut > 0 {
		t.Fatalf("trace %s: %d steps cut, %v", tr.TraceID, cut, err)
	}
	back, err := classify.ReadSketch(doc)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// seen is what rules that want sessions find on one trajectory.
func seen(t testing.TB, e *classify.Engine, tr *trajectory.Trajectory) []classify.Finding {
	var out []classify.Finding
	for _, f := range e.Classify(tr, nil).Findings {
		if i := slices.IndexFunc(All(), func(r classify.Rule) bool { return r.ID() == f.Rule && r.Session }); i >= 0 {
			f.Because = nil // the findings of other rules are not in a sketch
			out = append(out, f)
		}
	}
	return out
}

// same holds that a session of sketches is joined as the session itself is, and shows the same.
func same(t *testing.T, e *classify.Engine, name string, parts []*trajectory.Trajectory) (found int) {
	t.Helper()
	var sketches []*trajectory.Trajectory
	for _, p := range parts {
		sketches = append(sketches, sketched(t, p))
	}
	for i, p := range parts {
		if want, got := seen(t, e, p), seen(t, e, sketches[i]); !reflect.DeepEqual(want, got) {
			t.Errorf("%s, trace %d: the sketch shows\n%+v\nwant\n%+v", name, i, got, want)
		}
	}
	full, short := trajectory.Join(parts), trajectory.Join(sketches)
	if len(full.ToolCalls) != len(short.ToolCalls) || len(full.UserMessages) != len(short.UserMessages) || !slices.Equal(full.Turns, short.Turns) {
		t.Errorf("%s: the join of the sketches has %d calls, %d user messages and turns %v, want %d, %d and %v", name, len(short.ToolCalls), len(short.UserMessages),
			short.Turns, len(full.ToolCalls), len(full.UserMessages), full.Turns)
	}
	for i := range min(len(full.ToolCalls), len(short.ToolCalls)) {
		a, b := &full.ToolCalls[i], &short.ToolCalls[i]
		if a.SpanID != b.SpanID || a.TraceID != b.TraceID || a.Outcome != b.Outcome || a.HasResult != b.HasResult || a.Executed != b.Executed || a.Recalled != b.Recalled {
			t.Errorf("%s: call %d of the join of the sketches is %+v, want %+v", name, i, b, a)
		}
	}
	want, got := e.ClassifySession(full, nil), e.ClassifySession(short, nil)
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s: the session of sketches shows\n%+v\nwant\n%+v", name, got, want)
	}
	var going []*trajectory.Trajectory
	for i, p := range parts {
		if classify.Continues(p) {
			going = append(going, sketches[i])
		}
	}
	if got := e.ClassifySession(trajectory.Join(going), nil); len(want)+len(got) > 0 && !equalButForSteps(want, got) {
		t.Errorf("%s: the traces that go on show\n%+v\nwant\n%+v", name, got, want)
	}
	return len(want)
}

// equalButForSteps says whether two lists of findings are the same: a step's place depends on the traces around it.
func equalButForSteps(a, b []classify.Finding) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	for i := range a {
		a[i].Step = 0
	}
	for i := range b {
		b[i].Step = 0
	}
	return reflect.DeepEqual(a, b)
}

func TestSketchesOfFixtures(t *testing.T) {
	e, found := engine(t), 0
	for _, f := range fixtures(t) {
		same(t, e, f.path, []*trajectory.Trajectory{f.trajectory(t)})
		if filepath.Base(filepath.Dir(f.path)) == "loop" {
			found += same(t, e, f.path+" in pieces", pieces(t, f))
		}
	}
	if found == 0 {
		t.Error("no loop in pieces was found: nothing was compared")
	}
}

// pieces makes a trace of its own of every model call of a fixture, each some minutes after the one before.
func pieces(t *testing.T, f fixture) (out []*trajectory.Trajectory) {
	text, _ := f.section("trajectory")
	var head strings.Builder // what every trace begins with: the line that says whose it is, and the tools
	var texts []string
	inTools, inHead := false, true
	for line := range strings.Lines(text) {
		switch inTools = strings.HasPrefix(line, "tools ") || inTools && strings.HasPrefix(line, " "); {
		case strings.HasPrefix(line, "trace "), inTools:
			head.WriteString(line)
			continue
		case strings.HasPrefix(line, "model ") && !inHead, len(texts) == 0:
			texts = append(texts, head.String())
		}
		inHead = inHead && !strings.HasPrefix(line, "model ")
		texts[len(texts)-1] += line
	}
	for i, part := range texts {
		tr, err := texttraj.Parse(part)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", f.path, err, part)
		}
		move(tr, i)
		if i > 0 {
			remind(tr, out[i-1])
		}
		out = append(out, tr)
	}
	return out
}

// remind lets the first input of a trace tell of the calls that the one before ended with, so that it goes on with its turn.
func remind(tr, before *trajectory.Trajectory) {
	if len(tr.ModelCalls) == 0 || len(before.ModelCalls) == 0 {
		return
	}
	var told []trajectory.Message
	for _, i := range before.ModelCalls[len(before.ModelCalls)-1].ToolCalls {
		c := before.ToolCalls[i]
		call := trajectory.Part{Kind: trajectory.PartToolCall, ID: c.ID, Name: c.Name, Value: c.Arguments}
		told = append(told, trajectory.Message{Role: "assistant", Parts: []trajectory.Part{call}})
		if c.HasResult {
			result := trajectory.Part{Kind: trajectory.PartToolResult, ID: c.ID, Value: c.Result, Failed: c.Error != nil}
			told = append(told, trajectory.Message{Role: "tool", Parts: []trajectory.Part{result}})
		}
	}
	tr.ModelCalls[0].New = append(told, tr.ModelCalls[0].New...)
}

// move makes a trajectory the i-th trace of its session.
func move(tr *trajectory.Trajectory, i int) {
	tr.TraceID, tr.SessionID = fmt.Sprintf("%032x", i+1), "s"
	later := func(at *time.Time) {
		if !at.IsZero() {
			*at = at.Add(time.Duration(i) * 5 * time.Minute)
		}
	}
	later(&tr.Start)
	later(&tr.End)
	for k := range tr.Steps {
		later(&tr.Steps[k].Start)
		later(&tr.Steps[k].End)
	}
	for k := range tr.ModelCalls {
		later(&tr.ModelCalls[k].Start)
		later(&tr.ModelCalls[k].End)
	}
	for k := range tr.ToolCalls {
		later(&tr.ToolCalls[k].Start)
		later(&tr.ToolCalls[k].End)
	}
}

func TestSketchesOfCaptures(t *testing.T) {
	e, sessions, bytes, spans := engine(t), 0, 0, 0
	traces, going, found := 0, 0, 0
	for _, c := range manifest(t) {
		byID := map[string][]*trajectory.Trajectory{}
		for _, tr := range c.trajectories(t) {
			key := cmp.Or(tr.SessionID, tr.TraceID)
			byID[key] = append(byID[key], tr)
			doc, _, err := classify.Sketch(tr)
			if err != nil {
				t.Fatal(err)
			}
			bytes, spans, traces = bytes+len(doc), spans+tr.Spans, traces+1
			if classify.Continues(tr) {
				going++
			}
		}
		for id, parts := range byID {
			same(t, e, c.sdk+" "+c.scenario+" "+id, parts)
			sessions++
		}
		for _, tr := range c.traces(t) {
			found += same(t, e, c.sdk+" "+c.scenario+" in thirds", thirds(tr))
		}
	}
	t.Logf("%d sessions; %d of %d traces go on; sketches take %d bytes a span; %d findings across traces that were cut", sessions, going, traces, bytes/max(spans, 1), found)
}

// thirds makes three traces of one, by time, as though the agent had lost its context twice.
func thirds(tr trajectory.Trace) (out []*trajectory.Trajectory) {
	spans := slices.SortedStableFunc(slices.Values(tr.Spans), func(a, b trajectory.Span) int { return a.Start.Compare(b.Start) })
	for i := range 3 {
		part := trajectory.Trace{ID: fmt.Sprintf("%032x", i+1)}
		for _, s := range spans[i*len(spans)/3 : (i+1)*len(spans)/3] {
			s.TraceID = part.ID
			part.Spans = append(part.Spans, s)
		}
		p := trajectory.Build(part)
		p.SessionID = "s"
		out = append(out, p)
	}
	return out
}

// TestSketchesOfAnything compares sessions of random calls: equal and unequal arguments and answers, volatile fields, errors, gaps, users in between.
func TestSketchesOfAnything(t *testing.T) {
	e, r, found := engine(t), rand.New(rand.NewPCG(4, 2)), 0
	for n := range 300 {
		var parts []*trajectory.Trajectory
		for i := range 2 + r.IntN(4) {
			tr, err := texttraj.Parse(randomTrace(r))
			if err != nil {
				t.Fatal(err)
			}
			move(tr, i)
			if i > 0 && r.IntN(4) > 0 {
				remind(tr, parts[i-1])
			}
			parts = append(parts, tr)
		}
		found += same(t, e, fmt.Sprintf("random session %d", n), parts)
	}
	t.Logf("%d findings across traces", found)
}

func randomTrace(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("trace service=shop session=s\n")
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	if r.IntN(3) == 0 {
		b.WriteString("user " + one("Where is it?", "Again, please.", "Go on", "Still wrong!", "I mean the note of 1 and not another one", "No.") + "\n")
	}
	for i := range 1 + r.IntN(4) {
		fmt.Fprintf(&b, "model m%d agent=a\ncall c%d %s %s\n  %s\n", i, i, one("get", "get", "get", "functions.get"),
			one(`{"id":1}`, `{"id":1}`, `{"id":1}`, `{"id":1,"request_id":"r`+one("1", "2")+`"}`, `{"id":1,"note":""}`, `{"id":2}`, `{}`, `{"note":""}`, `id is 1`),
			one(`ok {"n":[]}`, `ok {"n":[]}`, `ok {"n":[]}`, `ok {"n":[],"at":"2026-01-0`+one("1", "2")+`T00:00:00Z"}`, `ok nothing`, `ok Error: no such id`, `ok nothing at 2026-01-01T00:00:00Z`,
				`error {"error":"no such id `+one("17", "18")+`"}`, `error {"error":"no such id 18"}`, `timeout`, `unknown`, `noargs`))
	}
	return b.String()
}

// TestSketchHoldsNoContent looks for anything that was said in the bytes of a sketch.
func TestSketchHoldsNoContent(t *testing.T) {
	tr, err := texttraj.Parse("trace service=shop session=s\nuser my card is PRIVATE1\nmodel m agent=a text=PRIVATE2\ncall c get {\"q\":\"PRIVATE3\"}\n  ok {\"a\":\"PRIVATE4\"}\n" +
		"call d get {\"q\":\"x\"}\n  fails PRIVATE5\ncall e get PRIVATE6\n  ok PRIVATE7\nreply PRIVATE8\nfeedback x PRIVATE9\ngap usage PRIVATE0\n")
	if err != nil {
		t.Fatal(err)
	}
	tr.SystemPrompt, tr.UserID = "PRIVATE10", "PRIVATE11"
	tr.RootError = &trajectory.Error{Type: "APIError", Message: "PRIVATE12"}
	tr.ModelCalls[0].New = []trajectory.Message{{Role: "user", Parts: []trajectory.Part{{Kind: trajectory.PartText, Text: "PRIVATE13"}, {Kind: trajectory.PartToolResult, Value: trajectory.ParseValue("PRIVATE14")}}}}
	doc, _, err := classify.Sketch(tr)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s2.Decode(nil, doc)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "PRIVATE") || !strings.Contains(got, "APIError") {
		t.Errorf("the sketch tells what was said: %s", got)
	}
}

// TestLongTracesAreCut holds that a sketch keeps its bound whatever the trace, that it says how much it left out, and that calls on both sides of what is
// missing do not seem to follow each other.
func TestLongTracesAreCut(t *testing.T) {
	for _, n := range []int{1, 200, 5000} {
		var b strings.Builder
		b.WriteString("trace service=shop session=s\nuser Go on\n")
		for i := range n {
			fmt.Fprintf(&b, "model m%d agent=a\ncall c%d get {\"id\":%d}\n  ok {\"n\":%d}\n", i, i, i, i)
		}
		tr, err := texttraj.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		doc, cut, err := classify.Sketch(tr)
		if err != nil || len(doc) > classify.MaxSketch {
			t.Fatalf("%d calls: %d bytes, %v", n, len(doc), err)
		}
		back, err := classify.ReadSketch(doc)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 && cut != 0 || n > 1 && (cut == 0 || !back.Complete.Truncated) {
			t.Errorf("%d calls: %d steps cut, truncated %v", n, cut, back.Complete.Truncated)
		}
		if want := len(tr.Steps) - cut; n > 1 && len(back.Steps) != want+1 {
			t.Errorf("%d calls: %d steps are left, want %d and the mark", n, len(back.Steps), want)
		}
		if n > 1 && back.ToolCalls[len(back.ToolCalls)-1].SpanID != tr.ToolCalls[n-1].SpanID {
			t.Errorf("%d calls: the last one is not there", n)
		}
	}
}

func BenchmarkSketch(b *testing.B) {
	var text strings.Builder
	text.WriteString("trace service=shop session=s\nuser Where is my parcel?\n")
	for i := range 6 {
		fmt.Fprintf(&text, "model m%d agent=a\ncall c%d get {\"id\":%d,\"q\":\"%s\"}\n  ok {\"n\":%d,\"text\":\"%s\"}\n", i, i, i, strings.Repeat("word ", 40), i, strings.Repeat("word ", 90))
	}
	tr, err := texttraj.Parse(text.String())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		doc, _, err := classify.Sketch(tr)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(doc)), "bytes")
	}
}
