package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// matcher compares, and notes whether meaning was asked for.
func (b *bench) matcher() match.Matcher {
	if b.o.Embed == nil {
		return match.Matcher{}
	}
	return match.Matcher{Embed: func(texts ...string) ([][]float32, error) {
		b.meaning = true
		return b.o.Embed(texts...)
	}}
}

// trajectory compares the run's tool calls with the expected ones.
func (b *bench) trajectory() {
	e := b.c.Expect.Trajectory
	if e == nil {
		return
	}
	t := b.r.whole
	if _, lacks := t.Lacks(trajectory.FactToolCalls); lacks {
		b.unsure("trajectory: which tools were called is not known: tool calls is missing: " + remedy(t, trajectory.FactToolCalls))
		return
	}
	b.answer("trajectory", b.matcher().Calls(e, t))
}

// response compares the last reply with the expected one.
func (b *bench) response() {
	e := b.c.Expect.Response
	if e == nil {
		return
	}
	t := b.last()
	reply := replyOf(t)
	if reply == "" {
		if _, lacks := t.Lacks(trajectory.FactReply); lacks || !t.Complete.HasRoot {
			b.unsure("response: what the run replied is not known: reply is missing: " + remedy(t, trajectory.FactReply))
			return
		}
	}
	b.answer("response", b.matcher().Response(e, reply))
}

// state wants the run to pass through agents in order, and to write what must be remembered.
func (b *bench) state() {
	e := b.c.Expect.State
	if e == nil {
		return
	}
	b.nodes(e.Nodes)
	for i, m := range e.Memory {
		b.remembered(m, fmt.Sprintf("state/memory/%d", i))
	}
}

// nodes looks for the names in order among the agents and nodes that the run passed through; others in between are allowed.
func (b *bench) nodes(want []string) {
	passed := nodesOf(b.r.whole)
	at := 0
	for i, name := range want {
		next := slices.IndexFunc(passed[at:], func(p string) bool { return strings.EqualFold(p, name) })
		if next >= 0 {
			at += next + 1
			continue
		}
		if len(passed) == 0 {
			b.unsure("state: which agents or nodes the run passed through is not in its spans: record the agent's or the node's name on them (gen_ai.agent.name)")
			return
		}
		b.fails("the run did not pass through "+shorten(name)+" in its place", match.Mismatch{Step: -1, Field: fmt.Sprintf("state/nodes/%d", i),
			Expected: shorten(name), Got: shorten(strings.Join(passed, " > "))})
		return
	}
}

// nodesOf lists the agents of the steps in order, each once in a row.
func nodesOf(t *trajectory.Trajectory) []string {
	var out []string
	pass := func(name string) {
		if name != "" && (len(out) == 0 || out[len(out)-1] != name) {
			out = append(out, name)
		}
	}
	for _, s := range t.Steps {
		pass(s.Agent)
		if s.Kind == trajectory.StepHandoff {
			pass(t.Handoffs[s.Index].From)
			pass(t.Handoffs[s.Index].To)
		}
	}
	return out
}

// Arguments in which tools that remember name what they remember, and hold it.
var (
	memoryWords = []string{"memory", "memories", "remember", "memorize", "recall", "note", "preference", "profile", "state", "store"}
	keyNames    = []string{"key", "name", "path", "field", "topic", "id", "memory_key"}
	valueNames  = []string{"value", "content", "text", "data", "memory", "new_str", "file_text"}
)

// remembered looks for a write to the agent's memory among its tool calls: one that went well and names the key, with an equal value.
func (b *bench) remembered(m regcase.Memory, field string) {
	var others []string
	for i := range b.r.whole.ToolCalls {
		c := &b.r.whole.ToolCalls[i]
		var args map[string]any
		if c.Recalled || c.Outcome == trajectory.OutcomeError || c.Outcome == trajectory.OutcomeDenied || c.Arguments.JSON == nil || json.Unmarshal(c.Arguments.JSON, &args) != nil {
			continue
		}
		name := strings.ToLower(catalog.Normalise(c.Name))
		if !slices.ContainsFunc(memoryWords, func(w string) bool { return strings.Contains(name, w) }) {
			continue
		}
		if direct, ok := args[m.Key]; ok && match.SameValue(m.Value, direct) {
			return
		}
		if named(args, keyNames, func(v any) bool { return v == m.Key }) {
			if named(args, valueNames, func(v any) bool { return match.SameValue(m.Value, v) }) {
				return
			}
			others = append(others, string(c.Arguments.JSON))
			continue
		}
	}
	want := shorten(m.Key + " = " + string(m.Value))
	switch {
	case len(others) > 0:
		b.fails("the run remembers another "+shorten(m.Key), match.Mismatch{Step: -1, Field: field, Expected: want, Got: shorten(others[len(others)-1])})
	default:
		b.unsure("state: no tool call of the run shows a write of " + shorten(m.Key) + " to a memory, and spans tell of no other: record it as a tool call")
	}
}

func named(args map[string]any, names []string, is func(any) bool) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		v, ok := args[n]
		return ok && is(v)
	})
}

// criteria are judged by a model, or by people: not here.
func (b *bench) criteria() {
	for _, c := range b.c.Expect.Criteria {
		if c.Judge {
			b.note("a criterion is left to the judge: " + shorten(c.Text))
		}
	}
}
