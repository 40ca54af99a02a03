// Package verify holds a set of cases to its one way: it only grows and tightens.
//
// The order. A head case is not looser than its base case if every trajectory that passes head passes base, and if it blocks wherever base blocks.
// That is decided field by field, without running anything. Each field has a partial order of its own, and the order on cases is their product: a
// case is not looser if no field is. Values that cannot be compared are unordered, which counts as looser: the ratchet never guesses. Title and
// provenance are free, as are the commits that live and green name, the words of reasons, and who an owner is, as long as there is one.
//
// The fields and what is stricter:
//
//	/id /fingerprint /form /context /input /tools /fixtures /trace   equal only (of a fingerprint, more aliases)
//	/state               retired < pending < enforced; retired, quarantined < enforced; a quarantine past its review counts as enforced, a later review
//	                     is looser, and nothing but an enforced case may be quarantined
//	/owner               somebody
//	/labels              equal first, more after it
//	/expect/never        more oracles; each with equal rule, policy and parameters, but for those parameters of which less is known to be more (params.go)
//	/expect/liveness     more is demanded
//	/expect/trajectory   any over none; exact over all modes, ordered over superset, unordered over superset and subset; fewer edits; more calls
//	                     (fewer of a subset); narrower matchers (trajectory.go)
//	/expect/state        more nodes in the same order, more memory
//	/expect/response     equal text, higher threshold
//	/expect/criteria     more, judged over not judged
//	/expect/budget       lower numbers, less tolerance
//	/runs                higher n, higher rate, hard over soft
//	/live /green         more of what was measured
//	/weak                false, where more is asserted than what must not happen
//
// Around it: set.go compares two sets, config.go two versions of pawl.yaml, waiver.go lets through what is stated with a reason, bulk.go refuses many
// at once, red.go re-judges the recorded failures with this binary. Only package gitfs does I/O.
package verify

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Relation says how a head value stands to its base value.
type Relation string

// The relations. Unordered values are neither equal nor stricter nor looser, and count as looser.
const (
	Equal     Relation = "equal"
	Stricter  Relation = "stricter"
	Looser    Relation = "looser"
	Unordered Relation = "unordered"
)

// Holds says that the relation loosens nothing.
func (r Relation) Holds() bool { return r == Equal || r == Stricter }

// Difference is one field in which two versions differ. Field is a JSON pointer; Base and Head are the values in canonical JSON, nil for absent.
type Difference struct {
	Field    string       `json:"field"`
	Base     regcase.JSON `json:"base"`
	Head     regcase.JSON `json:"head"`
	Relation Relation     `json:"relation"`
}

// Whole is the relation of two cases, or configurations, that differ so.
func Whole(ds []Difference) Relation {
	whole := Equal
	for _, d := range ds {
		switch {
		case d.Relation == Equal || d.Relation == whole:
		case whole == Equal:
			whole = d.Relation
		default:
			return Unordered
		}
	}
	return whole
}

// Holds says that no difference loosens anything.
func Holds(ds []Difference) bool {
	return !slices.ContainsFunc(ds, func(d Difference) bool { return !d.Relation.Holds() })
}

// Compare lists the fields in which two versions of one case differ, free fields aside. now says which quarantines have passed their review.
func Compare(base, head *regcase.Case, now time.Time) []Difference {
	d := &differ{}
	same(d, "/id", base.ID, head.ID)
	d.fingerprint(base, head)
	same(d, "/form", base.Form, head.Form)
	d.put("/state", base.State, head.State, stateRelation(base.State, head.State, now))
	d.put("/owner", base.Owner, head.Owner, presence(base.Owner != nil, head.Owner != nil))
	d.labels(base.Labels, head.Labels)
	same(d, "/context", base.Context, head.Context)
	d.ground(base, head)
	d.expect(&base.Expect, &head.Expect)
	d.runs(base.Runs, head.Runs)
	d.measured(base, head, now)
	d.weak(base, head)
	return d.out
}

// differ collects differences.
type differ struct{ out []Difference }

// put notes a difference, unless the values are equal.
func (d *differ) put(field string, base, head any, r Relation) {
	if r != Equal {
		d.out = append(d.out, Difference{Field: field, Base: canonical(base), Head: canonical(head), Relation: r})
	}
}

// same holds a field to its value: another one cannot be compared.
func same(d *differ, field string, base, head any) {
	r := Equal
	if string(canonical(base)) != string(canonical(head)) {
		r = Unordered
	}
	d.put(field, base, head, r)
}

// list holds a list to its values, element by element where the lengths agree, so that a waiver can name one of them.
func list[T any](d *differ, field string, base, head []T) {
	if len(base) != len(head) {
		d.put(field, base, head, Unordered)
		return
	}
	for i := range base {
		same(d, at(field, i), base[i], head[i])
	}
}

func canonical(v any) regcase.JSON {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return regcase.JSON(`"` + err.Error() + `"`) // cannot happen: cases hold finite numbers and valid texts
	}
	if string(b) == "null" {
		return nil
	}
	return regcase.NewJSON(b)
}

// presence orders having something over not having it.
func presence(base, head bool) Relation {
	switch {
	case base == head:
		return Equal
	case head:
		return Stricter
	}
	return Looser
}

// higher orders larger numbers over smaller ones; what is not a number is unordered.
func higher[T cmp.Ordered](base, head T) Relation {
	switch {
	case base == head:
		return Equal
	case head > base:
		return Stricter
	case head < base:
		return Looser
	}
	return Unordered
}

func lower[T cmp.Ordered](base, head T) Relation { return higher(head, base) }

func (d *differ) fingerprint(base, head *regcase.Case) {
	b, h := base.Fingerprint, head.Fingerprint
	d.put("/fingerprint/aliases", b.Aliases, h.Aliases, among(b.Aliases, h.Aliases))
	b.Aliases, h.Aliases = nil, nil
	same(d, "/fingerprint", b, h)
}

// among orders sets: more is stricter.
func among[T cmp.Ordered](base, head []T) Relation {
	missing := func(in, of []T) bool {
		return slices.ContainsFunc(of, func(v T) bool { return !slices.Contains(in, v) })
	}
	return product(missing(head, base), missing(base, head))
}

// product combines whether head lacks something of base and whether it has something beyond.
func product(lacks, adds bool) Relation {
	switch {
	case lacks && adds:
		return Unordered
	case lacks:
		return Looser
	case adds:
		return Stricter
	}
	return Equal
}

func (d *differ) labels(base, head []string) {
	if len(base) == 0 || len(head) == 0 || base[0] != head[0] {
		same(d, "/labels", base, head)
		return
	}
	d.put("/labels", base, head, among(base, head))
}

// ground is what a run stands on: any change of it makes another test.
func (d *differ) ground(base, head *regcase.Case) {
	same(d, "/input/mode", base.Input.Mode, head.Input.Mode)
	list(d, "/input/turns", base.Input.Turns, head.Input.Turns)
	same(d, "/input/variables", base.Input.Variables, head.Input.Variables)
	same(d, "/input/clock", base.Input.Clock, head.Input.Clock)
	same(d, "/input/goal", base.Input.Goal, head.Input.Goal)
	list(d, "/input/facts", base.Input.Facts, head.Input.Facts)
	list(d, "/tools", base.Tools, head.Tools)
	list(d, "/fixtures", base.Fixtures, head.Fixtures)
	same(d, "/trace/file", base.Trace.File, head.Trace.File)
	same(d, "/trace/sha256", base.Trace.SHA256, head.Trace.SHA256)
}

func (d *differ) runs(base, head regcase.Runs) {
	d.put("/runs/n", base.N, head.N, higher(base.N, head.N))
	d.put("/runs/rate", base.Rate, head.Rate, higher(base.Rate, head.Rate))
	r := presence(base.Mode == "hard", head.Mode == "hard")
	if r == Equal && base.Mode != head.Mode {
		r = Unordered
	}
	d.put("/runs/mode", base.Mode, head.Mode, r)
}

// measured compares what was seen of the live agent. A better green is more runs that passed and no lower share of them. That of a pending case is its
// best so far, and that of an enforced one what enforced it: where one becomes the other, they are not compared.
func (d *differ) measured(base, head *regcase.Case, now time.Time) {
	live := presence(base.Live != nil, head.Live != nil)
	if b, h := base.Live, head.Live; b != nil && h != nil {
		live = both(higher(b.Red, h.Red), higher(b.Of, h.Of))
	}
	d.put("/live", base.Live, head.Live, live)
	green := presence(base.Green != nil, head.Green != nil)
	if b, h := base.Green, head.Green; b != nil && h != nil {
		green = both(higher(b.Passed, h.Passed), higher(b.Passed*h.Of, h.Passed*b.Of))
		if rank(base.State, now) < enforced && rank(head.State, now) == enforced {
			green = Equal
		}
	}
	d.put("/green", base.Green, head.Green, green)
}

// both is the relation of two values that belong together.
func both(a, b Relation) Relation {
	switch {
	case a == b || b == Equal:
		return a
	case a == Equal:
		return b
	}
	return Unordered
}

// weak may be taken off only where the case asserts something that a refusal of everything would break.
func (d *differ) weak(base, head *regcase.Case) {
	e := head.Expect
	asserts := e.Trajectory != nil || e.State != nil || e.Response != nil || len(e.Criteria) > 0 || len(e.Liveness.Calls) > 0
	r := presence(base.Weak, head.Weak) // weak is the looser one
	switch {
	case r == Stricter, r == Looser && !asserts:
		r = Looser
	case r == Looser:
		r = Stricter
	}
	d.put("/weak", base.Weak, head.Weak, r)
}

const day = "2006-01-02"

// stateRelation orders two states.
func stateRelation(base, head regcase.State, now time.Time) Relation {
	b, h := rank(base, now), rank(head, now)
	switch {
	case b == quarantined && h == quarantined:
		return higher(head.Review, base.Review) // yyyy-mm-dd: a later day leaves it unguarded for longer
	case h == quarantined && b < quarantined:
		return Unordered // only an enforced case may be quarantined
	}
	return higher(b, h)
}

const (
	retired = iota
	pending
	quarantined
	enforced
)

func rank(s regcase.State, now time.Time) int {
	switch s.Name {
	case regcase.Pending:
		return pending
	case regcase.Quarantined:
		if Overdue(s, now) {
			return enforced
		}
		return quarantined
	case regcase.Enforced:
		return enforced
	}
	return retired
}

// Overdue says that a quarantine has passed the day of its review, or names none: it blocks again.
func Overdue(s regcase.State, now time.Time) bool {
	review, err := time.Parse(day, s.Review)
	return s.Name == regcase.Quarantined && (err != nil || !now.Before(review.AddDate(0, 0, 1)))
}
