package mcpcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-dev/pawl/classify/catalog"
)

// plain is a server that is well, written out so that each of its answers can be spoilt.
type plain struct {
	spoil func(method string, params map[string]any, r *http.Request) (status int, body string, spoilt bool)
	all   bool // also what comes from pages elsewhere, and of versions that there are not
	raw   func(body string) (status int, answer string, spoilt bool)
}

const (
	getOrder = `{"name":"get_order","description":"Reads an order.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"its id"}},"required":["id"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"state":{"type":"string"}},"required":["state"]},"annotations":{"readOnlyHint":true}}`
	putOrder = `{"name":"put_order","description":"Writes an order.","inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"its id"}}},"annotations":{"readOnlyHint":false,"destructiveHint":true}}`
)

func (p plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params map[string]any  `json:"params"`
	}
	if p.raw != nil {
		if status, answer, spoilt := p.raw(string(text)); spoilt {
			say(w, status, answer)
			return
		}
	}
	fail := func(status int, code int) {
		say(w, status, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, orNull(m.ID), code))
	}
	if json.Unmarshal(text, &m) != nil || m.Method == "" {
		fail(400, -32600)
		return
	}
	version := r.Header.Get("Mcp-Protocol-Version")
	strange := r.Header.Get("Origin") != "" || version != "" && version != classic && version != modern
	if p.spoil != nil && (p.all || !strange) {
		if status, body, spoilt := p.spoil(m.Method, m.Params, r); spoilt {
			say(w, status, strings.ReplaceAll(body, "ID", string(orNull(m.ID))))
			return
		}
	}
	result := func(text string) { say(w, 200, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text)) }
	switch {
	case r.Header.Get("Origin") != "":
		fail(403, -32600)
	case m.ID == nil:
		w.WriteHeader(202)
	case version != "" && version != classic && version != modern:
		fail(400, -32022)
	case m.Method == "initialize":
		result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"shop","version":"1"}}`)
	case m.Method == "server/discover":
		result(`{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{}}`)
	case m.Method == "ping":
		result(`{}`)
	case m.Method == "tools/list" && m.Params["cursor"] == nil:
		result(`{"tools":[` + getOrder + `],"nextCursor":"2"}`)
	case m.Method == "tools/list" && m.Params["cursor"] == "2":
		result(`{"tools":[` + putOrder + `]}`)
	case m.Method == "tools/list", m.Method == "tools/call" && m.Params["name"] != "get_order":
		fail(200, -32602)
	case m.Method == "tools/call":
		if args, _ := m.Params["arguments"].(map[string]any); args["id"] != "A-1" {
			result(`{"content":[{"type":"text","text":"id is a text"}],"isError":true}`)
			return
		}
		result(`{"content":[{"type":"text","text":"{\"state\":\"open\"}"}],"structuredContent":{"state":"open"}}`)
	default:
		fail(200, -32601)
	}
}

func say(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func orNull(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

var declared = Options{
	Declared: []catalog.Tool{{Name: "get_order", Effect: catalog.EffectRead}, {Name: "put_order", Effect: catalog.EffectWrite}},
	Calls:    []Call{{"get_order", jsontext.Value(`{"id":"A-1"}`)}},
}

func checked(t *testing.T, h http.Handler, o Options) Report {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	r, err := Run(t.Context(), OverHTTP(srv.URL, srv.Client(), 2*time.Second), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGood(t *testing.T) {
	r := checked(t, plain{}, declared)
	if !r.Good() || len(r.Findings) > 0 || r.Tools != 2 || r.Server != "shop@1" || !slices.Equal(r.Versions, []string{modern, classic}) {
		t.Errorf("%+v", r)
	}
	if len(r.Checked) != len(Checks) {
		t.Errorf("checked %v", r.Checked)
	}
}

// TestSpoilt: each check finds what it is for, and a server that is spoilt in one way is blamed for that alone.
func TestSpoilt(t *testing.T) {
	on := func(method, body string) plain {
		return plain{spoil: func(m string, _ map[string]any, _ *http.Request) (int, string, bool) { return 200, body, m == method }}
	}
	tools := func(list string) plain {
		return on("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[`+list+`]}}`)
	}
	call := func(tool, body string) plain {
		return plain{spoil: func(m string, p map[string]any, _ *http.Request) (int, string, bool) {
			return 200, body, m == "tools/call" && p["name"] == tool
		}}
	}
	const done = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`
	for _, c := range []struct {
		check  string
		server plain
		o      Options
		says   string
	}{
		{"initialize", on("initialize", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25"}}`), Options{}, "lacks"},
		{"unknown-version", plain{spoil: func(m string, p map[string]any, _ *http.Request) (int, string, bool) {
			return 200, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"1999-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"shop"}}}`, m == "initialize" && p["protocolVersion"] == "1999-01-01"
		}}, Options{}, "1999-01-01"},
		{"modern", plain{all: true, spoil: func(m string, p map[string]any, r *http.Request) (int, string, bool) {
			return 200, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[]}}`, m == "tools/list" && r.Header.Get("Mcp-Protocol-Version") == "2999-01-01"
		}}, Options{}, "2999-01-01"},
		{"ping", on("ping", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), Options{}, "error"},
		{"ping", on("ping", `pong`), Options{}, "no answer of JSON-RPC"},
		{"ping", on("ping", `{"jsonrpc":"2.0","id":ID,"error":{"code":1.5}}`), Options{}, "no answer"},
		{"ping", on("ping", `{"jsonrpc":"2.0","id":ID,"error":{"code":-1}}`), Options{}, "no message"},
		{"ping", on("ping", `{"jsonrpc":"2.0","id":"other","result":{}}`), Options{}, "has the id"},
		{"notification", on("notifications/pawl_no_such_notification", `{"jsonrpc":"2.0","id":1,"result":{}}`), Options{}, "answers a notification"},
		{"malformed", plain{raw: func(body string) (int, string, bool) {
			return 200, `{"jsonrpc":"2.0","id":1,"result":{}}`, !json.Valid([]byte(body))
		}}, Options{}, "broken JSON"},
		{"unknown-method", on("pawl/no_such_method", `{"jsonrpc":"2.0","id":ID,"result":{}}`), Options{}, "gives a result"},
		{"list", on("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{"tools":[`+getOrder+`],"nextCursor":"2"}}`), Options{}, "twice"},
		{"list", on("tools/list", `{"jsonrpc":"2.0","id":ID,"result":{}}`), Options{}, "no list"},
		{"schemas", tools(`{"name":"x","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"obj"}}`), Options{}, "no JSON Schema"},
		{"schemas", tools(`{"name":"x","description":"d","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"a":{"$ref":"https://elsewhere.example/s.json","description":"d"}}}}`), Options{}, "refers to"},
		{"schemas", tools(`{"name":"x","description":"d","annotations":{"readOnlyHint":true}}`), Options{}, "is missing"},
		{"annotations", tools(`{"name":"x","description":"d","annotations":{"readOnlyHint":true,"destructiveHint":true},"inputSchema":{"type":"object"}}`), Options{}, "destroys"},
		{"effects", plain{}, Options{Declared: []catalog.Tool{{Name: "get_order", Effect: catalog.EffectWrite}}}, "reads only"},
		{"effects", plain{}, Options{Declared: []catalog.Tool{{Name: "put_order", Effect: catalog.EffectRead}}}, "changes things"},
		{"effects", plain{}, Options{Pinned: []catalog.Tool{{Name: "del_order", Schema: jsontext.Value(`{"type":"object"}`)}}}, "no longer offered"},
		{"effects", plain{}, Options{Pinned: []catalog.Tool{{Name: "put_order", Description: "Writes an order.", Schema: jsontext.Value(`{"type":"object","properties":{"id":{"type":"string","description":"its id"},"note":{"type":"string"}}}`)}}}, "since it was pinned"},
		{"unknown-tool", call(noTool, done), Options{}, "as if it were there"},
		{"wrong-arguments", call("get_order", done), Options{}, "its schema forbids"},
		{"results", call("get_order", `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}],"isError":true}}`), declared, "fails"},
		{"results", plain{spoil: func(m string, p map[string]any, _ *http.Request) (int, string, bool) {
			args, _ := p["arguments"].(map[string]any)
			return 200, `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"state":7}}}`, m == "tools/call" && args["id"] == "A-1"
		}}, declared, "not what the output schema says"},
		{"origin", plain{all: true, spoil: func(m string, _ map[string]any, r *http.Request) (int, string, bool) {
			return 200, `{"jsonrpc":"2.0","id":ID,"result":{}}`, r.Header.Get("Origin") != ""
		}}, Options{}, "page elsewhere"},
		{"version-header", plain{all: true, spoil: func(m string, _ map[string]any, r *http.Request) (int, string, bool) {
			return 200, `{"jsonrpc":"2.0","id":ID,"result":{}}`, r.Header.Get("Mcp-Protocol-Version") == "1999-01-01"
		}}, Options{}, "header names a version"},
	} {
		r := checked(t, c.server, c.o)
		found := false
		for _, f := range r.Findings {
			found = found || f.Level == Broken && f.Check == c.check && strings.Contains(f.What, c.says)
			if f.Level == Broken && f.Check != c.check {
				t.Errorf("%s (%s): also blamed for %s: %s", c.check, c.says, f.Check, f.What)
			}
		}
		if !found || r.Good() {
			t.Errorf("%s (%s): %+v", c.check, c.says, r.Findings)
		}
	}
}

// TestWriting: a tool that may write is never called.
func TestWriting(t *testing.T) {
	checked(t, plain{spoil: func(m string, p map[string]any, _ *http.Request) (int, string, bool) {
		if m == "tools/call" && p["name"] == "put_order" {
			t.Error("put_order was called")
		}
		return 0, "", false
	}}, declared)
}

// TestOfficialServer: a server of the official SDK is good, with sessions and without.
func TestOfficialServer(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	type order struct {
		ID string `json:"id" jsonschema:"its id"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "get_order", Description: "Reads an order.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, order) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	for _, stateless := range []bool{false, true} {
		h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		r := checked(t, http.NewCrossOriginProtection().Handler(h), Options{})
		if !slices.Contains(r.Versions, classic) {
			t.Errorf("versions %v", r.Versions)
		}
		for _, f := range r.Findings {
			if f.Level == Broken {
				t.Errorf("stateless %v: %+v", stateless, f)
			}
		}
	}
}

func TestNobody(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	if _, err := Run(t.Context(), OverHTTP(srv.URL, http.DefaultClient, time.Second), Options{}); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v", err)
	}
}
