package trajectory

import (
	"maps"
	"strings"
)

// This dialect reads spans of the Model Context Protocol. Below a tool span they are that same call, seen from the client and from the server: the
// builder folds them in.
var _ = add(Dialect{Name: "mcp", Rank: 2, Keys: []string{"mcp."}, Score: scoreMCP, Read: readMCP, Remedies: mcpRemedies()})

func scoreMCP(s *Span) int {
	if s.Attrs.Has("mcp.method.name") {
		return 20
	}
	return 0
}

func readMCP(s *Span) Facts {
	f := genaiFrame(s)
	f.Role = RoleNone
	if method := s.Attrs.Text("mcp.method.name"); method != "tools/call" {
		return f
	}
	f.Role = RoleTool
	genaiTool(s.Attrs, &f)
	if f.ToolName == "" {
		f.ToolName, _ = strings.CutPrefix(s.Name, "tools/call ")
	}
	if f.Error != nil && f.Error.Type == "tool_error" {
		f.ToolError, f.Error = "tool_error", nil
	}
	if code := s.Attrs.Str("rpc.response.status_code"); code != "" && code != "0" {
		f.Error = &Error{Type: code}
		if code == "-32602" && frameworkVerdict(s.StatusMessage) == "" { // the server refused the parameters, or knows no such tool and says so
			f.Error.Type = ErrInvalidArguments
		}
	}
	return f
}

// mcpRemedies are those of the conventions; what a server cannot know, its client tells.
func mcpRemedies() map[Fact]string {
	const behind = "MCP spans tell of tools alone: instrument the agent that calls them, and let the client pass its context (params._meta.traceparent), so that both are one trace"
	out := maps.Clone(genaiRemedies)
	for _, f := range []Fact{FactModelCalls, FactToolCalls, FactToolsOffered, FactToolSchemas, FactUsage, FactFinishReason, FactModelName, FactUserMessages, FactReply} {
		out[f] = behind
	}
	return out
}
