package gate_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/ratchet/gate"
)

// TestForward: calls that are handed on are answered, and recorded, as those that come by HTTP themselves.
func TestForward(t *testing.T) {
	c := caseWith(t, "never", fixture("get", `{"id":1}`, `{"state":"open"}`, "", "recording"), fixture("get", `{"id":1}`, `{"state":"closed"}`, "", "recording"),
		fixture("get", `{"id":2}`, `"no such order"`, "error", "recording"), fixture("get", `{"id":3}`, ``, "denied", "recording"), fixture("get", `{"id":4}`, ``, "missing", "recording"),
		fixture("get", `{"id":6}`, `[{"type":"text","text":"as MCP has it"}]`, "", "recording"), fixture("put", `{"id":7}`, `"healthy"`, "", "healthy"))
	direct, ledger := replayedOver(t, c, nil)
	forwarded, handedOn := replayedOver(t, c, func(url string) *mcp.ClientSession {
		s, stop, err := gate.ForwardMCP(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stop() }) // the server may be closed
		server, client := mcp.NewInMemoryTransports()
		if _, err := s.Connect(t.Context(), server, nil); err != nil {
			t.Fatal(err)
		}
		return connected(t, client)
	})
	if !reflect.DeepEqual(direct, forwarded) {
		t.Errorf("answers\n%v\n%v", direct, forwarded)
	}
	if len(ledger) < 8 || !reflect.DeepEqual(ledger, handedOn) {
		t.Errorf("ledgers\n%+v\n%+v", ledger, handedOn)
	}
}

func connected(t *testing.T, tr mcp.Transport) *mcp.ClientSession {
	s, err := mcp.NewClient(&mcp.Implementation{Name: "t"}, nil).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the server may be closed
	return s
}

// replayedOver makes the same calls over HTTP, or over what through leads to it.
func replayedOver(t *testing.T, c *gate.Case, through func(url string) *mcp.ClientSession) (answers []string, ledger []gate.Entry) {
	r := gate.NewReplay(c, gate.Stubs{})
	server := gate.MCPServer(r, t.Context())
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer srv.Close()
	if through == nil {
		through = func(url string) *mcp.ClientSession {
			return connected(t, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true})
		}
	}
	s := through(srv.URL)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		b, err := json.Marshal(tool)
		answers = append(answers, fmt.Sprint(string(b), err))
	}
	for _, call := range [][2]string{{"get", `{"id":1}`}, {"get", `{"id":1}`}, {"get", `{"id":1}`}, {"get", `{"id":2}`}, {"get", `{"id":3}`}, {"get", `{"id":4}`}, {"get", `{"id":6}`}, {"put", `{"id":8}`}, {"get", `{"id":9}`}, {"drop", `{}`}} {
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: call[0], Arguments: json.RawMessage(call[1])})
		if err != nil {
			answers = append(answers, "error "+call[0]+call[1])
			continue
		}
		res.Meta = nil // who answered
		b, err := json.Marshal(res)
		answers = append(answers, fmt.Sprint(string(b), err))
	}
	return answers, r.Ledger()
}

func TestForwardToNobody(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, _, err := gate.ForwardMCP(t.Context(), gone.URL); err == nil {
		t.Error("it forwards to nobody")
	}
}
