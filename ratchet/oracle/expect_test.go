package oracle

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func TestLiveness(t *testing.T) {
	o := testOracle(t)
	good := order + "  ok {\"s\":\"sent\"}\nmodel m2 agent=support text=\"It was sent.\"\nreply It was sent.\n"
	for _, c := range []struct {
		name, run string
		live      regcase.Liveness
		verdict   Verdict
		reason    string
	}{
		{"all is there", good, regcase.Liveness{Reply: true, NoError: true, Calls: []string{"get_order"}}, Pass, ""},
		{"nothing is wanted", order, regcase.Liveness{}, Pass, ""},
		{"no reply", order + "  ok {\"s\":\"sent\"}\nmodel m2 agent=support\n", regcase.Liveness{Reply: true}, Fail, "no reply"},
		{"replies are not recorded", order + "  ok {}\nmodel m2 agent=support\ngap reply set X=1\n", regcase.Liveness{Reply: true}, Inconclusive, "X=1"},
		{"no root", strings.Replace(order, "trace ", "trace noroot ", 1) + "  ok {}\nmodel m2 agent=support\n", regcase.Liveness{Reply: true}, Inconclusive, "root span"},
		{"an error", strings.Replace(good, "trace ", `trace error="it broke" `, 1), regcase.Liveness{NoError: true}, Fail, "it broke"},
		{"no root, but a reply", strings.Replace(good, "trace ", "trace noroot ", 1), regcase.Liveness{NoError: true}, Pass, ""},
		{"no root and no reply", strings.Replace(order, "trace ", "trace noroot ", 1), regcase.Liveness{NoError: true}, Inconclusive, "root span is missing"},
		{"a call is missing", good, regcase.Liveness{Calls: []string{"get_order", "get_customer"}}, Fail, "get_customer"},
		{"a call under a prefix", good, regcase.Liveness{Calls: []string{"functions.get_order"}}, Pass, ""},
		{"calls are not recorded", "trace service=shop\nuser Hi.\nmodel m1 agent=a\ngap tool_calls set Y=1\nreply Hello.\n", regcase.Liveness{Calls: []string{"get_order"}}, Inconclusive, "Y=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, o.Judge(&regcase.Case{Form: "never", Expect: regcase.Expect{Liveness: c.live}}, parse(t, c.run)), c.verdict, c.reason)
		})
	}
}

func TestBudget(t *testing.T) {
	o := testOracle(t)
	run := "trace service=shop\nuser Hi.\nmodel m1 agent=a in=900 out=100 cost=0.5\ncall c1 get_order {}\n  ok {}\nmodel m2 agent=a in=100 out=100 cost=0.1\nreply Hello.\n" // 1200 tokens, one call, 0.6 USD
	for _, c := range []struct {
		name    string
		b       regcase.Budget
		run     string
		verdict Verdict
		reason  string
	}{
		{"inside", regcase.Budget{TotalTokens: new(int64(1200)), ToolCalls: new(int64(1)), CostUSD: new(0.6)}, run, Pass, ""},
		{"inside by the tolerance", regcase.Budget{TotalTokens: new(int64(1000)), Tolerance: 0.2}, run, Pass, ""},
		{"tokens", regcase.Budget{TotalTokens: new(int64(999)), Tolerance: 0.2}, run, Fail, "1200 tokens, and 1198.8 are allowed"},
		{"calls", regcase.Budget{ToolCalls: new(int64(0))}, run, Fail, "1 tool calls"},
		{"cost", regcase.Budget{CostUSD: new(0.4), Tolerance: 0.2}, run, Fail, "0.6 USD"},
		{"tokens are not told", regcase.Budget{TotalTokens: new(int64(999))}, strings.ReplaceAll(run, "in=900 out=100", ""), Inconclusive, "usage is missing"},
		{"cost is not told", regcase.Budget{CostUSD: new(5.0)}, strings.ReplaceAll(run, "cost=0.5", ""), Inconclusive, "cost is missing"},
		{"a clock that is made up", regcase.Budget{DurationS: new(1000.0)}, strings.Replace(run, "trace ", "trace synthetic ", 1), Inconclusive, "real clock is missing"},
		{"time", regcase.Budget{DurationS: new(1.0)}, run + "wait 90s\nfeedback a b\n", Fail, "seconds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, o.Judge(&regcase.Case{Form: "budget", Expect: regcase.Expect{Budget: &c.b}}, parse(t, c.run)), c.verdict, c.reason)
		})
	}
}

func TestExpected(t *testing.T) {
	o := testOracle(t)
	run := parse(t, "trace service=shop\nuser Hi.\nmodel m1 agent=front\nhandoff front orders\nmodel m2 agent=orders\ncall c1 get_order {\"id\":1}\n  ok {}\ncall c2 save_memory {\"key\":\"size\",\"value\":\"XL\"}\n  ok {}\nmodel m3 agent=orders\nreply Your order ORD-10231 was sent.\n")
	calls := func(tool string) *regcase.Trajectory {
		return &regcase.Trajectory{Mode: "superset", Calls: []regcase.ExpectedCall{{Tool: tool, Mode: "exact", Arguments: map[string]regcase.Field{"/id": {Match: "exact", Value: regcase.JSON("1")}}}}}
	}
	memory := func(k, v string) *regcase.Passed {
		return &regcase.Passed{Memory: []regcase.Memory{{Key: k, Value: regcase.JSON(v)}}}
	}
	for _, c := range []struct {
		name    string
		e       regcase.Expect
		verdict Verdict
		reason  string
	}{
		{"calls", regcase.Expect{Trajectory: calls("get_order")}, Pass, ""},
		{"other calls", regcase.Expect{Trajectory: calls("get_user")}, Fail, "get_user"},
		{"nodes", regcase.Expect{State: &regcase.Passed{Nodes: []string{"front", "orders"}}}, Pass, ""},
		{"nodes in another order", regcase.Expect{State: &regcase.Passed{Nodes: []string{"orders", "front"}}}, Fail, "did not pass through front"},
		{"memory", regcase.Expect{State: memory("size", `"XL"`)}, Pass, ""},
		{"other memory", regcase.Expect{State: memory("size", `"M"`)}, Fail, "another size"},
		{"no memory", regcase.Expect{State: memory("colour", `"red"`)}, Inconclusive, "colour"},
		{"reply", regcase.Expect{Response: &regcase.Response{Text: "Your order ORD-10231 was sent"}}, Pass, ""},
		{"another reply", regcase.Expect{Response: &regcase.Response{Text: "We mailed order ORD-10231."}}, Inconclusive, "embeddings endpoint"},
		{"reply of another order", regcase.Expect{Response: &regcase.Response{Text: "Your order ORD-10299 was sent."}}, Fail, "ord-10299"},
		{"a criterion", regcase.Expect{Criteria: []regcase.Criterion{{Text: "It is polite.", Judge: true}}}, Pass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect(t, o.Judge(&regcase.Case{Form: "never", Expect: c.e}, run), c.verdict, c.reason)
		})
	}
}
