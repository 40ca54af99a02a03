package ratchet

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/lineage"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// contextOf is what the failing agent ran with.
func contextOf(t *trajectory.Trajectory, agent string) regcase.Context {
	all := lineage.ContextOf(t)
	c := regcase.Context{Service: t.Service, ServiceVersion: orNil(all.Version)}
	a := all.Of(agent)
	if a == nil {
		return c
	}
	if d := a.PromptsDigest(); d != "" {
		c.SystemPrompt = orNil("sha256:" + d)
	}
	if d := a.ToolsDigest(); d != "" {
		c.Tools = orNil("sha256:" + d)
	}
	if len(a.Models) > 0 {
		c.Model = orNil(strings.Join(a.Models, ", "))
	}
	return c
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// inputOf is what the agent is given: every turn of the user with what the agent answered to it, and the time that it was.
func inputOf(t *trajectory.Trajectory) regcase.Input {
	in := regcase.Input{Mode: "recorded", Turns: turns(t), Variables: map[string]string{}, Facts: []string{}}
	if !t.Start.IsZero() && !t.Complete.SyntheticTime {
		in.Clock = new(t.Start.UTC().Truncate(time.Second))
	}
	return in
}

// turns are the messages of the user. What the agent answered to one that another follows is the last reply between them, else what the inputs of model
// calls tell of it.
func turns(t *trajectory.Trajectory) []regcase.Turn {
	out := []regcase.Turn{}
	for i, u := range t.UserMessages {
		turn := regcase.Turn{User: u}
		if i+1 < len(t.UserMessages) {
			turn.Reply = replyBetween(t, u, t.UserMessages[i+1])
		}
		out = append(out, turn)
	}
	return out
}

func replyBetween(t *trajectory.Trajectory, user, next string) *string {
	var reply *string
	asked := false
	for _, s := range t.Steps {
		switch {
		case s.Kind == trajectory.StepUser && asked && s.Text == next && reply != nil:
			return reply
		case s.Kind == trajectory.StepUser:
			asked, reply = s.Text == user, nil
		case s.Kind == trajectory.StepReply && asked && strings.TrimSpace(s.Text) != "":
			reply = new(s.Text)
		}
	}
	return toldReply(t, user, next)
}

// toldReply looks for the answer in what the inputs of model calls repeat of the conversation.
func toldReply(t *trajectory.Trajectory, user, next string) *string {
	for i := range t.ModelCalls {
		var reply *string
		asked := false
		for _, m := range t.ModelCalls[i].New {
			text := strings.TrimSpace(m.Text())
			switch {
			case m.Role == "user" && asked && reply != nil && text == strings.TrimSpace(next):
				return reply
			case m.Role == "user":
				asked, reply = text == strings.TrimSpace(user), nil
			case m.Role == "assistant" && asked && text != "":
				reply = &text
			}
		}
	}
	return nil
}

// tools are those that the agent was offered, and those that it called which the team's catalog knows and no span tells of.
func (m *Maker) tools(t *trajectory.Trajectory) []regcase.Tool {
	out := []regcase.Tool{}
	for _, d := range t.ToolsOffered {
		out = append(out, m.tool(d))
	}
	for _, c := range t.ToolCalls {
		known, ok := m.Catalog.Tool(c.Name)
		if ok && !slices.ContainsFunc(out, func(o regcase.Tool) bool { return catalog.Normalise(o.Name) == catalog.Normalise(known.Name) }) {
			out = append(out, m.tool(trajectory.ToolDef{Name: known.Name}))
		}
	}
	return out
}

// tool is what is known of a tool. The schema itself is written down only where no span brings it along.
func (m *Maker) tool(d trajectory.ToolDef) regcase.Tool {
	tool := regcase.Tool{Name: d.Name, Effect: string(catalog.EffectUnknown)}
	schema := d.Schema
	if known, ok := m.Catalog.Tool(d.Name); ok {
		tool.Effect, tool.Idempotent = string(known.Effect), known.Idempotent
		if b, err := json.Marshal(known.Execution, json.Deterministic(true)); err == nil && known.Execution != nil {
			tool.Execution = b
		}
		if schema == nil && known.Schema != nil {
			schema, tool.Schema = known.Schema, regcase.NewJSON(known.Schema)
		}
	}
	if schema != nil {
		tool.SchemaSHA256 = orNil(regcase.SHA256(regcase.NewJSON(schema)))
	}
	return tool
}
