package mcpcheck

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-dev/pawl/classify/catalog"
)

// offered is a tool as the server lists it.
type offered struct {
	catalog.Tool
	in, out *jsonschema.Schema // nil where there is none that could be used
}

const (
	maxTools = 10000
	noTool   = "pawl_no_such_tool_4f1c"
)

// list reads all pages.
func (c *checking) list(ctx context.Context) error {
	seen, cursors := map[string]bool{}, map[string]bool{}
	for params := any(nil); ; {
		r, err := c.ask(ctx, c.wire, "list", "tools/list", params)
		if err != nil || r == nil {
			return err
		}
		var page struct {
			Tools []jsontext.Value `json:"tools"`
			Next  *string          `json:"nextCursor"`
		}
		if r.Error != nil || json.Unmarshal(r.Result, &page) != nil || page.Tools == nil {
			c.say(Broken, "list", "", "/result/tools", "is no list of tools")
			return nil
		}
		for _, text := range page.Tools {
			c.take(text, seen)
		}
		c.report.Tools = len(c.tools)
		if page.Next == nil || *page.Next == "" {
			break
		}
		if cursors[*page.Next] || len(c.tools) > maxTools {
			c.say(Broken, "list", "", "/result/nextCursor", "leads on without an end")
			return nil
		}
		cursors[*page.Next] = true
		params = map[string]any{"cursor": *page.Next}
	}
	r, err := c.ask(ctx, c.wire, "list", "tools/list", map[string]any{"cursor": "pawl-no-such-cursor"})
	if err == nil && r != nil && r.Error == nil {
		c.say(Advice, "list", "", "", "takes a cursor that it did not give")
	}
	return err
}

// take reads a tool of the list.
func (c *checking) take(text jsontext.Value, seen map[string]bool) {
	t, err := catalog.ReadMCPTool(text)
	if err != nil || t.Name == "" {
		c.say(Broken, "list", "", "", "lists what is no tool: %v", err)
		return
	}
	if seen[t.Name] {
		c.say(Broken, "list", t.Name, "", "is listed twice")
		return
	}
	seen[t.Name] = true
	c.tools = append(c.tools, offered{t, c.compile(t.Name, "/inputSchema", t.Schema), c.compile(t.Name, "/outputSchema", t.OutputSchema)})
}

// compile reads a schema, and says what is wrong with it.
func (c *checking) compile(tool, at string, schema jsontext.Value) *jsonschema.Schema {
	c.did("schemas")
	if len(schema) == 0 {
		if at == "/inputSchema" {
			c.say(Broken, "schemas", tool, at, "is missing")
		}
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err == nil {
		comp := jsonschema.NewCompiler()
		comp.UseLoader(nothing{})
		if err = comp.AddResource("mem:///tool.json", doc); err == nil {
			var s *jsonschema.Schema
			if s, err = comp.Compile("mem:///tool.json"); err == nil {
				return c.ofObject(tool, at, doc, s)
			}
		}
	}
	c.say(Broken, "schemas", tool, at, "is no JSON Schema: %s", strings.Join(strings.Fields(err.Error()), " "))
	return nil
}

func (c *checking) ofObject(tool, at string, doc any, s *jsonschema.Schema) *jsonschema.Schema {
	if m, ok := doc.(map[string]any); at == "/inputSchema" && (!ok || m["type"] != "object") {
		c.say(Broken, "schemas", tool, at+"/type", `is not "object": arguments are objects`)
	}
	return s
}

// nothing loads no schema: a tool's must stand by itself.
type nothing struct{}

// Load refuses.
func (nothing) Load(url string) (any, error) { return nil, fmt.Errorf("it refers to %s", url) }

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// judgeTools looks at what the tools say, and at what is declared of them.
func (c *checking) judgeTools() {
	var listed []catalog.Tool
	for _, t := range c.tools {
		c.did("names")
		c.did("annotations")
		known := c.known(t.Tool)
		known.Annotations = catalog.Annotations{} // they are looked at below
		listed = append(listed, known)
		if !toolName.MatchString(t.Name) {
			c.say(Advice, "names", t.Name, "/name", "has other characters than letters, digits, _, - and ., or more than 128")
		}
		if a := t.Annotations; yes(a.ReadOnly) && yes(a.Destructive) {
			c.say(Broken, "annotations", t.Name, "/annotations", "say that it reads only and that it destroys")
		}
		if a := t.Annotations; a.ReadOnly == nil && a.Destructive == nil {
			c.say(Advice, "annotations", t.Name, "/annotations", "say nothing of what it does to the world: clients take it for destructive")
		}
	}
	for _, l := range catalog.Lint(listed) {
		level := Advice
		if l.Error {
			level = Broken
		}
		c.say(level, "schemas", l.Tool, l.Pointer, "%s", l.What)
	}
	c.effects()
	c.drift()
}

// known is a tool with the effect that the team declares of it.
func (c *checking) known(t catalog.Tool) catalog.Tool {
	if i := slices.IndexFunc(c.Declared, func(d catalog.Tool) bool { return catalog.Normalise(d.Name) == catalog.Normalise(t.Name) }); i >= 0 && c.Declared[i].Effect != catalog.EffectUnknown {
		t.Effect = cmp.Or(c.Declared[i].Effect, t.Effect)
	}
	return t
}

// effects compares annotations with what pawl.yaml declares.
func (c *checking) effects() {
	if len(c.Declared) == 0 {
		c.skip("effects", "", "no tools are declared in pawl.yaml")
		return
	}
	c.did("effects")
	for _, d := range c.Declared {
		i := slices.IndexFunc(c.tools, func(t offered) bool { return catalog.Normalise(t.Name) == catalog.Normalise(d.Name) })
		if i < 0 {
			continue // of another server
		}
		a := c.tools[i].Annotations
		switch {
		case d.Effect == catalog.EffectWrite && yes(a.ReadOnly):
			c.say(Broken, "effects", d.Name, "/annotations/readOnlyHint", "says that it reads only, and pawl.yaml declares that it writes")
		case d.Effect == catalog.EffectRead && (yes(a.Destructive) || a.ReadOnly != nil && !*a.ReadOnly):
			c.say(Broken, "effects", d.Name, "/annotations", "say that it changes things, and pawl.yaml declares that it reads")
		case d.Idempotent && a.Idempotent != nil && !*a.Idempotent && !yes(a.ReadOnly):
			c.say(Broken, "effects", d.Name, "/annotations/idempotentHint", "says that a repeated call does more, and pawl.yaml declares that it is idempotent")
		}
	}
}

// drift compares with what was pinned.
func (c *checking) drift() {
	now := map[string]catalog.Tool{}
	for _, t := range c.tools {
		now[t.Name] = t.Tool
	}
	for _, old := range c.Pinned {
		c.did("effects")
		t, ok := now[old.Name]
		if !ok {
			c.say(Broken, "effects", old.Name, "", "was pinned and is no longer offered")
			continue
		}
		for _, ch := range catalog.Diff(old, t) {
			if ch.Field == "server" {
				continue
			}
			level := Broken
			if ch.Kind == catalog.Compatible {
				level = Advice
			}
			c.say(level, "effects", old.Name, "/"+strings.Join(append([]string{ch.Field}, ch.Pointer...), "/"), "%s since it was pinned (%s)", ch.What, ch.Kind)
		}
	}
}

func yes(b *bool) bool { return b != nil && *b }

// result is what tools/call answers.
type result struct {
	Content    []map[string]any `json:"content"`
	Structured jsontext.Value   `json:"structuredContent"`
	IsError    bool             `json:"isError"`
}

func (c *checking) call(ctx context.Context, check, tool string, arguments any) (*reply, *result, error) {
	r, err := c.ask(ctx, c.wire, check, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if err != nil || r == nil || r.Error != nil {
		return r, nil, err
	}
	var got result
	if json.Unmarshal(r.Result, &got) != nil || got.Content == nil && got.Structured == nil {
		c.say(Broken, check, tool, "/result", "is no result of a tool: it has no content")
		return r, nil, nil
	}
	for i, block := range got.Content {
		if kind, _ := block["type"].(string); !slices.Contains([]string{"text", "image", "audio", "resource_link", "resource"}, kind) {
			c.say(Broken, check, tool, fmt.Sprintf("/result/content/%d/type", i), "is %q, which there is not", kind)
		}
	}
	return r, &got, nil
}

func (c *checking) unknownTool(ctx context.Context) error {
	r, got, err := c.call(ctx, "unknown-tool", noTool, map[string]any{})
	switch {
	case err != nil || r == nil:
		return err
	case got != nil && got.IsError:
		c.say(Advice, "unknown-tool", "", "", "is answered with a result that is an error, not with the error %d", badParams)
	case r.Error == nil:
		c.say(Broken, "unknown-tool", "", "", "is answered as if it were there")
	case !r.plain && *r.Error.Code != badParams:
		c.say(Advice, "unknown-tool", "", "/error/code", "is %d, not %d", *r.Error.Code, badParams)
	}
	return nil
}

// wrongArguments sends tools that only read what their schemas forbid.
func (c *checking) wrongArguments(ctx context.Context) error {
	for _, t := range c.tools {
		if t.in == nil {
			continue
		}
		if known := c.known(t.Tool); known.Effect != catalog.EffectRead {
			c.skip("wrong-arguments", t.Name, "it may write: it is neither annotated nor declared to read only")
			continue
		}
		args, ok := forbidden(t)
		if !ok {
			c.skip("wrong-arguments", t.Name, "its schema forbids nothing that was thought of")
			continue
		}
		r, got, err := c.call(ctx, "wrong-arguments", t.Name, args)
		switch {
		case err != nil:
			return err
		case r == nil:
		case got != nil && !got.IsError:
			text, _ := json.Marshal(args) // it was marshalled before
			c.say(Broken, "wrong-arguments", t.Name, "", "takes %.100s, which its schema forbids", text)
		case r.Error != nil:
			c.say(Advice, "wrong-arguments", t.Name, "", "refuses by an error of the protocol (%d): a result with isError reaches the model, which could correct itself", *r.Error.Code)
		}
	}
	return nil
}

// forbidden are arguments that a schema does not allow.
func forbidden(t offered) (map[string]any, bool) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if json.Unmarshal(t.Schema, &schema) != nil {
		return nil, false
	}
	tries := []map[string]any{{}}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		tries = append(tries, map[string]any{name: []any{map[string]any{}}}, map[string]any{name: 7.5}, map[string]any{name: "pawl"})
	}
	tries = append(tries, map[string]any{"pawl_no_such_argument": true})
	for _, args := range tries {
		if t.in.Validate(any(args)) != nil {
			return args, true
		}
	}
	return nil, false
}

// results looks at what calls that are right give.
func (c *checking) results(ctx context.Context) error {
	if len(c.Calls) == 0 {
		c.skip("results", "", "no calls were given")
		return nil
	}
	for _, call := range c.Calls {
		i := slices.IndexFunc(c.tools, func(t offered) bool { return t.Name == call.Tool })
		if i < 0 {
			c.say(Broken, "results", call.Tool, "", "is not offered")
			continue
		}
		r, got, err := c.call(ctx, "results", call.Tool, call.Arguments)
		if err != nil {
			return err
		}
		if r != nil {
			c.judgeResult(c.tools[i], r, got)
		}
	}
	return nil
}

func (c *checking) judgeResult(t offered, r *reply, got *result) {
	switch {
	case r.Error != nil:
		c.say(Broken, "results", t.Name, "", "refuses the call: %s", *r.Error.Message)
	case got == nil:
	case got.IsError:
		c.say(Broken, "results", t.Name, "", "fails")
	case t.out != nil && got.Structured == nil:
		c.say(Broken, "results", t.Name, "/result/structuredContent", "is missing, though an output schema is declared")
	case t.out != nil:
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(got.Structured)))
		if err = cmp.Or(err, t.out.Validate(doc)); err != nil {
			at := "/result/structuredContent"
			if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok && len(v.Causes) > 0 {
				at += "/" + strings.Join(v.Causes[0].InstanceLocation, "/")
			}
			c.say(Broken, "results", t.Name, at, "is not what the output schema says")
		}
	}
}
