package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// damage makes a failure in a healthy run: a clone of it is changed in place. Near ones look alike and are none.
type damage struct {
	Name  string
	Label classify.Label
	Near  bool
	Apply func(t *trajectory.Trajectory, rnd *rand.Rand) bool // whether the run could be damaged so
}

// damages are all of them, in the order of the listing. They stand in files by what they damage.
func damages() []damage {
	return slices.Concat(callDamages(), resultDamages(), effectDamages(), modelDamages(), routeDamages(), timeDamages())
}

const (
	damagedSet = "damaged"
	perDamage  = 60 // runs for each damage
	seed       = 20261130
)

// judgeDamaged damages healthy runs, spread over the sets, and judges each alone.
func judgeDamaged(samples []sample, only string) (sample, error) {
	out := sample{Name: damagedSet}
	e, err := engineOf(only, nil)
	if err != nil {
		return out, err
	}
	rules := e.Rules()
	for n, d := range damages() {
		if !slices.ContainsFunc(rules, func(r classify.Rule) bool { return r.Label == d.Label }) {
			continue
		}
		rnd := rand.New(rand.NewPCG(seed, uint64(n)))
		for _, t := range damaged(d, samples, rnd) {
			r := run{Set: damagedSet, ID: d.Name + "/" + t.TraceID, Truth: map[classify.Label]claim{d.Label: {Present: new(!d.Near), Strength: injected}}}
			out.Runs = append(out.Runs, judged{r, []classify.Report{e.Classify(t, nil)}})
		}
	}
	return out, nil
}

// damaged takes runs from each set in turn, in an order of chance, until there are enough.
func damaged(d damage, samples []sample, rnd *rand.Rand) []*trajectory.Trajectory {
	var piles [][]*trajectory.Trajectory
	for _, s := range samples {
		pile := slices.Clone(s.Healthy)
		rnd.Shuffle(len(pile), func(i, j int) { pile[i], pile[j] = pile[j], pile[i] })
		piles = append(piles, pile)
	}
	var out []*trajectory.Trajectory
	for left := true; left && len(out) < perDamage; {
		left = false
		for i := range piles {
			var t *trajectory.Trajectory
			t, piles[i] = next(d, piles[i], rnd)
			if t != nil && len(out) < perDamage {
				out, left = append(out, t), true
			}
		}
	}
	return out
}

// next damages the first run of a pile that can be, and returns the rest of the pile.
func next(d damage, pile []*trajectory.Trajectory, rnd *rand.Rand) (*trajectory.Trajectory, []*trajectory.Trajectory) {
	for i, whole := range pile {
		if t := whole.Clone(); d.Apply(t, rnd) {
			return t, pile[i+1:]
		}
	}
	return nil, nil
}

// pick returns an index of chance among those that satisfy ok.
func pick[T any](list []T, rnd *rand.Rand, ok func(*T) bool) (int, bool) {
	var fit []int
	for i := range list {
		if ok(&list[i]) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return 0, false
	}
	return fit[rnd.IntN(len(fit))], true
}

// one returns one of some words.
func one(rnd *rand.Rand, words ...string) string { return words[rnd.IntN(len(words))] }

// answered says whether the call was executed, or at least answered well, as a model asked for it.
func answered(c *trajectory.ToolCall) bool {
	return c.Requested && c.HasResult && c.Outcome == trajectory.OutcomeOK && !c.Result.Truncated && c.Arguments.JSON != nil
}

// after returns the step behind that of the tool call.
func after(t *trajectory.Trajectory, call int) int {
	return 1 + slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == trajectory.StepTool && s.Index == call })
}

// insert puts a call in as change.Insert does, under ids that no other call has.
func insert(t *trajectory.Trajectory, step int, c change.Call) int {
	i := change.Insert(t, step, c)
	id := fmt.Sprintf("made-%d", len(t.ToolCalls))
	call := &t.ToolCalls[i]
	call.SpanID, call.ResultSpanID, call.ID, call.RequestSpanID = id, id, id, id+"-asked"
	t.ModelCalls[call.Model].SpanID = call.RequestSpanID
	t.Steps[step].SpanID, t.Steps[step+1].SpanID = call.RequestSpanID, id
	return i
}

func madeUp(rnd *rand.Rand, pattern string) string {
	return fmt.Sprintf(pattern, 10000+rnd.IntN(89999))
}
