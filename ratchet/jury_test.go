package ratchet

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	jury "github.com/pawl-dev/pawl/classify/judge"
	"github.com/pawl-dev/pawl/classify/judge/llm"
	"github.com/pawl-dev/pawl/classify/judge/llm/llmtest"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/test/sample"
)

// court is a desk whose unexplained traces are put to a scripted model.
type court struct {
	*desk
	q     *queue.Queue
	m     *llmtest.Model
	a     *Absorber
	now   time.Time
	spend jury.Cost // of a day
	count map[string]int
}

func newCourt(t *testing.T, m *llmtest.Model) *court {
	q := testQueue(t)
	c := &court{q: q, m: m, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), count: map[string]int{}}
	c.desk = newDesk(t, q, testMaker(t).Engine)
	c.restart()
	return c
}

// restart forgets all that is not in the store.
func (c *court) restart() {
	c.t.Helper()
	client, err := llm.New(llm.Options{API: llm.OpenAI, Model: "model-1", Key: "k", Transport: c.m, Price: &llm.Price{In: 1, Out: 2}})
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := jury.New(quiet, client, jury.Options{Taxonomy: []jury.Choice{{Label: classify.FabricatedSuccess, Means: "x"}, {Label: classify.Loop, Means: "y"}}, Price: &llm.Price{In: 1, Out: 2}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.a = NewAbsorber(quiet, c.q, testMaker(c.t), nil, Options{Traces: c.traces, Jury: &Jury{Judge: p, ID: p.ID(), Model: "model-1", Budget: c.spend, Count: func(of string) { c.count[of]++ }}})
}

func (c *court) fold() {
	c.t.Helper()
	if err := c.a.CatchUp(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *court) ask(later time.Duration) {
	c.t.Helper()
	c.now = c.now.Add(later)
	if err := c.a.Deliberate(c.t.Context(), c.now); err != nil {
		c.t.Fatal(err)
	}
}

// again has everything that FINDINGS still holds folded again, as after a kill before the cursor was set.
func (c *court) again(next uint64) {
	c.t.Helper()
	if err := c.q.Findings.SetCursor(c.t.Context(), reader, next); err != nil {
		c.t.Fatal(err)
	}
}

func (c *court) counts() (label, none int) {
	c.t.Helper()
	gs, err := c.a.Groups(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range gs {
		if gs[i].Fingerprint.Label == classify.NoLabel {
			none += gs[i].Count
		} else {
			label += gs[i].Count
		}
	}
	return label, none
}

func (c *court) judgementOf(id string) *Judgement {
	c.t.Helper()
	j, err := c.a.judgement(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return j
}

// broken is a run that ends in an error which no rule explains.
func broken(seed uint64) trajectory.Trace {
	t, _ := sampled(sample.Dialects[0], sample.Named("healthy"), seed)
	for i := range t.Spans {
		if t.Spans[i].ParentID == "" {
			t.Spans[i].Status, t.Spans[i].StatusMessage = trajectory.StatusError, "the invariant of the desk does not hold"
		}
	}
	return t
}

// answers is a label that the model says of whatever it is asked, citing the run's last call.
func answers(label classify.Label) llmtest.Reply { return llmtest.Reply{Text: string(label)} }

// speaks turns a label into an answer in the form, with evidence from the run that was sent.
func speaks(replies ...llmtest.Reply) *llmtest.Model {
	var mu sync.Mutex
	n := 0
	return llmtest.Func(func(r llmtest.Recorded) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		reply := replies[min(n, len(replies)-1)]
		n++
		if reply.Err != nil || reply.Status != 0 {
			return reply
		}
		var span, quote string
		for line := range strings.Lines(r.Asked().Turns[0]) {
			var l struct {
				Span string `json:"span"`
				Kind string `json:"kind"`
				Tool string `json:"tool"`
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Kind == "tool_call" {
				span, quote = l.Span, l.Tool
			}
		}
		doc := fmt.Sprintf(`{"why":"It did so.","label":%q,"evidence":[{"span_id":%q,"quote":%q}]}`, reply.Text, span, quote)
		return llmtest.Reply{Text: doc, InputTokens: 1000, OutputTokens: 100}
	})
}

var overloaded = llmtest.Reply{Status: 529, Text: "overloaded"}

// TestJudgedTraceCountsOnce: whatever is killed, folded again or asked again in between, the trace is in one group, once, and votes that were given are not
// asked for again.
func TestJudgedTraceCountsOnce(t *testing.T) {
	tr := broken(1)
	loops := answers(classify.Loop)
	for name, c := range map[string]struct {
		steps   string
		replies []llmtest.Reply
		asked   int
		none    bool // it stays with what no rule explains
	}{
		"asked":                       {"judge fold ask fold", nil, 3, false},
		"killed at every step":        {"judge restart fold restart ask restart fold restart ask fold", nil, 3, false},
		"folded again":                {"judge fold again ask again fold again fold", nil, 3, false},
		"told twice":                  {"judge fold ask restart ask fold ask fold", nil, 3, false},
		"killed between its votes":    {"judge fold ask restart ask fold", []llmtest.Reply{loops, overloaded, loops}, 4, false},
		"the model is away":           {"judge fold ask ask ask fold", []llmtest.Reply{overloaded, overloaded, loops}, 5, false},
		"late spans before it speaks": {"judge fold more fold ask fold", nil, 3, false},
		"late spans while it speaks":  {"judge fold ask more fold ask fold", nil, 3, false}, // the votes of the same run are known
		"late spans after it spoke":   {"judge fold ask fold more fold ask fold", nil, 3, false},
		"late spans that mend it":     {"judge fold ask fold mend fold ask fold", nil, 3, true},
		"mended while it speaks":      {"judge fold ask mend fold ask fold", nil, 3, true},
		"no label":                    {"judge fold ask fold ask fold", []llmtest.Reply{answers(jury.None)}, 3, true},
		"two at once":                 {"judge fold ask2 fold ask fold", nil, 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			replies := c.replies
			if replies == nil {
				replies = []llmtest.Reply{loops}
			}
			w := newCourt(t, speaks(replies...))
			mended := false
			for step := range strings.FieldsSeq(c.steps) {
				switch step {
				case "judge":
					w.judge(tr, "r", w.now)
				case "more":
					w.judge(tr, "r2", w.now)
				case "mend":
					w.judge(healthy(1), "r3", w.now)
					mended = true
				case "fold":
					w.fold()
				case "again":
					w.again(1)
				case "ask":
					w.ask(2 * time.Minute)
				case "ask2":
					other := *w
					other.count = map[string]int{}
					other.restart()
					var wg sync.WaitGroup
					wg.Go(func() { w.ask(time.Minute) })
					wg.Go(func() { other.ask(time.Minute) })
					wg.Wait()
				case "restart":
					w.restart()
				}
			}
			label, none := w.counts()
			wantNone := 0
			if c.none && !mended {
				wantNone = 1
			}
			if wantLabel := 1; c.none && label != 0 || !c.none && label != wantLabel || none != wantNone {
				t.Errorf("%d with a label, %d without; %+v", label, none, w.judgementOf(tr.ID))
			}
			if n := len(w.m.Requests()); n != c.asked && !(name == "two at once" && n <= c.asked) {
				t.Errorf("%d requests, want %d", n, c.asked)
			}
		})
	}
}

func TestJudgedGroup(t *testing.T) {
	w := newCourt(t, speaks(answers(classify.Loop)))
	tr := broken(1)
	w.judge(tr, "r", w.now)
	w.fold()
	if j := w.judgementOf(tr.ID); j == nil || j.State != JudgementWaiting || j.Object == "" {
		t.Fatalf("%+v", j)
	}
	w.ask(time.Minute)
	w.fold()
	g := labelled(t, w.a, classify.Loop)
	if g == nil || g.Source != classify.SourceJudge || g.Confidence != 1 || len(g.Specimens) != 1 || g.Specimens[0].Object == "" || g.Why != "It did so." {
		t.Fatalf("%+v", g)
	}
	if due, why := (Policy{}).Due(g); due || !strings.Contains(why, "a model says so") {
		t.Errorf("due %v: %s", due, why)
	}
	if due, why := (Policy{Every: true, Judges: map[string]Agreement{g.Rule: {Labels: 60, Agreed: 57}}}).Due(g); due || !strings.Contains(why, "0.95 of 60 labels") {
		t.Errorf("due %v: %s", due, why)
	}
	s, err := w.a.Spent(t.Context(), w.now)
	if err != nil || s.Tokens != 3300 || s.Questions != 3 || s.USD < 0.0035 || s.USD > 0.0037 {
		t.Errorf("spent %+v, %v", s, err)
	}
	if w.count["label"] != 1 || len(w.count) != 1 {
		t.Errorf("%v", w.count)
	}
	ss, err := w.a.Services(t.Context())
	if err != nil || len(ss) != 1 || ss[0].Traces() != 1 {
		t.Errorf("services %+v, %v", ss, err)
	}
}

// TestNothingUnredactedIsSent: what a trace tells of people is not in what the model is sent.
func TestNothingUnredactedIsSent(t *testing.T) {
	w := newCourt(t, speaks(answers(jury.None)))
	tr := broken(1)
	for i := range tr.Spans {
		if tr.Spans[i].ParentID == "" {
			tr.Spans[i].StatusMessage = "cannot write to maya.lindqvist@posteo.example, token ghp_0123456789abcdefghijABCDEFGHIJ012345"
		}
	}
	w.judge(tr, "r", w.now)
	w.fold()
	w.ask(time.Minute)
	if len(w.m.Requests()) != 3 {
		t.Fatalf("%d requests: %+v", len(w.m.Requests()), w.judgementOf(tr.ID))
	}
	for _, r := range w.m.Requests() {
		body := string(r.Body)
		if strings.Contains(body, "lindqvist") || strings.Contains(body, "ghp_0123") || !strings.Contains(body, "cannot write to") {
			t.Errorf("sent: %.2000s", body)
		}
	}
}

// TestBudgetOfADay: what is spent waits, visibly, and is asked on the next day.
func TestBudgetOfADay(t *testing.T) {
	w := newCourt(t, speaks(answers(classify.Loop)))
	w.spend = jury.Cost{Tokens: 4500}
	w.restart()
	tr := broken(1)
	w.judge(tr, "r", w.now)
	w.fold()
	w.ask(time.Minute)
	j := w.judgementOf(tr.ID)
	asked := len(w.m.Requests())
	if j.State != JudgementWaiting || !strings.Contains(j.Waits, "not decided: the judge's budget is spent: judge.budget.tokens_per_day is 4500") || asked >= 3 || w.count["budget_spent"] != 1 {
		t.Fatalf("%+v after %d requests, %v", j, asked, w.count)
	}
	w.ask(time.Hour)
	if len(w.m.Requests()) != asked || j.Tries != 0 {
		t.Errorf("asked on the same day")
	}
	for range 3 {
		w.ask(24 * time.Hour)
	}
	w.fold()
	if label, none := w.counts(); label != 1 || none != 0 || len(w.m.Requests()) != 3 {
		t.Errorf("%d, %d after %d requests: %+v", label, none, len(w.m.Requests()), w.judgementOf(tr.ID))
	}
}

// TestAModelThatNeverAnswers ends as not decided, and the trace stays where people see it.
func TestAModelThatNeverAnswers(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{"away": overloaded, "wrong key": {Status: 401, Text: "no such key"}, "no line": {Err: errors.New("refused")}} {
		w := newCourt(t, speaks(reply))
		tr := broken(1)
		w.judge(tr, "r", w.now)
		w.fold()
		for range 20 {
			w.ask(2 * time.Hour)
		}
		w.fold()
		j := w.judgementOf(tr.ID)
		if label, none := w.counts(); label != 0 || none != 1 || j.State != JudgementDone || j.Opinion.Outcome != jury.NotDecided || !strings.Contains(j.Opinion.Why, "13 tries") {
			t.Errorf("%s: %d, %d, %+v", name, label, none, j)
		}
		if n := len(w.m.Requests()); n != 13 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// TestFewOfManyAreAsked: of a thousand traces that went wrong in the same way the model sees a few.
func TestFewOfManyAreAsked(t *testing.T) {
	w := newCourt(t, speaks(answers(jury.None)))
	for i := range 12 {
		w.judge(broken(uint64(i+1)), "r", w.now)
	}
	w.fold()
	w.ask(time.Minute)
	gs, err := w.a.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.m.Requests()); n == 0 || n > 15*len(gs) || w.count["none"] > 5*len(gs) {
		t.Errorf("%d requests for %d groups, %v", n, len(gs), w.count)
	}
	if _, none := w.counts(); none != 12 {
		t.Errorf("%d without a label", none)
	}
}

func TestTruths(t *testing.T) {
	fp := func(label classify.Label, service string) classify.Fingerprint {
		return classify.NewFingerprint(label, service, "")
	}
	human := Group{Fingerprint: fp("wrong_currency", "a"), Source: classify.SourceHuman, Decisions: []Decision{{ID: "0", Choice: ChoiceLabel, Label: "wrong_currency"}}}
	moved := Group{Fingerprint: fp(classify.NoLabel, "a"), Merged: &Merge{Into: human.Digest(), Moved: true, Label: "wrong_currency"}}
	right := Group{Fingerprint: fp(classify.Loop, "b"), Source: classify.SourceJudge, Decisions: []Decision{{ID: "1", Choice: ChoiceLabel, Label: classify.Loop}}}
	wrong := Group{Fingerprint: fp(classify.Loop, "c"), Source: classify.SourceJudge, Decisions: []Decision{{ID: "2", Choice: ChoiceDismiss, As: AsFalseAlarm}}}
	later := Group{Fingerprint: fp(classify.Loop, "d"), Source: classify.SourceJudge, Decisions: []Decision{{ID: "3", Choice: ChoiceDeny, As: AsNotNow}}}
	open := Group{Fingerprint: fp(classify.Loop, "e"), Source: classify.SourceJudge}
	well := Group{Fingerprint: fp(classify.NoLabel, "f"), Decisions: []Decision{{ID: "4", Choice: ChoiceDismiss, As: AsIntended}}}
	says := func(g *Group, label classify.Label, id string) Judgement {
		j := Judgement{State: JudgementDone, Of: g.Digest(), Opinion: jury.Opinion{Outcome: jury.NoneFits, Judge: id}}
		if label != jury.None {
			j.State, j.Opinion.Outcome, j.Opinion.Label = JudgementCounted, jury.Labelled, label
			j.Says = &Verdict{Findings: []Found{{Finding: classify.Finding{Fingerprint: g.Fingerprint}}}}
		}
		return j
	}
	js := []Judgement{
		says(&moved, jury.None, "me"),                                // people said wrong_currency
		says(&right, classify.Loop, "me"),                            // they agree
		says(&right, classify.Loop, "me"),                            // another trace, the same decision
		says(&right, classify.Loop, "other"),                         // another judge
		says(&wrong, classify.Loop, "me"),                            // a false alarm
		says(&later, classify.Loop, "me"), says(&open, "loop", "me"), // nobody said anything of the label
		says(&well, jury.None, "me"), // both say that nothing failed
		{State: JudgementDone, Of: well.Digest(), Opinion: jury.Opinion{Outcome: jury.NotDecided, Judge: "me"}},
	}
	got := Truths("me", []Group{human, moved, right, wrong, later, open, well}, js)
	if got.Labels != 4 || got.Agreed != 2 || got.Set != yourGroups {
		t.Errorf("%+v", got)
	}
}

func TestCalibrated(t *testing.T) {
	for _, c := range []struct {
		labels, agreed int
		may            bool
	}{{0, 0, false}, {49, 49, false}, {50, 42, false}, {50, 43, true}, {100, 84, false}, {100, 85, true}} {
		if may, why := (Agreement{Labels: c.labels, Agreed: c.agreed}).Calibrated(); may != c.may || why == "" {
			t.Errorf("%+v: %v, %s", c, may, why)
		}
	}
}

// TestPeopleOnWhatAModelSaid: a person gives the label that the model gave, or another one; both count for its calibration, through the absorber's own words.
func TestPeopleOnWhatAModelSaid(t *testing.T) {
	for label, agreed := range map[classify.Label]int{classify.Loop: 1, "wrong_currency": 0} {
		w := newCourt(t, speaks(answers(classify.Loop)))
		tr := broken(1)
		w.judge(tr, "r", w.now)
		w.fold()
		w.ask(time.Minute)
		w.fold()
		if r, ok, err := w.a.JuryReport(t.Context(), w.now); err != nil || !ok || r.Agreement.Labels != 0 || r.Counts["label"] != 1 || len(r.Judgements) != 1 || len(r.Judgements[0].Opinion.Votes) != 3 {
			t.Fatalf("%+v, %v, %v", r, ok, err)
		}
		g, err := w.a.Decide(t.Context(), labelled(t, w.a, classify.Loop).ID(), "ana", w.now, Ask{Choice: ChoiceLabel, Label: label})
		if err != nil || g.Fingerprint.Label != label {
			t.Fatalf("%+v, %v", g, err)
		}
		r, _, err := w.a.JuryReport(t.Context(), w.now)
		if err != nil || r.Agreement.Labels != 1 || r.Agreement.Agreed != agreed || r.Calibrated || w.a.Agreement()[r.Judge].Labels != 1 {
			t.Errorf("%s: %+v, %v", label, r, err)
		}
		w.judge(tr, "r2", w.now)
		w.fold()
		w.ask(time.Minute)
		w.fold()
		if g := labelled(t, w.a, label); g == nil || g.Count != 1 {
			t.Errorf("%s: after late spans it is in %+v", label, g)
		}
	}
}

// TestEraseWhatAModelSaid: a value that redaction left to the model, and that it repeats, goes from its judgement, its votes and the group.
func TestEraseWhatAModelSaid(t *testing.T) {
	w := newCourt(t, llmtest.Func(func(llmtest.Recorded) llmtest.Reply {
		return llmtest.Reply{Text: `{"why":"It called Zelda Quistorp a liar.","label":"none","evidence":[]}`, InputTokens: 10, OutputTokens: 10}
	}))
	tr := broken(1)
	w.judge(tr, "r", w.now)
	w.fold()
	w.ask(time.Minute)
	s, err := redact.NewSubject("Zelda Quistorp")
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		e, err := w.a.Erase(t.Context(), s, dry)
		if err != nil || e.Judgements != 2 {
			t.Fatalf("dry %v: %+v, %v", dry, e, err)
		}
	}
	for e, err := range w.q.Judgements.All(t.Context()) {
		if err != nil || strings.Contains(string(e.Value), "Quistorp") || strings.HasPrefix(e.Key, votesPrefix) {
			t.Errorf("%s holds %s, %v", e.Key, e.Value, err)
		}
	}
	if j := w.judgementOf(tr.ID); j.Opinion.Outcome != jury.NoneFits || len(j.Opinion.Votes) != 3 {
		t.Errorf("%+v", j)
	}
}

// TestPeopleComeFirst: what a person has labelled or dismissed is not asked about, and what a model says after them moves nothing.
func TestPeopleComeFirst(t *testing.T) {
	for steps, asked := range map[string]int{"label ask": 0, "dismiss ask": 0, "ask label": 3, "ask fold label": 3} {
		w := newCourt(t, speaks(answers(classify.Loop)))
		w.judge(broken(1), "r", w.now)
		w.fold()
		for step := range strings.FieldsSeq(steps) {
			switch step {
			case "ask":
				w.ask(time.Minute)
			case "fold":
				w.fold()
			default:
				g := labelled(t, w.a, classify.NoLabel)
				if g == nil {
					g = labelled(t, w.a, classify.Loop)
				}
				do := Ask{Choice: ChoiceLabel, Label: "wrong_currency"}
				if step == "dismiss" {
					do = Ask{Choice: ChoiceDismiss, As: AsIntended, Reason: "it shall end so"}
				}
				if _, err := w.a.Decide(t.Context(), g.ID(), "ana", w.now, do); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.fold()
		w.judge(broken(2), "r", w.now)
		w.fold()
		if strings.HasSuffix(steps, "label") || steps == "label ask" {
			want := 2
			if steps == "ask fold label" { // the label is on what the model had named: what no rule explains is as it was
				want = 1
			}
			if g := labelled(t, w.a, "wrong_currency"); g == nil || g.Count != want {
				t.Errorf("%s: %+v", steps, g)
			}
			if g := labelled(t, w.a, classify.Loop); g != nil {
				t.Errorf("%s: moved to %+v", steps, g)
			}
		}
		if n := len(w.m.Requests()); n != asked {
			t.Errorf("%s: %d requests, want %d", steps, n, asked)
		}
	}
}

// TestASessionExplainsIt: what a session explains leaves the group that a model had put it into.
func TestASessionExplainsIt(t *testing.T) {
	w := newCourt(t, speaks(answers(classify.Loop)))
	tr := broken(1)
	w.judge(tr, "r", w.now)
	w.fold()
	w.ask(time.Minute)
	w.fold()
	j := w.judgementOf(tr.ID)
	doc, err := json.Marshal(Verdict{TraceID: tr.ID, Revision: "s", Session: "key", Service: j.Service, Findings: []Found{}, Seen: w.now,
		Settled: []Settled{{TraceID: tr.ID, Revision: j.Revision, Fingerprint: j.Of}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.q.Findings.Append(t.Context(), "s", doc); err != nil {
		t.Fatal(err)
	}
	w.fold()
	if label, none := w.counts(); label != 0 || none != 0 || w.judgementOf(tr.ID) != nil {
		t.Errorf("%d with a label, %d without, %+v", label, none, w.judgementOf(tr.ID))
	}
}
