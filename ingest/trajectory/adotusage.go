package trajectory

import (
	"cmp"
	"slices"
)

// recordedUsage gives the calls of which only records came what other records tell of their use: botocore's say what was asked and answered,
// those of LangChain around them repeat the answer with its counts. Where the spans came, they tell it themselves.
func (b *builder) recordedUsage() {
	var answers []recordedAnswer
	read := false
	for i, c := range b.calls {
		if c.node.span.ParentID != missingParent || c.node.facts.Usage.counted() {
			continue
		}
		if !read {
			answers, read = b.recordedAnswers(), true
		}
		at := slices.IndexFunc(answers, func(a recordedAnswer) bool { return a.is(c.node.facts.Output) })
		if at < 0 {
			continue
		}
		c.node.facts.Usage = answers[at].body.Usage
		m := &b.out.ModelCalls[i]
		m.Usage = c.node.wholeUsage()
		m.ModelResponded = cmp.Or(m.ModelResponded, answers[at].body.Model)
	}
}

// recordedAnswer is an answer of a model inside a record of the chain around it, with what it used.
type recordedAnswer struct {
	message Message
	body    answerBody
}

// is says whether it is the answer that a call gave: by the ids of what it asks for, else by its text.
func (a recordedAnswer) is(output []Message) bool {
	text := ""
	for i := range output {
		for _, p := range output[i].Parts {
			if p.Kind == PartToolCall && p.ID != "" {
				_, j := requestIn([]Message{a.message}, p.ID)
				return j >= 0
			}
		}
		text = cmp.Or(text, output[i].Text())
	}
	return text != "" && text == a.message.Text()
}

// recordedAnswers are the messages with usage in the outputs of LangChain's chains, as AWS's distribution records them.
func (b *builder) recordedAnswers() []recordedAnswer {
	var out []recordedAnswer
	for _, n := range b.nodes {
		for i := range n.span.Logs {
			l := &n.span.Logs[i]
			if !isADOTRecord(l) {
				continue
			}
			for e := range elements(readObject(structured(l.Body)).object("output").get("messages")) {
				for m := range elements(readObject(readObject(e).str("content")).object("outputs").get("messages")) {
					body := messageBody(readObject(m).object("kwargs"))
					if ms := ParseMessages("[" + m + "]"); body.Usage.counted() && len(ms) == 1 {
						out = append(out, recordedAnswer{ms[0], body})
					}
				}
			}
		}
	}
	return out
}
