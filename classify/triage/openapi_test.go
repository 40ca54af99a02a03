package triage

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// apiDocument is the description, compiled once for all tests.
var apiDocument = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	doc, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	return c, c.AddResource("https://pawl.invalid/openapi.json", value)
})

var compiling sync.Mutex

// routeOf is the pattern of the table that a request goes to, "" for none.
func routeOf(r *http.Request) string {
	mux := http.NewServeMux()
	for _, x := range new(handler).routes() {
		mux.HandleFunc(x.pattern, func(http.ResponseWriter, *http.Request) {})
	}
	_, pattern := mux.Handler(r)
	return pattern
}

func escaped(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1") }

// described fails when an answer of the API is not what the description says.
func described(t testing.TB, r *http.Request, res *http.Response, body []byte) {
	t.Helper()
	pattern := routeOf(r)
	if pattern == "" || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return
	}
	method, path, _ := strings.Cut(pattern, " ")
	at := "https://pawl.invalid/openapi.json#/paths/" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(escaped(path)) + "/" + strings.ToLower(method) +
		"/responses/" + status(res.StatusCode) + "/content/application~1json/schema"
	c, err := apiDocument()
	if err != nil {
		t.Fatal(err)
	}
	compiling.Lock()
	defer compiling.Unlock()
	schema, err := c.Compile(at)
	if err != nil {
		t.Errorf("%s answers %d, which the description does not have: %v", pattern, res.StatusCode, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s answers what is no JSON: %v", pattern, err)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s answers %d otherwise than described: %v\n%s", pattern, res.StatusCode, err, body)
	}
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	code, body := get(t, testSource(), Options{}, "/v1/openapi.json")
	var doc struct {
		OpenAPI string                               `json:"openapi"`
		Paths   map[string]map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || code != http.StatusOK || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Fatalf("%d %v: %.200s", code, err, body)
	}
	var names []string
	n := 0
	for _, r := range new(handler).routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		op := doc.Paths[path][strings.ToLower(method)]
		if op == nil || op["operationId"] != r.name || op["x-role"] != string(r.role) || r.summary == "" {
			t.Errorf("%s is not described: %v", r.pattern, op)
		}
		if slices.Contains(names, r.name) {
			t.Errorf("two operations are called %s", r.name)
		}
		names = append(names, r.name)
	}
	for _, ops := range doc.Paths {
		n += len(ops)
	}
	if n != len(names) {
		t.Errorf("%d operations are described, and there are %d routes", n, len(names))
	}
	again, err := OpenAPI()
	if err != nil || strings.TrimSpace(body) != strings.TrimSpace(string(again)) {
		t.Errorf("the document is another the second time: %v", err)
	}
}

// TestRolesHoldForEveryRoute asks each route of the table with too little and looks that nothing is done.
func TestRolesHoldForEveryRoute(t *testing.T) {
	o := Options{Tokens: []Token{{Name: "vera", Token: "v"}, {Name: "tom", Token: "t", Decides: true}}}
	h := New(slog.New(slog.DiscardHandler), Source{}, o) // any call of the source would panic
	for _, r := range new(handler).routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		ask := func(token string) int {
			req := httptest.NewRequestWithContext(t.Context(), method, strings.NewReplacer("{id}", "x", "{number}", "0").Replace(path), strings.NewReader("{}"))
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			described(t, req, w.Result(), w.Body.Bytes())
			return w.Code
		}
		if got := ask(""); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", r.pattern, got)
		}
		if r.role != RoleViewer {
			if got := ask("v"); got != http.StatusForbidden {
				t.Errorf("%s by a viewer: %d", r.pattern, got)
			}
		}
		if r.role == RoleAdmin {
			if got := ask("t"); got != http.StatusForbidden {
				t.Errorf("%s by a triager: %d", r.pattern, got)
			}
		}
		if method != http.MethodGet && r.role == RoleViewer {
			t.Errorf("%s changes something and asks for no role", r.pattern)
		}
	}
}
