// Package sight tells what pawl can see of a service and what not: which emitters speak, how far each fact is told, which rules could not judge,
// what is wrong with the telemetry, and the one setting that would mend it.
//
// Look reads one trace, Service adds traces up, Examine says what to do. All three are pure: the offline commands and the running service give the
// same answer for the same traces. A Service is bounded, so that it can be kept as one value of a bucket: of very many emitters or remedies the rarest
// give way.
package sight

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Oddity is something wrong with how a trace was recorded.
type Oddity string

// The oddities, each counted by traces that show it.
const (
	Orphans    Oddity = "orphans"    // spans whose parent never came
	Unfinished Oddity = "unfinished" // spans that never ended
	Dropped    Oddity = "dropped"    // the SDK dropped attributes, events or links
	CutThere   Oddity = "cut_there"  // a limit of the sender's cut values
	CutHere    Oddity = "cut_here"   // pawl cut the trace or a span
	Unplaced   Oddity = "unplaced"   // content records that fit no call
	Spanless   Oddity = "spanless"   // content records of spans that never came
	Sampled    Oddity = "sampled"    // a span says that others were not kept
	Doubled    Oddity = "doubled"    // two instrumentations describe one model call
	Skewed     Oddity = "skewed"     // clocks disagree
	Backward   Oddity = "backward"   // spans end before they start
	RunID      Oddity = "run_id"     // the conversation's id is that of one run or answer
)

// Trace is what one trace shows, small enough to go with its verdict.
type Trace struct {
	Emitters []trajectory.Emitter `json:"emitters"` // at most maxEmitters
	Facts    []trajectory.Share   `json:"facts"`
	Oddities []Oddity             `json:"oddities"`
	Pairs    []string             `json:"pairs"`   // scopes that describe one call, "a + b"
	Session  string               `json:"session"` // a digest of the session's id, "" when there is none
}

// Look reads one trace.
func Look(t *trajectory.Trajectory) Trace {
	w := &t.Telemetry
	out := Trace{Emitters: clipEmitters(w.Emitters), Facts: []trajectory.Share{}, Oddities: oddities(t), Pairs: []string{}}
	for _, s := range t.Facts {
		s.Remedy = Clip(s.Remedy, MaxRemedy)
		out.Facts = append(out.Facts, s)
	}
	for _, p := range w.DoubledBy[:min(len(w.DoubledBy), maxPairs)] {
		out.Pairs = append(out.Pairs, Clip(p, 2*maxName))
	}
	if t.SessionID != "" {
		sum := sha256.Sum256([]byte(t.SessionID))
		out.Session = hex.EncodeToString(sum[:6])
	}
	return out
}

func clipEmitters(es []trajectory.Emitter) []trajectory.Emitter {
	out := []trajectory.Emitter{}
	for _, e := range es[:min(len(es), maxEmitters)] {
		out = append(out, trajectory.Emitter{Dialect: e.Dialect, Scope: Clip(e.Scope, maxName), Version: Clip(e.Version, maxName)})
	}
	return out
}

func oddities(t *trajectory.Trajectory) []Oddity {
	out := []Oddity{}
	w, c := &t.Telemetry, &t.Complete
	for _, o := range []struct {
		so   bool
		name Oddity
	}{
		{w.Orphans > 0, Orphans}, {c.Unfinished > 0, Unfinished}, {c.Dropped > 0, Dropped}, {w.Cut > 0, CutHere},
		{c.Truncated && w.Cut == 0, CutThere}, {w.Unplaced > 0, Unplaced}, {w.Spanless > 0, Spanless}, {w.Sampled, Sampled},
		{w.Doubled > 0, Doubled}, {w.Skewed > 0, Skewed}, {w.Backward > 0, Backward}, {w.RunID, RunID},
	} {
		if o.so {
			out = append(out, o.name)
		}
	}
	return out
}

// The bounds of a Service, in entries and bytes.
const (
	MaxRemedy   = 400
	maxName     = 80
	maxEmitters = 12
	maxPairs    = 4
	maxBlind    = 40
	maxRules    = 60
)

// Service is what was seen of one service. The zero value with a Name is one of which nothing was seen.
type Service struct {
	Name     string         `json:"name"`     // service.name, "" when its traces have none
	Examined int            `json:"examined"` // traces; one that late spans opened again counts again
	Emitters []Emitter      `json:"emitters"` // by name
	Facts    []Fact         `json:"facts"`    // in the order of trajectory.AllFacts
	Blind    []Blind        `json:"blind"`    // the most frequent first
	Unjudged map[string]int `json:"unjudged"` // by rule: the traces that it could not judge
	Oddities map[Oddity]int `json:"oddities"` // traces that show them
	Pairs    []string       `json:"pairs"`
	Sessions Sessions       `json:"sessions"`
}

// Emitter is an instrumentation and the traces in which it speaks.
type Emitter struct {
	trajectory.Emitter
	Traces int `json:"traces"`
}

// Fact is how far a service tells a fact: Seen of Of (in the fact's unit), Lacking of the Traces where it could be.
type Fact struct {
	Fact    trajectory.Fact `json:"fact"`
	Seen    int             `json:"seen"`
	Of      int             `json:"of"`
	Lacking int             `json:"lacking"` // traces that tell nothing of it
	Traces  int             `json:"traces"`  // traces in which it could be
	Remedy  string          `json:"remedy"`  // the latest, "" where nothing is lacking
}

// Blind says how often rules could not see for want of a fact, and what would supply it.
type Blind struct {
	Missing trajectory.Fact `json:"missing"`
	Remedy  string          `json:"remedy"`
	Rules   []string        `json:"rules"` // sorted
	Count   int             `json:"count"` // judgements: one a rule and trace
}

// Sessions is what the ids of conversations look like.
type Sessions struct {
	First  string `json:"first"`  // the digest of the first id
	Same   int    `json:"same"`   // traces that carry it
	Others int    `json:"others"` // traces that carry another
}

// Take adds a trace with what the rules could not judge.
func (s *Service) Take(t Trace, unjudged []classify.Inapplicable) {
	s.Examined++
	for _, e := range t.Emitters {
		s.emitter(e)
	}
	for _, f := range t.Facts {
		s.fact(f)
	}
	for _, in := range unjudged {
		s.blind(in)
	}
	slices.SortStableFunc(s.Blind, func(x, y Blind) int { return cmp.Compare(y.Count, x.Count) })
	for _, o := range t.Oddities {
		if s.Oddities == nil {
			s.Oddities = map[Oddity]int{}
		}
		s.Oddities[o]++
	}
	for _, p := range t.Pairs {
		if len(s.Pairs) < maxPairs && !slices.Contains(s.Pairs, p) {
			s.Pairs = append(s.Pairs, p)
		}
	}
	switch {
	case t.Session == "":
	case s.Sessions.First == "" || s.Sessions.First == t.Session:
		s.Sessions.First = t.Session
		s.Sessions.Same++
	default:
		s.Sessions.Others++
	}
}

func (s *Service) emitter(e trajectory.Emitter) {
	i, found := slices.BinarySearchFunc(s.Emitters, e, func(x Emitter, e trajectory.Emitter) int { return x.Compare(e) })
	if found {
		s.Emitters[i].Traces++
		return
	}
	if len(s.Emitters) >= maxEmitters {
		rarest := slices.MinFunc(s.Emitters, func(x, y Emitter) int { return cmp.Compare(x.Traces, y.Traces) })
		s.Emitters = slices.DeleteFunc(s.Emitters, func(x Emitter) bool { return x == rarest })
		i, _ = slices.BinarySearchFunc(s.Emitters, e, func(x Emitter, e trajectory.Emitter) int { return x.Compare(e) })
	}
	s.Emitters = slices.Insert(s.Emitters, i, Emitter{e, 1})
}

func (s *Service) fact(f trajectory.Share) {
	all := trajectory.AllFacts()
	order := func(f trajectory.Fact) int { return slices.Index(all, f) }
	i, found := slices.BinarySearchFunc(s.Facts, f.Fact, func(x Fact, f trajectory.Fact) int { return cmp.Compare(order(x.Fact), order(f)) })
	if !found {
		s.Facts = slices.Insert(s.Facts, i, Fact{Fact: f.Fact})
	}
	at := &s.Facts[i]
	at.Seen, at.Of, at.Traces = at.Seen+f.Seen, at.Of+f.Of, at.Traces+1
	if f.Seen == 0 {
		at.Lacking++
	}
	at.Remedy = cmp.Or(f.Remedy, at.Remedy)
}

func (s *Service) blind(in classify.Inapplicable) {
	if s.Unjudged == nil {
		s.Unjudged = map[string]int{}
	}
	if _, known := s.Unjudged[in.Rule]; known || len(s.Unjudged) < maxRules {
		s.Unjudged[in.Rule]++
	}
	remedy := Clip(in.Remedy, MaxRemedy)
	i := slices.IndexFunc(s.Blind, func(b Blind) bool { return b.Missing == in.Missing && b.Remedy == remedy })
	if i < 0 {
		if len(s.Blind) >= maxBlind {
			s.Blind = s.Blind[:maxBlind-1] // sorted: the rarest gives way
		}
		s.Blind, i = append(s.Blind, Blind{Missing: in.Missing, Remedy: remedy}), len(s.Blind)
	}
	b := &s.Blind[i]
	b.Count++
	if at, found := slices.BinarySearch(b.Rules, in.Rule); !found {
		b.Rules = slices.Insert(b.Rules, at, in.Rule)
	}
}

// Dialects names the dialects that the service speaks, sorted.
func (s *Service) Dialects() (out []string) {
	for _, e := range s.Emitters {
		out = append(out, e.Dialect)
	}
	return slices.Compact(out) // sorted by dialect first
}

// Clip bounds a text, in bytes, and takes out what would make it larger again once it is written: control characters.
func Clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s[:min(len(s), 2*n)])
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
