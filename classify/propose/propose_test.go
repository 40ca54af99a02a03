package propose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/redact"

	"log/slog"
)

func parse(t testing.TB, text string) *trajectory.Trajectory {
	t.Helper()
	tr, err := texttraj.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return tr
}

// told is a run of a refund desk as a story. The parts may be changed by what is wrong with it.
type told struct {
	id                              int
	user, look, lookup, pay, refund string
	reply                           string
	head                            string
}

func healthyRun(n int) told {
	id := fmt.Sprintf("ORD-%05d", 10000+n)
	return told{id: n, user: "please refund order " + id, look: "call c1 get_order {\"order_id\":\"" + id + "\"}", lookup: "ok {\"status\":\"delivered\",\"total\":" + fmt.Sprint(20+n%30) + "}",
		pay: fmt.Sprintf("call c2 refund {\"order_id\":%q,\"amount\":%d,\"currency\":\"EUR\",\"note\":\"as asked\"}", id, 20+n%30), refund: "ok {\"status\":\"done\"}", reply: "reply Your money is on its way."}
}

func (s told) run(t testing.TB) *trajectory.Trajectory {
	text := fmt.Sprintf("trace id=%032x service=desk%s\ntools all\n  get_order {\"properties\":{\"order_id\":{}}}\n  refund \"pays money back\" {\"properties\":{\"amount\":{},\"currency\":{\"enum\":[\"EUR\",\"USD\"]},\"note\":{}}}\nuser %s\nmodel m1 agent=desk tools=all\n", s.id, s.head, s.user)
	if s.look != "" {
		text += s.look + "\n  " + s.lookup + "\n"
	}
	if s.pay != "" {
		text += "model m2 agent=desk tools=all\n" + s.pay + "\n  " + s.refund + "\n"
	}
	return parse(t, text+s.reply+"\n")
}

func runs(t testing.TB, from, n int, wrong func(*told)) (out []*trajectory.Trajectory) {
	t.Helper()
	for i := range n {
		s := healthyRun(from + i)
		if wrong != nil {
			wrong(&s)
		}
		out = append(out, s.run(t))
	}
	return out
}

// wrongs are failures, with what the best rule says of each.
var wrongs = map[string]struct {
	wrong func(*told)
	want  string
}{
	"skipped":    {func(s *told) { s.look = "" }, `t.calls("refund").exists(x, !t.calls("get_order").exists(y, before(y, x)))`},
	"other one":  {func(s *told) { s.look = `call c1 get_order {"order_id":"ORD-99999"}` }, `same(y, x, "order_id")`},
	"failed":     {func(s *told) { s.refund = "error {\"error\":\"no such order\"}" }, "c.failed"},
	"code":       {func(s *told) { s.lookup = "fails it broke\n  code 503" }, "c.failed"},
	"no reply":   {func(s *told) { s.reply = "" }, "!has(t.reply)"},
	"too much":   {func(s *told) { s.pay = strings.Replace(s.pay, `"amount":`, `"amount":9`, 1) }, `c.arguments["amount"] >= `},
	"currency":   {func(s *told) { s.pay = strings.Replace(s.pay, "EUR", "USD", 1) }, `c.arguments["currency"] == "USD"`},
	"no note":    {func(s *told) { s.pay = strings.Replace(s.pay, `,"note":"as asked"`, "", 1) }, `!("note" in c.arguments)`},
	"empty note": {func(s *told) { s.pay = strings.Replace(s.pay, "as asked", "", 1) }, `^\\s*$`},
	"invented":   {func(s *told) { s.look = strings.Replace(s.look, "get_order", "find_order", 1) }, "tools_offered"},
	"twice": {func(s *told) {
		s.pay += "\n  " + s.refund + "\nmodel m3 agent=desk tools=all\n" + strings.Replace(s.pay, "c2", "c3", 1)
	}, ">= 2"},
	"address":    {func(s *told) { s.reply += " Write to maria.keller@gmail.com for more." }, "t.reply.matches"},
	"state":      {func(s *told) { s.refund = `ok {"status":"pending"}` }, `c.result["status"] == "pending"`},
	"words":      {func(s *told) { s.reply = "reply This is not supported, chenwei." }, "not"},
	"no tool":    {func(s *told) { s.look, s.pay = "", "" }, "t.tool_calls.size() == 0"},
	"root error": {func(s *told) { s.head = ` error="the run broke off"` }, "has(t.error)"},
}

// TestEachKindIsFound: the shortest of what tells three labelled runs from twenty healthy ones is what is wrong with them, and it holds for twenty others.
func TestEachKindIsFound(t *testing.T) {
	healthy := runs(t, 100, 20, nil)
	for name, x := range wrongs {
		cs, err := Propose(runs(t, 0, 3, x.wrong), healthy, Options{Name: "wrong_refund", Redact: redactText(t)})
		if err != nil || len(cs) == 0 {
			t.Errorf("%s: %d candidates, %v", name, len(cs), err)
			continue
		}
		c := cs[0]
		if !strings.Contains(c.Rule.When, x.want) || c.Hits != 3 || len(c.Collisions) > 0 || len(c.Missed) > 0 {
			t.Errorf("%s: %s (%d hits, collisions %v)", name, c.Rule.When, c.Hits, c.Collisions)
		}
		r, err := ruleOf(c.Rule)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, run := range append(runs(t, 300, 10, x.wrong), runs(t, 400, 10, nil)...) {
			if got := Ask(r, run); (got == "match") != (i < 10) {
				t.Errorf("%s: run %d: %s, by %s", name, i, got, c.Rule.When)
				break
			}
		}
	}
}

// TestProperties holds for any runs: the same answer again, rules that load, numbers that are those of the rule, testdata that is as its name says, and nothing
// of a person.
// A step that is made only where a rare tool is called is found, though most healthy runs call neither.
func TestRareStep(t *testing.T) {
	labelled := runs(t, 0, 6, func(s *told) { s.look = "" })
	healthy := append(runs(t, 100, 8, nil), runs(t, 200, 60, func(s *told) { s.look, s.pay = "", "" })...)
	got, err := Propose(labelled, healthy, Options{Name: "new_failure"})
	if err != nil || len(got) == 0 {
		t.Fatalf("%v, %d candidates", err, len(got))
	}
	if want := `t.calls("refund").exists(x, !t.calls("get_order").exists(y, before(y, x)))`; got[0].Rule.When != want || got[0].Hits != 6 || len(got[0].Collisions) != 0 {
		t.Errorf("%s, %d hits, %d collisions", got[0].Rule.When, got[0].Hits, len(got[0].Collisions))
	}
}

func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range wrongs {
			if !yield(name) {
				return
			}
		}
	})
	r, err := redact.New(slog.New(slog.DiscardHandler), redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for round := range 8 {
		mixed := func(from, n int, share float64) (out []*trajectory.Trajectory) {
			for i := range n {
				s := healthyRun(from + i)
				for range 2 {
					if rng.Float64() < share {
						wrongs[names[rng.IntN(len(names))]].wrong(&s)
					}
				}
				s.user += " for chenwei, maria.keller@gmail.com, +49 170 1234567"
				s.pay = strings.Replace(s.pay, `"note":"as asked"`, `"note":"as asked","customer":"chenwei","mail":"maria.keller@gmail.com"`, 1)
				out = append(out, s.run(t))
			}
			return out
		}
		labelled, healthy, others := mixed(0, 1+rng.IntN(6), 0.9), mixed(100, rng.IntN(30), 0.1), mixed(200, rng.IntN(10), 1)
		ask := func() []Candidate {
			cs, err := Propose(labelled, healthy, Options{Name: "a_rule", Taken: []string{"a_rule"}, Label: "a_label", Redact: redactText(t), Others: others})
			if err != nil {
				t.Fatal(err)
			}
			return cs
		}
		cs := ask()
		one, _ := json.Marshal(cs)
		two, _ := json.Marshal(ask())
		if string(one) != string(two) {
			t.Fatalf("round %d: two answers differ:\n%s\n%s", round, one, two)
		}
		if len(cs) > Alternatives {
			t.Errorf("round %d: %d candidates", round, len(cs))
		}
		for _, c := range cs {
			files += len(c.Testdata)
			checkCandidate(t, c, labelled, healthy)
			for _, text := range append([]string{c.Rule.When, c.Rule.Evidence, c.Rule.Why, c.Says}, contents(c.Testdata)...) {
				if err := r.Verify([]byte(text)); err != nil {
					t.Errorf("round %d: %v in %s", round, err, text)
				}
			}
			for _, bad := range []string{"chenwei", "maria", "keller", "ORD-", "1234567"} {
				if strings.Contains(c.Rule.When+c.Rule.Why+c.Rule.Evidence+c.Says, bad) {
					t.Errorf("round %d: a rule names %s: %s", round, bad, c.Rule.When)
				}
			}
		}
	}
	if files == 0 {
		t.Error("no candidate had testdata")
	}
}

func contents(files []File) (out []string) {
	for _, f := range files {
		out = append(out, f.Content)
	}
	return out
}

func checkCandidate(t *testing.T, c Candidate, labelled, healthy []*trajectory.Trajectory) {
	t.Helper()
	rules, problems, err := custom.New([]custom.Definition{c.Rule}, []string{"loop"})
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v %v: %s", err, problems, c.Rule.When)
	}
	hits, collisions := 0, 0
	for _, run := range labelled {
		if Ask(rules[0], run) == "match" {
			hits++
		}
	}
	for _, run := range healthy {
		if Ask(rules[0], run) == "match" {
			collisions++
		}
	}
	if hits != c.Hits || hits+len(c.Missed) != len(labelled) || collisions != len(c.Collisions) || c.Healthy != len(healthy) {
		t.Errorf("%d hits, %d collisions, told are %d and %d: %s", hits, collisions, c.Hits, len(c.Collisions), c.Rule.When)
	}
	if c.Rule.Name != "a_rule_2" || c.Rule.Label != "a_label" {
		t.Errorf("it is called %s, of %s", c.Rule.Name, c.Rule.Label)
	}
	kinds := map[fixture.Kind]bool{}
	for _, f := range c.Testdata {
		want := fixture.KindOfName(f.Name)
		kinds[want] = true
		if got := says(rules[0], c.Rule.Name, f.Name, f.Content); got != want || len(f.Content) > maxStory {
			t.Errorf("%s: %s of\n%s", f.Name, got, f.Content)
		}
	}
	if len(c.Testdata) > 0 && len(kinds) != len(fixture.Kinds()) {
		t.Errorf("testdata of %v alone", kinds)
	}
}

// Nothing to tell apart, or nothing to learn from, gives no candidate and no fault.
func TestNothingToPropose(t *testing.T) {
	same := runs(t, 0, 5, nil)
	for name, x := range map[string][2][]*trajectory.Trajectory{
		"none": {}, "nothing labelled": {nil, same}, "the same": {same[:3], same}, "an empty run": {{{TraceID: "x"}}, {{TraceID: "y"}}}, "nil": {{nil}, {nil}},
	} {
		cs, err := Propose(x[0], x[1], Options{Name: "a_rule"})
		if err != nil || len(cs) > 0 {
			t.Errorf("%s: %+v, %v", name, cs, err)
		}
	}
	if cs, err := Propose(runs(t, 0, 3, wrongs["skipped"].wrong), nil, Options{Name: "a_rule"}); err != nil || len(cs) == 0 {
		t.Errorf("without healthy runs: %v, %v", cs, err)
	}
}
