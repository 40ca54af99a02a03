package openapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/test/fakegithub"
	"github.com/pawl-dev/pawl/test/fakegithub/openapi"
)

// client speaks to a fake and keeps the exchanges.
type client struct {
	t    *testing.T
	send http.RoundTripper
	seen []fakegithub.Exchange
}

func newClient(t *testing.T) *client {
	t.Helper()
	f, err := fakegithub.New(slog.New(slog.DiscardHandler), t.TempDir(), fakegithub.Options{})
	if err == nil {
		err = f.AddUser(fakegithub.User{Login: "ana", Token: "w", Right: "write"})
	}
	if err == nil {
		err = f.AddRepo("acme", "shop", "")
	}
	if err == nil {
		err = f.Edit("acme", "shop", func(r *fakegithub.Repo) {
			r.Rules, r.Checks, r.Owners = []string{"required_signatures", "non_fast_forward"}, []string{"pawl"}, true
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, send: f.Transport()}
	f.Observe(func(x fakegithub.Exchange) { c.seen = append(c.seen, x) })
	return c
}

// do makes a request that must succeed, and gives one field of the answer.
func (c *client) do(method, path, body, field string) string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://fake.test"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "token w")
	resp, err := c.send.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %d %v %s", method, path, resp.StatusCode, err, raw)
	}
	var v map[string]any
	_ = json.Unmarshal(raw, &v) // a list has no field to give
	s, _ := v[field].(string)
	return s
}

// story uses each operation that needs no App.
func (c *client) story() {
	const r = "/repos/acme/shop"
	c.do("GET", "/user", "", "")
	c.do("GET", "/rate_limit", "", "")
	c.do("GET", r, "", "")
	c.do("GET", r+"/git/ref/heads/main", "", "")
	c.do("GET", r+"/branches/main", "", "")
	blob := c.do("POST", r+"/git/blobs", `{"content":"x","encoding":"utf-8"}`, "sha")
	c.do("GET", r+"/git/blobs/"+blob, "", "")
	tree := c.do("POST", r+"/git/trees", `{"tree":[{"path":"d/x","mode":"100644","type":"blob","sha":"`+blob+`"}]}`, "sha")
	c.do("GET", r+"/git/trees/"+tree+"?recursive=1", "", "")
	var head struct{ Object struct{ SHA string } }
	if err := json.Unmarshal(c.seen[3].Answer, &head); err != nil {
		c.t.Fatal(err)
	}
	commit := c.do("POST", r+"/git/commits", `{"message":"m","tree":"`+tree+`","parents":["`+head.Object.SHA+`"]}`, "sha")
	c.do("GET", r+"/git/commits/"+commit, "", "")
	c.do("POST", r+"/git/refs", `{"ref":"refs/heads/pawl/a","sha":"`+commit+`"}`, "")
	more := c.do("POST", r+"/git/commits", `{"message":"n","tree":"`+tree+`","parents":["`+commit+`"]}`, "sha")
	c.do("PATCH", r+"/git/refs/heads/pawl/a", `{"sha":"`+more+`"}`, "")
	c.do("GET", r+"/compare/main...pawl%2Fa", "", "")
	c.do("GET", r+"/contents/d?ref=pawl/a", "", "")
	c.do("GET", r+"/contents/d/x?ref=pawl/a", "", "")
	c.do("GET", r+"/rules/branches/pawl%2Fa", "", "")
	c.do("POST", r+"/pulls", `{"title":"t","head":"pawl/a","base":"main","body":"b"}`, "")
	c.do("GET", r+"/pulls?state=all&head=acme:pawl/a", "", "")
	c.do("PATCH", r+"/pulls/1", `{"body":"c"}`, "")
	c.do("GET", r+"/pulls/1/commits", "", "")
	c.do("GET", r+"/pulls/1/reviews", "", "")
	c.do("POST", r+"/labels", `{"name":"pawl"}`, "")
	c.do("GET", r+"/labels/pawl", "", "")
	c.do("POST", r+"/issues/1/labels", `{"labels":["pawl"]}`, "")
	c.do("GET", r+"/issues/1/labels", "", "")
	c.do("GET", r+"/issues/1/events", "", "")
	c.do("GET", r+"/issues/1", "", "")
	c.do("GET", r+"/pulls/1", "", "")
	c.do("GET", r+"/commits/"+more+"/pulls", "", "")
	c.do("GET", "/repositories/1001", "", "")
	c.do("DELETE", r+"/git/refs/heads/pawl/a", "", "")
	c.do("GET", r+"/issues/1", "", "")
	c.do("GET", r+"/pulls/1", "", "")
}

func TestEveryOperationIsSound(t *testing.T) {
	c := newClient(t)
	c.story()
	for _, x := range c.seen {
		for _, fault := range openapi.Check(x) {
			t.Errorf("%s %s: %s", x.Method, x.URL, fault)
		}
	}
}

// Each answer of the story, spoilt in one place, must be found faulty, or the test of others proves nothing: fields taken away one by one, a
// field of another type, one that nobody knows.
func TestFaultsAreFound(t *testing.T) {
	c := newClient(t)
	c.story()
	found, missed := 0, 0
	for _, x := range c.seen {
		var v map[string]any
		if x.Status >= 300 || json.Unmarshal(x.Answer, &v) != nil || strings.Contains(x.URL.Path, "/contents/") {
			continue // lists and choices of schemas: the fields there may be another choice's
		}
		v["invented_by_us"] = 1
		if len(openapi.Check(with(x, v))) == 0 && x.URL.Path != "/user" {
			t.Errorf("%s %s: an invented field is not found", x.Method, x.URL)
		}
		delete(v, "invented_by_us")
		for field, old := range v {
			delete(v, field)
			gone := len(openapi.Check(with(x, v))) > 0
			v[field] = []int{1}
			if _, list := old.([]any); !list && len(openapi.Check(with(x, v))) == 0 {
				t.Errorf("%s %s: a list is taken for %s", x.Method, x.URL, field)
			}
			if v[field] = old; gone {
				found++
			} else {
				missed++ // not required
			}
		}
	}
	if found < 400 || found < 4*missed {
		t.Errorf("of %d missing fields %d are found", found+missed, found)
	}
}

func with(x fakegithub.Exchange, v any) fakegithub.Exchange {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(v) // maps of decoded JSON
	x.Answer = b.Bytes()
	return x
}

func TestBadRequestsAreFound(t *testing.T) {
	c := newClient(t)
	c.story()
	for i, bad := range []struct{ method, path, body string }{
		{"POST", "/repos/acme/shop/pulls", `{"head":"pawl/a"}`},
		{"POST", "/repos/acme/shop/pulls", `{"head":"pawl/a","base":"main","titel":"x"}`},
		{"POST", "/repos/acme/shop/git/refs", `{"ref":"refs/heads/x"}`},
		{"POST", "/repos/acme/shop/git/trees", `{"tree":[{"path":"x","mode":"999999"}]}`},
		{"POST", "/repos/acme/shop/issues/1/labels", `["pawl"]`},
		{"PATCH", "/repos/acme/shop/pulls/1", `{"state":"shut"}`},
		{"GET", "/repos/acme/shop/pulls?sate=all", ""},
		{"GET", "/repos/acme/shop/pulls?state=any", ""},
		{"GET", "/repos/acme/shop/nothing", ""},
		{"PUT", "/repos/acme/shop/pulls/1/merge", ""},
	} {
		u, err := url.Parse(bad.path)
		if err != nil {
			t.Fatal(err)
		}
		if len(openapi.Check(fakegithub.Exchange{Method: bad.method, URL: u, Body: []byte(bad.body)})) == 0 {
			t.Errorf("%d: %s %s %s is taken for sound", i, bad.method, bad.path, bad.body)
		}
	}
}

// Whoever makes a fake for a test has it watched.
func TestEveryFakeIsWatched(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(raw, []byte("fakegithub.New(")) || strings.HasSuffix(path, "openapi/openapi_test.go") {
			return err
		}
		if seen++; !bytes.Contains(raw, []byte("openapi.Watch")) {
			t.Errorf("%s makes a fakegithub without openapi.Watch", path)
		}
		return nil
	})
	if err != nil || seen < 3 {
		t.Errorf("%d files: %v", seen, err)
	}
}

// What a client asks where a redirect leads nowhere may break off, too: no answer breaks no description.
func TestNoAnswerIsNone(t *testing.T) {
	for _, path := range []string{"/repos/acme/shop/pulls/1", "/repos/acme/shop/pulls/1-elsewhere"} {
		if faults := openapi.Check(fakegithub.Exchange{Method: http.MethodGet, URL: &url.URL{Path: path}}); len(faults) > 0 {
			t.Errorf("%s: %q", path, faults)
		}
	}
}
