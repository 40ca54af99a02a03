package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// MadeUpData finds data of the world outside (identifiers, addresses, numbers, amounts, dates) that an agent states although nobody told it: in
// arguments, where the tool then does not know it; and in the answer, where a result says otherwise.
var MadeUpData = add(classify.Rule{
	Name: "hallucinated_user_data", Version: 1, Label: classify.HallucinatedData, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "the agent made data up, and the world says otherwise",
		Why: "A value that the agent has from nowhere is wrong, or right by luck. Looked for are identifiers, e-mail addresses, phone numbers and URLs in " +
			"arguments, and amounts, dates, addresses and identifiers in the answer, that occur nowhere before (what users, instructions and tools told, in any spelling; " +
			"sums, differences, products and shares of it too). That alone is no finding: the tool must say that it does not know the value, or a result must say " +
			"otherwise. A value that stands as an example in the tool's own description is told apart.",
		Fix:     "Offer a tool that finds the identifier and say in the schema where it comes from; take examples that look real out of descriptions; have the agent ask.",
		Example: "get_order {\"order_id\":\"ORD-12345\"} -> order not found, where nobody spoke of ORD-12345",
	},
	Needs:   []trajectory.Fact{trajectory.FactUserMessages},
	Check:   checkMadeUp,
	Repairs: []classify.Repair{toldBefore(), neverPassed(), knownToTool(), sayingNothing()},
})

// invented is one datum that was made up, and how the world answered.
type invented struct {
	datum
	call    int
	example bool // it stands in the tool's own description
	sure    float64
}

type inventedKey struct{ agent, tool, pointer, kind string }

func checkMadeUp(in *classify.Input) classify.Result {
	t := in.Trajectory
	if missing := unjudgeable(t); missing.Missing != "" {
		return missing
	}
	m := maker{in: in, t: t}
	found := m.inArguments()
	claims := m.inReply()
	if len(found)+len(claims) > 0 && m.heard.cut {
		return classify.Blind(trajectory.FactWhole, "something that the agent was told is cut or withheld, so what it knew is not known: raise the exporter's value length limit, or stop redacting")
	}
	return classify.Match(merged(append(found, claims...))...)
}

// unjudgeable names the fact without which nobody can say what the agent knew.
func unjudgeable(t *trajectory.Trajectory) classify.Result {
	if len(t.UserMessages) == 0 {
		return classify.Blind(trajectory.FactUserMessages, "")
	}
	for _, f := range []trajectory.Fact{trajectory.FactResults, trajectory.FactArguments} {
		if _, lacks := t.Lacks(f); lacks {
			return classify.Blind(f, "")
		}
	}
	if t.Complete.Truncated || t.Complete.Dropped > 0 {
		return classify.Blind(trajectory.FactWhole, "")
	}
	return classify.NoMatch()
}

// maker looks for what was made up. What was told is collected only once something asks for it.
type maker struct {
	in    *classify.Input
	t     *trajectory.Trajectory
	heard *hearsay
}

func (m *maker) told() *hearsay {
	if m.heard == nil {
		m.heard = hear(m.t)
	}
	return m.heard
}

func (m *maker) inArguments() []classify.Finding {
	found := map[inventedKey][]invented{}
	var order []inventedKey
	for i := range m.t.ToolCalls {
		c := &m.t.ToolCalls[i]
		for _, x := range m.rejected(i) {
			k := inventedKey{c.Agent, c.Name, classify.SafePointer(x.pointer), x.kind}
			if found[k] == nil {
				order = append(order, k)
			}
			found[k] = append(found[k], x)
		}
	}
	var out []classify.Finding
	for _, k := range order {
		out = append(out, m.argumentFinding(found[k]))
	}
	return out
}

// rejected returns the data of a call that were made up and that the tool does not know.
func (m *maker) rejected(i int) []invented {
	c := &m.t.ToolCalls[i]
	if c.Recalled || c.Arguments.Truncated || pseudo(c.Name) {
		return nil
	}
	text := rejection(c)
	if text == "" || refusedBy(c) != "" && !unknownThing.MatchString(text) {
		return nil
	}
	data := dataIn(c.Arguments.JSON)
	var out []invented
	var loose []datum
	for _, d := range data {
		if !m.madeUp(d, i) {
			continue
		}
		switch sure := blamed(text, d, data, c.Name); {
		case sure > 0:
			out = append(out, m.inventedAt(d, i, sure))
		default:
			loose = append(loose, d)
		}
	}
	if len(out) == 0 && len(loose) == 1 && len(data) == 1 {
		return []invented{m.inventedAt(loose[0], i, 0.85)}
	}
	return out
}

func (m *maker) inventedAt(d datum, call int, sure float64) invented {
	x := invented{datum: d, call: call, sure: sure, example: exampleOf(m.in, &m.t.ToolCalls[call], d.value)}
	if d.kind == "url" {
		x.sure = min(sure, 0.75)
	}
	return x
}

// madeUp says that nobody told the datum before the call was asked for, and that no tool took it under that key before. The answers that reject the same datum tell
// nothing: they repeat it.
func (m *maker) madeUp(d datum, call int) bool {
	h := m.told()
	echo := func(x heard) bool {
		if x.call < 0 {
			return false
		}
		c := &m.t.ToolCalls[x.call]
		if x.own {
			return !took(c, d)
		}
		return rejection(c) != "" && strings.Contains(flat(textOf(c.Arguments)), flat(d.value))
	}
	if allowed(m.in, &m.t.ToolCalls[call], d.value) {
		return false
	}
	if d.kind == "url" {
		return unheardAddress(h, d.value, h.asked[call], echo)
	}
	if d.kind == "phone" {
		digits := onlyDigits(d.value)
		return len(digits) >= 7 && !h.holds(digits[max(0, len(digits)-8):], h.asked[call], echo)
	}
	return !h.holds(d.value, h.asked[call], echo)
}

// took says that a call which was no search passed the same value under the same key.
func took(c *trajectory.ToolCall, d datum) bool {
	return !searches(c) && slices.ContainsFunc(dataIn(c.Arguments.JSON), func(o datum) bool {
		return flat(o.value) == flat(d.value) && o.pointer[len(o.pointer)-1] == d.pointer[len(d.pointer)-1]
	})
}

func onlyDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// blamed says how sure it is that the words of a rejection mean this datum: they hold it, or what its key names. Words that hold another value
// of the call mean that one.
func blamed(text string, d datum, all []datum, tool string) float64 {
	said := flat(text)
	if v := flat(d.value); len(v) >= 4 && strings.Contains(said, v) {
		return 0.95
	}
	for _, o := range all {
		if v := flat(o.value); o.value != d.value && len(v) >= 4 && strings.Contains(said, v) {
			return 0
		}
	}
	for _, n := range d.nouns() {
		if strings.Contains(said, n) {
			return 0.95
		}
	}
	if len(d.words) > 1 {
		return 0
	}
	for _, w := range keyWords(tool) {
		if w = strings.TrimSuffix(w, "s"); len(w) >= 4 && strings.Contains(said, w) {
			return 0.9
		}
	}
	return 0
}

// allowed says that the tool's schema itself names the value as one to pass: in an enum, as a constant or as a default.
func allowed(in *classify.Input, c *trajectory.ToolCall, value string) bool {
	schema, _ := schemaFor(in, c)
	return schema != nil && mentions(schema, value, "enum", "const", "default")
}

// exampleOf says that the value stands in the tool's own description, where it can only be an example.
func exampleOf(in *classify.Input, c *trajectory.ToolCall, value string) bool {
	v := flat(value)
	if len(v) < 3 {
		return false
	}
	schema, _ := schemaFor(in, c)
	if strings.Contains(flat(string(schema)), v) {
		return true
	}
	if set, ok := offeredTo(in.Trajectory, c); ok {
		d, _ := findTool(set, c.Name)
		return strings.Contains(flat(d.Description), v)
	}
	d, _ := findTool(&trajectory.ToolSet{Tools: in.Trajectory.ToolsOffered}, c.Name)
	return strings.Contains(flat(d.Description), v)
}

// kinds as a person reads them.
var kindNames = map[string]string{
	"identifier": "identifier", "email": "e-mail address", "phone": "phone number", "url": "URL", "amount": "amount", "date": "date", "total": "total",
}

func (m *maker) argumentFinding(xs []invented) classify.Finding {
	x := slices.MaxFunc(xs, func(a, b invented) int { return int(100*a.sure) - int(100*b.sure) })
	c := &m.t.ToolCalls[x.call]
	tool, pointer := classify.SafeName(c.Name), classify.SafePointer(x.pointer)
	f := m.in.Finding(c.Agent, classify.Name("tool", c.Name), classify.Pointer("pointer", x.pointer), classify.Word("kind", x.kind))
	f.Step, f.Confidence = stepOf(m.t, trajectory.StepTool, xs[0].call), x.sure
	if x.kind == "url" {
		f.Severity = classify.Warning
	}
	f.Title = fmt.Sprintf("%s called with a made-up %s", tool, kindNames[x.kind])
	f.Why = fmt.Sprintf("argument %s of %s is an %s that nobody told the agent before, and the tool does not know it", pointer, tool, kindNames[x.kind])
	if x.kind == "phone" || x.kind == "url" {
		f.Why = strings.Replace(f.Why, "is an ", "is a ", 1)
	}
	if slices.ContainsFunc(xs, func(x invented) bool { return x.example }) {
		f.Why += "; it stands as a sample in the tool's own description"
	}
	if len(xs) > 1 {
		f.Why += fmt.Sprintf(" (%d times)", len(xs))
	}
	f.Why += "."
	for _, x := range xs[:min(len(xs), maxEvidence/3)] {
		f.Evidence = append(f.Evidence, m.evidence(x)...)
	}
	return f
}

func (m *maker) evidence(x invented) []classify.Evidence {
	c := &m.t.ToolCalls[x.call]
	pointer := classify.SafePointer(x.pointer)
	out := []classify.Evidence{
		{SpanID: requestSpan(c), What: fmt.Sprintf("%s: %s that occurs in no message, instruction or result before", pointer, kindNames[x.kind])},
	}
	if x.example {
		out = append(out, classify.Evidence{SpanID: firstOf(c.RequestSpanID, c.SpanID), What: pointer + ": copied from the description of " + classify.SafeName(c.Name) + ", where it is a sample"})
	}
	return append(out, classify.Evidence{SpanID: firstOf(c.ResultSpanID, c.SpanID), What: "rejected: the tool does not know it"})
}

// toldBefore repairs by somebody having told the value first.
func toldBefore() classify.Repair {
	return change.Repair("told-before", "the user had told the value", func(t *trajectory.Trajectory, f classify.Finding) bool {
		i, ok := change.CallOf(t, f)
		if !ok || f.Fingerprint.Part("tool") == "" {
			return false
		}
		text := "It is " + textOf(t.ToolCalls[i].Arguments)
		for s := range t.Steps {
			if t.Steps[s].Kind == trajectory.StepUser {
				t.Steps[s].Text += " " + text
				return true
			}
		}
		return false
	})
}

// neverPassed repairs by the call not being made.
func neverPassed() classify.Repair {
	return change.Repair("drop-call", "the call was never made", func(t *trajectory.Trajectory, f classify.Finding) bool {
		i, ok := change.CallOf(t, f)
		if ok && f.Fingerprint.Part("tool") != "" {
			change.DropCall(t, i)
			return true
		}
		return false
	})
}

// knownToTool repairs by the tool knowing the value.
func knownToTool() classify.Repair {
	return change.Repair("give-result", "the tool knew the value", func(t *trajectory.Trajectory, f classify.Finding) bool {
		i, ok := change.CallOf(t, f)
		if ok && f.Fingerprint.Part("tool") != "" && rejection(&t.ToolCalls[i]) != "" {
			change.Answer(t, i, `{"status":"ok"}`)
			return true
		}
		return false
	})
}

// sayingNothing repairs a claim by the answer making none.
func sayingNothing() classify.Repair {
	return change.Repair("say-so", "the answer claimed nothing", func(t *trajectory.Trajectory, f classify.Finding) bool {
		if f.Fingerprint.Part("tool") != "" {
			return false
		}
		change.Reply(t, "I could not find that out.")
		return true
	})
}

// mentions says that one of the schema's lists or values of these keywords holds the value.
func mentions(schema jsontext.Value, value string, keywords ...string) bool {
	found := false
	eachKeyword(schema, func(key string, v any) {
		if slices.Contains(keywords, key) && !found {
			for _, s := range leafTexts(v) {
				found = found || flat(s) == flat(value)
			}
		}
	})
	return found
}
