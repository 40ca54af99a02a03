package gate

import (
	"context"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
)

// Variance says how much an agent differs from itself over equal runs. Shares are 0 to 1.
type Variance struct {
	Case      string   `json:"case"`
	Agent     string   `json:"agent"` // service or agent that the case names; "" where it names none
	Limit     float64  `json:"limit"` // what may differ
	Runs      int      `json:"runs"`
	Invalid   int      `json:"invalid"`   // runs that say nothing: no spans, no fixture
	Sequence  float64  `json:"sequence"`  // share of the runs with the most frequent sequence of tools
	Arguments float64  `json:"arguments"` // share of all runs with the most frequent sequence and arguments; what differs from run to run by nature left out
	Verdicts  float64  `json:"verdicts"`  // share of the runs with the most frequent verdict
	Alike     float64  `json:"alike"`     // mean likeness of two replies, by their words
	Least     float64  `json:"least"`     // that of the two least alike
	Tokens    *float64 `json:"tokens"`    // mean; nil when no run tells
	Spread    *float64 `json:"spread"`    // of the tokens: (max - min) / mean
	Steady    bool     `json:"steady"`    // most runs could be judged, and no more than the limit differ in Arguments or Verdicts
}

// Differs is the share of runs that do not do as most do, in their tools and arguments or in their verdict.
func (v Variance) Differs() float64 { return 1 - min(v.Arguments, v.Verdicts) }

// sample is one run of the same input: what it did and said.
type sample struct {
	run   Run
	reply string
}

// Measure runs each case n times, one after another, and compares the runs with each other. limit is the share that may differ for an agent: 0.05 for
// most, 0.01 where money moves, 0.10 for chat. done is told of each run.
func (g *Gate) Measure(ctx context.Context, v Version, cases []*Case, n int, limit func(agent string) float64, done func(Run)) ([]Variance, error) {
	var out []Variance
	for _, c := range cases {
		var samples []sample
		for i := range n {
			run, traces := g.Look(ctx, v, c, Want{c.ID, Head, false}, i+1)
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			s := sample{run: run}
			if len(traces) > 0 && traces[len(traces)-1].Reply != nil {
				s.reply = *traces[len(traces)-1].Reply
			}
			samples = append(samples, s)
			done(run)
		}
		of := varianceOf(c.ID, samples, limit(c.Context.Service))
		of.Agent = c.Context.Service
		out = append(out, of)
	}
	return out, nil
}

func varianceOf(id string, samples []sample, limit float64) Variance {
	v := Variance{Case: id, Runs: len(samples), Least: 1, Alike: 1, Limit: limit}
	var sequences, arguments, verdicts, replies []string
	var tokens []float64
	for _, s := range samples {
		if s.run.Verdict != Pass && s.run.Verdict != Fail {
			v.Invalid++
			continue
		}
		tools, all := traits(s.run.Calls)
		sequences, arguments, verdicts = append(sequences, tools), append(arguments, all), append(verdicts, string(s.run.Verdict))
		replies = append(replies, s.reply)
		if s.run.Tokens != nil {
			tokens = append(tokens, float64(*s.run.Tokens))
		}
	}
	v.Sequence, v.Arguments, v.Verdicts = most(sequences), most(arguments), most(verdicts)
	v.replies(replies)
	v.spent(tokens)
	v.Steady = 2*v.Invalid < v.Runs && v.Differs() <= limit+slack
	return v
}

// traits are the sequence of a run's tools, and the same with the arguments.
func traits(calls []Call) (tools, all string) {
	var a, b strings.Builder
	for _, c := range calls {
		a.WriteString(c.Tool + "\x00")
		b.WriteString(c.Tool + "\x00" + classify.Steady(jsontext.Value(exactly(c.Arguments)), false) + "\x00")
	}
	return a.String(), b.String()
}

// most is the share of the most frequent text; 0 of none.
func most(texts []string) float64 {
	count, top := map[string]int{}, 0
	for _, t := range texts {
		count[t]++
		top = max(top, count[t])
	}
	return float64(top) / float64(max(1, len(texts)))
}

func (v *Variance) replies(texts []string) {
	sum, pairs := 0.0, 0
	for i := range texts {
		for j := range i {
			l := likeness(texts[i], texts[j])
			sum, pairs = sum+l, pairs+1
			v.Least = min(v.Least, l)
		}
	}
	if pairs > 0 {
		v.Alike = sum / float64(pairs)
	}
}

func (v *Variance) spent(tokens []float64) {
	if len(tokens) == 0 {
		return
	}
	low, high, sum := tokens[0], tokens[0], 0.0
	for _, t := range tokens {
		low, high, sum = min(low, t), max(high, t), sum+t
	}
	mean := sum / float64(len(tokens))
	v.Tokens = &mean
	if mean > 0 {
		v.Spread = new((high - low) / mean)
	}
}

// likeness is the share of letter pairs that two texts have in common (Dice), whatever their case and punctuation. It needs no language.
func likeness(a, b string) float64 {
	x, y := letterPairs(a), letterPairs(b)
	both, all := 0, 0
	for p, n := range x {
		both += 2 * min(n, y[p])
		all += n
	}
	for _, n := range y {
		all += n
	}
	if all == 0 {
		return 1
	}
	return float64(both) / float64(all)
}

func letterPairs(s string) map[[2]rune]int {
	out := map[[2]rune]int{}
	last := ' '
	for _, r := range strings.ToLower(s) + " " {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		if last != ' ' || r != ' ' {
			out[[2]rune{last, r}]++
		}
		last = r
	}
	return out
}
