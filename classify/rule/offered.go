package rule

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// findTool looks a tool up in a set by its exact name, else by its normalised one.
func findTool(set *trajectory.ToolSet, name string) (trajectory.ToolDef, bool) {
	if set == nil {
		return trajectory.ToolDef{}, false
	}
	if d, ok := set.Tool(name); ok {
		return d, true
	}
	short := catalog.Normalise(name)
	i := slices.IndexFunc(set.Tools, func(d trajectory.ToolDef) bool { return catalog.Normalise(d.Name) == short })
	if i < 0 {
		return trajectory.ToolDef{}, false
	}
	return set.Tools[i], true
}

// notOffered says that the tools offered in this call are known and that the called one is not among them.
func notOffered(t *trajectory.Trajectory, c *trajectory.ToolCall) bool {
	set, seen := offeredTo(t, c)
	if !seen {
		return false
	}
	_, ok := findTool(set, c.Name)
	return !ok
}

// pseudoTools are names that stand for no tool of the team: frameworks and providers run them, or they end or hand over the run.
var pseudoTools = map[string]bool{
	"final_answer": true, "final_result": true, "finish": true, "structured_output": true, "json_tool_call": true, "json": true,
	"submit_final_answer": true, "response_format": true, "__structured_output__": true, "generate_structured_output": true,
	"web_search": true, "web_search_preview": true, "web_fetch": true, "code_interpreter": true, "code_execution": true, "python_interpreter": true,
	"file_search": true, "image_generation": true, "computer": true, "computer_use_preview": true, "google_search": true, "url_context": true,
	"google_search_retrieval": true, "local_shell": true, "bash_code_execution": true, "text_editor_code_execution": true,
	"transfer_to_agent": true, "handoff_to_agent": true, "(merged tools)": true, "running_tools": true,
}

var handoffPrefixes = []string{"transfer_to_", "handoff_to_", "handoff to ", "transfer_back_to_", "delegate work to", "ask question to", "delegate_to_"}

// pseudo says that a name is a provider's tool, an output tool or a hand-off: no rule about the team's tools applies to it.
func pseudo(name string) bool {
	n := strings.ToLower(catalog.Normalise(name))
	if pseudoTools[n] || strings.HasPrefix(n, "web_search_") || strings.HasPrefix(n, "final_result_") {
		return true
	}
	return handoff(n)
}

func handoff(name string) bool {
	n := strings.ToLower(name)
	return slices.ContainsFunc(handoffPrefixes, func(p string) bool { return strings.HasPrefix(n, p) })
}
