package rule

import (
	"fmt"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// UnsafeRetry finds effects that were sent again while nobody knew whether the first attempt had worked.
var UnsafeRetry = add(classify.Rule{
	Name: "unsafe_retry", Version: 1, Label: classify.UnsafeRetry, Severity: classify.Blocking, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "a write whose outcome was unknown was sent again, blind",
		Why: "The first attempt may have worked: then the customer is charged, mailed or booked twice. Its failure may have come after the request was on " +
			"its way (a timeout, a lost connection, a 5xx), the same tool was called again with the same arguments, nothing that could have shown the " +
			"effect was read in between, and doing it twice does it twice. Refusals, rate limits, requests that never left, tools declared idempotent, " +
			"verbs such as set or delete, equal idempotency keys, and effects that the user asked for again are left out. Of verbs such as update or cancel, " +
			"which are often harmless twice, it is a warning. Retries of the framework count like the model's own.",
		Fix:     "Pass an idempotency key that stays the same for all attempts, or read the object back before the call is made again.",
		Example: "charge_card {\"order\":\"A1\",\"amount\":20} -> timed out; charge_card {\"order\":\"A1\",\"amount\":20} -> ok",
	},
	Needs: []trajectory.Fact{trajectory.FactToolCalls},
	Check: checkUnsafeRetry,

	Repairs: []classify.Repair{change.WithoutCall(), readBack()},
})

func checkUnsafeRetry(in *classify.Input) classify.Result {
	e := effectsOf(in)
	var out []classify.Finding
	open := false
	for i := range e.Effects {
		x := &e.Effects[i]
		if x.Tool.Twice == effect.Harmless || !ours(x) {
			continue
		}
		if f, ok := e.resent(x); ok {
			out = append(out, f)
		}
		open = open || len(x.Attempts) > 1 && x.State == effect.Sent
	}
	switch {
	case len(out) > 0:
		return classify.Match(merged(out)...)
	case len(e.Unsure) > 1 && e.unsureRepeat():
		return classify.Blind(trajectory.FactArguments, "")
	case open:
		return classify.Blind(trajectory.FactResults, "")
	}
	return classify.NoMatch()
}

// unsureRepeat says that a tool was called again after an unknown outcome, with arguments that are not known.
func (e *effects) unsureRepeat() bool {
	lost := map[string]bool{}
	for _, i := range e.Unsure {
		name := e.t.ToolCalls[i].Name
		if lost[name] {
			return true
		}
		f := e.fate(i)
		lost[name] = f == effect.Lost || f == effect.Broke
	}
	return false
}

// resent returns the finding for the first blind resend of an effect.
func (e *effects) resent(x *effect.Effect) (classify.Finding, bool) {
	for _, r := range x.Resent {
		a, b := &e.t.ToolCalls[r.First.Call], &e.t.ToolCalls[r.Second.Call]
		if r.Blind && !effect.SameOnceKey(a, b) {
			return e.resentFinding(x, r, a, b), true
		}
	}
	return classify.Finding{}, false
}

func (e *effects) resentFinding(x *effect.Effect, r effect.Resend, a, b *trajectory.ToolCall) classify.Finding {
	name := classify.SafeName(x.Tool.Name)
	f := e.in.Finding(b.Agent, classify.Name("tool", x.Tool.Name), classify.Word("state", "resent_blind"))
	f.Step = r.Second.Step
	f.Confidence = 0.92
	if r.First.Fate == effect.Broke {
		f.Confidence = 0.82 // a server that breaks has often done nothing
	}
	if x.Tool.Twice == effect.Doubtful {
		f.Severity, f.Confidence = classify.Warning, f.Confidence-0.22
	}
	f.Title = name + " sent again while its first outcome was unknown"
	who := "it was called again with the same arguments"
	if a.ID != "" && a.ID == b.ID {
		who = "the framework ran the same call again"
	}
	f.Why = fmt.Sprintf("of the first call of %s nobody knows whether it worked (%s), and %s without reading in between what it had done; the effect may be there twice", name, r.First.How, who)
	if effect.OtherOnceKey(a, b) {
		f.Why += ", and the idempotency keys of the two differ"
	}
	if x.Tool.Twice == effect.Doubtful {
		f.Why += "; what it does is often harmless twice, but nothing declares it so"
	}
	f.Why += "."
	f.Evidence = []classify.Evidence{
		{SpanID: callSpan(a), What: name + ": " + r.First.How},
		{SpanID: firstOf(b.SpanID, b.RequestSpanID), What: name + " again, for the same effect"},
	}
	return f
}
