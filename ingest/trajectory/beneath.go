package trajectory

import (
	"net"
	"net/url"
	"strings"
)

// Beneath is something that was seen to run while a tool ran, below its span: a call of a model, or a call of a host.
type Beneath struct {
	SpanID string
	Model  string // the model's name, "?" when it has none; "" for a call of a host
	Host   string // "" for a call of a model
}

// beneath lists the calls of models and hosts below a tool's execution, in order. Of a call over the Model Context Protocol the client's own request to
// the server is the way to the tool and not what the tool does: only what lies below the server's span counts.
func (n *node) beneath() []Beneath {
	var out []Beneath
	var walk func(*node, bool)
	walk = func(p *node, client bool) {
		for _, c := range p.children {
			method, through := c.span.Attrs.Text("mcp.method.name"), client
			switch {
			case c.facts.Role == RoleModel && c.folded == nil:
				name := c.facts.ModelResponded
				if name == "" {
					name = c.facts.ModelRequested
				}
				if name == "" {
					name = "?"
				}
				out = append(out, Beneath{SpanID: c.span.ID, Model: name})
				continue // the request to the provider below it is that call once more
			case method == "sampling/createMessage":
				out = append(out, Beneath{SpanID: c.span.ID, Model: "?"})
				continue
			case method != "":
				through = c.span.Kind != KindServer
			case c.span.Kind == KindServer:
				through = false
			}
			if host := c.host(); host != "" && !through {
				out = append(out, Beneath{SpanID: c.span.ID, Host: host})
				continue
			}
			walk(c, through)
		}
	}
	walk(n, n.span.Attrs.Has("mcp.method.name") && n.span.Kind != KindServer)
	return out
}

// host is the server that a client span calls over HTTP or RPC, "" for any other span and for one that calls a database or the road to an MCP server.
func (n *node) host() string {
	a := n.span.Attrs
	if n.span.Kind != KindClient || a.Has("db.system") || a.Has("db.system.name") || a.Has("messaging.system") {
		return ""
	}
	full := a.Str("url.full", "http.url")
	u, err := url.Parse(full)
	if err != nil || full == "" {
		u = &url.URL{Path: a.Str("url.path", "http.target")}
	}
	if path := strings.ToLower(u.Path); strings.HasSuffix(path, "/mcp") || strings.HasSuffix(path, "/sse") || strings.Contains(path, "/mcp/") {
		return ""
	}
	if u.Host == "" && !a.Has("http.request.method") && !a.Has("http.method") && !a.Has("rpc.system") {
		return ""
	}
	host := u.Hostname()
	if host == "" {
		host = a.Str("server.address", "net.peer.name", "http.host", "peer.service")
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
