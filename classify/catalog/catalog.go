// Package catalog knows the tools that agents may use, beside what their spans offer: schemas, side effects and execution declarations, as
// the team wrote them in its configuration. It is pure and immutable after New, so that many workers may read one catalog.
package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Effect is what a call of a tool does to the world.
type Effect string

// The effects. EffectUnknown is never taken for EffectRead.
const (
	EffectRead    Effect = "read"
	EffectWrite   Effect = "write"
	EffectUnknown Effect = "unknown"
)

// Annotations are what an MCP server says of a tool's behaviour; nil where it says nothing. They are claims, not proofs.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitzero"`
	Destructive *bool `json:"destructiveHint,omitzero"`
	Idempotent  *bool `json:"idempotentHint,omitzero"`
	OpenWorld   *bool `json:"openWorldHint,omitzero"`
}

// Tool is what is known of one tool: what the team declares, and what a server, a file or spans said when somebody looked.
type Tool struct {
	Name         string
	Title        string
	Description  string
	Schema       jsontext.Value // JSON Schema of the arguments, nil when not declared
	OutputSchema jsontext.Value // JSON Schema of the structured result, nil when not declared
	Annotations  Annotations
	Server       string // who offers it, "name" or "name@version"; "" when unknown
	Effect       Effect // "" counts as unknown
	Idempotent   bool
	Execution    map[string]any // the execution declaration as written, e.g. {"llm": "never"}
	Digest       string         // Sum of the tool when it was pinned, "" when it was not
}

// Catalog is a set of tools by name.
type Catalog struct {
	tools   []Tool // by name
	byName  map[string]int
	byShort map[string]int // by normalised name; -1 when two tools share it
}

// New builds a catalog. Two tools of one name, a tool without a name, an unknown effect and a schema that is not JSON are errors.
func New(tools []Tool) (*Catalog, error) {
	c := &Catalog{tools: slices.Clone(tools), byName: map[string]int{}, byShort: map[string]int{}}
	slices.SortStableFunc(c.tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	for i := range c.tools {
		if err := c.index(i); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Catalog) index(i int) error {
	t := &c.tools[i]
	t.Effect = cmp.Or(t.Effect, EffectUnknown)
	switch {
	case t.Name == "":
		return fmt.Errorf("catalog: tool %d has no name", i+1)
	case t.Effect != EffectRead && t.Effect != EffectWrite && t.Effect != EffectUnknown:
		return fmt.Errorf("catalog: tool %s: effect %q is none of read, write, unknown", t.Name, t.Effect)
	case t.Schema != nil && !t.Schema.IsValid():
		return fmt.Errorf("catalog: tool %s: schema is not JSON", t.Name)
	case t.OutputSchema != nil && !t.OutputSchema.IsValid():
		return fmt.Errorf("catalog: tool %s: output schema is not JSON", t.Name)
	case t.Digest != "" && t.Digest != t.Sum():
		return fmt.Errorf("catalog: tool %s: its digest is not that of what is written here: it was edited after it was pinned; pin it again with `pawl tools import`, or take the digest out", t.Name)
	}
	if _, double := c.byName[t.Name]; double {
		return fmt.Errorf("catalog: tool %s is declared twice", t.Name)
	}
	c.byName[t.Name] = i
	short := Normalise(t.Name)
	if _, taken := c.byShort[short]; taken {
		c.byShort[short] = -1
		return nil
	}
	c.byShort[short] = i
	return nil
}

// Tools returns all tools, by name.
func (c *Catalog) Tools() []Tool {
	if c == nil {
		return nil
	}
	return slices.Clone(c.tools)
}

// Tool looks a tool up by its exact name, else by its normalised name if only one tool has that. A nil catalog has no tools.
func (c *Catalog) Tool(name string) (Tool, bool) {
	if c == nil {
		return Tool{}, false
	}
	if i, ok := c.byName[name]; ok {
		return c.tools[i], true
	}
	if i, ok := c.byShort[Normalise(name)]; ok && i >= 0 {
		return c.tools[i], true
	}
	return Tool{}, false
}

// Normalise strips what frameworks and providers put around a tool's name: "functions.x", "mcp__server__x", "server/x", "x:0". A name that is
// nothing but wrapping stays as it is.
func Normalise(name string) string {
	s := strings.TrimSpace(name)
	if i := strings.LastIndexByte(s, ':'); i > 0 && digits(s[i+1:]) {
		s = s[:i]
	}
	if rest, ok := strings.CutPrefix(s, "mcp__"); ok {
		if _, tool, ok := strings.Cut(rest, "__"); ok && tool != "" {
			s = tool
		}
	}
	if i := strings.LastIndexByte(s, '/'); i >= 0 && i < len(s)-1 {
		s = s[i+1:]
	}
	for _, p := range []string{"functions.", "default_api.", "default_api:", "tools.", "function."} {
		if rest, ok := strings.CutPrefix(s, p); ok && rest != "" {
			s = rest
		}
	}
	return s
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
