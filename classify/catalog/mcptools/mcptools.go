// Package mcptools asks MCP servers for their tools. It speaks every revision of the protocol that the SDK does, follows all pages, and calls no tool.
package mcptools

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/classify/catalog"
)

// Client names us to the servers.
type Client struct{ Name, Version string }

// FromURL lists the tools of the server at a URL, over streamable HTTP.
func (c Client) FromURL(ctx context.Context, url string, hc *http.Client) ([]catalog.Tool, error) {
	return c.list(ctx, url, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: hc, DisableStandaloneSSE: true})
}

// FromCommand starts a server as a process, speaks to it over its standard input and output, and ends it.
func (c Client) FromCommand(ctx context.Context, cmd *exec.Cmd) ([]catalog.Tool, error) {
	return c.list(ctx, cmd.Path, &mcp.CommandTransport{Command: cmd})
}

// maxTools is where a server that never ends its list is stopped.
const maxTools = 10000

func (c Client) list(ctx context.Context, from string, tr mcp.Transport) ([]catalog.Tool, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: c.Name, Version: c.Version}, nil).Connect(ctx, tr, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server %s: %w", from, err)
	}
	defer session.Close()
	server := ""
	if init := session.InitializeResult(); init != nil && init.ServerInfo != nil {
		server = init.ServerInfo.Name
		if init.ServerInfo.Version != "" {
			server += "@" + init.ServerInfo.Version
		}
	}
	var out []catalog.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list the tools of the MCP server %s: %w", from, err)
		}
		if len(out) == maxTools {
			return nil, fmt.Errorf("list the tools of the MCP server %s: more than %d, without an end", from, maxTools)
		}
		text, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("read tool %s of the MCP server %s: %w", t.Name, from, err)
		}
		tool, err := catalog.ReadMCPTool(text)
		if err != nil {
			return nil, err
		}
		tool.Server = server
		out = append(out, tool.Pin())
	}
	return out, nil
}
