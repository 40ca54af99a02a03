package trajectory

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// past is what the parts of a session read so far have said, by keys of what was said.
type past struct {
	count map[string]int // how often; of the user's words it matters
	by    map[string]int // the last part that said it anew
}

// keysOf are the keys of all that a message says, nil when it says nothing that could be met again. A call and a result go by their id, else by what
// they hold.
func keysOf(m *Message) (keys []string) {
	if text := textOf([]Message{*m}); text != "" {
		keys = append(keys, textKey(m.Role, text))
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case PartToolCall:
			keys = append(keys, callKey(p.ID, p.Name, p.Value))
		case PartToolResult:
			keys = append(keys, resultKey(p.ID, p.Value))
		}
	}
	return keys
}

func textKey(role, text string) string { return role + "\x00" + text }

func callKey(id, name string, v Value) string {
	if id != "" {
		return "call\x00" + id
	}
	return "call of\x00" + name + "\x00" + valueKey(v)
}

func resultKey(id string, v Value) string {
	if id != "" {
		return "result\x00" + id
	}
	return "result of\x00" + valueKey(v)
}

func valueKey(v Value) string {
	if v.JSON != nil {
		return string(v.JSON)
	}
	return v.Raw
}

// userText is what the user says in a message, "" when it is not the user's.
func userText(m *Message) string {
	if m.Role != "user" || slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Kind == PartToolResult }) {
		return ""
	}
	return textOf([]Message{*m})
}

// retold is what an input tells again.
type retold struct {
	marks   []bool // of each message: an earlier part has it
	history bool   // it repeats more than one word of the user's, so that it is the conversation's history
}

// retold finds what of an input the parts before said, save what this part itself did. The user's words count as often as they were said. Words of the
// user's alone prove nothing, for the same may be asked twice, until other words of the user's follow them. The last word is new in any case, unless
// again says of its key that the user need not have spoken a second time.
func (h *past) retold(ms []Message, own map[string]bool, again func(key string) bool) retold {
	r := retold{marks: make([]bool, len(ms))}
	used, last, asked := map[string]int{}, -1, false
	for i := range ms {
		m := &ms[i]
		keys := keysOf(m)
		if len(keys) == 0 {
			continue
		}
		if m.Role == "system" {
			r.marks[i] = h.count[keys[0]] > 0
			continue
		}
		last = i
		if userText(m) != "" {
			r.marks[i] = h.count[keys[0]] > used[keys[0]]
			r.history = r.history || asked
			if r.marks[i] {
				asked = true
				used[keys[0]]++
			}
			continue
		}
		r.marks[i] = !slices.ContainsFunc(keys, func(k string) bool { return h.count[k] == 0 || own[k] })
		r.history = r.history || slices.ContainsFunc(keys, func(k string) bool { return h.count[k] > 0 && !own[k] })
	}
	for i := range ms {
		r.marks[i] = r.marks[i] && (r.history || ms[i].Role == "system")
	}
	if last >= 0 {
		if text := userText(&ms[last]); text != "" && h.count[textKey("user", text)] > 0 {
			r.marks[last] = again(textKey("user", text))
		}
	}
	return r
}

// piece is one part while it is read.
type piece struct {
	*Trajectory
	at     int
	met    map[string]bool // what it tells again
	own    map[string]bool // what its own calls said so far
	said   map[string]int  // the user's words that it has anew, by key: how often in one input
	fresh  []Step          // where the user said what; in doubt twice
	spoken map[string]bool // the user's words that an input tells again
}

// read goes through a part: what its inputs tell again, what becomes of its tool calls, which turn it works for.
func (j *joiner) read(k int) {
	p := &piece{
		Trajectory: j.parts[k], at: k, met: map[string]bool{}, own: map[string]bool{}, said: map[string]int{}, spoken: map[string]bool{},
	}
	for i := range p.ModelCalls {
		j.input(p, i)
	}
	j.askedOfAgent(p)
	j.takeCalls(p)
	j.turn(p)
	j.remember(p)
}

// input takes out of the New messages of a call what earlier parts have.
func (j *joiner) input(p *piece, i int) {
	m := &p.ModelCalls[i]
	r := j.past.retold(m.New, p.own, j.again(p))
	var left []Message
	times := map[string]int{}
	for n := range m.New {
		msg := &m.New[n]
		text := userText(msg)
		if r.marks[n] {
			for _, key := range keysOf(msg) {
				p.met[key] = true
			}
			p.spoken[text] = true
			continue
		}
		left = append(left, *msg)
		if text == "" {
			p.owns(keysOf(msg))
			continue
		}
		key := textKey("user", text)
		times[key]++
		p.said[key] = max(p.said[key], times[key])
		s := Step{Kind: StepUser, SpanID: m.SpanID, TraceID: cmp.Or(m.TraceID, p.TraceID), Agent: m.Agent, Index: -1, Text: text, Start: m.Start, End: m.Start}
		if !r.history {
			s.Index = -2 // less sure than one beside a history
		}
		p.fresh = append(p.fresh, s)
	}
	if j.counts(p, i) {
		j.out.ModelCalls[j.models[p.at][i]].New = left
	}
	p.owns(answerKeys(p.Trajectory, i))
	for _, at := range m.ToolCalls { // the next input tells of these
		p.owns([]string{resultKey(p.ToolCalls[at].ID, p.ToolCalls[at].Result)})
	}
}

func (p *piece) owns(keys []string) {
	for _, k := range keys {
		p.own[k] = true
	}
}

// answerKeys are the keys of what a model call answered, its text last.
func answerKeys(t *Trajectory, i int) (keys []string) {
	m := &t.ModelCalls[i]
	for _, at := range m.ToolCalls {
		if c := &t.ToolCalls[at]; !c.Recalled {
			keys = append(keys, callKey(c.ID, c.Name, c.Arguments))
		}
	}
	if m.Text != "" {
		keys = append(keys, textKey("assistant", m.Text))
	}
	return keys
}

// again says of the user's words whether hearing them once more is no second word of the user's: the part that had them was still at work on them, or
// had failed.
func (j *joiner) again(p *piece) func(key string) bool {
	return func(key string) bool {
		q := j.parts[j.past.by[key]]
		failed := q.RootError != nil || len(q.ModelCalls) > 0 && q.ModelCalls[len(q.ModelCalls)-1].Error != nil
		return failed || p.Start.Before(q.End)
	}
}

// askedOfAgent adds the words of the user's that no input of a model has, an agent's span or a step alone. What the inputs tell again and have not anew
// is out.
func (j *joiner) askedOfAgent(p *piece) {
	known := map[string]bool{}
	for _, s := range p.fresh {
		known[s.Text] = true
	}
	var alone []Message
	for text := range p.words {
		if !known[text] && !p.spoken[text] {
			known[text] = true
			alone = append(alone, Message{Role: "user", Parts: []Part{{Kind: PartText, Text: text}}})
		}
	}
	r := j.past.retold(alone, nil, j.again(p))
	for i := range alone {
		if r.marks[i] {
			continue
		}
		text := alone[i].Parts[0].Text
		s := Step{Kind: StepUser, Text: text, Start: p.Start, End: p.Start}
		if at := slices.IndexFunc(p.Steps, func(s Step) bool { return s.Kind == StepUser && s.Text == text }); at >= 0 {
			s = p.Steps[at]
		}
		s.TraceID, s.Index = cmp.Or(s.TraceID, p.TraceID), -1
		p.fresh = append(p.fresh, s)
		p.said[textKey("user", text)] = 1
	}
	j.asked[p.at] = p.settled()
}

// words are the user's, as the part lists them.
func (p *piece) words(yield func(string) bool) {
	for _, text := range p.UserMessages {
		if !yield(text) {
			return
		}
	}
	for _, s := range p.Steps {
		if s.Kind == StepUser && !yield(s.Text) {
			return
		}
	}
}

// settled are the words of the user's that the part has anew, each once, in the order in which the part lists them. Words that one input tells as
// history are not new because another, which shows none, has them too.
func (p *piece) settled() []Step {
	first := map[string]Step{}
	for _, s := range p.fresh {
		if s.Index == -2 && p.spoken[s.Text] {
			continue
		}
		if _, ok := first[s.Text]; !ok {
			s.Index = -1
			first[s.Text] = s
		}
	}
	var out []Step
	for _, text := range p.UserMessages {
		if s, ok := first[text]; ok {
			out = append(out, s)
			delete(first, text)
		}
	}
	rest := slices.SortedFunc(maps.Values(first), func(a, b Step) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Text, b.Text)) })
	return append(out, rest...)
}

// remember adds to the past what the part said.
func (j *joiner) remember(p *piece) {
	note := func(key string, times int) {
		j.past.count[key] += times
		j.past.by[key] = p.at
	}
	for _, s := range j.asked[p.at] {
		key := textKey("user", s.Text)
		note(key, max(1, p.said[key]))
	}
	for i := range p.ModelCalls {
		for _, key := range answerKeys(p.Trajectory, i) {
			note(key, 1)
		}
		for n := range p.ModelCalls[i].New {
			if m := &p.ModelCalls[i].New[n]; userText(m) == "" {
				for _, key := range keysOf(m) {
					note(key, 1)
				}
			}
		}
	}
	for i := range p.ToolCalls {
		c := &p.ToolCalls[i]
		note(callKey("", c.Name, c.Arguments), 1) // a history may tell of it without its id
		if c.HasResult {
			note(resultKey(c.ID, c.Result), 1)
			note(resultKey("", c.Result), 1)
		}
	}
	if p.Reply != nil && *p.Reply != "" {
		note(textKey("assistant", *p.Reply), 1)
	}
	for i := len(p.ModelCalls) - 1; i >= 0; i-- {
		if keys := answerKeys(p.Trajectory, i); len(keys) > 0 {
			j.ends[p.at] = slices.DeleteFunc(keys, func(k string) bool { return k == textKey("assistant", p.ModelCalls[i].Text) })
			break
		}
	}
}

// lookBackParts is how many parts before are asked whether another goes on with them.
const lookBackParts = 16

// turn finds the turn that a part works for: that of the latest part before, over by then, which stopped as it called tools, if this one's inputs tell
// of that, the user said nothing new, and no other part went on from there; else a turn of its own. An answer without calls ends the turn: whatever
// comes then was asked for by somebody.
func (j *joiner) turn(p *piece) {
	j.out.Turns = append(j.out.Turns, j.turns)
	j.turns++
	if len(j.asked[p.at]) > 0 || len(p.ModelCalls) == 0 {
		return
	}
	for q := p.at - 1; q >= max(0, p.at-lookBackParts); q-- {
		end := j.ends[q]
		if len(end) == 0 || j.continued[q] || p.Start.Before(lastEnd(j.parts[q])) {
			continue
		}
		if !slices.ContainsFunc(end, func(key string) bool { return p.met[key] }) {
			continue
		}
		j.continued[q] = true
		j.out.Turns[p.at] = j.out.Turns[q]
		j.turns--
		return
	}
}

// lastEnd is when the last model call of a part was over.
func lastEnd(t *Trajectory) (end time.Time) {
	for i := range t.ModelCalls {
		end = laterOf(end, laterOf(t.ModelCalls[i].End, t.ModelCalls[i].Start))
	}
	return end
}
