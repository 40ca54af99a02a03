package rule

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
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
	Reach     float64 `json:"reach"`      // power of that percentile's ratio to the median, by which it must be exceeded: the wider, the farther
}

// Validate refuses thresholds that would match the median itself.
func (p CostParams) Validate() error {
	if p.Factor <= 1 || p.MinRuns < 2 || p.MADs < 0 || p.Share < 0 || p.MinTokens < 0 || p.Tail < 0 || p.Reach < 0 {
		return errors.New("want factor > 1, min_runs >= 2 and floors that are not negative")
	}
	return nil
}

// CostSpike finds runs that cost far more than the runs of the same service, agent and route do. Tokens are counted at the model calls, or
// where those tell nothing by the agent's own total, and what was read from the provider's cache is left out on both sides: it costs a tenth
// and varies with luck. Where the tokens are usual, the money may still not be: the same tokens of a dearer model, or output in the place of
// input. So the cost in USD is looked at too, if it is known of the run and of enough others, with the same floors.
var CostSpike = add(classify.Rule{
	Name: "cost_spike", Version: 3, Label: classify.CostSpike, Severity: classify.Blocking, Form: classify.FormBudget,
	Doc: classify.Doc{
		Title: "the run used far more tokens, or money, than runs of its route do",
		Why: "Cost that jumps with no change of the task is a regression that no other test sees. The run's fresh tokens must exceed the factor times " +
			"the median of enough runs of the same service, agent and route, and the excess must clear every floor: deviations, share, tokens. A run that " +
			"is no dearer than the dearest of the healthy ones is no spike, however far the median is; and where the runs of a route differ by orders of " +
			"magnitude, as those of an agent for all kinds of errands do, a spike must lie as far beyond them. If the tokens are usual, its cost in USD must do " +
			"the same; the floor of tokens then is what so many cost on that route. The finding says which of both it was.",
		Fix:     "Look at the model calls named as evidence: a result that should be paged, a history that is never cut, a prompt that grew, a model that is dearer.",
		Example: "40,000 tokens where the median of 31 runs is 9,000",
	},
	Needs:   []trajectory.Fact{trajectory.FactModelCalls},
	Params:  CostParams{Factor: 1.5, MinRuns: 20, MADs: 3, Share: 0.05, MinTokens: 1000, Tail: 1.2, Reach: 0.5},
	Check:   checkCost,
	Repairs: []classify.Repair{change.Leaner(0.1)},
})

func checkCost(in *classify.Input) classify.Result {
	p := classify.ParamsOf[CostParams](in)
	if len(in.Trajectory.ModelCalls) == 0 {
		return classify.NoMatch()
	}
	run := runOf(in)
	got, ok := run.Values[baseline.FreshTokens]
	if !ok {
		return classify.Blind(trajectory.FactUsage, unused(in.Trajectory))
	}
	st := in.Baseline.Stats(run.Key, baseline.FreshTokens)
	if st.N < p.MinRuns {
		return classify.Blind(trajectory.FactBaseline, fmt.Sprintf(
			"%d of %d runs of this service, agent and route are known; %d more, or a baseline from `pawl baseline learn` given as --baseline", st.N, p.MinRuns, p.MinRuns-st.N))
	}
	if p.bounds(p.MinTokens).exceededBy(got, st) {
		return classify.Match(costFinding(in, run, got, st))
	}
	usd, ok := run.Values[baseline.Cost]
	money := in.Baseline.Stats(run.Key, baseline.Cost)
	if !ok || money.N < p.MinRuns || st.Median <= 0 || !p.bounds(p.MinTokens*money.Median/st.Median).exceededBy(usd, money) {
		return classify.NoMatch()
	}
	return classify.Match(moneyFinding(in, run, usd, money, st))
}

// unused says that no setting would supply the usage; "" where one would.
func unused(t *trajectory.Trajectory) string {
	if slices.ContainsFunc(t.ModelCalls, func(m trajectory.ModelCall) bool { return m.Error == nil }) {
		return ""
	}
	return "every call of the model failed, and of such a call providers report no usage: nothing is to be set"
}

func (p CostParams) bounds(least float64) bounds {
	return bounds{p.Factor, p.Tail, p.Reach, p.MADs, p.Share, least}
}

func costFinding(in *classify.Input, run baseline.Run, got float64, st baseline.Stats) classify.Finding {
	f := spikeFinding(in, run, got, st)
	f.Title = fmt.Sprintf("run used %.0f tokens, %s the median of its route", got, ratio(got, st.Median))
	f.Why = fmt.Sprintf("the run used %.0f tokens, cache reads aside, which is %s the median of %.0f over %d runs of its service, agent and route (deviation %.0f; %s).",
		got, ratio(got, st.Median), st.Median, st.N, st.MAD, whence(in))
	limit := classify.ParamsOf[CostParams](in).Factor * st.Median
	f.Step = crossing(in.Trajectory, limit, func(u trajectory.Usage) float64 { return float64(fresh(u)) })
	f.Evidence = dearest(in.Trajectory, func(u trajectory.Usage) float64 { return float64(fresh(u)) }, func(n float64, of, _ string) string {
		return fmt.Sprintf("%.0f tokens in %s, cache reads aside", n, of)
	})
	return f
}

// moneyFinding is for a run whose tokens are usual and whose cost is not.
func moneyFinding(in *classify.Input, run baseline.Run, usd float64, money, tokens baseline.Stats) classify.Finding {
	f := spikeFinding(in, run, usd, money)
	f.Title = fmt.Sprintf("run cost %s USD, %s the median of its route, for its usual tokens", dollars(usd), ratio(usd, money.Median))
	f.Why = fmt.Sprintf("the run cost %s USD, which is %s the median of %s over %d runs of its service, agent and route (deviation %s; %s), though its %.0f tokens, "+
		"cache reads aside, are no spike beside their median of %.0f: each of them was dearer.",
		dollars(usd), ratio(usd, money.Median), dollars(money.Median), money.N, dollars(money.MAD), whence(in), run.Values[baseline.FreshTokens], tokens.Median)
	limit := classify.ParamsOf[CostParams](in).Factor * money.Median
	f.Step = crossing(in.Trajectory, limit, spent)
	f.Evidence = dearest(in.Trajectory, spent, func(n float64, of, model string) string {
		return fmt.Sprintf("%s USD in %s%s", dollars(n), of, model)
	})
	return f
}

// spikeFinding is what findings of tokens and of money have in common.
func spikeFinding(in *classify.Input, run baseline.Run, got float64, st baseline.Stats) classify.Finding {
	f := in.Finding(run.Key.Agent, classify.Route("route", run.Key.Route))
	f.Confidence = 0.9
	if got < 2*st.Median {
		f.Confidence = 0.8
	}
	f.Params = withBaseline(f.Params, in.Baseline.Digest())
	return f
}

// whence says what the run was compared with.
func whence(in *classify.Input) string {
	name := "baseline " + in.Baseline.Digest()[:min(12, len(in.Baseline.Digest()))]
	if in.Baseline.LeftOneOut() {
		return "learnt from the other runs at hand, " + name
	}
	return name
}

// dollars writes an amount with three figures that matter: most runs cost fractions of a cent.
func dollars(usd float64) string {
	decimals := 2
	if usd > 0 && usd < 1 {
		decimals -= int(math.Floor(math.Log10(usd)))
	}
	return strconv.FormatFloat(usd, 'f', min(decimals, 12), 64)
}

// spent is what a usage cost, 0 when it is not known.
func spent(u trajectory.Usage) float64 {
	if u.CostUSD == nil {
		return 0
	}
	return *u.CostUSD
}

// crossing is the step of the model call with which the run's sum exceeded the limit: there the money was gone. Of an agent's total only the
// last of its calls is sure to lie behind it.
func crossing(t *trajectory.Trajectory, limit float64, of func(trajectory.Usage) float64) int {
	sum, last := 0.0, -1
	for i := range t.ModelCalls {
		sum += of(t.ModelCalls[i].Usage)
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

// dearest names the model calls, and the agents known by their total alone, that have most of something, three at most. say puts it in words: how
// much, of what, and of which model, with a blank before it.
func dearest(t *trajectory.Trajectory, of func(trajectory.Usage) float64, say func(n float64, of, model string) string) []classify.Evidence {
	type use struct {
		span, in, model string
		n               float64
	}
	var uses []use
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		if n := of(m.Usage); n > 0 {
			uses = append(uses, use{m.SpanID, "this call", ofModel(nameOf(m)), n})
		}
	}
	for _, a := range t.AgentTotals {
		if n := of(a.Usage); n > 0 {
			uses = append(uses, use{a.SpanID, "all calls of this agent", ofModel(a.Model), n})
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(b.n, a.n) })
	out := []classify.Evidence{}
	for _, u := range uses[:min(len(uses), 3)] {
		out = append(out, classify.Evidence{SpanID: u.span, What: say(u.n, u.in, u.model)})
	}
	return out
}

func ofModel(name string) string {
	if name == "" {
		return ""
	}
	return " of " + classify.SafeName(modelFamily(name))
}
