package fakegithub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	. "github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

type rig struct {
	t    *testing.T
	f    *Fake
	dir  string
	tok  string
	send http.RoundTripper
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	g := &rig{t: t, dir: t.TempDir(), tok: "w"}
	g.open(o)
	for _, u := range []User{{"bot", "w", "write", false}, {"reader", "r", "read", false}, {"blind", "n", "none", false}} {
		g.must(g.f.AddUser(u))
	}
	g.must(g.f.AddRepo("acme", "shop", ""))
	return g
}

func (g *rig) open(o Options) {
	f, err := New(slog.New(slog.DiscardHandler), g.dir, o)
	g.must(err)
	openapi.WatchProvoked(g.t, f)
	g.f, g.send = f, f.Transport()
}

func (g *rig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// do makes one request and gives status, decoded answer and header.
func (g *rig) do(method, path string, body any) (int, any, http.Header) {
	g.t.Helper()
	raw, err := json.Marshal(body)
	g.must(err)
	req, err := http.NewRequestWithContext(g.t.Context(), method, "http://fake.test"+path, bytes.NewReader(raw))
	g.must(err)
	req.Header.Set("Authorization", "token "+g.tok)
	resp, err := g.send.RoundTrip(req)
	if err != nil {
		return 0, err, nil
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err, resp.Header
	}
	var v any
	if json.Unmarshal(got, &v) != nil {
		v = string(got)
	}
	return resp.StatusCode, v, resp.Header
}

// want makes a request that must have a status, and an answer that holds a text.
func (g *rig) want(status int, text, method, path string, body any) any {
	g.t.Helper()
	code, v, _ := g.do(method, path, body)
	raw, _ := json.Marshal(v)
	if code != status || !strings.Contains(string(raw), text) {
		g.t.Errorf("%s %s: %d %s, want %d with %q", method, path, code, raw, status, text)
	}
	return v
}

func field(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil
		}
		v = m[key]
	}
	return v
}

const shop = "/repos/acme/shop"

// branch makes a commit with the files on main and a branch for it, by the API alone.
func (g *rig) branch(name string, tree ...object) string {
	g.t.Helper()
	head := field(g.want(200, "", "GET", shop+"/git/ref/heads/main", nil), "object.sha").(string)
	base := field(g.want(200, "", "GET", shop+"/git/commits/"+head, nil), "tree.sha").(string)
	made := field(g.want(201, "", "POST", shop+"/git/trees", object{"base_tree": base, "tree": tree}), "sha").(string)
	c := field(g.want(201, "", "POST", shop+"/git/commits", object{"message": "m", "tree": made, "parents": []string{head}}), "sha").(string)
	g.want(201, c, "POST", shop+"/git/refs", object{"ref": "refs/heads/" + name, "sha": c})
	return c
}

func file(path, content string) object {
	return object{"path": path, "mode": "100644", "type": "blob", "content": content}
}

func TestRefs(t *testing.T) {
	g := newRig(t, Options{})
	c := g.branch("pawl/a", file("d/x.txt", "x\n"))
	g.want(422, "Reference already exists", "POST", shop+"/git/refs", object{"ref": "refs/heads/pawl/a", "sha": c})
	g.want(422, "Reference update failed", "POST", shop+"/git/refs", object{"ref": "refs/heads/pawl/a/b", "sha": c})
	g.want(422, "Reference update failed", "POST", shop+"/git/refs", object{"ref": "refs/heads/pawl", "sha": c})
	g.want(422, "Reference update failed", "POST", shop+"/git/refs", object{"ref": "refs/heads/a..b", "sha": c})
	g.want(422, "Object does not exist", "POST", shop+"/git/refs", object{"ref": "refs/heads/z", "sha": strings.Repeat("1", 40)})
	g.want(404, "Not Found", "GET", shop+"/git/ref/heads/paw", nil)
	side := g.branch("side", file("y", "y"))
	g.want(422, "not a fast forward", "PATCH", shop+"/git/refs/heads/pawl/a", object{"sha": side, "force": false})
	g.want(200, side, "PATCH", shop+"/git/refs/heads/pawl/a", object{"sha": side, "force": true})
}

// A tree without base_tree holds its entries and nothing else: the deletion that a client must guard against is real here.
func TestTreeWithoutBaseDeletes(t *testing.T) {
	g := newRig(t, Options{})
	v := g.want(201, "only.txt", "POST", shop+"/git/trees", object{"tree": []object{file("only.txt", "x")}})
	if raw, _ := json.Marshal(v); strings.Contains(string(raw), "README") {
		t.Errorf("%s", raw)
	}
	head := field(g.want(200, "", "GET", shop+"/git/ref/heads/main", nil), "object.sha").(string)
	v = g.want(201, "", "POST", shop+"/git/trees", object{"base_tree": head, "tree": []object{file("a", "x"), {"path": "README.md", "mode": "100644", "type": "blob", "sha": nil}}})
	if raw, _ := json.Marshal(v); strings.Contains(string(raw), "README") || !strings.Contains(string(raw), `"a"`) {
		t.Errorf("a null sha does not delete: %s", raw)
	}
	for _, p := range []string{"../x", "/x", "a//b", ".git/config", "a/.git/x"} {
		g.want(422, "malformed path", "POST", shop+"/git/trees", object{"base_tree": head, "tree": []object{file(p, "x")}})
	}
	g.want(422, "Tree SHA does not exist", "POST", shop+"/git/commits", object{"message": "m", "tree": strings.Repeat("2", 40), "parents": []string{head}})
}

func TestPullRequests(t *testing.T) {
	g := newRig(t, Options{})
	g.branch("pawl/a", file("d/x.txt", "x\n"))
	g.branch("other", file("y", "y"))
	ask := object{"title": "t", "head": "pawl/a", "base": "main", "body": "b"}
	with := func(k string, v any) object {
		out := object{}
		for key := range ask {
			out[key] = ask[key]
		}
		out[k] = v
		return out
	}
	g.want(422, `"field":"head"`, "POST", shop+"/pulls", with("head", "nope"))
	g.want(422, `"field":"head"`, "POST", shop+"/pulls", with("head", "eve:pawl/a"))
	g.want(422, `"field":"base"`, "POST", shop+"/pulls", with("base", "nope"))
	g.want(422, "No commits between", "POST", shop+"/pulls", with("head", "main"))
	g.want(422, "body is too long", "POST", shop+"/pulls", with("body", strings.Repeat("x", 65537)))
	g.want(422, "title is too long", "POST", shop+"/pulls", with("title", strings.Repeat("x", 257)))
	g.want(422, "title", "POST", shop+"/pulls", with("title", " "))
	g.want(201, `"mergeable":null`, "POST", shop+"/pulls", ask)
	g.want(422, "A pull request already exists for acme:pawl/a", "POST", shop+"/pulls", ask)
	g.want(200, `"mergeable":true`, "GET", shop+"/pulls/1", nil)
	g.want(201, `"number":2`, "POST", shop+"/pulls", with("head", "acme:other"))

	count := func(query string) int {
		list, _ := g.want(200, "", "GET", shop+"/pulls?"+query, nil).([]any)
		return len(list)
	}
	for query, want := range map[string]int{"": 2, "head=pawl/a": 2, "head=acme:pawl/a": 1, "head=eve:pawl/a": 0, "base=dev": 0, "state=closed": 0, "per_page=1": 1} {
		if got := count(query); got != want {
			t.Errorf("%q: %d, want %d", query, got, want)
		}
	}
	if _, _, h := g.do("GET", shop+"/pulls?per_page=1", nil); !strings.Contains(h.Get("Link"), `rel="next"`) {
		t.Errorf("Link %q", h.Get("Link"))
	}
	g.must(g.f.Human("ana").Close("acme/shop", 1))
	g.want(200, `"login":"ana"`, "GET", shop+"/issues/1", nil)
	g.want(201, `"number":3`, "POST", shop+"/pulls", ask) // a closed one does not block
	g.must(g.f.Human("ana").Merge("acme/shop", 3))
	v := g.want(200, `"merged":true`, "GET", shop+"/pulls/3", nil)
	if field(v, "merged_by.login") != "ana" || field(v, "merge_commit_sha") == nil {
		t.Errorf("%v", v)
	}
	g.want(200, `"content":"eAo="`, "GET", shop+"/contents/d/x.txt", nil)
	g.must(g.f.Human("ana").DeleteBranch("acme/shop", "other"))
	g.want(200, `"state":"closed"`, "GET", shop+"/pulls/2", nil)
}

func TestCompareAndContents(t *testing.T) {
	g := newRig(t, Options{})
	c := g.branch("pawl/a", file("d/x.txt", "x\ny\n"), file("README.md", "changed\n"))
	_, err := g.f.Human("ana").Push("acme/shop", "main", "z", "z")
	g.must(err)
	v := g.want(200, `"status":"diverged"`, "GET", shop+"/compare/main...pawl%2Fa", nil)
	raw, _ := json.Marshal(field(v, "files"))
	if field(v, "ahead_by") != 1.0 || field(v, "behind_by") != 1.0 || !strings.Contains(string(raw), `"additions":2`) ||
		!strings.Contains(string(raw), `"status":"added"`) || !strings.Contains(string(raw), `"status":"modified"`) {
		t.Errorf("%v", v)
	}
	g.want(200, `"status":"identical"`, "GET", shop+"/compare/"+c+"..."+c, nil)
	g.want(404, "", "GET", shop+"/compare/main...nope", nil)
	g.want(200, `"path":"d/x.txt"`, "GET", shop+"/contents/d?ref=pawl/a", nil)
	g.want(404, "", "GET", shop+"/contents/d?ref=main", nil)
	g.want(200, `"encoding":"base64"`, "GET", shop+"/contents/README.md", nil)
	g.want(200, "[]", "GET", shop+"/commits/"+c+"/pulls", nil)
}

func TestRights(t *testing.T) {
	g := newRig(t, Options{RateLimit: 40})
	for tok, want := range map[string]int{"": 401, "x": 401, "n": 404, "r": 200, "w": 200} {
		g.tok = tok
		g.want(want, "", "GET", shop, nil)
	}
	g.tok = "r"
	g.want(403, "not accessible", "POST", shop+"/labels", object{"name": "l"})
	g.tok = "n"
	g.want(404, "", "POST", shop+"/labels", object{"name": "l"})
	g.tok = "w"
	g.must(g.f.Edit("acme", "shop", func(r *Repo) { r.Archived = true }))
	g.want(403, "archived", "POST", shop+"/labels", object{"name": "l"})
	g.must(g.f.Edit("acme", "shop", func(r *Repo) { r.Archived, r.Name = false, "store" }))
	_, _, h := g.do("GET", shop, nil)
	if !strings.Contains(h.Get("Location"), "/repositories/") {
		t.Errorf("Location %q", h.Get("Location"))
	}
	g.want(301, "", "GET", shop, nil)
	g.want(307, "", "POST", shop+"/labels", object{"name": "l"})
	id := field(g.want(200, "acme/store", "GET", "/repos/acme/store", nil), "id")
	g.want(200, "acme/store", "GET", fmt.Sprintf("/repositories/%.0f", id), nil)
	for range 40 {
		if code, _, h := g.do("GET", "/user", nil); code == 403 {
			if h.Get("X-RateLimit-Remaining") != "0" || h.Get("X-RateLimit-Reset") == "" {
				t.Errorf("%v", h)
			}
			return
		}
	}
	t.Error("the limit never came")
}

func TestEmptyRepository(t *testing.T) {
	g := newRig(t, Options{})
	dir := filepath.Join(t.TempDir(), "e.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	g.must(g.f.AddRepo("acme", "empty", dir))
	for _, c := range []struct{ method, path string }{{"GET", "/git/ref/heads/main"}, {"POST", "/git/refs"}, {"POST", "/git/blobs"}, {"POST", "/git/trees"}} {
		g.want(409, "empty", c.method, "/repos/acme/empty"+c.path, object{"ref": "refs/heads/x", "sha": strings.Repeat("1", 40), "tree": []object{file("a", "b")}, "content": "x"})
	}
}

// A fake made anew in the same place goes on: repositories, pull requests, labels, tokens.
func TestSurvives(t *testing.T) {
	g := newRig(t, Options{UnknownLabels: "refuse"})
	g.branch("pawl/a", file("x", "x"))
	g.want(201, "", "POST", shop+"/pulls", object{"title": "t", "head": "pawl/a", "base": "main"})
	g.want(422, "", "POST", shop+"/issues/1/labels", []string{"new"})
	g.want(201, "", "POST", shop+"/labels", object{"name": "new"})
	g.want(422, "already_exists", "POST", shop+"/labels", object{"name": "new"})
	g.want(200, "new", "POST", shop+"/issues/1/labels", object{"labels": []string{"new"}})
	g.open(Options{})
	g.want(200, `"name":"new"`, "GET", shop+"/pulls/1", nil)
	g.want(422, "already exists", "POST", shop+"/pulls", object{"title": "t", "head": "pawl/a", "base": "main"})
	g.want(200, "", "GET", shop+"/git/ref/heads/pawl/a", nil)
}

func TestFaultsAct(t *testing.T) {
	g := newRig(t, Options{})
	head := field(g.want(200, "", "GET", shop+"/git/ref/heads/main", nil), "object.sha").(string)
	made := 0
	for _, c := range []struct {
		kind Kind
		acts bool
	}{{DropBefore, false}, {DropAfter, true}, {BadGatewayAfter, true}, {TruncateAfter, true}, {EmptyAfter, true}, {HTMLAfter, true}, {Refuse500, false},
		{Limit403Primary, false}, {Limit403Retry, false}, {Limit429Bare, false}, {Redirect, false}} {
		g.f.Inject(Fault{Op: "create-ref", Kind: c.kind})
		name := "b-" + string(c.kind)
		code, v, _ := g.do("POST", shop+"/git/refs", object{"ref": "refs/heads/" + name, "sha": head})
		if obj, isObj := v.(map[string]any); code == 201 && isObj && obj["ref"] != nil {
			t.Errorf("%s: no fault: %d %v", c.kind, code, v)
		}
		all, err := g.f.Branches("acme", "shop")
		g.must(err)
		if (all[name] != "") != c.acts {
			t.Errorf("%s: acted %v", c.kind, !c.acts)
		}
		made++
	}
	if got := g.f.Ledger(); len(got) != made || got[1].Fault != DropAfter || got[1].Status != 201 || got[1].User != "bot" || !strings.Contains(got[1].Body, "b-drop-after") {
		t.Errorf("%d in the ledger, %+v", len(got), got[1])
	}
	g.f.Inject(Fault{Op: "create-ref", Kind: StaleRefs, Reads: 2})
	g.want(201, "", "POST", shop+"/git/refs", object{"ref": "refs/heads/late", "sha": head})
	for _, code := range []int{404, 404, 200} {
		g.want(code, "", "GET", shop+"/git/ref/heads/late", nil)
	}
}

// Over a real socket: a person's page, an existing repository, and a connection that is dropped.
func TestServer(t *testing.T) {
	g := newRig(t, Options{})
	s, err := Serve(g.f, "")
	g.must(err)
	defer func() { g.must(s.Close(t.Context())) }()
	g.branch("pawl/a", file("x.txt", "new <b>line</b>\n"))
	g.want(201, "", "POST", shop+"/pulls", object{"title": "A <i>title</i>", "head": "pawl/a", "base": "main", "body": "<script>alert(1)</script>"})
	tr := &http.Transport{DisableKeepAlives: true} // a GET on a kept connection would be sent again
	c := &http.Client{Transport: tr, Timeout: 10 * time.Second}
	get := func(path string) (int, string) {
		resp, err := c.Get(s.URL + path)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		g.must(err)
		return resp.StatusCode, string(raw)
	}
	code, page := get("/acme/shop/pull/1")
	if code != 200 || !strings.Contains(page, "&lt;script&gt;") || strings.Contains(page, "<script>") || !strings.Contains(page, "new &lt;b&gt;line&lt;/b&gt;</ins>") {
		t.Errorf("%d %s", code, page)
	}
	if code, list := get("/acme/shop/pulls"); code != 200 || !strings.Contains(list, "/acme/shop/pull/1") {
		t.Errorf("%d %s", code, list)
	}
	press := func(path, site string) int {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, nil)
		g.must(err)
		r.Header.Set("Sec-Fetch-Site", site)
		resp, err := c.Do(r)
		g.must(err)
		g.must(resp.Body.Close())
		return resp.StatusCode
	}
	for _, x := range []struct {
		path, site string
		want       int
	}{{"/acme/shop/pull/1/merge", "cross-site", 403}, {"/acme/shop/pull/9/merge", "same-origin", 409}, {"/acme/shop/pull/1/merge", "same-origin", 200}, {"/acme/shop/pull/1/merge", "same-origin", 409},
		{"/acme/shop/pull/1/close", "same-origin", 409}} {
		if got := press(x.path, x.site); got != x.want {
			t.Errorf("POST %s from %s: %d, want %d", x.path, x.site, got, x.want)
		}
	}
	if _, page := get("/acme/shop/pull/1"); !strings.Contains(page, `class="state merged"`) || strings.Contains(page, "<button") || !strings.Contains(page, "new &lt;b&gt;") {
		t.Errorf("a merged one: %s", page)
	}
	if _, list := get("/acme/shop/pulls"); !strings.Contains(list, "(merged)") {
		t.Errorf("%s", list)
	}
	for _, p := range []string{"/acme/shop/pull/2", "/acme/nope/pull/1", "/acme/shop/pull/x", "/"} {
		if code, _ := get(p); code != 404 {
			t.Errorf("%s: %d", p, code)
		}
	}
	g.f.Inject(Fault{Op: "get-user", Kind: DropBefore})
	if code, text := get("/api/v3/user"); code != 0 || !strings.Contains(text, "EOF") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := get("/api/v3/user"); code != 401 {
		t.Errorf("%d", code)
	}
}

// A checkout that somebody works in, with packed refs, is served as it is.
func TestExistingRepository(t *testing.T) {
	g := newRig(t, Options{})
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=trunk"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", "first"},
		{"pack-refs", "--all"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	g.must(g.f.AddRepo("acme", "own", filepath.Join(dir, ".git")))
	g.want(200, `"default_branch":"trunk"`, "GET", "/repos/acme/own", nil)
	head := field(g.want(200, "", "GET", "/repos/acme/own/git/ref/heads/trunk", nil), "object.sha")
	g.want(201, "", "POST", "/repos/acme/own/git/refs", object{"ref": "refs/heads/pawl/x", "sha": head})
	if out, err := exec.Command("git", "-C", dir, "rev-parse", "pawl/x").Output(); err != nil || strings.TrimSpace(string(out)) != head {
		t.Errorf("%v %s", err, out)
	}
	if err := g.f.AddRepo("acme", "none", t.TempDir()); err == nil {
		t.Error("accepted a directory that is no repository")
	}
}
