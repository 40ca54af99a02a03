package verify

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// implied lists, for every mode of a sequence, the other modes that a run which meets it meets too, with the same expected calls and no edits.
//
//	exact      the calls in their order and no other
//	ordered    the calls in their order, others in between allowed: all that superset asks for
//	unordered  the calls in any order and no other: neither more than superset nor less than subset
var implied = map[string][]string{
	"exact":     {"ordered", "unordered", "superset", "subset"},
	"ordered":   {"superset"},
	"unordered": {"superset", "subset"},
}

// impliedFields is the same for the arguments of a call that are not named one by one.
var impliedFields = map[string][]string{
	"exact":    {"superset", "subset", "ignore"},
	"superset": {"ignore"}, // which, like superset, wants the named ones to be there; subset does not
}

func modeRelation(implied map[string][]string, base, head string) Relation {
	switch {
	case base == head:
		return Equal
	case slices.Contains(implied[head], base):
		return Stricter
	case slices.Contains(implied[base], head):
		return Looser
	}
	return Unordered
}

// trajectory compares two expected sequences of calls.
func (d *differ) trajectory(base, head *regcase.Trajectory) {
	if base == nil || head == nil {
		d.put("/expect/trajectory", base, head, presence(base != nil, head != nil))
		return
	}
	mode := modeRelation(implied, base.Mode, head.Mode)
	if mode == Stricter && head.Distance > 0 || mode == Looser && base.Distance > 0 {
		mode = Unordered // edits of one mode are not those of another
	}
	d.put("/expect/trajectory/mode", base.Mode, head.Mode, mode)
	d.put("/expect/trajectory/distance", base.Distance, head.Distance, lower(base.Distance, head.Distance))
	if len(base.Calls) == len(head.Calls) {
		for i := range base.Calls {
			d.pair(base, head, i)
		}
		return
	}
	d.put("/expect/trajectory/calls", base.Calls, head.Calls, callsRelation(base, head))
}

// pair compares two calls at one place. Where edits of an order are allowed, which alignment is the best hangs on all matchers at once, and
// narrower ones cannot be compared.
func (d *differ) pair(base, head *regcase.Trajectory, i int) {
	one := &differ{}
	one.call(at("/expect/trajectory/calls", i), base.Calls[i], head.Calls[i])
	for _, got := range one.out {
		if head.Distance > 0 && (head.Mode == "exact" || head.Mode == "ordered") {
			got.Relation = Unordered
		}
		d.out = append(d.out, got)
	}
}

// callsRelation compares two lists of different length. Of a run that may make other calls too, more calls ask for more; of one that may make no
// others, fewer allow less. Edits would blur either.
func callsRelation(base, head *regcase.Trajectory) Relation {
	switch {
	case tighterCalls(base, head):
		return Stricter
	case tighterCalls(head, base):
		return Looser
	}
	return Unordered
}

func tighterCalls(base, head *regcase.Trajectory) bool {
	if head.Distance > 0 || !modeRelation(implied, base.Mode, head.Mode).Holds() {
		return false
	}
	switch base.Mode {
	case "superset", "ordered":
		return within(base.Calls, head.Calls, tighterCall)
	case "subset":
		return within(head.Calls, base.Calls, func(h, b regcase.ExpectedCall) bool { return tighterCall(b, h) })
	}
	return false
}

func tighterCall(base, head regcase.ExpectedCall) bool {
	d := &differ{}
	d.call("", base, head)
	return Holds(d.out)
}

func (d *differ) call(field string, base, head regcase.ExpectedCall) {
	same(d, field+"/tool", base.Tool, head.Tool)
	d.put(field+"/mode", base.Mode, head.Mode, modeRelation(impliedFields, base.Mode, head.Mode))
	for _, p := range slices.Sorted(maps.Keys(base.Arguments)) {
		b := base.Arguments[p]
		h, ok := head.Arguments[p]
		if !ok {
			d.put(under(field+"/arguments", p), b, nil, fieldGone(head))
			continue
		}
		d.put(under(field+"/arguments", p), b, h, fieldRelation(b, h))
	}
	for _, p := range slices.Sorted(maps.Keys(head.Arguments)) {
		if _, ok := base.Arguments[p]; !ok {
			d.put(under(field+"/arguments", p), nil, head.Arguments[p], fieldGone(base).turned())
		}
	}
}

// fieldGone is what it makes of a call that one of its named arguments is named no more: where further ones are allowed it asks for less.
func fieldGone(without regcase.ExpectedCall) Relation {
	if without.Mode == "superset" || without.Mode == "ignore" {
		return Looser
	}
	return Unordered
}

func (r Relation) turned() Relation {
	switch r {
	case Looser:
		return Stricter
	case Stricter:
		return Looser
	}
	return r
}

func fieldRelation(base, head regcase.Field) Relation {
	switch {
	case base.Match == head.Match && string(base.Value) == string(head.Value):
		return Equal
	case narrower(base, head):
		return Stricter
	case narrower(head, base):
		return Looser
	}
	return Unordered
}

// narrower says that what meets head meets base: whatever is there is ignored, and a number equals itself within its hundredth. An exact zero is
// met by nothing at all, too.
func narrower(base, head regcase.Field) bool {
	return base.Match == "ignore" || base.Match == "number" && head.Match == "exact" && sameNumber(base.Value, head.Value)
}

func sameNumber(a, b regcase.JSON) bool {
	var x, y float64
	return jsontext.Value(a).Kind() == '0' && jsontext.Value(b).Kind() == '0' && json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y && x != 0
}
