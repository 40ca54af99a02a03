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
	codeParse   = -32700
	codeRequest = -32600
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

// screen refuses what is not one plain request or notification of JSON-RPC, or names a version of the protocol that is not spoken. It returns the method.
func screen(text []byte) (method string, err error) {
	value := jsontext.Value(text)
	if !value.IsValid() { // strictly: UTF-8, no name twice
		return "", &fault{Code: codeParse, Message: "the message is not JSON"}
	}
	switch value.Kind() {
	case '{':
	case '[':
		return "", &fault{Code: codeRequest, Message: "one message at a time: batches are no part of this protocol"}
	default:
		return "", &fault{Code: codeRequest, Message: "a message is a JSON object"}
	}
	members, err := membersOf(value)
	if err != nil {
		return "", &fault{Code: codeParse, Message: "the message is not JSON"}
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
		return "", no(`jsonrpc is "2.0"`)
	}
	if hasID && !goodID(id) {
		return "", no("an id is a text or a whole number")
	}
	if v, ok := members["method"]; !ok || v.Kind() != '"' || json.Unmarshal(v, &method) != nil || method == "" {
		return "", no("a message has a method: this server asks nothing, so it takes no answers")
	}
	for k := range members {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, k) {
			return "", no("a message has the members jsonrpc, id, method and params, and no others")
		}
	}
	params, ok := members["params"]
	if !ok {
		return method, nil
	}
	if params.Kind() != '{' {
		return "", no("params is an object")
	}
	return method, versionIn(params, id)
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

// versionIn refuses a version that params._meta names and that is not spoken.
func versionIn(params, id jsontext.Value) error {
	of, err := membersOf(params)
	if err != nil {
		return &fault{ID: id, Code: codeParse, Message: "the message is not JSON"}
	}
	meta, ok := of["_meta"]
	if !ok {
		return nil
	}
	if meta.Kind() != '{' {
		return &fault{ID: id, Code: codeRequest, Message: "_meta is an object"}
	}
	if of, err = membersOf(meta); err != nil {
		return &fault{ID: id, Code: codeParse, Message: "the message is not JSON"}
	}
	named, ok := of[sdk.MetaKeyProtocolVersion]
	if !ok {
		return nil
	}
	var version string
	if json.Unmarshal(named, &version) != nil || !slices.Contains(Versions, version) {
		return unspoken(id, version)
	}
	return nil
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
