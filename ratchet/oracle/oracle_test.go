package oracle

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func testOracle(t testing.TB) *Oracle {
	t.Helper()
	return New(slog.New(slog.DiscardHandler), rule.All())
}

// parse reads a trajectory in the text form of the rules' testdata.
func parse(t testing.TB, text string) *trajectory.Trajectory {
	t.Helper()
	tr, err := fixture.Parse("x/match.txtar", []byte("-- trajectory --\n"+text)).Trajectory()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// caseOf is a case that holds the run to a finding's rule alone.
func caseOf(t testing.TB, f classify.Finding) *regcase.Case {
	t.Helper()
	params, err := json.Marshal(f.Params, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	severity := f.Severity
	if severity == classify.Info {
		severity = classify.Warning
	}
	return &regcase.Case{ID: "x", Form: string(f.Form), Labels: []string{string(f.Label)}, Expect: regcase.Expect{Never: []regcase.Never{{
		Label: string(f.Label), Rule: f.Rule, Severity: string(severity), Params: regcase.NewJSON(params), Policy: regcase.JSON(f.Policy.JSON()),
	}}}}
}

// TestTestdata asks the oracle about the testdata of every rule: what a rule found fails the case that is made of it, and no other trajectory of
// its folder fails it where the rule found nothing.
func TestTestdata(t *testing.T) {
	fsys, err := rule.Testdata()
	if err != nil {
		t.Fatal(err)
	}
	all, err := fixture.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]classify.Rule{}
	for _, r := range rule.All() {
		rules[r.Name] = r
	}
	o := testOracle(t)
	count := map[Verdict]int{}
	for _, fx := range all {
		r := rules[fx.Rule]
		if _, needs := fx.Section("catalog"); needs || r.Form == classify.FormBudget || r.Form == classify.FormNone {
			continue
		}
		tr, err := fx.Trajectory()
		if err != nil {
			t.Fatal(err)
		}
		before, err := tr.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		report, err := fx.Report(r, tr)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Severity == classify.Info || f.Form == classify.FormFault && tellsOfOutside(f.Label) {
				continue
			}
			c := caseOf(t, f)
			j := o.Judge(c, tr)
			if j.Verdict != Fail {
				t.Errorf("%s: %s, and the case made of it gives %s: %s", fx.Path, f.Why, j.Verdict, j.Reason)
			}
			count[j.Verdict]++
			heal(t, o, c, r, f, tr)
		}
		if after, _ := tr.MarshalJSON(); string(after) != string(before) {
			t.Errorf("%s: judging changed the trajectory", fx.Path)
		}
	}
	if count[Fail] < 50 {
		t.Errorf("only %d cases were judged", count[Fail])
	}
}

// heal applies the rule's repairs: one of them at least gives a run that the case does not fail.
func heal(t *testing.T, o *Oracle, c *regcase.Case, r classify.Rule, f classify.Finding, tr *trajectory.Trajectory) {
	t.Helper()
	tried := 0
	for _, repair := range r.Repairs {
		now, at := tr, f
		for range len(tr.Steps) + 1 {
			next, ok := repair.Apply(now, at)
			if !ok {
				break
			}
			tried++
			now = next
			j := o.Judge(c, now)
			if j.Verdict != Fail {
				return
			}
			at = j.Findings[0]
		}
	}
	if tried > 0 {
		t.Errorf("%s: no repair of it makes the case anything but red", f.Why)
	}
}

const looping = `trace service=shop route=/chat
user Where is it?
model m1 agent=support
call c1 get_order {"id":1}
  ok {"s":"open"}
model m2 agent=support
call c2 get_order {"id":1}
  ok {"s":"open"}
model m3 agent=support
call c3 get_order {"id":1}
  ok {"s":"open"}
`

const more = `model m4 agent=support
call c4 get_order {"id":1}
  ok {"s":"open"}
model m5 agent=support
call c5 get_order {"id":1}
  ok {"s":"open"}
`

const replied = `model m9 agent=support text="It is open."
reply It is open.
`

func loopCase() *regcase.Case {
	return &regcase.Case{ID: "loop-1", Form: "never", Labels: []string{"loop"}, Expect: regcase.Expect{
		Never:    []regcase.Never{{Label: "loop", Rule: rule.Loop.ID(), Severity: "blocking", Params: regcase.NewJSON([]byte(`{"warn":3,"match":5}`))}},
		Liveness: regcase.Liveness{Reply: true, NoError: true},
	}}
}

func TestSeverity(t *testing.T) {
	o := testOracle(t)
	three, five := parse(t, looping+replied), parse(t, looping+more+replied)
	c := loopCase()
	expect(t, o.Judge(c, five), Fail, "get_order called 5 times")
	j := o.Judge(c, three)
	expect(t, j, Pass, "")
	if len(j.Notes) != 1 || !strings.Contains(j.Notes[0], "warning") {
		t.Errorf("notes are %v", j.Notes)
	}
	for _, s := range []string{"warning", ""} {
		c.Expect.Never[0].Severity = s
		expect(t, o.Judge(c, three), Fail, "called 3 times")
	}
	c.Expect.Never[0].Params = regcase.NewJSON([]byte(`{"warn":4,"match":5}`))
	expect(t, o.Judge(c, three), Pass, "")
	c.Expect.Never[0].Severity = "grave"
	expect(t, o.Judge(c, three), Error, "grave")
}

func expect(t *testing.T, j Judgement, v Verdict, reason string) {
	t.Helper()
	if j.Verdict != v || !strings.Contains(j.Reason, reason) || (j.Reason == "") != (j.Verdict == Pass) {
		t.Errorf("got %s: %q, want %s with %q (notes %q)", j.Verdict, j.Reason, v, reason, j.Notes)
	}
}

func TestFrozenRule(t *testing.T) {
	o := testOracle(t)
	run := parse(t, looping+more+replied)
	for _, c := range []struct {
		name    string
		edit    func(*regcase.Never)
		verdict Verdict
		reason  string
	}{
		{"other version", func(n *regcase.Never) { n.Rule = "loop@1" }, Fail, "5 times"},
		{"unknown rule", func(n *regcase.Never) { n.Rule, n.Label = "spiral@1", "spiral" }, Error, "no rule spiral@1"},
		{"other label", func(n *regcase.Never) { n.Label = "cost_spike" }, Error, "the case says cost_spike"},
		{"no version", func(n *regcase.Never) { n.Rule = "loop" }, Error, "not a rule with its version"},
		{"unknown parameter", func(n *regcase.Never) { n.Params = regcase.NewJSON([]byte(`{"macth":5}`)) }, Error, "macth"},
		{"parameters are no object", func(n *regcase.Never) { n.Params = regcase.NewJSON([]byte(`[1]`)) }, Error, "parameters of loop@"},
		{"policy is no policy", func(n *regcase.Never) { n.Policy = regcase.NewJSON([]byte(`{"agnet":"x"}`)) }, Error, "policy of loop@"},
		{"a baseline's digest", func(n *regcase.Never) { n.Params = regcase.NewJSON([]byte(`{"match":5,"baseline":"abc"}`)) }, Fail, "5 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := loopCase()
			c.edit(&k.Expect.Never[0])
			expect(t, o.Judge(k, run), c.verdict, c.reason)
		})
	}
	k := loopCase()
	k.Expect.Never[0].Rule = "loop@1"
	if j := o.Judge(k, run); len(j.Notes) == 0 || !strings.Contains(j.Notes[0], "froze loop@1") {
		t.Errorf("notes are %q", j.Notes)
	}
}

func TestCustomRule(t *testing.T) {
	defs := []custom.Definition{{Name: "too_many", When: "size(t.tool_calls) > 3", Evidence: "t.tool_calls", Why: "{count} calls"}}
	rules, problems, err := custom.New(defs, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	engine, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad, good := parse(t, looping+more+replied), parse(t, looping+replied)
	found := engine.Classify(bad, nil).Findings
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	o := testOracle(t) // it knows nothing of the team's rules
	c := caseOf(t, found[0])
	expect(t, o.Judge(c, bad), Fail, "5 places")
	expect(t, o.Judge(c, good), Pass, "")
	c.Expect.Never[0].Params = regcase.NewJSON([]byte(`{"when":"size(t.nonsense) > 3","evidence":"t.tool_calls"}`))
	expect(t, o.Judge(c, bad), Error, "not one that this pawl understands")
}

func TestPolicyIsFrozen(t *testing.T) {
	o := testOracle(t)
	c := &regcase.Case{Form: "never", Labels: []string{"skipped_step"}, Expect: regcase.Expect{Never: []regcase.Never{{
		Label: "skipped_step", Rule: "skipped_step@1", Severity: "blocking",
		Policy: regcase.NewJSON([]byte(`{"agent":"*","must_precede":[{"tool":"upsert_product","before":"validate_product","same":"product_id"}]}`)),
	}}}}
	bad := parse(t, "trace service=shop\nuser Save it.\nmodel m1 agent=a\ncall c1 upsert_product {\"product_id\":\"P1\"}\n  ok {\"ok\":true}\nmodel m2 agent=a\nreply Saved.\n")
	good := parse(t, "trace service=shop\nuser Save it.\nmodel m1 agent=a\ncall c0 validate_product {\"product_id\":\"P1\"}\n  ok {\"ok\":true}\nmodel m2 agent=a\ncall c1 upsert_product {\"product_id\":\"P1\"}\n  ok {\"ok\":true}\nmodel m3 agent=a\nreply Saved.\n")
	expect(t, o.Judge(c, bad), Fail, "validate_product")
	expect(t, o.Judge(c, good), Pass, "")
	if j := o.Judge(c, bad); len(j.Mismatches) != 1 || j.Mismatches[0].Field != "never/0" || j.Mismatches[0].Step != 2 {
		t.Errorf("mismatches are %+v", j.Mismatches)
	}
}

// TestBlind holds that what a rule cannot see is inconclusive, with what would open its eyes.
func TestBlind(t *testing.T) {
	fsys, err := rule.Testdata()
	if err != nil {
		t.Fatal(err)
	}
	all, err := fixture.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	rules, seen := map[string]classify.Rule{}, 0
	for _, r := range rule.All() {
		rules[r.Name] = r
	}
	o := testOracle(t)
	for _, fx := range all {
		r := rules[fx.Rule]
		given := false
		for _, s := range []string{"catalog", "baseline", "durations", "policy", "params"} {
			_, has := fx.Section(s)
			given = given || has
		}
		if given || fx.Kind != fixture.Blind || r.Form != classify.FormNever && r.Form != classify.FormFault {
			continue
		}
		tr, err := fx.Trajectory()
		if err != nil {
			t.Fatal(err)
		}
		report, err := fx.Report(r, tr)
		if err != nil || len(report.Inapplicable) != 1 {
			continue
		}
		seen++
		j := o.Judge(&regcase.Case{Form: "never", Expect: regcase.Expect{Never: []regcase.Never{{Label: string(r.Label), Rule: r.ID()}}}}, tr)
		if j.Verdict != Inconclusive || !strings.Contains(j.Reason, report.Inapplicable[0].Remedy) && tr.IsAgent() {
			t.Errorf("%s: %s: %s; want inconclusive with: %s", fx.Path, j.Verdict, j.Reason, report.Inapplicable[0].Remedy)
		}
	}
	if seen < 15 {
		t.Errorf("only %d were judged", seen)
	}
}

func TestSession(t *testing.T) {
	o := testOracle(t)
	parts := func() (out []*trajectory.Trajectory) {
		for i, id := range []string{"a", "b", "c", "d", "e"} {
			p := parse(t, strings.ReplaceAll("trace service=shop route=/chat session=s1\nuser Again, please, N.\nmodel mN agent=support\ncall cN get_order {\"id\":1}\n  ok {\"s\":\"open\"}\nmodel nN agent=support\nreply It is open.\n", "N", id))
			p.TraceID = strings.Repeat(id, 32)
			d := p.End.Sub(p.Start) * 2 * 1
			for range i {
				p = shifted(p, d)
			}
			out = append(out, p)
		}
		return out
	}()
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 2, 0, 1, 3}} {
		var given []*trajectory.Trajectory
		for _, i := range order {
			given = append(given, parts[i])
		}
		j := o.Judge(loopCase(), given...)
		if j.Verdict == Error || j.Verdict == Inconclusive {
			t.Errorf("got %s: %s", j.Verdict, j.Reason)
		}
		one := o.Judge(loopCase(), append(given, given[0])...)
		if one.Verdict != j.Verdict {
			t.Errorf("a trace given twice makes %s of %s", one.Verdict, j.Verdict)
		}
	}
	expect(t, o.Judge(loopCase()), Error, "no trace")
	expect(t, o.Judge(loopCase(), nil), Error, "no trace")
	expect(t, o.Judge(loopCase(), &trajectory.Trajectory{TraceID: "x"}), Inconclusive, "no trace of the run holds")
}
