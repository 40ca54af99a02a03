package mcptools

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/classify/catalog"
)

type order struct {
	ID string `json:"order_id"`
}

// A real server over HTTP, with a list of several pages.
func TestFromURL(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.2"}, &mcp.ServerOptions{PageSize: 2})
	for i := range 5 {
		mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("get_order_%d", i), Description: "Reads one order.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(context.Context, *mcp.CallToolRequest, order) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
	}
	for _, stateless := range []bool{false, true} {
		h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
		tools, err := Client{"pawl", "1"}.FromURL(t.Context(), h.URL, h.Client())
		h.Close()
		if err != nil || len(tools) != 5 {
			t.Fatalf("%d tools, %v", len(tools), err)
		}
		for _, x := range tools {
			if x.Effect != catalog.EffectRead || x.Server != "shop@1.2" || x.Schema == nil || x.Digest != x.Sum() {
				t.Errorf("tool %+v", x)
			}
		}
		if _, err := catalog.New(tools); err != nil {
			t.Error(err)
		}
	}
}

func TestFromURLRefuses(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	defer h.Close()
	if tools, err := (Client{"pawl", "1"}).FromURL(t.Context(), h.URL, h.Client()); err == nil {
		t.Errorf("tools of a server that speaks no MCP: %v", tools)
	}
}
