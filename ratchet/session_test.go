package ratchet

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/sample"
)

// inPieces makes n traces of one run, by time, as an agent does whose provider keeps the history: every one but the first goes on where the one before
// stopped, and its inputs hold no more than what is new in them.
func inPieces(t testing.TB, scenario string, seed uint64, n int) (out []trajectory.Trace) {
	t.Helper()
	tr, _ := sampled(sample.Dialects[0], sample.Named(scenario), seed)
	root := tr.Spans[slices.IndexFunc(tr.Spans, func(s trajectory.Span) bool { return s.ParentID == "" })]
	spans := slices.SortedStableFunc(slices.Values(tr.Spans), func(a, b trajectory.Span) int { return a.Start.Compare(b.Start) })
	spans = slices.DeleteFunc(spans, func(s trajectory.Span) bool { return s.ID == root.ID })
	for i := range n {
		part := trajectory.Trace{ID: fmt.Sprintf("%s%02x", tr.ID[:30], i)}
		some := spans[i*len(spans)/n : (i+1)*len(spans)/n]
		root.Start, root.End = some[0].Start, some[len(some)-1].End
		for _, s := range append([]trajectory.Span{root}, some...) {
			s.TraceID, s.Attrs = part.ID, maps.Clone(s.Attrs)
			if text := s.Attrs.Text("gen_ai.input.messages"); text != "" {
				s.Attrs["gen_ai.input.messages"] = stringValue(lastMessage(t, text))
			}
			part.Spans = append(part.Spans, s)
		}
		out = append(out, part)
	}
	return out
}

func lastMessage(t testing.TB, text string) string {
	var messages []jsontext.Value
	if err := json.Unmarshal([]byte(text), &messages); err != nil {
		t.Fatal(err)
	}
	return "[" + string(messages[len(messages)-1]) + "]"
}

// desk is a worker and what it remembers of each trace, as the assembler does, and the traces that it keeps.
type desk struct {
	t     testing.TB
	w     *Worker
	notes map[string][]byte
	kept  map[string]trajectory.Trace
}

func newDesk(t testing.TB, q *queue.Queue, e *classify.Engine) *desk {
	return &desk{t, NewWorker(quiet, q, e, func() *baseline.Snapshot { return nil }), map[string][]byte{}, map[string]trajectory.Trace{}}
}

func (d *desk) judge(tr trajectory.Trace, revision string, seen time.Time) {
	d.t.Helper()
	note, err := d.w.Judge(d.t.Context(), tr, revision, d.notes[tr.ID], seen)
	if err != nil {
		d.t.Fatal(err)
	}
	d.notes[tr.ID], d.kept[tr.ID] = note, tr
}

func (d *desk) traces(_ context.Context, id string) (trajectory.Trace, bool, error) {
	tr, ok := d.kept[id]
	return tr, ok, nil
}

// foldAndSweep folds and sweeps, twice: what a sweep says of sessions is folded before the next one.
func foldAndSweep(t *testing.T, a *Absorber, now time.Time) {
	t.Helper()
	for range 3 {
		if err := a.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Sweep(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
}

// only is the one group that has occurrences and a label, or nil.
func only(t *testing.T, a *Absorber) (found *Group) {
	t.Helper()
	gs, err := a.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range gs {
		if gs[i].Count > 0 && gs[i].Fingerprint.Label != classify.NoLabel {
			if found != nil {
				t.Fatalf("two groups, %s and %s", found.ID(), gs[i].ID())
			}
			found = &gs[i]
		}
	}
	return found
}

// labelled is the group of a label that has occurrences, or nil.
func labelled(t *testing.T, a *Absorber, label classify.Label) *Group {
	t.Helper()
	gs, err := a.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(gs, func(g Group) bool { return g.Count > 0 && g.Fingerprint.Label == label }); i >= 0 {
		return &gs[i]
	}
	return nil
}

func TestLoopAcrossTracesBecomesACase(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a := testAbsorber(t, q, f)
	d := newDesk(t, q, a.maker.Engine)
	a.opts.Traces = d.traces
	parts := inPieces(t, "loop", 1, 3)
	for i, p := range parts {
		d.judge(p, "r", noon.Add(time.Duration(i)*10*time.Minute))
	}
	foldAndSweep(t, a, noon.Add(49*time.Minute))
	if g := only(t, a); g != nil {
		t.Fatalf("29 minutes after its last trace the session was judged: %+v", g)
	}
	foldAndSweep(t, a, noon.Add(50*time.Minute))
	g := only(t, a)
	if g == nil || g.Count != 1 || g.Fingerprint.Label != classify.Loop || g.Severity != classify.Blocking {
		t.Fatalf("group %+v, want one loop", g)
	}
	sp := g.Specimens[0]
	if sp.TraceID != parts[2].ID || !slices.Equal(sp.Traces, []string{parts[0].ID, parts[1].ID, parts[2].ID}) {
		t.Errorf("the finding stands on %s with evidence in %v, want the last of three traces and all of them", sp.TraceID, sp.Traces)
	}
	pulls := f.Pulls("acme", "parcels")
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests, want 1; the group is refused because %q", len(pulls), g.Refused)
	}
	if ss, err := a.Services(t.Context()); err != nil || len(ss) != 1 || ss[0].Traces() != 3 {
		t.Errorf("services %+v, %v, want the three traces counted and not the session", ss, err)
	}
	b, err := a.batch(t.Context(), g.Batch)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := q.Objects.Get(t.Context(), b.Members[0].Trace)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Reread(doc)
	if err != nil || len(tr.Traces) != 3 {
		t.Errorf("the case records the traces %v, %v, want three", tr.Traces, err)
	}
}

// TestSessionIsJudgedByTheLoops runs the absorber as the service does, with its own clock.
func TestSessionIsJudgedByTheLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(t)
		a := NewAbsorber(quiet, q, testMaker(t), nil, Options{Sweep: time.Minute})
		d := newDesk(t, q, a.maker.Engine)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Run(ctx) }()
		for _, p := range inPieces(t, "loop", 1, 3) {
			d.judge(p, "r", time.Now().UTC())
			time.Sleep(20 * time.Minute)
		}
		if g := only(t, a); g != nil {
			t.Errorf("judged 20 minutes after its last trace: %+v", g)
		}
		time.Sleep(12 * time.Minute)
		if g := only(t, a); g == nil || g.Count != 1 {
			t.Errorf("32 minutes after the last trace: group %+v, want one occurrence", g)
		}
		if g := labelled(t, a, classify.NoLabel); g != nil {
			t.Errorf("the session explains its traces, and they wait for a label: %+v", g)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestLateTraceOpensItsSessionAgain(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	d := newDesk(t, q, a.maker.Engine)
	parts := inPieces(t, "loop", 1, 4)
	for _, p := range parts[:3] {
		d.judge(p, "r", noon)
	}
	foldAndSweep(t, a, noon.Add(time.Hour))
	before := labelled(t, a, classify.Loop)
	if before == nil || before.Count != 1 || before.Specimens[0].TraceID != parts[2].ID {
		t.Fatalf("group %+v, want one on the third trace", before)
	}
	if labelled(t, a, classify.MissingToolResult) == nil {
		t.Fatal("the last call of the third trace is not missing its answer")
	}
	d.judge(parts[3], "r", noon.Add(2*time.Hour))
	foldAndSweep(t, a, noon.Add(2*time.Hour+29*time.Minute))
	if g := labelled(t, a, classify.Loop); g.Specimens[0].TraceID != parts[2].ID {
		t.Errorf("judged again before it was quiet: %+v", g.Specimens)
	}
	foldAndSweep(t, a, noon.Add(3*time.Hour)) // it answers that call too
	g := only(t, a)
	if g.Count != 1 || len(g.Specimens) != 1 || g.Specimens[0].TraceID != parts[3].ID {
		t.Errorf("after the late trace: count %d, specimens %+v, want the one session with the fourth trace", g.Count, g.Specimens)
	}
}

func TestSessionIsRetractedWithItsTrace(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	d := newDesk(t, q, a.maker.Engine)
	parts := inPieces(t, "loop", 1, 3)
	for _, p := range parts {
		d.judge(p, "r", noon)
	}
	foldAndSweep(t, a, noon.Add(time.Hour))
	if g := only(t, a); g == nil {
		t.Fatal("no group")
	}
	elsewhere := parts[1] // late spans tell that it was another conversation
	elsewhere.Spans = slices.Clone(elsewhere.Spans)
	for i := range elsewhere.Spans {
		elsewhere.Spans[i].Attrs = maps.Clone(elsewhere.Spans[i].Attrs)
		elsewhere.Spans[i].Attrs["gen_ai.conversation.id"] = stringValue("another")
	}
	d.judge(elsewhere, "r2", noon.Add(time.Hour))
	foldAndSweep(t, a, noon.Add(3*time.Hour))
	if g := only(t, a); g != nil {
		t.Errorf("the session's middle is gone, and still: %+v", g)
	}
	d.judge(parts[1], "r3", noon.Add(4*time.Hour))
	foldAndSweep(t, a, noon.Add(6*time.Hour))
	if g := only(t, a); g == nil || g.Count != 1 {
		t.Errorf("with its middle back: %+v, want one occurrence", g)
	}
}

// TestKilledWhileJudgingASession kills the absorber after every step of judging a session: between what it read, said, and folded. Nothing is lost, nothing counts twice.
func TestKilledWhileJudgingASession(t *testing.T) {
	for kill := range 4 {
		q := testQueue(t)
		f := testFake(t)
		a := testAbsorber(t, q, f)
		d := newDesk(t, q, a.maker.Engine)
		for _, p := range inPieces(t, "loop", 1, 3) {
			d.judge(p, "r", noon)
		}
		fold := func(a *Absorber) []sequenced { // without the cursor
			vs := unfolded(t, q)
			if err := a.fold(t.Context(), vs); err != nil {
				t.Fatal(err)
			}
			return vs
		}
		judge := func(a *Absorber) {
			if err := a.judgeSessions(t.Context(), noon.Add(time.Hour), noBaseline); err != nil {
				t.Fatal(err)
			}
		}
		for step := range kill {
			switch step {
			case 0, 2:
				fold(a)
			case 1:
				judge(a)
			}
		}
		for range 3 { // and every absorber after it is killed too, and one that died before said its word again
			a = testAbsorber(t, q, f)
			if err := a.rederive(t.Context()); err != nil {
				t.Fatal(err)
			}
			judge(a)
			vs := fold(a)
			judge(a)
			for _, v := range vs {
				if v.onSession() {
					say(t, q, v.Verdict)
					break
				}
			}
		}
		foldAndSweep(t, a, noon.Add(time.Hour))
		if g := only(t, a); g == nil || g.Count != 1 {
			t.Errorf("killed after %d steps: group %+v, want one occurrence", kill, g)
		}
	}
}

func noBaseline() (*baseline.Snapshot, error) { return nil, nil }

// unfolded reads all of FINDINGS.
func unfolded(t *testing.T, q *queue.Queue) (out []sequenced) {
	t.Helper()
	info, err := q.Findings.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range q.Findings.Read(t.Context(), info.First) {
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(m.Data), "\n") {
			var v Verdict
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			out = append(out, sequenced{m.Seq, v})
		}
		if m.Seq == info.Last {
			break
		}
	}
	return out
}

func TestTwoAbsorbersJudgeOnce(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	a, b := testAbsorber(t, q, f), testAbsorber(t, q, f)
	d := newDesk(t, q, a.maker.Engine)
	for _, p := range inPieces(t, "loop", 1, 3) {
		d.judge(p, "r", noon)
	}
	vs := unfolded(t, q)
	done := make(chan error)
	for _, one := range []*Absorber{a, b} {
		go func() {
			err := one.fold(t.Context(), vs)
			for range 5 {
				if err == nil {
					err = one.judgeSessions(t.Context(), noon.Add(time.Hour), noBaseline)
				}
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if said := len(unfolded(t, q)) - len(vs); said != 1 {
		t.Errorf("%d verdicts on the session, want one", said)
	}
	foldAndSweep(t, b, noon.Add(time.Hour))
	foldAndSweep(t, a, noon.Add(time.Hour))
	if g := only(t, a); g == nil || g.Count != 1 {
		t.Errorf("group %+v, want one occurrence", g)
	}
}

// TestSessionWithoutItsTraces holds that a group whose recording cannot be made says why, and what to do.
func TestSessionWithoutItsTraces(t *testing.T) {
	for name, traces := range map[string]Traces{
		"kept by another process": nil,
		"not kept here any more":  func(context.Context, string) (trajectory.Trace, bool, error) { return trajectory.Trace{}, false, nil },
	} {
		q, f := testQueue(t), testFake(t)
		a := testAbsorber(t, q, f)
		a.opts.Traces = traces
		d := newDesk(t, q, a.maker.Engine)
		parts := inPieces(t, "loop", 1, 3)
		for _, p := range parts {
			d.judge(p, "r", noon)
		}
		foldAndSweep(t, a, noon.Add(time.Hour))
		g := only(t, a)
		if g == nil {
			t.Fatalf("%s: no group", name)
		}
		status := a.opts.Policy.Status(g, a.opts.Targets, nil)
		if !strings.Contains(status, name) || !strings.Contains(status, "pawl absorb") || !strings.Contains(status, parts[1].ID) {
			t.Errorf("%s: status %q, want the reason, what to do and the traces", name, status)
		}
		if len(f.Pulls("acme", "parcels")) != 0 {
			t.Errorf("%s: a pull request without a recording", name)
		}
	}
}

// TestSharedIDIsNoSession holds that an id which traces of two users share joins nothing.
func TestSharedIDIsNoSession(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	d := newDesk(t, q, a.maker.Engine)
	for i, p := range inPieces(t, "loop", 1, 3) {
		for k := range p.Spans {
			p.Spans[k].Attrs["user.id"] = stringValue(fmt.Sprintf("user-%d", i))
		}
		d.judge(p, "r", noon)
	}
	foldAndSweep(t, a, noon.Add(time.Hour))
	if g := only(t, a); g != nil {
		t.Errorf("traces of three users were joined: %+v", g)
	}
}

// TestEndlessSession holds the bounds of a session that never ends, and that what gave way is not taken for retracted.
func TestEndlessSession(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	d := newDesk(t, q, a.maker.Engine)
	for _, p := range inPieces(t, "loop", 1, 3) {
		d.judge(p, "r", noon)
	}
	foldAndSweep(t, a, noon.Add(time.Hour))
	if only(t, a) == nil {
		t.Fatal("no group")
	}
	sessionID := trajectory.Build(inPieces(t, "loop", 1, 3)[0]).SessionID
	for i := range 200 {
		p := inPieces(t, "healthy", uint64(100+i), 1)[0]
		for k := range p.Spans {
			p.Spans[k].Attrs["gen_ai.conversation.id"] = stringValue(sessionID)
			if _, ok := p.Spans[k].Attrs["gen_ai.input.messages"]; ok { // it goes on from another
				p.Spans[k].Attrs["gen_ai.input.messages"] = stringValue(`[{"role":"tool","parts":[{"type":"tool_call_response","id":"call_elsewhere","response":"x"}]}]`)
			}
		}
		d.judge(p, "r", noon.Add(time.Hour+time.Duration(i)*time.Minute))
	}
	foldAndSweep(t, a, noon.Add(24*time.Hour))
	e, err := q.Sessions.Get(t.Context(), sessionKey("parcel-desk", sessionID))
	if err != nil {
		t.Fatal(err)
	}
	var s Session
	if err := json.Unmarshal(e.Value, &s); err != nil {
		t.Fatal(err)
	}
	if len(e.Value) > queue.MaxValue || len(s.Parts)+s.Left != 203 || len(s.Parts) > maxParts || len(s.Parts) < 10 {
		t.Errorf("%d bytes, %d traces kept, %d gave way, want 203 in all", len(e.Value), len(s.Parts), s.Left)
	}
	if g := only(t, a); g == nil || g.Count != 1 {
		t.Errorf("group %+v, want the loop of the traces that gave way", g)
	}
	if s.open() {
		t.Error("the session is judged over and over")
	}
}

// TestNoCaseBeforeItsSessionIsQuiet holds that a call which the next trace answers becomes no case in the meantime, and no occurrence in the end; one that
// nothing answers does.
func TestNoCaseBeforeItsSessionIsQuiet(t *testing.T) {
	for answered, want := range map[bool]int{true: 0, false: 1} {
		q, f := testQueue(t), testFake(t)
		a := testAbsorber(t, q, f)
		d := newDesk(t, q, a.maker.Engine)
		parts := inPieces(t, "loop", 1, 4)[:2]
		d.judge(parts[0], "r", noon)
		foldAndSweep(t, a, noon.Add(10*time.Minute))
		g := only(t, a)
		if g == nil || g.Fingerprint.Label != classify.MissingToolResult {
			t.Fatalf("group %+v, want a call without an answer", g)
		}
		if status := a.opts.Policy.Status(g, a.opts.Targets, nil); g.Batch != "" || !strings.Contains(status, "until its session is quiet") {
			t.Errorf("batch %q, status %q, want it to wait for its session", g.Batch, status)
		}
		if answered {
			d.judge(parts[1], "r", noon.Add(20*time.Minute))
		}
		foldAndSweep(t, a, noon.Add(time.Hour))
		g, made := labelled(t, a, classify.MissingToolResult), 0
		for _, p := range f.Pulls("acme", "parcels") {
			made += strings.Count(p.Head, "missing-tool-result")
		}
		if (g != nil) != (want > 0) || want > 0 && (g.Batch == "" || made == 0) || want == 0 && made > 0 {
			t.Errorf("answered %v: %d pull requests on it, want %d; group %+v", answered, made, want, g)
		}
	}
}

// TestSessionOfWholeTurns holds that a question with its answer, which no other trace goes on with, costs its session nothing, and that a later revision of a
// trace which turns out to be such leaves its session.
func TestSessionOfWholeTurns(t *testing.T) {
	q := testQueue(t)
	a := testAbsorber(t, q, testFake(t))
	d := newDesk(t, q, a.maker.Engine)
	whole, _ := sampled(sample.Dialects[0], sample.Named("healthy"), 1)
	part := whole
	part.Spans = slices.DeleteFunc(slices.Clone(whole.Spans), func(s trajectory.Span) bool { return s.Attrs.Text("gen_ai.tool.name") != "" })
	part.Spans = part.Spans[:2] // its first model call, which asks for a tool
	for i, tr := range []trajectory.Trace{whole, part, whole} {
		d.judge(tr, fmt.Sprint(i), noon)
		if err := a.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := a.session(t.Context(), sessionKey("parcel-desk", trajectory.Build(whole).SessionID))
		if err != nil || len(s.Parts) != i%2 {
			t.Errorf("revision %d: %d parts in its session, %v, want %d", i, len(s.Parts), err, i%2)
		}
	}
}

// TestReplayedSession applies random verdicts, then any suffix of them again, as a restart does, and wants the same session.
func TestReplayedSession(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		var steps []func(*Session)
		for i := range 1 + rng.IntN(30) {
			seq, id := uint64(i+1), fmt.Sprintf("%032d", rng.IntN(6))
			v := Verdict{TraceID: id, Revision: fmt.Sprint(rng.IntN(3)), SessionID: "s", Service: "shop", Sketch: []byte("x"), Seen: noon.Add(time.Duration(i) * time.Minute)}
			switch rng.IntN(5) {
			case 0:
				steps = append(steps, func(s *Session) { s.Drop(id, seq); s.Applied = seq })
			case 1:
				f := classify.Finding{Fingerprint: classify.NewFingerprint("loop", "shop", fmt.Sprint(rng.IntN(3)))}
				v.Findings = []Found{NewFound(f)}
				steps = append(steps, func(s *Session) { s.Hear(v, seq); s.Applied = seq })
			default:
				steps = append(steps, func(s *Session) { s.Take(v, seq); s.Applied = seq })
			}
		}
		var once, twice Session
		for _, step := range steps {
			step(&once)
			step(&twice)
		}
		before := twice.Applied
		for i := rng.IntN(len(steps)); i < len(steps); i++ {
			replay := twice
			replay.Applied = before
			steps[i](&replay)
			replay.Applied = before
			twice = replay
		}
		if !reflect.DeepEqual(once, twice) {
			t.Fatalf("replayed:\n%+v\nwant\n%+v", twice, once)
		}
	}
}

func stringValue(s string) pcommon.Value { return pcommon.NewValueStr(s) }

// TestASessionThatIsJudgedInPartTakesNothingBack: where the traces are not to be had, what the team's own rules said of the session stays said.
func TestASessionThatIsJudgedInPartTakesNothingBack(t *testing.T) {
	for _, c := range []struct {
		left int
		all  bool
		want int
	}{{0, true, 2}, {0, false, 0}, {1, true, 0}} {
		s := Session{Left: c.left, Said: &Previous{Revision: "r", Fingerprints: []string{"a", "b"}}}
		if got := s.replaces(nil, c.all); len(got.Fingerprints) != c.want {
			t.Errorf("left %d, all %v: takes back %q", c.left, c.all, got.Fingerprints)
		}
	}
	if (&Session{}).replaces(nil, true) != nil {
		t.Error("a session that said nothing takes something back")
	}
}
