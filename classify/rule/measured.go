package rule

import (
	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
)

// measured is what baselines know of runs, taken of this one.
type measured struct{ baseline.Run }

func runOf(in *classify.Input) baseline.Run {
	return classify.Shared(in, func(in *classify.Input) measured { return measured{baseline.Measure(in.Trajectory)} }).Run
}
