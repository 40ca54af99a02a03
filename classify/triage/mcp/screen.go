package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeNoMethod = -32601
)

// maxMessage bounds one message, in bytes: the tools' arguments are short.
const maxMessage = 1 << 20

// fault is why a message is not passed on. It is answered with the id, where that is known.
type fault struct {
	ID      jsontext.Value // null where it is not known
	Code    int64
	Message string
	Data    any
}

func (f *fault) Error() string { return f.Message }

// encode is the answer to a message at fault, a response of JSON-RPC.
func (f *fault) encode() []byte {
	id := f.ID
	if id == nil {
		id = jsontext.Value("null")
	}
	type body struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	text, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   body            `json:"error"`
	}{"2.0", json.RawMessage(id), body{f.Code, f.Message, f.Data}})
	if err != nil {
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the error could not be written"}}`)
	}
	return text
}

// methods are the requests that are served; notifications are taken and change nothing.
var methods = []string{"initialize", "ping", "server/discover", "subscriptions/listen", "tools/list", "tools/call"}

// spoken is what is known of a message that was let through.
type spoken struct {
	method  string
	version string // that it names itself, "" for none: then the session's, or the header's
}

// screen refuses what is not one plain request or notification of JSON-RPC, asks for what is not served, or names a version of the protocol that is not spoken.
func screen(text []byte) (m spoken, err error) {
	value := jsontext.Value(text)
	if !value.IsValid() { // strictly: UTF-8, no name twice
		return m, &fault{Code: codeParse, Message: "the message is not JSON"}
	}
	switch value.Kind() {
	case '{':
	case '[':
		return m, &fault{Code: codeRequest, Message: "one message at a time: batches are no part of this protocol"}
	default:
		return m, &fault{Code: codeRequest, Message: "a message is a JSON object"}
	}
	members, err := membersOf(value)
	if err != nil {
		return m, &fault{Code: codeParse, Message: "the message is not JSON"}
	}
	id, hasID := members["id"]
	no := func(format string, args ...any) error {
		f := &fault{Code: codeRequest, Message: fmt.Sprintf(format, args...)}
		if hasID && goodID(id) {
			f.ID = id
		}
		return f
	}
	if v := members["jsonrpc"]; string(v) != `"2.0"` {
		return m, no(`jsonrpc is "2.0"`)
	}
	if hasID && !goodID(id) {
		return m, no("an id is a text or a whole number")
	}
	if v, ok := members["method"]; !ok || v.Kind() != '"' || json.Unmarshal(v, &m.method) != nil || m.method == "" {
		return m, no("a message has a method: this server asks nothing, so it takes no answers")
	}
	for k := range members {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, k) {
			return m, no("a message has the members jsonrpc, id, method and params, and no others")
		}
	}
	params, ok := members["params"]
	if ok && params.Kind() != '{' {
		return m, no("params is an object")
	}
	if ok {
		if m.version, err = versionIn(params, id); err != nil {
			return m, err
		}
	}
	if hasID && !slices.Contains(methods, m.method) {
		return m, &fault{ID: id, Code: codeNoMethod, Message: fmt.Sprintf("there is no method %q here", cutRunes(clean(m.method), 60))}
	}
	return m, nil
}

// goodID says whether an id is a string or a whole number that any reader takes alike.
func goodID(id jsontext.Value) bool {
	switch id.Kind() {
	case '"':
		return len(id) <= 1024
	case '0':
		return len(id) <= 16 && !strings.ContainsAny(string(id), ".eE")
	}
	return false
}

// versionIn is the version that params._meta names, "" for none. One that is not spoken is refused, and given all the same.
func versionIn(params, id jsontext.Value) (version string, err error) {
	for _, key := range []string{"_meta", sdk.MetaKeyProtocolVersion} {
		if params.Kind() != '{' {
			return "", &fault{ID: id, Code: codeRequest, Message: "_meta is an object"}
		}
		of, err := membersOf(params)
		if err != nil {
			return "", &fault{ID: id, Code: codeParse, Message: "the message is not JSON"}
		}
		v, ok := of[key]
		if !ok {
			return "", nil
		}
		params = v
	}
	if params.Kind() != '"' || json.Unmarshal(params, &version) != nil || !slices.Contains(Versions, version) {
		return version, unspoken(id, version)
	}
	return version, nil
}

// unspoken is the refusal of a version.
func unspoken(id jsontext.Value, version string) *fault {
	return &fault{ID: id, Code: sdk.CodeUnsupportedProtocolVersion, Message: "unsupported protocol version: this server speaks " + strings.Join(Versions, " and "),
		Data: sdk.UnsupportedProtocolVersionData{Supported: Versions, Requested: cutRunes(clean(version), 40)}}
}

// membersOf are the members of an object that is valid.
func membersOf(v jsontext.Value) (map[string]jsontext.Value, error) {
	out := map[string]jsontext.Value{}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(v, &raw); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	for k, x := range raw {
		out[k] = jsontext.Value(x)
	}
	return out, nil
}

// idOf is the id of a message that was screened, as it comes back in the answer; nil of a notification.
func idOf(text []byte) jsontext.Value {
	var m struct {
		ID any `json:"id"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // of 16 digits none may change
	if dec.Decode(&m) != nil || m.ID == nil {
		return nil
	}
	if n, ok := m.ID.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			m.ID = i // -0 comes back as 0
		}
	}
	id, err := json.Marshal(m.ID)
	if err != nil {
		return nil
	}
	return id
}
