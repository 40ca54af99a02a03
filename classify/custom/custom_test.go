package custom

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

const story = `trace service=shop route=/chat
user Please refund order ORD-1.
model m1 agent=support in=100 out=10 finish=tool_calls
call c1 get_order {"order_id":"ORD-1","request_id":"a"}
  ok {"status":"sent","total":12.5,"lines":[{"sku":"K1"},{"sku":"K2"}]}
model m2 agent=support in=120 out=10 finish=tool_calls
call c2 mcp__pay__refund {"order_id":"ORD-1","amount":9007199254740991}
  error {"error":"declined"}
model m3 agent=support in=120 out=10 finish=tool_calls
call c3 get_order {"order_id":"ORD-1","request_id":"b"}
  unknown
reply I could not refund it.
`

func parse(t testing.TB, text string) *trajectory.Trajectory {
	tr, err := texttraj.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// judge says what a rule with this condition answers: match, no match, or the fact that it lacks.
func judge(t testing.TB, text, when, evidence string) (string, classify.Report) {
	rules, problems, err := New([]Definition{{Name: "mine", When: when, Evidence: evidence, Why: "{tools} by {agent}: {count}"}}, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	e, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := e.Classify(parse(t, text), nil)
	switch {
	case len(r.Inapplicable) > 0:
		return string(r.Inapplicable[0].Missing), r
	case len(r.Findings) > 0:
		return "match", r
	}
	return "no match", r
}

func TestExpressions(t *testing.T) {
	for when, want := range map[string]string{
		`t.tool_calls.exists(c, c.name == "refund")`:                                                          "match",
		`t.calls("refund").exists(c, c.failed && c.error.code == 0)`:                                          "match",
		`t.calls("get_*").size() == 2 && t.calls("*").size() == 3 && t.calls("g?t_*").size() == 0`:            "match",
		`t.tool_calls.count(c, c.name.startsWith("get_")) == 2`:                                               "match",
		`t.calls("refund")[0].arguments.amount == 9007199254740991`:                                           "match",
		`t.calls("refund")[0].arguments.amount == 9007199254740990`:                                           "no match",
		`t.tool_calls[0].result.total > 12 && t.tool_calls[0].result.lines[1].sku == "K2"`:                    "match",
		`t.tool_calls[0].result.lines.exists(l, l.sku.matches("^K[0-9]$"))`:                                   "match",
		`has(t.tool_calls[0].result.nothing)`:                                                                 "no match",
		`t.tool_calls[0].result.nothing == 1`:                                                                 "working_rule",
		`t.tool_calls[2].result.status == "sent"`:                                                             "tool_results",
		`t.tool_calls[2].failed`:                                                                              "tool_results",
		`!t.tool_calls[2].failed`:                                                                             "tool_results",
		`t.tool_calls.exists(c, c.failed)`:                                                                    "match", // the one that is known decides
		`t.tool_calls.all(c, !c.failed)`:                                                                      "no match",
		`t.tool_calls.exists(c, c.outcome == "denied")`:                                                       "tool_results",
		`t.calls("refund").exists(c, c.outcome == "denied")`:                                                  "no match",
		`same(t.tool_calls[0], t.tool_calls[2])`:                                                              "match",
		`same(t.tool_calls[0], t.tool_calls[1])`:                                                              "no match",
		`same(t.tool_calls[0], t.tool_calls[1], "order_id")`:                                                  "match",
		`same(t.tool_calls[0], t.tool_calls[1], "amount")`:                                                    "no match",
		`before(t.tool_calls[0], t.tool_calls[1]) && !before(t.tool_calls[1], t.tool_calls[0])`:               "match",
		`t.calls("refund").exists(r, t.calls("get_order").exists(g, before(g, r) && same(g, r, "order_id")))`: "match",
		`t.stats.input_tokens == 340 && t.model_calls[0].input_tokens == 100`:                                 "match",
		`t.stats.cost_usd > 1.0`:                                                                              "cost",
		`t.user_messages.exists(m, m.matches("(?i)refund"))`:                                                  "match",
		`has(t.reply) && t.reply.contains("could not")`:                                                       "match",
		`has(t.error)`: "no match",
		`t.steps[0].kind == "user_message" && t.service == "shop" && t.agents == ["support"]`: "match",
		`t.model_calls[0].tool_calls[0].name == "get_order"`:                                  "match",
		`t.model_calls[0].offered.size() == 0`:                                                "tools_offered",
		`t.tool_calls[0].arguments.map(k, k) == ["order_id", "request_id"]`:                   "match",
		`t.tool_calls[0].arguments[?"order_id"].orValue("") == "ORD-1"`:                       "match",
		`[t.tool_calls[0], 1].exists(x, x.name == "get_order")`:                               "match", // a list of unlike things is not known by type
		`dyn(t).tool_calls[0].nam == "x"`:                                                     "working_rule",
	} {
		if got, r := judge(t, story, when, `t.tool_calls`); got != want {
			t.Errorf("%s: %s, not %s: %+v", when, got, want, r.Inapplicable)
		}
	}
}

func TestFinding(t *testing.T) {
	_, r := judge(t, story, `true`, `t.calls("refund") + t.calls("refund") + t.calls("get_order")`)
	f := r.Findings[0]
	if f.Why != "refund, get_order by support: 3" || f.Label != "mine" || f.Rule != "mine@1" || f.Severity != classify.Warning || f.Form != classify.FormNever {
		t.Errorf("finding %+v", f)
	}
	if len(f.Evidence) != 3 || f.Evidence[0].SpanID != "c2" || f.Evidence[0].What != "1 of 3: call of refund, outcome error" || f.Step != 4 {
		t.Errorf("evidence %+v at step %d", f.Evidence, f.Step)
	}
	if got := f.Fingerprint.Part("tools") + f.Fingerprint.Part("rule"); got != `["get_order","refund"]mine` {
		t.Errorf("parts %s", got)
	}
	if f.Params["when"] != "true" {
		t.Errorf("the expression is not frozen: %v", f.Params)
	}
	if got, r := judge(t, story, `true`, `t.calls("none")`); got != "working_rule" {
		t.Errorf("a finding without a span: %s %+v", got, r)
	}
	if got, _ := judge(t, story, `true`, `t.tool_calls.filter(c, c.outcome == "denied")`); got != "tool_results" {
		t.Errorf("absent evidence: %s", got)
	}
	if got, r := judge(t, story, `true`, `t.model_calls`); got != "match" || len(r.Findings[0].Evidence) != 3 {
		t.Errorf("model calls as evidence: %s", got)
	}
}

// TestRecalled: calls that an earlier trace made are its failure, not this one's.
func TestRecalled(t *testing.T) {
	old := "trace service=s\nuser go on\nmodel m1\ncall c1 pay {}\n  error {}\n  recalled\n"
	for text, want := range map[string]string{
		old + "reply done\n": "no match",
		old + "model m2\ncall c2 pay {}\n  error {}\nreply done\n": "match",
	} {
		if got, _ := judge(t, text, `t.calls("pay").exists(c, c.failed)`, `t.calls("pay")`); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}

func TestAbsentFacts(t *testing.T) {
	for text, want := range map[string]string{
		"trace service=s\nuser hello\nreply hi\n":                                  "no match", // there were none
		"trace service=s\nuser hello\nreply hi\ngap tool_calls set X=1\n":          "tool_calls",
		"trace service=s\nuser hello\ncall c1 pay {}\n  ok {}\ngap tool_calls x\n": "match",
	} {
		if got, _ := judge(t, text, `t.tool_calls.size() > 0`, `t.tool_calls`); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
	rules, _, _ := New([]Definition{{Name: "mine", When: "true", Evidence: "t.steps", Why: "w", Needs: []trajectory.Fact{"whole_trace"}}}, nil)
	e, _ := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{})
	r := e.Classify(parse(t, "trace service=s\nuser hello\nmodel m1\nreply hi\ngap whole_trace x\n"), nil)
	if len(r.Inapplicable) != 1 || r.Inapplicable[0].Missing != "whole_trace" {
		t.Errorf("needs were not asked for: %+v", r)
	}
}

func TestMistakes(t *testing.T) {
	good := Definition{Name: "mine", When: "true", Evidence: "t.steps", Why: "w"}
	for want, change := range map[string]func(*Definition){
		`when 1:2 undefined field 'toolcalls'`:                                   func(d *Definition) { d.When = `t.toolcalls.size() > 0` },
		`when 2:4 undefined field 'nam'`:                                         func(d *Definition) { d.When = "t.tool_calls.exists(c,\n  c.nam == 'x')" },
		`when 1:1 this is int, and bool is wanted`:                               func(d *Definition) { d.When = "1" },
		`when 1:11 found no matching overload for '_==_'`:                        func(d *Definition) { d.When = `t.service == 1` },
		`when 1:8 Syntax error: mismatched input '<EOF>'`:                        func(d *Definition) { d.When = `true &&` },
		`when 0:0 there is no expression`:                                        func(d *Definition) { d.When = " " },
		`evidence 1:1 this is string, and a list of tool calls`:                  func(d *Definition) { d.Evidence = `t.service` },
		`evidence 1:1 this is list(string), and a list of tool`:                  func(d *Definition) { d.Evidence = `t.agents` },
		`when 1:13 invalid matches argument`:                                     func(d *Definition) { d.When = `"a".matches("(")` },
		`undeclared reference to 'env'`:                                          func(d *Definition) { d.When = `env("HOME") == ""` },
		`comprehension exceeds nesting limit`:                                    func(d *Definition) { d.When = `t.steps.all(a, t.steps.all(b, t.steps.all(c, true)))` },
		`name 0:0 "Mine!" is not a name of a rule`:                               func(d *Definition) { d.Name = "Mine!" },
		`name 0:0 there is a rule loop already`:                                  func(d *Definition) { d.Name = "loop" },
		`label 0:0 "a/b" is not a label`:                                         func(d *Definition) { d.Label = "a/b" },
		`label 0:0 "none" stands for the lack of`:                                func(d *Definition) { d.Label = "none" },
		`label 0:0 "unclassified" stands for`:                                    func(d *Definition) { d.Label = classify.NoLabel },
		`why 0:0 {name} stands for nothing`:                                      func(d *Definition) { d.Why = "{name}" },
		`why 0:0 there is no sentence`:                                           func(d *Definition) { d.Why = "" },
		`needs 0:0 there is no fact "tool_result"; did you mean "tool_results"?`: func(d *Definition) { d.Needs = []trajectory.Fact{"tool_result"} },
	} {
		d := good
		change(&d)
		rules, problems, err := New([]Definition{d}, []string{"loop"})
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%s %d:%d %s", p.Key, p.Line, p.Column, p.Message))
		}
		if err != nil || rules != nil || !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("want %s, got %q, %v", want, got, err)
		}
	}
	if _, problems, _ := New([]Definition{good, good}, nil); len(problems) != 1 || problems[0].Rule != 1 {
		t.Errorf("a double name: %+v", problems)
	}
}

// manyCalls is a trace with n different calls.
func manyCalls(n int) string {
	var b strings.Builder
	b.WriteString("trace service=s\nuser go\nmodel m1\n")
	for i := range n {
		fmt.Fprintf(&b, "call c%d get {\"id\":%d}\n  ok {}\n", i, i)
	}
	return b.String() + "reply done\n"
}

func TestBudget(t *testing.T) {
	pairs := `t.tool_calls.exists(a, t.tool_calls.exists(b, a.id != b.id && same(a, b)))`
	if got, _ := judge(t, manyCalls(60), pairs, `t.tool_calls`); got != "no match" {
		t.Errorf("60 calls, each with each: %s", got)
	}
	got, r := judge(t, manyCalls(2000), pairs, `t.tool_calls`)
	if got != "evaluation_budget" || !strings.Contains(r.Inapplicable[0].Remedy, "`when`") {
		t.Errorf("2000 calls, each with each: %s %+v", got, r.Inapplicable)
	}
}

// TestDeterministic: the same trajectory gives the same answer, by the same budget.
func TestDeterministic(t *testing.T) {
	text := strings.Replace(story, `{"status":"sent"`, `{"z":1,"y":2,"x":3,"w":4,"v":5,"u":6,"status":"sent"`, 1)
	when := `t.tool_calls[0].result.map(k, k)[0] == "lines" && t.tool_calls[0].result.exists(k, k == "u")`
	_, first := judge(t, text, when, `t.tool_calls`)
	for range 50 {
		if _, again := judge(t, text, when, `t.tool_calls`); !reflect.DeepEqual(first, again) || len(again.Findings) != 1 {
			t.Fatalf("%+v\n%+v", first, again)
		}
	}
}

// TestFrozen: a case judges by the expression that it froze, whatever the rule says today.
func TestFrozen(t *testing.T) {
	rules, _, err := New([]Definition{{Name: "mine", When: "false", Evidence: "t.steps", Why: "w"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]int{"true": 1, "false": 0} {
		e, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{Params: map[string]map[string]any{"mine": {"when": when}}})
		if err != nil {
			t.Fatal(err)
		}
		if r := e.Classify(parse(t, story), nil); len(r.Findings) != want {
			t.Errorf("frozen %s: %+v", when, r)
		}
	}
	if _, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{Params: map[string]map[string]any{"mine": {"when": "t.x"}}}); err == nil {
		t.Error("a frozen expression that does not compile was taken")
	}
}

// TestSession: a rule over sessions finds what lies in several traces, the last of which it stands on; one that is not sees each trace alone.
func TestSession(t *testing.T) {
	var parts []*trajectory.Trajectory
	for i := range 30 {
		part := parse(t, fmt.Sprintf("trace service=desk session=s\nuser Again, %d.\nmodel m%d agent=a\ncall c%d get {\"id\":%d}\n  ok none", i, i, i, i))
		part.TraceID = fmt.Sprintf("%032x", i+1)
		parts = append(parts, part)
	}
	session := trajectory.Join(parts)
	when := `t.traces.size() == 30 && t.user_messages.count(m, m.startsWith("Again")) == 30 && t.tool_calls[0].trace_id != t.tool_calls[1].trace_id`
	for _, over := range []bool{true, false} {
		rules, problems, err := New([]Definition{{Name: "mine", When: when, Evidence: "t.calls('get')", Why: "{count}", Session: over}}, nil)
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		e, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := e.ClassifySession(session, nil)
		if len(found) > 0 != over || e.WantsWords() != over || !reflect.DeepEqual(found, e.ClassifyWords(session, nil)) || len(e.ClassifySketches(session, nil)) > 0 {
			t.Fatalf("session: %v: %+v", over, found)
		}
		if over && (len(found[0].Evidence) != maxShown || found[0].TraceID() != parts[29].TraceID || found[0].Params["session"] != true) {
			t.Errorf("found %+v on %s", found[0], found[0].TraceID())
		}
		if r := e.Classify(parts[0], nil); len(r.Findings)+len(r.Inapplicable) > 0 {
			t.Errorf("a single trace: %+v", r)
		}
	}
}

func TestViewIsDocumented(t *testing.T) {
	for _, k := range View() {
		seen := map[string]bool{}
		for _, f := range k.Fields {
			if f.Doc == "" || f.Type == "" || seen[f.Name] {
				t.Errorf("%s.%s is not documented, or twice", k.Name, f.Name)
			}
			seen[f.Name] = true
		}
		if k.Doc == "" || len(k.Fields) == 0 {
			t.Errorf("%s is not documented", k.Name)
		}
	}
}

func FuzzWhen(f *testing.F) {
	for _, s := range []string{"true", "t.tool_calls.exists(c, c.result.x == 1)", "same(t.tool_calls[0], t.tool_calls[1])", "t.calls('*')[9].name == ''", "t.stats == t.error"} {
		f.Add(s)
	}
	tr := parse(f, story)
	env, err := environment()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := programsOf(env, Params{When: text, Evidence: "t.steps"})
		if len(problems) > 0 {
			return
		}
		one, cannot := eval(p.when, newView(tr), "when")
		two, again := eval(p.when, newView(tr), "when")
		if (cannot == nil) != (again == nil) || cannot == nil && one.Equal(two).Value() != true {
			t.Errorf("%s: %v and %v", text, one, two)
		}
	})
}
