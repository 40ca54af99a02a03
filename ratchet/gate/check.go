package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Version is one version of the agent, ready to be run.
type Version struct {
	Agent
	Stamp
	Model string // that the agent is told to use, by PAWL_MODEL or the header Pawl-Model; "" is its own
}

// Plan says what a check runs and how much it may spend. Zero limits are none.
type Plan struct {
	Cases    []*Case
	All      bool // all N runs of every case, also where fewer decide: for comparing
	N        int  // runs a case; 0: what the case says
	Head     Version
	Base     func(context.Context) (Version, error) // prepares base when the first of its runs is due; nil: there is none
	Known    []Run                                  // of earlier checks: a run of the same case and the same agent is not made again
	Jury     string                                 // see [Criteria.Jury]
	Fresh    bool                                   // it is, for comparing the checks of one and the same agent
	MaxUSD   float64
	MaxTime  time.Duration
	Now      time.Time
	Progress func(done Run, left int) // after each run, from one goroutine
	Keep     func(Run) error          // stores a run at once, so that a check that is cut short can go on
}

// Report is what a check came to.
type Report struct {
	Outcomes []Outcome
	Runs     []Run // that counted, in the order in which they ended
	Reused   int   // of Runs: taken over from an earlier check
	Retired  int   // cases that took no part
	Delta    *Delta
	Flips    Flips        // over the history and this check
	Steady   []Steadiness // of the agents, as it was measured before
	Cut      string       // why the check ended early, "" when it did not
	SpentUSD float64
	Took     time.Duration
}

// Exit is the exit code of the check: 1 where a case blocks, 3 where nothing was executed or a case that may block is not decided, else 0.
func (r Report) Exit() int {
	valid, open := 0, false
	for _, o := range r.Outcomes {
		if o.Blocks {
			return 1
		}
		valid += o.Head.Valid()
		open = open || o.Holds && o.Word == Undecided
	}
	if valid == 0 || open {
		return 3
	}
	return 0
}

// Estimate is what a check will take, as far as earlier runs tell. Most does not count the runs that look into misses.
type Estimate struct {
	Least, Most int
	Asked       int           // requests to the model that judges criteria and plays users, at most for Most runs
	USD         *float64      // for Most runs; nil when no earlier run tells what one costs
	Time        time.Duration // 0 when unknown
}

// Estimate foretells a check. jobs are the runs at once.
func (p Plan) Estimate(jobs int) Estimate {
	c := p.begin()
	var e Estimate
	e.Least, e.Most = c.trial.Bounds()
	var usd, ms float64
	priced, timed := 0, 0
	for _, r := range p.Known {
		if r.CostUSD != nil || r.Asked.USD != nil {
			usd, priced = usd+value(r.CostUSD)+value(r.Asked.USD), priced+1
		}
		if r.MS > 0 {
			ms, timed = ms+float64(r.MS), timed+1
		}
	}
	if priced > 0 {
		e.USD = new(usd / float64(priced) * float64(e.Most))
	}
	for _, k := range c.by {
		e.Asked += c.trial.left(k.ID) * k.asks()
	}
	if timed > 0 {
		e.Time = time.Duration(ms/float64(timed)*float64(e.Most)/float64(max(1, jobs))) * time.Millisecond
	}
	return e
}

// check is one under way.
type check struct {
	Plan
	g       *Gate
	trial   *Trial
	by      map[string]*Case
	known   map[known][]Run
	numbers map[Want]int
	base    *Version
	report  Report
	made    []Run // in this check, by itself
	id      string
	began   time.Time
}

type known struct {
	Want
	digest, agent, way string
}

func (p Plan) begin() *check {
	c := &check{Plan: p, by: map[string]*Case{}, known: map[known][]Run{}, numbers: map[Want]int{}, id: hex.EncodeToString(random(6))}
	var entrants []Entrant
	for _, k := range p.Cases {
		e, ok := EntrantOf(k.Case, p.N, p.Now)
		if !ok {
			c.report.Retired++
			continue
		}
		e.All, e.Alone = p.All, k.Changed
		entrants = append(entrants, e)
		c.by[k.ID] = k
	}
	for _, r := range p.Known {
		if r.Agent != "" && (r.Verdict == Pass || r.Verdict == Fail) && (r.Jury == "" || r.Jury == p.Jury) && !p.Fresh {
			key := known{Want{r.Case, r.Side, r.Again}, r.Digest, r.Agent, r.Way}
			c.known[key] = append(c.known[key], r)
		}
	}
	c.trial = NewTrial(entrants, p.Base != nil)
	c.takeOver()
	return c
}

// takeOver counts the first runs that earlier checks have made of this very agent, so that an estimate knows of them.
func (c *check) takeOver() {
	if c.Head.Stamp.Digest == "" {
		return
	}
	for _, k := range c.Cases {
		if c.by[k.ID] == nil {
			continue
		}
		want := Want{k.ID, Head, false}
		for c.trial.open(k.ID) {
			r, ok := c.reuse(want, c.Head)
			if !ok {
				break
			}
			c.trial.Record(want, r.Verdict)
			c.note(r, true)
		}
	}
}

// reuse takes one run of an earlier check.
func (c *check) reuse(w Want, v Version) (Run, bool) {
	key := known{w, c.by[w.Case].Sum, v.Stamp.Digest, v.Way()}
	if v.Stamp.Digest == "" || len(c.known[key]) == 0 {
		return Run{}, false
	}
	r := c.known[key][0]
	c.known[key] = c.known[key][1:]
	c.numbers[w] = max(c.numbers[w], r.Run)
	return r, true
}

func (c *check) note(r Run, reused bool) {
	c.report.Runs = append(c.report.Runs, r)
	if reused {
		c.report.Reused++
		return
	}
	c.made = append(c.made, r)
	c.report.SpentUSD += value(r.CostUSD) + value(r.Asked.USD)
}

// Check runs the plan to its end, or to where its budget or ctx ends. An error is one of storing runs; everything else is in the report.
func (g *Gate) Check(ctx context.Context, p Plan) (Report, error) {
	c := p.begin()
	c.g, c.began = g, time.Now()
	err := c.run(ctx)
	c.report.Took = time.Since(c.began)
	c.report.Outcomes = c.trial.Outcomes(c.report.Cut)
	c.report.Delta = c.delta()
	c.report.Flips = FlipsOf(p.Cases, slices.Concat(p.Known, c.made))
	return c.report, err
}

type finished struct {
	want Want
	run  Run
}

func (c *check) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan finished)
	var failed error
	for under := 0; ; {
		for under < c.g.opt.Jobs && failed == nil {
			want, version, n, ok := c.next(ctx)
			if !ok {
				break
			}
			under++
			go func() { done <- finished{want, c.g.RunOnce(ctx, version, c.by[want.Case], want, n)} }()
		}
		if under == 0 {
			return failed
		}
		d := <-done
		under--
		if d.run.Verdict == NotRun {
			c.stop(d.want, "interrupted")
			continue
		}
		d.run.Check, d.run.N = c.id, c.trial.by[d.want.Case].Terms.N
		c.trial.Record(d.want, d.run.Verdict)
		c.note(d.run, false)
		if c.Keep != nil && failed == nil {
			if failed = c.Keep(d.run); failed != nil {
				c.trial.Stop()
			}
		}
		if c.Progress != nil {
			least, _ := c.trial.Bounds()
			c.Progress(d.run, least)
		}
	}
}

// next is the next run to make. What earlier checks made is taken over on the way.
func (c *check) next(ctx context.Context) (Want, Version, int, bool) {
	for {
		w, state := c.trial.Next()
		if state != Ready {
			return w, Version{}, 0, false
		}
		v, err := c.version(ctx, w.Side)
		if ctx.Err() != nil {
			c.stop(w, "interrupted")
			continue
		}
		if err != nil {
			c.stop(w, fmt.Sprintf("base cannot be run: %v", err))
			continue
		}
		if r, ok := c.reuse(w, v); ok {
			c.trial.Record(w, r.Verdict)
			c.note(r, true)
			continue
		}
		if why := c.spent(ctx); why != "" {
			c.stop(w, why)
			continue
		}
		c.numbers[w]++
		return w, v, c.numbers[w], true
	}
}

func (c *check) stop(w Want, why string) {
	c.trial.Return(w)
	if c.report.Cut == "" {
		c.report.Cut = why
	}
}

// version prepares base once.
func (c *check) version(ctx context.Context, side Side) (Version, error) {
	if side == Head {
		return c.Head, nil
	}
	if c.base == nil {
		v, err := c.Base(ctx)
		if err != nil {
			return Version{}, err
		}
		c.base = &v
	}
	return *c.base, nil
}

// spent says which budget has run out.
func (c *check) spent(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case c.MaxUSD > 0 && c.report.SpentUSD >= c.MaxUSD:
		return fmt.Sprintf("the budget is spent: $%.4g of $%.4g (--max-usd)", c.report.SpentUSD, c.MaxUSD)
	case c.MaxTime > 0 && time.Since(c.began) >= c.MaxTime:
		return fmt.Sprintf("the time is up: %s (--max-minutes)", c.MaxTime)
	}
	return ""
}

// delta compares the first runs with those of the last earlier check of the same cases, of another version of the agent on the default branch, that
// was all green.
func (c *check) delta() *Delta {
	var head Count
	digests := map[string]bool{}
	for _, o := range c.report.Outcomes {
		head = head.plus(o.Head)
		digests[c.by[o.Case].Sum] = true
	}
	before := map[string]*Count{}
	var order []string
	for _, r := range c.Known {
		if r.Side != Head || r.Again || !r.DefaultBranch || r.Dirty || r.Commit == "" || r.Commit == c.Head.Commit || !digests[r.Digest] {
			continue
		}
		if before[r.Commit] == nil {
			before[r.Commit] = &Count{}
			order = append(order, r.Commit)
		}
		before[r.Commit].Add(r.Verdict)
	}
	for _, commit := range slices.Backward(order) {
		if n := before[commit]; n.Valid() > 0 && n.Rate() >= 0.8 {
			d := Compare(head, *n)
			d.Commit = commit
			return &d
		}
	}
	return nil
}
