package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// conversation reads traces that stand below each other, parted by lines of dashes, each some minutes after the one before. One that begins with
// "goes on" repeats how the one before ended.
func conversation(t *testing.T, text string) (parts []*trajectory.Trajectory) {
	t.Helper()
	for i, part := range strings.Split(strings.TrimSpace(text), "\n---\n") {
		part, goesOn := strings.CutPrefix(part, "goes on\n")
		tr, err := texttraj.Parse("trace service=desk session=s\n" + part + "\n")
		if err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		move(tr, i)
		if i > 0 && goesOn {
			remind(tr, parts[i-1])
		}
		parts = append(parts, tr)
	}
	return parts
}

// repeated is a trace that makes one call of the same, n times over, each going on with the one before.
func repeated(n int, first, rest string) string {
	var out []string
	for i := range n {
		head := rest
		if i == 0 {
			head = first
		}
		out = append(out, fmt.Sprintf("%smodel m%d agent=a\ncall c%d get {\"id\":1}\n  ok none", head, i, i))
	}
	return strings.Join(out, "\n---\n")
}

// pushed is a session whose traces are turns, each with one call of the same, one answer and a reply.
func pushed(answer string, words ...string) string {
	var out []string
	for i, said := range append([]string{"Find it for me"}, words...) {
		out = append(out, fmt.Sprintf("user %s\nmodel m%d agent=a\ncall c%d get {\"name\":\"thing seven\"}\n  %s\nmodel r%d agent=a text=Sorry.", said, i, i, answer, i))
	}
	return strings.Join(out, "\n---\n")
}

// TestLoopsAcrossTraces holds what counts as a loop of a session: the same again within one turn, as the traces themselves tell.
func TestLoopsAcrossTraces(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		severity   classify.Severity // "" for none
		traces     int
	}{
		{"five in one turn", repeated(5, "user Find it\n", "goes on\n"), classify.Blocking, 5},
		{"three in one turn", repeated(3, "user Find it\n", "goes on\n"), classify.Warning, 3},
		{"two in one turn", repeated(2, "user Find it\n", "goes on\n"), "", 0},
		{"the user asks again each time", repeated(6, "user Find it\n", "user Find it\n"), "", 0},
		{"the user says another word each time", repeated(6, "user Find it\n", "goes on\nuser Go on\n"), classify.Blocking, 6},
		{"the user pushes in other words, and it fails alike", pushed("error {\"error\":\"no such thing\"}", "Still wrong", "It did not help", "continue", "No."), classify.Blocking, 5},
		{"the user pushes twice", pushed("error {\"error\":\"no such thing\"}", "Still wrong", "It did not help"), classify.Warning, 3},
		{"the user asks for news", pushed("error {\"error\":\"no such thing\"}", "Any news?", "Check again", "And now?", "Try once more"), "", 0},
		{"the user asks for the thing by its name", pushed("error {\"error\":\"no such thing\"}", "Still wrong, I want thing seven", "thing seven!", "Not that. Thing seven", "go on with thing seven"), "", 0},
		{"what is read works", pushed("ok {\"thing\":\"seven\"}", "Still wrong", "It did not help", "continue", "No."), "", 0},
		{"nobody knows what the traces have to do with each other", repeated(6, "user Find it\n", ""), "", 0},
		{"without a word of the user's", repeated(6, "", ""), "", 0},
		{"an answer in between", "user Find it\n" + strings.ReplaceAll(repeated(5, "", "goes on\n"), "  ok none", "  ok none\nmodel x agent=a text=None."), "", 0},
		{"another call in between", strings.Replace(repeated(5, "user Find it\n", "goes on\n"), "call c2 get {\"id\":1}", "call c2 get {\"id\":2}", 1), "", 0},
		{"another answer each time", func() string {
			text := repeated(5, "user Find it\n", "goes on\n")
			for i := range 5 {
				text = strings.Replace(text, "ok none", fmt.Sprintf("ok {\"at\":%d}", i), 1)
			}
			return text
		}(), "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parts := conversation(t, tc.text)
			for _, p := range parts {
				if f := seen(t, engine(t), p); len(f) > 0 {
					t.Fatalf("a single trace shows it: %+v", f)
				}
			}
			same(t, engine(t), tc.name, parts)
			got := engine(t).ClassifySession(trajectory.Join(parts), nil)
			if tc.severity == "" {
				if len(got) > 0 {
					t.Errorf("found %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Label != classify.Loop || got[0].Severity != tc.severity || got[0].TraceID() != parts[len(parts)-1].TraceID {
				t.Fatalf("found %+v, want one loop, %s, on the last trace", got, tc.severity)
			}
			var traces []string
			for _, e := range got[0].Evidence {
				if !slices.Contains(traces, e.TraceID) {
					traces = append(traces, e.TraceID)
				}
			}
			if len(traces) != tc.traces || slices.Contains(traces, "") {
				t.Errorf("evidence in traces %v, want %d", traces, tc.traces)
			}
		})
	}
}

// TestTracesSideBySide holds that runs which work at once, each doing what the other does, are no loop.
func TestTracesSideBySide(t *testing.T) {
	parts := conversation(t, repeated(6, "user Find it\n", "goes on\n"))
	for _, p := range parts[1:] { // all at work together
		p.Start, p.End = parts[0].Start, parts[0].End
		for i := range p.ModelCalls {
			p.ModelCalls[i].Start, p.ModelCalls[i].End = parts[0].ModelCalls[0].Start, parts[0].ModelCalls[0].End
		}
	}
	if got := engine(t).ClassifySession(trajectory.Join(parts), nil); len(got) > 0 {
		t.Errorf("found %+v", got)
	}
}

// TestLongLoopsStandOnTheirLast holds that evidence which is cut keeps its last piece.
func TestLongLoopsStandOnTheirLast(t *testing.T) {
	parts := conversation(t, repeated(30, "user Find it\n", "goes on\n"))
	got := engine(t).ClassifySession(trajectory.Join(parts), nil)
	if len(got) != 1 || got[0].TraceID() != parts[29].TraceID || len(got[0].Evidence) != maxEvidence {
		t.Errorf("found %+v", got)
	}
}

// TestWithSession holds that a trace's report takes in what stands on it and nothing else, and says nothing twice.
func TestWithSession(t *testing.T) {
	e := engine(t)
	parts := conversation(t, repeated(5, "user Find it\n", "goes on\n"))
	found := e.ClassifySession(trajectory.Join(parts), nil)
	first, last := e.Classify(parts[0], nil), e.Classify(parts[4], nil)
	if got := e.WithSession(parts[0], first, found); got.Verdict != first.Verdict || len(got.Findings) != 0 {
		t.Errorf("the first trace: %+v", got)
	}
	got := e.WithSession(parts[4], last, found)
	if got.Verdict != classify.Failing || got.Primary == nil || *got.Primary != classify.Loop || len(got.Findings) != 1 || got.Findings[0].Step < 0 {
		t.Fatalf("the last trace: %+v", got)
	}
	if len(last.Findings) != 0 {
		t.Error("the report before was changed")
	}
	own := slices.Clone(got.Findings)
	own[0].Why, own[0].Evidence = "own", []classify.Evidence{{SpanID: "x"}}
	both := last
	both.Findings = own
	if again := e.WithSession(parts[4], both, found); len(again.Findings) != 1 || again.Findings[0].Why != "own" {
		t.Errorf("said twice, or the trace's own is gone: %+v", again.Findings)
	}
	own[0].Severity = classify.Warning
	if again := e.WithSession(parts[4], both, found); len(again.Findings) != 1 || again.Findings[0].Severity != classify.Blocking {
		t.Errorf("the graver is not there: %+v", again.Findings)
	}
}

// TestSessionsOfCaptures joins what real SDKs recorded: three turns that are healthy, and a loop of which each call is a trace.
func TestSessionsOfCaptures(t *testing.T) {
	e := engine(t)
	for _, c := range manifest(t) {
		parts := c.trajectories(t)
		if len(parts) < 2 || c.scenario != "S15" && c.sdk != "otel-openai-chat-0.21.0" {
			continue
		}
		got := e.ClassifySession(trajectory.Join(parts), nil)
		if c.scenario != "S03" {
			if len(got) > 0 {
				t.Errorf("%s %s: found %+v", c.sdk, c.scenario, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Label != classify.Loop || got[0].Severity != classify.Blocking || len(got[0].Evidence) != 6 || got[0].TraceID() != parts[5].TraceID {
			t.Errorf("%s %s: found %+v, want a loop of six on the sixth trace", c.sdk, c.scenario, got)
		}
	}
}
