package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// callDamages are those of what the agent asks for: which tool, with which arguments, how often.
func callDamages() []damage {
	return []damage{
		{"unknown tool", classify.HallucinatedTool, false, unknownTool},
		{"prefixed tool", classify.HallucinatedTool, true, prefixedTool},
		{"required argument dropped", classify.SchemaViolation, false, droppedArgument},
		{"argument of another type", classify.SchemaViolation, false, otherType},
		{"other value of the same type", classify.SchemaViolation, true, otherValue},
		{"the same call again and again", classify.Loop, false, repeated},
		{"polling that gets on", classify.Loop, true, polling},
		{"made-up id, rejected", classify.HallucinatedData, false, madeUpID},
		{"known id, rejected", classify.HallucinatedData, true, knownID},
	}
}

// offeredTo returns the tools that the model could choose from when it asked for the call.
func offeredTo(t *trajectory.Trajectory, c *trajectory.ToolCall) []trajectory.ToolDef {
	if c.Model >= 0 && t.ModelCalls[c.Model].Offered != nil {
		return t.ModelCalls[c.Model].Offered.Tools
	}
	return t.ToolsOffered
}

func schemaOf(t *trajectory.Trajectory, c *trajectory.ToolCall) (out struct {
	Type       string
	Required   []string
	Properties map[string]struct {
		Type    any
		Enum    []any
		Pattern string
		Format  string
	}
}, ok bool) {
	for _, d := range offeredTo(t, c) {
		if d.Name == c.Name && d.Schema != nil {
			ok = json.Unmarshal(d.Schema, &out) == nil && out.Type == "object"
		}
	}
	return out, ok
}

func unknownTool(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	i, ok := pick(t.ToolCalls, rnd, func(c *trajectory.ToolCall) bool { return answered(c) && len(offeredTo(t, c)) > 0 })
	if !ok {
		return false
	}
	name := one(rnd, "lookup_everything", "run_python", "multi_tool_use.parallel", "get_weather_now", "human_assistance", "search_knowledge_base_v2")
	change.Rename(t, i, name)
	change.Fail(t, i, one(rnd, "Tool '"+name+"' not found", "Error: unknown tool "+name, name+" is not a valid tool, try another one.", `{"error":"no tool named `+name+`"}`))
	return true
}

func prefixedTool(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	i, ok := pick(t.ToolCalls, rnd, func(c *trajectory.ToolCall) bool { return answered(c) && len(offeredTo(t, c)) > 0 })
	if ok {
		change.Rename(t, i, one(rnd, "functions.", "default_api.", "mcp__shop__")+t.ToolCalls[i].Name)
	}
	return ok
}

// argued changes the arguments of a call whose schema suits, and makes the tool refuse them unless refusal is "".
func argued(t *trajectory.Trajectory, rnd *rand.Rand, refusal string, edit func(args map[string]any, c *trajectory.ToolCall) bool) bool {
	var args map[string]any
	i, ok := pick(t.ToolCalls, rnd, func(c *trajectory.ToolCall) bool {
		_, typed := schemaOf(t, c)
		return answered(c) && typed
	})
	if !ok || json.Unmarshal(t.ToolCalls[i].Arguments.JSON, &args) != nil || !edit(args, &t.ToolCalls[i]) {
		return false
	}
	b, err := json.Marshal(args)
	if err != nil {
		return false
	}
	change.Argue(t, i, jsontext.Value(b))
	if refusal != "" {
		change.Fail(t, i, refusal)
	}
	return true
}

func droppedArgument(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	return argued(t, rnd, "Invalid arguments: a required property is missing", func(args map[string]any, c *trajectory.ToolCall) bool {
		s, _ := schemaOf(t, c)
		if len(s.Required) == 0 {
			return false
		}
		delete(args, s.Required[rnd.IntN(len(s.Required))])
		return true
	})
}

// typed returns a property of the arguments that the schema wants to be a string of any kind.
func typed(t *trajectory.Trajectory, args map[string]any, c *trajectory.ToolCall) string {
	s, _ := schemaOf(t, c)
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if p, ok := s.Properties[k]; ok && p.Type == "string" && p.Enum == nil && p.Pattern == "" && p.Format == "" {
			return k
		}
	}
	return ""
}

func otherType(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	return argued(t, rnd, one(rnd, "Input validation error: expected string, received object", "TypeError: argument must be str"), func(args map[string]any, c *trajectory.ToolCall) bool {
		k := typed(t, args, c)
		if k != "" {
			args[k] = map[string]any{"value": args[k]}
		}
		return k != ""
	})
}

func otherValue(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	return argued(t, rnd, "", func(args map[string]any, c *trajectory.ToolCall) bool {
		k := typed(t, args, c)
		if k != "" {
			args[k] = fmt.Sprint(args[k], " ", rnd.IntN(9))
		}
		return k != ""
	})
}

// again inserts n further calls like one that was answered, the k-th with the result that answer gives for k.
func again(t *trajectory.Trajectory, rnd *rand.Rand, n int, answer func(k int, old string) string) bool {
	i, ok := pick(t.ToolCalls, rnd, answered)
	if !ok {
		return false
	}
	c := t.ToolCalls[i]
	change.Answer(t, i, answer(0, c.Result.Raw))
	for k := range n {
		insert(t, after(t, i+k), change.Call{Tool: c.Name, Arguments: string(c.Arguments.JSON), Result: answer(k+1, c.Result.Raw), Agent: c.Agent})
	}
	return true
}

func repeated(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	return again(t, rnd, 5, func(_ int, old string) string { return old })
}

func polling(t *trajectory.Trajectory, rnd *rand.Rand) bool {
	return again(t, rnd, 3, func(k int, _ string) string {
		return fmt.Sprintf(`{"status":%q,"done":%d}`, []string{"queued", "running", "running", "finished"}[k], 33*k)
	})
}

func idOf(args map[string]any) string {
	for _, k := range slices.Sorted(maps.Keys(args)) {
		if v, ok := args[k].(string); ok && v != "" && (strings.HasSuffix(k, "id") || strings.HasSuffix(k, "Id")) {
			return k
		}
	}
	return ""
}

// identified answers a call of a tool that takes an id with a rejection of it.
func identified(t *trajectory.Trajectory, rnd *rand.Rand, invent bool) bool {
	var args map[string]any
	i, ok := pick(t.ToolCalls, rnd, func(c *trajectory.ToolCall) bool {
		args = nil
		return answered(c) && json.Unmarshal(c.Arguments.JSON, &args) == nil && idOf(args) != ""
	})
	if !ok || json.Unmarshal(t.ToolCalls[i].Arguments.JSON, &args) != nil {
		return false
	}
	k := idOf(args)
	if invent {
		args[k] = madeUp(rnd, "ZQX-%d")
		b, _ := json.Marshal(args)
		change.Argue(t, i, jsontext.Value(b))
	} else if !slices.ContainsFunc(t.UserMessages, func(m string) bool { return strings.Contains(m, args[k].(string)) }) {
		return false
	}
	change.Fail(t, i, one(rnd, fmt.Sprintf("Error: %s %v not found", k, args[k]), fmt.Sprintf(`{"error":"no such %s: %v"}`, k, args[k])))
	return true
}

func madeUpID(t *trajectory.Trajectory, rnd *rand.Rand) bool { return identified(t, rnd, true) }

func knownID(t *trajectory.Trajectory, rnd *rand.Rand) bool { return identified(t, rnd, false) }
