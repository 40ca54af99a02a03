package gate

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ForwardMCP is an MCP server that hands the calls of its clients to the replay at url, a run's PAWL_MCP_URL, and offers the tools that are offered there: for agents that start
// their MCP servers as commands. The ledger is that of the run. stop ends the connection.
func ForwardMCP(ctx context.Context, url string) (s *mcp.Server, stop func() error, err error) {
	to, err := mcp.NewClient(&mcp.Implementation{Name: "pawl-replay", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("gate: no replay answers at %s: %w", url, err)
	}
	s = replayServer()
	for t, err := range to.Tools(ctx, nil) {
		if err != nil {
			_ = to.Close() // it is broken already
			return nil, nil, fmt.Errorf("gate: the tools of the replay at %s: %w", url, err)
		}
		offer(s, t, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return to.CallTool(ctx, &mcp.CallToolParams{Name: t.Name, Arguments: call.Params.Arguments})
		})
	}
	return s, to.Close, nil
}
