package export

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// evalLine is one case for agentevals: the settings of createTrajectoryMatchEvaluator, and the reference that its evaluator takes.
type evalLine struct {
	Case       string              `json:"case"`
	Title      string              `json:"title"`
	Inputs     evalInputs          `json:"inputs"`
	Mode       string              `json:"trajectoryMatchMode"`
	Arguments  string              `json:"toolArgsMatchMode"`
	Overrides  map[string][]string `json:"toolArgsMatchOverrides"`
	References []evalMessage       `json:"referenceOutputs"`
	Lost       []string            `json:"lost"`
}

type evalInputs struct {
	Messages []evalMessage `json:"messages"`
}

type evalMessage struct {
	Role    string     `json:"role"`
	Content string     `json:"content"`
	Calls   []evalCall `json:"tool_calls,omitzero"`
	CallID  string     `json:"tool_call_id,omitzero"`
}

type evalCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function evalFunction `json:"function"`
}

type evalFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// agentEvals gives a line for a case that expects calls of tools; agentevals compares nothing else.
func agentEvals(r *Result, e *regcase.Entry) (any, bool) {
	c := &e.Case
	list, mode := calls(r, c)
	if len(list) == 0 {
		delete(r.Lost, c.ID)
		r.Left[c.ID] = "it expects no calls of tools, which is all that agentevals compares"
		return nil, false
	}
	r.common(c)
	if c.Expect.Response != nil || len(c.Expect.Criteria) > 0 {
		r.lose(c.ID, "the reply")
	}
	if c.Expect.Budget != nil {
		r.lose(c.ID, "budget")
	}
	for _, want := range list {
		if want.null {
			r.lose(c.ID, want.tool+": null, which counts as absent there")
		}
	}
	line := evalLine{Case: c.ID, Title: c.Title, Inputs: evalInputs{conversation(c)}, Overrides: overrides(r, c.ID, list), Arguments: "ignore"}
	if mode != "exact" && mode != "ordered" {
		line.Mode = mode
	} else {
		line.Mode = map[string]string{"exact": "strict", "ordered": "superset"}[mode]
	}
	if mode == "ordered" {
		r.lose(c.ID, "the order of the calls")
	}
	if !slices.ContainsFunc(list, func(c call) bool { return !c.all }) {
		line.Arguments, line.Overrides = "exact", map[string][]string{}
	}
	line.References = references(c, list)
	line.Lost = slices.Clone(r.Lost[c.ID])
	return line, true
}

// overrides are, for each tool, the fields that all of its expected calls name: agentevals compares the same fields in every call of a tool.
func overrides(r *Result, id string, list []call) map[string][]string {
	out := map[string][]string{}
	for _, c := range list {
		fields, seen := out[c.tool]
		if !seen {
			out[c.tool] = c.exact
			continue
		}
		both := slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return !slices.Contains(c.exact, f) })
		if len(both) < max(len(fields), len(c.exact)) {
			r.lose(id, fmt.Sprintf("%s: fields that only some of its calls name", c.tool))
		}
		out[c.tool] = both
	}
	for _, tool := range slices.Sorted(maps.Keys(out)) {
		if len(out[tool]) == 0 {
			delete(out, tool) // the mode ignore is what it comes to
		}
	}
	return out
}

// conversation is what the agent is given: the turns, with the recorded answers between them.
func conversation(c *regcase.Case) []evalMessage {
	var out []evalMessage
	for i, t := range c.Input.Turns {
		out = append(out, evalMessage{Role: "user", Content: t.User})
		if t.Reply != nil && i < len(c.Input.Turns)-1 {
			out = append(out, evalMessage{Role: "assistant", Content: *t.Reply})
		}
	}
	return out
}

// references are the messages of a run that is as expected: each call, its answer where one was recorded, and a reply.
func references(c *regcase.Case, list []call) []evalMessage {
	out := conversation(c)
	for i, want := range list {
		id := fmt.Sprintf("call_%d", i+1)
		out = append(out, evalMessage{Role: "assistant", Calls: []evalCall{{id, "function", evalFunction{want.tool, string(want.arguments)}}}},
			evalMessage{Role: "tool", CallID: id, Content: answer(c, want)})
	}
	reply := ""
	if c.Expect.Response != nil {
		reply = c.Expect.Response.Text
	}
	return append(out, evalMessage{Role: "assistant", Content: reply})
}

func answer(c *regcase.Case, want call) string {
	for _, f := range c.Fixtures {
		if f.Tool == want.tool && string(f.Arguments) == string(regcase.NewJSON(want.arguments)) && f.Result != nil {
			return string(jsontext.Value(f.Result))
		}
	}
	return "{}"
}
