package gate

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// mcpHandler is an MCP server over streamable HTTP that offers the case's tools and answers by the replay.
func mcpHandler(r *Replay, shut context.Context) http.Handler {
	server := MCPServer(r, shut)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
}

// MCPServer offers the tools of the replay's case and answers for them. Calls that hang by order are let go when shut ends.
func MCPServer(r *Replay, shut context.Context) *mcp.Server {
	s := replayServer()
	for _, t := range r.kase.Tools {
		offer(s, toolOf(t, r.kase.Schemas[t.Name]), func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return r.answerMCP(ctx, shut, t.Name, call.Params.Arguments)
		})
	}
	return s
}

func replayServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "pawl-replay", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
}

// offer adds a tool. The SDK panics on a schema that it does not take; the tool is then offered with one that takes anything.
func offer(s *mcp.Server, t *mcp.Tool, h mcp.ToolHandler) {
	defer func() {
		if recover() != nil {
			t.InputSchema = jsontext.Value(anything)
			s.AddTool(t, h)
		}
	}()
	s.AddTool(t, h)
}

const anything = `{"type":"object"}`

// toolOf is a tool as MCP lists it. Its arguments are not checked here: what a wrong call leads to is the agent's own affair, and the judge's.
func toolOf(t regcase.Tool, declared regcase.JSON) *mcp.Tool {
	schema := jsontext.Value(anything)
	var of struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(declared, &of) == nil && of.Type == "object" {
		schema = jsontext.Value(declared)
	}
	return &mcp.Tool{Name: t.Name, InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.Effect == "read"}}
}

var errCut = errors.New("the connection was closed")

func (r *Replay) answerMCP(ctx, shut context.Context, tool string, arguments []byte) (*mcp.CallToolResult, error) {
	a := r.Answer(ctx, tool, arguments)
	switch a.Fault {
	case "":
		return textResult(a.Result, false), nil
	case "timeout":
		select {
		case <-ctx.Done():
		case <-shut.Done():
		}
		return nil, context.DeadlineExceeded
	case "missing":
		return nil, errCut
	case "denied":
		return textResult(a.text("permission denied"), true), nil
	}
	return textResult(a.text(wordOf(a.Source, tool)), true), nil
}

// textResult is a result as MCP gives it: the words of a string, the JSON of anything else, which an object is beside them too.
// What was recorded in MCP's own form is given in it.
func textResult(v regcase.JSON, failed bool) *mcp.CallToolResult {
	if r, ok := ownResult(v); ok {
		r.IsError = r.IsError || failed
		return r
	}
	out := &mcp.CallToolResult{IsError: failed}
	var words string
	if json.Unmarshal(v, &words) != nil {
		words = string(v)
	}
	out.Content = []mcp.Content{&mcp.TextContent{Text: words}}
	if len(v) > 0 && v[0] == '{' && !failed {
		out.StructuredContent = jsontext.Value(v)
	}
	return out
}

// ownResult reads a result that was recorded as MCP gives it: {"content": [...]}, or the list alone.
func ownResult(v regcase.JSON) (*mcp.CallToolResult, bool) {
	text := string(v)
	if strings.HasPrefix(text, "[") {
		text = `{"content":` + text + `}`
	}
	var shape struct {
		Content []struct {
			Type string `json:"type"`
		} `json:"content"`
	}
	if json.Unmarshal([]byte(text), &shape) != nil || len(shape.Content) == 0 || shape.Content[0].Type == "" {
		return nil, false
	}
	var r mcp.CallToolResult
	if r.UnmarshalJSON([]byte(text)) != nil {
		return nil, false
	}
	return &r, true
}
