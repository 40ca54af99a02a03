package ratchet

import "math"

// Trust is whether a version of a rule may open pull requests by itself, and what that rests on.
type Trust struct {
	Measured, Own Precision
	May           bool
	Why           string // "" where nothing is asked of it
}

// Trust says it of a rule, by name@version.
func (p Policy) Trust(rule string) Trust {
	may, why := p.trusts(rule)
	return Trust{p.Measured[rule], p.Own[rule], may, why}
}

// Interval is the 95 % interval (Wilson's) of the share that was right, 0 and 1 where nothing was judged.
func (p Precision) Interval() (low, high float64) {
	if p.Judged == 0 {
		return 0, 1
	}
	const z = 1.959964
	n := float64(p.Judged)
	share := float64(p.Right) / n
	mid, spread := share+z*z/(2*n), z*math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return max(0, (mid-spread)/(1+z*z/n)), min(1, (mid+spread)/(1+z*z/n))
}
