package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// CostParams are the thresholds of the rule cost_spike.
type CostParams struct {
	Factor    float64 `json:"factor"`     // times the median
	MinRuns   int     `json:"min_runs"`   // runs of the route before the rule may judge
	MADs      float64 `json:"mads"`       // floor of the excess: median absolute deviations
	Share     float64 `json:"share"`      // floor of the excess: share of the median
	MinTokens float64 `json:"min_tokens"` // floor of the excess: tokens
	Tail      float64 `json:"tail"`       // times the 95th percentile, which must be exceeded too
}

// Validate refuses thresholds that would match the median itself.
func (p CostParams) Validate() error {
	if p.Factor <= 1 || p.MinRuns < 2 || p.MADs < 0 || p.Share < 0 || p.MinTokens < 0 || p.Tail < 0 {
		return errors.New("want factor > 1, min_runs >= 2 and floors that are not negative")
	}
	return nil
}

// CostSpike finds runs that cost far more tokens than the runs of the same service, agent and route do. Tokens are counted at the model
// calls, or where those tell nothing by the agent's own total, and what was read from the provider's cache is left out on both sides: it costs a tenth and varies with luck.
var CostSpike = add(classify.Rule{
	Name: "cost_spike", Version: 1, Label: classify.CostSpike, Severity: classify.Blocking, Form: classify.FormBudget,
	Doc: classify.Doc{
		Title: "the run used far more tokens than runs of its route do",
		Why: "Cost that jumps with no change of the task is a regression that no other test sees. The run's fresh tokens must exceed the factor times " +
			"the median of enough runs of the same service, agent and route, and the excess must clear every floor: deviations, share, tokens. A run that " +
			"is no dearer than the dearest of the healthy ones is no spike, however far the median is.",
		Fix:     "Look at the model calls named as evidence: a result that should be paged, a history that is never cut, a prompt that grew.",
		Example: "40,000 tokens where the median of 31 runs is 9,000",
	},
	Needs:  []trajectory.Fact{trajectory.FactModelCalls},
	Params: CostParams{Factor: 1.5, MinRuns: 20, MADs: 3, Share: 0.05, MinTokens: 1000, Tail: 1.2},
	Check:  checkCost,
})

func checkCost(in *classify.Input) classify.Result {
	p := classify.ParamsOf[CostParams](in)
	if len(in.Trajectory.ModelCalls) == 0 {
		return classify.NoMatch()
	}
	run := baseline.Measure(in.Trajectory)
	got, ok := run.Values[baseline.FreshTokens]
	if !ok {
		return classify.Blind(trajectory.FactUsage, "")
	}
	st := in.Baseline.Stats(run.Key, baseline.FreshTokens)
	if st.N < p.MinRuns {
		return classify.Blind(trajectory.FactBaseline, fmt.Sprintf(
			"%d of %d runs of this service, agent and route are known; %d more, or a baseline from `pawl baseline learn` given as --baseline", st.N, p.MinRuns, p.MinRuns-st.N))
	}
	excess := got - st.Median
	if got <= p.Factor*st.Median || got <= p.Tail*st.P95 || excess <= max(p.MADs*st.MAD, p.Share*st.Median, p.MinTokens) {
		return classify.NoMatch()
	}
	return classify.Match(costFinding(in, run, got, st))
}

func costFinding(in *classify.Input, run baseline.Run, got float64, st baseline.Stats) classify.Finding {
	f := in.Finding(run.Key.Agent, classify.Route("route", run.Key.Route))
	f.Title = fmt.Sprintf("run used %.0f tokens, %s the median of its route", got, ratio(got, st.Median))
	whence := "baseline " + in.Baseline.Digest()[:min(12, len(in.Baseline.Digest()))]
	if in.Baseline.LeftOneOut() {
		whence = "learnt from the other runs at hand, " + whence
	}
	f.Why = fmt.Sprintf("the run used %.0f tokens, cache reads aside, which is %s the median of %.0f over %d runs of its service, agent and route (deviation %.0f; %s).",
		got, ratio(got, st.Median), st.Median, st.N, st.MAD, whence)
	f.Confidence = 0.9
	if got < 2*st.Median {
		f.Confidence = 0.8
	}
	f.Step = crossing(in.Trajectory, classify.ParamsOf[CostParams](in).Factor*st.Median)
	f.Params = withBaseline(f.Params, in.Baseline.Digest())
	f.Evidence = dearest(in.Trajectory)
	return f
}

// crossing is the step of the model call with which the run's fresh tokens exceeded the limit: there the money was gone. Of an agent's total
// only the last of its calls is sure to lie behind it.
func crossing(t *trajectory.Trajectory, limit float64) int {
	sum, last := 0.0, -1
	for i := range t.ModelCalls {
		sum += float64(fresh(t.ModelCalls[i].Usage))
		if sum > limit {
			return stepOf(t, trajectory.StepModel, i)
		}
		if t.ModelCalls[i].InTotal {
			last = i
		}
	}
	if last < 0 {
		return -1
	}
	return stepOf(t, trajectory.StepModel, last)
}

// fresh counts tokens without cache reads, 0 when they are not told.
func fresh(u trajectory.Usage) int64 {
	if u.Input == nil || u.Output == nil {
		return 0
	}
	n := *u.Input + *u.Output
	if u.CacheRead != nil {
		n -= min(*u.CacheRead, *u.Input)
	}
	return n
}

func ratio(got, median float64) string {
	if median <= 0 {
		return "beyond"
	}
	return fmt.Sprintf("%.1f times", got/median)
}

// withBaseline copies the parameters and adds the digest of the baseline that was judged by.
func withBaseline(p map[string]any, digest string) map[string]any {
	out := map[string]any{"baseline": digest}
	for k, v := range p {
		out[k] = v
	}
	return out
}

// dearest names the model calls, and the agents known by their total alone, that used most, three at most.
func dearest(t *trajectory.Trajectory) []classify.Evidence {
	type use struct {
		span   string
		tokens int64
		in     string
	}
	var uses []use
	for i := range t.ModelCalls {
		if n := fresh(t.ModelCalls[i].Usage); n > 0 {
			uses = append(uses, use{t.ModelCalls[i].SpanID, n, "this call"})
		}
	}
	for _, a := range t.AgentTotals {
		if n := fresh(a.Usage); n > 0 {
			uses = append(uses, use{a.SpanID, n, "all calls of this agent"})
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(b.tokens, a.tokens) })
	out := []classify.Evidence{}
	for _, u := range uses[:min(len(uses), 3)] {
		out = append(out, classify.Evidence{SpanID: u.span, What: fmt.Sprintf("%d tokens in %s, cache reads aside", u.tokens, u.in)})
	}
	return out
}
