package mcpcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The revisions of the protocol that a server may speak, and that it is asked for.
const (
	classic = "2025-11-25"
	modern  = "2026-07-28"
)

var known = []string{"2024-11-05", "2025-03-26", "2025-06-18", classic, modern}

// Codes of JSON-RPC and of MCP.
const (
	noMethod  = -32601
	badParams = -32602
)

// reply is an answer to a request.
type reply struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  jsontext.Value `json:"result"`
	Error   *struct {
		Code    *int64  `json:"code"`
		Message *string `json:"message"`
	} `json:"error"`

	plain bool // over HTTP: refused by its status, in words of no form
}

// ask sends a request on a wire and looks at the form of what comes back; nil: nothing did, or what is no answer, which is said.
func (c *checking) ask(ctx context.Context, w Wire, check, method string, params any) (*reply, error) {
	c.did(check)
	c.ids++
	id := jsontext.Value(strconv.Itoa(c.ids))
	message := map[string]any{"jsonrpc": "2.0", "id": c.ids, "method": method}
	if params != nil {
		message["params"] = params
	}
	text, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	got, err := w.Send(ctx, text, id)
	if err != nil {
		return nil, err
	}
	if len(got) == 0 {
		c.say(Broken, check, "", "", "%s: no answer", method)
		return nil, nil
	}
	return c.read(w, check, method, got, id), nil
}

// refusedPlainly is the refusal that lies in an HTTP status.
func refusedPlainly(w Wire) (*reply, bool) {
	h, ok := w.(*httpWire)
	if !ok || h.status < 400 {
		return nil, false
	}
	var r reply
	text := fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":"HTTP status %d"}}`, h.status, h.status)
	if json.Unmarshal([]byte(text), &r) != nil {
		return nil, false
	}
	r.plain = true
	return &r, true
}

// read holds an answer to JSON-RPC.
func (c *checking) read(w Wire, check, method string, got []byte, id jsontext.Value) *reply {
	var r reply
	if json.Unmarshal(got, &r) != nil || r.Version != "2.0" || r.Result == nil && r.Error == nil {
		if r, ok := refusedPlainly(w); ok {
			c.say(Advice, check, "", "", "%s: is refused by status %d alone, without an error of JSON-RPC: clients cannot tell why", method, *r.Error.Code)
			return r
		}
		c.say(Broken, check, "", "", "%s: what comes back is no answer of JSON-RPC 2.0: %.80q", method, got)
		return nil
	}
	if e := r.Error; e != nil && (e.Code == nil || e.Message == nil || *e.Message == "") {
		c.say(Broken, check, "", "", "%s: the error has no code that is a whole number, or no message", method)
		return nil
	}
	if string(r.ID) != string(id) && r.Error == nil {
		c.say(Broken, check, "", "", "%s: the answer has the id %.40s, not %s", method, r.ID, id)
	}
	return &r
}

func initialize(version string) any {
	return map[string]any{"protocolVersion": version, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "pawl-check", "version": "1"}}
}

// agreed is what initialize answers.
type agreed struct {
	Version      string         `json:"protocolVersion"`
	Capabilities map[string]any `json:"capabilities"`
	Info         *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
}

// handshake connects, and holds the answer to the protocol.
func (c *checking) handshake(ctx context.Context) error {
	w, err := c.open(ctx)
	if err != nil {
		return err
	}
	r, err := c.ask(ctx, w, "initialize", "initialize", initialize(classic))
	var got agreed
	switch {
	case err != nil, r == nil:
		_ = w.Close() // it said nothing
		return errors.Join(err, fmt.Errorf("%w to initialize", ErrNoAnswer))
	case r.Error != nil:
		c.say(Broken, "initialize", "", "", "refuses version %s: %s", classic, *r.Error.Message)
	case json.Unmarshal(r.Result, &got) != nil || got.Capabilities == nil || got.Info == nil || got.Info.Name == "":
		c.say(Broken, "initialize", "", "/result", "lacks protocolVersion, capabilities or serverInfo with a name")
	case !slices.Contains(known, got.Version):
		c.say(Broken, "initialize", "", "/result/protocolVersion", "is %q, which is no version of the protocol", got.Version)
	}
	if got.Info != nil {
		c.report.Server = strings.TrimSuffix(got.Info.Name+"@"+got.Info.Version, "@")
	}
	if slices.Contains(known, got.Version) {
		c.report.Versions = append(c.report.Versions, got.Version)
	}
	if got.Version != classic {
		c.say(Advice, "initialize", "", "/result/protocolVersion", "is %q, not %s: newer clients may leave", got.Version, classic)
	}
	if _, ok := got.Capabilities["tools"]; !ok {
		c.say(Advice, "initialize", "", "/result/capabilities", "has no tools: clients will not ask for any")
	}
	c.wire = w
	if h, ok := w.(*httpWire); ok {
		h.version = got.Version
	}
	_, err = w.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), nil)
	return err
}

// talk asks what any server answers.
func (c *checking) talk(ctx context.Context) error {
	r, err := c.ask(ctx, c.wire, "ping", "ping", nil)
	if err != nil {
		return err
	}
	if r != nil && r.Error != nil {
		c.say(Broken, "ping", "", "", "is answered with an error: %s", *r.Error.Message)
	}
	if err := c.notification(ctx); err != nil {
		return err
	}
	if r, err = c.ask(ctx, c.wire, "unknown-method", "pawl/no_such_method", nil); err != nil {
		return err
	}
	switch {
	case r == nil:
	case r.Error == nil:
		c.say(Broken, "unknown-method", "", "", "gives a result for a method that there is not")
	case !r.plain && *r.Error.Code != noMethod:
		c.say(Broken, "unknown-method", "", "/error/code", "is %d, not %d", *r.Error.Code, noMethod)
	}
	return c.malformed(ctx)
}

func (c *checking) notification(ctx context.Context) error {
	c.did("notification")
	got, err := c.wire.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/pawl_no_such_notification"}`), nil)
	if err != nil {
		return c.fallen(ctx, "notification", "a notification that it does not know", err)
	}
	var r reply
	if len(got) > 0 && json.Unmarshal(got, &r) == nil && r.Version == "2.0" {
		c.say(Broken, "notification", "", "", "answers a notification that it does not know")
	}
	return nil
}

// malformed sends what is no message: it must be refused, and must not end the server.
func (c *checking) malformed(ctx context.Context) error {
	for _, bad := range []struct{ what, text string }{{"broken JSON", `{"jsonrpc":"2.0","id":1,"method":`}, {"a method that is no text", `{"jsonrpc":"2.0","id":"pawl","method":7}`}, {"params that are no object", `{"jsonrpc":"2.0","id":"pawl","method":"tools/list","params":7}`}} {
		c.did("malformed")
		got, err := c.wire.Send(ctx, []byte(bad.text), jsontext.Value(`"pawl"`))
		if err != nil {
			if err := c.fallen(ctx, "malformed", bad.what, err); err != nil {
				return err
			}
			continue
		}
		var r reply
		h, overHTTP := c.wire.(*httpWire)
		switch {
		case len(got) > 0 && json.Unmarshal(got, &r) == nil && r.Error == nil && r.Result != nil:
			c.say(Broken, "malformed", "", "", "gives a result for %s", bad.what)
		case overHTTP && h.status < 400 && r.Error == nil:
			c.say(Broken, "malformed", "", "", "answers %s with status %d and no error", bad.what, h.status)
		case !overHTTP && len(got) == 0:
			c.say(Advice, "malformed", "", "", "says nothing to %s", bad.what)
		}
	}
	got, err := c.wire.Send(ctx, []byte(`{"jsonrpc":"2.0","id":"alive","method":"ping"}`), jsontext.Value(`"alive"`))
	if err != nil || len(got) == 0 {
		return c.fallen(ctx, "malformed", "what is no message", err)
	}
	return nil
}

// fallen says that something ended the server, and connects to a new one.
func (c *checking) fallen(ctx context.Context, check, what string, err error) error {
	if err != nil && !errors.Is(err, ErrNoAnswer) {
		return err
	}
	c.say(Broken, check, "", "", "%s ends it, or has it answer no more", what)
	_ = c.wire.Close() // it is gone
	again := &checking{Options: c.Options, open: c.open, ids: c.ids}
	if err := again.handshake(ctx); err != nil {
		return err
	}
	c.wire, c.ids = again.wire, again.ids
	return nil
}

// versions asks fresh servers for versions that there are not, and for the newest one.
func (c *checking) versions(ctx context.Context) error {
	return errors.Join(c.unknownVersion(ctx), c.modern(ctx))
}

func (c *checking) fresh(ctx context.Context, version string) (Wire, error) {
	w, err := c.open(ctx)
	if h, ok := w.(*httpWire); ok {
		h.version = version
	}
	return w, err
}

func (c *checking) unknownVersion(ctx context.Context) error {
	const no = "1999-01-01"
	w, err := c.fresh(ctx, "")
	if err != nil {
		return err
	}
	defer w.Close()
	r, err := c.ask(ctx, w, "unknown-version", "initialize", initialize(no))
	if errors.Is(err, ErrNoAnswer) {
		return nil // it left: that is closed, too
	}
	if err != nil || r == nil || r.Error != nil {
		return err
	}
	var got agreed
	if json.Unmarshal(r.Result, &got) != nil || !slices.Contains(known, got.Version) {
		c.say(Broken, "unknown-version", "", "/result/protocolVersion", "is %q for a client that asks for %s: a server answers with a version that it speaks", got.Version, no)
	}
	return nil
}

// meta is what each request of the modern protocol carries.
func meta(version string) map[string]any {
	return map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "pawl-check", "version": "1"}}}
}

func (c *checking) modern(ctx context.Context) error {
	w, err := c.fresh(ctx, modern)
	if err != nil {
		return err
	}
	defer w.Close()
	before := len(c.report.Findings)
	r, err := c.ask(ctx, w, "modern", "server/discover", meta(modern))
	if err != nil || r == nil || r.Error != nil {
		c.report.Findings = c.report.Findings[:before] // a server of before 2026 need not know it
		c.skip("modern", "", "it does not speak "+modern)
		if errors.Is(err, ErrNoAnswer) {
			return nil
		}
		return err
	}
	c.report.Versions = append([]string{modern}, c.report.Versions...)
	return c.modernRefuses(ctx)
}

// modernRefuses asks for a version of the future.
func (c *checking) modernRefuses(ctx context.Context) error {
	const no = "2999-01-01"
	w, err := c.fresh(ctx, no)
	if err != nil {
		return err
	}
	defer w.Close()
	r, err := c.ask(ctx, w, "modern", "tools/list", meta(no))
	if err != nil || r == nil {
		return err
	}
	if r.Error == nil {
		c.say(Broken, "modern", "", "", "lists its tools for version %s, which there is not", no)
	}
	return nil
}

// http asks what only HTTP can be asked.
func (c *checking) http(ctx context.Context) error {
	if _, ok := c.wire.(*httpWire); !ok {
		return nil
	}
	for _, x := range []struct{ check, header, value, what string }{
		{"origin", "Origin", "https://pawl-check.invalid", "a request of a page elsewhere: another site's page could use it from a browser"},
		{"version-header", "Mcp-Protocol-Version", "1999-01-01", "a request whose header names a version that there is not"},
	} {
		w, err := c.open(ctx)
		if err != nil {
			return err
		}
		h, ok := w.(*httpWire)
		if !ok {
			continue
		}
		h.extra[x.header] = x.value
		c.did(x.check)
		text := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"pawl-check","version":"1"}}}`)
		if x.check == "version-header" {
			h.session, text = c.wire.(*httpWire).session, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		}
		if _, err := h.Send(ctx, text, jsontext.Value("1")); err != nil {
			return err
		}
		if h.status < 400 {
			c.say(Broken, x.check, "", "", "answers with status %d to %s", h.status, x.what)
		}
		if x.check == "origin" {
			_ = h.Close() // a session that should not be there
		}
	}
	return nil
}
