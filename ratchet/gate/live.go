package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// unreplayed names the tools that ran although nothing answered for them and nobody said that they may: an execution in the spans for which the
// ledger has no entry. What cannot be told from a real execution counts as one.
func unreplayed(c *regcase.Case, allowed []string, ts []*trajectory.Trajectory, ledger []Entry) (tools []string) {
	answered := map[string]int{}
	for _, e := range ledger {
		answered[catalog.Normalise(e.Tool)]++
	}
	for _, t := range ts {
		for i := range t.ToolCalls {
			call := &t.ToolCalls[i]
			name := catalog.Normalise(call.Name)
			if !ran(c, t, call) {
				continue
			}
			if answered[name] > 0 {
				answered[name]--
				continue
			}
			if !mayRun(c, allowed, name) && !slices.Contains(tools, name) {
				tools = append(tools, name)
			}
		}
	}
	return tools
}

// ran says that a tool's body may have run: its execution has a span. A call of a tool that there is not, or that failed where the body would
// have begun, runs nothing; a hand-off is no tool.
func ran(c *regcase.Case, t *trajectory.Trajectory, call *trajectory.ToolCall) bool {
	if !call.Executed || call.Outcome == trajectory.OutcomeMissing || call.Outcome == trajectory.OutcomeDenied {
		return false
	}
	if slices.ContainsFunc(t.Handoffs, func(h trajectory.Handoff) bool { return h.SpanID == call.SpanID }) {
		return false
	}
	if call.Outcome != trajectory.OutcomeError {
		return true
	}
	known := slices.ContainsFunc(c.Tools, func(x regcase.Tool) bool { return catalog.Normalise(x.Name) == catalog.Normalise(call.Name) })
	return known && !refused(call.Error)
}

// refused says that an error is that of arguments which were checked before the tool was called.
func refused(e *trajectory.Error) bool {
	if e == nil {
		return false
	}
	text := strings.ToLower(e.Type + " " + e.Message)
	return slices.ContainsFunc([]string{"invalidtoolinput", "invalidtoolarguments", "invalid tool input", "validation", "does not match", "nosuchtool"},
		func(word string) bool { return strings.Contains(text, word) })
}

// mayRun says that a tool may run live: gate.live_tools names it, or the team has declared that it reaches nothing outside.
func mayRun(c *regcase.Case, allowed []string, name string) bool {
	for _, pattern := range allowed {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	for _, t := range c.Tools {
		var said struct {
			External any `json:"external_api"`
		}
		if catalog.Normalise(t.Name) == name && t.Execution != nil && json.Unmarshal(t.Execution, &said) == nil && said.External == "never" {
			return true
		}
	}
	return false
}

// declare is what to write for tools that ran live.
func declare(tools []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ran for real: neither replayed nor declared. Answer for them at PAWL_TOOLS_URL or PAWL_MCP_URL, or say in pawl.yaml that they reach nothing outside:\n", strings.Join(tools, ", "))
	b.WriteString("tools:\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "  - name: %q\n    execution: {external_api: never}\n", t)
	}
	fmt.Fprintf(&b, "or let them run: gate: {live_tools: [%s]}", strings.Join(tools, ", "))
	return b.String()
}
