package triage

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// knock is one request to a handler.
type knock struct {
	method, path, host, from, form string
	header                         http.Header
	cookies                        []*http.Cookie
}

func (k knock) send(t *testing.T, h http.Handler) *http.Response {
	t.Helper()
	if k.method == "" {
		k.method = http.MethodGet
	}
	r := httptest.NewRequestWithContext(t.Context(), k.method, k.path, strings.NewReader(k.form))
	r.Host, r.RemoteAddr = "localhost:7295", "127.0.0.1:5000"
	if k.host != "" {
		r.Host = k.host
	}
	if k.from != "" {
		r.RemoteAddr = k.from + ":5000"
	}
	for name, values := range k.header {
		r.Header[name] = values
	}
	if k.method == http.MethodPost && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range k.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func door(o Options) http.Handler { return New(slog.New(slog.DiscardHandler), testSource(), o) }

var (
	two  = Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true}, {Name: "bo", Token: "two"}}}
	html = http.Header{"Accept": {"text/html"}}
)

const post = http.MethodPost

func cookie(res *http.Response, name string) *http.Cookie {
	for _, c := range res.Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func TestLoginBeginsASession(t *testing.T) {
	h := door(two)
	if res := (knock{path: "/?q=x", header: html}).send(t, h); res.StatusCode != 303 || res.Header.Get("Location") != "/login?next=%2F%3Fq%3Dx" {
		t.Fatalf("a stranger: %d %s", res.StatusCode, res.Header.Get("Location"))
	}
	if res := (knock{method: post, path: "/login", form: "token=three"}).send(t, h); res.StatusCode != 401 || cookie(res, sessionCookie) != nil {
		t.Errorf("a wrong token: %d", res.StatusCode)
	}
	res := (knock{method: post, path: "/login", form: "token=one&next=/pulls"}).send(t, h)
	c := cookie(res, sessionCookie)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/pulls" || c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || strings.Contains(c.Value, "one") {
		t.Fatalf("a right token: %d %v", res.StatusCode, c)
	}
	if res := (knock{path: "/v1/groups", cookies: []*http.Cookie{c}}).send(t, h); res.StatusCode != 200 {
		t.Errorf("with the session: %d", res.StatusCode)
	}
	if res := (knock{path: "/v1/groups", cookies: []*http.Cookie{c}}).send(t, door(two)); res.StatusCode != 200 {
		t.Errorf("after a restart: %d", res.StatusCode)
	}
	for _, other := range []Options{{Tokens: []Token{{Name: "ana", Token: "new"}}}, {Tokens: two.Tokens[1:]}} {
		if res := (knock{path: "/v1/groups", cookies: []*http.Cookie{c}}).send(t, door(other)); res.StatusCode != 401 {
			t.Errorf("the token is gone, and the session goes on: %d", res.StatusCode)
		}
	}
	for _, value := range []string{"", "....", c.Value + "x", strings.Replace(c.Value, ".", ".9", 1), strings.Repeat("a", 9000)} {
		if res := (knock{path: "/v1/groups", cookies: []*http.Cookie{{Name: sessionCookie, Value: value}}}).send(t, h); res.StatusCode != 401 {
			t.Errorf("a forged session %.40s: %d", value, res.StatusCode)
		}
	}
	if res := (knock{method: post, path: "/logout", cookies: []*http.Cookie{c}}).send(t, h); res.StatusCode != 303 || cookie(res, sessionCookie).MaxAge >= 0 {
		t.Errorf("logging out: %d", res.StatusCode)
	}
	if res := (knock{path: "/v1/groups", cookies: []*http.Cookie{c}}).send(t, h); res.StatusCode != 401 {
		t.Errorf("after logging out: %d", res.StatusCode)
	}
}

func TestSessionsEnd(t *testing.T) {
	h := &handler{logins: newLogins(), tokens: []holder{{Token: two.Tokens[0]}}}
	now := time.Now()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: h.tokens[0].newSession(now)})
	if _, _, _, ok := h.openSession(r, now.Add(sessionLife-time.Minute)); !ok {
		t.Error("it ended early")
	}
	if _, _, _, ok := h.openSession(r, now.Add(sessionLife+time.Minute)); ok {
		t.Error("it goes on")
	}
}

func TestLoginsAreLimited(t *testing.T) {
	h := door(two)
	for i := range loginBurst + 1 {
		res := knock{method: post, path: "/login", form: "token=guess"}.send(t, h)
		if want := map[bool]int{true: 401, false: 429}[i < loginBurst]; res.StatusCode != want || want == 429 && res.Header.Get("Retry-After") == "" {
			t.Errorf("try %d: %d, want %d", i, res.StatusCode, want)
		}
	}
	if res := (knock{method: post, path: "/login", form: "token=one"}).send(t, h); res.StatusCode != 429 {
		t.Errorf("the right token after too many tries: %d", res.StatusCode)
	}
	if res := (knock{method: post, path: "/login", form: "token=one", header: http.Header{"X-Forwarded-For": {"203.0.113.9"}}}).send(t, h); res.StatusCode != 429 {
		t.Errorf("X-Forwarded-For of somebody counts: %d", res.StatusCode)
	}
	if res := (knock{method: post, path: "/login", form: "token=one", from: "203.0.113.9"}).send(t, h); res.StatusCode != 303 {
		t.Errorf("another address: %d", res.StatusCode)
	}
	l := newLogins()
	for i := range 3 * maxTriers {
		l.allow(fmt.Sprint(i), time.Now())
	}
	if len(l.tries) > maxTriers {
		t.Errorf("%d addresses are remembered", len(l.tries))
	}
}

func TestProxyNamesThePerson(t *testing.T) {
	o := Options{Proxy: &Proxy{Header: "X-Forwarded-User", From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Roles: map[string]Role{"ana": RoleTriager, "eve": RoleViewer}}}
	merge := `{"into":"loop-0000000001","reason":"same bug"}`
	says := func(names ...string) http.Header {
		return http.Header{"X-Forwarded-User": names, "Content-Type": {"application/json"}}
	}
	for _, c := range []struct {
		what string
		knock
		want int
	}{
		{"a triager", knock{from: "10.1.2.3", header: says("ana")}, 200},
		{"a triager through IPv6", knock{from: "[::ffff:10.1.2.3]", header: says("ana")}, 200},
		{"a viewer", knock{from: "10.1.2.3", header: says("eve")}, 403},
		{"somebody without a role", knock{from: "10.1.2.3", header: says("zed")}, 403},
		{"two names", knock{from: "10.1.2.3", header: says("ana", "eve")}, 403},
		{"no name", knock{from: "10.1.2.3", header: says()}, 403},
		{"nobody", knock{from: "10.1.2.3", header: says("unknown")}, 403},
		{"past the proxy", knock{from: "10.2.2.3", header: says("ana")}, 403},
		{"this machine", knock{header: says("ana")}, 403},
	} {
		c.method, c.path, c.form, c.host = post, "/v1/groups/loop-0000000000/merge", merge, "pawl.example.com"
		if res := c.send(t, door(o)); res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.what, res.StatusCode, c.want)
		}
	}
	o.Proxy.Roles["*"] = RoleViewer
	if res := (knock{path: "/v1/groups", from: "10.1.2.3", header: says("zed")}).send(t, door(o)); res.StatusCode != 200 {
		t.Errorf("everybody else: %d", res.StatusCode)
	}
	o.Tokens = two.Tokens
	res := knock{method: post, path: "/login", from: "10.1.2.3", form: "token=one", header: http.Header{"X-Forwarded-User": {"zed"}, "X-Forwarded-Proto": {"https"}}}.send(t, door(o))
	if c := cookie(res, sessionCookie); c == nil || !c.Secure {
		t.Errorf("behind TLS the session's cookie is not Secure: %v", c)
	}
	res = knock{method: post, path: "/login", form: "token=one", header: http.Header{"X-Forwarded-Proto": {"https"}}}.send(t, door(o))
	if c := cookie(res, sessionCookie); c == nil || c.Secure {
		t.Errorf("X-Forwarded-Proto of somebody counts: %v", c)
	}
}

// TestNobodyIsUnknown: on loopback a person gives a name, and no page of elsewhere reaches pawl there.
func TestNobodyIsUnknown(t *testing.T) {
	h := door(Options{})
	for _, name := range []string{"", " ", "unknown", "Anonymous", "a\nb", strings.Repeat("x", maxPerson+1), "\xff"} {
		if res := (knock{method: post, path: "/name", form: url.Values{"name": {name}}.Encode()}).send(t, h); res.StatusCode != 400 || cookie(res, nameCookie) != nil {
			t.Errorf("%q: %d", name, res.StatusCode)
		}
	}
	res := knock{method: post, path: "/name", form: url.Values{"name": {"Ana Müller"}, "next": {"/groups/x"}}.Encode()}.send(t, h)
	c := cookie(res, nameCookie)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/groups/x" || c == nil || !c.HttpOnly {
		t.Fatalf("a name: %d %v", res.StatusCode, c)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(c)
	if got := new(handler).givenName(r); got != "Ana Müller" {
		t.Errorf("it is remembered as %q", got)
	}
	r.Header.Set(PersonHeader, "unknown")
	if got := new(handler).givenName(r); got != "" {
		t.Errorf("unknown is somebody: %q", got)
	}
	if res := (knock{path: "/v1/groups", host: "rebound.example.com"}).send(t, h); res.StatusCode != 403 {
		t.Errorf("another site's name that points here: %d", res.StatusCode)
	}
	for _, host := range []string{"localhost", "127.0.0.1:7295", "[::1]:7295", "LOCALHOST:1"} {
		if res := (knock{path: "/v1/groups", host: host}).send(t, h); res.StatusCode != 200 {
			t.Errorf("%s: %d", host, res.StatusCode)
		}
	}
}

func TestOtherSitesSendNothing(t *testing.T) {
	for _, path := range []string{"/login", "/logout", "/name", "/theme", "/v1/open", "/groups/x/decide"} {
		res := knock{method: post, path: path, header: http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}}}.send(t, door(Options{}))
		if res.StatusCode != 403 {
			t.Errorf("%s from another site: %d", path, res.StatusCode)
		}
	}
}

func TestFormsLeadNowhereElse(t *testing.T) {
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)", "evil", "/login", "/login?next=/", "/a\nb", "/\t/evil.example"} {
		r := httptest.NewRequest(http.MethodGet, "/login?next="+url.QueryEscape(next), nil)
		if got := nextOf(r); got != "/" {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}

func TestPagesHaveTheirPolicy(t *testing.T) {
	for path, code := range map[string]int{"/": 200, "/traces": 200, "/pulls": 200, "/rules": 200, "/set": 200, "/ingest": 200, "/audit": 200, "/name": 200, "/nothing": 404} {
		res := knock{path: path, header: html}.send(t, door(Options{}))
		if p := res.Header.Get("Content-Security-Policy"); res.StatusCode != code || !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: %d %s", path, res.StatusCode, p)
		}
	}
	for path, k := range map[string]knock{"JSON": {path: "/v1/groups"}, "no JSON": {path: "/v1/nothing"}, "who is not let in": {path: "/v1/groups", host: "elsewhere.example"},
		"another site": {method: post, path: "/theme", header: http.Header{"Origin": {"https://elsewhere.example"}}}, "a redirect": {method: post, path: "/theme"}, "no such method": {method: "PUT", path: "/v1/groups"}} {
		if h := k.send(t, door(Options{})).Header; !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, h)
		}
	}
	for name := range assetPaths {
		res := knock{path: assetPaths[name]}.send(t, door(two))
		if res.StatusCode != 200 || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") || strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %v", name, res.StatusCode, res.Header)
		}
	}
	if res := (knock{path: "/assets/nope.css"}).send(t, door(two)); res.StatusCode != 404 {
		t.Errorf("an asset that is not there: %d", res.StatusCode)
	}
}
