package rule

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// effects is what the rules about effects look at together: the trajectory seen as effects.
type effects struct {
	in *classify.Input
	t  *trajectory.Trajectory
	effect.History
	replies replies
}

// replies read the reply of each turn, once it is asked for.
type replies []func() effect.Reply

func effectsOf(in *classify.Input) effects {
	follow := func(in *classify.Input) effect.History { return effect.Follow(in.Trajectory, in.Catalog) }
	read := func(in *classify.Input) (out replies) {
		for _, turn := range classify.Shared(in, follow).Turns {
			out = append(out, sync.OnceValue(func() effect.Reply { return effect.Read(turn.Reply) }))
		}
		return out
	}
	return effects{in: in, t: in.Trajectory, History: classify.Shared(in, follow), replies: classify.Shared(in, read)}
}

// reply is what a turn was answered with, read.
func (e *effects) reply(turn int) effect.Reply { return e.replies[turn]() }

// tool says what the called tool does.
func (e *effects) tool(i int) effect.Tool {
	if tool, ok := e.Tools[i]; ok {
		return tool
	}
	return effect.ToolOf(e.t, e.in.Catalog, &e.t.ToolCalls[i])
}

// fate says what became of a call.
func (e *effects) fate(i int) effect.Fate {
	if fate, ok := e.Fates[i]; ok {
		return fate
	}
	return effect.OutcomeOf(&e.t.ToolCalls[i], e.tool(i).Writes()).Fate
}

// calls are the tool calls of the turns from one to another, in order.
func (e *effects) calls(from, to int) (out []int) {
	for _, t := range e.Turns[from : to+1] {
		out = append(out, t.Calls...)
	}
	return out
}

// ours says that the effect is one of the team's tools.
func ours(x *effect.Effect) bool { return !pseudo(x.Tool.Name) }

// broughtAbout says that the effect may have been brought about by something else up to that turn: a call of the same kind that worked or of which the
// outcome is not in the data, or, later, one of a tool of which nobody knows what it does, or another agent.
func (e *effects) broughtAbout(x *effect.Effect, turn int) bool {
	last := x.Last()
	if slices.ContainsFunc(e.t.Handoffs, func(h trajectory.Handoff) bool { return h.Start.After(e.t.ToolCalls[last.Call].Start) }) {
		return true
	}
	later := false
	for _, i := range e.calls(x.Turn, turn) {
		if i == last.Call {
			later = true
			continue
		}
		c, tool := &e.t.ToolCalls[i], e.tool(i)
		if later && handoff(c.Name) {
			return true
		}
		if pseudo(c.Name) || tool.Reads() {
			continue
		}
		done := e.fate(i) == effect.Done
		kin := tool.Name == x.Tool.Name || tool.Verb != nil && tool.Verb == x.Tool.Verb
		if kin && done && toldApart(&e.t.ToolCalls[last.Call], c, e.Turns[turn].Reply) {
			continue
		}
		if kin && (done || e.fate(i) == effect.Unseen || e.fate(i) == effect.Lost) || later && done && !tool.Writes() {
			return true
		}
	}
	return false
}

// toldApart says that the reply names both the thing of the failed call and that of the one which worked, such as two order numbers: then
// it claims the two, and not one in other words.
func toldApart(failed, worked *trajectory.ToolCall, reply string) bool {
	low := strings.ToLower(reply)
	for k, v := range effect.ByKey(failed) {
		w := effect.ByKey(worked)[k]
		if w != "" && v != w && likeness(v) == likeness(w) && strings.Contains(low, v) && strings.Contains(low, w) {
			return true
		}
	}
	return false
}

var letterRuns, numberRuns = regexp.MustCompile(`\pL+`), regexp.MustCompile(`\d+`)

// likeness is the shape of a value: ORD-10231 and ORD-20417 are alike.
func likeness(v string) string {
	return numberRuns.ReplaceAllString(letterRuns.ReplaceAllString(v, "a"), "0")
}

// replaced says that another writing call to the same kind of thing, with a value of the arguments in common, worked: another way to the same end.
func (e *effects) replaced(x *effect.Effect, turn int) bool {
	return slices.ContainsFunc(e.calls(x.Turn, turn), func(i int) bool {
		tool := e.tool(i)
		alike := slices.ContainsFunc(tool.Objects, func(w string) bool { return slices.Contains(x.Tool.Objects, w) })
		return tool.Writes() && alike && e.fate(i) == effect.Done && effect.Share(&e.t.ToolCalls[i], &e.t.ToolCalls[x.Last().Call])
	})
}

// anyDone says that some writing call since the effect worked, or may have: then what is "done" may be that.
func (e *effects) anyDone(x *effect.Effect, turn int) bool {
	return slices.ContainsFunc(e.calls(x.Turn, turn), func(i int) bool {
		f := e.fate(i)
		return !e.tool(i).Reads() && (f == effect.Done || f == effect.Unseen)
	})
}

// done are the verbs of other kinds whose writing calls since the effect worked: what the answer says in their words is true of them.
func (e *effects) done(x *effect.Effect, turn int) []*effect.Verb {
	var out []*effect.Verb
	for _, i := range e.calls(x.Turn, turn) {
		if tool := e.tool(i); tool.Writes() && tool.Verb != nil && tool.Verb != x.Tool.Verb && e.fate(i) == effect.Done {
			out = append(out, tool.Verb)
		}
	}
	return out
}

// claimOf returns the first turn, of the effect's own and those after it, whose answer claims the effect, and how. In a later turn only the
// effect's own verb counts, and nothing does once the user spoke of it as done or the agent took to another effect of that kind. It
// returns NoClaim when no answer claims it.
func (e *effects) claimOf(x *effect.Effect) (effect.Claim, int) {
	for turn := x.Turn; turn < len(e.Turns); turn++ {
		if turn > x.Turn && (x.Tool.Verb == nil || x.Tool.Verb.Reported(e.Turns[turn].Said) || e.takenUp(x.Tool.Verb, turn)) {
			break
		}
		claim, word := e.reply(turn).Claims(x.Tool.Verb, e.done(x, turn)...)
		if claim == effect.Named && e.said(x, word) {
			claim = effect.NoClaim
		}
		if claim != effect.Named && x.Tool.Thing != nil && turn == x.Turn {
			if by, _ := e.reply(turn).Claims(x.Tool.Thing, e.done(x, turn)...); by == effect.Named {
				claim = by
			}
		}
		if claim == effect.Named || claim == effect.Plain && turn == x.Turn && !e.anyDone(x, turn) {
			return claim, turn
		}
	}
	return effect.NoClaim, x.Turn
}

// denying are words before a participle by which it did not come about.
var denying = regexp.MustCompile(`(not|n['’]t|cannot|never|unable|fail\w*|nicht|kein\w*|pas|no)\b[^.;]*$`)

// said says that the tool's own answer to the last attempt states what the word states: "order is already cancelled", "contact is locked". Then
// the agent reports it.
func (e *effects) said(x *effect.Effect, word string) bool {
	c := &e.t.ToolCalls[x.Last().Call]
	text := c.Result.Raw
	if c.Error != nil {
		text += " . " + c.Error.Message
	}
	low := strings.ToLower(text[:min(len(text), phraseWindow)])
	at := regexp.MustCompile(`(?:^|[^\pL_])` + regexp.QuoteMeta(word) + `(?:$|[^\pL_])`).FindStringIndex(low)
	return at != nil && !denying.MatchString(low[:at[0]])
}

// takenUp says that the turn has an effect of this verb.
func (e *effects) takenUp(v *effect.Verb, turn int) bool {
	return slices.ContainsFunc(e.Turns[turn].Effects, func(i int) bool { return e.Effects[i].Tool.Verb == v })
}

// claimSpan is the span that shows a turn's answer.
func (e *effects) claimSpan(turn int) string {
	if s := e.Turns[turn].Step; s >= 0 && e.t.Steps[s].SpanID != "" {
		return e.t.Steps[s].SpanID
	}
	if n := len(e.t.ModelCalls); n > 0 {
		return e.t.ModelCalls[n-1].SpanID
	}
	return ""
}

// claimStep is the step of a turn's answer, else the last step that there is.
func (e *effects) claimStep(turn int) int {
	if s := e.Turns[turn].Step; s >= 0 {
		return s
	}
	return len(e.t.Steps) - 1
}

// callSpan is the span that shows what became of a call.
func callSpan(c *trajectory.ToolCall) string {
	return firstOf(c.ResultSpanID, c.SpanID, c.RequestSpanID)
}

// named says that a value of the call's arguments stands in the reply.
func named(c *trajectory.ToolCall, reply string) bool {
	low := strings.ToLower(reply)
	return slices.ContainsFunc(effect.Values(c), func(v string) bool { return len(v) >= 4 && strings.Contains(low, v) })
}

// spelled says how a claim is made.
func spelled(c effect.Claim, tool string) string {
	if c == effect.Named {
		return "says that what " + tool + " does was done"
	}
	return "says that all is done"
}
