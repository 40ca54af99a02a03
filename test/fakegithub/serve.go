package fakegithub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reply is an answer before it goes over the wire.
type reply struct {
	status int
	body   any
	header http.Header
}

type object = map[string]any

func ok(status int, body any) reply { return reply{status: status, body: body} }

func fail(status int, message string, errs ...object) reply {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)}
	if len(errs) > 0 {
		body["errors"] = errs
	}
	return reply{status: status, body: body}
}

// invalid is GitHub's 422.
func invalid(resource, field, code, message string) reply {
	e := object{"resource": resource, "code": code}
	if field != "" {
		e["field"] = field
	}
	if message != "" {
		e["message"] = message
	}
	return fail(422, "Validation Failed", e)
}

func (r reply) encode() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.body); err != nil {
		return []byte(`{"message":"fakegithub: ` + err.Error() + `"}`)
	}
	return b.Bytes()
}

func write(w http.ResponseWriter, r reply) {
	for k, v := range r.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.status == http.StatusNoContent {
		w.WriteHeader(r.status)
		return
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.encode())
}

// call is one request on its way through a handler. The mutex is held.
type call struct {
	*Fake
	req  *http.Request
	host string // scheme and host, for links
	body []byte
	user User
	// token is the installation's that made the call; nil: a person's.
	token *Installed
	repo  *Repo
	git   gitDir
}

func (c *call) arg(name string) string { return c.req.PathValue(name) }

func (c *call) decode(v any) bool { return json.Unmarshal(c.body, v) == nil }

type handler func(*call) reply

// routes fills the table: pattern, operation, what right it needs.
func (f *Fake) routes() {
	f.api, f.page = http.NewServeMux(), http.NewServeMux()
	const r = "/repos/{owner}/{repo}"
	for _, x := range []struct {
		pattern, op, right string
		h                  handler
	}{
		{"GET /user", "get-user", "", getUser},
		{"GET /rate_limit", "rate-limit", "", rateLimit},
		{"GET /repositories/{id}", "get-repo", "read", getRepo},
		{"GET " + r, "get-repo", "read", getRepo},
		{"GET " + r + "/git/ref/{ref...}", "get-ref", "read", getRef},
		{"POST " + r + "/git/refs", "create-ref", "write", createRef},
		{"PATCH " + r + "/git/refs/{ref...}", "update-ref", "write", updateRef},
		{"DELETE " + r + "/git/refs/{ref...}", "delete-ref", "write", deleteRef},
		{"GET " + r + "/git/commits/{sha}", "get-commit", "read", getCommit},
		{"POST " + r + "/git/commits", "create-commit", "write", createCommit},
		{"GET " + r + "/git/trees/{sha}", "get-tree", "read", getTree},
		{"POST " + r + "/git/trees", "create-tree", "write", createTree},
		{"GET " + r + "/git/blobs/{sha}", "get-blob", "read", getBlob},
		{"POST " + r + "/git/blobs", "create-blob", "write", createBlob},
		{"GET " + r + "/compare/{basehead...}", "compare", "read", compare},
		{"GET " + r + "/contents/{path...}", "get-contents", "read", getContents},
		{"GET " + r + "/rules/branches/{branch...}", "get-rules", "read", getRules},
		{"GET " + r + "/branches/{branch...}", "get-branch", "read", getBranch},
		{"GET " + r + "/commits/{sha}/pulls", "commit-pulls", "read", commitPulls},
		{"GET " + r + "/pulls", "list-pulls", "read", listPulls},
		{"POST " + r + "/pulls", "create-pull", "write", createPull},
		{"GET " + r + "/pulls/{n}", "get-pull", "read", getPull},
		{"PATCH " + r + "/pulls/{n}", "edit-pull", "write", editPull},
		{"GET " + r + "/pulls/{n}/commits", "pull-commits", "read", pullCommits},
		{"GET " + r + "/pulls/{n}/reviews", "pull-reviews", "read", pullReviews},
		{"GET " + r + "/issues/{n}/events", "pull-events", "read", issueEvents},
		{"GET " + r + "/issues/{n}", "get-issue", "read", getIssue},
		{"GET " + r + "/issues/{n}/labels", "list-labels", "read", issueLabels},
		{"POST " + r + "/issues/{n}/labels", "add-labels", "write", addLabels},
		{"GET " + r + "/labels/{label}", "get-label", "read", getLabel},
		{"POST " + r + "/labels", "create-label", "write", createLabel},
		{"GET /app", "get-app", "app", getApp},
		{"GET /app/installations/{id}", "get-installation", "app", getInstallation},
		{"POST /app/installations/{id}/access_tokens", "create-token", "app", createToken},
	} {
		f.api.Handle(x.pattern, f.serve(x.op, x.right, x.h))
	}
	f.api.Handle("/", f.serve("none", "", func(*call) reply { return fail(404, "Not Found") }))
	f.page.HandleFunc("GET /{owner}/{repo}/pull/{n}", f.servePage)
	f.page.Handle("POST /{owner}/{repo}/pull/{n}/merge", f.serveDeed(Human.Merge))
	f.page.Handle("POST /{owner}/{repo}/pull/{n}/close", f.serveDeed(Human.Close))
	f.page.HandleFunc("GET /{owner}/{repo}/pulls", f.serveList)
	f.page.HandleFunc("GET /{owner}/{repo}", f.serveList)
}

// ServeHTTP answers API calls at the root and below /api/v3/, and pages for people at /owner/name/pull/n.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p, cut := strings.CutPrefix(r.URL.Path, "/api/v3"); cut {
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = p, strings.TrimPrefix(r.URL.RawPath, "/api/v3")
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if slices.Contains([]string{"repos", "repositories", "user", "app", "rate_limit"}, first) {
		f.api.ServeHTTP(w, r)
		return
	}
	f.page.ServeHTTP(w, r)
}

// serve wraps a handler: fault before, then under the mutex limits, credential, repository, the act, ledger and state; fault after.
func (f *Fake) serve(op, right string, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 40<<20))
		if err != nil {
			write(w, fail(400, "Problems reading the body"))
			return
		}
		x := f.take(op)
		if x != nil && x.refuses() {
			f.note(op, r, body, x)
			f.show(r, body, reply{status: 0})
		}
		if x != nil && x.before(w, r) {
			return
		}
		out := f.act(op, right, h, r, body, x)
		f.show(r, body, out)
		f.rateHeaders(w.Header())
		w.Header().Set("X-GitHub-Request-Id", "FAKE:"+strconv.FormatInt(time.Now().UnixNano(), 16))
		w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		if x == nil {
			f.answer(w, r, out)
			return
		}
		x.after(w, r, out)
	})
}

func (f *Fake) act(op, right string, h handler, r *http.Request, body []byte, x *Fault) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &call{Fake: f, req: r, body: body, host: "http://" + r.Host}
	out, allowed := c.admit(op, right)
	if allowed {
		out = h(c)
	}
	if r.Method != http.MethodGet {
		f.ledger(op, r, c.user.Login, body, out.status, x)
		if err := f.persist(); err != nil {
			return fail(500, err.Error())
		}
	}
	if x != nil && x.Kind == StaleRefs {
		f.stale["refs"] = x.Reads
	}
	if x != nil && x.Kind == StalePulls {
		f.stale["pulls"] = x.Reads
	}
	f.lg.Debug("fakegithub", "op", op, "path", r.URL.Path, "status", out.status)
	return out
}

// Exchange is one request, and what the fake decided to answer, whatever a fault then made of it.
type Exchange struct {
	Method string
	URL    *url.URL // below the API's root
	Body   []byte
	Status int    // 0: a fault answered instead, or nobody
	Answer []byte // empty with 0 and 204
}

// Observe has fn called with every exchange, from the goroutine that serves it, before the answer leaves; nil ends that.
func (f *Fake) Observe(fn func(Exchange)) { f.observe.Store(&fn) }

func (f *Fake) show(r *http.Request, body []byte, out reply) {
	fn := f.observe.Load()
	if fn == nil || *fn == nil {
		return
	}
	x := Exchange{Method: r.Method, URL: r.URL, Body: body, Status: out.status}
	if out.status != 0 && out.status != http.StatusNoContent {
		x.Answer = out.encode()
	}
	(*fn)(x)
}

// note puts a write that did nothing into the ledger.
func (f *Fake) note(op string, r *http.Request, body []byte, x *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method != http.MethodGet {
		f.ledger(op, r, "", body, 0, x)
	}
}

func (f *Fake) ledger(op string, r *http.Request, user string, body []byte, status int, x *Fault) {
	e := Write{At: time.Now(), Op: op, Method: r.Method, Path: r.URL.Path, User: user, Body: string(body), Status: status}
	if x != nil {
		e.Fault = x.Kind
	}
	f.s.Ledger = append(f.s.Ledger, e)
}

// admit checks the primary limit, the credential, the repository and the right, with GitHub's answers.
func (c *call) admit(op, right string) (reply, bool) {
	if right == "app" {
		return reply{}, true // the App's own calls carry a signed JWT, which their handlers check
	}
	now := time.Now()
	if !now.Before(c.rate.reset) {
		c.rate.used, c.rate.reset = 0, now.Add(time.Hour)
	}
	if c.rate.used++; c.rate.used > c.o.RateLimit {
		return fail(403, "API rate limit exceeded for user."), false
	}
	user, known := c.authenticate()
	if !known {
		return fail(401, "Bad credentials"), false
	}
	c.user = user
	if right == "" {
		return reply{}, true
	}
	if out, found := c.locate(); !found {
		return out, false
	}
	c.git = c.repo.git
	switch {
	case c.user.Right == "none":
		return fail(404, "Not Found"), false
	case right == "write" && c.user.Right != "write":
		out := fail(403, "Resource not accessible by personal access token")
		out.header = http.Header{"X-Accepted-Github-Permissions": {"contents=write; pull_requests=write"}}
		return out, false
	case right == "write" && c.repo.Archived:
		return fail(403, "Repository was archived so is read-only."), false
	}
	return c.permits(op, right)
}

func (c *call) authenticate() (User, bool) {
	_, token, _ := strings.Cut(c.req.Header.Get("Authorization"), " ")
	if token == "" {
		return User{}, false
	}
	for _, u := range c.s.Users {
		if u.Token == token {
			return u, true
		}
	}
	return c.installed(token)
}

// locate finds the repository by number, name or old name; an old name is a redirect.
func (c *call) locate() (reply, bool) {
	if id := c.arg("id"); id != "" {
		n, _ := strconv.ParseInt(id, 10, 64)
		for _, r := range c.s.Repos {
			if r.ID == n {
				c.repo = r
				return reply{}, true
			}
		}
		return fail(404, "Not Found"), false
	}
	if c.repo = c.find(c.arg("owner"), c.arg("repo")); c.repo != nil {
		return reply{}, true
	}
	old := c.findOld(c.arg("owner"), c.arg("repo"))
	if old == nil || c.user.Right == "none" {
		return fail(404, "Not Found"), false
	}
	status := http.StatusMovedPermanently
	if c.req.Method != http.MethodGet {
		status = http.StatusTemporaryRedirect
	}
	out := fail(status, "Moved Permanently")
	rest := strings.TrimPrefix(c.req.URL.Path, "/repos/"+c.arg("owner")+"/"+c.arg("repo"))
	out.header = http.Header{"Location": {fmt.Sprintf("%s/repositories/%d%s", c.host, old.ID, rest)}}
	return out, false
}

func (f *Fake) rateHeaders(h http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.Set("X-RateLimit-Limit", strconv.Itoa(f.o.RateLimit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, f.o.RateLimit-f.rate.used)))
	h.Set("X-RateLimit-Used", strconv.Itoa(f.rate.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(f.rate.reset.Unix(), 10))
}

func getUser(c *call) reply {
	if c.user.Bot {
		return fail(403, "Resource not accessible by integration")
	}
	return ok(200, c.selfObject())
}

func rateLimit(c *call) reply {
	r := object{"limit": c.o.RateLimit, "remaining": max(0, c.o.RateLimit-c.rate.used), "used": c.rate.used, "reset": c.rate.reset.Unix()}
	return ok(200, object{"resources": object{"core": r, "search": r}, "rate": r})
}

func getRepo(c *call) reply { return ok(200, c.fullRepo(c.repo)) }
