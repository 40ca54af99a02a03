package verify

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// expect compares what two versions of a case assert. All of it must hold for a run to pass, so asserting more is stricter.
func (d *differ) expect(base, head *regcase.Expect) {
	d.nevers(base.Never, head.Never)
	d.liveness(base.Liveness, head.Liveness)
	d.trajectory(base.Trajectory, head.Trajectory)
	d.passed(base.State, head.State)
	d.response(base.Response, head.Response)
	d.criteria(base.Criteria, head.Criteria)
	d.budget(base.Budget, head.Budget)
}

// at is the pointer of one element.
func at(field string, i int) string { return field + "/" + strconv.Itoa(i) }

// under is the pointer of one member.
func under(field, key string) string {
	return field + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// nevers wants every oracle of base in head. A base oracle that is not there as it stands is compared with the one of its rule that is left over.
func (d *differ) nevers(base, head []regcase.Never) {
	left := slices.Clone(head)
	taken := make([]*regcase.Never, len(base))
	take := func(i int, fits func(h regcase.Never) bool) {
		if j := slices.IndexFunc(left, fits); taken[i] == nil && j >= 0 {
			taken[i] = new(left[j])
			left = slices.Delete(left, j, j+1)
		}
	}
	for _, fits := range []func(b, h regcase.Never) bool{equalNever, tighterNever, sameRule} {
		for i, b := range base {
			take(i, func(h regcase.Never) bool { return fits(b, h) })
		}
	}
	for i, b := range base {
		d.never(at("/expect/never", i), b, taken[i])
	}
	if len(left) > 0 {
		d.put("/expect/never", base, head, added(base, left))
	}
}

func equalNever(b, h regcase.Never) bool { return string(canonical(b)) == string(canonical(h)) }

func tighterNever(b, h regcase.Never) bool {
	d := &differ{}
	d.never("", b, &h)
	return Holds(d.out)
}

func sameRule(b, h regcase.Never) bool {
	return b.Label == h.Label && ruleName(b.Rule) == ruleName(h.Rule)
}

func ruleName(rule string) string {
	name, _, _ := strings.Cut(rule, "@")
	return name
}

// conduct are the labels that a case of form fault judges by itself, by pawl's own rule, unless the case names them.
var conduct = []string{string(classify.FabricatedSuccess), string(classify.UnsafeRetry), string(classify.MissingReadback)}

// added is what further oracles make of a case: one of the same label could stand in for the rule that a fault case is judged by anyway.
func added(base, more []regcase.Never) Relation {
	for _, n := range more {
		if slices.Contains(conduct, n.Label) && ruleName(n.Rule) != n.Label {
			return Unordered
		}
	}
	return Stricter
}

func (d *differ) never(field string, base regcase.Never, head *regcase.Never) {
	if head == nil {
		d.put(field, base, nil, Looser)
		return
	}
	same(d, field+"/label", base.Label, head.Label)
	same(d, field+"/rule", base.Rule, head.Rule)
	same(d, field+"/severity", base.Severity, head.Severity)
	d.put(field+"/params", base.Params, head.Params, paramsRelation(ruleName(base.Rule), base.Params, head.Params))
	same(d, field+"/policy", base.Policy, head.Policy)
}

// liveness is the least that a run must do. Fewer healthy runs behind the calls make them easier to argue away.
func (d *differ) liveness(base, head regcase.Liveness) {
	d.put("/expect/liveness/reply", base.Reply, head.Reply, presence(base.Reply, head.Reply))
	d.put("/expect/liveness/no_error", base.NoError, head.NoError, presence(base.NoError, head.NoError))
	d.put("/expect/liveness/calls", base.Calls, head.Calls, among(base.Calls, head.Calls))
	d.put("/expect/liveness/healthy", base.Healthy, head.Healthy, higher(base.Healthy, head.Healthy))
}

func (d *differ) passed(base, head *regcase.Passed) {
	if base == nil || head == nil {
		d.put("/expect/state", base, head, presence(base != nil, head != nil))
		return
	}
	is := func(a, b string) bool { return a == b }
	d.put("/expect/state/nodes", base.Nodes, head.Nodes, product(!within(base.Nodes, head.Nodes, is), !within(head.Nodes, base.Nodes, is)))
	texts := func(ms []regcase.Memory) (out []string) {
		for _, m := range ms {
			out = append(out, string(canonical(m)))
		}
		return out
	}
	d.put("/expect/state/memory", base.Memory, head.Memory, among(texts(base.Memory), texts(head.Memory)))
}

// within says that the elements of few stand in many in the same order, others in between allowed.
func within[T any](few, many []T, fits func(few, many T) bool) bool {
	for _, f := range few {
		i := slices.IndexFunc(many, func(m T) bool { return fits(f, m) })
		if i < 0 {
			return false
		}
		many = many[i+1:]
	}
	return true
}

func (d *differ) response(base, head *regcase.Response) {
	if base == nil || head == nil {
		d.put("/expect/response", base, head, presence(base != nil, head != nil))
		return
	}
	same(d, "/expect/response/text", base.Text, head.Text)
	d.put("/expect/response/threshold", base.Threshold, head.Threshold, higher(base.Threshold, head.Threshold))
}

// criteria are a set by their text. One that is judged is stricter than one that is for people.
func (d *differ) criteria(base, head []regcase.Criterion) {
	judged := func(cs []regcase.Criterion) map[string]bool {
		m := map[string]bool{}
		for _, c := range cs {
			m[c.Text] = m[c.Text] || c.Judge
		}
		return m
	}
	b, h := judged(base), judged(head)
	lacks := func(in, of map[string]bool) bool {
		for text, must := range of {
			if judged, there := in[text]; !there || must && !judged {
				return true
			}
		}
		return false
	}
	d.put("/expect/criteria", base, head, product(lacks(h, b), lacks(b, h)))
}

// budget compares ceilings; no number is no ceiling. What snapshot the numbers came from is free, as long as one is named.
func (d *differ) budget(base, head *regcase.Budget) {
	if base == nil || head == nil {
		d.put("/expect/budget", base, head, presence(base != nil, head != nil))
		return
	}
	d.put("/expect/budget/total_tokens", base.TotalTokens, head.TotalTokens, ceiling(base.TotalTokens, head.TotalTokens))
	d.put("/expect/budget/tool_calls", base.ToolCalls, head.ToolCalls, ceiling(base.ToolCalls, head.ToolCalls))
	d.put("/expect/budget/cost_usd", base.CostUSD, head.CostUSD, ceiling(base.CostUSD, head.CostUSD))
	d.put("/expect/budget/duration_s", base.DurationS, head.DurationS, ceiling(base.DurationS, head.DurationS))
	d.put("/expect/budget/tolerance", base.Tolerance, head.Tolerance, lower(base.Tolerance, head.Tolerance))
	d.put("/expect/budget/baseline", base.Baseline, head.Baseline, presence(base.Baseline != "", head.Baseline != ""))
}

func ceiling[T int64 | float64](base, head *T) Relation {
	if base == nil || head == nil {
		return presence(base != nil, head != nil)
	}
	return lower(*base, *head)
}
