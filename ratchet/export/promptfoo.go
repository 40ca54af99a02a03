package export

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// fooConfig is a promptfoo configuration. It is written as JSON, which promptfoo reads as it reads YAML.
type fooConfig struct {
	Description string    `json:"description"`
	Providers   []string  `json:"providers"`
	Prompts     []string  `json:"prompts"`
	Tests       []fooTest `json:"tests"`
}

type fooTest struct {
	Description string            `json:"description"`
	Vars        map[string]string `json:"vars"`
	Assert      []fooAssert       `json:"assert"`
	Metadata    fooMeta           `json:"metadata"`
}

type fooAssert struct {
	Type      string   `json:"type"`
	Value     any      `json:"value,omitzero"`
	Threshold *float64 `json:"threshold,omitzero"`
}

type fooMeta struct {
	Case   string   `json:"pawl_case"`
	Digest string   `json:"pawl_digest"`
	Labels []string `json:"pawl_labels"`
	Lost   []string `json:"pawl_lost"`
}

// provider stands for the agent, which no case knows: it answers with the prompt. The team puts its own in its place.
const provider = "echo"

func promptfoo(r *Result, live []*regcase.Entry) error {
	cfg := fooConfig{Description: "cases of pawl; put your agent in the place of the provider " + provider, Providers: []string{provider}, Prompts: []string{"{{input}}"}, Tests: []fooTest{}}
	for _, e := range live {
		t := fooCase(r, e)
		if len(t.Assert) == 0 {
			r.Left[e.Case.ID] = "nothing that it asserts has a counterpart in promptfoo"
			delete(r.Lost, e.Case.ID)
			continue
		}
		cfg.Tests = append(cfg.Tests, t)
		r.Cases++
	}
	b, err := json.Marshal(cfg, json.Deterministic(true), jsontext.WithIndent("  "))
	r.Data = append(b, '\n')
	return err
}

func fooCase(r *Result, e *regcase.Entry) fooTest {
	c := &e.Case
	r.common(c)
	t := fooTest{Description: c.ID + ": " + c.Title, Vars: map[string]string{"input": raw(c.Input.Turns[len(c.Input.Turns)-1].User)}, Assert: []fooAssert{}}
	if len(c.Input.Turns) > 1 {
		b, err := json.Marshal(conversation(c))
		if err == nil {
			t.Vars["messages"] = raw(string(b))
		}
	}
	for name, v := range c.Input.Variables {
		if _, taken := t.Vars[name]; !taken {
			t.Vars[name] = raw(v)
		}
	}
	t.Assert = append(t.Assert, fooCalls(r, c)...)
	t.Assert = append(t.Assert, fooReply(r, c)...)
	t.Assert = append(t.Assert, fooBudget(r, c)...)
	if r.Lost[c.ID] == nil {
		r.Lost[c.ID] = []string{}
	}
	t.Metadata = fooMeta{c.ID, e.Digest, c.Labels, append([]string{}, r.Lost[c.ID]...)}
	return t
}

// raw keeps promptfoo's templates and its file:// references out of what a user said.
func raw(s string) string {
	if !strings.ContainsAny(s, "{") && !strings.Contains(s, "://") {
		return s
	}
	if strings.Contains(s, "endraw") {
		return strings.NewReplacer("{{", "{ {", "{%", "{ %", "{#", "{ #").Replace(s)
	}
	return "{% raw %}" + s + "{% endraw %}"
}

func fooCalls(r *Result, c *regcase.Case) (out []fooAssert) {
	list, mode := calls(r, c)
	var names []string
	times := map[string]int{}
	for _, w := range list {
		if times[w.tool]++; times[w.tool] == 1 {
			names = append(names, w.tool)
		}
		if len(w.exact) > 0 {
			kind := "partial"
			if w.all {
				kind = "exact"
			}
			out = append(out, fooAssert{Type: "trajectory:tool-args-match", Value: map[string]any{"name": w.tool, "args": w.arguments, "mode": kind}})
		}
	}
	switch mode {
	case "exact", "ordered":
		var steps []string
		for _, w := range list {
			steps = append(steps, w.tool)
		}
		if len(steps) > 0 {
			out = append(out, fooAssert{Type: "trajectory:tool-sequence", Value: map[string]any{"mode": map[string]string{"exact": "exact", "ordered": "in_order"}[mode], "steps": steps}})
		}
	case "subset":
		if len(list) > 0 {
			r.lose(c.ID, "that no further tool is called")
		}
		return nil
	default:
		if mode == "unordered" {
			r.lose(c.ID, "that no further tool is called")
		}
		for _, name := range names {
			out = append(out, fooAssert{Type: "trajectory:tool-used", Value: map[string]any{"name": name, "min": times[name]}})
		}
	}
	return append(out, fooFaults(r, c)...)
}

// fooFaults says of a hallucinated tool what promptfoo can say: that it is not called.
func fooFaults(_ *Result, c *regcase.Case) (out []fooAssert) {
	for _, n := range c.Expect.Never {
		if name := c.Fingerprint.Part("name"); n.Label == "hallucinated_tool" && name != "" && !strings.ContainsAny(name, "#") {
			out = append(out, fooAssert{Type: "not-trajectory:tool-used", Value: name})
		}
	}
	return out
}

func fooReply(r *Result, c *regcase.Case) (out []fooAssert) {
	if a := c.Expect.Response; a != nil {
		out = append(out, fooAssert{Type: "similar", Value: raw(a.Text), Threshold: &a.Threshold})
		r.lose(c.ID, "contradictions of the reply in negation, numbers and names")
	}
	for _, k := range c.Expect.Criteria {
		if k.Judge {
			out = append(out, fooAssert{Type: "llm-rubric", Value: raw(k.Text)})
		} else {
			r.lose(c.ID, "a criterion for people")
		}
	}
	return out
}

func fooBudget(r *Result, c *regcase.Case) (out []fooAssert) {
	b := c.Expect.Budget
	if b == nil {
		return nil
	}
	over := 1 + b.Tolerance
	if b.CostUSD != nil {
		out = append(out, fooAssert{Type: "cost", Threshold: new(*b.CostUSD * over)})
	}
	if b.DurationS != nil {
		out = append(out, fooAssert{Type: "latency", Threshold: new(*b.DurationS * over * 1000)})
	}
	if b.ToolCalls != nil {
		out = append(out, fooAssert{Type: "trajectory:step-count", Value: map[string]any{"type": "tool", "max": int64(float64(*b.ToolCalls) * over)}})
	}
	if b.TotalTokens != nil {
		r.lose(c.ID, fmt.Sprintf("budget of %d tokens", *b.TotalTokens))
	}
	return out
}
