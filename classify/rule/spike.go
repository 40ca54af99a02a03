package rule

import (
	"math"

	"github.com/pawl-dev/pawl/classify/baseline"
)

// bounds say how far above what is usual of a route a number must be to be a spike. least is in the number's unit; the others are as in CostParams.
type bounds struct{ factor, tail, reach, mads, share, least float64 }

// exceededBy says whether a number is above all of the factor, the tail and the floors.
//
// Tokens and times of runs are spread like products, not like sums. If their logarithms are spread evenly around the median, a reach of a half
// puts the limit at 1.5 times the distance of the 95th percentile, which one run in 150 exceeds by chance.
func (b bounds) exceededBy(got float64, st baseline.Stats) bool {
	tail := b.tail
	if st.Median > 0 {
		tail = max(tail, math.Pow(st.P95/st.Median, b.reach))
	}
	return got > b.factor*st.Median && got > tail*st.P95 && got-st.Median > max(b.mads*st.MAD, b.share*st.Median, b.least)
}
