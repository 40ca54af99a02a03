package regcase

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func kind(j JSON) jsontext.Kind { return jsontext.Value(j).Kind() }

func (c *Case) checkExpect() error {
	e := &c.Expect
	return first(e.checkNever, e.checkLiveness, e.checkTrajectory, e.checkPassed, e.checkReply, e.checkBudget)
}

func (e *Expect) checkNever() error {
	for i, n := range e.Never {
		at := fmt.Sprintf("/expect/never/%d", i)
		switch {
		case !validLabel.MatchString(n.Label):
			return fmt.Errorf("%s/label: %q is not a label", at, n.Label)
		case !validRule.MatchString(n.Rule):
			return fmt.Errorf("%s/rule: %q is not name@version", at, n.Rule)
		case n.Severity != "" && n.Severity != "warning" && n.Severity != "blocking":
			return oneOf(at+"/severity", n.Severity, "warning", "blocking")
		case n.Params != nil && kind(n.Params) != '{':
			return fmt.Errorf("%s/params: they are not a mapping", at)
		case n.Policy != nil && kind(n.Policy) != '{' && kind(n.Policy) != '[':
			return fmt.Errorf("%s/policy: it holds no policy lines", at)
		}
	}
	return nil
}

func (e *Expect) checkLiveness() error {
	if e.Liveness.Healthy < 0 {
		return fmt.Errorf("/expect/liveness/healthy: %d is less than 0", e.Liveness.Healthy)
	}
	return each("/expect/liveness/calls", e.Liveness.Calls, func(at, s string) error { return line(at, s, 1) })
}

var (
	sequenceModes = []string{"exact", "ordered", "unordered", "superset", "subset"}
	argumentModes = []string{"exact", "ignore", "subset", "superset"}
	fieldMatches  = []string{"exact", "ignore", "number", "pattern", "semantic"}
)

func (e *Expect) checkTrajectory() error {
	t := e.Trajectory
	if t == nil {
		return nil
	}
	switch {
	case !slices.Contains(sequenceModes, t.Mode):
		return oneOf("/expect/trajectory/mode", t.Mode, sequenceModes...)
	case t.Distance < 0 || t.Distance > maxList:
		return fmt.Errorf("/expect/trajectory/distance: %d is not between 0 and %d", t.Distance, maxList)
	case len(t.Calls) > maxList:
		return fmt.Errorf("/expect/trajectory/calls: %d entries, at most %d", len(t.Calls), maxList)
	}
	for i, c := range t.Calls {
		if err := c.check(fmt.Sprintf("/expect/trajectory/calls/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *ExpectedCall) check(at string) error {
	if c.Tool == "" {
		return fmt.Errorf("%s/tool: the tool has no name", at)
	}
	if !slices.Contains(argumentModes, c.Mode) {
		return oneOf(at+"/mode", c.Mode, argumentModes...)
	}
	for _, p := range slices.Sorted(maps.Keys(c.Arguments)) {
		if !IsPointer(p) {
			return fmt.Errorf("%s/arguments: %q is not a JSON pointer: it begins with / and holds ~ only as ~0 and ~1", at, p)
		}
		if err := c.Arguments[p].check(at + "/arguments/" + EscapePointer(p)); err != nil {
			return err
		}
	}
	return nil
}

func (f Field) check(at string) error {
	switch f.Match {
	case "exact":
	case "ignore":
		if f.Value != nil {
			return fmt.Errorf("%s/value: what is ignored has no value", at)
		}
	case "number":
		if x, ok := number(f.Value); !ok || math.IsInf(x, 0) {
			return fmt.Errorf("%s/value: %s is not a number", at, f.Value)
		}
	case "pattern", "semantic":
		text, ok := text(f.Value)
		if !ok {
			return fmt.Errorf("%s/value: it is not a text", at)
		}
		if _, err := regexp.Compile(text); err != nil && f.Match == "pattern" {
			return fmt.Errorf("%s/value: %w", at, err)
		}
	default:
		return oneOf(at+"/match", f.Match, fieldMatches...)
	}
	return nil
}

func number(j JSON) (float64, bool) {
	var x float64
	return x, kind(j) == '0' && json.Unmarshal(j, &x) == nil
}

func text(j JSON) (string, bool) {
	var s string
	return s, kind(j) == '"' && json.Unmarshal(j, &s) == nil
}

// IsPointer says whether p is a JSON pointer (RFC 6901).
func IsPointer(p string) bool {
	return p == "" || p[0] == '/' && !strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(p), "~")
}

// EscapePointer is a name as one segment of a JSON pointer.
func EscapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (e *Expect) checkPassed() error {
	if e.State == nil {
		return nil
	}
	for i, m := range e.State.Memory {
		if m.Key == "" {
			return fmt.Errorf("/expect/state/memory/%d/key: it is empty", i)
		}
	}
	return each("/expect/state/nodes", e.State.Nodes, func(at, s string) error { return line(at, s, 1) })
}

func (e *Expect) checkReply() error {
	if r := e.Response; r != nil {
		if blank(r.Text) {
			return fmt.Errorf("/expect/response/text: it is empty")
		}
		if !within(r.Threshold, 0, 1) || r.Threshold == 0 {
			return fmt.Errorf("/expect/response/threshold: %v is not above 0 and at most 1", r.Threshold)
		}
	}
	for i, c := range e.Criteria {
		if blank(c.Text) {
			return fmt.Errorf("/expect/criteria/%d/text: it is empty", i)
		}
	}
	return nil
}

func (e *Expect) checkBudget() error {
	b := e.Budget
	if b == nil {
		return nil
	}
	if b.TotalTokens == nil && b.ToolCalls == nil && b.CostUSD == nil && b.DurationS == nil {
		return fmt.Errorf("/expect/budget: no number is limited")
	}
	for name, n := range map[string]*int64{"total_tokens": b.TotalTokens, "tool_calls": b.ToolCalls} {
		if n != nil && *n < 0 {
			return fmt.Errorf("/expect/budget/%s: %d is less than 0", name, *n)
		}
	}
	for name, x := range map[string]*float64{"cost_usd": b.CostUSD, "duration_s": b.DurationS} {
		if x != nil && !within(*x, 0, math.MaxFloat64) {
			return fmt.Errorf("/expect/budget/%s: %v is not a number from 0 up", name, *x)
		}
	}
	if !within(b.Tolerance, 0, 10) {
		return fmt.Errorf("/expect/budget/tolerance: %v is not between 0 and 10", b.Tolerance)
	}
	return line("/expect/budget/baseline", b.Baseline, 0)
}
