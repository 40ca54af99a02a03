package gate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Side is the version of the agent that a run is of.
type Side string

// The sides.
const (
	Head Side = "head"
	Base Side = "base"
)

// Want is one run that the trial asks for.
type Want struct {
	Case  string
	Side  Side
	Again bool // one of the fresh runs by which a miss is looked into
}

// Entrant is one case of a trial.
type Entrant struct {
	Case   string
	Terms  Terms
	Blocks bool   // enforced, or quarantined and past its date: a miss may block
	Fixed  bool   // its runs are all that there will be: a miss is final
	All    bool   // all of its N runs are made, decided or not, and no more: for comparing. A miss is final
	Green  *Count // the best runs that the case records; a fall below them blocks a case that does not block otherwise
	Alone  bool   // base holds it otherwise, or not at all: that base misses it too says nothing of base, and excuses no miss
}

// EntrantOf reads the terms of a case. n replaces the case's own number of runs where it is not 0. now decides whether a quarantine is over. A retired
// case takes no part: ok is false.
func EntrantOf(c *regcase.Case, n int, now time.Time) (e Entrant, ok bool) {
	e = Entrant{Case: c.ID, Terms: Terms{N: cmp.Or(n, c.Runs.N, 5), Hard: c.Runs.Mode == "hard", Rate: cmp.Or(c.Runs.Rate, 0.8)}}
	switch c.State.Name {
	case regcase.Retired:
		return e, false
	case regcase.Enforced:
		e.Blocks = true
	case regcase.Quarantined:
		review, err := time.Parse(time.DateOnly, c.State.Review)
		e.Blocks = err != nil || !now.Before(review.AddDate(0, 0, 1))
	}
	if c.Green != nil && c.Green.Of > 0 && c.State.Name != regcase.Quarantined { // which is set aside until its date
		e.Green = &Count{Passed: c.Green.Passed, Failed: c.Green.Of - c.Green.Passed}
	}
	return e, true
}

// Rules of the comparison. A trial raises a false alarm over an unchanged agent in at most 1 of 100 checks, whatever the size of the set: a case that
// misses is run afresh on both sides, the runs that put it under suspicion do not count (they were picked for being bad), and Holm's correction is over
// the suspects. The looks share the 1 %.
const looks = 3

var (
	lookRuns  = [looks]int{10, 20, 40} // fresh runs of each side by that look; only what may yet turn out worse goes on to the next
	lookAlpha = [looks]float64{0.003, 0.003, 0.004}
)

// Word is what a trial says of a case.
type Word string

// The words. Flaky: it missed and fresh runs do not confirm it. Regression: head is worse than base, or than the case's own green runs. Drift: base
// misses too. Unsure: base does better, and so few runs cannot tell that from chance. Miss: it misses and does not block. Undecided: too few valid runs.
const (
	Passing    Word = "pass"
	Flaky      Word = "flaky"
	Regression Word = "regression"
	Drift      Word = "drift"
	Unsure     Word = "unsure"
	Miss       Word = "miss"
	Undecided  Word = "undecided"
)

// Outcome is the result of one case.
type Outcome struct {
	Case   string  `json:"case"`
	Word   Word    `json:"outcome"`
	Blocks bool    `json:"blocks"` // this outcome fails the check
	Holds  bool    `json:"holds"`  // the case is one that may block, so that undecided is no success
	Why    string  `json:"why"`
	Head   Count   `json:"head"`
	Again  Count   `json:"again"`
	Base   Count   `json:"base"`
	P      float64 `json:"p"` // of the exact test; 1 where there was none
}

// Trial decides which runs are still needed, and what they say. It is pure: give it what [Trial.Next] asked for, in any order. It is not safe for
// concurrent use.
type Trial struct {
	look    int // 0: the first runs; then 1 to looks
	from    int // of all: what is before it wants nothing more in this look
	flagged int
	all     []*series
	by      map[string]*series
	stopped bool
}

type series struct {
	Entrant
	against bool     // there is a base to compare it with
	runs    [3]tally // first, again, base
	out     Outcome
	done    bool
	suspect bool
}

type tally struct {
	Count
	pending int
}

// NewTrial starts a trial of the entrants, in their order. against says that base can be run too.
func NewTrial(entrants []Entrant, against bool) *Trial {
	t := &Trial{by: map[string]*series{}}
	for _, e := range entrants {
		if e.Alone && !e.Blocks {
			e.Green = nil // of the case as it was
		}
		s := &series{Entrant: e, against: against && !e.Alone}
		s.out = Outcome{Case: e.Case, Holds: e.Blocks, P: 1}
		t.all = append(t.all, s)
		t.by[e.Case] = s
	}
	return t
}

func (s *series) tally(side Side, again bool) *tally {
	switch {
	case side == Base:
		return &s.runs[2]
	case again:
		return &s.runs[1]
	}
	return &s.runs[0]
}

// State says how a trial stands.
type State uint8

// The states of a trial: Ready, with a Want; Wait for runs under way; it is Over.
const (
	Ready State = iota
	Wait
	Over
)

// Next asks for one more run. What it asked for is under way until [Trial.Record] or [Trial.Return].
func (t *Trial) Next() (Want, State) {
	for !t.stopped {
		waiting := false
		for _, s := range t.all[t.from:] {
			want, state := t.nextOf(s)
			if state == Ready {
				s.tally(want.Side, want.Again).pending++
				return want, Ready
			}
			waiting = waiting || state == Wait
			if !waiting {
				t.from++
			}
		}
		if waiting {
			return Want{}, Wait
		}
		if t.turn() {
			return Want{}, Over
		}
	}
	return Want{}, Over
}

func (t *Trial) nextOf(s *series) (Want, State) {
	if s.Fixed {
		return Want{}, Over
	}
	if t.look == 0 {
		first := s.tally(Head, false)
		if s.All {
			if first.Runs()+first.pending < s.Terms.N {
				return Want{s.Case, Head, false}, Ready
			}
			return Want{}, busy(first)
		}
		standing, need := s.Terms.standing(first.Count)
		if standing == open && first.pending < need {
			return Want{s.Case, Head, false}, Ready
		}
		return Want{}, busy(first)
	}
	if s.done || !s.suspect {
		return Want{}, Over
	}
	again := s.tally(Head, true)
	if again.Runs()+again.pending < t.target(s) {
		return Want{s.Case, Head, true}, Ready
	}
	if again.pending > 0 {
		return Want{}, Wait
	}
	base := s.tally(Base, true)
	if s.against && !t.settled(s) && base.Runs()+base.pending < t.target(s) {
		return Want{s.Case, Base, true}, Ready
	}
	return Want{}, busy(base)
}

func busy(t *tally) State {
	if t.pending > 0 {
		return Wait
	}
	return Over
}

// target is how many fresh runs of a side this look wants.
func (t *Trial) target(s *series) int {
	if !s.against && s.Blocks {
		return s.Terms.N
	}
	return lookRuns[t.look-1]
}

// settled says that the fresh runs of head are good, and so much so that no base could make them look bad.
func (t *Trial) settled(s *series) bool {
	again := s.tally(Head, true).Count
	return s.meets(again) && worse(again, Count{Passed: again.Runs()}) > lookAlpha[t.look-1]
}

// meets says that fresh runs are what the case asks for.
func (s *series) meets(c Count) bool {
	rate := s.Terms.Rate
	if s.Terms.Hard {
		rate = 1
	}
	return 2*c.Valid() > c.Runs() && c.Rate() >= rate-slack
}

// turn goes on to the next look and says whether the trial is over.
func (t *Trial) turn() bool {
	if t.look == 0 {
		t.screen()
	} else {
		t.judge()
	}
	t.look++
	t.from = 0
	return t.look > looks || !slices.ContainsFunc(t.all, func(s *series) bool { return !s.done })
}

// screen ends the first runs: what met its terms is done, what did not is suspected where it matters.
func (t *Trial) screen() {
	for _, s := range t.all {
		first := s.tally(Head, false).Count
		standing, _ := s.Terms.standing(first)
		fell := s.Green != nil && first.Rate() < s.Green.Rate() && worse(first, *s.Green) <= 0.25
		switch {
		case standing == void:
			s.end(Undecided, fmt.Sprintf("%d of %d runs were valid", first.Valid(), first.Runs()))
		case s.Blocks && standing == missed && (s.Fixed || s.All):
			s.end(Regression, fmt.Sprintf("passed %d of %d", first.Passed, first.Valid()))
		case s.Blocks && standing == missed && s.Terms.Hard && !s.against:
			s.end(Regression, "every run must pass")
		case (s.Fixed || s.All) && standing == missed:
			s.end(Miss, "still fails: it does not block before it is enforced")
		case s.Blocks && standing == missed, !s.Blocks && fell:
			s.suspect = true
			t.flagged++
		case standing == missed:
			s.end(Miss, "still fails, as recorded: it does not block before it is enforced")
		default:
			s.end(Passing, "")
		}
	}
}

// judge ends a look: it decides what can be decided.
func (t *Trial) judge() {
	var tested []*series
	var ps []float64
	for _, s := range t.all {
		if s.done {
			continue
		}
		again := s.tally(Head, true).Count
		switch {
		case 2*again.Valid() <= again.Runs():
			s.end(Undecided, fmt.Sprintf("%d of %d fresh runs were valid", again.Valid(), again.Runs()))
		case s.against && t.settled(s):
			s.end(Flaky, "missed, and fresh runs are good")
		case !s.against && s.Blocks:
			t.confirm(s)
		default:
			reference := s.reference()
			if 2*reference.Valid() <= reference.Runs() {
				s.end(Undecided, fmt.Sprintf("%d of %d runs of base were valid", reference.Valid(), reference.Runs()))
				continue
			}
			s.out.P = worse(again, reference)
			tested, ps = append(tested, s), append(ps, s.out.P)
		}
	}
	for i, bad := range holm(ps, t.flagged, lookAlpha[t.look-1]) {
		t.conclude(tested[i], bad)
	}
}

// reference is what the fresh runs of head are compared with.
func (s *series) reference() Count {
	if s.against {
		return s.tally(Base, true).Count
	}
	return *s.Green
}

// confirm decides without a base: all runs of head together must be what the case asks for.
func (t *Trial) confirm(s *series) {
	both := s.tally(Head, false).plus(s.tally(Head, true).Count)
	if s.meets(both) {
		s.end(Flaky, "missed, and with as many runs again it does not")
		return
	}
	if s.Alone {
		s.end(Regression, "missed, and runs again confirm it; the case is new or asserts something else than at base, so that base excuses nothing")
		return
	}
	s.end(Regression, "missed, and runs again confirm it; name a base to tell a regression from drift of the model")
}

func (t *Trial) conclude(s *series, bad bool) {
	again, reference := s.tally(Head, true).Count, s.reference()
	than := "its own green runs"
	if s.against {
		than = "base"
	}
	hopeless := again.Rate() >= reference.Rate()-0.1
	switch {
	case bad:
		s.end(Regression, fmt.Sprintf("worse than %s: passed %d of %d, not %d of %d (p = %.2g)", than, again.Passed, again.Valid(), reference.Passed, reference.Valid(), s.out.P))
	case t.look < looks && !hopeless: // the next look sees more
	case s.meets(again):
		s.end(Flaky, "missed, and fresh runs are good")
	case s.against && !s.meets(reference):
		s.end(Drift, fmt.Sprintf("base misses too (%d of %d): the model or a provider has moved", reference.Passed, reference.Valid()))
	default:
		s.end(Unsure, fmt.Sprintf("passed %d of %d, %s %d of %d: so few runs cannot tell that from chance (p = %.2g)", again.Passed, again.Valid(), than,
			reference.Passed, reference.Valid(), s.out.P))
	}
}

func (s *series) end(w Word, why string) {
	s.done = true
	s.out.Word, s.out.Why, s.out.Blocks = w, why, w == Regression
}

// Record takes the verdict of a run that was asked for, or of one that an earlier check made.
func (t *Trial) Record(w Want, v Verdict) {
	s := t.by[w.Case]
	if s == nil {
		return
	}
	c := s.tally(w.Side, w.Again)
	c.pending = max(0, c.pending-1)
	c.Add(v)
}

// Return gives back a run that was asked for and will not be made, and ends the trial: what is not decided stays so.
func (t *Trial) Return(w Want) {
	if s := t.by[w.Case]; s != nil {
		c := s.tally(w.Side, w.Again)
		c.pending = max(0, c.pending-1)
	}
	t.Stop()
}

// Stop ends the trial where it stands.
func (t *Trial) Stop() { t.stopped = true }

// Outcomes are the results, in the order of the entrants. Why says of what is not decided how it was cut short.
func (t *Trial) Outcomes(cut string) []Outcome {
	out := make([]Outcome, len(t.all))
	for i, s := range t.all {
		if !s.done {
			first := s.tally(Head, false).Count
			if standing, _ := s.Terms.standing(first); t.look == 0 && standing == met {
				s.end(Passing, "")
			} else {
				s.end(Undecided, cut)
			}
		}
		s.out.Head, s.out.Again, s.out.Base = s.tally(Head, false).Count, s.tally(Head, true).Count, s.tally(Base, true).Count
		out[i] = s.out
	}
	return out
}

// open says that a case's first runs have not decided yet.
func (t *Trial) open(id string) bool {
	s := t.by[id]
	if s.All {
		return s.tally(Head, false).Runs() < s.Terms.N
	}
	standing, _ := s.Terms.standing(s.tally(Head, false).Count)
	return standing == open
}

// Bounds are how many runs the trial makes at least and, of those that no miss asks for, at most.
func (t *Trial) Bounds() (least, most int) {
	for _, s := range t.all {
		l, m := s.bounds()
		least, most = least+l, most+m
	}
	return least, most
}

func (s *series) bounds() (least, most int) {
	first := s.tally(Head, false).Count
	left := max(0, s.Terms.N-first.Runs())
	if s.All {
		return left, left
	}
	if standing, need := s.Terms.standing(first); standing == open {
		return need, left
	}
	return 0, 0
}

// left is how many first runs a case may still take.
func (t *Trial) left(id string) int {
	_, most := t.by[id].bounds()
	return most
}
