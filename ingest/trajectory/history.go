package trajectory

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// histories finds what is new in the input of every call: each repeats what the agent's earlier calls had.
func (b *builder) histories() {
	b.endInputs()
	seed := maphash.MakeSeed() // only equality within this trace is asked, so that the seed never shows
	byAgent := map[*node][]*call{}
	users := map[string]bool{}
	for _, c := range b.calls {
		in := c.node.facts.Input
		earlier := byAgent[c.node.agent]
		if !in.Empty() {
			c.readInput(earlier, seed)
		}
		c.hasIn = c.size > 0
		byAgent[c.node.agent] = append(earlier, c)
		m := &b.out.ModelCalls[c.index]
		m.New = c.fresh
		m.Back = c.wentBack(earlier)
		m.System = c.system()
		b.out.SystemPrompt = cmp.Or(b.out.SystemPrompt, m.System)
		if m.System == "" && len(earlier) == 0 && c.node.agent != nil {
			m.System = c.node.agent.facts.System
		}
		for _, text := range b.saidIn(c) {
			if !users[text] {
				users[text] = true
				b.out.UserMessages = append(b.out.UserMessages, text)
			}
		}
	}
	b.askedOfAgents(users)
}

// wentBack says that the whole input was there before, although the agent's call before it asked for tools: agents that search go back so, to try
// another way. Of inputs in single attributes some may have been dropped, texts that were cut do not parse, and emitters that write an input late have the
// call's id in it: those say nothing.
func (c *call) wentBack(earlier []*call) bool {
	text := c.node.facts.Input.Text
	if len(earlier) == 0 || !c.hasIn || len(c.fresh) > 0 || text == "" || !jsontext.Value(text).IsValid() {
		return false
	}
	asked := earlier[len(earlier)-1].node.facts.Output
	return requests(asked) && !slices.ContainsFunc(asked, func(m Message) bool {
		return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.ID != "" && strings.Contains(text, p.ID) })
	})
}

// endInputs takes out of the inputs what came after the trace's last answer: some emitters write an input when its messages are exported, and a
// program that keeps them in one list has added its next turns by then. That an input holds the id of a call which its own answer asked for shows
// such an emitter.
func (b *builder) endInputs() {
	last := b.lastCall()
	if last == nil || requests(last.node.facts.Output) {
		return
	}
	answer := textOf(last.node.facts.Output)
	late := func(c *call) bool {
		text := c.node.facts.Input.Text
		return text != "" && slices.ContainsFunc(c.node.facts.Output, func(m Message) bool {
			return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind == PartToolCall && p.ID != "" && strings.Contains(text, p.ID) })
		})
	}
	if answer == "" || !slices.ContainsFunc(b.calls, late) {
		return
	}
	for _, c := range b.calls {
		in := &c.node.facts.Input
		parse := in.Parse
		if parse == nil {
			parse = ParseMessages
		}
		in.Parse = func(text string) []Message {
			ms := parse(text)
			for i := len(ms) - 1; i >= 0; i-- {
				if ms[i].Role == "assistant" && ms[i].Text() == answer {
					return ms[:i+1]
				}
			}
			return ms
		}
	}
}

// saidIn are the words of the user that are new in a call. What a sub-agent is asked that works for a tool was written by the agent that called
// the tool, though it has the user's place; a trace that lies within a tool as a whole has no other.
func (b *builder) saidIn(c *call) []string {
	if a := c.node.agent; a != nil && a.facts.Hired {
		return nil
	}
	if toolAround(c.node) && slices.ContainsFunc(b.calls, func(o *call) bool { return !toolAround(o.node) }) {
		return nil
	}
	return slices.DeleteFunc(userTexts(c.fresh), func(text string) bool { return b.handedOver(c, text) })
}

// handedOver says whether a text in the user's place is an argument with which another agent called a tool that is at work: the tool is this
// agent, though its span stands elsewhere.
func (b *builder) handedOver(c *call, text string) bool {
	return slices.ContainsFunc(b.tools, func(n *node) bool {
		if n.agent == c.node.agent || c.node.start.Before(n.start) || !n.end.IsZero() && c.node.start.After(n.end) || n.facts.Arguments.JSON.Kind() != '{' {
			return false
		}
		return slices.ContainsFunc(readObject(string(n.facts.Arguments.JSON)), func(m member) bool { s, ok := unquote(m.raw); return ok && s == text })
	})
}

// lookBack is how many earlier calls of an agent are compared with: helper calls between the steps have histories of their own.
const lookBack = 4

func (c *call) readInput(earlier []*call, seed maphash.Seed) {
	recent := earlier[max(0, len(earlier)-lookBack):]
	if len(c.node.facts.Input.Flat) > 0 && c.readFlat(recent) {
		return
	}
	in := c.node.facts.Input
	if in.Text != "" {
		if in.Parse == nil {
			in.Parse = ParseMessages
		}
		for _, p := range slices.Backward(recent) {
			if rest, ok := newPart(p.node.facts.Input.Text, in.Text); ok {
				c.fresh, c.base = in.Parse(rest), p
				c.size = p.size + len(c.fresh)
				return
			}
		}
		in.Messages = in.Parse(in.Text)
	}
	c.rest, c.size = in.Messages, len(in.Messages)
	c.fresh, c.first = unseen(in.Messages, recent, seed)
}

// input yields the whole input, in order.
func (c *call) input(yield func(*Message) bool) {
	var chain []*call // the calls by which it grew, the last first
	for p := c; p != nil; p = p.base {
		chain = append(chain, p)
	}
	for _, p := range slices.Backward(chain) {
		part := p.fresh
		if p.base == nil {
			part = p.rest
		}
		for i := range part {
			if !yield(&part[i]) {
				return
			}
		}
	}
}

// newPart gives what a JSON list has beyond one that it begins with: nothing, or the rest from the comma on, which reads as a list.
func newPart(prev, cur string) (string, bool) {
	head, ok := strings.CutSuffix(strings.TrimRight(prev, " \t\r\n"), "]")
	if !ok || !strings.HasPrefix(cur, head) {
		return "", false
	}
	rest := strings.TrimLeft(cur[len(head):], " \t\r\n")
	if rest == "]" {
		return "", true
	}
	if strings.HasSuffix(strings.TrimRight(head, " \t\r\n"), "[") || !strings.HasPrefix(rest, ",") {
		return "", false
	}
	return rest, true
}

// unseen gives the messages that none of one earlier call's had, counting repetitions; of the recent calls the one that shares most is
// compared with. It says whether none shares anything but instructions.
func unseen(all []Message, recent []*call, seed maphash.Seed) (fresh []Message, first bool) {
	fresh, first = all, true
	sums := make([]uint64, len(all))
	for i := range all {
		sums[i] = all[i].sum(seed)
	}
	for _, p := range slices.Backward(recent) {
		had := map[uint64]int{}
		for m := range p.input {
			had[m.sum(seed)]++
		}
		var left []Message
		shares := false
		for i, m := range all {
			if had[sums[i]] > 0 {
				had[sums[i]]--
				shares = shares || m.Role != "system"
				continue
			}
			left = append(left, m)
		}
		if shares && len(left) < len(fresh) {
			fresh, first = left, false
		}
	}
	return fresh, first
}

func (m *Message) sum(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(m.Role)
	for _, p := range m.Parts {
		for _, s := range []string{string(p.Kind), p.Text, p.ID, p.Name} {
			h.WriteString(s)
			h.WriteByte(0)
		}
		if p.Value.JSON != nil {
			h.Write(p.Value.JSON)
		} else {
			h.WriteString(p.Value.Raw)
		}
	}
	return h.Sum64()
}

// system is what instructions a call brings, when no call before it did.
func (c *call) system() string {
	if s := c.node.facts.System; s != "" {
		return s
	}
	part := c.fresh // the calls before were asked already
	if c.base == nil {
		part = c.rest
	}
	for i, m := range part {
		if m.Role == "system" {
			if s := textOf(part[i : i+1]); s != "" {
				return s
			}
		}
	}
	return ""
}

// userTexts are the words of the user among messages. A message of role user that holds tool results is none.
func userTexts(ms []Message) []string {
	var out []string
	for i, m := range ms {
		if m.Role != "user" || slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind == PartToolResult }) {
			continue
		}
		if s := textOf(ms[i : i+1]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// askedOfAgents takes what agent spans say of the user and the instructions, where the calls did not tell.
func (b *builder) askedOfAgents(seen map[string]bool) {
	for _, n := range b.nodes {
		f := &n.facts
		if f.Role != RoleAgent && n != b.root {
			continue
		}
		if b.out.SystemPrompt == "" {
			b.out.SystemPrompt = f.System
		}
		if len(b.out.UserMessages) > 0 {
			continue
		}
		texts := userTexts(f.Input.messages())
		if f.UserText != "" {
			texts = []string{f.UserText}
		}
		for _, text := range texts {
			if !seen[text] {
				seen[text] = true
				b.out.UserMessages = append(b.out.UserMessages, text)
			}
		}
	}
}

func (h History) messages() []Message {
	if len(h.Flat) > 0 {
		f := Facts{Input: h}
		f.readInput()
		h = f.Input
	}
	switch {
	case h.Text != "" && h.Parse != nil:
		return h.Parse(h.Text)
	case h.Text != "":
		return ParseMessages(h.Text)
	}
	return h.Messages
}
