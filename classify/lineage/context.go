// Package lineage tells what produced a run (a Context: the service's version and, by agent, digests of instructions and tools and the names of models),
// keeps the History of what a service's runs were produced by, and says what had changed when a failure began.
//
// It is pure. Nothing in it holds the words of a prompt, of a schema or of a trace, only names and digests. What it says never claims a cause: it names what
// differed and gives the numbers, and where too little was seen it says how little.
package lineage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Context is what produced a run: the version of the service and, for each agent that called a model, its instructions, tools and models. It holds names
// and digests, never the words of a prompt or of a schema. What the trace does not tell is empty.
type Context struct {
	Version string         `json:"version"` // service.version
	Agents  []AgentContext `json:"agents"`  // that of the run's first agent first, the others by name: it does not matter in which order they ran
}

// AgentContext is what one agent ran with. Digests are hex.
type AgentContext struct {
	Agent   string     `json:"agent"`           // with ids left out; "" for one without a name
	Route   string     `json:"route,omitempty"` // of one without a name: what tells it from the service's others
	Prompts []string   `json:"prompts"`         // PromptDigest of each of its instructions, sorted
	Tools   []ToolMark `json:"tools"`           // all that any of its calls was offered, by name; nil when the trace does not tell
	Models  []string   `json:"models"`          // as requested, else as responded less the date of the build, sorted
}

// ToolMark tells one definition of a tool from another. A digest is "" where the trace tells no more than the name.
type ToolMark struct {
	Name     string `json:"name"`
	Schema   string `json:"schema"`   // of the arguments' schema
	Words    string `json:"words"`    // of the description
	Fields   int    `json:"fields"`   // of the schema, at its top
	Required int    `json:"required"` // of them
}

// The bounds of a context.
const (
	maxContextAgents  = 16
	maxContextTools   = 100
	maxContextPrompts = 8
	maxContextModels  = 8
	maxContextName    = 100 // bytes
)

// ContextOf takes the context of a trajectory, as a Reader does that has met none before.
func ContextOf(t *trajectory.Trajectory) Context { return new(Reader).ContextOf(t) }

// ContextOf takes the context of a trajectory.
func (r *Reader) ContextOf(t *trajectory.Trajectory) Context {
	c := Context{Version: short(t.Version), Agents: []AgentContext{}}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		a := c.agent(m.Agent, t.Route)
		if a == nil {
			continue
		}
		if m.System != "" {
			a.Prompts = insert(a.Prompts, r.prompt(m.System), maxContextPrompts)
		}
		a.Models = insert(a.Models, short(cmp.Or(m.ModelRequested, undated(m.ModelResponded))), maxContextModels)
		if m.Offered != nil {
			a.offer(r.marks(m.Offered))
		}
	}
	c.order(t)
	return c
}

var buildDate = regexp.MustCompile(`[-@](20\d{6}|20\d\d-\d\d-\d\d)$`)

// undated is a model's name without the date at its end: some emitters tell the name that was asked for only of calls that failed.
func undated(model string) string { return buildDate.ReplaceAllString(model, "") }

// Of is the context of an agent, by the name that fingerprints give it; where the run has none of that name, the first agent's. It is nil when no agent
// called a model.
func (c *Context) Of(agent string) *AgentContext {
	for i := range c.Agents {
		if classify.SafeName(c.Agents[i].Agent) == agent {
			return &c.Agents[i]
		}
	}
	if len(c.Agents) > 0 {
		return &c.Agents[0]
	}
	return nil
}

// agent is the context of the agent of that name, made when there is none yet; nil when there are too many.
func (c *Context) agent(name, route string) *AgentContext {
	name = short(classify.ScrubIDs(name))
	i := slices.IndexFunc(c.Agents, func(a AgentContext) bool { return a.Agent == name })
	if i >= 0 {
		return &c.Agents[i]
	}
	if len(c.Agents) >= maxContextAgents {
		return nil
	}
	if name != "" {
		route = ""
	}
	c.Agents = append(c.Agents, AgentContext{Agent: name, Route: short(classify.SafeRoute(route)), Prompts: []string{}, Models: []string{}})
	return &c.Agents[len(c.Agents)-1]
}

// order puts the run's first agent first, which is the first to appear, or the one without a name around the others, and sorts the rest.
func (c *Context) order(t *trajectory.Trajectory) {
	first := ""
	if len(t.Agents) > 0 && !slices.ContainsFunc(c.Agents, func(a AgentContext) bool { return a.Agent == "" }) {
		first = short(classify.ScrubIDs(t.Agents[0]))
	}
	slices.SortFunc(c.Agents, func(x, y AgentContext) int {
		switch {
		case x.Agent == first:
			return -1
		case y.Agent == first:
			return 1
		}
		return cmp.Compare(x.Agent, y.Agent)
	})
}

// offer adds tools that it does not have yet. Of two definitions of one name the first stands.
func (a *AgentContext) offer(tools []ToolMark) {
	if a.Tools == nil {
		a.Tools = []ToolMark{}
	}
	for _, m := range tools {
		i, has := slices.BinarySearchFunc(a.Tools, m.Name, func(have ToolMark, name string) int { return cmp.Compare(have.Name, name) })
		if !has && len(a.Tools) < maxContextTools {
			a.Tools = slices.Insert(a.Tools, i, m)
		}
	}
}

func toolMarks(s *trajectory.ToolSet) []ToolMark {
	out := make([]ToolMark, 0, len(s.Tools))
	for _, d := range s.Tools {
		m := ToolMark{Name: short(classify.ScrubIDs(d.Name)), Words: PromptDigest(d.Description)}
		if d.Schema != nil {
			m.Schema = PromptDigest(string(d.Schema))
			var top struct {
				Properties map[string]any `json:"properties"`
				Required   []string       `json:"required"`
			}
			if err := json.Unmarshal(d.Schema, &top); err == nil {
				m.Fields, m.Required = len(top.Properties), len(top.Required)
			}
		}
		out = append(out, m)
	}
	return out
}

// PromptsDigest is one digest over all instructions of the agent, "" when none are known.
func (a *AgentContext) PromptsDigest() string {
	if len(a.Prompts) == 0 {
		return ""
	}
	return digestOf(a.Prompts)
}

// ToolsDigest is one digest over all tools of the agent, "" when they are not known.
func (a *AgentContext) ToolsDigest() string {
	if a.Tools == nil {
		return ""
	}
	parts := make([]string, 0, 3*len(a.Tools))
	for _, m := range a.Tools {
		parts = append(parts, m.Name, m.Schema, m.Words)
	}
	return digestOf(parts)
}

func digestOf(parts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// insert adds a text to a sorted set of few.
func insert(set []string, s string, most int) []string {
	i, has := slices.BinarySearch(set, s)
	if has || s == "" || len(set) >= most {
		return set
	}
	return slices.Insert(set, i, s)
}

// short bounds a name; what is longer is told from others by a hash.
func short(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if len(name) <= maxContextName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:maxContextName-20], "") + "~" + hex.EncodeToString(sum[:6])
}
