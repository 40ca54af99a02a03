package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestWorse(t *testing.T) {
	// Checked by hand: the 2x2 table of the lady tasting tea, and the corners.
	for _, c := range []struct {
		head, base Count
		want       float64
	}{
		{Count{Passed: 1, Failed: 3}, Count{Passed: 3, Failed: 1}, 17.0 / 70},
		{Count{Passed: 0, Failed: 4}, Count{Passed: 4}, 1.0 / 70},
		{Count{Passed: 4}, Count{Failed: 4}, 1},
		{Count{Passed: 5}, Count{Passed: 5}, 1},
		{Count{}, Count{Passed: 5}, 1},
		{Count{Passed: 0, Failed: 10}, Count{Passed: 10}, 1.0 / 184756},
	} {
		if got := worse(c.head, c.base); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("worse(%v, %v) = %v, want %v", c.head, c.base, got, c.want)
		}
	}
}

// The p-value of the exact test is one: under equal rates it is at most x with a probability of at most x.
func TestWorseIsAPValue(t *testing.T) {
	const n, m = 10, 10
	for _, r := range []float64{0.05, 0.3, 0.5, 0.8, 0.95} {
		for _, alpha := range []float64{0.001, 0.01, 0.05, 0.2} {
			total := 0.0
			for h := range n + 1 {
				for b := range m + 1 {
					if worse(Count{Passed: h, Failed: n - h}, Count{Passed: b, Failed: m - b}) <= alpha {
						total += math.Exp(choose(n, h)+choose(m, b)) * math.Pow(r, float64(h+b)) * math.Pow(1-r, float64(n+m-h-b))
					}
				}
			}
			if total > alpha+1e-12 {
				t.Errorf("rate %v: p <= %v happens with probability %v", r, alpha, total)
			}
		}
	}
}

func TestHolm(t *testing.T) {
	got := holm([]float64{0.04, 0.001, 0.02, 0.012}, 4, 0.05)
	if want := []bool{true, true, true, true}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	if got := holm([]float64{0.013, 0.2}, 4, 0.05); got[0] || got[1] {
		t.Errorf("%v", got)
	}
	if got := holm([]float64{0.012, 0.016}, 4, 0.05); !got[0] || !got[1] {
		t.Errorf("%v", got)
	}
}

// However the rest of the runs turns out, an early decision is the one that all of them would have given.
func TestStandingIsFinal(t *testing.T) {
	for _, terms := range []Terms{{N: 5, Rate: 0.8}, {N: 5, Hard: true}, {N: 3, Rate: 0.5}, {N: 10, Rate: 0.9}, {N: 1, Rate: 0.8}} {
		var walk func(c Count, before standing)
		walk = func(c Count, before standing) {
			now, need := terms.standing(c)
			if before != open && now != before && now != void {
				t.Fatalf("%+v: decided %d before %+v, then %d", terms, before, c, now)
			}
			if (now == open) != (need > 0) {
				t.Fatalf("%+v: %+v stands %d and needs %d", terms, c, now, need)
			}
			limit := terms.N
			if terms.Hard && c.Failed > 0 {
				limit *= 2
			}
			if c.Runs() >= limit {
				if now == open {
					t.Fatalf("%+v: all runs made and %+v is open", terms, c)
				}
				return
			}
			if before == void {
				return
			}
			for _, v := range []Verdict{Pass, Fail, Error} {
				next := c
				next.Add(v)
				after := now
				if terms.Hard && c.Failed == 0 && v == Fail {
					after = open // a first miss doubles the runs
				}
				walk(next, after)
			}
		}
		if terms.N <= 5 {
			walk(Count{}, open)
		}
	}
}

func TestTermsExamples(t *testing.T) {
	soft, hard := Terms{N: 5, Rate: 0.8}, Terms{N: 5, Hard: true}
	for _, c := range []struct {
		terms Terms
		count Count
		want  standing
	}{
		{soft, Count{Passed: 3}, open}, {soft, Count{Passed: 4}, met}, {soft, Count{Passed: 3, Failed: 2}, missed}, {soft, Count{Failed: 2}, missed},
		{soft, Count{Passed: 3, Failed: 1, Invalid: 1}, missed}, {soft, Count{Passed: 3, Invalid: 2}, met}, {soft, Count{Invalid: 3}, void},
		{soft, Count{Passed: 1, Invalid: 2}, open},
		{hard, Count{Passed: 4}, open}, {hard, Count{Passed: 5}, met}, {hard, Count{Passed: 4, Failed: 1}, open}, {hard, Count{Passed: 9, Failed: 1}, met},
		{hard, Count{Passed: 6, Failed: 2}, missed},
	} {
		if got, _ := c.terms.standing(c.count); got != c.want {
			t.Errorf("%+v %+v: %d, want %d", c.terms, c.count, got, c.want)
		}
	}
}

// play runs a trial with agents of known rates and returns its outcomes and the number of runs.
func play(rng *rand.Rand, head, base []float64, against bool, terms Terms) ([]Outcome, int) {
	entrants := make([]Entrant, len(head))
	at := map[string]int{}
	for i := range entrants {
		id := "c" + strconv.Itoa(i)
		entrants[i], at[id] = Entrant{Case: id, Terms: terms, Blocks: true}, i
	}
	trial := NewTrial(entrants, against)
	for runs := 0; ; runs++ {
		w, state := trial.Next()
		if state == Over {
			return trial.Outcomes("cut"), runs
		}
		if state == Wait {
			panic("waits though nothing is under way")
		}
		rate := head[at[w.Case]]
		if w.Side == Base {
			rate = base[at[w.Case]]
		}
		v := Fail
		if rng.Float64() < rate {
			v = Pass
		}
		trial.Record(w, v)
	}
}

func rates(rng *rand.Rand, n int, low float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (1-low)*rng.Float64()
	}
	return out
}

// simulate plays many checks. It returns the share of checks that blocked, and mean runs.
func simulate(seed uint64, rounds, size int, low float64, against bool, dropTo float64) (blocked, caught, runs float64) {
	rng := rand.New(rand.NewPCG(seed, uint64(size)))
	for range rounds {
		base := rates(rng, size, low)
		head := base
		if dropTo > 0 {
			head = append([]float64{dropTo}, base[1:]...)
			base[0] = 0.98
		}
		outs, n := play(rng, head, base, against, Terms{N: 5, Rate: 0.8})
		runs += float64(n) / float64(rounds)
		any := false
		for i, o := range outs {
			any = any || o.Blocks && (dropTo == 0 || i > 0)
		}
		if any {
			blocked += 1 / float64(rounds)
		}
		if outs[0].Blocks {
			caught += 1 / float64(rounds)
		}
	}
	return blocked, caught, runs
}

// TestCriesNoWolf: an unchanged agent whose cases pass with rates of 0.9 to 1 is blocked in at most 1 of 100 checks of the whole set, and an
// agent that broke one case is caught.
func TestCriesNoWolf(t *testing.T) {
	for _, size := range []int{20, 50, 200} {
		blocked, _, runs := simulate(1, 1000, size, 0.9, true, 0)
		t.Logf("%3d cases, unchanged: %.2f %% of checks block, %.1f runs a case", size, 100*blocked, runs/float64(size))
		if blocked > 0.01 {
			t.Errorf("%d cases: an unchanged agent is blocked in %.2f %% of checks", size, 100*blocked)
		}
		for _, drop := range []struct{ to, atLeast float64 }{{0.8, 0}, {0.5, 0.5}, {0.2, 0.95}} {
			other, caught, runs := simulate(2, 300, size, 0.9, true, drop.to)
			t.Logf("%3d cases, one falls to %.1f: caught in %.1f %%, %.1f runs a case, another case blocks in %.2f %%", size, drop.to, 100*caught, runs/float64(size), 100*other)
			if caught < drop.atLeast {
				t.Errorf("%d cases: a fall to %v is caught in %.1f %% only", size, drop.to, 100*caught)
			}
		}
	}
}

// An agent that is bad for good (the model moved under head and base alike) blocks nothing.
func TestDriftDoesNotBlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	blocked, drift := 0, 0
	const rounds = 500
	for range rounds {
		same := []float64{0.3, 0.4, 1, 1, 1, 1, 1, 1, 1, 1}
		outs, _ := play(rng, same, same, true, Terms{N: 5, Rate: 0.8})
		for i, o := range outs {
			if o.Blocks {
				blocked++
			}
			if i < 2 && o.Word == Drift {
				drift++
			}
		}
	}
	if blocked > rounds/100 || drift < rounds*2*8/10 {
		t.Errorf("%d blocked, %d called drift", blocked, drift)
	}
}

// What base misses too excuses no case that base does not hold as it is: somebody could ask for the impossible, break the agent, and call it drift.
func TestBaseExcusesNoChangedCase(t *testing.T) {
	for _, c := range []struct {
		alone, blocks bool
		word          Word
		fails         bool
	}{{false, true, Drift, false}, {true, true, Regression, true}, {true, false, Miss, false}} {
		trial := NewTrial([]Entrant{{Case: "a", Terms: Terms{N: 5, Rate: 0.8}, Blocks: c.blocks, Alone: c.alone, Green: &Count{Passed: 5}}}, true)
		for {
			w, state := trial.Next()
			if state != Ready {
				break
			}
			if w.Side == Base && c.alone {
				t.Errorf("%+v: base is run", c)
			}
			trial.Record(w, Fail)
		}
		if o := trial.Outcomes("")[0]; o.Word != c.word || o.Blocks != c.fails {
			t.Errorf("%+v: %+v", c, o)
		}
	}
}

// Without a base a miss is confirmed before it blocks.
func TestWithoutBase(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	count := func(rate float64) (n int) {
		for range 1000 {
			if outs, _ := play(rng, []float64{rate}, nil, false, Terms{N: 5, Rate: 0.8}); outs[0].Blocks {
				n++
			}
		}
		return n
	}
	if n := count(0.98); n > 5 {
		t.Errorf("a rate of 0.98 blocks in %d of 1000", n)
	}
	if n := count(0.2); n < 990 {
		t.Errorf("a rate of 0.2 blocks in %d of 1000 only", n)
	}
}

// A pending case that still fails does not block; one that had become green and falls does.
func TestPendingFalls(t *testing.T) {
	terms := Terms{N: 5, Rate: 0.8}
	run := func(green *Count, v Verdict) Outcome {
		trial := NewTrial([]Entrant{{Case: "a", Terms: terms, Green: green}}, false)
		for {
			w, state := trial.Next()
			if state == Over {
				return trial.Outcomes("")[0]
			}
			trial.Record(w, v)
		}
	}
	if o := run(nil, Fail); o.Word != Miss || o.Blocks {
		t.Errorf("%+v", o)
	}
	if o := run(&Count{Passed: 10}, Fail); o.Word != Regression || !o.Blocks {
		t.Errorf("%+v", o)
	}
	if o := run(&Count{Passed: 10}, Pass); o.Word != Passing {
		t.Errorf("%+v", o)
	}
	if o := run(nil, Error); o.Word != Undecided || o.Blocks {
		t.Errorf("%+v", o)
	}
}

// Runs that are under way at once never make more of them than one by one would need to be decided.
func TestParallelWastesNothing(t *testing.T) {
	trial := NewTrial([]Entrant{{Case: "a", Terms: Terms{N: 5, Rate: 0.8}, Blocks: true}}, false)
	var under []Want
	for {
		w, state := trial.Next()
		if state != Ready {
			break
		}
		under = append(under, w)
	}
	if len(under) != 4 {
		t.Fatalf("%d runs at once, want 4", len(under))
	}
	for _, w := range under {
		trial.Record(w, Pass)
	}
	if _, state := trial.Next(); state != Over {
		t.Errorf("4 of 4 passed and the trial is not over")
	}
}

func BenchmarkTrial(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	base := rates(rng, 200, 0.9)
	for b.Loop() {
		play(rng, base, base, true, Terms{N: 5, Rate: 0.8})
	}
}

// Whatever runs come to, and in whatever order they end, a trial ends, within bounds, and blocks nothing that never failed.
func TestTrialEnds(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		against := rng.IntN(2) == 0
		var entrants []Entrant
		for i := range 1 + rng.IntN(4) {
			e := Entrant{Case: strconv.Itoa(i), Terms: Terms{N: 1 + rng.IntN(6), Hard: rng.IntN(2) == 0, Rate: rng.Float64()}, Blocks: rng.IntN(2) == 0, Fixed: rng.IntN(8) == 0, All: rng.IntN(8) == 0}
			if rng.IntN(2) == 0 {
				e.Green = &Count{Passed: rng.IntN(20), Failed: rng.IntN(3)}
			}
			entrants = append(entrants, e)
		}
		pass, valid := rng.Float64(), rng.Float64()
		trial := NewTrial(entrants, against)
		var under []Want
		runs := 0
		for {
			w, state := trial.Next()
			if state == Ready {
				if runs++; runs > len(entrants)*(12+2*40) {
					t.Fatalf("seed %d: %d runs and no end", seed, runs)
				}
				under = append(under, w)
				if rng.IntN(3) > 0 {
					continue
				}
			}
			if state == Over && len(under) == 0 {
				break
			}
			if len(under) == 0 {
				t.Fatalf("seed %d: waits for nothing", seed)
			}
			i := rng.IntN(len(under))
			v := Error
			if rng.Float64() < valid {
				if v = Fail; rng.Float64() < pass {
					v = Pass
				}
			}
			trial.Record(under[i], v)
			under = append(under[:i], under[i+1:]...)
		}
		for _, o := range trial.Outcomes("cut") {
			if o.Word == "" || o.Why == "cut" || o.Blocks != (o.Word == Regression) || o.Blocks && o.Head.Failed == 0 {
				t.Fatalf("seed %d: %+v", seed, o)
			}
			if !against && o.Base.Runs() > 0 {
				t.Fatalf("seed %d: runs of a base that there is not", seed)
			}
		}
	}
}
