package match

import "slices"

// exact compares call by call.
func (c *comparison) exact(distance int) Answer {
	switch c.groupwise() {
	case yes:
		return Answer{}
	case unknown:
		return Answer{Undecided: c.doubts(pair(len(c.want), len(c.got), func(w, g int) bool { return c.same(w, g) != no }))}
	}
	order := c.inOrder()
	if edits, _ := c.align(order, yes); edits <= distance {
		return Answer{}
	}
	edits, steps := c.align(order, unknown)
	a := c.explain(steps)
	if edits <= distance {
		return Answer{Undecided: c.doubtful(a)}
	}
	a.Undecided = nil
	return a
}

// doubtful keeps what is undecided of an answer, and says so where that is how often something may differ.
func (c *comparison) doubtful(a Answer) []string {
	if len(a.Undecided) > 0 {
		return a.Undecided
	}
	return []string{"whether the calls are the expected ones is not decided: values of them were cut, or are not in the data"}
}

// groupwise pairs the expected calls, in order, with the made ones, each group that was asked for together in any order.
func (c *comparison) groupwise() truth {
	if len(c.want) != len(c.got) {
		return no
	}
	all, at := yes, 0
	for _, group := range c.groups() {
		n := len(group)
		of := func(least truth) bool {
			return pair(n, n, func(w, g int) bool { return c.same(at+w, group[g]) >= least }).size == n
		}
		switch {
		case of(yes):
		case of(unknown):
			all = unknown
		default:
			return no
		}
		at += n
	}
	return all
}

// ordered looks for the expected calls one after the other. Of a group that was asked for together it takes as many as it can.
func (c *comparison) ordered(distance int) Answer {
	if c.prefix(yes) == len(c.want) {
		return Answer{}
	}
	order := c.inOrder()
	sure, _ := c.longest(order, yes)
	if len(c.want)-sure <= distance {
		return Answer{}
	}
	maybe, pairs := c.longest(order, unknown)
	if len(c.want)-maybe <= distance || c.prefix(unknown) == len(c.want) {
		p := pairing{ofWant: pairs}
		return Answer{Undecided: c.doubts(p)}
	}
	return Answer{Mismatches: c.gaps(order, pairs)}
}

// prefix is how many of the expected calls, from the first on, are found in order. Taking more of them early never hurts: what is left to find is
// then the end of what would be left otherwise.
func (c *comparison) prefix(least truth) int {
	at := 0
	for _, group := range c.groups() {
		n := 0
		for k := 1; k <= len(group) && at+k <= len(c.want); k++ {
			if pair(k, len(group), func(w, g int) bool { return c.same(at+w, group[g]) >= least }).size < k {
				break
			}
			n = k
		}
		at += n
	}
	return at
}

// longest is how many of the expected calls are found in order, and where.
func (c *comparison) longest(order []int, least truth) (int, []int) {
	n, m := len(c.want), len(order)
	best := make([]int, (n+1)*(m+1)) // of the ends that begin at w and g
	at := func(w, g int) *int { return &best[w*(m+1)+g] }
	for w := n - 1; w >= 0; w-- {
		for g := m - 1; g >= 0; g-- {
			*at(w, g) = max(*at(w+1, g), *at(w, g+1))
			if c.same(w, order[g]) >= least {
				*at(w, g) = max(*at(w, g), *at(w+1, g+1)+1)
			}
		}
	}
	pairs := filled(n)
	for w, g := 0, 0; w < n && g < m; {
		switch {
		case c.same(w, order[g]) >= least && *at(w, g) == *at(w+1, g+1)+1:
			pairs[w] = order[g]
			w, g = w+1, g+1
		case *at(w, g) == *at(w, g+1):
			g++
		default:
			w++
		}
	}
	return *at(0, 0), pairs
}

// gaps tells of every expected call that was not found in its place what stands there of the same tool, or that it is missing.
func (c *comparison) gaps(order, pairs []int) (out []Mismatch) {
	place := make([]int, len(c.got))
	for i, g := range order {
		place[g] = i
	}
	used := make([]bool, len(c.got))
	for _, g := range pairs {
		if g >= 0 {
			used[g] = true
		}
	}
	from := 0
	for w, g := range pairs {
		if g >= 0 {
			from = place[g] + 1
			continue
		}
		to := len(order)
		for _, next := range pairs[w:] {
			if next >= 0 {
				to = place[next]
				break
			}
		}
		i := slices.IndexFunc(order[from:max(from, to)], func(g int) bool { return !used[g] && c.got[g].tool == c.want[w].tool })
		if i < 0 {
			out = append(out, c.missing(w))
			continue
		}
		g = order[from+i]
		used[g] = true
		out = append(out, c.differences(w, g).Mismatches...)
	}
	return out
}

// edit is one step of an alignment: a pair, or one of both with -1 for the other.
type edit struct{ want, got int }

// Costs of an alignment: the number of edits decides, then what reads best. A replacement within one tool reads better than a call too few and
// one too many, and those better than a replacement of one tool by another.
const (
	oneEdit   = 1 << 24 // above what all the rest can sum up to
	otherTool = oneEdit + 2
	oneSided  = oneEdit + 1
)

// align finds the fewest edits that turn the expected calls into the made ones.
func (c *comparison) align(order []int, least truth) (int, []edit) {
	n, m := len(c.want), len(order)
	cost := make([]int, (n+1)*(m+1))
	at := func(w, g int) *int { return &cost[w*(m+1)+g] }
	for w := n; w >= 0; w-- {
		for g := m; g >= 0; g-- {
			if w == n || g == m {
				*at(w, g) = (n - w + m - g) * oneSided
				continue
			}
			*at(w, g) = min(*at(w+1, g+1)+c.price(w, order[g], least), *at(w+1, g)+oneSided, *at(w, g+1)+oneSided)
		}
	}
	var out []edit
	for w, g := 0, 0; w < n || g < m; {
		switch {
		case w < n && g < m && *at(w, g) == *at(w+1, g+1)+c.price(w, order[g], least):
			out = append(out, edit{w, order[g]})
			w, g = w+1, g+1
		case w < n && (g == m || *at(w, g) == *at(w+1, g)+oneSided):
			out = append(out, edit{w, -1})
			w++
		default:
			out = append(out, edit{-1, order[g]})
			g++
		}
	}
	return *at(0, 0) / oneEdit, out
}

func (c *comparison) price(w, g int, least truth) int {
	switch {
	case c.same(w, g) >= least:
		return 0
	case c.want[w].tool == c.got[g].tool:
		return oneEdit
	}
	return otherTool
}

// explain tells an alignment step by step.
func (c *comparison) explain(steps []edit) (a Answer) {
	for _, s := range steps {
		switch {
		case s.got < 0:
			a.Mismatches = append(a.Mismatches, c.missing(s.want))
		case s.want < 0:
			a.Mismatches = append(a.Mismatches, c.extra(s.got))
		case c.same(s.want, s.got) != yes:
			d := c.differences(s.want, s.got)
			a.Mismatches, a.Undecided = append(a.Mismatches, d.Mismatches...), append(a.Undecided, d.Undecided...)
		}
	}
	return a
}
