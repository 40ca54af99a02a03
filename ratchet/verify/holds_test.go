package verify

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/regcase/casetest"
)

// TestHolds is what the order is for: where head is not looser than base, every run that passes head passes base. The runs are made near what the
// cases expect, so that both verdicts are frequent.
func TestHolds(t *testing.T) {
	o := oracle.New(slog.New(slog.DiscardHandler), rule.All())
	count := map[oracle.Verdict]int{}
	pairs, decisive := 0, 0
	for seed := range uint64(3 * seeds) {
		r := rand.New(rand.NewPCG(seed, 5))
		base := easier(r, casetest.Case(r))
		head := rising(t, r, base)
		if len(Compare(&base, &head, today)) == 0 {
			continue
		}
		pairs++
		for range 6 {
			text := near(r, pick(r, &base, &head))
			run, err := fixture.Parse("x/match.txtar", []byte("-- trajectory --\n"+text)).Trajectory()
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			h := o.Judge(&head, run)
			count[h.Verdict]++
			if h.Verdict != oracle.Pass {
				continue
			}
			decisive++
			if b := o.Judge(&base, run); b.Verdict != oracle.Pass {
				t.Fatalf("seed %d: passes head, and base says %s: %s\n%+v\n%s\nbase %s\nhead %s", seed, b.Verdict, b.Reason, Compare(&base, &head, today), text,
					canonical(base.Expect), canonical(head.Expect))
			}
		}
	}
	all := count[oracle.Pass] + count[oracle.Fail] + count[oracle.Error] + count[oracle.Inconclusive]
	t.Logf("%d pairs, %d runs: %v", pairs, all, count)
	for _, v := range []oracle.Verdict{oracle.Pass, oracle.Fail} {
		if count[v]*10 < all {
			t.Errorf("only %d of %d runs %s", count[v], all, v)
		}
	}
}

// easier takes from a case what hardly any generated run could meet.
func easier(r *rand.Rand, c regcase.Case) regcase.Case {
	c.State, c.Expect.Response = regcase.State{Name: regcase.Pending}, nil
	if r.IntN(3) > 0 {
		c.Expect.State = nil
	}
	if b := c.Expect.Budget; b != nil {
		b.CostUSD, b.DurationS = nil, nil
	}
	if len(c.Expect.Liveness.Calls) > 1 {
		c.Expect.Liveness.Calls = c.Expect.Liveness.Calls[:1]
	}
	return c
}

// near is a run that does about what a case expects, in the text form of the rules' testdata.
func near(r *rand.Rand, c *regcase.Case) string {
	var b strings.Builder
	b.WriteString("trace service=shop route=/chat\ntools all\n")
	for _, name := range casetest.Tools() {
		fmt.Fprintf(&b, "  %s {\"type\":\"object\"}\n", name)
	}
	b.WriteString("user where is my order?\n")
	n := 0
	call := func(tool, args string, result string) {
		fmt.Fprintf(&b, "model m%d agent=%s tools=all in=%d out=10 cost=0.001\ncall c%d %s %s\n  %s\n", n, pick(r, "triage", "orders"), 20+r.IntN(80), n, tool, args, result)
		n++
	}
	for _, tool := range c.Expect.Liveness.Calls {
		call(tool, `{"order_id":"ORD-1"}`, `ok {"status":"sent"}`)
	}
	if e := c.Expect.Trajectory; e != nil && r.IntN(8) > 0 {
		if r.IntN(3) > 0 {
			b.Reset()
			return near(r, &regcase.Case{Expect: regcase.Expect{Trajectory: e, Liveness: regcase.Liveness{Reply: c.Expect.Liveness.Reply}}, Form: "calls"})
		}
	}
	if e := c.Expect.Trajectory; e != nil {
		for _, w := range e.Calls {
			if r.IntN(12) > 0 {
				call(w.Tool, argumentsFor(r, w), `ok {"status":"sent"}`)
			}
		}
	}
	switch r.IntN(8) {
	case 0:
		call(pick(r, casetest.Tools()...), `{"query":"x"}`, pick(r, `ok {}`, `error {"error":"no"}`))
	case 1:
		for range 2 + r.IntN(6) {
			call("get_order", `{"order_id":"ORD-9"}`, `ok {"status":"open"}`)
		}
	case 2:
		call("invented_tool", `{}`, `error {"error":"unknown tool"}`)
	}
	if r.IntN(10) > 0 {
		fmt.Fprintf(&b, "model m%d agent=orders tools=all in=20 out=10 cost=0.001 text=\"done\"\nreply %s\n", n, pick(r, "It was sent.", "Your order ORD-1 ships on 2026-12-01."))
	}
	return b.String()
}

// argumentsFor are arguments that a call's matchers take, mostly.
func argumentsFor(r *rand.Rand, w regcase.ExpectedCall) string {
	if w.Mode == "ignore" && len(w.Arguments) == 0 && r.IntN(2) == 0 {
		return `{"any":1}`
	}
	var parts []string
	for _, p := range []string{"/order_id", "/query", "/limit", "/a~1b"} {
		f, ok := w.Arguments[p]
		if !ok || r.IntN(10) == 0 {
			continue
		}
		value := string(f.Value)
		switch f.Match {
		case "ignore":
			value = `"whatever"`
		case "pattern":
			value = `"ORD-1"`
		case "number":
			value = pick(r, value, "10.05")
		}
		if value == "" {
			value = "null"
		}
		parts = append(parts, fmt.Sprintf("%q:%s", strings.ReplaceAll(p[1:], "~1", "/"), value))
	}
	if f, ok := w.Arguments["/items/0/sku"]; ok && r.IntN(10) > 0 && len(f.Value) > 0 {
		parts = append(parts, fmt.Sprintf(`"items":[{"sku":%s}]`, f.Value))
	}
	if (w.Mode == "superset" || w.Mode == "ignore") && r.IntN(4) == 0 {
		parts = append(parts, `"more":true`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
