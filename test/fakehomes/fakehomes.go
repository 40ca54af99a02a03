// Package fakehomes serves recorded answers as Langfuse, LangSmith, Phoenix, Jaeger and Tempo do: their paths, parameters, credentials, pages and words for
// what is missing, as far as package home uses them. The answers are files of ingest/home/testdata, or what a test puts in their place.
package fakehomes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// The ids of the traces in the files.
const (
	LangfuseTrace  = "0f2c7a51-2b1c-4a3e-9a55-3c1d7e9b1a01"
	LangfuseOld    = "order-talk-7" // of the old API alone
	LangSmithTrace = "0198f3a0-0000-7000-8000-000000000001"
	LangSmithRun   = "0198f3a0-0000-7000-8000-000000000003" // of that trace
	Trace          = "5b8efff798038103d269b633813fc60c"     // of the others
)

// The credentials that are asked for.
const (
	Key    = "pk-of-the-tests"
	Secret = "sk-of-the-tests"
)

// Home answers as one kind does.
type Home struct {
	Kind  string
	Files fs.FS  // with a folder for each kind
	Old   bool   // it knows the old API alone
	Links string // of LangSmith: the address of the storage that answers /inputs

	mu     sync.Mutex
	asked  []string
	ahead  []func(w http.ResponseWriter, r *http.Request) bool
	bodies map[string][]byte
}

// Asked are the requests so far: method, path and query, and the body of a query.
func (h *Home) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// Ahead has the next request answered by f, if that returns true.
func (h *Home) Ahead(f func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead = append(h.ahead, f)
}

// Put has the home answer with that in place of a file; nil is the file again.
func (h *Home) Put(file string, body []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bodies == nil {
		h.bodies = map[string][]byte{}
	}
	h.bodies[file] = body
}

// ServeHTTP answers one request.
func (h *Home) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.mu.Lock()
	h.asked = append(h.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	var first func(http.ResponseWriter, *http.Request) bool
	if len(h.ahead) > 0 {
		first, h.ahead = h.ahead[0], h.ahead[1:]
	}
	h.mu.Unlock()
	if first != nil && first(w, r) {
		return
	}
	if !h.known(r) {
		fail(w, http.StatusUnauthorized, `{"message":"Invalid credentials"}`)
		return
	}
	switch h.Kind {
	case "langfuse":
		h.langfuse(w, r)
	case "langsmith":
		h.langsmith(w, r, body)
	case "phoenix":
		h.phoenix(w, r)
	case "jaeger":
		h.jaeger(w, r)
	default:
		h.tempo(w, r)
	}
}

func (h *Home) known(r *http.Request) bool {
	switch user, secret, _ := r.BasicAuth(); h.Kind {
	case "langfuse":
		return user == Key && secret == Secret
	case "langsmith":
		return r.Header.Get("X-Api-Key") == Key
	case "phoenix":
		return r.Header.Get("Authorization") == "Bearer "+Key
	case "tempo":
		return user == Key && secret == Secret && r.Header.Get("X-Scope-OrgID") == "tenant-1"
	}
	return true
}

func (h *Home) file(w http.ResponseWriter, name string) {
	h.mu.Lock()
	body := h.bodies[name]
	h.mu.Unlock()
	if body == nil {
		var err error
		if body, err = fs.ReadFile(h.Files, h.Kind+"/"+name); err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.ReplaceAll(body, []byte(`"LINK"`), fmt.Appendf(nil, "%q", h.Links+"/inputs")))
}

func fail(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func say(w http.ResponseWriter, body string) { fail(w, http.StatusOK, body) }

func (h *Home) langfuse(w http.ResponseWriter, r *http.Request) {
	q, id := r.URL.Query(), strings.TrimPrefix(r.URL.Path, "/api/public/traces/")
	switch {
	case r.URL.Path == "/api/public/v2/observations" && h.Old:
		fail(w, http.StatusNotFound, `{"message":"The observations v2 API is only available in a Langfuse v4 write mode.","error":"LangfuseNotFoundError"}`)
	case r.URL.Path == "/api/public/v2/observations" && q.Get("traceId") != "" && q.Get("traceId") != LangfuseTrace:
		say(w, `{"data":[],"meta":{}}`)
	case r.URL.Path == "/api/public/v2/observations" && q.Get("cursor") == "":
		h.file(w, "new-page-1.json")
	case r.URL.Path == "/api/public/v2/observations":
		h.file(w, "new-page-2.json")
	case r.URL.Path == "/api/public/traces" && h.Old && q.Get("page") == "1":
		h.file(w, "old-list-1.json")
	case r.URL.Path == "/api/public/traces" && h.Old:
		h.file(w, "old-list-2.json")
	case id == LangfuseTrace && h.Old:
		h.file(w, "old-trace.json")
	case id == LangfuseOld:
		h.file(w, "old-trace-2.json")
	default:
		fail(w, http.StatusNotFound, fmt.Sprintf(`{"message":"Trace %s not found within authorized project","error":"LangfuseNotFoundError"}`, id))
	}
}

func (h *Home) langsmith(w http.ResponseWriter, r *http.Request, body []byte) {
	var q struct {
		Trace, Cursor string
		Session       []string
		Select        []string
	}
	_ = json.Unmarshal(body, &q)
	switch run := strings.TrimPrefix(r.URL.Path, "/api/v1/runs/"); {
	case r.URL.Path == "/api/v1/sessions" && r.URL.Query().Get("name") == "shop":
		say(w, `[{"id":"11111111-2222-4333-8444-555555555555","name":"shop"}]`)
	case r.URL.Path == "/api/v1/sessions":
		say(w, `[]`)
	case run == "query" && h.Old && slices.Contains(q.Select, "inputs_s3_urls"):
		fail(w, http.StatusUnprocessableEntity, `{"detail":[{"loc":["body","select"],"msg":"value is not a valid enumeration member"}]}`)
	case run == "query" && q.Trace != "" && q.Trace != LangSmithTrace:
		say(w, `{"runs":[],"cursors":{"next":null}}`)
	case run == "query" && q.Cursor == "":
		h.file(w, "page-1.json")
	case run == "query":
		h.file(w, "page-2.json")
	case run == LangSmithRun:
		say(w, fmt.Sprintf(`{"id":%q,"trace_id":%q}`, run, LangSmithTrace))
	default:
		fail(w, http.StatusNotFound, `{"detail":"Run not found"}`)
	}
}

func (h *Home) phoenix(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/v1/projects":
		say(w, `{"data":[{"id":"UHJvamVjdDox","name":"team/shop"}],"next_cursor":null}`)
	case r.URL.Path != "/v1/projects/shop/spans" && r.URL.Path != "/v1/projects/UHJvamVjdDox/spans":
		fail(w, http.StatusNotFound, "Project not found")
	case q.Get("trace_id") != "" && q.Get("trace_id") != Trace:
		say(w, `{"data":[],"next_cursor":null}`)
	case q.Get("cursor") == "":
		h.file(w, "page-1.json")
	default:
		h.file(w, "page-2.json")
	}
}

func (h *Home) jaeger(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case h.Old && strings.HasPrefix(path, "/api/v3/"): // its own page answers all that it does not know
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Jaeger UI</title>")
	case path == "/api/v3/services":
		say(w, `{"services":["checkout","shop-agent"]}`)
	case path == "/api/services":
		say(w, `{"data":["checkout","shop-agent"],"total":2,"limit":0,"offset":0,"errors":null}`)
	case path == "/api/v3/traces" && r.URL.Query().Get("query.serviceName") == "shop-agent", path == "/api/v3/traces/"+Trace:
		h.file(w, "v3.json")
	case strings.HasPrefix(path, "/api/v3/traces"):
		fail(w, http.StatusNotFound, `{"error":{"httpCode":404,"message":"No traces found"}}`)
	case path == "/api/traces" && r.URL.Query().Get("service") == "shop-agent", path == "/api/traces/"+Trace:
		h.file(w, "old.json")
	case path == "/api/traces":
		say(w, `{"data":[],"total":0,"limit":0,"offset":0,"errors":null}`)
	default:
		fail(w, http.StatusNotFound, `{"data":null,"total":0,"limit":0,"offset":0,"errors":[{"code":404,"msg":"trace not found"}]}`)
	}
}

func (h *Home) tempo(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/api/search" && h.Old && strings.Contains(r.URL.Query().Get("q"), "!= nil"):
		fail(w, http.StatusBadRequest, "invalid TraceQL query: parse error at line 1, col 37: syntax error")
	case path == "/api/search":
		h.file(w, "search.json")
	case path == "/api/v2/traces/"+Trace && !h.Old:
		h.file(w, "v2.json")
	case path == "/api/traces/"+Trace:
		h.file(w, "v1.json")
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}
