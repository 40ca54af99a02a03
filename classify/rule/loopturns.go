package rule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// round is what one agent did between two words of the user's.
type round struct {
	text  string // what the user said before
	calls []int
}

// said is what the user said before, read: it takes its time, and most rounds need none.
func (l *looper) said(r *round) classify.Said {
	s, ok := l.words[r.text]
	if !ok {
		s = classify.SaidOf(r.text)
		l.words[r.text] = s
	}
	return s
}

// rut is a call that an agent makes in vain, turn after turn. A turn without anything of that call is not in it, and does not end it.
type rut struct {
	key    string
	vain   classify.Vain
	answer string
	rounds []int // of the agent's, in which the call was made
	pushes int   // rounds in which the user said that it is not done, or to go on
}

// maxPause is how long a user may be silent: after that, the same is tried anew.
const maxPause = 30 * time.Minute

// acrossTurns finds what an agent does again in turn after turn and to no avail, although the user wants something else of it: who is asked for the
// same again, to look once more, or for the very thing by its name, may well do the same again. That a call finds nothing counts only where the user
// says that it is not what is wanted. Calls that work are left alone: context that is read each turn is no loop, and neither is an outage that the
// agent gets around.
func (l *looper) acrossTurns() []classify.Finding {
	var out []classify.Finding
	for _, agent := range l.rounds() {
		for _, ruts := range l.cycles(l.ruts(agent)) {
			if l.stuck(agent, ruts[0]) {
				out = append(out, l.rutFinding(agent, ruts))
			}
		}
	}
	return out
}

// rounds lists, of every agent, what it did in each turn of the user's in which it called tools.
func (l *looper) rounds() [][]round {
	var out [][]round
	at := map[string]int{}   // index into out
	turn := map[string]int{} // of the agent's last round
	turns, said := 0, ""
	for _, s := range l.t.Steps {
		if s.Kind == trajectory.StepUser {
			turns, said = turns+1, s.Text
		}
		if s.Kind != trajectory.StepTool || l.t.ToolCalls[s.Index].Recalled {
			continue
		}
		agent := l.t.ToolCalls[s.Index].Agent
		i, ok := at[agent]
		if !ok {
			i, turn[agent] = len(out), -1
			at[agent], out = i, append(out, nil)
		}
		if turn[agent] != turns {
			turn[agent], out[i] = turns, append(out[i], round{text: said})
		}
		last := &out[i][len(out[i])-1]
		last.calls = append(last.calls, s.Index)
	}
	return slices.DeleteFunc(out, func(rs []round) bool { return len(rs) < l.p.Warn })
}

// ruts follows every call that is made in vain through an agent's rounds.
func (l *looper) ruts(rounds []round) (out []rut) {
	open := map[string]rut{}
	for i := range rounds {
		found, order := l.vainIn(&rounds[i])
		for _, key := range order {
			now, was := found[key], open[key]
			if len(was.rounds) > 0 && l.goesOn(rounds, was, now, i) {
				was.rounds = append(was.rounds, i)
				if said := l.said(&rounds[i]); said.Push || said.Bare {
					was.pushes++
				}
				open[key] = was
				continue
			}
			out = append(out, was)
			now.rounds = []int{i}
			open[key] = now
		}
	}
	for _, r := range open {
		out = append(out, r)
	}
	out = slices.DeleteFunc(out, func(r rut) bool { return len(r.rounds) < l.p.Warn })
	slices.SortFunc(out, func(a, b rut) int {
		return cmp.Or(slices.Compare(a.rounds, b.rounds), cmp.Compare(l.first(rounds, a, 0), l.first(rounds, b, 0)))
	})
	return out
}

// vainIn says of the calls of a round what was vain of each: nothing, unless all its answers in the round were the same vain one.
func (l *looper) vainIn(r *round) (found map[string]rut, order []string) {
	found = map[string]rut{}
	for _, c := range r.calls {
		key := callKey(l.t, &l.t.ToolCalls[c])
		if key == "" {
			continue
		}
		now := rut{key: key, vain: l.vain(c), answer: l.answer(c).text}
		if was, ok := found[key]; ok && (was.vain != now.vain || was.answer != now.answer) {
			now.vain, now.answer = classify.NotVain, ""
		} else if !ok {
			order = append(order, key)
		}
		found[key] = now
	}
	return found, order
}

// vain says what of a call's answer is vain. That a write answers nothing is how it says that it is done.
func (l *looper) vain(call int) classify.Vain {
	v := classify.VainOf(&l.t.ToolCalls[call])
	if v == classify.Empty && l.writes(call) {
		return classify.NotVain
	}
	return v
}

// goesOn says that the call of a rut is made in vain in another round, and that the user did not ask for it.
func (l *looper) goesOn(rounds []round, was, now rut, i int) bool {
	if now.vain == classify.NotVain || now.vain != was.vain || now.answer != was.answer {
		return false
	}
	before := &rounds[was.rounds[len(was.rounds)-1]]
	end, call := &l.t.ToolCalls[before.calls[len(before.calls)-1]], &l.t.ToolCalls[l.call(&rounds[i], now.key)]
	if call.Start.Before(end.Start) || call.Start.Sub(end.Start) > maxPause {
		return false
	}
	said := l.said(&rounds[i])
	if said.Again || said.Names(call.Arguments) || now.vain == classify.Empty && !said.Push && !said.Bare {
		return false
	}
	return said.Push || !slices.ContainsFunc(was.rounds, func(r int) bool { return said.Near(l.said(&rounds[r])) })
}

// call is the first call of a round that has the key.
func (l *looper) call(r *round, key string) int {
	i := slices.IndexFunc(r.calls, func(c int) bool { return callKey(l.t, &l.t.ToolCalls[c]) == key })
	return r.calls[i]
}

// first is the first call of a rut in the n-th of its rounds.
func (l *looper) first(rounds []round, r rut, n int) int { return l.call(&rounds[r.rounds[n]], r.key) }

// cycles puts together what is done in vain in the same rounds, as long as it is no more than a cycle may have.
func (l *looper) cycles(ruts []rut) (out [][]rut) {
	for _, r := range ruts {
		if n := len(out); n > 0 && len(out[n-1]) < l.p.MaxPeriod && slices.Equal(out[n-1][0].rounds, r.rounds) && out[n-1][0].vain == r.vain {
			out[n-1] = append(out[n-1], r)
			continue
		}
		out = append(out, []rut{r})
	}
	return out
}

// stuck says that in most of the rounds nothing else came of it: no good answer after the vain one, and none to a call that is new.
func (l *looper) stuck(rounds []round, r rut) bool {
	moved, seen := 0, map[string]bool{}
	for n, i := range r.rounds {
		after, came := false, false
		for _, c := range rounds[i].calls {
			key := callKey(l.t, &l.t.ToolCalls[c])
			good := key != r.key && l.vain(c) == classify.NotVain && l.answer(c).known
			came = came || good && (after || n > 0 && !seen[key])
			after = after || key == r.key
			seen[key] = true
		}
		if came {
			moved++
		}
	}
	return 3*moved <= len(r.rounds)
}

func (l *looper) rutFinding(rounds []round, ruts []rut) classify.Finding {
	r := ruts[0]
	n := len(r.rounds)
	class, came := "error", "failed alike each time"
	if r.vain == classify.Empty {
		class, came = "same", "found nothing each time"
	}
	var tools []string
	for _, x := range ruts {
		tools = append(tools, catalog.Normalise(l.t.ToolCalls[l.first(rounds, x, 0)].Name))
	}
	f := l.in.Finding(l.t.ToolCalls[l.first(rounds, r, 0)].Agent,
		classify.Names("tools", tools...), classify.Number("period", len(ruts)), classify.Word("result", class))
	f.Confidence = 0.9
	switch {
	case r.pushes == 0:
		f.Severity, f.Confidence = classify.Warning, 0.6 // the user may have gone on to other things
	case n < l.p.Match:
		f.Severity, f.Confidence = classify.Warning, 0.8
	}
	f.Step = stepOf(l.t, trajectory.StepTool, l.first(rounds, r, 1))
	f.Title = fmt.Sprintf("%s called with the same arguments in %d turns", phrase(tools), n)
	f.Why = f.Title + " and " + came + ", whatever the user said in between."
	for i := range r.rounds {
		if i >= maxEvidence-1 && i < n-1 {
			continue // the last is where it stands
		}
		c := &l.t.ToolCalls[l.first(rounds, r, i)]
		what := fmt.Sprintf("turn %d of %d: %s, ", i+1, n, classify.SafeName(c.Name))
		switch {
		case failed(c):
			what += "outcome " + string(c.Outcome)
		case r.vain == classify.Error:
			what += "answered with an error"
		default:
			what += "found nothing"
		}
		f.Evidence = append(f.Evidence, classify.Evidence{TraceID: c.TraceID, SpanID: c.SpanID, What: what})
	}
	return f
}

func (l *looper) writes(call int) bool {
	return effect.ToolOf(l.t, l.in.Catalog, &l.t.ToolCalls[call]).Effect == catalog.EffectWrite
}
