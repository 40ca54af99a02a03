package baseline

import (
	"cmp"
	"math"
	"slices"

	"github.com/DataDog/sketches-go/ddsketch/mapping"
)

// exactUpTo is how many values a sample keeps as they are. Beyond it only their bins are kept, each one percent wide.
const exactUpTo = 256

const accuracy = 0.01

// sample is a multiset of numbers >= 0. What it holds depends on the multiset alone, not on the order of adding and merging: the values
// themselves up to exactUpTo of them, else a count per bin of the sketch's logarithmic mapping.
type sample struct {
	values []float64 // sorted; nil once bins are in use
	bins   map[int]int
	zeros  int // with bins: how many values are too small to have one
	n      int
}

// binning maps values to bins. It never fails for the constant accuracy.
func binning() mapping.IndexMapping {
	m, err := mapping.NewLogarithmicMapping(accuracy)
	if err != nil {
		panic(err) // a constant out of (0, 1): a programming error that every test finds
	}
	return m
}

func (s *sample) add(m mapping.IndexMapping, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return // not a measurement; Measure never gives one
	}
	s.n++
	if s.bins != nil {
		s.bin(m, v, 1)
		return
	}
	i, _ := slices.BinarySearch(s.values, v)
	s.values = slices.Insert(s.values, i, v)
	if s.n > exactUpTo {
		s.coarsen(m)
	}
}

func (s *sample) bin(m mapping.IndexMapping, v float64, count int) {
	if v < m.MinIndexableValue() {
		s.zeros += count
		return
	}
	s.bins[m.Index(min(v, m.MaxIndexableValue()))] += count
}

func (s *sample) coarsen(m mapping.IndexMapping) {
	s.bins = make(map[int]int)
	for _, v := range s.values {
		s.bin(m, v, 1)
	}
	s.values = nil
}

func (s *sample) merge(m mapping.IndexMapping, o *sample) {
	if s.bins == nil && o.bins == nil && s.n+o.n <= exactUpTo {
		s.values = append(s.values, o.values...)
		slices.Sort(s.values)
		s.n += o.n
		return
	}
	if s.bins == nil {
		s.coarsen(m)
	}
	for _, v := range o.values {
		s.bin(m, v, 1)
	}
	for i, c := range o.bins {
		s.bins[i] += c
	}
	s.zeros += o.zeros
	s.n += o.n
}

func (s *sample) clone() *sample {
	c := &sample{values: slices.Clone(s.values), zeros: s.zeros, n: s.n}
	if s.bins != nil {
		c.bins = make(map[int]int, len(s.bins))
		for i, n := range s.bins {
			c.bins[i] = n
		}
	}
	return c
}

// point is a value that occurs count times.
type point struct {
	value float64
	count int
}

// points lists the sample in order, less one occurrence of without, if that is there.
func (s *sample) points(m mapping.IndexMapping, without *float64) []point {
	var out []point
	for _, v := range s.values {
		out = append(out, point{v, 1})
	}
	for i, c := range s.bins {
		out = append(out, point{m.Value(i), c})
	}
	if s.zeros > 0 {
		out = append(out, point{0, s.zeros})
	}
	slices.SortFunc(out, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	if without != nil {
		out = less(out, *without, s.bins != nil)
	}
	return out
}

// less takes one occurrence of the value, or of the bin that stands for it, away.
func less(ps []point, v float64, binned bool) []point {
	for i, p := range ps {
		near := p.value == v || binned && math.Abs(p.value-v) <= 2*accuracy*v
		if near && p.count > 0 {
			ps[i].count--
			return ps
		}
	}
	return ps
}

// median of the points; for an even number of values the mean of the middle two.
func median(ps []point) float64 {
	n := 0
	for _, p := range ps {
		n += p.count
	}
	if n == 0 {
		return 0
	}
	return (rank(ps, (n-1)/2) + rank(ps, n/2)) / 2
}

func rank(ps []point, k int) float64 {
	for _, p := range ps {
		if k < p.count {
			return p.value
		}
		k -= p.count
	}
	return 0
}

// mad is the median of the distances to the median, without a factor for normal distributions.
func mad(ps []point, med float64) float64 {
	d := make([]point, len(ps))
	for i, p := range ps {
		d[i] = point{math.Abs(p.value - med), p.count}
	}
	slices.SortFunc(d, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	return median(d)
}
