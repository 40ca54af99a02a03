package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const modernList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

var screened = []struct {
	text string
	code int64 // 0: passed on
}{
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, 0},
	{`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}`, 0},
	{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0},
	{modernList, 0},
	{`{"jsonrpc":"2.0","method":"notifications/of_another_kind"}`, 0},
	{`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, codeNoMethod},
	{`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`, codeNoMethod},
	{`{"jsonrpc":"2.0","id":1,"method":`, codeParse},
	{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, codeParse},
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", codeParse},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, codeParse},
	{``, codeParse},
	{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, codeRequest},
	{`[]`, codeRequest},
	{`"ping"`, codeRequest},
	{`{"id":1,"method":"ping"}`, codeRequest},
	{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, codeRequest},
	{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1e99,"method":"ping"}`, codeRequest},
	{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1,"result":{}}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1,"method":7}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1,"method":""}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}`, codeRequest},
	{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":3}}`, codeRequest},
	{strings.ReplaceAll(modernList, "2026-07-28", "2026-01-01"), sdk.CodeUnsupportedProtocolVersion},
	{strings.ReplaceAll(modernList, "2026-07-28", "2999-01-01"), sdk.CodeUnsupportedProtocolVersion},
	{strings.ReplaceAll(modernList, `"2026-07-28"`, "7"), sdk.CodeUnsupportedProtocolVersion},
}

func TestScreen(t *testing.T) {
	for _, c := range screened {
		_, err := screen([]byte(c.text))
		f, bad := errors.AsType[*fault](err)
		if bad != (c.code != 0) || bad && f.Code != c.code {
			t.Errorf("%s: %v, want %d", c.text, err, c.code)
		}
		if bad && !json.Valid(f.encode()) {
			t.Errorf("%s: %s", c.text, f.encode())
		}
	}
}

// TestStdioRefuses: what is no message is answered, also when it is too long, and what comes after it is served.
func TestStdioRefuses(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":`, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"method":"x","pad":"` + strings.Repeat("a", maxMessage) + `"}`,
		`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"drop_store","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"get_group","arguments":{"id":7}}}`, `{"jsonrpc":"2.0","id":8,"method":"resources/list"}`,
	}, "\n")
	got := map[string]string{}
	for _, line := range served(t, in) {
		got[string(line.ID)] += string(line.Result) + string(line.Error)
	}
	for id, want := range map[string]string{
		"null": `"code":-32700`, "7": "invalid during session initialization", "3": `"protocolVersion":"2025-11-25"`, "4": `"list_groups"`, "5": `unknown tool`, "6": `"isError":true`, "8": `"code":-32601`,
	} {
		if !strings.Contains(got[id], want) {
			t.Errorf("id %s: %.200s, want %s", id, got[id], want)
		}
	}
	if !strings.Contains(got["null"], "at most") {
		t.Errorf("too long: %s", got["null"])
	}
}

type answered struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Method  string          `json:"method"`
}

// served is what a client that says all at once hears before it leaves.
func served(t testing.TB, in string) (out []answered) {
	var b bytes.Buffer
	hangUp, ask := io.Pipe()
	go func() {
		_, _ = io.WriteString(ask, in+"\n")
		_ = ask.Close()
	}()
	if err := ServeStdio(t.Context(), serverOver(theService(t)), hangUp, &b); err != nil {
		t.Errorf("ended with %v", err)
	}
	lines := bufio.NewScanner(&b)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var a answered
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil || a.Version != "2.0" {
			t.Errorf("said %.200q", lines.Text())
		}
		out = append(out, a)
	}
	return out
}

var shared *API // of all inputs of a fuzz: a listener each would be too many

func theService(t testing.TB) *API {
	if shared != nil {
		return shared
	}
	return hostile(t, 3)
}

// FuzzStdio: whatever is said, what comes back is JSON-RPC, nothing but GET reaches the service, and the end of the input ends it.
func FuzzStdio(f *testing.F) {
	for _, c := range screened {
		f.Add(c.text)
		f.Add(modernList + "\n" + c.text + "\n" + modernList)
	}
	f.Add(strings.Replace(modernList, "tools/list", "tools/call", 1))
	f.Add(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_group","arguments":{"id":"loop-1"}}}`)
	shared = hostile(f, 3)
	f.Cleanup(func() { shared = nil })
	f.Fuzz(func(t *testing.T, in string) { served(t, in) })
}

// TestFront: who may ask over HTTP, how, and in which versions.
func TestFront(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		what   string
		token  string
		method string
		body   string
		with   map[string]string
		want   int
	}{
		{"plain", "", "POST", ping, nil, 200},
		{"get", "", "GET", "", nil, 405},
		{"delete", "", "DELETE", "", nil, 405},
		{"page elsewhere", "", "POST", ping, map[string]string{"Origin": "https://evil.example"}, 403},
		{"page of another port", "", "POST", ping, map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		{"no origin to tell", "", "POST", ping, map[string]string{"Origin": "null"}, 403},
		{"allowed page", "", "POST", ping, map[string]string{"Origin": "https://ok.example"}, 200},
		{"name that points here", "", "POST", ping, map[string]string{"Host": "evil.example"}, 403},
		{"token", "s3cret", "POST", ping, map[string]string{"Authorization": "Bearer s3cret"}, 200},
		{"wrong token", "s3cret", "POST", ping, map[string]string{"Authorization": "Bearer s3cre"}, 401},
		{"no token", "s3cret", "POST", ping, nil, 401},
		{"no version", "", "POST", ping, map[string]string{versionHeader: ""}, 400},
		{"old version", "", "POST", ping, map[string]string{versionHeader: "2025-03-26"}, 400},
		{"version to come", "", "POST", ping, map[string]string{versionHeader: "2999-01-01"}, 400},
		{"modern", "", "POST", modernList, map[string]string{versionHeader: "2026-07-28", "Mcp-Method": "tools/list"}, 200},
		{"modern header, classic body", "", "POST", ping, map[string]string{versionHeader: "2026-07-28"}, 400},
		{"modern, no header", "", "POST", modernList, map[string]string{versionHeader: ""}, 400},
		{"modern, another header", "", "POST", modernList, nil, 400},
		{"version to come, header of now", "", "POST", strings.ReplaceAll(modernList, "2026-07-28", "2999-01-01"), nil, 400},
		{"modern, no such method", "", "POST", strings.ReplaceAll(modernList, "tools/list", "prompts/list"), map[string]string{versionHeader: "2026-07-28"}, 404},
		{"broken", "", "POST", `{`, nil, 400},
		{"batch", "", "POST", "[" + ping + "]", nil, 400},
		{"too long", "", "POST", strings.Repeat(" ", maxMessage+1), nil, 413},
		{"another type", "", "POST", ping, map[string]string{"Content-Type": "text/plain"}, 415},
	} {
		h := Handler(serverOver(hostile(t, 1)), HTTPOptions{Token: c.token, Origins: []string{"https://ok.example"}})
		srv := httptest.NewServer(h)
		req, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", versionHeader: "2025-11-25"} {
			req.Header.Set(k, v)
		}
		for k, v := range c.with {
			switch {
			case k == "Host":
				req.Host = v
			case v == "":
				req.Header.Del(k)
			default:
				req.Header.Set(k, v)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		srv.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %s %.200s, want %d", c.what, resp.Status, body, c.want)
		}
	}
}
