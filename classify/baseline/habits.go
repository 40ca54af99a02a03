package baseline

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/classify/order"
)

// subject is what a habit is of.
type subject struct {
	Kind order.Kind
	Of   string
}

// habit is what is known of a subject: how many runs showed it, and the laws that held in all of them or in all but one. What it holds depends on the
// multiset of runs alone: a law that is not kept did not hold in two runs or more, or, of a single run, in that one.
type habit struct {
	runs int
	laws map[order.Law]law
}

// law counts the runs in which it did not hold, 0 or 1, and keeps the smallest hashes of the values that it held with.
type law struct {
	misses int
	values []uint16 // sorted
}

const (
	maxMisses   = 1
	enoughKinds = 4  // different values that a law about equal values must have held with
	maxHabits   = 96 // subjects of one kind under one key
)

// habitOf is the habit of one run.
func habitOf(h order.Habit) habit {
	out := habit{runs: 1, laws: map[order.Law]law{}}
	for _, l := range h.Laws {
		v := law{}
		if l.Law.Arg != "" {
			v.values = []uint16{l.Value}
		}
		out.laws[l.Law] = v
	}
	return out
}

// and joins what two sets of runs show.
func (h habit) and(o habit) habit {
	out := habit{runs: h.runs + o.runs, laws: map[order.Law]law{}}
	for _, from := range []map[order.Law]law{h.laws, o.laws} {
		for l := range from {
			a, b := h.law(l), o.law(l)
			if misses := a.misses + b.misses; misses <= maxMisses {
				out.laws[l] = law{misses, fewest(a.values, b.values)}
			}
		}
	}
	return out
}

// law returns what is known of a law: one that is not kept did not hold in any run, as far as that matters.
func (h habit) law(l order.Law) law {
	if v, ok := h.laws[l]; ok {
		return v
	}
	return law{misses: h.runs}
}

func fewest(a, b []uint16) []uint16 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), enoughKinds)]
}

// learn adds what a run shows of its order.
func (r *route) learn(hs []order.Habit) {
	for _, h := range hs {
		r.take(subject{h.Kind, h.Of}, habitOf(h))
	}
}

func (r *route) take(s subject, h habit) {
	if r.habits == nil {
		r.habits = map[subject]habit{}
	}
	r.habits[s] = r.habits[s].and(h)
	r.bound(s.Kind)
}

// bound keeps, of one kind, the subjects whose hashes are smallest: which ones stay does not depend on the order of learning and merging.
func (r *route) bound(k order.Kind) {
	var of []subject
	for s := range r.habits {
		if s.Kind == k {
			of = append(of, s)
		}
	}
	if len(of) <= maxHabits {
		return
	}
	slices.SortFunc(of, func(a, b subject) int {
		return cmp.Or(cmp.Compare(spread(a.Of), spread(b.Of)), cmp.Compare(a.Of, b.Of))
	})
	for _, s := range of[maxHabits:] {
		delete(r.habits, s)
	}
}

func spread(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// Invariant is a law that held in all runs that showed its subject. Values says of a law about equal values with how many different ones it held, up
// to four.
type Invariant struct {
	order.Law
	Runs   int
	Values int
}

// Varied says that the law is none about equal values, or held with values that differ: what is the same in every run says nothing.
func (i Invariant) Varied() bool { return i.Arg == "" || i.Values == enoughKinds }

// Invariants returns what always held of a subject under a key, by their texts; a leave-one-out view leaves the run out.
func (s *Snapshot) Invariants(k Key, kind order.Kind, of string) []Invariant {
	if s == nil || s.base.routes[k] == nil {
		return nil
	}
	h := s.base.routes[k].habits[subject{kind, of}]
	own, left := s.shown(k, kind, of)
	var out []Invariant
	for _, l := range slices.SortedFunc(maps.Keys(h.laws), order.Law.Compare) {
		runs, misses := h.runs, h.laws[l].misses
		if left {
			runs, misses = runs-1, misses-own.law(l).misses
		}
		if runs > 0 && misses == 0 {
			out = append(out, Invariant{l, runs, len(h.laws[l].values)})
		}
	}
	return out
}

// Shown is how many runs of a key showed a subject.
func (s *Snapshot) Shown(k Key, kind order.Kind, of string) int {
	if s == nil || s.base.routes[k] == nil {
		return 0
	}
	n := s.base.routes[k].habits[subject{kind, of}].runs
	if _, left := s.shown(k, kind, of); left {
		n--
	}
	return n
}

// shown is what the run that a leave-one-out view leaves out showed of a subject.
func (s *Snapshot) shown(k Key, kind order.Kind, of string) (habit, bool) {
	if s.except == nil || s.except.Key != k {
		return habit{}, false
	}
	for _, h := range s.except.Habits {
		if h.Kind == kind && h.Of == of {
			return habitOf(h), true
		}
	}
	return habit{}, false
}

// Runs is how many runs of the key are known.
func (s *Snapshot) Runs(k Key) int {
	if s == nil || s.base.routes[k] == nil {
		return 0
	}
	n := s.base.routes[k].runs
	if s.except != nil && s.except.Key == k {
		n--
	}
	return n
}

type fileHabit struct {
	Kind order.Kind `json:"kind"`
	Of   string     `json:"of"`
	Runs int        `json:"runs"`
	Laws []fileLaw  `json:"laws,omitempty"`
}

type fileLaw struct {
	order.Law
	Misses int      `json:"misses,omitzero"`
	Values []uint16 `json:"values,omitempty"`
}

func (r *route) fileHabits() []fileHabit {
	var out []fileHabit
	subjects := slices.SortedFunc(maps.Keys(r.habits), func(a, b subject) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Of, b.Of)) })
	for _, s := range subjects {
		h := r.habits[s]
		f := fileHabit{Kind: s.Kind, Of: s.Of, Runs: h.runs}
		for _, l := range slices.SortedFunc(maps.Keys(h.laws), order.Law.Compare) {
			f.Laws = append(f.Laws, fileLaw{l, h.laws[l].misses, h.laws[l].values})
		}
		out = append(out, f)
	}
	return out
}

func (r *route) readHabit(f fileHabit) error {
	s := subject{f.Kind, f.Of}
	if _, double := r.habits[s]; double || !slices.Contains(order.Kinds(), f.Kind) || f.Runs < 1 || f.Runs > r.runs {
		return fmt.Errorf("occurs twice, is of no kind that pawl knows, or has more runs than the route")
	}
	h := habit{f.Runs, map[order.Law]law{}}
	for _, l := range f.Laws {
		sorted := slices.IsSorted(l.Values) && len(slices.Compact(slices.Clone(l.Values))) == len(l.Values)
		if _, double := h.laws[l.Law]; double || l.Misses < 0 || l.Misses > maxMisses || l.Misses >= f.Runs || len(l.Values) > enoughKinds || !sorted {
			return fmt.Errorf("its laws do not add up")
		}
		h.laws[l.Law] = law{l.Misses, l.Values}
	}
	r.take(s, h)
	return nil
}
