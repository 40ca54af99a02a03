package match

import "fmt"

// pairing is a largest set of pairs of wanted and made things, each in one pair at most.
type pairing struct {
	ofWant, ofGot []int // the other one of the pair, -1 for none
	size          int
}

// pair finds a largest pairing of n wanted and m made things, by augmenting paths: a thing that is already taken is passed on where its holder
// can take another, so that no order of asking loses a pair.
func pair(n, m int, fits func(w, g int) bool) pairing {
	p := pairing{ofWant: filled(n), ofGot: filled(m)}
	tried := make([]int, m)
	for w := range n {
		if p.augment(w, m, fits, tried, w+1) {
			p.size++
		}
	}
	return p
}

func filled(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}

// augment looks for a made thing for w. tried marks those that this round has asked for.
func (p *pairing) augment(w, m int, fits func(w, g int) bool, tried []int, round int) bool {
	for _, free := range []bool{true, false} { // a free one first: most often there is one, and nobody has to give way
		for g := range m {
			if tried[g] == round || (p.ofGot[g] < 0) != free || !fits(w, g) {
				continue
			}
			tried[g] = round
			if free || p.augment(p.ofGot[g], m, fits, tried, round) {
				p.ofWant[w], p.ofGot[g] = g, w
				return true
			}
		}
	}
	return false
}

// assigned compares without order.
func (c *comparison) assigned(mode Mode, distance int) Answer {
	sure := pair(len(c.want), len(c.got), func(w, g int) bool { return c.same(w, g) == yes })
	if c.misses(mode, sure.size) <= distance {
		return Answer{}
	}
	maybe := pair(len(c.want), len(c.got), func(w, g int) bool { return c.same(w, g) != no })
	if c.misses(mode, maybe.size) <= distance {
		return Answer{Undecided: c.doubts(maybe)}
	}
	return Answer{Mismatches: c.unpaired(mode, maybe)}
}

// misses is how many edits a pairing of that size leaves.
func (c *comparison) misses(mode Mode, size int) int {
	switch mode {
	case Superset:
		return len(c.want) - size
	case Subset:
		return len(c.got) - size
	}
	return max(len(c.want), len(c.got)) - size
}

// doubts are what is not decided in a pairing.
func (c *comparison) doubts(p pairing) (out []string) {
	for w, g := range p.ofWant {
		if g >= 0 && c.same(w, g) == unknown {
			out = append(out, c.differences(w, g).Undecided...)
		}
	}
	if len(out) == 0 {
		out = append(out, fmt.Sprintf("which of %d calls are the %d expected ones is not decided", len(c.got), len(c.want)))
	}
	return out
}

// unpaired tells what a pairing leaves over: calls of one tool against each other, then what is missing and what is too much.
func (c *comparison) unpaired(mode Mode, p pairing) (out []Mismatch) {
	near := pair(len(c.want), len(c.got), func(w, g int) bool {
		return p.ofWant[w] < 0 && p.ofGot[g] < 0 && c.want[w].tool == c.got[g].tool
	})
	for w := range c.want {
		switch g := near.ofWant[w]; {
		case p.ofWant[w] >= 0:
		case g >= 0:
			out = append(out, c.differences(w, g).Mismatches...)
		case mode != Subset:
			out = append(out, c.missing(w))
		}
	}
	for g := range c.got {
		if mode != Superset && p.ofGot[g] < 0 && near.ofGot[g] < 0 {
			out = append(out, c.extra(g))
		}
	}
	return out
}
