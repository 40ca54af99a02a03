// Package effect follows what an agent's writing calls do to the world. A call is an attempt at an effect; the effect is the tool, its arguments and
// the user's turn that it serves, never the id of the call. What is known of it after each attempt and each reading is a State:
//
//	intended -> sent | confirmed | refused | failed | unknown | never run
//	unknown  -> verified (something read that may show it) -> resent after a readback
//	unknown  -> resent blind
//
// An outcome is unknown when the failure may have come after the request was on its way: then the effect may be there or not. It is refused
// when the answer says that nothing was done, and failed when an answer says that it went wrong.
//
// The package is pure: a trajectory and a catalog in, a list of effects out, in the order in which they began.
package effect

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// State is what is known of an effect.
type State string

// The states. Sent: the data does not tell what became of it.
const (
	Intended  State = "intended"
	Sent      State = "sent"
	Confirmed State = "confirmed"
	Refused   State = "refused"
	Failed    State = "failed"
	NeverRun  State = "never_run"
	Unknown   State = "unknown"
	Verified  State = "verified"
)

// Effect is one thing that an agent meant to do to the world.
type Effect struct {
	Tool     Tool
	Turn     int // of the user: how many messages of the user came before it
	State    State
	Attempts []Attempt
	Resent   []Resend // attempts made while the outcome of the one before was unknown, or had been and was read back
}

// Attempt is one call that tries to bring the effect about.
type Attempt struct {
	Call int // index into Trajectory.ToolCalls
	Step int // index into Trajectory.Steps, -1 when no step shows it
	Outcome
}

// Resend is a second attempt at an effect whose first had an unknown outcome.
type Resend struct {
	First, Second Attempt
	Blind         bool // nothing was read between them that could have shown the effect
}

// Last is the effect's last attempt.
func (e *Effect) Last() Attempt { return e.Attempts[len(e.Attempts)-1] }

// Turn is what happened between one message of the user and the next.
type Turn struct {
	Effects []int  // those that began in it, as indexes into History.Effects
	Calls   []int  // all its tool calls, in order
	Reply   string // what the agent answered at its end, "" when the data does not tell
	Step    int    // of that answer, -1 when there is none
	Said    string // what the user said at its beginning
}

// History is the whole trajectory, seen as effects.
type History struct {
	Effects []Effect
	Turns   []Turn
	Tools   map[int]Tool // by call: what was called, of those that steps show
	Fates   map[int]Fate // by call: what became of it
	Unsure  []int        // calls whose arguments are not known: no effect can be told from another
}

// Follow reads a trajectory.
func Follow(t *trajectory.Trajectory, c *catalog.Catalog) History {
	f := follower{t: t, catalog: c, open: map[key]int{}, h: History{Tools: map[int]Tool{}, Fates: map[int]Fate{}}}
	f.turn(-1, "")
	for i, s := range t.Steps {
		switch s.Kind {
		case trajectory.StepUser:
			f.turn(i, s.Text)
		case trajectory.StepTool:
			f.call(s.Index, i)
		case trajectory.StepReply:
			f.now().Reply, f.now().Step = s.Text, i
		}
	}
	if last := f.now(); t.Reply != nil && last.Step < 0 {
		last.Reply = *t.Reply
	}
	return f.h
}

// key is what makes two calls attempts at the same effect.
type key struct {
	turn            int
	tool, arguments string
}

type follower struct {
	t       *trajectory.Trajectory
	catalog *catalog.Catalog
	h       History
	open    map[key]int
}

func (f *follower) now() *Turn { return &f.h.Turns[len(f.h.Turns)-1] }

// turn begins a new one; messages of the user that follow each other are one.
func (f *follower) turn(step int, said string) {
	if step >= 0 && len(f.now().Calls) == 0 && f.now().Step < 0 {
		f.now().Said = strings.TrimSpace(f.now().Said + "\n" + said)
		return
	}
	f.h.Turns = append(f.h.Turns, Turn{Step: -1, Said: said})
}

func (f *follower) call(i, step int) {
	c := &f.t.ToolCalls[i]
	now := f.now()
	now.Calls = append(now.Calls, i)
	tool := ToolOf(f.t, f.catalog, c)
	a := Attempt{Call: i, Step: step, Outcome: OutcomeOf(c, tool.Writes())}
	f.h.Tools[i], f.h.Fates[i] = tool, a.Fate
	if !tool.Writes() {
		if a.Fate == Done {
			f.readback(c, tool)
		}
		return
	}
	arguments, ok := identity(c)
	if !ok {
		f.h.Unsure = append(f.h.Unsure, i)
	}
	turn := len(f.h.Turns) - 1
	k := key{turn, strings.ToLower(catalog.Normalise(c.Name)), arguments}
	at, known := f.open[k]
	if !known || !ok {
		at = len(f.h.Effects)
		f.h.Effects = append(f.h.Effects, Effect{Tool: tool, Turn: turn, State: Intended})
		now.Effects = append(now.Effects, at)
		if ok {
			f.open[k] = at
		}
	}
	f.attempt(&f.h.Effects[at], a)
}

// attempt moves an effect on. What was confirmed stays so, whatever later attempts say.
func (f *follower) attempt(e *Effect, a Attempt) {
	if len(e.Attempts) > 0 && (e.State == Unknown || e.State == Verified) && f.after(e.Last(), a) {
		e.Resent = append(e.Resent, Resend{First: e.Last(), Second: a, Blind: e.State == Unknown})
	}
	e.Attempts = append(e.Attempts, a)
	if e.State != Confirmed {
		e.State = a.Fate.state()
	}
}

// after says that the second attempt was made after the first was over, and is not another view of it or a call beside it. Calls that are
// only remembered belong to a trace that is not this one.
func (f *follower) after(first, second Attempt) bool {
	a, b := &f.t.ToolCalls[first.Call], &f.t.ToolCalls[second.Call]
	if a.Recalled || b.Recalled {
		return false
	}
	if a.Requested && b.Requested && a.Model == b.Model && a.Model >= 0 && (a.ID == "" || a.ID != b.ID) {
		return false // asked for together
	}
	if a.Model != b.Model && a.Model >= 0 && b.Model >= 0 {
		return true
	}
	return !a.End.IsZero() && !b.Start.Before(a.End)
}

// readback marks what a reading may have shown: effects of the turn that share a value of the arguments, or a word of the tool's name. A tool of
// which nobody knows what it does may have read anything.
func (f *follower) readback(c *trajectory.ToolCall, tool Tool) {
	for _, at := range f.now().Effects {
		e := &f.h.Effects[at]
		if e.State == Unknown && (!tool.Reads() || related(tool, e.Tool, c, &f.t.ToolCalls[e.Last().Call])) {
			e.State = Verified
		}
	}
}

func related(a, b Tool, ca, cb *trajectory.ToolCall) bool {
	if slices.ContainsFunc(a.Objects, func(w string) bool { return slices.Contains(b.Objects, w) }) {
		return true
	}
	return Share(ca, cb)
}

// Share says that the two calls have a value of their arguments in common that names a thing: a text or a number of three signs and more.
func Share(a, b *trajectory.ToolCall) bool {
	have := Values(a)
	return slices.ContainsFunc(Values(b), func(v string) bool { return slices.Contains(have, v) })
}
