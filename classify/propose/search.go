package propose

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify/custom"
)

// statement is one thing that may be said of a run.
type statement struct {
	when     string // CEL, bool
	evidence string // CEL, list of what shows it; "" where nothing does by itself
	says     string // in words, as the end of a sentence that begins with "the run"
	family   string // what it is about: alternatives are of different ones
	cost     int    // how much it says: the less, the sooner it is believed
	holds    func(*view) bool
}

// set is a set of runs.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) put(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s set) and(o set) set {
	out := make(set, len(s))
	for i := range s {
		out[i] = s[i] & o[i]
	}
	return out
}

// measured is a statement with the runs that it holds for.
type measured struct {
	statement
	pos, neg, far set
}

// join is up to three statements that must all hold.
type join struct {
	parts         []*measured
	pos, neg, far set
	loss          float64
}

const (
	perCost   = 0.01 // what a unit of cost weighs against a wrong answer
	maxParts  = 3
	maxSingle = 300 // statements that are joined
	maxJoin   = 60  // joins that are joined further
	maxTried  = 40  // that the real rules are asked about
)

// lossOf is how wrong a rule is: a false alarm weighs twice a miss, and what went wrong in another way half of one.
func (s *search) lossOf(missed, collisions, others int) float64 {
	share := func(n, of int) float64 { return float64(n) / float64(max(1, of)) }
	return share(missed, len(s.pos)) + 2*share(collisions, len(s.neg)) + share(others, len(s.far))/2
}

type search struct {
	pos, neg, far []*view
	all           []*measured
}

// measure finds out which runs each statement holds for, and drops those that most of the labelled ones do not have.
func (s *search) measure(all []statement) {
	for _, st := range all {
		m := &measured{statement: st, pos: having(s.pos, st)}
		if 2*m.pos.count() >= len(s.pos) {
			m.neg, m.far = having(s.neg, st), having(s.far, st)
			s.all = append(s.all, m)
		}
	}
}

// having are the runs that a statement holds for.
func having(runs []*view, st statement) set {
	out := newSet(len(runs))
	for i, v := range runs {
		if st.holds(v) {
			out.put(i)
		}
	}
	return out
}

func (s *search) join(parts []*measured) join {
	j := join{parts: parts, pos: parts[0].pos, neg: parts[0].neg, far: parts[0].far}
	for _, p := range parts[1:] {
		j.pos, j.neg, j.far = j.pos.and(p.pos), j.neg.and(p.neg), j.far.and(p.far)
	}
	j.loss = s.lossOf(len(s.pos)-j.pos.count(), j.neg.count(), j.far.count()) + perCost*float64(j.cost())
	return j
}

// best are the joins with the least loss: single statements, then what another one mends by ruling healthy runs out.
func (s *search) best() []join {
	var all, last []join
	for _, m := range s.all {
		last = append(last, s.join([]*measured{m}))
	}
	sortJoins(last)
	last = last[:min(len(last), maxSingle)]
	singles := slices.Clone(last)
	all = append(all, last...)
	for range maxParts - 1 {
		var next []join
		for _, j := range last[:min(len(last), maxJoin)] {
			next = append(next, s.mended(j, singles)...)
		}
		sortJoins(next)
		last = distinct(next)
		all = append(all, last[:min(len(last), maxTried)]...)
	}
	sortJoins(all)
	return all[:min(len(all), maxTried)]
}

// mended are the joins that a further statement makes of one and that are less wrong for it.
func (s *search) mended(j join, singles []join) (out []join) {
	if j.neg.count()+j.far.count() == 0 {
		return nil
	}
	for _, other := range singles {
		m := other.parts[0]
		if slices.ContainsFunc(j.parts, func(p *measured) bool { return p.family == m.family }) {
			continue
		}
		parts := append(slices.Clone(j.parts), m)
		slices.SortFunc(parts, func(a, b *measured) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.when, b.when)) })
		if k := s.join(parts); k.loss < j.loss {
			out = append(out, k)
		}
	}
	return out
}

func sortJoins(all []join) {
	slices.SortFunc(all, func(a, b join) int {
		return cmp.Or(cmp.Compare(a.loss, b.loss), cmp.Compare(a.cost(), b.cost()), cmp.Compare(a.key(), b.key()))
	})
}

func distinct(sorted []join) []join {
	return slices.CompactFunc(sorted, func(a, b join) bool { return a.key() == b.key() })
}

func (j join) cost() (n int) {
	for _, p := range j.parts {
		n += p.cost
	}
	return n + 2*(len(j.parts)-1)
}

// key tells joins apart.
func (j join) key() string {
	var out []string
	for _, p := range j.parts {
		out = append(out, p.when)
	}
	return strings.Join(out, " && ")
}

// like says whether both say nearly the same: they share what they are about.
func (j join) like(o join) bool {
	return slices.ContainsFunc(j.parts, func(p *measured) bool {
		return slices.ContainsFunc(o.parts, func(q *measured) bool { return p.family == q.family })
	})
}

// words says it in words.
func (j join) words() string {
	var out []string
	for _, p := range j.parts {
		out = append(out, p.says)
	}
	return strings.Join(out, ", and ")
}

// write makes the rule.
func (j join) write(d custom.Definition, pos []*view) custom.Definition {
	var terms []string
	for _, p := range j.parts {
		term := p.when
		if len(j.parts) > 1 && strings.Contains(term, " && ") {
			term = "(" + term + ")"
		}
		terms = append(terms, term)
		if d.Evidence == "" {
			d.Evidence = p.evidence
		}
	}
	d.When = strings.Join(terms, "\n&& ")
	if d.Evidence == "" {
		d.Evidence = "t.steps"
		if !slices.ContainsFunc(pos, func(v *view) bool { return len(v.t.ModelCalls) == 0 }) {
			d.Evidence = "t.model_calls"
		}
	}
	says := j.words()
	d.Why = "The run " + says + "; no healthy run of those looked at did"
	if j.neg.count() > 0 {
		d.Why = "The run " + says + "; few healthy runs of those looked at did"
	}
	return d
}
