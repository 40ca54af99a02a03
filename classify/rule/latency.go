package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// LatencyParams are the thresholds of the rule latency_spike.
type LatencyParams struct {
	Factor     float64 `json:"factor"`      // times the median
	MinRuns    int     `json:"min_runs"`    // runs of the route before the rule may judge
	MADs       float64 `json:"mads"`        // floor of the excess: median absolute deviations
	Share      float64 `json:"share"`       // floor of the excess: share of the median
	MinSeconds float64 `json:"min_seconds"` // floor of the excess: seconds
	Tail       float64 `json:"tail"`        // times the 95th percentile, which must be exceeded too
	Reach      float64 `json:"reach"`       // power of that percentile's ratio to the median, by which it must be exceeded: the wider, the farther
}

// Validate refuses thresholds that would match the median itself.
func (p LatencyParams) Validate() error {
	if p.Factor <= 1 || p.MinRuns < 2 || p.MADs < 0 || p.Share < 0 || p.MinSeconds < 0 || p.Tail < 0 || p.Reach < 0 {
		return errors.New("want factor > 1, min_runs >= 2 and floors that are not negative")
	}
	return nil
}

// LatencySpike finds runs that took far longer than the runs of the same service, agent and route do.
var LatencySpike = add(classify.Rule{
	Name: "latency_spike", Version: 1, Label: classify.LatencySpike, Severity: classify.Warning, Form: classify.FormBudget,
	Doc: classify.Doc{
		Title: "the run took far longer than runs of its route do",
		Why: "A run that takes several times as long as usual is one that users leave. The run's time, that of people aside, must exceed the factor times the median of enough runs of the " +
			"same service, agent and route, and the slowest of the healthy ones; the excess must clear every floor: deviations, share, seconds. The evidence names the calls that took the time.",
		Fix:     "Look at the calls named as evidence: a tool that hangs, a model that is retried, calls one after the other that could run side by side.",
		Example: "95 s where the median of 31 runs is 12 s, 80 of them in one call of a tool",
	},
	Params:  LatencyParams{Factor: 2, MinRuns: 20, MADs: 5, Share: 0.2, MinSeconds: 10, Tail: 1.2, Reach: 0.5},
	Check:   checkLatency,
	Repairs: []classify.Repair{quicker(0.1)},
})

func checkLatency(in *classify.Input) classify.Result {
	t, p := in.Trajectory, classify.ParamsOf[LatencyParams](in)
	if len(t.ModelCalls)+len(t.ToolCalls) == 0 {
		return classify.NoMatch()
	}
	run := runOf(in)
	got, ok := run.Values[baseline.Duration]
	switch {
	case t.Complete.SyntheticTime:
		return classify.Blind(trajectory.FactClock, "")
	case !t.Complete.HasRoot:
		return classify.Blind(trajectory.FactRoot, "")
	case !ok:
		return classify.Blind(trajectory.FactClock, "")
	}
	st := in.Baseline.Stats(run.Key, baseline.Duration)
	if st.N < p.MinRuns {
		return classify.Blind(trajectory.FactBaseline, fmt.Sprintf(
			"%d of %d runs of this service, agent and route are known; %d more, or a baseline from `pawl baseline learn` given as --baseline", st.N, p.MinRuns, p.MinRuns-st.N))
	}
	people := peoplesTime(t).Seconds()
	if got -= people; !p.bounds().exceededBy(got, st) {
		return classify.NoMatch()
	}
	return classify.Match(latencyFinding(in, run, got, people, st))
}

func (p LatencyParams) bounds() bounds {
	return bounds{p.Factor, p.Tail, p.Reach, p.MADs, p.Share, p.MinSeconds}
}

// peoplesTime is how long the run waited for people: before what a user said in the middle of it, and in tools that ask one.
func peoplesTime(t *trajectory.Trajectory) time.Duration {
	var sum time.Duration
	var until time.Time
	for i, s := range t.Steps {
		switch {
		case s.Kind == trajectory.StepUser && i > 0 && !until.IsZero() && s.Start.After(until):
			sum += s.Start.Sub(until)
		case s.Kind == trajectory.StepTool && waitsForPerson.MatchString(t.ToolCalls[s.Index].Name) && s.End.After(s.Start):
			sum += s.End.Sub(s.Start)
		}
		if end := endOf(s); end.After(until) && s.Kind != trajectory.StepReply && s.Kind != trajectory.StepError {
			until = end
		}
	}
	return sum
}

func latencyFinding(in *classify.Input, run baseline.Run, got, people float64, st baseline.Stats) classify.Finding {
	t := in.Trajectory
	f := in.Finding(run.Key.Agent, classify.Route("route", run.Key.Route))
	f.Confidence = 0.8
	f.Params = withBaseline(f.Params, in.Baseline.Digest())
	f.Title = fmt.Sprintf("run took %.0f s, %s the median of its route", got, ratio(got, st.Median))
	f.Why = fmt.Sprintf("the run took %.1f s, which is %s the median of %.1f s over %d runs of its service, agent and route (deviation %.1f s; %s)",
		got, ratio(got, st.Median), st.Median, st.N, st.MAD, whence(in))
	if people >= 1 {
		f.Why += fmt.Sprintf("; %.1f s that it waited for people are left out", people)
	}
	f.Why += "."
	f.Evidence, f.Step = slowest(t, got)
	return f
}

// slowest names the calls that took the most of the run's time, three at most, and the step of the first of them.
func slowest(t *trajectory.Trajectory, whole float64) ([]classify.Evidence, int) {
	var order []int
	for i, s := range t.Steps {
		call := s.Kind == trajectory.StepModel || s.Kind == trajectory.StepRetrieval || s.Kind == trajectory.StepTool && !waitsForPerson.MatchString(t.ToolCalls[s.Index].Name)
		if call && s.End.After(s.Start) && s.End.Sub(s.Start).Seconds() >= 0.05*whole {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(t.Steps[b].End.Sub(t.Steps[b].Start), t.Steps[a].End.Sub(t.Steps[a].Start))
	})
	out := []classify.Evidence{}
	for _, i := range order[:min(len(order), 3)] {
		s := t.Steps[i]
		out = append(out, classify.Evidence{SpanID: s.SpanID, What: fmt.Sprintf("%.1f s in this %s", s.End.Sub(s.Start).Seconds(), callName(t, s))})
	}
	if len(order) > 0 {
		return out, order[0]
	}
	if i := slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.SpanID != "" }); i >= 0 {
		out = append(out, classify.Evidence{SpanID: t.Steps[i].SpanID, What: "the first of the run's calls, none of which took a twentieth of the time: it went between them"})
	}
	return out, -1
}

func callName(t *trajectory.Trajectory, s trajectory.Step) string {
	switch s.Kind {
	case trajectory.StepTool:
		return "call of " + classify.SafeName(t.ToolCalls[s.Index].Name)
	case trajectory.StepModel:
		return "model call" + ofModel(nameOf(&t.ModelCalls[s.Index]))
	}
	return "retrieval"
}

// quicker repairs a run that took too long: everything in it took a share of its time.
func quicker(share float64) classify.Repair {
	return change.Repair("quicker", "everything took a share of its time", func(t *trajectory.Trajectory, _ classify.Finding) bool {
		from := t.Start
		eachTime(t, func(at time.Time) time.Time { return from.Add(time.Duration(share * float64(at.Sub(from)))) })
		return t.End.After(t.Start)
	})
}
