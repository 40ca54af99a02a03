package trajectory

// listedTools takes what an MCP server listed for what was offered, where no call of a model says what it could choose from: of a run whose
// calls of the model all failed, or are traced elsewhere, the session with the server is all that tells it. The conventions record no list;
// OpenLLMetry does.
func (b *builder) listedTools() {
	if len(b.out.ToolsOffered) > 0 {
		return
	}
	for _, n := range b.nodes {
		a := n.span.Attrs
		if n.span.Name != "tools/list.mcp" && a.Text("mcp.method.name") != "tools/list" {
			continue
		}
		listed := readObject(a.jsonText("traceloop.entity.output", "mcp.response.value", "gen_ai.tool.call.result")).get("tools")
		if set := b.reader.toolSet(listed); listed != "" && set != nil && len(set.Tools) > 0 {
			b.out.ToolsOffered = set.Tools
			return
		}
	}
}
