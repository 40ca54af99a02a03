package verify

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// lessIsStricter lists the frozen parameters of pawl's rules of which a smaller number can only make the rule speak more often. Of any other
// parameter nobody has shown which way it works, so that another value is unordered. Each entry has its reason, and the property test of this package
// judges runs by both values. The number is the least that makes sense: below it the rule speaks of healthy runs, and a case that nothing passes
// blocks nothing.
var lessIsStricter = map[string]map[string]float64{
	"loop": {
		"warn":  2, // repetitions with equal results from which it is a warning: a run with enough for many has enough for few
		"match": 2, // the same, from which it is blocking
		"poll":  2, // the same, of changing results
	},
	"context_overflow": {
		"warn":  0.1, // share of the window from which it is a warning
		"match": 0.1, // share of the window from which it is blocking
	},
}

// paramsRelation orders the frozen parameters of one rule.
func paramsRelation(rule string, base, head regcase.JSON) Relation {
	if string(base) == string(head) {
		return Equal
	}
	b, okB := members(base)
	h, okH := members(head)
	if !okB || !okH || len(b) != len(h) {
		return Unordered
	}
	whole := Equal
	for name, was := range b {
		is, ok := h[name]
		if !ok {
			return Unordered
		}
		r := paramRelation(rule, name, was, is)
		if r == Equal {
			continue
		}
		if whole != Equal && whole != r {
			return Unordered
		}
		whole = r
	}
	return whole
}

func paramRelation(rule, name string, base, head jsontext.Value) Relation {
	if string(base) == string(head) {
		return Equal
	}
	least, ordered := lessIsStricter[rule][name]
	if base.Kind() != '0' || head.Kind() != '0' || !ordered {
		return Unordered
	}
	var b, h float64
	if json.Unmarshal(base, &b) != nil || json.Unmarshal(head, &h) != nil {
		return Unordered
	}
	if b == h || h < b && h < least {
		return Unordered // the same number, spelled otherwise: nothing asks for that
	}
	return lower(b, h)
}

// members are the members of a JSON object.
func members(v regcase.JSON) (map[string]jsontext.Value, bool) {
	if jsontext.Value(v).Kind() != '{' {
		return nil, false
	}
	var m map[string]jsontext.Value
	return m, json.Unmarshal(v, &m) == nil
}
