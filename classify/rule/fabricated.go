package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// FabricatedSuccess finds answers that tell the user of something done that the trace shows was not.
var FabricatedSuccess = add(classify.Rule{
	Name: "fabricated_success", Version: 1, Label: classify.FabricatedSuccess, Severity: classify.Blocking, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "the answer claims something done that was not",
		Why: "The user believes it and does nothing more. A writing call failed, was refused, was denied or was never run, nothing of its kind worked in the " +
			"same turn, and the answer says that it was done: by the verb of the tool, or, where no other write worked, plainly. An answer that " +
			"tells of any failure or doubt claims nothing. Of a whole run in one turn, an answer that says done what the user asked for, where a tool for it " +
			"was on offer and no tool was called that writes, counts too. Which tools write is known from the catalog, from annotations, " +
			"or from the verb of the name; of others nothing is said.",
		Fix:     "Return the failure to the model in words that say what was not done, and tell it to report each action by the tool's own answer.",
		Example: "send_email -> message rejected; \"Done! I have sent the e-mail.\"",
	},
	Needs: []trajectory.Fact{trajectory.FactToolCalls, trajectory.FactReply},
	Check: checkFabricated,

	Repairs: []classify.Repair{toldTruth(), worked()},
})

func checkFabricated(in *classify.Input) classify.Result {
	e := effectsOf(in)
	out, unseen := e.fabricated()
	if f, ok := e.uncalled(); ok && len(out) == 0 {
		out = append(out, f)
	}
	if len(out) == 0 && unseen {
		return classify.Blind(trajectory.FactResults, "")
	}
	return classify.Match(merged(out)...)
}

// fabricated judges every effect that an answer claims: at most one finding for each verb and answer, on the effect of which it speaks most
// clearly. unseen says that an answer claims an effect of which the data does not tell the outcome.
func (e *effects) fabricated() (out []classify.Finding, unseen bool) {
	type key struct {
		verb *effect.Verb
		turn int
	}
	best := map[key]int{}
	for at := range e.Effects {
		x := &e.Effects[at]
		if !ours(x) || !e.known(x) && x.State != effect.Sent {
			continue
		}
		claim, turn := e.claimOf(x)
		if claim == effect.NoClaim {
			continue
		}
		unseen = unseen || x.State == effect.Sent && claim == effect.Named
		if !e.known(x) || e.broughtAbout(x, turn) || e.replaced(x, turn) || e.readAfter(x, turn) {
			continue
		}
		f := e.fabricatedFinding(x, claim, turn)
		k := key{x.Tool.Verb, turn}
		i, ok := best[k]
		switch {
		case !ok:
			best[k], out = len(out), append(out, f)
		case f.Confidence >= out[i].Confidence:
			out[i] = f
		}
	}
	return out, unseen
}

// known says that the trace shows that the effect was not brought about, as far as its own calls tell.
func (e *effects) known(x *effect.Effect) bool {
	switch x.State {
	case effect.Refused, effect.Failed, effect.NeverRun:
		return true
	}
	return x.State == effect.Unknown && x.Last().Fate == effect.Broke
}

// readAfter says that something was read after a failure that tells neither that it was refused nor that it never ran: it may have shown the effect.
func (e *effects) readAfter(x *effect.Effect, turn int) bool {
	if x.State == effect.Refused || x.State == effect.NeverRun {
		return false
	}
	calls := e.calls(x.Turn, turn)
	at := slices.Index(calls, x.Last().Call)
	return slices.ContainsFunc(calls[at+1:], func(i int) bool { return e.fate(i) == effect.Done && !pseudo(e.t.ToolCalls[i].Name) })
}

func (e *effects) fabricatedFinding(x *effect.Effect, claim effect.Claim, turn int) classify.Finding {
	last := x.Last()
	c := &e.t.ToolCalls[last.Call]
	name, state := classify.SafeName(x.Tool.Name), string(x.State)
	if last.Fate == effect.Broke {
		state = string(effect.Failed)
	}
	f := e.in.Finding(c.Agent, classify.Name("tool", x.Tool.Name), classify.Word("state", state))
	f.Step = e.claimStep(turn)
	f.Confidence = fabricatedConfidence(x, claim, named(c, e.Turns[turn].Reply))
	when := "in this turn"
	if turn > x.Turn {
		f.Confidence -= 0.1
		when = "in an earlier turn"
	}
	f.Title = name + " did not work, and the answer claims that it did"
	f.Why = fmt.Sprintf("the answer %s, but %s was called %s %s and %s; nothing of its kind worked since, and the answer tells of no failure.",
		spelled(claim, name), name, times(len(x.Attempts)), when, last.How)
	for _, a := range x.Attempts[:min(len(x.Attempts), maxEvidence)] {
		f.Evidence = append(f.Evidence, classify.Evidence{SpanID: callSpan(&e.t.ToolCalls[a.Call]), What: name + ": " + a.How})
	}
	f.Evidence = append(f.Evidence, classify.Evidence{SpanID: e.claimSpan(turn), What: "the answer " + spelled(claim, name)})
	return f
}

func fabricatedConfidence(x *effect.Effect, claim effect.Claim, named bool) float64 {
	sure := 0.9
	switch {
	case claim == effect.Plain:
		sure = 0.82
	case named:
		sure = 0.95
	}
	if x.Last().Fate == effect.Broke || x.Tool.By == "" {
		sure -= 0.05
	}
	return sure
}

// uncalled finds an answer that says done what the user asked for, in a whole run of one turn that called no tool that may write. The
// tool that would have done it was on offer, and nothing that was read says that it had been done before.
func (e *effects) uncalled() (classify.Finding, bool) {
	t := e.t
	if len(e.Turns) != 1 && !(len(e.Turns) == 2 && len(e.Turns[0].Calls) == 0 && e.Turns[0].Reply == "") {
		return classify.Finding{}, false
	}
	turn := len(e.Turns) - 1
	c := t.Complete
	alone := c.HasRoot && !c.Truncated && c.Dropped == 0 && c.Unfinished == 0 && !t.GoesOn && len(t.Handoffs) == 0 && len(t.Agents) < 2
	if !alone || t.RootError != nil || e.Turns[turn].Reply == "" || len(t.ModelCalls) == 0 || !e.onlyReads(turn) || e.emptyHanded(turn) {
		return classify.Finding{}, false
	}
	if e.reply(turn).Admits {
		return classify.Finding{}, false
	}
	for _, d := range t.ToolsOffered {
		tool := effect.ToolOf(t, e.in.Catalog, &trajectory.ToolCall{Name: d.Name, Model: -1})
		if !tool.Writes() || tool.Verb == nil || d.Builtin || pseudo(d.Name) {
			continue
		}
		claim, word := e.reply(turn).Claims(tool.Verb)
		if claim == effect.Named && effect.Asked(e.Turns[turn].Said, word) && !e.reported(tool.Verb, turn) {
			return e.uncalledFinding(tool, turn), true
		}
	}
	return classify.Finding{}, false
}

// onlyReads says that every call of the turn is of a tool that is known to change nothing.
func (e *effects) onlyReads(turn int) bool {
	for _, i := range e.Turns[turn].Calls {
		c := &e.t.ToolCalls[i]
		if c.Recalled || !e.tool(i).Reads() && !outputs[c.Name] {
			return false
		}
	}
	return true
}

// emptyHanded says that the last thing read was nothing: then there was nothing to do.
func (e *effects) emptyHanded(turn int) bool {
	calls := e.Turns[turn].Calls
	for _, i := range slices.Backward(calls) {
		if c := &e.t.ToolCalls[i]; !outputs[c.Name] {
			return e.fate(i) != effect.Done || !c.HasResult || nothingFound.MatchString(strings.TrimSpace(c.Result.Raw))
		}
	}
	return false
}

var nothingFound = regexp.MustCompile(`(?i)^$|^["']?(null|none|\[\s*\]|\{\s*\})["']?$|\b(no|0|zero) [a-z ]{0,40}(found|match|results?|available)|"(total|count|total_count|totalCount)"\s*:\s*0\b|:\s*\[\s*\]\s*\}$|not found`)

// outputs are the tools by which frameworks end a run with a typed answer.
var outputs = map[string]bool{"final_answer": true, "final_result": true, "finish": true, "structured_output": true}

// reported says that the user's words, or what was read, speak of the effect as done.
func (e *effects) reported(v *effect.Verb, turn int) bool {
	if v.Reported(e.Turns[turn].Said) {
		return true
	}
	return slices.ContainsFunc(e.Turns[turn].Calls, func(i int) bool {
		raw := e.t.ToolCalls[i].Result.Raw
		return v.Reported(raw[:min(len(raw), 1<<15)])
	})
}

func (e *effects) uncalledFinding(tool effect.Tool, turn int) classify.Finding {
	agent := ""
	if len(e.t.Agents) > 0 {
		agent = e.t.Agents[0]
	}
	name := classify.SafeName(tool.Name)
	f := e.in.Finding(agent, classify.Name("tool", tool.Name), classify.Word("state", "never_called"))
	f.Step, f.Confidence, f.Form = e.claimStep(turn), 0.8, classify.FormNever
	f.Title = name + " was never called, and the answer claims what it does"
	f.Why = fmt.Sprintf("the user asked for it and the answer says that it was done, %s was on offer, and none of the %d calls of this run is of a tool that writes.",
		name, len(e.Turns[turn].Calls))
	f.Evidence = append(f.Evidence, classify.Evidence{SpanID: e.claimSpan(turn), What: "the answer " + spelled(effect.Named, name) + "; no call in this trace could have done it"})
	return f
}
